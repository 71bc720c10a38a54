"""What is logged of an operation, and whose code a slow one names."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

import aioifx
from aioifx import Connection, Operation
from aioifx.client.api.connection import statements_of
from aioifx.client.observation.query_log import QueryLog, called_at
from aioifx.server import Server, serve
from tests.injection import eventually

QUERY = "select tabname from systables where tabid < ?"


@pytest.fixture
async def server(tidy: None) -> AsyncIterator[Server]:
    async with asyncio.timeout(50), serve() as server:
        yield server


def ended(name: Any, sql: str = "", **values: Any) -> Operation:
    operation = Operation(name, sql)
    operation.duration = operation.wait_time = 1.5
    for field, value in values.items():
        setattr(operation, field, value)
    return operation


def logged(caplog: pytest.LogCaptureFixture, operation: Operation, slow: float | None = None) -> str:
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "aioifx.query"):
        QueryLog(slow).on_end(operation)
    (record,) = caplog.records
    return f"{record.levelname} {record.getMessage()}"


def test_an_operation_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    found = logged(caplog, ended("fetch", "select *\n  from t", rows=3, round_trips=1))
    assert found == "DEBUG fetch: 1.5000 s, 3 rows, 1 round trip: select * from t"
    found = logged(caplog, ended("connect", host="db1", port=9088, round_trips=4, pool="web"))
    assert found == "DEBUG connect of 'web': 1.5000 s, 0 rows, 4 round trips: db1:9088"
    assert logged(caplog, ended("cancel")) == "DEBUG cancel: 1.5000 s, 0 rows, 0 round trips"
    found = logged(caplog, ended("execute", "x" * 2000))
    assert found.endswith(f": {'x' * 1000} ...")
    found = logged(caplog, ended("execute", "select 1 -- \x1b[2J\u202e\n"))
    assert found.endswith(r": select 1 -- \x1b[2J\u202e")


def test_a_failure_is_named_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    error = aioifx.UniqueViolation("Kim Doe exists already", sqlcode=-239)
    found = logged(caplog, ended("execute", "insert into t values (?)", error=error))
    assert found == (
        "DEBUG execute failed with UniqueViolation -239: 1.5000 s, 0 rows, 0 round trips: insert into t values (?)"
    )
    found = logged(caplog, ended("fetch", "select 1", error=asyncio.CancelledError()))
    assert found.startswith("DEBUG fetch failed with CancelledError: ")


def test_a_slow_operation_tells_where_its_time_went(caplog: pytest.LogCaptureFixture) -> None:
    operation = ended(
        "fetch", "select 1", rows=1, round_trips=2, queue_time=0.25, server_time=1.0, decode_time=0.125
    )
    assert logged(caplog, operation, 1.5) == (
        "WARNING slow fetch: 1.500 s (queue 0.250, server 1.000, decoding 0.125, other 0.125),"
        " 1 row, 2 round trips: select 1"
    )
    assert logged(caplog, operation, 1.6).startswith("DEBUG fetch: ")
    operation.server_time = 9.0  # of blocks that a stream requested early
    assert "other 0.000)" in logged(caplog, operation, 1)


@pytest.mark.parametrize("name", ["connect", "acquire", "cancel"])
def test_only_queries_are_slow(caplog: pytest.LogCaptureFixture, name: str) -> None:
    assert logged(caplog, ended(name), 0).startswith(f"DEBUG {name}: ")


def test_a_stream_is_slow_if_its_caller_waited_for_it(caplog: pytest.LogCaptureFixture) -> None:
    assert logged(caplog, ended("stream", "select 1", wait_time=0.1), 1).startswith("DEBUG stream: 0.1000 s")
    assert logged(caplog, ended("stream", "select 1", wait_time=1.1), 1).startswith(
        "WARNING slow stream: 1.100 s"
    )


# -- of a connection --------------------------------------------------------------------------------------------------


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.name == "aioifx.query"]
    caplog.clear()
    return found


async def a_repository(conn: Connection) -> None:
    await conn.fetch(QUERY, 4)


async def test_a_slow_call_names_its_caller(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    here = f"called at {__file__}:"
    async with aioifx.connect(server.dsn, slow_query=0) as conn:
        await a_repository(conn)
        (message,) = warnings_of(caplog)
        assert message.startswith("slow fetch: 0.") and message.endswith(f": {QUERY}")
        assert here in message and " in a_repository: " in message
        async with asyncio.timeout(5), conn.transaction():
            pass
        async with aclosing(conn.stream(QUERY, 4).blocks()) as blocks:
            await anext(blocks)
        await (await conn.prepare(QUERY)).fetch(4)
        with pytest.raises(aioifx.UndefinedTable):
            await conn.execute("select * from nothing")
        assert await conn.fetchval("select count(*) from systables")
        messages = warnings_of(caplog)
        assert [message.split(": ")[0] for message in messages] == [
            "slow begin", "slow commit", "slow stream", "slow prepare", "slow fetch",
            "slow execute failed with UndefinedTable -206", "slow fetchval",
        ]  # fmt: skip
        for message in messages:
            assert here in message and " in test_a_slow_call_names_its_caller: " in message
        await asyncio.create_task(conn.fetch(QUERY, 4), name="report")
        assert ", called by the task 'report': " in warnings_of(caplog)[0]
    async with aioifx.create_pool(server.dsn, slow_query=0, name="web") as pool:
        await pool.fetch(QUERY, 4)
        (message,) = warnings_of(caplog)
        assert message.startswith("slow fetch of 'web': ") and here in message


async def test_outside_a_task_no_caller_is_known(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    found: list[str] = []
    asyncio.get_running_loop().call_soon(lambda: found.append(called_at()))
    thread = threading.Thread(target=lambda: found.append(called_at()))
    thread.start()
    await asyncio.to_thread(thread.join)
    await eventually(lambda: len(found) == 2)
    assert found == ["", ""]
    async with aioifx.connect(server.dsn, slow_query=0, fetch_size=4096) as conn:
        await anext(conn.stream("select first 900 a.tabname, b.tabname from systables a, systables b"))
        gc.collect()
        await eventually(lambda: bool(caplog.records))
        (message,) = warnings_of(caplog)
        assert message.startswith("slow stream: ") and "called" not in message


async def test_the_log_is_on_if_its_level_is_when_the_connection_is_made(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async with aioifx.connect(server.dsn) as conn:
        assert statements_of(conn).session.observation is None
    with caplog.at_level(logging.DEBUG, "aioifx.query"):
        async with aioifx.connect(server.dsn) as conn:
            await conn.fetch(QUERY, 4)
            names = [message.split(":")[0] for message in warnings_of(caplog)]
            assert names == ["connect", "fetch"]
            with caplog.at_level(logging.INFO, "aioifx.query"):
                await conn.fetch(QUERY, 4)
            assert warnings_of(caplog) == []


async def test_no_message_has_a_parameter(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "aioifx.query"):
        async with aioifx.connect(server.dsn, slow_query=0) as conn:
            await conn.execute("create table person (name varchar(40))")
            await conn.execute("insert into person values (?)", "Kim Doe")
            await conn.executemany("insert into person values (?)", [("Kim Doe",)])
            await conn.fetch("select * from person where name = :name", named={"name": "Kim Doe"})
            with pytest.raises(aioifx.Error):
                await conn.fetch("select * from person where nothing = ?", "Kim Doe")
    messages = warnings_of(caplog)
    assert len(messages) == 6
    assert not any("Kim" in message for message in messages)


def test_slow_query_is_a_number_of_seconds() -> None:
    assert aioifx.parse_dsn("informix://app@db/shop?server=s&slow_query=0.5").slow_query == 0.5
    with pytest.raises(
        aioifx.InterfaceError, match="slow_query: expected a number of seconds, 0 or more, got -1"
    ):
        _ = aioifx.connect("informix://app@db/shop?server=s", slow_query=-1)
