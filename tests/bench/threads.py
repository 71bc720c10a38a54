"""Fetches in one and in two threads, each with its own loop and connection, with and without the interpreter lock.

    python -m tests.bench.threads [--rows 20000] [--fetches 20] [--rounds 7]

Samples are processes, which read from the replay server; those of a round follow one another. A free-threaded build
runs with its lock on and off, another one as it is. Each ratio is that of two threads to one in the same round.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

import aioifx
from aioifx.rows import tuple_row
from tests.bench.page import load, machine
from tests.bench.replay import replay_process
from tests.bench.shapes import SELECT_ONE, SHAPES

LOCKS: Final = (
    {"lock on": "1", "lock off": "0"} if sysconfig.get_config_var("Py_GIL_DISABLED") else {"lock on": ""}
)


class Sample(NamedTuple):
    """Seconds from the first fetch to the last one, and of the processor for each fetch of any thread."""

    wall: float
    cpu: float


def measure(dsn: str, sql: str, threads: int, fetches: int) -> Sample:
    """Fetch in threads of this process."""
    barrier = threading.Barrier(threads)
    times: list[tuple[float, float, float]] = []

    async def fetch() -> None:
        async with aioifx.connect(dsn) as conn:
            await conn.fetch(sql, row_factory=tuple_row)
            barrier.wait()
            began, cpu = time.perf_counter(), time.thread_time()
            for _ in range(fetches):
                await conn.fetch(sql, row_factory=tuple_row)
            times.append((began, time.perf_counter(), time.thread_time() - cpu))

    running = [threading.Thread(target=asyncio.run, args=(fetch(),)) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    began, ended, cpus = zip(*times, strict=True)
    return Sample(max(ended) - min(began), sum(cpus) / threads / fetches)


def sample_of(lock: str, dsn: str, sql: str, threads: int, fetches: int) -> Sample:
    """`measure` in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "tests.bench.threads",
        "--sample",
        json.dumps([dsn, sql, threads, fetches]),
    ]
    env = os.environ | ({"PYTHON_GIL": LOCKS[lock]} if LOCKS[lock] else {})
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    return Sample(*json.loads(done.stdout))


def ratios(lock: str, dsn: str, sql: str, fetches: int) -> tuple[float, float]:
    """Fetches in a second, and processor time of a fetch: two threads to one."""
    one, two = (sample_of(lock, dsn, sql, threads, fetches) for threads in (1, 2))
    return 2 * one.wall / two.wall, two.cpu / one.cpu


def shown(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--fetches", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sample", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.sample:
        print(json.dumps(measure(*json.loads(given.sample))))
        return
    queries = {name: (shape.select(given.rows), given.fetches) for name, shape in SHAPES.items()}
    queries["SELECT 1"] = SELECT_ONE, given.fetches * 100
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with replay_process(rows=given.rows) as dsn:
        for _ in range(given.rounds):
            for name, (sql, fetches) in queries.items():
                for lock in LOCKS:
                    found.setdefault((name, lock), []).append(ratios(lock, dsn, sql, fetches))
    print(f"{machine()}{load()}; {aioifx.speedups}; {given.rounds} rounds: median (range)")
    print("| fetch | | fetches in a second, 2 threads to 1 | processor time of a fetch, 2 threads to 1 |")
    print("|---|---|---|---|")
    for (name, lock), values in found.items():
        speeds, costs = zip(*values, strict=True)
        print(f"| {name} | {lock} | {shown(speeds)} | {shown(costs)} |")


if __name__ == "__main__":
    main()
