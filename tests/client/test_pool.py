"""The pool against the embedded server: who gets what, what nobody ever gets, and what is left at the end: nothing."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import dataclasses
import gc
import logging
import re
import socket
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pytest

import aioifx
from aioifx import Connection, Pool, PoolClosed, PoolError, PoolTimeout, create_pool
from aioifx.errors import (
    AuthenticationError,
    ConnectError,
    ConnectionLost,
    DatabaseError,
    InterfaceError,
    UndefinedTable,
)
from aioifx.server import Server, ServerOptions, serve
from aioifx.server.databases import LogMode
from aioifx.wire.replies import Reply
from tests.injection import Injection, Manner, eventually

pytestmark = [pytest.mark.usefixtures("tidy"), pytest.mark.timeout(60)]

ROWS = 900
"""In the table that is read: several blocks of 4096 bytes."""

MOST = 60
"""No call here has as many suspensions."""

SESSION = "select dbinfo('sessionid') from systables where tabid = 1"

SEED = "create table thing (id int primary key, name varchar(40)); create table log (id serial, note varchar(20));"
OPTIONS = ServerOptions(databases=("shop", "other"), seed=SEED, user="app", password="secret")


@pytest.fixture
async def server(tidy: None) -> AsyncIterator[Server]:
    async with serve(OPTIONS) as server:
        async with aioifx.connect(server.dsn) as conn:
            await conn.load("thing", [(n, f"thing {n}") for n in range(1, ROWS + 1)])
        await eventually(lambda: not server.stats.sessions)
        yield server


@contextlib.asynccontextmanager
async def pooled(server: Server, **options: Any) -> AsyncIterator[Pool]:
    """A pool of one connection, unless told otherwise, that leaves no session at the server."""
    options = {"min_size": 1, "max_size": 1, "fetch_size": 4096, "acquire_timeout": 20, **options}
    async with asyncio.timeout(50), create_pool(server.dsn, **options) as pool:
        yield pool
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


def own_tasks(pool: Pool) -> set[asyncio.Task[None]]:
    return {*pool._openings, *pool._rests, *pool._closings}


def assert_shut(pool: Pool) -> None:
    stats = pool.stats()
    assert (stats.size, stats.opening, stats.waiting) == (0, 0, 0)
    assert "closed" in repr(pool)
    assert not own_tasks(pool)
    assert pool._timer is None


async def session_of(conn: Connection) -> Any:
    """The number of the server's session; the same statement keeps it cheap."""
    return await conn.fetchval(SESSION)


async def queued(pool: Pool, count: int) -> None:
    await eventually(lambda: pool.stats().waiting == count)


def move_clock(pool: Pool, seconds: float) -> None:
    """Let time pass for the pool alone."""
    now = pool._now
    pool._now = lambda: now() + seconds  # type: ignore[method-assign]
    pool._look()


# -- beginning --------------------------------------------------------------------------------------------------------


async def test_a_pool_opens_what_it_must_have(server: Server) -> None:
    async with pooled(server, min_size=3, max_size=4) as pool:
        await pool.wait_ready(20)
        assert pool.stats().idle == 3
        assert len(server.stats.sessions) == 3


async def test_without_a_least_size_nothing_is_opened_before_it_is_wanted(server: Server) -> None:
    async with pooled(server, min_size=0) as pool:
        assert not server.stats.sessions
        assert await pool.fetchval("select count(*) from thing") == ROWS


async def test_a_pool_may_be_awaited(server: Server) -> None:
    pool = await create_pool(server.dsn)
    assert await pool.fetchval("select count(*) from thing") == ROWS
    await pool.close()
    await pool.close()
    assert_shut(pool)


async def test_a_wrong_password_is_told_by_the_start(server: Server) -> None:
    pool = create_pool(server.dsn, password="wrong", min_size=2, max_size=2)
    with pytest.raises(AuthenticationError):
        _ = await pool
    assert_shut(pool)
    assert not server.stats.sessions
    with pytest.raises(PoolClosed):
        await pool.acquire()


async def test_that_nobody_listens_is_told_by_the_start(server: Server) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        pool = create_pool(server.dsn, host="127.0.0.1", port=silent.getsockname()[1])
        with pytest.raises(ConnectError):
            async with pool:
                pytest.fail("it has started")
    assert_shut(pool)


async def test_a_pool_that_was_not_started_says_so(server: Server) -> None:
    pool = create_pool(server.dsn)
    with pytest.raises(InterfaceError, match="not been started"):
        await pool.acquire()
    with pytest.raises(InterfaceError, match="not been started"):
        await pool.wait_ready()


async def test_a_pool_starts_once(server: Server) -> None:
    async with pooled(server) as pool:
        with pytest.raises(InterfaceError, match="started already"):
            _ = await pool


@pytest.mark.parametrize("end", ["close", "terminate"])
async def test_a_pool_that_was_closed_before_its_start_does_not_start(server: Server, end: str) -> None:
    pool = create_pool(server.dsn)
    if end == "close":
        await pool.close()
    else:
        pool.terminate()
    with pytest.raises(PoolClosed):
        _ = await pool
    assert server.stats.logins == 1  # the fixture's own


