"""Operations that read, interrupt or hold. Never: a change that lasts."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import aioifx
from aioifx.client.api.connection import statements_of
from tests.system.simulation.model.database import ACCOUNTS, BALANCE, WIDE
from tests.system.simulation.operations.kinds import (
    ACCOUNT,
    OPTIONS_OF_POOLS,
    WIDE_ROWS,
    check_rows,
    check_settings,
    fetch_after_interrupt,
    kind,
    range_of,
)
from tests.system.simulation.world import CLOSE_TIMEOUT, Entry, World, Wrong, connect_limit


@kind("fetch", 4)
async def _fetch(world: World, entry: Entry) -> None:
    start, stop = range_of(entry)
    timeout, options = entry.operation.timeout, world.options[entry.pool]
    limit = options.get("command_timeout") if timeout is None else timeout
    if limit is not None:
        limit += options["acquire_timeout"]
    with world.limited(f"operation {entry.operation.number}, fetch of the pool", limit):
        rows = await world.pools[entry.pool].fetch(WIDE_ROWS, start, stop, timeout=timeout)
    check_rows(rows, start, stop)


@kind("fetchrow")
async def _fetchrow(world: World, entry: Entry) -> None:
    start, _ = range_of(entry)
    check_rows([await world.pools[entry.pool].fetchrow(WIDE_ROWS, start, start + 1)], start, start + 1)


@kind("stream", 3)
async def _stream(world: World, entry: Entry) -> None:
    start, stop = range_of(entry)
    async with aclosing(
        world.pools[entry.pool].stream(WIDE_ROWS, start, stop, timeout=entry.operation.timeout)
    ) as stream:
        check_rows([row async for row in stream], start, stop)


@kind("stream a part", 3)
async def _stream_part(world: World, entry: Entry) -> None:
    start, stop = range_of(entry)
    async with world.acquire(entry) as conn:
        rows: list[Any] = []
        async for row in conn.stream(WIDE_ROWS, start, stop, prefetch=entry.operation.number % 2 == 0):
            rows.append(row)
            if len(rows) * 2 >= entry.operation.size:
                break
        check_rows(rows, start, start + len(rows))
        # The connection goes on, although the stream is not closed.
        check_rows(await conn.fetch(WIDE_ROWS, 0, 3), 0, 3)


@kind("cursor")
async def _cursor(world: World, entry: Entry) -> None:
    start, stop = range_of(entry)
    async with world.acquire(entry) as conn:
        cursor = conn.cursor()
        await cursor.execute(WIDE_ROWS, (start, stop))
        rows = await cursor.fetchmany(3)
        rows += await cursor.fetchall()
        check_rows(rows, start, stop)
        if entry.operation.number % 2:
            await cursor.close()


@kind("scroll")
async def _scroll(world: World, entry: Entry) -> None:
    start, stop = range_of(entry)
    async with world.acquire(entry) as conn, conn.cursor(scroll=True) as cursor:
        await cursor.execute(WIDE_ROWS, (start, stop))
        check_rows([await cursor.fetch_absolute(-1)], stop - 1, stop)
        check_rows([await cursor.fetch_absolute(1)], start, start + 1)
        check_rows([await cursor.fetch_absolute(entry.operation.size)], stop - 1, stop)


@kind("read all")
async def _read_all(world: World, entry: Entry) -> None:
    rows = await world.pools[entry.pool].fetch("SELECT id, balance FROM account ORDER BY id")
    if sum(row[1] for row in rows) != ACCOUNTS * BALANCE:
        raise Wrong(f"the balances {[row[1] for row in rows]} are no consistent state")


@kind("prepare")
async def _prepare(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        statement = await conn.prepare(WIDE_ROWS)
        check_settings(world, entry)
        for start in range(3):
            check_rows(
                await statement.fetch(start, start + entry.operation.size),
                start,
                start + entry.operation.size,
            )
        if entry.operation.number % 2:
            await statement.close()


@kind("share a connection")
async def _share(world: World, entry: Entry) -> None:
    ended: list[int] = []

    async def one(number: int) -> None:
        check_rows(
            await conn.fetch(WIDE_ROWS, number, number + entry.operation.size),
            number,
            number + entry.operation.size,
        )
        ended.append(number)

    async with world.acquire(entry) as conn:
        tasks = [asyncio.ensure_future(one(number)) for number in range(4)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if ended != sorted(ended):
                world.wrong.append(f"tasks on one connection were served in the order {ended}")


@kind("own connection")
async def _own_connection(world: World, entry: Entry) -> None:
    start, stop = range_of(entry)
    options = {
        name: value for name, value in world.options[entry.pool].items() if name not in OPTIONS_OF_POOLS
    }
    who = f"operation {entry.operation.number}"
    connecting = aioifx.connect(world.dsn, **options)
    with world.limited(f"{who}, connect", connect_limit(options)):
        conn = await connecting
    try:
        if entry.operation.number % 2:
            check_rows([row async for row in conn.stream(WIDE_ROWS, 0, WIDE)], 0, WIDE)
        else:
            check_rows(await conn.fetch(WIDE_ROWS, start, stop), start, stop)
    except aioifx.RowLocked:
        await _check_cursors(conn)
        raise
    finally:
        with world.limited(f"{who}, close", CLOSE_TIMEOUT):
            await conn.close()


async def _check_cursors(conn: aioifx.Connection) -> None:
    """After a query has failed, and another one has succeeded, no cursor is open at the server."""
    check_rows(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)
    await conn.ping()  # where the last row closes no cursor, its CLOSE comes before this
    transport: Any = statements_of(conn).base_session.channel.transport
    if open_cursors := transport.peer.protocol.open_cursors:
        raise Wrong(f"{open_cursors} cursors are open after a query has failed")


@kind("wait long")
async def _wait_long(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit  # a procedure may change data
        await conn.execute(
            "EXECUTE PROCEDURE pause(?)", entry.operation.size * 50, timeout=entry.operation.timeout
        )
        check_rows(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)


@kind("interrupt")
async def _interrupt(world: World, entry: Entry) -> None:
    """Another task interrupts the statement; the connection goes on."""
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        pause = asyncio.ensure_future(conn.execute("EXECUTE PROCEDURE pause(?)", entry.operation.size * 20))
        try:
            await asyncio.sleep(entry.operation.size / 1000)
            conn.cancel()
            dispatcher = statements_of(conn).base_session.dispatcher
            is_interrupted = dispatcher.interrupter.is_pending or not dispatcher.is_open
            limit = world.options[entry.pool]["cancel_timeout"] if is_interrupted else None
            with world.limited(f"operation {entry.operation.number}, cancel", limit):
                await asyncio.wait([pause])
        finally:
            pause.cancel()
            results = await asyncio.gather(pause, return_exceptions=True)
        if isinstance(results[0], aioifx.Error) and not isinstance(results[0], aioifx.QueryCanceled):
            raise results[0]
        await fetch_after_interrupt(conn)


@kind("go on after a timeout")
async def _go_on(world: World, entry: Entry) -> None:
    """A connection whose statement has timed out is used again at once."""
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        try:
            timeout = entry.operation.timeout or 0.02
            # A statement that ends about when it is interrupted, or long after.
            pause = 30_000 if entry.operation.size > 2 else int(timeout * 1000) + entry.operation.number % 4
            await conn.execute("EXECUTE PROCEDURE pause(?)", pause, timeout=timeout)
        except aioifx.QueryTimeout:
            entry.went_on_at = world.loop.time()
            if not conn.autocommit:
                await conn.rollback()  # the server may have ended the transaction
        await fetch_after_interrupt(conn)
        if conn.autocommit:
            await _begin_again(conn)


async def _begin_again(conn: aioifx.Connection) -> None:
    """A transaction begins while the one before it, which was abandoned, is rolled back."""
    limit = asyncio.timeout(0.001)
    try:
        async with limit, conn.transaction():
            await asyncio.sleep(1)
    except TimeoutError:
        if not limit.expired():
            raise
    async with conn.transaction():
        await conn.fetch(ACCOUNT, 1)
        if not conn.is_in_transaction():
            raise Wrong("a transaction has begun, and the connection is in none")


@kind("hold", 1)
async def _hold(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        await asyncio.sleep(entry.operation.size / 100)
        check_rows(await conn.fetch(WIDE_ROWS, 9, 10), 9, 10)
        check_settings(world, entry)
