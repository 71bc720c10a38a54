"""Names that differ between SQLAlchemy 2.0 and 2.1."""

from __future__ import annotations

import asyncio

from sqlalchemy.util.concurrency import greenlet_spawn

from aioifx.sqlalchemy.compat import await_


async def test_await_waits_in_the_event_loop_that_runs_the_greenlet() -> None:
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.call_soon(future.set_result, 7)
    assert await greenlet_spawn(await_, future) == 7
