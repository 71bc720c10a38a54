"""Streams as record batches: in the event loop, in threads of Polars and others, errors, ends, one reader only."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import importlib.util
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import polars
import pyarrow as pa
import pytest

import aioifx.codecs
from aioifx.client.execution import arrow_stream
from aioifx.codecs.arrow_c_data import ArrowSource
from aioifx.codecs.record_batches import pure_exports
from aioifx.rows import tuple_row
from aioifx.server import running
from tests.injection import eventually

QUERY = "SELECT n, name FROM numbers ORDER BY n"
COUNT = 700


@pytest.fixture
async def conn(dsn: str) -> AsyncIterator[aioifx.Connection[Any]]:
    async with aioifx.connect(dsn, fetch_size=4096) as conn:
        await conn.execute("CREATE TABLE numbers (n INTEGER, name VARCHAR(20))")
        rows = ((n, None if n % 10 == 0 else f"row {n}") for n in range(COUNT))
        await conn.executemany("INSERT INTO numbers VALUES (?, ?)", rows)
        yield conn


async def expected(conn: aioifx.Connection[Any]) -> list[Any]:
    return await conn.fetch(QUERY, row_factory=tuple_row)


def blocks_of(data: Any, most: int = 1 << 20) -> list[int]:
    """Rows of each batch, by a consumer that blocks."""
    source = ArrowSource(data)
    found: list[int] = []
    try:
        while len(found) < most and (batch := source.next()) is not None:
            found.append(batch.rows)
            batch.release()
    finally:
        source.close()
    return found


# --- in the event loop ----------------------------------------------------------------------------------------------


async def test_batches_come_one_by_one(conn: aioifx.Connection[Any]) -> None:
    frames = [polars.DataFrame(batch) async for batch in conn.stream(QUERY).arrow(batch_rows=300)]
    assert polars.concat(frames).rows() == await expected(conn)
    single = [len(batch) async for batch in conn.stream(QUERY).arrow(batch_rows=1)]
    assert single == [len(block) async for block in conn.stream(QUERY).blocks()]
    with pytest.raises(aioifx.InterfaceError, match="batch_rows: expected a whole number"):
        conn.stream(QUERY).arrow(batch_rows=0)


async def test_a_result_is_read_as_often_as_needed_in_the_loop_too(conn: aioifx.Connection[Any]) -> None:
    result = await conn.fetch_arrow("SELECT n, name FROM numbers WHERE n < :n", named={"n": 20})
    assert (len(result), result.schema.names) == (20, ["n", "name"])
    for _ in range(2):
        assert polars.DataFrame(result)["n"].sum() == pa.table(result)["n"].to_pandas().sum() == 190
    async with await conn.prepare("SELECT n FROM numbers WHERE n < ?") as statement:
        assert polars.DataFrame(await statement.fetch_arrow(3)).rows() == [(0,), (1,), (2,)]
    empty = polars.DataFrame(await conn.fetch_arrow("SELECT n FROM numbers WHERE n < 0"))
    assert empty.schema == {"n": polars.Int32}


async def test_a_floating_decimal_is_what_was_requested(conn: aioifx.Connection[Any]) -> None:
    query = "SELECT AVG(n) FROM numbers"
    found = {of: pa.table(await conn.fetch_arrow(query, floating_decimal=of)) for of in ("text", 2)}
    assert {of: str(table.schema.types[0]) for of, table in found.items()} == {
        "text": "string",
        2: "decimal128(38, 2)",
    }


async def test_a_pool_streams_and_releases_its_connection(dsn: str, conn: aioifx.Connection[Any]) -> None:
    async with aioifx.create_pool(dsn, min_size=1, max_size=1) as pool:
        assert len(await pool.fetch_arrow(QUERY)) == COUNT
        assert sum(await asyncio.to_thread(blocks_of, pool.stream(QUERY))) == COUNT
        await asyncio.to_thread(blocks_of, pool.stream(QUERY).arrow(batch_rows=1), 1)
        await eventually(lambda: pool.stats.in_use == 0)


async def test_batches_go_into_another_table(dsn: str, conn: aioifx.Connection[Any]) -> None:
    await conn.execute("CREATE TABLE copies (n INTEGER, name VARCHAR(20))")
    async with aioifx.connect(dsn) as source:
        await conn.load("copies", await source.fetch_arrow(QUERY))
        await conn.load("copies", source.stream(QUERY).arrow())  # read in a thread
        async for batch in source.stream(QUERY).arrow():
            await conn.executemany("INSERT INTO copies VALUES (?, ?)", batch)
        await conn.load("copies", source.stream(QUERY))
    assert await conn.fetchval("SELECT COUNT(*) FROM copies WHERE n = 7") == 4


# --- in a thread ----------------------------------------------------------------------------------------------------

CONSUMERS: dict[str, Callable[[Any], list[Any]]] = {
    "Polars": lambda stream: polars.DataFrame(stream).rows(),
    "pyarrow": lambda stream: [
        tuple(row.values()) for batch in pa.RecordBatchReader.from_stream(stream) for row in batch.to_pylist()
    ],
}


@pytest.mark.parametrize("name", CONSUMERS)
async def test_consumers_read_a_stream_in_a_thread(conn: aioifx.Connection[Any], name: str) -> None:
    read = CONSUMERS[name]
    assert await asyncio.to_thread(read, conn.stream(QUERY)) == await expected(conn)
    assert await asyncio.to_thread(read, conn.stream(QUERY).arrow(batch_rows=1)) == await expected(conn)
    assert await asyncio.to_thread(read, conn.stream("SELECT n FROM numbers WHERE n < 0")) == []
    with pytest.raises(aioifx.UndefinedTable):  # the query runs before there is a capsule
        await asyncio.to_thread(read, conn.stream("SELECT * FROM gone"))
    assert await conn.fetchval("SELECT COUNT(*) FROM numbers") == COUNT


async def test_other_statements_run_while_a_thread_reads(conn: aioifx.Connection[Any]) -> None:
    reading = asyncio.create_task(asyncio.to_thread(blocks_of, conn.stream(QUERY).arrow(batch_rows=1)))
    counted = 0
    while not reading.done():
        counted += await conn.fetchval("SELECT COUNT(*) FROM numbers") == COUNT
    assert counted and sum(await reading) == COUNT


async def test_the_event_loop_itself_is_refused_with_the_way_out(conn: aioifx.Connection[Any]) -> None:
    sent = conn.stats.round_trips
    stream = conn.stream(QUERY)
    for read in CONSUMERS.values():
        with pytest.raises(aioifx.InterfaceError, match=re.escape("await asyncio.to_thread(")):
            read(stream)
    assert conn.stats.round_trips == sent
    capsule = await asyncio.to_thread(stream.__arrow_c_stream__)

    class Opened:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return capsule

    with pytest.raises(aioifx.InterfaceError, match="the stream failed with error") as caught:
        blocks_of(Opened())
    assert "to_thread" in str(caught.value.__cause__)


def test_a_stream_made_outside_an_event_loop_or_after_its_end_is_refused() -> None:
    async def made() -> Any:
        async with running() as dsn, aioifx.connect(dsn) as conn:
            return conn, conn.stream("SELECT tabid FROM systables")

    conn, stream = asyncio.run(made())
    with pytest.raises(aioifx.InterfaceError, match="belongs to another event loop, which is closed"):
        blocks_of(stream)
    with pytest.raises(aioifx.InterfaceError, match="expected a stream made in an event loop"):
        blocks_of(conn.stream("SELECT tabid FROM systables"))


# --- one reader -----------------------------------------------------------------------------------------------------


async def test_it_is_read_once(conn: aioifx.Connection[Any]) -> None:
    stream = conn.stream(QUERY)
    await asyncio.to_thread(blocks_of, stream)
    with pytest.raises(aioifx.InterfaceError, match="can be read only once"):
        await asyncio.to_thread(blocks_of, stream)
    batches = conn.stream(QUERY).arrow(batch_rows=1)
    await anext(batches)
    with pytest.raises(aioifx.InterfaceError, match="can be read only once"):
        await asyncio.to_thread(blocks_of, batches)
    await batches.aclose()


async def test_of_two_exports_the_one_that_reads_first_has_the_rows(conn: aioifx.Connection[Any]) -> None:
    stream = conn.stream(QUERY)  # DuckDB exports a stream once for its schema
    unread, first, second = [await asyncio.to_thread(ArrowSource, stream) for _ in range(3)]
    unread.close()
    assert await asyncio.to_thread(first.next) is not None
    with pytest.raises(aioifx.InterfaceError, match="the stream failed") as caught:
        await asyncio.to_thread(second.next)
    assert "can be read only once" in str(caught.value.__cause__)
    second.close()
    first.close()


# --- ends -----------------------------------------------------------------------------------------------------------


async def test_a_stream_closed_before_it_is_read_is_refused(conn: aioifx.Connection[Any]) -> None:
    sent = conn.stats.round_trips
    closed = conn.stream(QUERY)
    await closed.aclose()
    with pytest.raises(aioifx.InterfaceError, match="that was not read"):
        await asyncio.to_thread(blocks_of, closed)
    batches = conn.stream(QUERY).arrow()
    await batches.aclose()
    with pytest.raises(aioifx.InterfaceError, match="closed before it was read"):
        await asyncio.to_thread(blocks_of, batches)
    assert conn.stats.round_trips == sent


async def test_a_stream_closed_in_the_middle_is_not_taken_for_a_whole_one(
    conn: aioifx.Connection[Any],
) -> None:
    async with conn.stream(QUERY) as stream:
        source = await asyncio.to_thread(ArrowSource, stream.arrow(batch_rows=1))
        assert await asyncio.to_thread(source.next) is not None
    with pytest.raises(aioifx.InterfaceError, match="the stream failed") as caught:
        await asyncio.to_thread(source.next)
    assert "closed before its end" in str(caught.value.__cause__)
    source.close()
    assert await conn.fetchval("SELECT COUNT(*) FROM numbers") == COUNT


async def test_a_consumer_that_leaves_early_closes_the_cursor(conn: aioifx.Connection[Any]) -> None:
    async with await conn.prepare(QUERY) as statement:
        await asyncio.to_thread(blocks_of, statement.stream().arrow(batch_rows=1), 2)
        assert len(await statement.fetch()) == COUNT  # the statement's only cursor


async def test_batches_that_are_dropped_close_the_cursor_without_a_call(
    conn: aioifx.Connection[Any],
) -> None:
    async with await conn.prepare(QUERY) as statement:
        gc.disable()
        try:
            await anext(statement.stream().arrow(batch_rows=1))
        finally:
            gc.enable()
        await asyncio.sleep(0)  # the finalizer closes it in the event loop
        assert len(await statement.fetch()) == COUNT


@pytest.mark.parametrize("name", CONSUMERS)
async def test_an_error_in_the_middle_is_the_consumer_s_error(
    conn: aioifx.Connection[Any], name: str
) -> None:
    await conn.execute("CREATE TABLE spans (n INTEGER, span INTERVAL DAY(9) TO FRACTION(5))")
    rows = [(n, dt.timedelta(123_456_789 if n == 450 else 1)) for n in range(500)]
    await conn.executemany("INSERT INTO spans VALUES (?, ?)", rows)
    with pytest.raises(Exception, match=r"column 'span': .* does not fit int64"):
        await asyncio.to_thread(CONSUMERS[name], conn.stream("SELECT * FROM spans").arrow(batch_rows=1))
    assert await conn.fetchval("SELECT COUNT(*) FROM spans") == 500


def test_the_end_of_the_event_loop_ends_the_wait_of_a_thread() -> None:
    failures: list[BaseException] = []

    def read(stream: Any) -> None:
        try:
            blocks_of(stream)
        except BaseException as error:
            failures.append(error)

    async def main() -> None:
        async with running() as dsn, aioifx.connect(dsn) as conn:
            stream, before = conn.stream("SELECT tabid FROM systables"), len(asyncio.all_tasks())
            async with conn._session:  # the thread waits for it
                thread = asyncio.get_running_loop().run_in_executor(None, read, stream)
                await eventually(lambda: len(asyncio.all_tasks()) > before)
                for task in asyncio.all_tasks() - {asyncio.current_task()}:
                    task.cancel()
                await thread

    asyncio.run(main())
    (failure,) = failures
    assert isinstance(failure, aioifx.InterfaceError)
    assert str(failure) == "Arrow data: the read was cancelled by the end of its event loop"


# --- without pyarrow, and in constant memory -------------------------------------------------------------------------


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.exhaustive
@pytest.mark.skipif(aioifx.speedups != "native", reason="needs the kernel")
def test_polars_needs_no_pyarrow() -> None:
    assert python(WITHOUT_PYARROW) == "(3, 2) (3, 2) False\n"


async def test_without_the_kernel_and_pyarrow_nothing_is_sent(
    conn: aioifx.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = conn.stats.round_trips
    monkeypatch.setattr(arrow_stream, "arrow_exports", pure_exports)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "aioifx.codecs.pyarrow_export", raising=False)
    monkeypatch.delattr(aioifx.codecs, "pyarrow_export", raising=False)
    stream = conn.stream(QUERY)
    with pytest.raises(
        aioifx.NotSupportedError, match="expected the compiled kernel or pyarrow, got neither"
    ):
        await asyncio.to_thread(polars.DataFrame, stream)
    with pytest.raises(aioifx.NotSupportedError, match="compiled kernel or pyarrow"):
        await conn.fetch_arrow(QUERY)
    assert conn.stats.round_trips == sent
    assert len([row async for row in stream]) == COUNT


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
import asyncio, polars, aioifx, aioifx.server

async def main():
    async with aioifx.server.running() as dsn, aioifx.connect(dsn) as conn:
        query = "SELECT FIRST 3 tabid, tabname FROM systables"
        whole = polars.DataFrame(await conn.fetch_arrow(query))
        frame = await asyncio.to_thread(polars.DataFrame, conn.stream(query))
        print(whole.shape, frame.shape, "aioifx.arrow" in sys.modules)

asyncio.run(main())
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(importlib.util.find_spec("duckdb") is None, reason="duckdb is not installed")
def test_duckdb_reads_streams_and_results() -> None:
    assert python(DUCKDB) == "[(435, 27)]\n[(435, 27)]\n[(435, 27)]\n"


# In a process of its own: where the garbage collector has frozen objects, duckdb says at the end that it leaks.
DUCKDB = """
import asyncio, duckdb, aioifx, aioifx.server

def query(data):
    return duckdb.sql("SELECT SUM(n), COUNT(name) FROM data").fetchall()

async def main():
    async with aioifx.server.running() as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE numbers (n INTEGER, name VARCHAR(20))")
        rows = ((n, f"row {n}" if n % 10 else None) for n in range(30))
        await conn.executemany("INSERT INTO numbers VALUES (?, ?)", rows)
        print(await asyncio.to_thread(query, conn.stream("SELECT * FROM numbers")))
        numbers = await conn.fetch_arrow("SELECT * FROM numbers")
    print(query(numbers))
    print(query(numbers))

asyncio.run(main())
"""
