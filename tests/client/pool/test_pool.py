"""The pool against the embedded server: which task gets which connection, in which state, and that none is left."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import pytest

import aioifx
from aioifx import Connection, Pool, PoolClosed, PoolTimeout, create_pool
from aioifx.arrow import fetch_arrow
from aioifx.errors import (
    AuthenticationError,
    ConnectError,
    ConnectionLost,
    DatabaseError,
    InterfaceError,
    OperationalError,
    QueryCanceled,
    UndefinedTable,
)
from aioifx.server import Quirk, Server, ServerOptions, serve
from aioifx.server.sqlite.databases import LogMode
from aioifx.testing.messages import EOT, error, executed
from aioifx.testing.script import BEGIN, COMMAND, END_SESSION, Peer, listening, login
from aioifx.wire.opcodes import StatementType
from aioifx.wire.replies import Reply
from tests.client.api.test_transaction import ended
from tests.client.pooling import OPTIONS, ROWS, assert_shut, own_tasks, pooled, queued, session_of
from tests.injection import Injection, Manner, eventually

pytestmark = pytest.mark.timeout(60)


MOST = 60
"""No call here has as many suspensions."""


# -- beginning --------------------------------------------------------------------------------------------------------


async def test_a_pool_opens_what_it_must_have(server: Server) -> None:
    async with pooled(server, min_size=3, max_size=4) as pool:
        await pool.wait_ready(20)
        assert pool.stats.idle == 3
        assert len(server.stats.sessions) == 3


async def test_with_a_minimum_size_of_0_nothing_is_opened_before_an_acquire(server: Server) -> None:
    async with pooled(server, min_size=0) as pool:
        assert not server.stats.sessions
        assert await pool.fetchval("select count(*) from thing") == ROWS


async def test_a_pool_may_be_awaited(server: Server) -> None:
    pool = await create_pool(server.dsn)
    assert await pool.fetchval("select count(*) from thing") == ROWS
    await pool.close()
    await pool.close()
    assert_shut(pool)


async def test_a_wrong_password_is_raised_by_the_start(server: Server) -> None:
    pool = create_pool(server.dsn, password="wrong", min_size=2, max_size=2)
    with pytest.raises(AuthenticationError):
        _ = await pool
    assert_shut(pool)
    assert not server.stats.sessions
    with pytest.raises(PoolClosed):
        await pool.acquire()


async def test_a_server_that_does_not_listen_is_reported_by_the_start(server: Server) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        pool = create_pool(server.dsn, host="127.0.0.1", port=silent.getsockname()[1])
        with pytest.raises(ConnectError):
            async with pool:
                pytest.fail("it has started")
    assert_shut(pool)


async def test_a_pool_that_was_not_started_says_so(server: Server) -> None:
    pool = create_pool(server.dsn)
    with pytest.raises(InterfaceError, match="is not started"):
        await pool.acquire()
    with pytest.raises(InterfaceError, match="is not started"):
        await pool.wait_ready()


async def test_a_pool_starts_once(server: Server) -> None:
    async with pooled(server) as pool:
        with pytest.raises(InterfaceError, match="already started"):
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
            assert "secret" not in f"{pool!r} {caught.value!r} {conn!r} {pool.stats!r}"
        assert "shop" in repr(pool)
    assert repr(create_pool(server.dsn, name="orders")).startswith("<Pool 'orders' new")


# -- what the next acquire sees ---------------------------------------------------------------------------------------

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
    await cursor.fetch_absolute(-1)
    held += [partial(cursor.fetch_absolute, 1), cursor.fetchall]


async def a_cursor_for_update(conn: Connection, held: list[Any]) -> None:
    await an_open_transaction(conn, held)
    cursor = conn.cursor()
    await cursor.execute("select id, name from thing for update")
    await cursor.fetchone()
    held += [cursor.fetchmany, conn.ping]


async def a_stream_with_read_ahead(conn: Connection, held: list[Any]) -> None:
    stream = conn.stream("select id, name from thing")
    await anext(stream)
    assert stream.reader._prefetched is not None

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
    """What holds for a newly acquired connection, at both ends."""
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


@pytest.mark.sampled
@pytest.mark.parametrize("leave", LEFT, ids=lambda left: left.__name__)
async def test_what_is_left_open_at_a_release_is_gone_and_old_handles_are_unusable(
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


@pytest.mark.sampled
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


RUN_BY: dict[str, Callable[[Connection], Awaitable[object]]] = {
    "fetch": lambda conn: conn.fetch("select id from thing"),
    "stream": lambda conn: anext(conn.stream("select id from thing")),
    "cursor": lambda conn: conn.cursor().execute("select id from thing"),
    "arrow": lambda conn: fetch_arrow(conn, "select id from thing"),
    "execute": lambda conn: conn.execute("update thing set name = null"),
    "executemany": lambda conn: conn.executemany("update thing set name = null where id = ?", [(1,), (2,)]),
    "load": lambda conn: conn.load("thing", [(-1, None)]),
}


async def run_prepared(conn: Connection) -> None:
    await (await conn.prepare("select id from thing where id > ?")).fetch(0)


@pytest.mark.sampled
@pytest.mark.parametrize("quirks", [(), (Quirk.NO_BIT_70,)], ids=["bit 70", "no bit 70"])
@pytest.mark.parametrize("run", [*RUN_BY.values(), run_prepared], ids=[*RUN_BY, "prepared"])
async def test_a_session_whose_statement_was_interrupted_without_a_cancel_is_replaced(
    run: Callable[[Connection], Awaitable[object]], quirks: tuple[Quirk, ...]
) -> None:
    async with serve(replace(OPTIONS, quirks=quirks)) as server, pooled(server) as pool:
        async with pool.acquire() as conn:
            first = await session_of(conn)
            server.faults.fail_next(-213, match=" thing")
            with pytest.raises(QueryCanceled, match=r"without a cancel of this call.*\(SQLCODE -213\)"):
                await run(conn)
            assert await session_of(conn) == first, "the user may go on"
        async with pool.acquire() as conn:
            assert await session_of(conn) != first


@pytest.mark.parametrize("quirks", [(), (Quirk.NO_BIT_70,)], ids=["bit 70", "no bit 70"])
async def test_a_server_that_refuses_insert_cursors_is_asked_once(quirks: tuple[Quirk, ...]) -> None:
    async with serve(replace(OPTIONS, quirks=(*quirks, Quirk.NO_PUT))) as server:
        async with pooled(server, min_size=2, max_size=2) as pool:
            async with pool.acquire() as one, pool.acquire() as two:
                trips = []
                for number, conn in enumerate((one, two)):
                    before = conn.stats.round_trips
                    await conn.load(
                        "thing", [(n, f"thing {n}") for n in range(number * 20, number * 20 + 20)]
                    )
                    trips.append(conn.stats.round_trips - before)
                assert trips[0] - trips[1] == 4  # PUT, CLOSE, ROLLBACK, BEGIN
                assert await two.fetchval("select count(*) from thing") == 40


async def test_a_database_opened_while_acquired_is_not_open_at_the_next_acquire(server: Server) -> None:
    async with pooled(server, database="") as pool:
        async with pool.acquire() as conn:
            assert conn.database == ""
            await conn.execute("database other")
        async with pool.acquire() as conn:
            assert conn.database == ""


async def test_a_table_lock_without_transactions_ends_at_the_release() -> None:
    # The embedded server has no such locks; what counts is that the statement has succeeded.
    options = ServerOptions(databases=("shop",), log_mode=LogMode.UNLOGGED)
    async with serve(options) as server, pooled(server) as pool:
        async with pool.acquire() as conn:
            first = await session_of(conn)
            conn._session.on_executed(0, Reply(), "lock table log in exclusive mode")
        async with pool.acquire() as conn:
            assert await session_of(conn) != first


async def test_a_statement_that_was_cancelled_ends_before_the_next_acquire(server: Server) -> None:
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
        assert pool.stats.opened == 1
        assert await pool.fetchval("select name from thing where id = 1") == "locked"


async def test_a_connection_that_another_task_still_uses_is_not_acquired_again(server: Server) -> None:
    async with pooled(server, lock_wait=-1) as pool, aioifx.connect(server.dsn) as locker:
        async with locker.transaction():
            await locker.execute("update thing set name = 'locked' where id = 1")
            async with pool.acquire() as conn:
                first = await session_of(conn)
                stray = asyncio.create_task(conn.execute("update thing set name = 'stray' where id = 1"))
                await eventually(lambda: any(seen.waiting for seen in server.stats.sessions))
                queued_up = asyncio.create_task(conn.execute("insert into log (note) values ('stray')"))
                await eventually(lambda: conn._session.dispatcher._waiters)
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
                # The statement is prepared once, for all tasks that acquire the connection.
                assert conn.stats.round_trips - before == (1 if number else 3)
            assert pool.stats.idle == 1, "it is there at once"


async def test_a_blocks_isolation_is_restored_with_the_next_call(server: Server) -> None:
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


async def test_a_transaction_that_the_server_has_ended_is_not_the_next_users() -> None:
    """The embedded server ends none by itself."""
    script = [
        *login(),
        BEGIN,
        (COMMAND, ended(-458, -143)),  # a long transaction, which the server has rolled back
        ("Rollback", error(-255) + EOT),
        (COMMAND, executed(9, StatementType.DELETE, 1)),
        END_SESSION,
    ]
    async with listening(Peer(script, with_login=True)) as listener:
        dsn = f"informix://usr:pwd@127.0.0.1:{listener.port}/shop?server=ol_shop"
        async with asyncio.timeout(50), create_pool(dsn, max_size=1) as pool:
            async with pool.acquire() as conn:
                await conn.transaction().start()
                with pytest.raises(DatabaseError):
                    await conn.execute("delete from thing")
                with pytest.raises(InterfaceError, match="roll back before anything else"):
                    await conn.execute("delete from thing")
            async with pool.acquire() as conn:
                assert (await conn.execute("delete from thing")).rowcount == 1
            assert pool.stats.opened == 1
        listener.peers[0].check()


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


@pytest.mark.sampled
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
            stats = pool.stats
            assert (stats.waiting, stats.opening) == (0, 0)
            assert stats.size <= 1
            if not injection.reached:
                break
        else:
            pytest.fail("it has more suspensions")


@MANNERS
async def test_a_cancelled_waiter_passes_its_connection_on(server: Server, manner: Manner) -> None:
    async with pooled(server) as pool:
        held = await pool.acquire()
        injection = Injection(manner, 1)
        waiting = asyncio.create_task(injection.into(acquire_and_release(pool)))
        await eventually(lambda: injection.reached)
        behind = asyncio.create_task(pool.fetchval("select count(*) from log"))
        if manner is Manner.WOKEN:
            await queued(pool, 2)
        else:  # a scope cancels in a later iteration of the loop, and not what was woken before
            await eventually(waiting.done)
            await queued(pool, 1)
        await pool.release(held)
        with pytest.raises(TimeoutError if manner is Manner.TIMEOUT else asyncio.CancelledError):
            await waiting
        assert await behind == 0
        assert pool.stats.opened == 1


async def test_release_and_the_end_of_a_block_never_wait(server: Server) -> None:
    async with pooled(server) as pool:
        conn = await pool.acquire()
        await conn.execute("begin work")
        with pytest.raises(StopIteration):
            next(pool.release(conn).__await__())
        acquiring = pool.acquire()
        conn = await acquiring.__aenter__()
        await anext(conn.stream("select id, name from thing"))
        with pytest.raises(StopIteration):
            acquiring.__aexit__(None, None, None).send(None)
        assert await pool.fetchval("select count(*) from log") == 0


@pytest.mark.sampled
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


@pytest.mark.sampled
@MANNERS
@pytest.mark.parametrize("in_use", [False, True], ids=["idle", "in use"])
async def test_a_cancelled_close_drops_everything(server: Server, manner: Manner, in_use: bool) -> None:
    for point in range(1, 6):
        # A close that waits for an acquired connection is woken only by its timeout.
        limit = 0.01 if manner is Manner.WOKEN else 20
        await close_cancelled(server, Injection(manner, point), 0 if point > 2 else limit, in_use)


async def close_cancelled(server: Server, injection: Injection, limit: float, in_use: bool) -> None:
    pool = await create_pool(server.dsn, min_size=2, max_size=3)
    conn = await pool.acquire() if in_use else None
    with contextlib.suppress(asyncio.CancelledError, TimeoutError):
        await injection.into(pool.close(timeout=limit))
    if conn is not None:
        assert not conn._session.is_open
        await pool.release(conn)
    await eventually(lambda: not own_tasks(pool))
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


async def test_a_pool_in_a_cancelled_scope_is_closed_after_it(server: Server) -> None:
    pool = create_pool(server.dsn, min_size=2, max_size=3)
    with anyio.CancelScope() as scope:
        async with pool, pool.acquire() as conn:
            await conn.execute("begin work")
            scope.cancel()
            await conn.fetch("select id from thing")
    await eventually(lambda: not own_tasks(pool))
    assert_shut(pool)
    await eventually(lambda: not server.stats.sessions)


# -- many at once -----------------------------------------------------------------------------------------------------


async def test_many_acquires_and_cancellations_lose_nothing(server: Server) -> None:
    """Forty tasks, three connections, every fifth task is cancelled somewhere."""

    async def use(number: int) -> None:
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
        tasks = [asyncio.create_task(use(number)) for number in range(40)]
        for number in range(0, 40, 5):
            await eventually(lambda number=number: pool.stats.acquired >= number // 2)  # type: ignore[misc]
            tasks[number].cancel()
        for outcome in await asyncio.gather(*tasks, return_exceptions=True):
            assert outcome is None or isinstance(outcome, asyncio.CancelledError)
            assert not isinstance(outcome, DatabaseError)
        await eventually(lambda: pool.stats.idle == pool.stats.size)
        assert pool.stats.waiting == 0


async def test_arguments_of_a_wrong_type_are_interface_errors(server: Server) -> None:
    wrong: Any = "x"
    no_connection: Any = set()
    async with pooled(server, max_size=1) as pool:
        async with pool.acquire():  # no call below waits for a connection
            for call in (
                lambda: pool.acquire(timeout=wrong),
                lambda: pool.acquire(timeout=-1),
                lambda: pool.wait_ready(wrong),
                lambda: pool.close(timeout=wrong),
                lambda: pool.execute("select 1 from thing", timeout=wrong),
                lambda: pool.executemany("delete from thing where id = ?", [(1,)], timeout=wrong),
                lambda: pool.load("thing", [], timeout=0),
                lambda: pool.unload("select id from thing", bytes, timeout=0),
            ):
                with pytest.raises(InterfaceError, match=r"^timeout: expected a number of seconds"):
                    await call()
            with pytest.raises(InterfaceError, match=r"^conn: expected a connection of this pool, got set"):
                _ = pool.release(no_connection)
        assert await pool.fetchval("select count(*) from thing") == ROWS


@pytest.mark.parametrize(
    "option",
    [{"name": 7}, {"debug": "no"}, {"max_waiting": 1.5}, {"max_idle": 10**400}, {"slow_release": []}],
)
def test_options_of_a_pool_are_of_their_types(option: dict[str, Any]) -> None:
    (name,) = option
    with pytest.raises(InterfaceError, match=f"^{name}: expected"):
        _ = create_pool("informix://u@h/d?server=s", **option)


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
