"""Operations of connections and pools, on a server."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator

import pytest

import aioifx
from aioifx import Connection, Operation
from aioifx.server import Server, ServerOptions, serve
from tests.client.observing import Recorder, fields

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


async def test_a_call_of_a_pool_waits_for_a_connection(server: Server, recorder: Recorder) -> None:
    async with aioifx.create_pool(server.dsn, observer=recorder, name="web", max_size=1) as pool:
        assert recorder.names == ["connect"]
        recorder.clear()
        await pool.fetch("select * from thing")
        outer, inner = recorder.started
        assert (outer.name, inner.name) == ("fetch", "acquire")
        assert [inner, outer] == recorder.ended
        assert outer.queue_time >= inner.queue_time > 0
        assert inner.queue_time <= (inner.duration or 0)
        assert (inner.round_trips, outer.round_trips) == (0, 2)
        assert {operation.pool for operation in recorder.ended} == {"web"}
        assert {operation.port for operation in recorder.ended} == {server.port}
        recorder.clear()
        await pool.executemany("insert into thing values (?, ?)", [(1, "one")])
        await pool.execute("delete from thing")
        assert [(one.name, one.rows) for one in recorder.ended if one.name != "acquire"] == [
            ("executemany", 1), ("execute", 1),
        ]  # fmt: skip
    recorder.check()


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


async def test_without_an_observer_nothing_is_metered(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn:
        session = conn.statements.session
        assert session.observation is None
        assert type(session.channel).__name__ == "Channel"
        assert type(session.dispatcher).__name__ == "Dispatcher"
        assert (session.host, session.port) == ("127.0.0.1", server.port)
