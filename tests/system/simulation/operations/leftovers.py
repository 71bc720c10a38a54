"""Operations that leave something at their session, or with an object of the client. Never: the laws on it."""

from __future__ import annotations

import asyncio

import aioifx
from tests.system.simulation.operations.kinds import WIDE_ROWS, check_rows, kind
from tests.system.simulation.world import Entry, World, Wrong


@kind("fail", 1)
async def _fail(world: World, entry: Entry) -> None:
    entry.may_take_effect = True
    try:
        await world.pools[entry.pool].execute("INSERT INTO account VALUES (1, 0)")
    except aioifx.UniqueViolation:
        return
    raise Wrong("a key was inserted twice")


@kind("leave settings", 1)
async def _leave_settings(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        entry.may_take_effect = True
        await conn.execute("SET ISOLATION TO DIRTY READ")
        await conn.execute("SET LOCK MODE TO WAIT 2")


@kind("leave a table", 1)
async def _leave_table(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        entry.may_take_effect = True
        try:
            await conn.execute("CREATE TEMP TABLE mine (a INTEGER)")
        except aioifx.ProgrammingError as error:
            raise Wrong(f"an earlier user's table is there: {error}") from error
        await conn.fetch("SELECT a FROM mine")


@kind("alter", 2)
async def _alter(world: World, entry: Entry) -> None:
    entry.may_take_effect = True
    await world.pools[entry.pool].execute("ALTER TABLE note MODIFY (text VARCHAR(40))")


@kind("use after release", 1)
async def _use_after_release(world: World, entry: Entry) -> None:
    """A task goes on with a connection that has been released."""
    async with world.acquire(entry) as conn:
        stray = asyncio.ensure_future(conn.fetch(WIDE_ROWS, 0, entry.operation.size))
        stray.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.sleep(0)
    try:
        check_rows(await stray, 0, entry.operation.size)
    except aioifx.InterfaceError:
        pass


@kind("forget to await", 1)
async def _forget(world: World, entry: Entry) -> None:
    """A stream is left for the garbage collector."""
    async with world.acquire(entry) as conn:
        stream = conn.stream(WIDE_ROWS, 0, entry.operation.size)
        await anext(aiter(stream))
        del stream
        check_rows(await conn.fetch(WIDE_ROWS, 0, 3), 0, 3)
