"""A pool in a test: its server, its clock, and that it leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncIterator
from typing import Any

import aioifx
from aioifx import Connection, Pool, create_pool
from aioifx.server import Server, ServerOptions, serve
from tests.injection import eventually

ROWS = 400
"""In the table that is read: several blocks of 4096 bytes."""

SESSION = "select dbinfo('sessionid') from systables where tabid = 1"

SEED = "create table thing (id int primary key, name varchar(40)); create table log (id serial, note varchar(20));"
OPTIONS = ServerOptions(databases=("shop", "other"), seed=SEED, user="app", password="secret")


@contextlib.asynccontextmanager
async def stocked() -> AsyncIterator[Server]:
    """A server whose table `thing` has some rows."""
    async with serve(OPTIONS) as server:
        async with aioifx.connect(server.dsn) as conn:
            await conn.load("thing", [(n, f"thing {n}") for n in range(1, ROWS + 1)])
        await eventually(lambda: not server.stats.sessions)
        yield server


@contextlib.asynccontextmanager
async def pooled(server: Server, **options: Any) -> AsyncIterator[Pool]:
    """A pool, of one connection by default, that leaves no session at the server."""
    options = {"min_size": 1, "max_size": 1, "fetch_size": 4096, "acquire_timeout": 20, **options}
    async with asyncio.timeout(50), create_pool(server.dsn, **options) as pool:
        yield pool
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


def own_tasks(pool: Pool) -> set[asyncio.Task[None]]:
    manager = pool._manager
    return {*manager._opening, *manager._resetting, *manager._closing}


def assert_shut(pool: Pool) -> None:
    stats = pool.stats
    assert (stats.size, stats.opening, stats.waiting) == (0, 0, 0)
    assert "closed" in repr(pool)
    assert not own_tasks(pool)
    assert pool._manager._timer is None or pool._manager._timer._handle is None


async def session_of(conn: Connection) -> Any:
    """The number of the server's session; the same statement keeps it cheap."""
    return await conn.fetchval(SESSION)


async def queued(pool: Pool, count: int) -> None:
    await eventually(lambda: pool.stats.waiting == count)


def stop_clock(pool: Pool) -> None:
    """Let the pool's time stand still, at a whole second, so that differences are exact."""
    now = float(math.ceil(pool._manager._now()))
    pool._manager._now = lambda: now


def move_clock(pool: Pool, seconds: float) -> None:
    """Let time pass for the pool alone."""
    manager = pool._manager
    now = manager._now
    manager._now = lambda: now() + seconds
    manager._on_timer()
