"""executemany takes any iterable, also an async one, and is all or nothing; its error names the row."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import aioifx
import aioifx.server


async def arriving() -> AsyncIterator[tuple[int, str]]:
    """Rows that come from elsewhere: a queue, an HTTP response, another database."""
    for number in range(1000):
        yield number, f"part {number}"


async def main() -> None:
    async with AsyncExitStack() as stack:
        dsn = os.environ.get("AIOIFX_DSN") or await stack.enter_async_context(aioifx.server.running())
        conn = await stack.enter_async_context(aioifx.connect(dsn))
        await conn.execute("CREATE TEMP TABLE part (id INTEGER PRIMARY KEY, name VARCHAR(20) NOT NULL)")
        before = conn.stats.round_trips
        done = await conn.executemany("INSERT INTO part VALUES (?, ?)", arriving())
        print(done.rowcount, "rows inserted; far fewer round trips:", conn.stats.round_trips - before < 20)
        try:
            await conn.executemany("INSERT INTO part VALUES (?, ?)", [(5000, "new"), (7, "again")])
        except aioifx.UniqueViolation as error:
            print(type(error).__name__, "in row", error.row_index)
        print(await conn.fetchval("SELECT COUNT(*) FROM part"), "rows now")


asyncio.run(main())

# 1000 rows inserted; far fewer round trips: True
# UniqueViolation in row 1
# 1000 rows now
