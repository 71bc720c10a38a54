"""How large the blocks of a load should be: several sizes in turn, on the replay server or an embedded one.

    python -m tests.bench.loads [--rows 100000] [--rounds 5] [--embedded]

`python -m tests.bench.compare --only load` compares a load with what other clients have for it.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import statistics
import time

import aioifx
from aioifx.client.bulk import load
from tests.bench.embedded import server_process
from tests.bench.replay import replay_process
from tests.bench.shapes import NARROW

SIZES = (16, 32, 64, 128, 256, 512)
"""Kilobytes of a block."""


async def measured(dsn: str, count: int, rounds: int, *, embedded: bool) -> dict[int, list[float]]:
    """Seconds of wall-clock by size."""
    rows = list(NARROW.rows(count))
    times: dict[int, list[float]] = {size: [] for size in SIZES}
    async with aioifx.connect(dsn) as conn:
        if embedded:
            await conn.execute(NARROW.create())
        for number in range(rounds + 1):
            for size in SIZES:
                load.BATCH_SIZE = size * 1024  # type: ignore[misc]  # which is what is to be found out
                begun = time.perf_counter()
                await conn.load(NARROW.name, rows)
                if number:  # the first round warms up
                    times[size].append(time.perf_counter() - begun)
                if embedded:
                    await conn.execute(f"TRUNCATE TABLE {NARROW.name}")
    return times


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rows", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--embedded", action="store_true", help="a server that keeps the rows")
    given = arguments.parse_args()
    with server_process() if given.embedded else replay_process() as dsn:
        times = asyncio.run(measured(dsn, given.rows, given.rounds, embedded=given.embedded))
    print(
        f"{platform.machine()}, Python {platform.python_version()}, {given.rounds} rounds of {given.rows:,} rows"
    )
    for size, taken in times.items():
        print(f"blocks of {size:>3} KB {statistics.median(taken) / given.rows * 1e9:>7,.0f} ns a row")


if __name__ == "__main__":
    main()
