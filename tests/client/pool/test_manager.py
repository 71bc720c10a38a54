"""Connections of a pool: opened, replaced, leaked and closed."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import logging
import re
import socket
import sys
import threading
import warnings
from typing import Any

import pytest

import aioifx
from aioifx import Connection, Pool, PoolClosed, PoolTimeout, create_pool
from aioifx.client.pool import decisions
from aioifx.client.pool.lifecycle import ConnectionLifecycle
from aioifx.client.pool.manager import WARNING_INTERVAL
from aioifx.errors import AuthenticationError, ConnectError, ConnectionLost, InterfaceError
from aioifx.server import Server, ServerOptions, serve
from tests.client.pooling import (
    OPTIONS,
    assert_shut,
    move_clock,
    own_tasks,
    pooled,
    queued,
    session_of,
)
from tests.injection import eventually

pytestmark = pytest.mark.timeout(60)


class Stop(BaseException):
    """An exception of the user that is not an Exception."""


# -- health -----------------------------------------------------------------------------------------------------------


async def test_a_connection_that_ends_while_it_is_idle_is_replaced_before_the_next_acquire(
    server: Server,
) -> None:
    async with pooled(server, min_size=2, max_size=3) as pool:
        await pool.wait_ready(20)
        async with pool.acquire(), pool.acquire():
            pass
        for session in list(server._sessions.values()):
            session.stop()
        await eventually(lambda: pool.stats.closed == 2)
        await pool.wait_ready(20)
        assert await pool.fetchval("select count(*) from log") == 0
        assert pool.stats.opened == 4


async def test_one_that_was_closed_while_acquired_is_replaced(server: Server) -> None:
    async with pooled(server) as pool:
        async with pool.acquire() as conn:
            await conn.close()
        assert await pool.fetchval("select count(*) from log") == 0


async def test_connections_end_with_their_lifetime(server: Server) -> None:
    async with pooled(server, max_lifetime=60) as pool:
        async with pool.acquire() as conn:
            first = await session_of(conn)
            move_clock(pool, 61)
        async with pool.acquire() as conn:
            assert await session_of(conn) != first


async def test_connections_idle_for_too_long_are_closed(server: Server) -> None:
    async with pooled(server, max_size=3, max_idle=100) as pool:
        async with pool.acquire(), pool.acquire(), pool.acquire():
            pass
        assert pool.stats.idle == 3
        move_clock(pool, 101)
        assert pool.stats.idle == 1
        await eventually(lambda: len(server.stats.sessions) == 1)


async def test_the_timer_that_closes_idle_connections_goes_off(server: Server) -> None:
    async with pooled(server, min_size=0, max_idle=0.01) as pool:
        await pool.fetchval("select count(*) from log")
        await eventually(lambda: not pool.stats.size)


async def test_connections_opened_before_an_expire_are_not_acquired_again(server: Server) -> None:
    async with pooled(server, min_size=2, max_size=2) as pool:
        await pool.wait_ready(20)
        async with pool.acquire() as conn:
            first = await session_of(conn)
            pool.expire()
        await pool.wait_ready(20)
        async with pool.acquire() as one, pool.acquire() as two:
            assert first not in {await session_of(one), await session_of(two)}
        assert pool.stats.closed == 2


async def test_a_pool_may_grow_and_shrink(server: Server) -> None:
    async with pooled(server) as pool:
        pool.resize(3, 3)
        await pool.wait_ready(20)
        assert pool.stats.idle == 3
        async with pool.acquire():
            pool.resize(0, 1)
            await eventually(lambda: len(server.stats.sessions) == 1)
        assert (pool.stats.idle, pool.stats.max_size) == (1, 1)
        with pytest.raises(InterfaceError, match="min_size"):
            pool.resize(3, 2)


async def test_stats_are_a_picture_of_one_moment(server: Server) -> None:
    async with pooled(server, name="orders", max_size=2) as pool:
        async with pool.acquire():
            stats = pool.stats
        fields = dataclasses.asdict(stats)
        times = [fields.pop(name)["count"] for name in ("wait_time", "use_time", "create_time")]
        assert times == [1, 0, 1]
        assert fields == {
            "name": "orders",
            "min_size": 1,
            "max_size": 2,
            "size": 1,
            "idle": 0,
            "in_use": 1,
            "opening": 0,
            "waiting": 0,
            "acquired": 1,
            "opened": 1,
            "closed": 0,
            "failed": 0,
            "rejected": 0,
            "timed_out": 0,
            "most_waiting": 0,
        }
        with pytest.raises(dataclasses.FrozenInstanceError):
            stats.size = 2  # type: ignore[misc]


# -- a server that goes away ------------------------------------------------------------------------------------------


async def test_a_pool_outlives_its_server(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "aioifx.pool")
    options = ServerOptions(databases=("shop",), directory=tmp_path)
    first = Server(options)
    await first.start()
    port, dsn = first.port, first.dsn
    async with asyncio.timeout(50), create_pool(dsn, min_size=2, max_size=3) as pool:
        await pool.execute("create table kept (a int)")
        await pool.wait_ready()
        conn = await pool.acquire()
        await first.close()
        with pytest.raises(ConnectionLost):
            await conn.fetch("select * from kept")
        await pool.release(conn)
        with pytest.raises(PoolTimeout, match="no connection within 1 s: could not connect") as caught:
            await asyncio.gather(*(pool.acquire(timeout=1) for _ in range(5)))
        assert isinstance(caught.value.__cause__, ConnectError)
        await eventually(lambda: not pool.stats.waiting)
        with pytest.raises(PoolTimeout, match="connections were open after 0 s: could not connect"):
            await pool.wait_ready(0)

        async with serve(dataclasses.replace(options, port=port)) as second:
            await pool.wait_ready()
            assert pool.stats.size == 2
            assert await pool.fetch("select * from kept") == []
            assert len(second.stats.sessions) == 2
            await pool.close()


async def test_an_outage_counts_once_however_many_wait_for_it(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However slow the machine is, ten have failed before that.
    monkeypatch.setattr(decisions, "BACKOFF_MIN", 2.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        pool = await create_pool(server.dsn, port=port, min_size=0, max_size=10)
        waiting = [asyncio.create_task(pool.fetchval("select count(*) from log")) for _ in range(10)]
        await eventually(lambda: pool.stats.failed >= 10)
        assert pool.stats.rejected == 0, "one moment without a server is no outage yet"
    async with serve(dataclasses.replace(OPTIONS, port=port)):
        async with asyncio.timeout(20):
            assert await asyncio.gather(*waiting) == [0] * 10
            await pool.close()


# -- the end ----------------------------------------------------------------------------------------------------------


async def test_a_close_waits_for_acquired_connections(server: Server) -> None:
    pool = await create_pool(server.dsn, max_size=2)
    conn = await pool.acquire()
    closing = asyncio.create_task(pool.close())
    await eventually(lambda: "closed" in repr(pool))
    with pytest.raises(PoolClosed):
        await pool.acquire()
    with pytest.raises(PoolClosed):
        pool.resize(1, 2)
    assert await conn.fetchval("select count(*) from log") == 0
    assert not closing.done()
    await pool.release(conn)
    await closing
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


async def test_a_close_sends_exit(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "aioifx.server")
    async with pooled(server, max_size=2) as pool:
        async with pool.acquire(), pool.acquire() as conn:
            await conn.execute("create temp table mine (a int)")
        assert await pool.fetchval("select count(*) from log") == 0
    assert "the client closed the connection" not in caplog.text


async def test_a_close_that_may_not_wait_drops_acquired_connections(server: Server) -> None:
    pool = await create_pool(server.dsn)
    conn = await pool.acquire()
    waiting = asyncio.create_task(pool.acquire(timeout=20).__aenter__())
    await eventually(lambda: pool.stats.waiting + pool.stats.in_use == 2)
    await pool.close(timeout=0)
    if not waiting.done() or waiting.exception() is None:
        other = await waiting
        with pytest.raises(ConnectionLost):
            await other.ping()
        await pool.release(other)
    with pytest.raises(ConnectionLost):
        await conn.ping()
    await pool.release(conn)
    await eventually(lambda: not pool._manager._closing)
    assert_shut(pool)


async def test_waiters_raise_when_the_pool_is_closed(server: Server) -> None:
    pool = await create_pool(server.dsn, max_size=1)
    conn = await pool.acquire()
    waiting = asyncio.create_task(pool.fetchval("select 1 from log"))
    await queued(pool, 1)
    closing = asyncio.create_task(pool.close())
    with pytest.raises(PoolClosed):
        await waiting
    await pool.release(conn)
    await closing


async def test_a_close_stops_connections_that_are_being_opened(server: Server) -> None:
    began = asyncio.Event()

    async def init(_: Connection) -> None:
        began.set()
        await asyncio.get_running_loop().create_future()

    pool = await create_pool(server.dsn, min_size=0, init=init)
    waiting = asyncio.create_task(pool.fetchval("select 1 from log"))
    await began.wait()
    pool.resize(2, 2)  # another opening, whose task has not begun
    await pool.close()
    with pytest.raises(PoolClosed):
        await waiting
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


@pytest.mark.sampled
@pytest.mark.parametrize("state", ["idle", "in use", "waiting", "closing", "closed"])
async def test_a_pool_may_be_terminated_in_any_state(server: Server, state: str) -> None:
    pool = await create_pool(server.dsn, min_size=2, max_size=2)
    await pool.wait_ready(20)
    conns: list[Connection] = []
    others: list[asyncio.Task[Any]] = []
    if state in ("in use", "waiting", "closing"):
        conns = [await pool.acquire(), await pool.acquire()]
    if state == "waiting":
        others = [asyncio.create_task(pool.fetchval("select 1 from log"))]
        await queued(pool, 1)
    if state == "closing":
        others = [asyncio.create_task(pool.close())]
        await eventually(lambda: "closed" in repr(pool))
    if state == "closed":
        await pool.close()
    pool.terminate()
    pool.terminate()
    assert not pool.stats.idle
    for conn in conns:
        with pytest.raises(ConnectionLost):
            await conn.ping()
        await pool.release(conn)
    for outcome in await asyncio.gather(*others, return_exceptions=True):
        assert outcome is None or isinstance(outcome, PoolClosed)
    await eventually(lambda: not pool._manager._closing)
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


async def test_a_block_that_fails_does_not_wait_for_acquired_connections(server: Server) -> None:
    pool = await create_pool(server.dsn)
    conn = await pool.acquire()
    await pool.__aexit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert not conn._session.is_open
    await pool.release(conn)
    await eventually(lambda: not own_tasks(pool))
    await eventually(lambda: not server.stats.sessions)


async def test_another_event_loop_is_refused(server: Server) -> None:
    refused: list[str] = []

    async def elsewhere() -> None:
        for use in (pool.acquire().__aenter__, pool.close, pool.wait_ready, lambda: pool.release(conn)):
            try:
                await use()
            except InterfaceError as error:
                refused.append(str(error))

    async with pooled(server, max_size=2) as pool:
        conn = await pool.acquire()
        await asyncio.to_thread(asyncio.run, elsewhere())
        assert len(refused) == 4
        assert all("another event loop" in text for text in refused)
        assert await conn.fetchval("select count(*) from log") == 0
        await pool.release(conn)


def test_a_pool_whose_event_loop_is_gone_does_no_harm() -> None:
    async def begin() -> Pool:
        async with serve(ServerOptions()) as server:
            pool = await create_pool(server.dsn, min_size=0)
            pool._manager.state.limits.max_lifetime = 0
            return pool

    pool = asyncio.run(begin())
    pool.terminate()
    asyncio.run(pool.close())
    with pytest.raises(PoolClosed):
        asyncio.run(pool.fetchval("select 1 from log"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # what it leaves is not closed
@pytest.mark.parametrize("busy", ["opening", "waiting", "resetting"])
async def test_a_pool_that_is_left_when_its_loop_ends_opens_nothing(
    server: Server, busy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    kept: list[object] = []
    phase = "running"
    connect = ConnectionLifecycle.open

    async def counted(self: ConnectionLifecycle) -> Any:
        opened.append(phase)
        if len(opened) > 1:
            await asyncio.get_running_loop().create_future()
        return await connect(self)

    monkeypatch.setattr(ConnectionLifecycle, "open", counted)

    async def reset(_: Connection) -> None:
        await asyncio.get_running_loop().create_future()

    async def begin() -> Pool:
        nonlocal phase
        hook = reset if busy == "resetting" else None
        pool = await create_pool(server.dsn, min_size=2 if busy == "opening" else 1, max_size=2, reset=hook)
        if busy == "resetting":
            async with pool.acquire():
                pass
        elif busy == "waiting":
            kept.append(await pool.acquire())
            kept.extend([asyncio.ensure_future(pool.acquire()) for _ in range(3)])
            await queued(pool, 3)
        if busy != "resetting":
            await eventually(lambda: len(opened) == 2)
        phase = "ended"
        return pool

    # In a thread, whose loop ends before the server's.
    pool = await asyncio.to_thread(asyncio.run, begin())
    assert "ended" not in opened
    assert pool.stats.opening == 0
    pool.terminate()
    kept.clear()
    del pool
    gc.collect()


@pytest.mark.parametrize("use", ["acquire", "wait_ready"])
async def test_a_pool_whose_tasks_were_cancelled_goes_on_when_it_is_used(server: Server, use: str) -> None:
    async with pooled(server, min_size=2, max_size=2) as pool:
        (task,) = pool._manager._opening
        task.cancel()
        await asyncio.wait([task])  # at once: soon there is another attempt
        assert (pool.stats.size, pool.stats.opening) == (1, 0)
        if use == "acquire":
            async with pool.acquire():
                pass
        await pool.wait_ready()
        assert pool.stats.size == 2


# -- connections that are not released --------------------------------------------------------------------------------


def place(text: str) -> bool:
    return __file__ in text and "test_a_leaked" in text


@pytest.mark.parametrize("how", ["awaited", "in another thread", "closed", "dead"])
async def test_a_leaked_connection_warns_and_frees_its_place(server: Server, how: str) -> None:
    async with pooled(server, debug=True) as pool:
        conn = await pool.acquire()
        if how == "closed":
            await conn.close()
        elif how == "dead":
            conn._session.channel.abort()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if how == "in another thread":
                holder = [conn]
                del conn
                thread = threading.Thread(target=holder.clear)
                thread.start()
                await asyncio.to_thread(thread.join)
            else:
                del conn
            gc.collect()
        (warning,) = [each for each in caught if "was not released" in str(each.message)]
        assert warning.category is ResourceWarning
        assert place(str(warning.message)), "debug mode names the task that acquired it"
        async with asyncio.timeout(20):
            assert await pool.fetchval("select count(*) from log") == 0
        assert pool.stats.opened == 2


async def test_a_leaked_connection_frees_its_place_even_where_warnings_are_errors(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", raised.append)
    async with pooled(server) as pool:
        conn = await pool.acquire()
        del conn
        gc.collect()
        async with asyncio.timeout(20):
            assert await pool.fetchval("select count(*) from log") == 0
        assert [type(each.exc_value) for each in raised] == [ResourceWarning]


async def test_a_forgotten_connections_number_may_be_anothers(server: Server) -> None:
    # An id is used again as soon as its object is gone; a lease must not be found by it.
    async with pooled(server, max_size=2) as pool:
        conn = await pool.acquire()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            del conn
        others = [aioifx.connect(server.dsn) for _ in range(3)]
        for other in others:
            async with other as stranger:
                with pytest.raises(InterfaceError, match="not yet released"):
                    await pool.release(stranger)


@pytest.mark.parametrize("block", [False, True], ids=["awaited", "block"])
async def test_a_late_release_is_logged_with_the_task_that_acquired(
    server: Server, block: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def a_forgotten_place() -> None:
        if block:
            async with pool.acquire():
                move_clock(pool, 3)
        else:
            conn = await pool.acquire()
            move_clock(pool, 3)
            await pool.release(conn)

    async with pooled(server, debug=True, slow_release=2) as pool:
        await a_forgotten_place()
        (message,) = [record.getMessage() for record in caplog.records if record.name == "aioifx.pool"]
        assert re.search(r"held for 3\.\d s by task '.*', acquired at .* in a_forgotten_place$", message)
        assert "\n" not in message
        assert __file__ in message and "a_forgotten_place" in message
        assert "pool.py" not in message.replace(__file__, "")
        async with pool.acquire():
            pass
        assert len(caplog.records) == 1


def pool_log(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "aioifx.pool"]


async def test_opened_and_closed_connections_are_logged_at_debug(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "aioifx.pool")
    async with pooled(server, min_size=0, name="web") as pool:
        async with pool.acquire() as conn:
            address = repr(conn).removeprefix("<Connection open ")
            await conn.execute("create temp table scratch (a int)")
        async with pool.acquire():
            pool.expire()
        async with pool.acquire():
            pass
    opened, closing = f": opened <Connection open {address}", f": closing <Connection open {address}: "
    log = [message.partition(">")[2] for message in pool_log(caplog)]
    assert log == [
        opened,
        closing + "its settings, temporary tables or database cannot be restored",
        opened,
        closing + "the pool's connections were expired",
        opened,
        closing + "the pool is closed",
    ]
    assert "secret" not in caplog.text


async def test_a_connection_that_ended_while_idle_is_logged_at_debug(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "aioifx.pool")
    async with pooled(server) as pool:
        for session in list(server._sessions.values()):
            session.stop()
        await eventually(lambda: pool.stats.closed == 1)
        assert any(message.endswith(": it ended while idle") for message in pool_log(caplog))


async def test_a_pool_that_works_logs_nothing_above_debug(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "aioifx.pool")
    async with pooled(server, min_size=2, max_size=3) as pool:
        async with pool.acquire() as conn:
            await conn.execute("begin work")
        assert await pool.fetchval("select count(*) from log") == 0
    assert [record for record in caplog.records if record.name in ("aioifx.pool", "asyncio")] == []


async def test_failed_attempts_are_one_warning_an_interval_with_their_number(
    server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decisions, "PROBE_DELAY", 0.01)
    monkeypatch.setattr(decisions, "BACKOFF_MIN", 0.01)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        pool = await create_pool(server.dsn, port=silent.getsockname()[1], min_size=0)
        waiting = asyncio.ensure_future(pool.acquire())
        await eventually(lambda: pool.stats.failed >= 5)
        move_clock(pool, WARNING_INTERVAL)
        await eventually(lambda: len(caplog.records) == 2)
        failed = pool.stats.failed
        waiting.cancel()
        await pool.close()
    first, second = (record.getMessage() for record in caplog.records)
    assert ": connecting failed: could not connect" in first
    assert f": connecting failed ({failed - 1} attempts since the last warning): could not connect" in second


@pytest.mark.parametrize("kind", [asyncio.CancelledError, GeneratorExit, Stop])
async def test_an_init_hook_that_raises_anything_is_a_failed_attempt(
    server: Server, kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    fails = [True]

    async def init(conn: Connection) -> None:
        if fails and fails.pop():
            raise kind

    async with pooled(server, min_size=0, init=init) as pool:
        assert await pool.fetchval("select count(*) from log") == 0
        assert pool.stats.failed == 1
    (record,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert record.getMessage().endswith(f": connecting failed: {kind.__name__}")


@pytest.mark.parametrize("kind", [asyncio.CancelledError, GeneratorExit, Stop])
async def test_a_start_whose_hook_raises_anything_leaves_nothing(
    server: Server, kind: type[BaseException]
) -> None:
    async def init(conn: Connection) -> None:
        raise kind

    pool = create_pool(server.dsn, init=init)
    with pytest.raises(kind):
        async with pool:
            raise AssertionError("it has started")
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


async def test_a_failed_try_to_connect_is_logged_without_secrets(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    pool = await create_pool(server.dsn, password="wrong-secret", min_size=0)
    with pytest.raises(PoolTimeout) as caught:
        await pool.acquire()
    assert isinstance(caught.value.__cause__, AuthenticationError)
    await pool.close()
    assert [record.levelname for record in caplog.records if record.name == "aioifx.pool"] == ["WARNING"]
    assert "secret" not in caplog.text
