"""Acquiring and releasing: blocks, calls of the pool, streams."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

import aioifx
from aioifx import PoolTimeout, create_pool
from aioifx.errors import (
    InterfaceError,
    OperationalError,
    UndefinedTable,
)
from aioifx.server import Server
from tests.client.pooling import ROWS, pooled, queued, session_of, stocked

pytestmark = [pytest.mark.usefixtures("tidy"), pytest.mark.timeout(60)]


@pytest.fixture
async def server(tidy: None) -> AsyncIterator[Server]:
    async with stocked() as server:
        yield server


# -- who gets one -----------------------------------------------------------------------------------------------------


async def test_a_connection_is_acquired_and_released(server: Server) -> None:
    async with pooled(server) as pool:
        conn = await pool.acquire()
        first = await session_of(conn)
        assert pool.stats.in_use == 1
        await pool.release(conn)
        assert conn.is_closed()
        async with pool.acquire() as conn:
            assert await session_of(conn) == first
        assert pool.stats.acquired == 2


async def test_a_connection_is_released_once_and_to_its_own_pool(server: Server) -> None:
    async with pooled(server) as pool:
        conn = await pool.acquire()
        async with create_pool(server.dsn) as other:
            with pytest.raises(InterfaceError, match="not yet released"):
                await other.release(conn)
        await pool.release(conn)
        with pytest.raises(InterfaceError, match="not yet released"):
            await pool.release(conn)


async def test_a_release_within_the_block_is_enough(server: Server) -> None:
    async with pooled(server) as pool:
        with pytest.raises(ZeroDivisionError):
            async with pool.acquire() as conn:
                await pool.release(conn)
                raise ZeroDivisionError
        assert pool.stats.idle == 1


async def test_one_acquire_is_for_one_block(server: Server) -> None:
    async with pooled(server, max_size=2) as pool:
        acquiring = pool.acquire()
        async with acquiring:
            with pytest.raises(InterfaceError, match="entered only once"):
                async with acquiring:
                    pytest.fail("two blocks")
        assert pool.stats.in_use == 0


async def test_the_connection_released_last_is_acquired_first(server: Server) -> None:
    async with pooled(server, max_size=2) as pool:
        one, two = await pool.acquire(), await pool.acquire()
        last = await session_of(one)
        await session_of(two)
        await pool.release(two)
        await pool.release(one)
        async with pool.acquire() as conn:
            assert await session_of(conn) == last


async def test_waiters_are_served_in_their_order(server: Server) -> None:
    order: list[int] = []

    async def use(number: int) -> None:
        async with pool.acquire():
            order.append(number)

    async with pooled(server) as pool:
        tasks = []
        async with pool.acquire():
            for number in range(5):
                tasks.append(asyncio.create_task(use(number)))
                await queued(pool, number + 1)
            tasks[1].cancel()
            await queued(pool, 4)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order == [0, 2, 3, 4]
        assert tasks[1].cancelled()
        assert pool.stats.most_waiting == 5


async def test_one_is_opened_for_each_that_waits_while_there_is_room(server: Server) -> None:
    async with pooled(server, min_size=0, max_size=3, max_waiting=1) as pool:
        conns = await asyncio.gather(*(pool.acquire() for _ in range(3)))
        assert len({await session_of(conn) for conn in conns}) == 3
        for conn in conns:
            await pool.release(conn)


async def test_a_waiter_that_waits_too_long_raises(server: Server) -> None:
    async with pooled(server) as pool, pool.acquire():
        with pytest.raises(PoolTimeout, match="no connection within 0 s") as caught:
            await pool.acquire(timeout=0)
        assert isinstance(caught.value, TimeoutError)
        assert isinstance(caught.value, OperationalError)
        assert not isinstance(caught.value, InterfaceError)
        assert not caught.value.outcome_unknown
        assert pool.stats.timed_out == 1
        assert pool.stats.waiting == 0


async def test_a_connection_is_back_when_release_returns_awaited_or_not(server: Server) -> None:
    async with pooled(server) as pool:
        for awaited in (False, True):
            conn = await pool.acquire()
            assert pool.stats.in_use == 1
            released = pool.release(conn)
            assert (pool.stats.in_use, pool.stats.idle) == (0, 1)
            if awaited:
                await released
            with pytest.raises(InterfaceError, match="not yet released"):
                _ = pool.release(conn)


async def test_a_missing_await_is_named_in_the_error(server: Server) -> None:
    async with pooled(server) as pool:
        for pending in (pool.acquire(), aioifx.connect(server.dsn)):
            forgotten: Any = pending
            with pytest.raises(AttributeError, match="has no attribute 'fetch'; await it, or use async with"):
                forgotten.fetch("select id from thing")
            with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
                print(forgotten.nonsense)


async def test_a_timeout_of_the_caller_is_raised_unchanged(server: Server) -> None:
    async with pooled(server) as pool, pool.acquire():
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(0):
                await pool.acquire()
        assert not isinstance(caught.value, OperationalError)
        assert pool.stats.timed_out == 0


async def test_too_many_waiters_are_refused_at_once(server: Server) -> None:
    async with pooled(server, max_waiting=1) as pool:
        async with pool.acquire():
            waiting = asyncio.create_task(pool.fetchval("select count(*) from log"))
            await queued(pool, 1)
            with pytest.raises(PoolTimeout, match="max_waiting: 1 tasks are already waiting"):
                await pool.acquire()
            assert pool.stats.rejected == 1
        assert await waiting == 0


async def test_a_failing_body_gives_its_connection_back(server: Server) -> None:
    async with pooled(server) as pool:
        with pytest.raises(UndefinedTable):
            async with pool.acquire() as conn:
                await conn.fetch("select * from nowhere")
        assert pool.stats.idle == 1


# -- calls of the pool's ----------------------------------------------------------------------------------------------


async def test_the_calls_of_a_connection_are_the_pools_too(server: Server) -> None:
    async with pooled(server) as pool:
        rows = await pool.fetch("select id, name from thing where id < ? order by id", 3)
        assert [tuple(row) for row in rows] == [(1, "thing 1"), (2, "thing 2")]
        row = await pool.fetchrow("select id, name from thing where id = :id", named={"id": 5})
        assert row is not None and row["name"] == "thing 5"
        assert await pool.fetchval("select id, name from thing where id = 5", column=1) == "thing 5"
        assert (await pool.execute("insert into log (note) values (?)", "x")).rowcount == 1
        assert (await pool.executemany("insert into log (note) values (?)", [("y",), ("z",)])).rowcount == 2
        assert await pool.fetch("select count(*) from log", row_factory=aioifx.rows.tuple_row) == [(3,)]
        assert pool.stats.in_use == 0


async def test_a_stream_holds_its_connection_until_its_last_block_has_come(server: Server) -> None:
    async with pooled(server) as pool:
        stream = pool.stream("select id, name from thing")
        in_use = [(len(block), pool.stats.in_use) async for block in stream.blocks()]
        assert sum(rows for rows, _ in in_use) == ROWS
        assert len(in_use) > 2
        assert [held for _, held in in_use] == [1] * (len(in_use) - 1) + [0]
        assert [column.name for column in stream.columns] == ["id", "name"]


async def test_a_stream_that_is_left_early_gives_its_connection_back(server: Server) -> None:
    async with pooled(server) as pool:
        async with contextlib.aclosing(pool.stream("select id, name from thing")) as stream:
            async for _ in stream:
                break
        assert await pool.fetchval("select count(*) from log") == 0
        async for _ in pool.stream("select id, name from thing"):
            break  # it is given back when it is garbage
        gc.collect()
        assert await pool.fetchval("select count(*) from log") == 0
        assert pool.stats.opened == 1


async def test_a_stream_in_a_cancelled_scope_gives_its_connection_back(server: Server) -> None:
    async with pooled(server) as pool:
        with anyio.CancelScope() as scope:
            async with contextlib.aclosing(pool.stream("select id, name from thing")) as stream:
                async for _ in stream:
                    scope.cancel()
        assert await pool.fetchval("select count(*) from log") == 0
