"""Operations of connections and pools, on a server."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aioifx
from aioifx import Connection, Operation
from aioifx._speedups.round_trip import InFlight
from aioifx.client.api.connection import statements_of
from aioifx.client.observation.observation import MeteredChannel, current_operation
from aioifx.errors import ConnectionLost
from aioifx.server import Server, ServerOptions, serve
from aioifx.wire.inbox import Inbox, Parser
from tests.client.observing import Recorder, fields, replace_clock
from tests.injection import eventually
from tests.sampling import examples
from tests.test_channel import FakeTransport

SEED = "create table thing (id int primary key, name varchar(40));"
OPTIONS = ServerOptions(databases=("shop",), seed=SEED, user="app", password="secret")


@pytest.fixture
async def server(tidy: None) -> AsyncIterator[Server]:
    async with asyncio.timeout(50), serve(OPTIONS) as server:
        yield server


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
async def conn(server: Server, recorder: Recorder) -> AsyncIterator[Connection]:
    async with aioifx.connect(server.dsn, observer=recorder) as conn:
        recorder.clear()
        yield conn
    recorder.check()


async def test_connecting_is_an_operation(server: Server, recorder: Recorder) -> None:
    before = time.time()
    async with aioifx.connect(server.dsn, observer=[recorder]) as conn:
        (operation,) = recorder.ended
        assert fields(operation, "name", "sql", "user", "database", "server_name", "pool", "error") == {
            "name": "connect", "sql": "", "user": "app", "database": "shop", "server_name": conn.server_name,
            "pool": "", "error": None,
        }  # fmt: skip
        assert (operation.host, operation.port) == ("127.0.0.1", server.port)
        assert before <= operation.started_at <= time.time()
        assert operation.round_trips == 4 == conn.stats.round_trips
        assert operation.bytes_in > 100 and operation.bytes_out > 100
        assert operation.server_time + operation.decode_time <= (operation.duration or 0)
        await conn.ping()
    assert recorder.names == ["connect"]  # neither the ping nor the close


async def test_a_connection_that_fails_ends_with_its_error(server: Server, recorder: Recorder) -> None:
    with pytest.raises(aioifx.AuthenticationError) as caught:
        await aioifx.connect(server.dsn, password="wrong", observer=recorder)
    assert recorder.last.error is caught.value
    assert (recorder.last.host, recorder.last.port) == ("127.0.0.1", server.port)
    assert recorder.last.database == "shop"
    with pytest.raises(aioifx.ConnectError):
        await aioifx.connect(server.dsn, port=1, host="127.0.0.1", observer=recorder)
    assert (recorder.last.port, recorder.last.bytes_out) == (1, 0)
    recorder.check()


async def test_a_fetch_has_what_it_cost(conn: Connection, recorder: Recorder) -> None:
    query = "select tabname from systables where tabid < ?"
    for trips in (3, 1):  # prepared, described and opened; then opened alone
        before = conn.stats.round_trips
        await conn.fetch(query, 4)
        operation = recorder.last
        assert fields(operation, "name", "sql", "parameters", "rows", "error", "batch_size") == {
            "name": "fetch", "sql": query, "parameters": 1, "rows": 3, "error": None, "batch_size": None,
        }  # fmt: skip
        assert operation.round_trips == trips == conn.stats.round_trips - before
        assert operation.bytes_in > 50 and operation.bytes_out > 50
        assert operation.wait_time == operation.duration
        spent = operation.queue_time + operation.server_time + operation.decode_time
        assert 0 < spent <= (operation.duration or 0)
    assert operation.session_id is None
    number = await conn.session_id()
    await conn.fetch(query, 4)
    assert recorder.last.session_id == number


async def test_each_method_has_its_name_and_its_rows(conn: Connection, recorder: Recorder) -> None:
    await conn.execute("insert into thing values (?, ?)", 1, "one")
    await conn.execute("insert into thing values (2, 'two')")
    await conn.fetchrow("select * from thing")
    await conn.fetchrow("select * from thing where id = 9")
    assert await conn.fetchval("select count(*) from thing") == 2
    await conn.execute("select * from thing")
    ended = [(operation.name, operation.rows, operation.parameters) for operation in recorder.ended]
    assert ended == [
        ("execute", 1, 2), ("execute", 1, 0), ("fetchrow", 1, 0), ("fetchrow", 0, 0), ("fetchval", 1, 0),
        ("execute", 2, 0),
    ]  # fmt: skip
    assert recorder.ended[1].sql == "insert into thing values (2, 'two')"


async def test_a_call_is_one_operation_with_its_statement(conn: Connection, recorder: Recorder) -> None:
    with pytest.raises(aioifx.UndefinedRoutine) as caught:
        await conn.call("nothing", 1, 2)
    (operation,) = recorder.ended
    assert (operation.name, operation.sql) == ("call", "execute procedure nothing(?, ?)")
    assert operation.error is caught.value


async def test_named_parameters_are_placeholders(conn: Connection, recorder: Recorder) -> None:
    await conn.fetch("select * from thing where id in (:ids)", named={"ids": [1, 2]})
    assert recorder.last.parameters == 2
    assert recorder.last.sql.replace(" ", "") == "select*fromthingwhereidin(?,?)"


async def test_executemany_has_its_own_transaction(conn: Connection, recorder: Recorder) -> None:
    rows = [(number, "x") for number in range(5)]
    await conn.executemany("insert into thing values (?, ?)", rows)
    (operation,) = recorder.ended
    assert fields(operation, "name", "parameters", "batch_size", "rows") == {
        "name": "executemany", "parameters": 2, "batch_size": 5, "rows": 5,
    }  # fmt: skip
    assert operation.round_trips == 5  # PREPARE, input types, BEGIN, rows, COMMIT
    await conn.executemany("update thing set name = ? where id > ?", (("y", number) for number in range(3)))
    assert (recorder.last.batch_size, recorder.last.rows) == (3, 9)
    with pytest.raises(aioifx.UniqueViolation):
        await conn.executemany("insert into thing values (?, ?)", [(1, "one")])
    assert isinstance(recorder.last.error, aioifx.UniqueViolation)
    assert (recorder.last.batch_size, recorder.last.rows) == (1, 0)


async def test_load_and_unload_are_one_operation_each(conn: Connection, recorder: Recorder) -> None:
    await conn.load("thing", [(1, "one"), (2, "two")])
    assert fields(recorder.last, "name", "sql", "parameters", "batch_size", "rows") == {
        "name": "load", "sql": "insert into thing values(?,?)", "parameters": 2, "batch_size": 2, "rows": 2,
    }  # fmt: skip
    text: list[bytes] = []
    await conn.unload("select * from thing where id > ?", text.append, 1)
    assert fields(recorder.last, "name", "sql", "parameters", "batch_size", "rows") == {
        "name": "unload", "sql": "select * from thing where id > ?", "parameters": 1, "batch_size": None, "rows": 1,
    }  # fmt: skip
    assert recorder.names == ["load", "unload"]


async def test_a_cancelled_call_ends_once(conn: Connection, recorder: Recorder) -> None:
    task = asyncio.create_task(conn.fetch("select * from thing"))
    await asyncio.sleep(0)  # it has sent its request
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert recorder.names == ["fetch"]
    assert isinstance(recorder.last.error, asyncio.CancelledError)
    await conn.fetch("select * from thing")
    assert recorder.last.error is None


async def test_the_wait_for_the_connection_is_queue_time(conn: Connection, recorder: Recorder) -> None:
    first, second = await asyncio.gather(
        conn.fetch("select * from thing"), conn.fetch("select count(*) from thing")
    )
    assert (first, len(second)) == ([], 1)
    waited = {operation.sql: operation.queue_time for operation in recorder.ended}
    assert waited["select * from thing"] < waited["select count(*) from thing"]


async def test_a_call_of_a_pool_has_an_acquire_and_then_its_session(
    server: Server, recorder: Recorder
) -> None:
    async with aioifx.create_pool(server.dsn, observer=recorder, name="web", max_size=1) as pool:
        assert recorder.names == ["connect"]
        async with pool.acquire() as conn:
            number = await conn.session_id()
        recorder.clear()
        await pool.fetch("select * from thing")
        outer, inner = recorder.started
        assert (outer.name, inner.name) == ("fetch", "acquire")
        assert [inner, outer] == recorder.ended
        assert outer.queue_time == inner.queue_time == 0  # a connection was free
        assert (inner.round_trips, outer.round_trips) == (0, 2)
        assert {operation.pool for operation in recorder.ended} == {"web"}
        assert {operation.port for operation in recorder.ended} == {server.port}
        assert {operation.session_id for operation in recorder.ended} == {number}
        recorder.clear()
        await pool.executemany("insert into thing values (?, ?)", [(1, "one")])
        await pool.execute("delete from thing")
        assert [(one.name, one.rows) for one in recorder.ended if one.name != "acquire"] == [
            ("executemany", 1), ("execute", 1),
        ]  # fmt: skip
    recorder.check()


async def test_a_call_that_waits_for_a_pool_has_its_wait_and_its_session(
    server: Server, recorder: Recorder
) -> None:
    async with aioifx.create_pool(server.dsn, observer=recorder, max_size=1) as pool:
        async with pool.acquire() as conn:
            number = await conn.session_id()
            recorder.clear()
            call = asyncio.create_task(pool.fetch("select * from thing"))
            await eventually(lambda: pool.stats.waiting == 1)
        await call
        outer, inner = recorder.started
        assert (outer.name, inner.name) == ("fetch", "acquire")
        assert [inner, outer] == recorder.ended
        assert outer.queue_time >= inner.queue_time > 0
        assert inner.queue_time <= (inner.duration or 0)
        assert (inner.round_trips, outer.round_trips) == (0, 2)
        assert {operation.session_id for operation in recorder.ended} == {number}


async def test_an_acquire_that_times_out_ends_once(server: Server, recorder: Recorder) -> None:
    async with aioifx.create_pool(server.dsn, observer=recorder, max_size=1) as pool, pool.acquire():
        recorder.clear()
        with pytest.raises(aioifx.PoolTimeout) as caught:
            await pool.acquire(timeout=0.01)
        assert [(one.name, one.error) for one in recorder.ended] == [("acquire", caught.value)]
        assert recorder.last.queue_time > 0.009


class Broken:
    def __init__(self) -> None:
        self.calls = 0

    def on_start(self, operation: Operation) -> None:
        self.calls += 1
        raise ValueError(f"start {self.calls}")

    def on_end(self, operation: Operation) -> None:
        self.calls += 1
        raise KeyError(f"end {self.calls}") if self.calls > 2 else ValueError("end")


async def test_what_an_observer_raises_is_logged_once_and_does_not_reach_the_caller(
    server: Server, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Broken()
    with caplog.at_level(logging.WARNING, "aioifx.observer"):
        async with aioifx.connect(server.dsn, observer=[broken, recorder]) as conn:
            await conn.fetch("select * from thing")
            await conn.fetch("select * from thing")
    assert broken.calls == 6
    assert recorder.names == ["connect", "fetch", "fetch"]
    recorder.check()
    assert [record.getMessage() for record in caplog.records] == [
        "an observer failed: Broken; further ValueError of it are not logged",
        "an observer failed: Broken; further KeyError of it are not logged",
    ]


async def test_a_begin_after_a_deferred_rollback_is_not_reported_as_a_savepoint(
    conn: Connection, recorder: Recorder
) -> None:
    transaction = conn.transaction()
    await transaction.start()
    ending = asyncio.ensure_future(transaction.commit())
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    async with conn.transaction():
        await conn.execute("delete from thing")
    assert [(one.name, one.sql) for one in recorder.ended] == [
        ("begin", "BEGIN WORK"), ("commit", "COMMIT WORK"), ("begin", "BEGIN WORK"),
        ("execute", "delete from thing"), ("commit", "COMMIT WORK"),
    ]  # fmt: skip


class Interrupting:
    """Raises once, at the start or the end of an operation."""

    def __init__(self, error: BaseException, at: str, name: str = "begin") -> None:
        self.errors = [error]
        self.at = at
        self.name = name

    def on_start(self, operation: Operation) -> None:
        self.reach("start", operation)

    def on_end(self, operation: Operation) -> None:
        self.reach("end", operation)

    def reach(self, at: str, operation: Operation) -> None:
        if at == self.at and operation.name == self.name and self.errors:
            raise self.errors.pop()


@pytest.mark.parametrize("at", ["start", "end"])
async def test_an_observer_does_not_cancel_the_caller(server: Server, at: str) -> None:
    before, after = Recorder(), Recorder()
    interrupting = Interrupting(asyncio.CancelledError(), at)
    async with aioifx.connect(server.dsn, observer=[before, interrupting, after]) as conn:
        async with conn.transaction():
            await conn.execute("delete from thing")
    assert not interrupting.errors
    assert before.names == after.names == ["connect", "begin", "execute", "commit"]
    before.check()
    after.check()


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("at", ["start", "end"])
async def test_an_interrupt_in_an_observer_reaches_the_caller_after_all_observers(
    server: Server, at: str
) -> None:
    before, after = Recorder(), Recorder()
    interrupting = Interrupting(SystemExit(3), at)
    async with aioifx.connect(server.dsn, observer=[before, interrupting, after]) as conn:
        with pytest.raises(SystemExit):
            await conn.transaction().start()
    gc.collect()
    rolled_back = ["rollback"] if at == "end" else []
    assert before.names == after.names == ["connect", "begin", *rolled_back]
    for recorder in (before, after):
        recorder.check()
        recorder.clear()  # their errors refer to what was not awaited
    gc.collect()


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("name", ["acquire", "fetch"])
@pytest.mark.parametrize("at", ["start", "end"])
async def test_an_interrupt_in_an_observer_leaves_no_connection_in_use(
    server: Server, recorder: Recorder, at: str, name: str
) -> None:
    interrupting = Interrupting(SystemExit(3), at, name)
    async with aioifx.create_pool(server.dsn, observer=[interrupting, recorder], max_size=1) as pool:
        with pytest.raises(SystemExit):
            await pool.fetch("select * from thing")
        assert (pool.stats.size, pool.stats.in_use) == (1, 0)
        assert await pool.fetch("select * from thing") == []
    gc.collect()
    recorder.check()
    recorder.clear()
    gc.collect()


async def test_an_interrupt_after_the_wait_for_a_pool_leaves_no_connection_in_use(
    server: Server, recorder: Recorder
) -> None:
    interrupting = Interrupting(SystemExit(3), "end", "acquire")
    async with aioifx.create_pool(
        server.dsn, observer=[interrupting, recorder], min_size=0, max_size=1
    ) as pool:
        with pytest.raises(SystemExit):
            await pool.fetch("select * from thing")
        assert (pool.stats.size, pool.stats.in_use) == (1, 0)
        assert await pool.fetch("select * from thing") == []
    recorder.check()


@pytest.mark.parametrize("is_idle", [True, False], ids=["idle", "opened"])
@pytest.mark.parametrize("block", [True, False], ids=["block", "await"])
async def test_an_interrupt_after_an_acquire_leaves_no_connection_in_use(
    server: Server, is_idle: bool, block: bool
) -> None:
    interrupting = Interrupting(SystemExit(3), "end", "acquire")
    async with aioifx.create_pool(
        server.dsn, observer=interrupting, min_size=int(is_idle), max_size=1
    ) as pool:
        with pytest.raises(SystemExit) as caught:
            await (pool.acquire().__aenter__() if block else pool.acquire())
        assert (pool.stats.size, pool.stats.in_use) == (1, 0)
        assert await pool.fetch("select * from thing") == []
    del caught  # until here its frames refer to the connection


async def test_an_interrupt_after_a_connect_leaves_no_connection_open(server: Server) -> None:
    interrupting = Interrupting(SystemExit(3), "end", "connect")
    with pytest.raises(SystemExit) as caught:
        await aioifx.connect(server.dsn, observer=interrupting)
    await eventually(lambda: not server.stats.sessions)
    del caught  # likewise


async def test_an_interrupt_after_a_begin_leaves_no_transaction_open(server: Server) -> None:
    interrupting = Interrupting(SystemExit(3), "end", "begin")
    async with aioifx.connect(server.dsn, observer=interrupting) as conn:
        with pytest.raises(SystemExit):
            async with conn.transaction():
                raise AssertionError
        assert not conn.is_in_transaction()
        async with conn.transaction() as next_one:
            assert repr(next_one) == "<Transaction open>"  # no savepoint of the one before
            assert [session.in_transaction for session in server.stats.sessions] == [True]


@pytest.mark.parametrize("at", ["start", "end"])
async def test_an_interrupt_in_the_rollback_after_a_cancellation_leaves_no_transaction_open(
    server: Server, at: str
) -> None:
    interrupting = Interrupting(SystemExit(3), at, "rollback")
    async with aioifx.connect(server.dsn, observer=interrupting) as conn:
        with pytest.raises(SystemExit):
            async with conn.transaction():
                await conn.execute("insert into thing values (1, 'one')")
                raise asyncio.CancelledError
        assert await conn.fetch("select * from thing") == []
        assert [session.in_transaction for session in server.stats.sessions] == [False]


async def test_a_call_of_a_closed_pool_has_an_acquire_that_failed(server: Server, recorder: Recorder) -> None:
    async with aioifx.create_pool(server.dsn, observer=recorder, name="web") as pool:
        recorder.clear()
    with pytest.raises(aioifx.PoolClosed) as caught:
        await pool.fetch("select * from thing")
    assert [(operation.name, operation.pool) for operation in recorder.ended] == [
        ("acquire", "web"), ("fetch", "web"),
    ]  # fmt: skip
    assert {operation.error for operation in recorder.ended} == {caught.value}
    recorder.check()


async def test_a_pool_without_an_observer_changes_no_operation_around_it(
    server: Server, conn: Connection, recorder: Recorder
) -> None:
    async with serve(OPTIONS) as other, aioifx.create_pool(other.dsn) as pool:

        async def rows() -> AsyncIterator[tuple[int, str]]:
            await pool.executemany("insert into thing values (?, ?)", [(1, "one")])
            yield 1, "one"

        await conn.load("thing", rows())
    assert (recorder.last.name, recorder.last.port) == ("load", server.port)


async def test_connections_that_a_pool_opens_at_once_do_not_share_an_operation(
    server: Server, recorder: Recorder
) -> None:
    async with aioifx.create_pool(server.dsn, observer=recorder, min_size=6, max_size=6) as pool:
        await pool.wait_ready()
    connects = [operation for operation in recorder.ended if operation.name == "connect"]
    assert [operation.round_trips for operation in connects] == [4] * 6
    assert all(operation.bytes_in > 100 and operation.bytes_out > 100 for operation in connects)
    assert all(operation.server_time <= (operation.duration or 0) for operation in connects)
    recorder.check()


async def test_a_traced_connection_can_be_observed(server: Server, recorder: Recorder) -> None:
    events: list[aioifx.TraceEvent] = []
    async with aioifx.connect(server.dsn, observer=recorder, trace=events.append) as conn:
        await conn.fetch("select * from thing")
        assert (recorder.last.round_trips, recorder.last.bytes_in > 50) == (2, True)
        assert events
    recorder.check()


async def test_without_an_observer_nothing_is_metered(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn:
        session = statements_of(conn).session
        assert session.observation is None
        assert type(session.channel).__name__ == "Channel"
        assert type(session.dispatcher).__name__ == "Dispatcher"
        assert session.conversation.address == ("127.0.0.1", server.port)
        # CPython keeps up to 29 attributes without a dict. A dict for the session would slow every call by 0.6 %.
        assert len(vars(session)) <= 29


# -- streams and cursors ----------------------------------------------------------------------------------------------


@pytest.fixture
async def small_blocks(server: Server, recorder: Recorder) -> AsyncIterator[Connection]:
    async with aioifx.connect(server.dsn, observer=recorder, fetch_size=4096) as conn:
        await conn.load("thing", [(n, f"thing {n}") for n in range(900)])
        recorder.clear()
        yield conn
    recorder.check()


ALL = "select * from thing where id >= ?"


async def test_a_stream_is_one_operation_from_its_first_to_its_last_row(
    small_blocks: Connection, recorder: Recorder
) -> None:
    conn = small_blocks
    stream = conn.stream(ALL, 0)
    assert recorder.names == []  # nothing was asked for
    assert len([row async for row in stream]) == 900
    (operation,) = recorder.ended
    assert fields(operation, "name", "sql", "parameters", "rows", "error") == {
        "name": "stream", "sql": ALL, "parameters": 1, "rows": 900, "error": None,
    }  # fmt: skip
    assert operation.round_trips > 4
    assert operation.bytes_in > 3 * 4096
    assert 0 < operation.wait_time < (operation.duration or 0)
    assert [row async for row in stream] == []
    assert recorder.names == ["stream"]


async def test_blocks_that_are_requested_early_count_for_their_stream(
    small_blocks: Connection, recorder: Recorder
) -> None:
    conn = small_blocks
    async with conn.stream(ALL, 0) as stream:
        async for block in stream.blocks():
            assert block
            assert await conn.fetchval("select count(*) from thing") == 900
    one, *others = sorted(recorder.ended, key=lambda operation: operation.name != "stream")
    assert (one.rows, one.round_trips > 4) == (900, True)
    assert {operation.name for operation in others} == {"fetchval"}
    assert {operation.rows for operation in others} == {1}


async def test_a_stream_left_early_ends_when_it_is_closed(
    small_blocks: Connection, recorder: Recorder
) -> None:
    conn = small_blocks
    async with conn.stream(ALL, 0) as stream:
        await anext(stream)
        assert (recorder.names, recorder.ended) == (["stream"], [])
    (operation,) = recorder.ended
    assert operation.error is None
    assert 0 < operation.rows < 900
    async with conn.stream(ALL, 0):
        pass  # nothing was asked for
    assert len(recorder.started) == 1


async def test_a_forgotten_stream_ends_when_it_is_collected(
    small_blocks: Connection, recorder: Recorder
) -> None:
    conn = small_blocks
    await anext(conn.stream(ALL, 0))
    gc.collect()
    await eventually(lambda: len(recorder.ended) == 1)
    assert 0 < recorder.last.rows < 900
    recorder.check()


def test_a_stream_that_outlives_its_loop_ends_when_it_is_collected(recorder: Recorder) -> None:
    async def left_open() -> aioifx.Stream:
        async with (
            serve(OPTIONS) as server,
            aioifx.connect(server.dsn, observer=recorder, fetch_size=4096) as conn,
        ):
            await conn.load("thing", [(n, f"thing {n}") for n in range(900)])
            stream = conn.stream("select * from thing")
            await anext(stream)
            return stream

    stream = asyncio.run(left_open())
    assert recorder.last is not recorder.started[-1]
    del stream
    gc.collect()
    recorder.check()


async def test_a_stream_that_fails_or_is_cancelled_ends_with_the_error(
    small_blocks: Connection, recorder: Recorder
) -> None:
    conn = small_blocks
    with pytest.raises(aioifx.UndefinedTable) as caught:
        await anext(conn.stream("select * from nothing"))
    assert (recorder.last.error, recorder.last.rows) == (caught.value, 0)
    stream = conn.stream(ALL, 0, prefetch=False)
    await anext(stream)
    task = asyncio.create_task(anext(stream.blocks()))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await stream.aclose()
    recorder.check()
    assert len(recorder.ended) == 2


async def test_a_stream_of_a_pool_waits_for_its_connection(server: Server, recorder: Recorder) -> None:
    async with aioifx.create_pool(server.dsn, observer=recorder, name="web", max_size=1) as pool:
        await pool.execute("insert into thing values (1, 'one')")
        recorder.clear()
        assert len([row async for row in pool.stream("select * from thing")]) == 1
        acquire, stream = recorder.ended
        assert (acquire.name, stream.name) == ("acquire", "stream")
        assert stream.queue_time >= acquire.queue_time
        assert (stream.port, stream.pool, stream.rows) == (server.port, "web", 1)
        recorder.clear()
        async with pool.acquire():
            with pytest.raises(asyncio.TimeoutError):
                async with asyncio.timeout(0.01):
                    await anext(pool.stream("select * from thing"))
        stopped = [(one.name, type(one.error).__name__) for one in recorder.ended]
        assert stopped == [
            ("acquire", "NoneType"),
            ("acquire", "CancelledError"),
            ("stream", "CancelledError"),
        ]
    recorder.check()


async def test_chunks_of_large_values_are_part_of_their_stream(conn: Connection, recorder: Recorder) -> None:
    await conn.execute("create table photo (id int, data byte)")
    await conn.execute("insert into photo values (?, ?)", 1, b"x" * 200_000)
    recorder.clear()
    size = 0
    async with conn.stream("select * from photo", lobs="stream") as stream:
        async for _, data in stream:
            async for chunk in data:
                size += len(chunk)
            assert recorder.ended == []
    assert size == 200_000
    (operation,) = recorder.ended
    assert (operation.name, operation.rows, operation.bytes_in > size) == ("stream", 1, True)
    assert operation.server_time + operation.decode_time > 0
    await anext(conn.stream("select * from photo"))  # at once, in the statement's own plan
    gc.collect()
    await eventually(lambda: len(recorder.ended) == 2)


async def test_a_cursor_is_one_operation_for_each_of_its_results(
    small_blocks: Connection, recorder: Recorder
) -> None:
    conn = small_blocks
    async with conn.cursor() as cursor:
        await cursor.execute(ALL, (0,))
        assert (recorder.names, recorder.ended) == (["cursor"], [])
        assert len(await cursor.fetchall()) == 900
        assert fields(recorder.last, "name", "sql", "parameters", "rows") == {
            "name": "cursor", "sql": ALL, "parameters": 1, "rows": 900,
        }  # fmt: skip
        await cursor.execute(ALL, (0,))
        await cursor.fetchone()
        assert len(recorder.ended) == 1
        await cursor.execute("select * from thing where id < 3")  # replaces the last result
        assert [operation.rows < 900 for operation in recorder.ended] == [False, True, True]
        await cursor.execute("delete from thing where id < 3")
        assert (recorder.last.rows, len(recorder.ended)) == (3, 4)
        with pytest.raises(aioifx.UndefinedTable) as caught:
            await cursor.execute("select * from nothing")
        assert recorder.last.error is caught.value
        await cursor.executemany("insert into thing values (?, ?)", [(1, "one"), (2, "two")])
        assert (recorder.last.name, recorder.last.batch_size) == ("executemany", 2)
        await cursor.execute(ALL, (0,))
    assert [operation.name for operation in recorder.ended] == ["cursor"] * 5 + ["executemany", "cursor"]


async def test_a_scroll_cursor_counts_the_rows_that_it_returns(
    small_blocks: Connection, recorder: Recorder
) -> None:
    conn = small_blocks
    async with conn.cursor(scroll=True) as cursor:
        await cursor.execute(ALL, (0,))
        assert await cursor.fetch_absolute(-1) and await cursor.fetch_absolute(1)
        assert await cursor.fetch_absolute(5000) is None
        assert len(await cursor.fetchmany(2)) == 0
        trips = recorder.started[0].round_trips
        assert (recorder.started[0].rows, trips > 4, recorder.ended) == (2, True, [])
    assert recorder.last.error is None


async def test_a_forgotten_cursor_ends_when_it_is_collected(
    small_blocks: Connection, recorder: Recorder
) -> None:
    cursor = small_blocks.cursor()
    await cursor.execute(ALL, (0,))
    del cursor
    gc.collect()
    await eventually(lambda: len(recorder.ended) == 1)
    assert recorder.last.name == "cursor"


async def test_a_prepared_statement_has_the_operations_of_a_connection(
    small_blocks: Connection, recorder: Recorder
) -> None:
    conn = small_blocks
    async with await conn.prepare(ALL) as statement:
        assert fields(recorder.last, "name", "sql") == {"name": "prepare", "sql": ALL}
        assert recorder.last.round_trips == 2
        await statement.fetch(800)
        await statement.fetchrow(800)
        await statement.fetchval(800)
        await statement.execute(800)
        assert len([row async for row in statement.stream(800)]) == 100
    async with await conn.prepare("insert into thing values (?, ?)") as statement:
        await statement.executemany([(2000, "x"), (2001, "y")])
    assert [(one.name, one.rows, one.parameters) for one in recorder.ended] == [
        ("prepare", 0, 0), ("fetch", 100, 1), ("fetchrow", 1, 1), ("fetchval", 1, 1), ("execute", 100, 1),
        ("stream", 100, 1), ("prepare", 0, 0), ("executemany", 2, 2),
    ]  # fmt: skip
    with pytest.raises(aioifx.UndefinedTable) as caught:
        await conn.prepare("select * from nothing")
    assert recorder.last.error is caught.value


# -- transactions, cancel ---------------------------------------------------------------------------------------------


def ended_statements(recorder: Recorder) -> list[tuple[str, str, bool]]:
    return [(one.name, one.sql, one.error is None) for one in recorder.ended]


async def test_the_ends_of_a_transaction_are_operations(conn: Connection, recorder: Recorder) -> None:
    async with conn.transaction():
        async with conn.transaction():
            pass
        with pytest.raises(ValueError):
            async with conn.transaction():
                raise ValueError("no")
    transaction = conn.transaction()
    await transaction.start()
    await transaction.rollback()
    assert ended_statements(recorder) == [
        ("begin", "BEGIN WORK", True),
        ("begin", "SAVEPOINT aioifx_1", True),
        ("commit", "RELEASE SAVEPOINT aioifx_1", True),
        ("begin", "SAVEPOINT aioifx_1", True),
        ("rollback", "ROLLBACK TO SAVEPOINT aioifx_1", True),
        ("commit", "COMMIT WORK", True),
        ("begin", "BEGIN WORK", True),
        ("rollback", "ROLLBACK WORK", True),
    ]
    assert {operation.round_trips for operation in recorder.ended} == {1}


async def test_a_transaction_of_the_connection_likewise(server: Server, recorder: Recorder) -> None:
    async with aioifx.connect(server.dsn, observer=recorder, autocommit=False) as conn:
        recorder.clear()
        await conn.execute("insert into thing values (1, 'one')")
        await conn.commit()
        await conn.rollback()  # none is open
        assert [(one.name, one.sql, one.round_trips) for one in recorder.ended] == [
            ("execute", "insert into thing values (1, 'one')", 2),
            ("commit", "COMMIT WORK", 1),
            ("rollback", "ROLLBACK WORK", 0),
        ]
    recorder.check()


async def test_a_cancelled_transaction_is_rolled_back_later(conn: Connection, recorder: Recorder) -> None:
    async def work() -> None:
        async with conn.transaction():
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await eventually(lambda: len(recorder.ended) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended_statements(recorder) == [("begin", "BEGIN WORK", True), ("rollback", "ROLLBACK WORK", True)]
    assert recorder.last.round_trips == 0
    await conn.ping()
    assert len(recorder.ended) == 2


async def test_cancel_is_an_operation_without_a_wait(conn: Connection, recorder: Recorder) -> None:
    conn.cancel()
    assert fields(recorder.last, "name", "sql", "round_trips", "error") == {
        "name": "cancel", "sql": "", "round_trips": 0, "error": None,
    }  # fmt: skip


async def test_a_call_on_a_lost_connection_ends_with_the_loss(conn: Connection, recorder: Recorder) -> None:
    task = asyncio.create_task(conn.fetch("select * from thing"))
    await asyncio.sleep(0)
    conn.terminate()
    with pytest.raises(aioifx.ConnectionLost) as caught:
        await task
    assert recorder.last.error is caught.value
    with pytest.raises(aioifx.ConnectionLost):
        await conn.fetch("select * from thing")
    assert len(recorder.ended) == 2


# -- any order of calls and faults ------------------------------------------------------------------------------------

STEPS: list[str] = [
    "fetch", "execute", "fail", "executemany", "failmany", "load", "stream", "leave", "forget", "cursor", "scroll",
    "prepare", "commit", "roll back", "savepoint", "acquire", "pool fetch", "pool stream", "no connection", "cancel",
]  # fmt: skip


class Caller:
    """Makes calls of any kind; each may be cancelled anywhere."""

    def __init__(self, conn: Connection, pool: aioifx.Pool) -> None:
        self.conn = conn
        self.pool = pool
        self.kept: list[object] = []

    async def make(self, step: str) -> None:
        conn, pool = self.conn, self.pool
        match step:
            case "fetch":
                await conn.fetch("select * from thing")
            case "execute":
                await conn.execute("update thing set name = 'x' where id = ?", 5)
            case "fail":
                await conn.fetchval("select nothing from nowhere")
            case "executemany":
                await conn.executemany(
                    "update thing set name = ? where id = ?", [("y", n) for n in range(50)]
                )
            case "failmany":
                await conn.executemany("insert into thing values (?, ?)", ((n, "") for n in range(-2, 50)))
            case "load":
                await conn.load("log", ((n,) for n in range(50)))
            case "stream":
                async for _ in conn.stream("select * from thing").blocks():
                    pass
            case "leave":
                async with conn.stream("select * from thing") as stream:
                    await anext(stream)
            case "forget":
                await anext(conn.stream("select * from thing"))
            case "cursor":
                async with conn.cursor() as cursor:
                    await cursor.execute("select * from thing")
                    await cursor.fetchmany(200)
                    await cursor.execute("select count(*) from thing")
                    self.kept.append(cursor)
            case "scroll":
                cursor = conn.cursor(scroll=True)
                await cursor.execute("select * from thing")
                await cursor.fetch_absolute(-1)
            case "prepare":
                statement = await conn.prepare("select * from thing where id = ?")
                await statement.fetch(3)
                await anext(statement.stream(3))
            case "commit":
                async with conn.transaction():
                    await conn.execute("insert into log values (1)")
            case "roll back":
                async with conn.transaction():
                    await conn.execute("insert into log values (1)")
                    raise ValueError
            case "savepoint":
                async with conn.transaction(), conn.transaction():
                    await conn.execute("select * from nowhere")
            case "acquire":
                async with pool.acquire() as other:
                    await other.fetch("select * from thing")
            case "pool fetch":
                await pool.fetch("select * from thing")
            case "pool stream":
                async with pool.stream("select * from thing") as stream:
                    await anext(stream)
            case "no connection":
                async with pool.acquire():
                    await pool.acquire(timeout=0.0001)
            case _:
                conn.cancel()


async def any_calls(calls: list[tuple[str, int | None]], recorder: Recorder, pipelining: bool) -> None:
    """Make the calls; a number is after how many steps of the event loop the call is cancelled."""
    options: dict[str, Any] = {"observer": recorder, "fetch_size": 4096, "pipelining": pipelining}
    async with (
        serve(OPTIONS) as server,
        aioifx.connect(server.dsn, **options) as conn,
        aioifx.create_pool(server.dsn, max_size=1, **options) as pool,
    ):
        await conn.execute("create table log (n int)")
        await conn.load("thing", [(n, f"thing {n}") for n in range(300)])
        caller = Caller(conn, pool)
        for step, steps in calls:
            task = asyncio.create_task(caller.make(step))
            for _ in range(steps or 0):
                await asyncio.sleep(0)
            if steps is not None:
                task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and (error := task.exception()) is not None:
                assert isinstance(error, (aioifx.Error, ValueError)), error
                error.__traceback__ = None
        del caller
    gc.collect()
    await asyncio.sleep(0)
    await asyncio.sleep(0)


CALLS = st.tuples(st.sampled_from(STEPS), st.none() | st.integers(0, 60))


@given(st.lists(CALLS, min_size=1, max_size=6), st.booleans())
@settings(max_examples=8, deadline=None)
def test_each_operation_that_starts_ends_once(calls: list[tuple[str, int | None]], pipelining: bool) -> None:
    recorder = Recorder()
    asyncio.run(any_calls(calls, recorder, pipelining))
    recorder.check()
    for operation in recorder.ended:
        assert 0 <= operation.wait_time <= (operation.duration or 0)
        if operation.name not in ("stream", "cursor"):
            spent = operation.queue_time + operation.server_time + operation.decode_time
            assert spent <= (operation.duration or 0) + 1e-4, operation


@pytest.mark.exhaustive
@given(st.lists(CALLS, min_size=1, max_size=10), st.booleans())
@examples(150)
def test_each_operation_that_starts_ends_once_in_long_runs(
    calls: list[tuple[str, int | None]], pipelining: bool
) -> None:
    recorder = Recorder()
    asyncio.run(any_calls(calls, recorder, pipelining))
    recorder.check()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    replace_clock(monkeypatch, clock)
    return clock


@pytest.fixture(autouse=True)
def without_operation() -> Iterator[None]:
    yield
    current_operation.set(None)


def connected(clock: Clock, *, decoding: float = 0.0) -> MeteredChannel:
    """A channel after the login, whose replies take *decoding* seconds."""

    def on_reply(*_: object) -> None:
        clock.now += decoding

    channel = MeteredChannel()
    channel.connection_made(FakeTransport(channel))
    channel.on_reply = on_reply
    return channel


class ByteReader:
    """Each byte is a reply."""

    def try_read(self, inbox: Inbox) -> int:
        inbox.pos += 1
        return inbox.data[inbox.pos - 1]

    def parser(self, inbox: Inbox) -> Parser[int]:
        raise AssertionError("a reply arrives whole")


def ask(channel: MeteredChannel, data: bytes, operation: Operation | None) -> InFlight:
    current_operation.set(operation)
    pending: InFlight = InFlight()
    pending.reader = ByteReader()
    channel.request(pending, data)
    return pending


async def test_time_is_split_into_waiting_and_processing(clock: Clock) -> None:
    channel, operation = connected(clock, decoding=0.25), Operation("fetch")
    clock.now = 10.0
    pending = ask(channel, b"request", operation)
    clock.now = 13.0
    channel.data_received(b"x")
    assert await pending.future == ord("x")
    assert (operation.bytes_out, operation.bytes_in) == (7, 1)
    assert (operation.server_time, operation.decode_time) == (3.0, 0.25)
    clock.now = 20.0  # between two requests
    ask(channel, b"again", operation)
    clock.now = 21.0
    channel.data_received(b"x")
    assert (operation.server_time, operation.decode_time, operation.bytes_out) == (4.0, 0.5, 12)
    assert operation.round_trips == 0  # the dispatcher counts them


async def test_what_belongs_to_no_operation_counts_for_the_next_that_waits(clock: Clock) -> None:
    channel, operation = connected(clock), Operation("fetch")
    ask(channel, b"cleanup", None)
    clock.now = 1.0
    ask(channel, b"request", operation)
    clock.now = 3.0
    channel.data_received(b"x")
    clock.now = 4.0
    channel.data_received(b"y")
    assert (operation.server_time, operation.bytes_in, operation.bytes_out) == (3.0, 2, 7)


async def test_two_operations_get_what_is_theirs(clock: Clock) -> None:
    channel, first, second = connected(clock), Operation("fetch"), Operation("execute")
    ask(channel, b"one", first)
    ask(channel, b"second", second)
    clock.now = 1.0
    channel.data_received(b"x")
    clock.now = 3.0
    channel.data_received(b"y")
    assert (first.server_time, first.bytes_in, first.bytes_out) == (1.0, 1, 3)
    assert (second.server_time, second.bytes_in, second.bytes_out) == (2.0, 1, 6)


async def test_an_operation_that_has_ended_does_not_change(clock: Clock) -> None:
    channel, operation = connected(clock), Operation("fetch")
    ask(channel, b"request", operation)
    operation.duration = 1.0
    clock.now = 2.0
    channel.data_received(b"x")
    ask(channel, b"late", operation)
    channel.send(b"more")
    assert (operation.server_time, operation.bytes_in, operation.bytes_out) == (0.0, 0, 7)


async def test_a_reply_that_does_not_come_is_server_time(clock: Clock) -> None:
    channel, operation, other = connected(clock), Operation("fetch"), Operation("fetch")
    ask(channel, b"request", operation)
    clock.now = 5.0
    channel.add_outstanding_time(other)
    channel.add_outstanding_time(operation)
    assert (operation.server_time, other.server_time) == (5.0, 0.0)
    pending = ask(channel, b"request", other)
    operation.duration = 5.0
    clock.now = 7.0
    channel.abort(ConnectionLost("lost"))
    assert (operation.server_time, other.server_time) == (5.0, 2.0)
    with pytest.raises(ConnectionLost):
        await pending.future
    channel.add_outstanding_time(other)
    assert other.server_time == 2.0


async def test_data_within_a_reply_belongs_to_its_operation_in_any_context(clock: Clock) -> None:
    channel, operation = connected(clock), Operation("executemany")
    ask(channel, b"request", operation)
    current_operation.set(Operation("connect"))
    channel.send(b"next")
    assert operation.bytes_out == 11


async def test_the_login_counts_its_round_trips(clock: Clock) -> None:
    channel, operation = connected(clock), Operation("connect")
    channel.on_reply = None
    ask(channel, b"login", operation)
    channel.send(b"protocols")
    assert (operation.round_trips, operation.bytes_out) == (2, 14)


async def test_unsolicited_bytes_are_not_counted_twice(clock: Clock) -> None:
    channel, operation = connected(clock), Operation("fetch")
    channel.data_received(b"x")
    assert await ask(channel, b"request", operation).future == ord("x")
    assert operation.bytes_out == 7 == channel.bytes_out
