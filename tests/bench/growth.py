"""How the client's costs grow: rows, columns, connections, tasks, parameters, statements, bytes. Never: the server's.

    python -m tests.bench.growth [--only rows,tasks] [--most 10000] [--rounds 3] [--instructions] [--write]

Each size is measured in processes of its own, against a server in another process: the least processor time of one
client, with Python's garbage collector and without it, and what its memory added at its peak. The exponent is the
slope over the two highest decades of sizes: 1 is linear. With --instructions valgrind counts, once and with the
collector, which takes some fifty times as long but does not depend on the machine's load.

--write puts the table and the plot into docs/explanation/growth.md; the plot needs matplotlib (extra: bench).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import aioifx
from tests.bench.compare import named
from tests.bench.embedded import server_process
from tests.bench.fetch_size import _forget_peak, _memory
from tests.bench.growth_costs import COSTS, Cost, Work
from tests.bench.instructions import ValgrindMissing, total_of
from tests.bench.page import DOCS, load, machine, plotted, table, write_into
from tests.bench.replay import replay_process

PAGE: Final = DOCS / "explanation" / "growth.md"
PLOT: Final = DOCS / "explanation" / "growth.svg"

DECADES: Final = 2
"""Highest decades of sizes that an exponent is fitted to."""
LINEAR: Final = 1.1
"""Exponents above it are told in bold."""
ENOUGH: Final = 0.2
"""Seconds of processor time after which a process repeats the work no more."""
LONGEST: Final = 2.0
"""Seconds after which it does not, either, since the server takes them."""


class Sample(NamedTuple):
    """One size of one cost."""

    cost: float
    """Seconds of processor time for all of it; instructions if they are counted."""
    uncollected: float
    """The same without Python's garbage collector."""
    memory: float
    """Bytes that the first time added at its peak."""


Samples = dict[str, dict[int, Sample]]
"""By cost and size."""


# -- in a process of its own ------------------------------------------------------------------------------------------


async def measure(dsn: str, cost: Cost, size: int) -> Sample:
    """The least of several times."""
    async with AsyncExitStack() as stack:
        work = await cost.set_up(dsn, size, stack)
        before = _forget_peak()
        first = await _timed(work)
        memory = _memory("VmHWM") - before
        if cost.is_once:
            return Sample(first, first, memory)
        with_it = await _least(work, first)
        gc.disable()
        without_it = await _least(work, first)
        gc.enable()
        return Sample(with_it, without_it, memory)


async def _least(work: Work, least: float) -> float:
    gc.collect()
    spent, end = 0.0, time.monotonic() + LONGEST
    while spent < ENOUGH and time.monotonic() < end:
        spent += (used := await _timed(work))
        least = min(least, used)
    return least


async def _timed(work: Work) -> float:
    begin = time.process_time()
    await work()
    return time.process_time() - begin


async def repeat(dsn: str, cost: Cost, size: int, times: int) -> Sample:
    """Do it so many times, for one who counts."""
    async with AsyncExitStack() as stack:
        work = await cost.set_up(dsn, size, stack)
        for _ in range(times):
            await work()
    return Sample(0.0, 0.0, 0.0)


# -- the run ----------------------------------------------------------------------------------------------------------


