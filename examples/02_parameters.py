"""Parameters are sent as values, never as text inside the statement; a value that does not fit raises an error."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from datetime import date, timedelta
from decimal import Decimal

import aioifx
import aioifx.server


async def main() -> None:
    async with AsyncExitStack() as stack:
        dsn = os.environ.get("AIOIFX_DSN") or await stack.enter_async_context(aioifx.server.running())
        conn = await stack.enter_async_context(aioifx.connect(dsn))
        await conn.execute(
            "CREATE TEMP TABLE loan (id SERIAL, who VARCHAR(20), fee DECIMAL(6,2), due DATE, late INTERVAL DAY TO HOUR)"
        )
        insert = "INSERT INTO loan (who, fee, due, late) VALUES (?, ?, ?, ?)"
        done = await conn.execute(insert, "O'Hara", Decimal("0.50"), date(1899, 12, 30), None)
        print("rows", done.rowcount, "serial", done.serial)
        await conn.execute(insert, "Ruiz?", 12, date(2026, 5, 4), timedelta(days=3, hours=4))
        for row in await conn.fetch("SELECT who, fee, due, late FROM loan WHERE fee < ? ORDER BY id", 20):
            print(row["who"], row["fee"], row["due"], row["late"], sep=" | ")
        try:
            await conn.execute(insert, "Nakamura", Decimal("12345.00"), None, None)
        except aioifx.Error as error:
            print(f"{type(error).__name__}: {error}")


asyncio.run(main())

# rows 1 serial 1
# O'Hara | 0.50 | 1899-12-30 | None
# Ruiz? | 12.00 | 2026-05-04 | 3 days, 4:00:00
# DataError: parameter 2: Decimal does not fit DECIMAL(6,2)
