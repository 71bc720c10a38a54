"""Calls that wait for their connection: started by the release before them, and as if each had run alone."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from contextvars import Context, ContextVar, copy_context
from typing import Any

import pytest

import aioifx
from aioifx import Connection, Operation
from aioifx.client.execution import queued_call
from aioifx.errors import DataError, InterfaceError, QueryTimeout, UndefinedTable, UniqueViolation
from aioifx.server import Server, ServerOptions, serve
from tests.client.observing import Recorder
from tests.injection import eventually

SEED = """
create table thing (id int primary key, name varchar(40));
insert into thing values (1, 'one');
insert into thing values (2, 'two');
insert into thing values (3, 'three');
"""
OPTIONS = ServerOptions(databases=("shop",), seed=SEED, user="app", password="secret")

ONE = "select name from thing where id = ?"
ALL = "select id, name from thing order by id"
INSERT = "insert into thing values (?, ?)"


@pytest.fixture
async def server(tidy: None) -> AsyncIterator[Server]:
    async with asyncio.timeout(50), serve(OPTIONS) as server:
        yield server


@pytest.fixture
async def conn(server: Server) -> AsyncIterator[Connection]:
    async with aioifx.connect(server.dsn) as conn:
        await conn.fetchval(ONE, 1)  # both are prepared now
        await conn.fetch(ALL)
        yield conn


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each call that had waited was started for its task, in order."""
    found: list[bool] = []
    start = queued_call._start

    def noted(*args: Any) -> Any:
        in_flight = start(*args)
        found.append(in_flight is not None)
        return in_flight

    monkeypatch.setattr(queued_call, "_start", noted)
    return found


async def test_each_task_gets_its_own_result(conn: Connection, starts: list[bool]) -> None:
    await conn.execute(INSERT, 4, "four")
    await conn.fetchrow(ALL)
    prepared = await conn.prepare(ONE)
    results = await asyncio.gather(
        conn.fetchval(ONE, 1),
        conn.fetchval(ONE, 2),
        conn.fetch(ALL),
        conn.fetchrow(ALL),
        conn.execute(INSERT, 5, "five"),
        prepared.fetchval(3),
        conn.fetchval(ONE, 5),
        conn.fetchval(ONE, 6),
    )
    names = ["one", "two", "three", "four"]
    assert results[:2] == ["one", "two"]
    assert results[2] == [*enumerate(names, 1)] and results[3] == (1, "one")
    assert results[4].rowcount == 1 and results[5:] == ["three", "five", None]
    assert starts == [True] * 7
    await prepared.close()


async def test_rows_of_several_blocks(conn: Connection, starts: list[bool]) -> None:
    await conn.executemany(INSERT, [(n, "x" * 40) for n in range(10, 1500)])
    first, *others = await asyncio.gather(*(conn.fetch(ALL) for _ in range(4)))
    assert len(first) == 1493 and others == [first] * 3
    assert starts == [True] * 3


async def test_what_must_be_awaited_first_is_left_to_the_task(conn: Connection, starts: list[bool]) -> None:
    results = await asyncio.gather(
        conn.fetchval(ONE, 1),
        conn.fetchval("select count(*) from thing"),  # not prepared
        conn.execute("delete from thing where id = 3"),  # no statement of the cache
        conn.fetchval("select count(*) from thing"),
        conn.execute(ALL),  # counts rows
        conn.executemany(INSERT, [(7, "seven")]),
        conn.fetchval(ONE, 7),
    )
    assert results[0] == "one" and (results[1], results[3], results[6]) == (3, 2, "seven")
    assert (results[2].rowcount, results[4].rowcount, results[5].rowcount) == (1, 2, 1)
    assert starts == [False, True, False, True], "executemany cannot be started at all"


