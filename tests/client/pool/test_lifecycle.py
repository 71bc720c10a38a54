"""What a pool does to one connection: hooks and their time limits, checks, cleanup."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from aioifx import Connection, PoolTimeout, create_pool
from aioifx.client.pool import lifecycle
from aioifx.client.pool.lifecycle import PooledSession
from aioifx.errors import ConnectError, ConnectionLost, Error, InterfaceError, UndefinedTable
from aioifx.server import Server
from tests.client.pooling import assert_shut, move_clock, pooled, session_of
from tests.injection import eventually

pytestmark = pytest.mark.timeout(60)


# -- hooks ------------------------------------------------------------------------------------------------------------


async def test_each_hook_has_its_time(server: Server) -> None:
    calls: list[str] = []

    def hook(name: str) -> Callable[[Connection], Awaitable[None]]:
        async def note(conn: Connection) -> None:
            calls.append(name)
            assert await conn.fetchval("select count(*) from log") == 0

        return note

    async with pooled(server, init=hook("init"), setup=hook("setup"), reset=hook("reset")) as pool:
        assert calls == ["init"]
        async with pool.acquire():
            assert calls == ["init", "setup"]
        async with pool.acquire():
            assert calls == ["init", "setup", "reset", "setup"]


async def test_what_init_has_set_holds_at_each_acquire(server: Server) -> None:
    async def init(conn: Connection) -> None:
        await conn.execute("set environment ifx_auto_reprepare '0'")
        await conn.execute("set isolation to dirty read")
        await conn.execute("create temp table scratch (a int)")
        await conn.execute("database other")
        await conn.execute("create temp table more (a int)")

    async with pooled(server, init=init) as pool:
        for number in range(3):
            async with pool.acquire() as conn:
                assert conn.database == "other"
                before = conn.stats.round_trips
                assert await conn.fetchval("select count(*) from more") == 0
                assert number != 1 or conn.stats.round_trips - before == 1
                assert server.stats.sessions[0].isolation == "DIRTY READ"
                if number == 1:
                    await conn.execute("set isolation to repeatable read")
        assert pool.stats.opened == 1


async def test_a_connection_kept_by_a_hook_is_unusable_after_it(server: Server) -> None:
    held: list[Connection] = []

    async def hook(conn: Connection) -> None:
        held.append(conn)

    async with pooled(server, init=hook, reset=hook) as pool:
        async with pool.acquire():
            pass
        async with pool.acquire():
            assert len(held) == 2
            for conn in held:
                with pytest.raises(InterfaceError, match="was released to its pool"):
                    await conn.ping()


async def test_a_start_whose_init_fails_raises_what_it_raised(server: Server) -> None:
    async def init(conn: Connection) -> None:
        await conn.fetch("select * from nowhere")

    pool = create_pool(server.dsn, init=init)
    with pytest.raises(UndefinedTable):
        _ = await pool
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


async def hang(_: Connection) -> None:
    await asyncio.get_running_loop().create_future()


@pytest.mark.sampled
async def test_an_init_that_hangs_has_as_long_as_the_login(server: Server) -> None:
    pool = create_pool(server.dsn, init=hang, connect_timeout=1)
    with pytest.raises(ConnectError, match=r"the hook did not finish within connect_timeout, 1 s"):
        _ = await pool
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


@pytest.mark.exhaustive
async def test_an_init_that_hangs_once_keeps_no_place_in_the_pool(server: Server) -> None:
    hangs = [True]

    async def init(conn: Connection) -> None:
        if hangs and hangs.pop():
            await hang(conn)

    async with pooled(server, min_size=0, init=init, connect_timeout=2) as pool:
        assert await pool.fetchval("select count(*) from log") == 0
        assert (pool.stats.failed, pool.stats.opened) == (1, 1)


async def test_a_timeout_of_inits_own_is_not_the_pools(server: Server) -> None:
    async def late(_: Connection) -> None:
        raise TimeoutError("too late")

    pool = create_pool(server.dsn, init=late)
    with pytest.raises(TimeoutError, match="too late") as caught:
        _ = await pool
    assert not isinstance(caught.value, Error)
    await eventually(lambda: not server.stats.sessions)


async def test_a_setup_that_hangs_falls_under_the_time_to_acquire(server: Server) -> None:
    async with pooled(server, setup=hang) as pool:
        with pytest.raises(PoolTimeout, match="within 0"):
            await pool.acquire(timeout=0.05)
        assert pool.stats.timed_out == 1


async def test_a_setup_that_fails_is_raised_by_acquire_and_closes_the_connection(server: Server) -> None:
    fails = True
    held: list[Connection] = []

    async def failing(conn: Connection) -> None:
        if fails:
            held.append(conn)
            raise ZeroDivisionError

    async with pooled(server, setup=failing) as pool:
        with pytest.raises(ZeroDivisionError):
            await pool.acquire()
        with pytest.raises(InterfaceError):
            await held.pop().ping()
        gc.collect()
        fails = False
        assert await pool.fetchval("select count(*) from log") == 0
        assert pool.stats.opened == 2


async def test_a_timeout_of_the_setups_is_not_the_pools(server: Server) -> None:
    async def late(_: Connection) -> None:
        raise TimeoutError("too late")

    async with pooled(server, setup=late) as pool:
        with pytest.raises(TimeoutError, match="too late") as caught:
            await pool.acquire()
        assert not isinstance(caught.value, PoolTimeout)


class Stop(BaseException):
    """An exception of the user that is not an Exception."""


@pytest.mark.parametrize("error", [ZeroDivisionError, ConnectionLost, TimeoutError, GeneratorExit, Stop])
async def test_a_reset_that_fails_closes_the_connection(
    server: Server, error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    fails = [True]

    async def failing(conn: Connection) -> None:
        if fails and fails.pop():
            await conn.execute("set isolation to dirty read")
            raise error("x")

    with caplog.at_level(logging.INFO, "aioifx.pool"):
        async with pooled(server, reset=failing) as pool:
            async with pool.acquire() as conn:
                first = await session_of(conn)
            async with pool.acquire() as conn:
                assert await session_of(conn) != first
            assert pool.stats.opened == 2
    assert len([record for record in caplog.records if record.name == "aioifx.pool"]) == 1


@pytest.mark.parametrize(
    "statement",
    ["create temp table mine (a int)", "set environment ifx_auto_reprepare '0'", "database other"],
)
async def test_a_reset_that_leaves_what_cannot_be_restored_closes_the_connection(
    server: Server, statement: str
) -> None:
    leaves = [True]

    async def leaving(conn: Connection) -> None:
        if leaves and leaves.pop():
            await conn.execute(statement)

    async with pooled(server, reset=leaving) as pool:
        async with pool.acquire() as conn:
            first = await session_of(conn)
        async with pool.acquire() as conn:
            assert await session_of(conn) != first
            assert conn.database == "shop"
            await conn.execute("create temp table mine (a int)")
        assert pool.stats.opened == 2


async def test_what_a_reset_leaves_that_can_be_undone_is_undone(server: Server) -> None:
    async def leaving(conn: Connection) -> None:
        await conn.execute("set isolation to dirty read")
        await conn.execute("begin work")
        await conn.execute("insert into log (note) values ('of the hook')")

    async with pooled(server, reset=leaving) as pool:
        for _ in range(3):
            async with pool.acquire() as conn:
                assert not conn.is_in_transaction()
                assert await conn.fetchval("select count(*) from log") == 0
                (seen,) = server.stats.sessions
                assert (seen.in_transaction, seen.isolation) == (False, "COMMITTED READ")
        assert pool.stats.opened == 1


async def test_a_reset_that_hangs_does_not_hold_up_the_end(server: Server) -> None:
    began = asyncio.Event()

    async def hanging(_: Connection) -> None:
        began.set()
        await asyncio.get_running_loop().create_future()

    pool = await create_pool(server.dsn, reset=hanging)
    await pool.fetchval("select count(*) from log")
    await began.wait()
    await pool.close(timeout=0)
    assert_shut(pool)


async def test_hooks_and_the_pools_own_tasks_do_not_see_the_context_of_an_acquiring_task(
    server: Server,
) -> None:
    request: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="none")
    seen: list[str] = []

    async def hook(_: Connection) -> None:
        seen.append(request.get())

    async with pooled(server, min_size=0, init=hook, reset=hook) as pool:
        request.set("mine")
        await pool.fetchval("select count(*) from log")
        await eventually(lambda: len(seen) == 2)
    assert seen == ["none", "none"]


# -- health -----------------------------------------------------------------------------------------------------------


async def test_only_connections_idle_for_long_are_checked(server: Server) -> None:
    async with pooled(server, check_after_idle=30) as pool:
        async with pool.acquire() as conn:
            before = conn.stats.round_trips
        async with pool.acquire() as conn:
            assert conn.stats.round_trips == before
        move_clock(pool, 31)
        async with pool.acquire() as conn:
            assert conn.stats.round_trips == before + 1
        async with pool.acquire() as conn:
            assert conn.stats.round_trips == before + 1


async def test_a_connection_that_does_not_answer_is_replaced_unnoticed(server: Server) -> None:
    async with pooled(server, min_size=2, max_size=2, check_after_idle=30) as pool:
        await pool.wait_ready(20)
        for one in pool._manager.state.idle:
            one.session.session.dispatcher.on_close = None  # the pool is not notified
            one.session.session.channel.abort()
        assert await pool.fetchval("select count(*) from log") == 0
        await pool.wait_ready(20)


async def test_a_connection_whose_check_takes_too_long_is_not_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "_CHECK_TIME", 0)
    silent: Any = SimpleNamespace(
        _statements=SimpleNamespace(session=None), ping=asyncio.get_running_loop().create_future
    )
    assert not await PooledSession(silent).is_alive()


# -- pipelining -------------------------------------------------------------------------------------------------------


async def _in_transaction(conn: Connection) -> None:
    await conn.execute("begin work")


async def _streamed(conn: Connection) -> None:
    async for _ in conn.stream("select id, name from thing"):
        break


async def _prepared(conn: Connection) -> None:
    await conn.prepare("select id from thing")


async def _with_a_setting(conn: Connection) -> None:
    await conn.execute("set lock mode to wait 3")


@pytest.mark.sampled
@pytest.mark.parametrize("leave", [_in_transaction, _streamed, _prepared, _with_a_setting])
@pytest.mark.parametrize("pipelining", [False, True])
async def test_what_is_left_open_is_cleaned_up_with_pipelining_too(
    server: Server, pipelining: bool, leave: Callable[[Connection], Awaitable[None]]
) -> None:
    async with pooled(server, pipelining=pipelining) as pool:
        for _ in range(2):
            async with pool.acquire() as conn:
                await leave(conn)
        async with pool.acquire() as conn:
            assert not conn.is_in_transaction()
            assert await conn.fetchval("select count(*) from log") == 0
        assert pool.stats.opened == 1
