"""A bulk load with a progress bar: rows into a table, the table into a file, the file into another table."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from tqdm import tqdm

import aioifx
import aioifx.server

ROWS = 50_000


async def main() -> None:
    async with AsyncExitStack() as stack:
        dsn = os.environ.get("AIOIFX_DSN") or await stack.enter_async_context(aioifx.server.running())
        conn = await stack.enter_async_context(aioifx.connect(dsn))
        file = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "reading.unl"
        for table in ("reading", "again"):
            await conn.execute(f"CREATE TEMP TABLE {table} (id INTEGER, place VARCHAR(40), celsius FLOAT)")
        readings = ((n, f"sensor {n % 7} | roof", n / 8 if n % 10 else None) for n in range(ROWS))
        bar = stack.enter_context(tqdm(total=ROWS, unit=" rows"))
        done = await conn.load("reading", readings, progress=lambda count: bar.update(count - bar.n))
        written = await conn.unload("SELECT * FROM reading", file)
        back = await conn.load("again", file, format="unload")
        print(done.rowcount, "rows loaded,", written, "unloaded,", back.rowcount, "loaded again")


asyncio.run(main())

# 50000 rows loaded, 50000 unloaded, 50000 loaded again
