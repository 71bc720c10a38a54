"""A transaction is a block: committed at its end, rolled back when it is left by an exception."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack

import aioifx
import aioifx.server


async def move(conn: aioifx.Connection, amount: int, source: str, target: str) -> None:
    async with conn.transaction():
        await conn.execute("UPDATE account SET balance = balance + ? WHERE owner = ?", amount, target)
        await conn.execute("UPDATE account SET balance = balance - ? WHERE owner = ?", amount, source)


async def main() -> None:
    async with AsyncExitStack() as stack:
        dsn = os.environ.get("AIOIFX_DSN") or await stack.enter_async_context(aioifx.server.running())
        conn = await stack.enter_async_context(aioifx.connect(dsn))
        await conn.execute("CREATE TEMP TABLE account (owner CHAR(4), balance INTEGER CHECK (balance >= 0))")
        await conn.executemany("INSERT INTO account VALUES (?, ?)", [("anna", 100), ("omar", 0)])
        for amount in (80, 30):
            try:
                await move(conn, amount, "anna", "omar")
                print(f"moved {amount}")
            except aioifx.CheckViolation as error:
                print(f"not moved {amount}: SQLCODE {error.sqlcode}")
            print(dict(await conn.fetch("SELECT owner, balance FROM account ORDER BY owner")))


asyncio.run(main())

# moved 80
# {'anna': 20, 'omar': 80}
# not moved 30: SQLCODE -530
# {'anna': 20, 'omar': 80}