async def test_a_pool_that_is_closed_while_it_starts_does_not_start(server: Server) -> None:
    async def init(_: Connection) -> None:
        await pool.close()

    pool = create_pool(server.dsn, init=init)
    with pytest.raises(PoolClosed):
        _ = await pool
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"min_size": -1}, "min_size"),
        ({"min_size": 2, "max_size": 1}, "min_size"),
        ({"max_size": 0}, "max_size"),
        ({"max_size": True}, "max_size"),
        ({"acquire_timeout": -1}, "acquire_timeout"),
        ({"max_lifetime": "long"}, "max_lifetime"),
        ({"max_idle": float("nan")}, "max_idle"),
        ({"slow_release": -1}, "slow_release"),
        ({"setup": "hook"}, "setup"),
        ({"hots": "db1"}, "hots"),
    ],
)
async def test_a_wrong_option_is_named_before_anything_is_opened(options: dict[str, Any], name: str) -> None:
    with pytest.raises(InterfaceError, match=name):
        assert create_pool("informix://app@db1:9088/shop", **options) is None


async def test_neither_a_repr_nor_an_error_has_the_password(server: Server) -> None:
    async with pooled(server, max_waiting=1) as pool:
        async with pool.acquire() as conn:
            with pytest.raises(PoolTimeout) as caught:
                await pool.acquire(timeout=0)
            assert "secret" not in f"{pool!r} {caught.value!r} {conn!r} {pool.stats()!r}"
        assert "shop" in repr(pool)
    assert repr(create_pool(server.dsn, name="orders")).startswith("<Pool 'orders' new")


# -- who gets one -----------------------------------------------------------------------------------------------------


async def test_a_connection_is_acquired_and_released(server: Server) -> None:
    async with pooled(server) as pool:
        conn = await pool.acquire()
        first = await session_of(conn)
        assert pool.stats().lent == 1
        await pool.release(conn)
        assert conn.is_closed()
        async with pool.acquire() as conn:
            assert await session_of(conn) == first
        assert pool.stats().acquired == 2


async def test_a_connection_is_released_once_and_by_whom_it_was_lent(server: Server) -> None:
    async with pooled(server) as pool:
        conn = await pool.acquire()
        async with create_pool(server.dsn) as other:
            with pytest.raises(InterfaceError, match="not lent"):
                await other.release(conn)
        await pool.release(conn)
        with pytest.raises(InterfaceError, match="not lent"):
            await pool.release(conn)


async def test_a_release_within_the_block_is_enough(server: Server) -> None:
    async with pooled(server) as pool:
        with pytest.raises(ZeroDivisionError):
            async with pool.acquire() as conn:
                await pool.release(conn)
                raise ZeroDivisionError
        assert pool.stats().idle == 1


async def test_one_acquire_is_for_one_block(server: Server) -> None:
    async with pooled(server, max_size=2) as pool:
        acquiring = pool.acquire()
        async with acquiring:
            with pytest.raises(InterfaceError, match="call it again"):
                async with acquiring:
                    pytest.fail("two blocks")
        assert pool.stats().lent == 0


async def test_the_connection_that_came_back_last_is_lent_first(server: Server) -> None:
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

    async def borrow(number: int) -> None:
        async with pool.acquire():
            order.append(number)

    async with pooled(server) as pool:
        tasks = []
        async with pool.acquire():
            for number in range(5):
                tasks.append(asyncio.create_task(borrow(number)))
                await queued(pool, number + 1)
            tasks[1].cancel()
            await queued(pool, 4)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order == [0, 2, 3, 4]
        assert tasks[1].cancelled()
        assert pool.stats().most_waiting == 5


async def test_one_is_opened_for_each_that_waits_while_there_is_room(server: Server) -> None:
    async with pooled(server, min_size=0, max_size=3, max_waiting=1) as pool:
        conns = await asyncio.gather(*(pool.acquire() for _ in range(3)))
        assert len({await session_of(conn) for conn in conns}) == 3
        for conn in conns:
            await pool.release(conn)


async def test_who_waits_too_long_is_told(server: Server) -> None:
    async with pooled(server) as pool, pool.acquire():
        with pytest.raises(PoolTimeout, match="no connection within 0 s") as caught:
            await pool.acquire(timeout=0)
        assert isinstance(caught.value, TimeoutError)
        assert isinstance(caught.value, PoolError)
        assert isinstance(caught.value, InterfaceError)
        assert pool.stats().timed_out == 1
        assert pool.stats().waiting == 0


async def test_a_timeout_of_the_callers_stays_his(server: Server) -> None:
    async with pooled(server) as pool, pool.acquire():
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(0):
                await pool.acquire()
        assert not isinstance(caught.value, PoolError)
        assert pool.stats().timed_out == 0