async def test_an_error_reaches_its_own_task_and_no_other(conn: Connection, starts: list[bool]) -> None:
    await conn.execute(INSERT, 4, "four")
    results = await asyncio.gather(
        conn.fetchval(ONE, 1),
        conn.fetchval(ONE),
        conn.fetchval(ONE, 1, 2),
        conn.fetchval(ONE, "no number"),
        conn.execute(INSERT, 4, "four again"),
        conn.execute(INSERT, 5, "x" * 41),
        conn.fetchrow("select * from missing"),
        conn.fetchval(ONE, 4),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [
        str, InterfaceError, InterfaceError, DataError, UniqueViolation, DataError, UndefinedTable, str,
    ]  # fmt: skip
    # The INSERT after the server's error waits for the CLOSE of its cursor, and is not asked to start.
    assert starts == [False, False, True, False, False, True]
    for error, sql in ((results[3], ONE), (results[4], INSERT)):
        assert isinstance(error, aioifx.Error) and getattr(error, "sql", sql) == sql
    assert await conn.fetchval(ONE, 2) == "two"


async def test_settings_that_are_due_are_applied_before_it(conn: Connection) -> None:
    async with conn.transaction(isolation="dirty_read"):
        assert [*await asyncio.gather(conn.fetchval(ONE, 1), conn.fetchval(ONE, 2))] == ["one", "two"]
        assert conn.isolation == "dirty_read"
    assert [*await asyncio.gather(conn.fetchval(ONE, 1), conn.fetchval(ONE, 2))] == ["one", "two"]
    assert conn.isolation != "dirty_read"


async def test_without_autocommit_a_transaction_is_started_first(server: Server) -> None:
    async with aioifx.connect(server.dsn, autocommit=False) as conn:
        await conn.execute(INSERT, 4, "four")
        await conn.commit()
        results = await asyncio.gather(conn.fetchval(ONE, 1), conn.execute(INSERT, 5, "five"))
        assert results[0] == "one" and results[1].rowcount == 1
        await conn.rollback()
        assert await conn.fetchval(ONE, 5) is None


async def test_the_users_codec_runs_in_the_context_of_its_task(conn: Connection, starts: list[bool]) -> None:
    variable: ContextVar[str] = ContextVar("variable")

    def encode(value: Any) -> str:
        return f"{variable.get()} {value}"

    conn.set_type_codec("varchar", encoder=encode)

    async def insert(number: int) -> None:
        variable.set(f"task {number}")
        await conn.execute(INSERT, number, "x")

    variable.set("main")
    await conn.execute(INSERT, 10, "x")
    await asyncio.gather(*(insert(number) for number in range(11, 14)))
    assert starts == [True, True]
    rows = await conn.fetch("select name from thing where id >= 10 order by id")
    assert [name for (name,) in rows] == ["main x", "task 11 x", "task 12 x", "task 13 x"]


async def test_a_context_is_copied_only_if_the_start_of_a_call_depends_on_it(
    conn: Connection, starts: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    copies: list[Context] = []

    def noted() -> Context:
        copies.append(copy_context())
        return copies[-1]

    monkeypatch.setattr(queued_call, "copy_context", noted)
    await asyncio.gather(conn.fetch(ALL), conn.fetch(ALL), conn.fetch(ALL))
    assert starts == [True, True] and not copies
    await asyncio.gather(conn.fetch(ALL), conn.fetchval(ONE, 1))
    assert starts == [True] * 3 and len(copies) == 1


async def test_a_codec_that_raises_ends_its_own_call(conn: Connection, starts: list[bool]) -> None:
    def encode(value: Any) -> str:
        if value == "bad":
            raise RuntimeError("no")
        return str(value)

    conn.set_type_codec("varchar", encoder=encode)
    await conn.execute(INSERT, 10, "x")
    results = await asyncio.gather(
        conn.fetchval("select count(*) from thing"),
        conn.execute(INSERT, 11, "bad"),
        conn.execute(INSERT, 12, "good"),
        return_exceptions=True,
    )
    assert isinstance(results[1], Exception) and isinstance(results[2], aioifx.ExecuteResult)
    assert await conn.fetchval("select count(*) from thing where id > 10") == 1


async def test_a_base_exception_of_a_codec_ends_its_own_call(conn: Connection, starts: list[bool]) -> None:
    class Stop(BaseException):
        pass

    def encode(value: Any) -> str:
        if value == "bad":
            raise Stop
        return str(value)

    conn.set_type_codec("varchar", encoder=encode)
    await conn.execute(INSERT, 10, "x")
    results = await asyncio.gather(
        conn.fetchval("select count(*) from thing"),
        conn.execute(INSERT, 11, "bad"),
        conn.execute(INSERT, 12, "good"),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [int, Stop, aioifx.ExecuteResult]
    assert starts[0] is False


async def test_a_codec_that_cancels_its_own_task_and_raises_ends_its_own_call(
    conn: Connection, starts: list[bool]
) -> None:
    tasks: list[asyncio.Task[Any]] = []

    def encode(value: Any) -> str:
        if value == "bad":
            tasks[1].cancel()
            raise RuntimeError("no")
        return str(value)

    conn.set_type_codec("varchar", encoder=encode)
    await conn.execute(INSERT, 10, "x")
    tasks += [
        asyncio.ensure_future(conn.fetchval(ONE, 10)),
        asyncio.ensure_future(conn.execute(INSERT, 11, "bad")),
        asyncio.ensure_future(conn.execute(INSERT, 12, "good")),
    ]
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(result) for result in results] == [str, asyncio.CancelledError, aioifx.ExecuteResult]
    assert starts[0] is False


async def test_operations_count_their_own_requests_and_waits(server: Server, starts: list[bool]) -> None:
    recorder = Recorder()
    async with aioifx.connect(server.dsn, observer=recorder) as conn:
        await conn.fetchval(ONE, 1)
        await conn.fetch(ALL)
        recorder.clear()
        await asyncio.gather(conn.fetchval(ONE, 1), conn.fetch(ALL), conn.fetchval(ONE, 2))
        found: list[Operation] = sorted(recorder.ended, key=lambda each: each.queue_time)
    assert [(each.name, each.round_trips, each.rows) for each in found] == [
        ("fetchval", 1, 1), ("fetch", 1, 3), ("fetchval", 1, 1),
    ]  # fmt: skip
    assert found[0].queue_time < found[1].queue_time < found[2].queue_time
    for each in found:
        assert each.bytes_in > 10 and each.bytes_out > 10 and each.server_time > 0
        assert each.duration is not None
        assert each.queue_time + each.server_time + each.decode_time <= each.duration
    assert starts == [True, True]


@pytest.mark.parametrize("iterations", [*range(9), 12, 20, 40])
async def test_a_call_that_is_cancelled_at_any_moment_affects_no_other(
    conn: Connection, iterations: int
) -> None:
    first = asyncio.ensure_future(conn.fetchval(ONE, 1))
    second = asyncio.ensure_future(conn.fetch(ALL))
    third = asyncio.ensure_future(conn.fetchval(ONE, 3))
    for _ in range(iterations):
        await asyncio.sleep(0)
    second.cancel()
    assert (await first, await third) == ("one", "three")
    await asyncio.wait([second])
    assert second.cancelled() or len(second.result()) == 3
    assert await conn.fetchval(ONE, 2) == "two"
    await asyncio.gather(conn.fetchval(ONE, 1), conn.fetchval(ONE, 1))


async def test_a_call_with_a_timeout_has_it_from_the_start_of_its_wait(
    conn: Connection, server: Server
) -> None:
    await conn.execute("set lock mode to wait")
    await conn.execute(INSERT, 4, "four")
    async with aioifx.connect(server.dsn) as locker, locker.transaction():
        await locker.execute("lock table thing in exclusive mode")
        first = asyncio.ensure_future(conn.execute(INSERT, 5, "five", timeout=30))
        await eventually(lambda: any(seen.waiting for seen in server.stats.sessions))
        second = asyncio.ensure_future(conn.execute(INSERT, 6, "six", timeout=0.01))
        with pytest.raises(QueryTimeout, match=r"not free within 0\.01 s; nothing was sent"):
            await second
        third = asyncio.ensure_future(conn.execute(INSERT, 7, "seven", timeout=0.3))
        first.cancel()
        with pytest.raises(QueryTimeout):
            await third
    await asyncio.gather(first, return_exceptions=True)
    await asyncio.gather(conn.fetchval(ONE, 1), conn.fetchval(ONE, 2))
    assert await conn.fetchval("select count(*) from thing where id = 6") == 0


async def test_a_wait_that_times_out_leaves_no_reference_cycle(conn: Connection, server: Server) -> None:
    await conn.execute("set lock mode to wait")
    await conn.execute(INSERT, 4, "four")
    async with aioifx.connect(server.dsn) as locker, locker.transaction():
        await locker.execute("lock table thing in exclusive mode")
        first = asyncio.ensure_future(conn.execute(INSERT, 5, "five"))
        await eventually(lambda: any(seen.waiting for seen in server.stats.sessions))
        gc.disable()
        try:
            try:
                await conn.fetchval(ONE, 1, timeout=0.01)
            except QueryTimeout as error:
                # Not any QueryTimeout: gc.collect() frees nothing while another thread, as of the server, collects.
                kept = weakref.ref(error)
            await asyncio.sleep(0)  # the handle that has woken this task refers to the future
            assert kept() is None
        finally:
            gc.enable()
    assert (await first).rowcount == 1


async def test_the_connection_is_closed_while_calls_wait(server: Server) -> None:
    conn = await aioifx.connect(server.dsn)
    await conn.fetchval(ONE, 1)
    calls = [asyncio.ensure_future(conn.fetchval(ONE, 1)) for _ in range(3)]
    await asyncio.sleep(0)
    conn.terminate()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [aioifx.ConnectionLost] * 3
