"""Arrow's columns beside rows of tuples in load and executemany: CPU of the client, as ratios. Never: a server's time.

    python -m tests.bench.arrow_rows [--rows 50000] [--rounds 7]

The ways take turns within each round, against the replay server. "tuples" are there before; "to_pylist" makes them of
the table first, as one must without Arrow in load. AIOIFX_SPEEDUPS=0 measures the pure client.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pyarrow as pa

import aioifx
from tests.bench.replay import replay_process
from tests.bench.shapes import NARROW, WIDE, Shape

Way = Callable[[], Any]


def table_of(shape: Shape, count: int) -> Any:
    """The rows of a shape as a pyarrow.Table."""
    names = [column.name for column in shape.columns]
    return pa.table(dict(zip(names, map(pa.array, zip(*shape.rows(count), strict=True)), strict=True)))


def ways_of(shape: Shape, count: int) -> dict[str, Way]:
    """What makes the argument, by name."""
    table, tuples = table_of(shape, count), list(shape.rows(count))
    return {
        "tuples": lambda: tuples,
        "Arrow": lambda: table,
        "to_pylist": lambda: list(zip(*[column.to_pylist() for column in table.columns], strict=True)),
    }


async def measured(dsn: str, shape: Shape, count: int, rounds: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of CPU by call and way."""
    ways = ways_of(shape, count)
    found: dict[str, dict[str, list[float]]] = {}
    async with aioifx.connect(dsn) as conn:
        calls: dict[str, Callable[[Any], Awaitable[Any]]] = {
            "load": lambda rows: conn.load(shape.name, rows),
            "executemany": lambda rows: conn.executemany(shape.insert(), rows),
        }
        for number in range(rounds + 1):
            for call, send in calls.items():
                for way, make in ways.items():
                    begun = time.process_time()
                    done = await send(make())
                    taken = time.process_time() - begun
                    assert done.rowcount == count, done
                    if number:  # the first round warms up
                        found.setdefault(call, {}).setdefault(way, []).append(taken)
    return found


def lines(shape: Shape, count: int, found: dict[str, dict[str, list[float]]]) -> list[str]:
    """A line of Markdown for each call: CPU of Arrow's way, and what the other ways take as a multiple of it."""
    made: list[str] = []
    for call, ways in found.items():
        cost = statistics.median(ways["Arrow"]) / count * 1e6
        ratios = [
            statistics.median(other / arrow for other, arrow in zip(ways[way], ways["Arrow"], strict=True))
            for way in ("tuples", "to_pylist")
        ]
        made.append(f"| {shape.name} | {call} | {cost:.2f} µs | {ratios[0]:.1f} | {ratios[1]:.1f} |")
    return made


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rows", type=int, default=50_000)
    arguments.add_argument("--rounds", type=int, default=7)
    given = arguments.parse_args()
    print(
        f"{platform.machine()}, Python {platform.python_version()}, {aioifx.speedups},"
        f" {given.rounds} rounds of {given.rows:,} rows"
    )
    print("\n| table | call | Arrow, a row | tuples | to_pylist |\n| --- | --- | --- | --- | --- |")
    with replay_process() as dsn:
        for shape in (NARROW, WIDE):
            found = asyncio.run(measured(dsn, shape, given.rows, given.rounds))
            print("\n".join(lines(shape, given.rows, found)), flush=True)


if __name__ == "__main__":
    main()