async def test_too_many_waiters_are_refused_at_once(server: Server) -> None:
    async with pooled(server, max_waiting=1) as pool:
        async with pool.acquire():
            waiting = asyncio.create_task(pool.fetchval("select count(*) from log"))
            await queued(pool, 1)
            with pytest.raises(PoolTimeout, match="1 are waiting already"):
                await pool.acquire()
            assert pool.stats().refused == 1
        assert await waiting == 0


async def test_a_failing_body_gives_its_connection_back(server: Server) -> None:
    async with pooled(server) as pool:
        with pytest.raises(UndefinedTable):
            async with pool.acquire() as conn:
                await conn.fetch("select * from nowhere")
        assert pool.stats().idle == 1


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
        assert pool.stats().lent == 0


async def test_a_stream_holds_its_connection_until_its_last_row(server: Server) -> None:
    async with pooled(server) as pool:
        lent = [pool.stats().lent async for _ in pool.stream("select id, name from thing")]
        assert lent == [1] * ROWS
        assert pool.stats().lent == 0


async def test_a_stream_that_is_left_early_gives_its_connection_back(server: Server) -> None:
    async with pooled(server) as pool:
        async with contextlib.aclosing(pool.stream("select id, name from thing")) as stream:
            async for _ in stream:
                break
        assert await pool.fetchval("select count(*) from log") == 0
        async for _ in pool.stream("select id, name from thing"):
            break  # the event loop closes it when it is garbage
        gc.collect()
        assert await pool.fetchval("select count(*) from log") == 0
        assert pool.stats().opened == 1


async def test_a_stream_in_a_cancelled_scope_gives_its_connection_back(server: Server) -> None:
    async with pooled(server) as pool:
        with anyio.CancelScope() as scope:
            async with contextlib.aclosing(pool.stream("select id, name from thing")) as stream:
                async for _ in stream:
                    scope.cancel()
        assert await pool.fetchval("select count(*) from log") == 0


# -- what the next borrower sees --------------------------------------------------------------------------------------

Left = Callable[[Connection, list[Any]], Awaitable[None]]


async def an_open_transaction(conn: Connection, held: list[Any]) -> None:
    transaction = conn.transaction()
    await transaction.start()
    await conn.execute("insert into log (note) values ('lost')")
    held += [transaction.commit, transaction.rollback]


async def nested_transactions(conn: Connection, held: list[Any]) -> None:
    outer, inner = conn.transaction(isolation="repeatable_read"), conn.transaction()
    await outer.start()
    await inner.start()
    await conn.execute("insert into log (note) values ('lost')")
    held += [inner.commit, outer.commit, outer.rollback, conn.transaction().start]


async def a_begin_work(conn: Connection, held: list[Any]) -> None:
    await conn.execute("begin work")
    await conn.execute("insert into log (note) values ('lost')")
    held += [conn.commit, conn.rollback]


async def an_open_cursor(conn: Connection, held: list[Any]) -> None:
    cursor = conn.cursor(hold=True)
    await cursor.execute("select id, name from thing")
    assert await cursor.fetchone() is not None
    held += [cursor.fetchall, lambda: cursor.execute("select 1 from log")]


async def a_scroll_cursor(conn: Connection, held: list[Any]) -> None:
    cursor = conn.cursor(scroll=True)
    await cursor.execute("select id, name from thing")
    await cursor.fetch_last()
    held += [cursor.fetch_first, cursor.fetchall]


async def a_cursor_for_update(conn: Connection, held: list[Any]) -> None:
    await an_open_transaction(conn, held)
    cursor = conn.cursor()
    await cursor.execute("select id, name from thing for update")
    await cursor.fetchone()
    held += [cursor.fetchmany, conn.ping]


async def a_stream_with_read_ahead(conn: Connection, held: list[Any]) -> None:
    stream = conn.stream("select id, name from thing")
    await anext(stream)
    assert stream._ahead is not None

    async def rest() -> list[Any]:
        return [row async for row in stream]

    held += [rest, conn.stream("select id from thing").__anext__]


async def a_prepared_statement(conn: Connection, held: list[Any]) -> None:
    statement = await conn.prepare("select name from thing where id = ?")
    assert await statement.fetchval(3) == "thing 3"
    insert = await conn.prepare("insert into log (note) values (?)")
    held += [lambda: statement.fetchval(3), lambda: insert.execute("stray"), statement.stream(3).__anext__]


async def other_settings(conn: Connection, held: list[Any]) -> None:
    await conn.execute("set isolation to repeatable read")
    await conn.execute("set lock mode to wait 17")
    held += [lambda: conn.execute("set isolation to dirty read")]


async def a_failed_statement(conn: Connection, held: list[Any]) -> None:
    with pytest.raises(UndefinedTable):
        await conn.execute("insert into nowhere values (1)")


async def a_connection(conn: Connection, held: list[Any]) -> None:
    held += [
        conn.ping,
        conn.commit,
        conn.rollback,
        lambda: conn.execute("insert into log (note) values ('stray')"),
        lambda: conn.executemany("insert into log (note) values (?)", [("stray",)]),
        lambda: conn.load("log", [("stray",)], columns=["note"]),
        lambda: conn.prepare("select 1 from log"),
        lambda: conn.fetch("select 1 from log"),
        lambda: conn.fetchrow("select 1 from log"),
        lambda: conn.cursor().execute("select 1 from log"),
        conn.stream("select 1 from log").__anext__,
        conn.transaction().start,
    ]


