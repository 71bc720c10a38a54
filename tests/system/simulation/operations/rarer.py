"""Operations that are drawn rarely, among the rarer things. Never: those of most scenarios."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

import aioifx
from tests.system.simulation.model.database import WIDE, wide_text
from tests.system.simulation.operations.kinds import (
    ACCOUNT,
    INSERT,
    NOTES,
    WIDE_ROWS,
    check_rows,
    fetch_after_interrupt,
    kind,
    range_of,
)
from tests.system.simulation.world import CLOSE_TIMEOUT, Entry, World, Wrong


@kind("unload", 0)
async def _unload(world: World, entry: Entry) -> None:
    start, stop = range_of(entry)
    written: list[bytes] = []
    async with world.acquire(entry) as conn:
        count = await conn.unload(WIDE_ROWS, written.append, start, stop, timeout=entry.operation.timeout)
    lines = b"".join(written).decode().splitlines()
    if lines != [f"{number}|{wide_text(number)}|" for number in range(start, stop)] or count != len(lines):
        raise Wrong(f"{count} rows are unloaded: {lines[:5]}")


@kind("ping", 0)
async def _ping(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        await conn.ping()


@kind("change settings", 0)
async def _change_settings(world: World, entry: Entry) -> None:
    """Settings that the pool restores."""
    async with world.acquire(entry) as conn:
        conn.autocommit = not conn.autocommit
        async with conn.transaction(isolation="repeatable_read", lock_wait=1):
            await conn.fetch(ACCOUNT, 1)
            entry.is_body_done = True


@kind("executemany slowly", 0, writes=True, batch=True)
async def _executemany_slowly(world: World, entry: Entry) -> None:
    """The rows come one by one, some after a pause."""
    entry.notes = entry.operation.size
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        await conn.executemany(INSERT, _slow_rows(entry), timeout=entry.operation.timeout)
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


@kind("load slowly", 0, writes=True)
async def _load_slowly(world: World, entry: Entry) -> None:
    entry.notes = entry.operation.size
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        await conn.load("note", _slow_rows(entry), columns=["tag", "text"], timeout=entry.operation.timeout)
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


async def _slow_rows(entry: Entry) -> AsyncIterator[tuple[int, str]]:
    for number in range(entry.operation.size):
        if number % 3 == 1:
            await asyncio.sleep(0.002)
        yield entry.operation.number, f"row {number}"


@kind("stream all", 0)
async def _stream_all(world: World, entry: Entry) -> None:
    """Several blocks, with pauses in which the next one arrives or is fetched."""
    rows: list[Any] = []
    async with world.acquire(entry) as conn:
        prefetch = entry.operation.number % 2 == 0
        async with aclosing(
            conn.stream(WIDE_ROWS, 0, WIDE, prefetch=prefetch, timeout=entry.operation.timeout)
        ) as stream:
            async for row in stream:
                rows.append(row)
                if len(rows) % (10 * entry.operation.size) == 5:
                    await asyncio.sleep(0.003)
        check_rows(rows, 0, WIDE)


@kind("two streams", 0)
async def _two_streams(world: World, entry: Entry) -> None:
    """Two streams of one connection, read in turns, and a query between them."""
    async with world.acquire(entry) as conn:
        async with (
            aclosing(conn.stream(WIDE_ROWS, 0, WIDE, prefetch=True)) as first,
            aclosing(conn.stream(WIDE_ROWS, 20, WIDE)) as second,
        ):
            rows = [
                await anext(stream)
                for _ in range(30 * entry.operation.size % 100)
                for stream in (first, second)
            ]
            check_rows(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)
            check_rows(rows[0::2] + [row async for row in first], 0, WIDE)
            check_rows(rows[1::2] + [row async for row in second], 20, WIDE)


@kind("use after a while", 0)
async def _use_after_a_while(world: World, entry: Entry) -> None:
    """Connections are idle for long enough to be checked."""
    await asyncio.sleep(0.15 * entry.operation.size)

    async def use() -> None:
        async with world.acquire(entry) as conn:
            check_rows(await conn.fetch(WIDE_ROWS, 5, 8, timeout=entry.operation.timeout), 5, 8)

    tasks = [asyncio.ensure_future(use()) for _ in range(3)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@kind("send much", 0, writes=True, batch=True)
async def _send_much(world: World, entry: Entry) -> None:
    """More than a transport takes at once."""
    entry.notes = 400
    rows = [(entry.operation.number, "x" * 180)] * entry.notes
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        if entry.operation.number % 2:
            await conn.executemany(INSERT, rows, timeout=entry.operation.timeout)
        else:
            await conn.load("note", rows, columns=["tag", "text"], timeout=entry.operation.timeout)
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


@kind("end a transaction by hand", 0, writes=True)
async def _end_by_hand(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        for commits in (False, entry.operation.number % 2 == 0):
            async with conn.transaction() as transaction:
                await conn.execute(INSERT, entry.operation.number, "by hand")
                if commits:
                    entry.notes, entry.is_body_done = 1, True
                    await transaction.commit()
                else:
                    await transaction.rollback()


@kind("leave an inner transaction", 0, writes=True)
async def _leave_inner(world: World, entry: Entry) -> None:
    """Both are rolled back."""
    async with world.acquire(entry) as conn:
        try:
            async with conn.transaction():
                await conn.transaction().start()
                await conn.execute(INSERT, entry.operation.number, "inside")
        except aioifx.InterfaceError as error:
            if "still open" not in str(error):
                raise
            return
        raise Wrong("a transaction ended with another one inside of it")


@kind("interrupt anything", 0, writes=True, batch=True)
async def _interrupt_anything(world: World, entry: Entry) -> None:
    """Another task interrupts again and again, whatever runs; the call after that is not interrupted."""
    number, size = entry.operation.number, entry.operation.size
    rows = [(number, f"row {each}") for each in range(size)]

    async def interrupt() -> None:
        for _ in range(5):
            await asyncio.sleep(number % 5 / 1000)
            conn.cancel()

    async with world.acquire(entry) as conn:
        interrupting = asyncio.ensure_future(interrupt())
        try:
            async with conn.transaction():
                check_rows(await conn.fetch(WIDE_ROWS, 0, size), 0, size)
                if number % 2:
                    await conn.executemany(INSERT, rows)
                else:
                    await conn.load("note", rows, columns=["tag", "text"])
                entry.notes, entry.is_body_done = size, True
        except aioifx.QueryCanceled as error:
            if error.outcome_unknown:  # the server has ended the transaction, and other rows may be stored
                raise
            entry.notes = 0
        finally:
            interrupting.cancel()
        with suppress(aioifx.DatabaseError):  # what was committed stays
            await fetch_after_interrupt(conn)


@kind("resize", 0)
async def _resize(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        world.resize(entry.pool, 0, 1 + entry.operation.size % 3)
        check_rows(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)


@kind("wait until ready", 0)
async def _wait_until_ready(world: World, entry: Entry) -> None:
    timeout, pool = entry.operation.timeout or 0.5, world.pools[entry.pool]
    world.resize(entry.pool, 2, max(2, world.options[entry.pool].get("max_size", 10)))
    world.expire(entry.pool)
    with world.limited(f"operation {entry.operation.number}, wait_ready", timeout):
        await pool.wait_ready(timeout)


@kind("close a pool", 0)
async def _close_pool(world: World, entry: Entry) -> None:
    """A pool is closed while tasks use it and wait for it."""
    who, limit = f"operation {entry.operation.number}", entry.operation.size / 20
    options: dict[str, Any] = {**world.options[entry.pool], "min_size": 0, "max_size": 2}
    pool = await aioifx.create_pool(world.dsn, **options)
    ended: list[str] = []

    async def use() -> None:
        try:
            async with pool.acquire() as conn:
                await conn.execute("EXECUTE PROCEDURE pause(?)", 200)
                check_rows(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)
        except aioifx.Error as error:
            ended.append(type(error).__name__)

    tasks = [asyncio.ensure_future(use()) for _ in range(3)]
    try:
        await asyncio.sleep(entry.operation.number % 4 / 20)
        with world.limited(f"{who}, close of a pool", limit + CLOSE_TIMEOUT):
            await pool.close(timeout=limit)
        with world.limited(f"{who}, calls of a closed pool", 0.0):
            await asyncio.wait(tasks)
        if size := pool.stats.size:
            raise Wrong(f"a closed pool has {size} connections, and its tasks ended by {ended}")
    finally:
        pool.terminate()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@kind("expire", 1)
async def _expire(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        world.expire(entry.pool)
        check_rows(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)


@kind("go on after a cancelled COMMIT", 0, writes=True)
async def _go_on_after_commit(world: World, entry: Entry) -> None:
    """A COMMIT is cancelled alone, and the connection used again at once."""
    async with world.acquire(entry) as conn:
        transaction = conn.transaction()
        await transaction.start()
        await conn.execute(INSERT, entry.operation.number, "before")
        entry.notes, entry.is_body_done = 1, True
        committing = asyncio.ensure_future(transaction.commit())
        try:
            await asyncio.wait([committing], timeout=(entry.operation.size - 1) / 5000)
        finally:
            committing.cancel()
            results = await asyncio.gather(committing, return_exceptions=True)
        if isinstance(results[0], aioifx.Error):
            raise results[0]
        entry.is_cut = True
        if "open" in repr(transaction):  # it was cancelled before it was sent
            await transaction.rollback()
        entry.notes = len(await conn.fetch(NOTES, entry.operation.number))
        if conn.is_in_transaction() and conn.autocommit:
            raise Wrong("a transaction is open after its COMMIT was cancelled and has ended")
        if conn.is_in_transaction():
            await conn.rollback()
