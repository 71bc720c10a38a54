"""The costs whose growth is measured: what is set up for a size, and what is then done. Never: a clock."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Final, NamedTuple

import aioifx
from aioifx.sqltypes import Row, Value
from tests.bench.shapes import NARROW, SELECT_ONE

ROWS: Final = "rows"
TASKS: Final = "connections and tasks"
STATEMENTS: Final = "columns, parameters, statements"
VALUES: Final = "characters and bytes"
"""Kinds: a part of the plot each."""

Work = Callable[[], Awaitable[object]]
SetUp = Callable[[str, int, AsyncExitStack], Awaitable[Work]]
"""Of the DSN, a size, and what is open during the sample."""


class Cost(NamedTuple):
    """What grows with a number."""

    name: str
    kind: str
    sizes: tuple[int, ...]
    set_up: SetUp
    is_replay: bool = True
    """Whether the replay server answers; else the embedded one."""
    is_once: bool = False
    """Whether it is done once in a process, because the second time costs less."""


def powers(most: int, least: int = 10) -> tuple[int, ...]:
    """*least*, ten times as many and so on, up to *most*, which is the last."""
    sizes = [least]
    while sizes[-1] * 10 < most:
        sizes.append(sizes[-1] * 10)
    return (*sizes, most)


# -- rows and columns -------------------------------------------------------------------------------------------------


async def _rows(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    conn = await stack.enter_async_context(aioifx.connect(dsn))
    await conn.fetch(NARROW.select(10))
    return lambda: conn.fetch(NARROW.select(size))


async def _streamed(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    conn = await stack.enter_async_context(aioifx.connect(dsn))

    async def work() -> None:
        async for _ in conn.stream(NARROW.select(size)):
            pass

    return work


async def _written(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    conn = await stack.enter_async_context(aioifx.connect(dsn))
    rows = list(NARROW.rows(size))
    return lambda: conn.executemany(NARROW.insert(), rows)


async def _loaded(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    conn = await stack.enter_async_context(aioifx.connect(dsn))
    rows = list(NARROW.rows(size))
    return lambda: conn.load(NARROW.name, rows)


async def _columns(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    conn = await stack.enter_async_context(aioifx.connect(dsn))
    columns = ", ".join(f"c{number} integer" for number in range(size))
    await conn.execute(f"create temp table several ({columns}) with no log")
    await conn.execute(f"insert into several values ({', '.join('1' * size)})")
    return lambda: conn.fetch("select * from several")


async def _columns_again(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    work = await _columns(dsn, size, stack)
    await work()
    return work


# -- connections and tasks --------------------------------------------------------------------------------------------


async def _opened(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    async def work() -> None:
        async with aioifx.create_pool(dsn, min_size=0, max_size=size, acquire_timeout=300) as pool:
            for start in range(0, size, 100):  # the backlog of the server's socket
                pool.resize(min(start + 100, size), size)
                await pool.wait_ready()

    return work


async def _acquired(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    pool = await stack.enter_async_context(aioifx.create_pool(dsn, min_size=1, max_size=size))
    for start in range(0, size, 100):
        pool.resize(min(start + 100, size), size)
        await pool.wait_ready()

    async def work() -> None:
        conns = [await pool.acquire() for _ in range(size)]
        for conn in conns:
            await pool.release(conn)

    return work


def _many(call: Callable[[], Awaitable[object]], size: int) -> Work:
    async def work() -> None:
        await asyncio.gather(*(call() for _ in range(size)))

    return work


async def _on_one(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    conn = await stack.enter_async_context(aioifx.connect(dsn))
    await conn.fetch(SELECT_ONE)
    return _many(lambda: conn.fetch(SELECT_ONE), size)


async def _through_pool(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    pool = await stack.enter_async_context(
        aioifx.create_pool(dsn, min_size=10, max_size=10, acquire_timeout=300)
    )
    await pool.wait_ready()
    return _many(lambda: pool.fetch(SELECT_ONE), size)


def _cancelled(call: Callable[[], Awaitable[object]], size: int) -> Work:
    """Tasks that wait, and are cancelled in an order of chance, as a TaskGroup cancels them."""

    async def work() -> None:
        tasks = [asyncio.ensure_future(call()) for _ in range(size)]
        await asyncio.sleep(0)
        random.Random(7).shuffle(tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    return work


async def _cancelled_on_one(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    conn = await stack.enter_async_context(aioifx.connect(dsn))
    is_held, ends = asyncio.Event(), asyncio.Event()

    async def rows() -> AsyncIterator[Row]:
        is_held.set()
        await ends.wait()
        yield NARROW.row(1)

    holder = asyncio.create_task(conn.executemany(NARROW.insert(), rows()))
    stack.push_async_callback(lambda: holder)
    stack.callback(ends.set)
    await is_held.wait()
    return _cancelled(lambda: conn.fetch(SELECT_ONE), size)


async def _cancelled_in_pool(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    pool = await stack.enter_async_context(aioifx.create_pool(dsn, min_size=1, max_size=1))
    await stack.enter_async_context(pool.acquire())
    return _cancelled(lambda: pool.fetch(SELECT_ONE), size)


# -- statements, parameters, values -----------------------------------------------------------------------------------


async def _parameters(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    conn = await stack.enter_async_context(aioifx.connect(dsn, statement_cache_size=0))
    sql = f"select tabid from systables where tabid in ({', '.join('?' * size)})"
    return lambda: conn.fetch(sql, *range(size))


async def _names(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    conn = await stack.enter_async_context(aioifx.connect(dsn, statement_cache_size=0))
    named = {f"p{number}": number for number in range(size)}
    sql = f"select tabid from systables where tabid in ({', '.join(f':{name}' for name in named)})"
    return lambda: conn.fetch(sql, named=named)


def _texts(more: int) -> SetUp:
    """As many texts as the cache has room for are executed in turn, or so many more, of which none is found there."""

    async def set_up(dsn: str, size: int, stack: AsyncExitStack) -> Work:
        conn = await stack.enter_async_context(aioifx.connect(dsn, statement_cache_size=size))
        texts = [f"select {number} from systables where tabid = 1" for number in range(size + more)]

        async def work() -> None:
            for sql in texts:
                await conn.fetch(sql)

        await work()
        return work

    return set_up


async def _text(dsn: str, size: int, stack: AsyncExitStack) -> Work:
    conn = await stack.enter_async_context(aioifx.connect(dsn, statement_cache_size=0))
    sql = f"select first 1 tabname from systables where tabid = 1 /* {'a note ' * (size // 7)}*/"
    return lambda: conn.fetch(sql)


def _value(column: str, value: Callable[[int], Value], *, reads: bool) -> SetUp:
    async def set_up(dsn: str, size: int, stack: AsyncExitStack) -> Work:
        conn = await stack.enter_async_context(aioifx.connect(dsn))
        await conn.execute(f"create temp table large (value {column} in table) with no log")
        sent = value(size)
        if not reads:
            return lambda: conn.execute("insert into large values (?)", sent)
        await conn.execute("insert into large values (?)", sent)
        return lambda: conn.fetch("select value from large")

    return set_up


def _letters(size: int) -> str:
    return "x" * size


COSTS: Final = (
    Cost("rows, fetched", ROWS, powers(1_000_000), _rows),
    Cost("rows, streamed", ROWS, powers(1_000_000), _streamed),
    Cost("rows of `executemany`", ROWS, powers(1_000_000), _written),
    Cost("rows of `load`", ROWS, powers(1_000_000), _loaded),
    Cost("connections, opened and closed", TASKS, powers(5000, 1), _opened),
    Cost("connections, acquired and released", TASKS, powers(5000, 1), _acquired),
    Cost("tasks on one connection", TASKS, powers(50_000, 1), _on_one),
    Cost("tasks through a pool of 10", TASKS, powers(50_000, 1), _through_pool),
    Cost("cancelled tasks, on one connection", TASKS, powers(50_000, 1), _cancelled_on_one),
    Cost("cancelled tasks, in a pool", TASKS, powers(50_000, 1), _cancelled_in_pool),
    Cost("columns, first time", STATEMENTS, powers(1000, 1), _columns, is_replay=False, is_once=True),
    Cost("columns, again", STATEMENTS, powers(1000, 1), _columns_again, is_replay=False),
    Cost("parameters of an IN list", STATEMENTS, powers(32_000, 1), _parameters, is_replay=False),
    Cost("named parameters", STATEMENTS, powers(32_000, 1), _names, is_replay=False),
    Cost("statements in the cache", STATEMENTS, powers(4000), _texts(0), is_replay=False),
    Cost("statements, one more than the cache", STATEMENTS, powers(4000), _texts(1), is_replay=False),
    Cost("characters of a statement", VALUES, powers(1_000_000, 100), _text, is_replay=False),
    Cost(
        "bytes of a BYTE, written",
        VALUES,
        powers(50_000_000, 100),
        _value("byte", bytes, reads=False),
        False,
    ),
    Cost("bytes of a BYTE, read", VALUES, powers(50_000_000, 100), _value("byte", bytes, reads=True), False),
    Cost(
        "characters of a TEXT, read",
        VALUES,
        powers(50_000_000, 100),
        _value("text", _letters, reads=True),
        False,
    ),
)
