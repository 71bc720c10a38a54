"""Connect, query, print."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack

import aioifx
import aioifx.server


async def main() -> None:
    async with AsyncExitStack() as stack:
        dsn = os.environ.get("AIOIFX_DSN") or await stack.enter_async_context(aioifx.server.running())
        conn = await stack.enter_async_context(aioifx.connect(dsn))
        rows = await conn.fetch("SELECT tabid, tabname FROM systables WHERE tabid <= ? ORDER BY tabid", 3)
        for row in rows:
            print(row["tabid"], row["tabname"])
        print("and the answer is", await conn.fetchval("SELECT 6 * 7 FROM systables WHERE tabid = 1"))


asyncio.run(main())

# 1 systables
# 2 syscolumns
# 3 sysindices
# and the answer is 42