LEFT: list[Left] = [
    an_open_transaction,
    nested_transactions,
    a_begin_work,
    an_open_cursor,
    a_scroll_cursor,
    a_cursor_for_update,
    a_stream_with_read_ahead,
    a_prepared_statement,
    other_settings,
    a_failed_statement,
    a_connection,
]


async def assert_as_new(conn: Connection, server: Server) -> None:
    """What a borrower may rely on, at both ends."""
    assert not conn.is_in_transaction()
    assert conn.database == "shop"
    assert await conn.fetchval("select count(*) from log") == 0
    assert await conn.fetchval("select name from thing where id = ?", 42) == "thing 42"
    async with conn._session as session:
        assert (session.channel.pending, session.channel.inbox.unread) == (0, 0)
    (seen,) = server.stats.sessions
    assert not seen.in_transaction
    assert (seen.isolation, seen.lock_wait) == ("COMMITTED READ", 0)
    assert seen.cursors == 0
    assert seen.statements == len(conn._statements)


@pytest.mark.parametrize("leave", LEFT, ids=lambda left: left.__name__)
async def test_what_a_borrower_leaves_open_is_gone_and_what_he_holds_is_of_no_use(
    server: Server, leave: Left
) -> None:
    held: list[Callable[[], Awaitable[Any]]] = []
    async with pooled(server) as pool:
        async with pool.acquire() as conn:
            first = await session_of(conn)
            await leave(conn, held)
        async with pool.acquire() as conn:
            assert await session_of(conn) == first
            await assert_as_new(conn, server)
            async with conn.transaction():
                await conn.execute("insert into log (note) values ('mine')")
                for use in held:
                    with pytest.raises(InterfaceError):
                        await use()
                assert conn.is_in_transaction()
            assert await conn.fetchval("select note from log") == "mine"
            held.clear()
            gc.collect()
            assert await conn.fetchval("select count(*) from thing") == ROWS


@pytest.mark.parametrize(
    "statement",
    [
        "create temp table mine (a int)",
        "select id from thing into temp mine",
        "set environment ifx_auto_reprepare '0'",
        "database other",
        "close database",
    ],
)
@pytest.mark.parametrize("prepared", [False, True], ids=["executed", "prepared"])
async def test_a_session_that_cannot_be_restored_is_replaced(
    server: Server, statement: str, prepared: bool
) -> None:
    async with pooled(server) as pool:
        async with pool.acquire() as conn:
            first = await session_of(conn)
            if prepared and "database" not in statement:
                await (await conn.prepare(statement)).execute()
            else:
                await conn.execute(statement)
        async with pool.acquire() as conn:
            assert await session_of(conn) != first
            await eventually(lambda: len(server.stats.sessions) == 1)
            await assert_as_new(conn, server)


async def test_a_database_that_only_a_borrower_has_opened_is_not_the_next_ones(server: Server) -> None:
    async with pooled(server, database="") as pool:
        async with pool.acquire() as conn:
            assert conn.database == ""
            await conn.execute("database other")
        async with pool.acquire() as conn:
            assert conn.database == ""


async def test_a_table_lock_without_transactions_ends_with_its_borrower() -> None:
    # The embedded server has no such locks; what counts is that the statement has succeeded.
    options = ServerOptions(databases=("shop",), log_mode=LogMode.UNLOGGED)
    async with serve(options) as server, pooled(server) as pool:
        async with pool.acquire() as conn:
            first = await session_of(conn)
            conn._session.executed(0, Reply(), "lock table log in exclusive mode")
        async with pool.acquire() as conn:
            assert await session_of(conn) != first


async def test_a_statement_that_was_cancelled_ends_before_the_next_borrower_begins(server: Server) -> None:
    async with pooled(server, lock_wait=-1) as pool, aioifx.connect(server.dsn) as locker:
        async with locker.transaction():
            await locker.execute("update thing set name = 'locked' where id = 1")
            async with pool.acquire() as conn:
                stuck = asyncio.create_task(conn.execute("update thing set name = 'mine' where id = 1"))
                await eventually(lambda: any(seen.waiting for seen in server.stats.sessions))
                stuck.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await stuck
            async with pool.acquire() as conn:
                assert await conn.fetchval("select count(*) from log") == 0
                assert not any(seen.waiting for seen in server.stats.sessions)
        assert pool.stats().opened == 1
        assert await pool.fetchval("select name from thing where id = 1") == "locked"


