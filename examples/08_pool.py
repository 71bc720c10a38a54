"""Many tasks acquire the connections of a pool, in order; each gets a connection in a clean state."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack

import aioifx
import aioifx.server


async def book(pool: aioifx.Pool, number: int) -> None:
    async with pool.acquire() as conn, conn.transaction():
        await conn.execute("UPDATE seats SET free = free - 1 WHERE place = ?", "stalls")
        if number % 10 == 0:
            raise LookupError("the customer has cancelled")


async def main() -> None:
    async with AsyncExitStack() as stack:
        dsn = os.environ.get("AIOIFX_DSN") or await stack.enter_async_context(aioifx.server.running())
        pool = await stack.enter_async_context(aioifx.create_pool(dsn, max_size=3, lock_wait=5))
        await pool.execute("CREATE TABLE seats (place VARCHAR(10), free INTEGER)")
        await pool.execute("INSERT INTO seats VALUES ('stalls', 100)")
        calls = (book(pool, number) for number in range(50))
        failed = sum(error is not None for error in await asyncio.gather(*calls, return_exceptions=True))
        free = await pool.fetchval("SELECT free FROM seats")
        print(failed, "bookings were rolled back,", free, "seats are free")
        stats = pool.stats
        print(stats.opened, "connections were acquired", stats.acquired, "times")


asyncio.run(main())

# 5 bookings were rolled back, 55 seats are free
# 3 connections were acquired 53 times