def _process(dsn: str, cost: Cost, size: int, times: int, *before: str) -> tuple[Sample, str]:
    """A sample of a fresh process, and what it wrote to stderr."""
    command = [*before, sys.executable, "-m", "tests.bench.growth", "--sample"]
    command.append(json.dumps([dsn, COSTS.index(cost), size, times]))
    environ = os.environ | {"PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environ)
    if done.returncode:
        raise RuntimeError(f"{cost.name}, {size}: {done.stderr[-1000:]}")
    return Sample(*json.loads(done.stdout)), done.stderr


def timed(dsn: str, cost: Cost, size: int) -> Sample:
    """By the clock of the process."""
    return _process(dsn, cost, size, 0)[0]


def counted(dsn: str, cost: Cost, size: int) -> Sample:
    """By valgrind: the instructions that a second time adds."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise ValgrindMissing("no valgrind")
    command = [valgrind, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    once, twice = (total_of(_process(dsn, cost, size, times, *command)[1]) for times in (1, 2))
    return Sample(float(twice - once), math.nan, math.nan)


def run(
    costs: Sequence[Cost],
    rounds: int,
    most: int,
    take: Callable[[str, Cost, int], Sample] = timed,
    note: Callable[[str], None] = print,
) -> Samples:
    """Each cost at each of its sizes up to *most*: the least of all rounds."""
    samples: Samples = defaultdict(dict)
    sizes = {cost: [size for size in cost.sizes if size <= most] for cost in costs}
    rows = max((size for cost in costs for size in sizes[cost] if cost.is_replay), default=1)
    with ExitStack() as servers:
        replay = servers.enter_context(replay_process(rows=max(rows, 10_000)))
        embedded = servers.enter_context(server_process())
        for _ in range(rounds):
            for cost in costs:
                begin, found = time.monotonic(), samples[cost.name]
                for size in sizes[cost]:
                    sample = take(replay if cost.is_replay else embedded, cost, size)
                    found[size] = Sample(*map(min, sample, found.get(size, sample)))
                note(f"{cost.name}: {time.monotonic() - begin:.0f} s")
    return samples


# -- the report -------------------------------------------------------------------------------------------------------


def exponent(costs: dict[int, float]) -> float:
    """The slope of the logarithms over the highest decades; NaN if there are not two sizes in them."""
    points = [
        (math.log(size), math.log(cost))
        for size, cost in costs.items()
        if size * 10**DECADES >= max(costs) and cost > 0
    ]
    return statistics.linear_regression(*zip(*points, strict=True)).slope if len(points) > 1 else math.nan


def growth_table(samples: Samples, unit: str, scale: float) -> str:
    """A line for each cost.

    Args:
        unit: what the cost of one is told in.
        scale: how many of them are one of the samples' unit.
    """
    lines: list[list[str]] = []
    for name, found in samples.items():
        least, most = min(found), max(found)
        each = [f"{found[size].cost / size * scale:,.3g}" for size in (least, most)]
        slopes = [exponent({size: sample[field] for size, sample in found.items()}) for field in (0, 1)]
        lines.append(
            [name, f"{least:,} to {most:,}", *each, *map(_slope, slopes), _kib(found[most].memory / most)]
        )
    head = ["", "how many", f"first, {unit} each", f"last, {unit} each", "exponent", "without GC", "KiB each"]
    return table(head, lines)


def _slope(value: float) -> str:
    return "" if math.isnan(value) else f"**{value:.2f}**" if value > LINEAR else f"{value:.2f}"


def _kib(size: float) -> str:
    return "" if math.isnan(size) else f"{size / 1024:,.3f}" if size < 10_240 else f"{size / 1024:,.1f}"


def plot(samples: Samples, path: Path) -> None:
    """Processor time of each one over how many there are, as SVG; one part for each kind of cost."""
    kinds = list(dict.fromkeys(cost.kind for cost in COSTS if cost.name in samples))
    with plotted(path, len(kinds), 4.2) as areas:
        for area, kind in zip(areas, kinds, strict=True):
            for name in (cost.name for cost in COSTS if cost.kind == kind and cost.name in samples):
                points = [(size, sample.cost / size * 1e6) for size, sample in samples[name].items()]
                area.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name.replace("`", ""))
            area.set_xscale("log")
            area.set_yscale("log")
            area.set_ylabel("µs of processor time each")
            area.set_title(kind)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="*", metavar="PATTERNS", help="such as rows,tasks")
    parser.add_argument("--most", type=int, default=10**9, help="no larger size")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--instructions", action="store_true", help="count them, in one round")
    parser.add_argument("--write", action="store_true", help="into docs/explanation/growth.md")
    parser.add_argument("--sample", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.sample:
        dsn, number, size, times = json.loads(given.sample)
        cost = COSTS[number]
        taken = repeat(dsn, cost, size, times) if times else measure(dsn, cost, size)
        print(json.dumps(asyncio.run(taken)))
        return
    if given.write and find_spec("matplotlib") is None:
        parser.error("--write: matplotlib is not installed")
    costs = [cost for cost in COSTS if named(cost.name, given.only)]
    if given.instructions:
        print(growth_table(run(costs, 1, given.most, counted), "instructions", 1))
        return
    samples = run(costs, given.rounds, given.most)
    footer = f"Least of {given.rounds} rounds; {machine()}{load()}; decoder: {aioifx.speedups}."
    text = f"{growth_table(samples, 'µs', 1e6)}\n\n{footer}"
    print(text)
    if given.write:
        write_into(PAGE, {"growth": text})
        plot(samples, PLOT)


if __name__ == "__main__":
    main()
