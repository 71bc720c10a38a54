"""What a connection keeps in memory: idle, with a full cache of statements, while it streams, after a large fetch.

    python -m tests.bench.memory [--connections 50] [--rows 50000] [--write]

Each state is reached in processes of its own, against the replay server: one tells the resident memory (RSS), which
includes what the allocator keeps for later, another one the traced bytes (tracemalloc), which are what is really
held. Both are differences to the same process in which three such connections were opened and closed, divided by the
number of connections.

--write puts the table into docs/explanation/memory.md.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Final, NamedTuple

import aioifx
from tests.bench.fetch_size import _memory
from tests.bench.page import DOCS, machine, size_name, table, write_into
from tests.bench.replay import replay_process
from tests.bench.shapes import NARROW, WIDE

PAGE: Final = DOCS / "explanation" / "memory.md"
STATEMENTS: Final = 100
LARGE: Final = 8 << 20


class State(NamedTuple):
    """Something that a connection may be doing while its memory is measured."""

    name: str
    fetch_size: int
    reach: Callable[[aioifx.Connection, AsyncExitStack], Awaitable[object]]
    share: int = 1
    """One connection in so many: where rows are what there is to measure, fewer connections do."""


async def _idle(conn: aioifx.Connection, rest: AsyncExitStack) -> None:
    pass


async def _used_once(conn: aioifx.Connection, rest: AsyncExitStack) -> None:
    await conn.fetch(NARROW.select(100))


async def _with_statements(conn: aioifx.Connection, rest: AsyncExitStack) -> None:
    """The cache of statements is full; all of them have been executed."""
    for count in range(1, STATEMENTS + 1):
        await conn.fetch(NARROW.select(count))


async def _streaming(conn: aioifx.Connection, rest: AsyncExitStack) -> None:
    """One block is consumed, the next has come."""
    stream = await rest.enter_async_context(conn.stream(WIDE.select()))
    blocks = stream.blocks()
    rest.push_async_callback(blocks.aclose)
    rest.callback(lambda block: None, await anext(blocks))  # is held, as by a loop's variable
    while not conn._session.dispatcher.is_idle:  # noqa: ASYNC110 - there is no event for it
        await asyncio.sleep(0.001)


async def _fetched(conn: aioifx.Connection, rest: AsyncExitStack) -> None:
    """All rows have been fetched, and are gone."""
    await conn.fetch(WIDE.select())


STATES: Final = (
    State("idle, never used", 32767, _idle),
    State("idle, after a query", 32767, _used_once),
    State(f"idle, {STATEMENTS} statements in the cache", 32767, _with_statements),
    State("streaming wide rows", 32767, _streaming, 10),
    State("streaming wide rows", 1 << 18, _streaming, 10),
    State("streaming wide rows", 1 << 20, _streaming, 10),
    State("idle, after a large fetch", 32767, _fetched, 2),
    State("idle, after a large fetch", LARGE, _fetched, 2),
)
POOL: Final = State("in a pool of 100, idle", 32767, _used_once)


class Sample(NamedTuple):
    """Bytes per connection."""

    resident: float
    traced: float


# -- in a process of its own -------------------------------------------------------------------------------------------


def _now(traced: bool) -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0] if traced else _memory("VmRSS")


async def _measure(dsn: str, state: State, connections: int, traced: bool) -> float:
    async with AsyncExitStack() as rest:
        for _ in range(3):  # excludes what is made once and what the allocator keeps
            async with (
                aioifx.connect(dsn, fetch_size=state.fetch_size) as conn,
                AsyncExitStack() as once,
            ):
                await state.reach(conn, once)
        if traced:
            tracemalloc.start()
            rest.callback(tracemalloc.stop)
        before = _now(traced)
        for _ in range(connections):
            conn = await rest.enter_async_context(aioifx.connect(dsn, fetch_size=state.fetch_size))
            await state.reach(conn, rest)
        await asyncio.sleep(
            0
        )  # until then the event loop holds the future that woke this task, and its reply
        return (_now(traced) - before) / connections


async def _measure_pool(dsn: str, connections: int, traced: bool) -> float:
    async with aioifx.create_pool(dsn, min_size=1, max_size=1) as pool:
        await pool.fetch(NARROW.select(100))
    if traced:
        tracemalloc.start()
    before = _now(traced)
    async with aioifx.create_pool(dsn, min_size=connections, max_size=connections) as pool:
        await pool.wait_ready()
        async with AsyncExitStack() as leases:
            for _ in range(connections):
                await _used_once(await leases.enter_async_context(pool.acquire()), leases)
        await asyncio.sleep(0)
        return (_now(traced) - before) / connections


def _sample(dsn: str, number: int, connections: int) -> Sample:
    found: list[float] = []
    for traced in (False, True):
        command = [sys.executable, "-m", "tests.bench.memory", "--sample"]
        command.append(json.dumps([dsn, number, connections, traced]))
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=120)
        found.append(json.loads(done.stdout))
    return Sample(*found)


# -- the run -----------------------------------------------------------------------------------------------------------


def run(connections: int, rows: int) -> str:
    """The table."""
    lines: list[list[str]] = []
    with replay_process(rows=rows) as dsn:
        for number, state in enumerate(STATES):
            lines.append(_line(state, _sample(dsn, number, max(1, connections // state.share))))
        lines.append(_line(POOL, _sample(dsn, len(STATES), 100)))
    measured = table(["a connection", "`fetch_size`", "RSS, KiB", "traced, KiB"], lines)
    streaming = max(1, connections // 10)
    return (
        f"{measured}\n\nPer connection, of {connections} idle or {streaming} streaming ones; a large result has"
        f" {rows:,} wide rows. {machine()}; decoder: {aioifx.speedups}."
    )


def _line(state: State, sample: Sample) -> list[str]:
    kib = [f"{value / 1024:,.1f}" for value in sample]
    return [state.name, size_name(state.fetch_size), *kib]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--rows", type=int, default=10_000, help="of a large result")
    parser.add_argument("--write", action="store_true", help="into docs/explanation/memory.md")
    parser.add_argument("--sample", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.sample:
        dsn, number, connections, traced = json.loads(given.sample)
        if number == len(STATES):
            print(json.dumps(asyncio.run(_measure_pool(dsn, connections, traced))))
        else:
            print(json.dumps(asyncio.run(_measure(dsn, STATES[number], connections, traced))))
        return
    text = run(given.connections, given.rows)
    print(text)
    if given.write:
        write_into(PAGE, {"connections": text})


if __name__ == "__main__":
    main()
