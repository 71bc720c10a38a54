"""DDL: the text, and what the embedded server makes of it."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine


async def test_an_integer_key_is_serial(engine: AsyncEngine) -> None:
    metadata = sa.MetaData()
    table = sa.Table(
        "item",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(300), nullable=False),
        sa.Column("paid", sa.Boolean, server_default=sa.text("'t'")),
    )
    async with engine.begin() as conn:
        await conn.run_sync(metadata.create_all)
        result = await conn.execute(table.insert().values(name="pen"))
        assert result.inserted_primary_key == (1,)
        assert (await conn.execute(table.select())).all() == [(1, "pen", True)]
