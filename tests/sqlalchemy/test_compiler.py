"""Queries and DML: the text, and what the embedded server makes of it."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from aioifx.sqlalchemy import InformixDialect

TABLE = sa.table("item", sa.column("id", sa.Integer), sa.column("name", sa.String))


def sql(statement: sa.Executable) -> str:
    return str(statement.compile(dialect=InformixDialect())).replace("\n", "")  # type: ignore[attr-defined]


def test_limit_and_offset_come_before_the_columns() -> None:
    statement = sa.select(TABLE.c.id).limit(2).offset(3)
    assert sql(statement) == "SELECT SKIP ? FIRST ? item.id FROM item"


async def test_a_select_without_from_has_one_row(engine: AsyncEngine) -> None:
    async with engine.connect() as conn:
        assert (await conn.execute(sa.select(sa.literal_column("1"), sa.true(), sa.false()))).all() == [
            (1, True, False)
        ]