async def test_a_connection_that_another_task_still_uses_is_not_lent_again(server: Server) -> None:
    async with pooled(server, lock_wait=-1) as pool, aioifx.connect(server.dsn) as locker:
        async with locker.transaction():
            await locker.execute("update thing set name = 'locked' where id = 1")
            async with pool.acquire() as conn:
                first = await session_of(conn)
                stray = asyncio.create_task(conn.execute("update thing set name = 'stray' where id = 1"))
                await eventually(lambda: any(seen.waiting for seen in server.stats.sessions))
                queued_up = asyncio.create_task(conn.execute("insert into log (note) values ('stray')"))
                await eventually(lambda: conn._session.line._queued)
            with pytest.raises(ConnectionLost, match="another task used it"):
                await stray
            with pytest.raises((ConnectionLost, InterfaceError)):
                await queued_up
            async with pool.acquire() as conn:
                assert await session_of(conn) != first
                assert await conn.fetchval("select count(*) from log") == 0


async def test_a_connection_costs_nothing_more_when_nothing_was_changed(server: Server) -> None:
    async with pooled(server) as pool:
        for number in range(3):
            async with pool.acquire() as conn:
                before = conn.stats.round_trips
                assert await conn.fetchval("select name from thing where id = ?", 7) == "thing 7"
                # The statement is prepared once, whoever has borrowed the connection then.
                assert conn.stats.round_trips - before == (1 if number else 3)
            assert pool.stats().idle == 1, "it is there at once"


async def test_an_isolation_of_a_blocks_is_put_back_with_the_next_call(server: Server) -> None:
    async with pooled(server, isolation="cursor_stability", lock_wait=3) as pool:
        async with pool.acquire() as conn:
            await conn.fetchval("select count(*) from log")
            transaction = conn.transaction(isolation="dirty_read", lock_wait=9)
            await transaction.start()
            assert server.stats.sessions[0].isolation == "DIRTY READ"
        async with pool.acquire() as conn:
            await conn.fetchval("select count(*) from log")
            (seen,) = server.stats.sessions
            assert (seen.isolation, seen.lock_wait) == ("CURSOR STABILITY", 3)


# -- cancellations ----------------------------------------------------------------------------------------------------


async def acquire_and_release(pool: Pool) -> None:
    await pool.release(await pool.acquire())


async def acquire_in_a_block(pool: Pool) -> None:
    async with pool.acquire() as conn:
        assert await conn.fetchval("select name from thing where id = ?", 7) == "thing 7"


async def work_in_a_transaction(pool: Pool) -> None:
    async with pool.acquire() as conn, conn.transaction():
        await conn.execute("insert into log (note) values ('x')")
        async for _ in conn.stream("select id, name from thing"):
            pass
        raise ZeroDivisionError


async def stream_of_the_pool(pool: Pool) -> None:
    async with contextlib.aclosing(pool.stream("select id, name from thing")) as stream:
        async for _ in stream:
            pass


async def leave_all_behind(pool: Pool) -> None:
    async with pool.acquire() as conn:
        await conn.execute("begin work")
        await conn.execute("insert into log (note) values ('x')")
        await conn.execute("set isolation to repeatable read")
        await anext(conn.stream("select id, name from thing"))


async def setup(conn: Connection) -> None:
    assert await conn.fetchval("select count(*) from log") == 0


MANNERS = pytest.mark.parametrize("manner", Manner, ids=lambda manner: manner.name.lower())


@contextlib.contextmanager
def injected(manner: Manner, injection: Injection) -> Any:
    """Swallow the cancellation that was injected, and nothing else."""
    expected = TimeoutError if manner is Manner.TIMEOUT else asyncio.CancelledError
    try:
        yield
    except expected:
        assert injection.reached
    except ZeroDivisionError:
        assert not injection.reached
    else:
        assert not injection.reached, "the cancellation was swallowed"


@MANNERS
@pytest.mark.parametrize("hooks", [False, True], ids=["plain", "hooks"])
@pytest.mark.parametrize(
    "call",
    [acquire_and_release, acquire_in_a_block, work_in_a_transaction, stream_of_the_pool, leave_all_behind],
    ids=lambda call: call.__name__,
)
async def test_a_cancellation_at_any_await_loses_no_connection(
    server: Server, call: Callable[[Pool], Awaitable[None]], manner: Manner, hooks: bool
) -> None:
    extra: dict[str, Any] = {"setup": setup, "reset": setup, "check_after_idle": 0} if hooks else {}
    async with pooled(server, min_size=0, **extra) as pool:
        for point in range(1, MOST):
            injection = Injection(manner, point)
            with injected(manner, injection):
                await injection.into(call(pool))  # type: ignore[arg-type]
            async with asyncio.timeout(20), pool.acquire() as conn:
                await eventually(lambda: len(server.stats.sessions) == 1)
                await assert_as_new(conn, server)
            stats = pool.stats()
            assert (stats.waiting, stats.opening) == (0, 0)
            assert stats.size <= 1
            if not injection.reached:
                break
        else:
            pytest.fail("it has more suspensions")


