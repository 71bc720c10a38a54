"""Two tables with rows, and the text and the rows of statements about them."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import registry
from sqlalchemy.ext.asyncio import AsyncEngine

metadata = sa.MetaData()
ITEM = sa.Table(
    "item",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(20)),
    sa.Column("price", sa.Numeric(10, 2)),
    sa.Column("made", sa.Date),
    sa.Column("sold", sa.DateTime),
    sa.Column("fresh", sa.Boolean),
)
PART = sa.Table(
    "part",
    metadata,
    sa.Column("item", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("no", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("label", sa.String(20)),
)
ROWS: list[tuple[Any, ...]] = [
    (1, "one", 1.5, datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 13, 14, 15, 123450), True),
    (2, "two", 2.5, datetime.date(2024, 3, 1), datetime.datetime(2024, 3, 1), False),
    (3, "o'3%", None, None, None, None),
]
PARTS = [(1, 1, "bolt"), (1, 2, "nut"), (2, 1, None)]


class Case(NamedTuple):
    """A statement, its text, and the rows it gives; None: the embedded server lacks it."""

    statement: Any
    text: str
    rows: list[Any] | None


async def load(engine: AsyncEngine) -> None:
    """Create and fill the tables."""
    async with engine.begin() as conn:
        await conn.run_sync(metadata.create_all)
        await conn.execute(ITEM.insert(), [dict(zip(ITEM.c.keys(), row, strict=True)) for row in ROWS])
        await conn.execute(PART.insert(), [dict(zip(PART.c.keys(), row, strict=True)) for row in PARTS])


def sql(statement: Any, **options: Any) -> str:
    """The text of a statement, on one line."""
    dialect = registry.load("informix")()
    return str(statement.compile(dialect=dialect, compile_kwargs=options)).replace("\n", "")


def other_texts(cases: dict[str, Case]) -> dict[str, str]:
    """The cases whose text is another than expected, with their text."""
    texts = {name: sql(case.statement) for name, case in cases.items()}
    return {name: text for name, text in texts.items() if text != cases[name].text}


async def differences(engine: AsyncEngine, cases: dict[str, Case]) -> dict[str, Any]:
    """The cases whose rows are others than expected, with their rows or error."""
    found: dict[str, Any] = {}
    async with engine.connect() as conn:
        for name, case in cases.items():
            if case.rows is None:
                continue
            try:
                rows: Any = [tuple(row) for row in await conn.execute(case.statement)]
            except exc.SQLAlchemyError as error:
                rows = str(error)
            if rows != [row if isinstance(row, tuple) else (row,) for row in case.rows]:
                found[name] = rows
    return found
