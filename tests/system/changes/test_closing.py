"""A server that closes while a reader waits for changes."""

from __future__ import annotations

import asyncio

import pytest

import aioifx
from aioifx.server import ServerOptions, serve


async def test_a_read_that_waits_ends_with_the_server() -> None:
    seed = "CREATE TABLE t (a INTEGER);"
    async with serve(ServerOptions(seed=seed)) as server:
        changes = aioifx.changes(server.dsn, ["informix.t"], timeout=60, stall_timeout=90)
        await changes.__aenter__()
        waiting = asyncio.create_task(anext(changes))
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute("INSERT INTO t VALUES (1)")
        assert [change.kind for change in await waiting] == ["insert"]
        waiting = asyncio.create_task(anext(changes))
        await asyncio.sleep(0)
    with pytest.raises(aioifx.ConnectionLost):
        await waiting
    await changes.aclose()