@MANNERS
async def test_a_cancelled_waiter_passes_his_connection_on(server: Server, manner: Manner) -> None:
    async with pooled(server) as pool:
        held = await pool.acquire()
        injection = Injection(manner, 1)
        waiting = asyncio.create_task(injection.into(acquire_and_release(pool)))
        await eventually(lambda: injection.reached)
        behind = asyncio.create_task(pool.fetchval("select count(*) from log"))
        await queued(pool, 2 if manner is Manner.WOKEN else 1)
        await pool.release(held)
        with pytest.raises(TimeoutError if manner is Manner.TIMEOUT else asyncio.CancelledError):
            await waiting
        assert await behind == 0
        assert pool.stats().opened == 1


async def test_release_and_the_end_of_a_block_never_wait(server: Server) -> None:
    async with pooled(server) as pool:
        conn = await pool.acquire()
        await conn.execute("begin work")
        with pytest.raises(StopIteration):
            pool.release(conn).send(None)
        acquiring = pool.acquire()
        conn = await acquiring.__aenter__()
        await anext(conn.stream("select id, name from thing"))
        with pytest.raises(StopIteration):
            acquiring.__aexit__(None, None, None).send(None)
        assert await pool.fetchval("select count(*) from log") == 0


@MANNERS
async def test_a_cancelled_start_leaves_nothing(server: Server, manner: Manner) -> None:
    for point in range(1, MOST):
        pool = create_pool(server.dsn, init=setup)
        injection = Injection(manner, point)
        with injected(manner, injection):
            _ = await injection.into(pool._start())
        await pool.close()
        assert_shut(pool)
        await eventually(lambda: not server.stats.sessions)
        if not injection.reached:
            break


@MANNERS
@pytest.mark.parametrize("lent", [False, True], ids=["idle", "lent"])
async def test_a_cancelled_close_drops_everything(server: Server, manner: Manner, lent: bool) -> None:
    for point in range(1, 6):
        await close_cancelled(server, Injection(manner, point), 0 if point > 2 else 20, lent)


async def close_cancelled(server: Server, injection: Injection, patience: float, lent: bool) -> None:
    pool = await create_pool(server.dsn, min_size=2, max_size=3)
    conn = await pool.acquire() if lent else None
    with contextlib.suppress(asyncio.CancelledError, TimeoutError):
        await injection.into(pool.close(timeout=patience))
    if conn is not None:
        assert not conn._session.is_open
        await pool.release(conn)
    await eventually(lambda: not own_tasks(pool))
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


async def test_a_pool_in_a_cancelled_scope_is_gone_behind_it(server: Server) -> None:
    pool = create_pool(server.dsn, min_size=2, max_size=3)
    with anyio.CancelScope() as scope:
        async with pool, pool.acquire() as conn:
            await conn.execute("begin work")
            scope.cancel()
            await conn.fetch("select id from thing")
    await eventually(lambda: not own_tasks(pool))
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


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


async def test_what_init_has_set_is_what_every_borrower_finds(server: Server) -> None:
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
        assert pool.stats().opened == 1


async def test_what_the_hooks_borrow_is_of_no_use_behind_them(server: Server) -> None:
    held: list[Connection] = []

    async def hook(conn: Connection) -> None:
        held.append(conn)

    async with pooled(server, init=hook, reset=hook) as pool:
        async with pool.acquire():
            pass
        async with pool.acquire():
            assert len(held) == 2
            for conn in held:
                with pytest.raises(InterfaceError, match="given back"):
                    await conn.ping()


async def test_a_start_whose_init_fails_raises_what_it_raised(server: Server) -> None:
    async def init(conn: Connection) -> None:
        await conn.fetch("select * from nowhere")

    pool = create_pool(server.dsn, init=init)
    with pytest.raises(UndefinedTable):
        _ = await pool
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


async def test_a_setup_that_fails_tells_the_borrower_and_costs_the_connection(server: Server) -> None:
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
        assert pool.stats().opened == 2


async def test_a_timeout_of_the_setups_is_not_the_pools(server: Server) -> None:
    async def late(_: Connection) -> None:
        raise TimeoutError("too late")

    async with pooled(server, setup=late) as pool:
        with pytest.raises(TimeoutError, match="too late") as caught:
            await pool.acquire()
        assert not isinstance(caught.value, PoolTimeout)


