"""A result in columns, for pandas, Polars, DuckDB and other readers of Arrow: at once, or batch by batch."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack

import aioifx
import aioifx.server
from aioifx.arrow import fetch_arrow, fetch_batches


async def main() -> None:
    async with AsyncExitStack() as stack:
        dsn = os.environ.get("AIOIFX_DSN") or await stack.enter_async_context(aioifx.server.running())
        conn = await stack.enter_async_context(aioifx.connect(dsn))
        await conn.execute("CREATE TEMP TABLE sale (id INTEGER, town VARCHAR(20), paid MONEY(8,2))")
        towns = ("Bonn", "Kiel", None)
        rows = ((i, towns[i % 3], i % 3 + i % 50) for i in range(9000))
        await conn.executemany("INSERT INTO sale VALUES (?, ?, ?)", rows)

        table = await fetch_arrow(conn, "SELECT town, paid FROM sale WHERE id < ?", 6000)
        print(table.num_rows, "rows:", ", ".join(f"{field.name} {field.type}" for field in table.schema))
        for group in table.group_by("town").aggregate([("paid", "sum")]).sort_by("paid_sum").to_pylist():
            print(f"{group['town'] or 'unknown':8}{group['paid_sum']:>10}")

        sizes = [batch.num_rows async for batch in fetch_batches(conn, "SELECT * FROM sale", batch_rows=4000)]
        print(len(sizes), "batches,", sum(sizes), "rows")


asyncio.run(main())

# 6000 rows: town string, paid decimal128(8, 2)
# Bonn      49000.00
# Kiel      51000.00
# unknown   53000.00
# 2 batches, 9000 rows
