"""Eight threads, each with an event loop, connections and a pool of its own, which share what a process shares."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
import warnings
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

import aioifx
from aioifx.client.api.connection import statements_of
from aioifx.rows import dict_row, tuple_row
from aioifx.server import running

THREADS = 8
TABLE = (
    "CREATE TABLE many (place INT, big BIGINT, name VARCHAR(40), price DECIMAL(10, 2), rate FLOAT, day DATE,"
    " moment DATETIME YEAR TO FRACTION(3), span INTERVAL DAY TO SECOND, ok BOOLEAN, note LVARCHAR(200))"
)
INSERT = f"INSERT INTO many VALUES ({', '.join('?' * 10)})"
QUERY = "SELECT * FROM many WHERE place >= ? ORDER BY place"

Work = Callable[[int], Coroutine[Any, Any, Any]]


async def in_threads(work: Work) -> list[Any]:
    """What *work* returns for the number of each thread, in a loop of that thread."""
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> Any:
        barrier.wait()
        return asyncio.run(work(number))

    with ThreadPoolExecutor(THREADS) as pool:
        futures = [asyncio.get_running_loop().run_in_executor(pool, run, number) for number in range(THREADS)]
        await asyncio.wait(futures)  # the end of the pool would block this loop, and the server in it
    errors = [error for future in futures if (error := future.exception()) is not None]
    if errors:
        raise errors[0]
    return [future.result() for future in futures]


def rows_of(count: int) -> list[tuple[Any, ...]]:
    """Rows that each thread writes and reads: threads decode equal values at the same time."""
    moment = dt.datetime(2024, 2, 28, 23, 59, 58, 125_000)
    return [
        (
            *(place, place << 33, f"name {place % 7}", Decimal(place) / 4, place / 8),
            *(moment.date() + dt.timedelta(place), moment + dt.timedelta(hours=place)),
            *(dt.timedelta(place % 90, 61), place % 3 == 0, None if place % 5 == 0 else "ä€" * (place % 30)),
        )
        for place in range(count)
    ]


async def use_pool(dsn: str, rounds: int, rows: list[tuple[Any, ...]]) -> set[type]:
    """Write rows in each way, and read them in each; returns the classes of the records."""
    classes = set[type]()
    async with aioifx.create_pool(dsn, min_size=1, max_size=2) as pool:
        await pool.execute(TABLE)
        for _ in range(rounds):
            async with pool.acquire() as conn:
                await conn.executemany(INSERT, map(list, rows))
                table = await conn.fetch_arrow(QUERY, 0)
                for data in (rows, table):
                    await conn.execute("DELETE FROM many")
                    await conn.load("many", data)
                    statement = await conn.prepare(QUERY)
                    records = await statement.fetch(0)
                    assert [*map(tuple, records)] == rows
                    classes |= {*map(type, records)}
                async with conn.stream(QUERY, 0) as stream:
                    assert [tuple(row) async for row in stream] == rows
            tuples, dicts = await asyncio.gather(
                pool.fetch(QUERY, 0, row_factory=tuple_row), pool.fetch(QUERY, 0, row_factory=dict_row)
            )
            assert tuples == [tuple(row.values()) for row in dicts] == rows
            await pool.execute("DELETE FROM many")
    return classes


async def test_one_server(is_exhaustive: bool) -> None:
    rounds, rows = (5, rows_of(300)) if is_exhaustive else (1, rows_of(4))
    async with running([f"demo{thread}" for thread in range(THREADS)], db_locale="en_US.utf8") as dsn:

        async def work(thread: int) -> set[type]:
            return await use_pool(dsn.replace("/demo0", f"/demo{thread}"), rounds, rows)

        classes = await in_threads(work)
    assert len(set[type]().union(*classes)) == 1


@pytest.mark.exhaustive
async def test_a_server_in_each_thread() -> None:
    async def work(thread: int) -> None:
        async with running(db_locale="en_US.utf8") as dsn:
            await use_pool(dsn, 3, rows_of(50))

    await in_threads(work)


async def test_what_is_read_and_dropped_in_other_threads(
    is_exhaustive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread reads the state of a connection while the loop uses and drops it; a finalizer runs in a thread."""
    rounds = 10 if is_exhaustive else 2
    query = "SELECT tabid FROM systables WHERE tabid = ?"
    warned: list[tuple[type[Warning], str]] = []

    def warn(message: str, category: type[Warning], *_: object, **__: object) -> None:
        warned.append((category, message))

    def read(conn: aioifx.Connection[Any], pool: aioifx.Pool[Any]) -> set[bool]:
        was_closed = set[bool]()
        for _ in range(30):
            was_closed.add(conn.is_closed())
            assert (conn.is_in_transaction(), conn.stats.rows >= 0, pool.stats.max_size) == (False, True, 1)
            assert repr(conn).startswith("<Connection")
        return was_closed

    async with running() as dsn, aioifx.create_pool(dsn, max_size=1) as pool:
        for _ in range(rounds):
            conn = await aioifx.connect(dsn)
            for _ in range(rounds):
                calls = (
                    asyncio.to_thread(read, conn, pool),
                    conn.fetchval(query, 1),
                    pool.fetchval(query, 2),
                )
                assert [*await asyncio.gather(*calls)] == [{False}, 1, 2]
            reading = asyncio.create_task(asyncio.to_thread(read, conn, pool))
            await asyncio.sleep(0)  # the thread starts
            conn.terminate()
            assert await reading <= {False, True} and conn.is_closed()
            dropped = [await aioifx.connect(dsn)]
            channel = statements_of(dropped[0]).base_session.channel
            # Not `pytest.warns`: a free-threaded 3.14 may finalize between callbacks of the loop, in another context.
            with monkeypatch.context() as patched:
                patched.setattr(warnings, "warn", warn)
                await asyncio.to_thread(dropped.clear)
                await channel.wait_closed()
            [(category, message)] = warned
            assert category is ResourceWarning and "was not closed" in message
            assert channel.failure is not None
            warned.clear()
