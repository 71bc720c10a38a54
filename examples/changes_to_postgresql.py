"""Committed changes of a table to a table of PostgreSQL, each exactly once: the position is stored with the data.

    pip install asyncpg
    AIOIFX_DSN=informix://informix@db1:9088/shop?server=ol_shop PGDSN=postgresql://localhost/shop \\
        python examples/changes_to_postgresql.py

The first run copies the rows that are there. An interrupted copy begins again, with an empty table.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from typing import Any

import aioifx

SCHEMA = """
CREATE TABLE IF NOT EXISTS orders (id integer PRIMARY KEY, name text, qty integer);
CREATE TABLE IF NOT EXISTS positions (source text PRIMARY KEY, place text NOT NULL);
"""
SOURCE = "informix.orders"
COLUMNS = ("id", "name", "qty")
INSERT = "INSERT INTO orders (id, name, qty) VALUES ($1, $2, $3)"
STORE = "INSERT INTO positions VALUES ($1, $2) ON CONFLICT (source) DO UPDATE SET place = excluded.place"


async def apply(target: Any, transaction: aioifx.CommittedTransaction) -> None:
    """One transaction of Informix as one of PostgreSQL.

    All rows that are gone are deleted before new ones are inserted. An UPDATE of keys, such as ``id = id + 1``, gives a
    row the key of another one before it changes that one.
    """
    rows = Counter[aioifx.Record]()
    async with target.transaction():
        for change in transaction:
            if change.kind == "truncate":
                await target.execute("TRUNCATE orders")
                rows.clear()
            rows.update([] if change.after is None else [change.after])
            rows.subtract([] if change.before is None else [change.before])
        gone = [(row["id"],) for row, count in rows.items() if count < 0]
        await target.executemany("DELETE FROM orders WHERE id = $1", gone)
        await target.executemany(INSERT, [row for row, count in rows.items() if count > 0])
        if transaction.position is not None:
            await target.execute(STORE, SOURCE, transaction.position.to_json())


async def main() -> None:
    import asyncpg  # pyright: ignore[reportMissingImports]

    target = await asyncpg.connect(os.environ["PGDSN"])
    try:
        await target.execute(SCHEMA)
        stored = await target.fetchval("SELECT place FROM positions WHERE source = $1", SOURCE)
        start = aioifx.Position.from_json(stored) if stored else None
        if start is None:
            await target.execute("TRUNCATE orders")
        table = aioifx.Capture(SOURCE, COLUMNS)
        async with aioifx.changes(
            os.environ["AIOIFX_DSN"], [table], start=start, snapshot=not stored
        ) as changes:
            async for transaction in changes:
                await apply(target, transaction)
    finally:
        await target.close()


if __name__ == "__main__":
    asyncio.run(main())
