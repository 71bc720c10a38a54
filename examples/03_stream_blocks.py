"""A result of any size in constant memory: row by row, or block by block without an await for each row."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack

import aioifx
import aioifx.server
from aioifx.rows import tuple_row


async def main() -> None:
    async with AsyncExitStack() as stack:
        dsn = os.environ.get("AIOIFX_DSN") or await stack.enter_async_context(aioifx.server.running())
        conn = await stack.enter_async_context(aioifx.connect(dsn))
        await conn.execute("CREATE TEMP TABLE reading (id INTEGER, celsius SMALLFLOAT, checked SMALLINT)")
        await conn.executemany("INSERT INTO reading VALUES (?, ?, 0)", ((i, i % 40) for i in range(9000)))

        hot = 0
        async for row in conn.stream("SELECT id, celsius FROM reading WHERE celsius > ?", 38):
            await conn.execute("UPDATE reading SET checked = 1 WHERE id = ?", row["id"])  # between two rows
            hot += 1
        print(hot, "hot readings, checked:", await conn.fetchval("SELECT SUM(checked) FROM reading"))

        rows, total = 0, 0.0
        async for block in conn.stream("SELECT celsius FROM reading", row_factory=tuple_row).blocks():
            rows += len(block)
            total += sum(celsius for (celsius,) in block)
        print(f"{rows} readings, {total / rows:.1f} degrees on average")


asyncio.run(main())

# 225 hot readings, checked: 225
# 9000 readings, 19.5 degrees on average
