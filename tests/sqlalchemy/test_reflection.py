"""Reflection from the catalog of the embedded server."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine


async def test_names_of_tables_and_views(engine: AsyncEngine) -> None:
    def names(conn: sa.Connection) -> tuple[list[str], list[str]]:
        inspector = sa.inspect(conn)
        assert inspector.has_table("item") and not inspector.has_table("other")
        return inspector.get_table_names(), inspector.get_view_names()

    async with engine.begin() as conn:
        await conn.execute(sa.text("CREATE TABLE item (id INTEGER)"))
        await conn.execute(sa.text("CREATE VIEW items AS SELECT id FROM item"))
        assert await conn.run_sync(names) == (["item"], ["items"])