@pytest.mark.parametrize("error", [ZeroDivisionError, ConnectionLost, TimeoutError])
async def test_a_reset_that_fails_costs_the_connection(
    server: Server, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    fails = [True]

    async def failing(_: Connection) -> None:
        if fails and fails.pop():
            raise error("x")

    with caplog.at_level(logging.INFO, "aioifx.pool"):
        async with pooled(server, reset=failing) as pool:
            for _ in range(2):
                assert await pool.fetchval("select count(*) from log") == 0
            assert pool.stats().opened == 2
    assert len([record for record in caplog.records if record.name == "aioifx.pool"]) == 1


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


async def test_hooks_and_the_pools_own_tasks_know_nothing_of_a_borrowers_context(server: Server) -> None:
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


async def test_only_what_was_idle_for_long_is_asked_for_a_sign_of_life(server: Server) -> None:
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
        for slot in pool._lending.idle:
            slot.connection._session.line.on_end = None  # the pool is not told
            slot.connection._session.channel.abort()
        assert await pool.fetchval("select count(*) from log") == 0
        await pool.wait_ready(20)


async def test_a_connection_that_dies_while_it_is_idle_is_replaced_before_anybody_asks(
    server: Server,
) -> None:
    async with pooled(server, min_size=2, max_size=3) as pool:
        await pool.wait_ready(20)
        async with pool.acquire(), pool.acquire():
            pass
        for session in list(server._sessions.values()):
            session.stop()
        await eventually(lambda: pool.stats().closed == 2)
        await pool.wait_ready(20)
        assert await pool.fetchval("select count(*) from log") == 0
        assert pool.stats().opened == 4


async def test_one_that_its_borrower_has_closed_is_replaced(server: Server) -> None:
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


async def test_what_nobody_needs_is_closed(server: Server) -> None:
    async with pooled(server, max_size=3, max_idle=100) as pool:
        async with pool.acquire(), pool.acquire(), pool.acquire():
            pass
        assert pool.stats().idle == 3
        move_clock(pool, 101)
        assert pool.stats().idle == 1
        await eventually(lambda: len(server.stats.sessions) == 1)


async def test_the_timer_that_closes_what_nobody_needs_goes_off(server: Server) -> None:
    async with pooled(server, min_size=0, max_idle=0.01) as pool:
        await pool.fetchval("select count(*) from log")
        await eventually(lambda: not pool.stats().size)


async def test_what_was_open_is_not_lent_again_behind_an_expire(server: Server) -> None:
    async with pooled(server, min_size=2, max_size=2) as pool:
        await pool.wait_ready(20)
        async with pool.acquire() as conn:
            first = await session_of(conn)
            pool.expire()
        await pool.wait_ready(20)
        async with pool.acquire() as one, pool.acquire() as two:
            assert first not in {await session_of(one), await session_of(two)}
        assert pool.stats().closed == 2


async def test_a_pool_may_grow_and_shrink(server: Server) -> None:
    async with pooled(server) as pool:
        pool.resize(3, 3)
        await pool.wait_ready(20)
        assert pool.stats().idle == 3
        async with pool.acquire():
            pool.resize(0, 1)
            await eventually(lambda: len(server.stats.sessions) == 1)
        assert (pool.stats().idle, pool.stats().max_size) == (1, 1)
        with pytest.raises(InterfaceError, match="min_size"):
            pool.resize(3, 2)


async def test_stats_are_a_picture_of_one_moment(server: Server) -> None:
    async with pooled(server, name="orders", max_size=2) as pool:
        async with pool.acquire():
            stats = pool.stats()
        assert dataclasses.asdict(stats) == {
            "name": "orders",
            "min_size": 1,
            "max_size": 2,
            "size": 1,
            "idle": 0,
            "lent": 1,
            "opening": 0,
            "waiting": 0,
            "acquired": 1,
            "opened": 1,
            "closed": 0,
            "failed": 0,
            "refused": 0,
            "timed_out": 0,
            "most_waiting": 1,
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
        with pytest.raises(PoolTimeout, match="cannot be reached") as caught:
            await asyncio.gather(*(pool.acquire() for _ in range(5)))
        assert isinstance(caught.value.__cause__, ConnectError)
        await eventually(lambda: not pool.stats().waiting)
        with pytest.raises(PoolTimeout):
            await pool.wait_ready(0)

        async with serve(dataclasses.replace(options, port=port)) as second:
            await pool.wait_ready()
            assert pool.stats().size == 2
            assert await pool.fetch("select * from kept") == []
            assert len(second.stats.sessions) == 2
            await pool.close()


async def test_an_outage_counts_once_however_many_wait_for_it(server: Server) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        pool = await create_pool(server.dsn, port=port, min_size=0, max_size=10)
        waiting = [asyncio.create_task(pool.fetchval("select count(*) from log")) for _ in range(10)]
        await eventually(lambda: pool.stats().failed >= 10)
        assert pool.stats().refused == 0, "one moment without a server is no outage yet"
    async with serve(dataclasses.replace(OPTIONS, port=port)):
        async with asyncio.timeout(20):
            assert await asyncio.gather(*waiting) == [0] * 10
            await pool.close()


# -- the end ----------------------------------------------------------------------------------------------------------


async def test_a_close_waits_for_what_is_lent(server: Server) -> None:
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


async def test_a_close_says_good_bye(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "aioifx.server")
    async with pooled(server, max_size=2) as pool:
        async with pool.acquire(), pool.acquire() as conn:
            await conn.execute("create temp table mine (a int)")
        assert await pool.fetchval("select count(*) from log") == 0
    assert "the client closed the connection" not in caplog.text


async def test_a_close_that_may_not_wait_drops_what_is_lent(server: Server) -> None:
    pool = await create_pool(server.dsn)
    conn = await pool.acquire()
    waiting = asyncio.create_task(pool.acquire(timeout=20).__aenter__())
    await eventually(lambda: pool.stats().waiting + pool.stats().lent == 2)
    await pool.close(timeout=0)
    if not waiting.done() or waiting.exception() is None:
        other = await waiting
        with pytest.raises(ConnectionLost):
            await other.ping()
        await pool.release(other)
    with pytest.raises(ConnectionLost):
        await conn.ping()
    await pool.release(conn)
    await eventually(lambda: not pool._closings)
    assert_shut(pool)


async def test_waiters_are_told_that_the_pool_is_closed(server: Server) -> None:
    pool = await create_pool(server.dsn, max_size=1)
    conn = await pool.acquire()
    waiting = asyncio.create_task(pool.fetchval("select 1 from log"))
    await queued(pool, 1)
    closing = asyncio.create_task(pool.close())
    with pytest.raises(PoolClosed):
        await waiting
    await pool.release(conn)
    await closing


async def test_a_close_gives_up_what_is_being_opened(server: Server) -> None:
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


@pytest.mark.parametrize("state", ["idle", "lent", "waiting", "closing", "closed"])
async def test_a_pool_may_be_terminated_in_any_state(server: Server, state: str) -> None:
    pool = await create_pool(server.dsn, min_size=2, max_size=2)
    await pool.wait_ready(20)
    conns: list[Connection] = []
    others: list[asyncio.Task[Any]] = []
    if state in ("lent", "waiting", "closing"):
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
    assert not pool.stats().idle
    for conn in conns:
        with pytest.raises(ConnectionLost):
            await conn.ping()
        await pool.release(conn)
    for outcome in await asyncio.gather(*others, return_exceptions=True):
        assert outcome is None or isinstance(outcome, PoolClosed)
    await eventually(lambda: not pool._closings)
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


async def test_a_block_that_fails_does_not_wait_for_what_is_lent(server: Server) -> None:
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
            pool._lending.limits.max_lifetime = 0
            return pool

    pool = asyncio.run(begin())
    pool.terminate()
    asyncio.run(pool.close())
    with pytest.raises(PoolClosed):
        asyncio.run(pool.fetchval("select 1 from log"))


# -- borrowers that forget --------------------------------------------------------------------------------------------


def place(text: str) -> bool:
    return __file__ in text and "test_a_forgotten" in text


@pytest.mark.parametrize("how", ["awaited", "in another thread", "closed", "dead"])
async def test_a_forgotten_connection_warns_and_frees_its_place(server: Server, how: str) -> None:
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
        (warning,) = [each for each in caught if "given back" in str(each.message)]
        assert warning.category is ResourceWarning
        assert place(str(warning.message)), "debug mode names the borrower"
        async with asyncio.timeout(20):
            assert await pool.fetchval("select count(*) from log") == 0
        assert pool.stats().opened == 2


async def test_a_forgotten_connection_frees_its_place_even_where_warnings_are_errors(
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
                with pytest.raises(InterfaceError, match="not lent"):
                    await pool.release(stranger)


@pytest.mark.parametrize("block", [False, True], ids=["awaited", "block"])
async def test_a_late_release_is_logged_with_its_borrower(
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
        assert re.search(r"held for 3\.\d s", message)
        assert __file__ in message and "a_forgotten_place" in message
        assert "pool.py" not in message.replace(__file__, "")
        async with pool.acquire():
            pass
        assert len(caplog.records) == 1


async def test_a_pool_that_works_logs_nothing(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "aioifx.pool")
    async with pooled(server, min_size=2, max_size=3) as pool:
        async with pool.acquire() as conn:
            await conn.execute("begin work")
        assert await pool.fetchval("select count(*) from log") == 0
    assert [record for record in caplog.records if record.name in ("aioifx.pool", "asyncio")] == []


async def test_a_failed_try_to_connect_is_logged_without_secrets(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    pool = await create_pool(server.dsn, password="wrong-secret", min_size=0)
    with pytest.raises(PoolTimeout) as caught:
        await pool.acquire()
    assert isinstance(caught.value.__cause__, AuthenticationError)
    await pool.close()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "secret" not in caplog.text


# -- many at once -----------------------------------------------------------------------------------------------------


async def test_many_borrowers_and_cancellations_lose_nothing(server: Server) -> None:
    """Forty tasks, three connections, every fifth task is cancelled somewhere."""

    async def borrow(number: int) -> None:
        async with pool.acquire() as conn:
            if number % 3 == 0:
                async with conn.transaction():
                    await conn.execute("insert into log (note) values (?)", str(number))
            elif number % 3 == 1:
                assert await conn.fetchval("select name from thing where id = ?", 7) == "thing 7"
            else:
                async for _ in conn.stream("select id, name from thing"):
                    break

    async with pooled(server, max_size=3, lock_wait=20) as pool:
        tasks = [asyncio.create_task(borrow(number)) for number in range(40)]
        for number in range(0, 40, 5):
            await eventually(lambda number=number: pool.stats().acquired >= number // 2)  # type: ignore[misc]
            tasks[number].cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            assert outcome is None or isinstance(outcome, asyncio.CancelledError)
            assert not isinstance(outcome, DatabaseError)
        await eventually(lambda: pool.stats().idle == pool.stats().size)
        assert pool.stats().waiting == 0
