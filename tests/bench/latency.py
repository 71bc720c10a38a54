"""How long calls wait for their answers under load, through a pool: percentiles beside asyncpg. Never: an average.

    python -m tests.bench.latency [--rates 2000 5000 8000] [--seconds 5] [--rounds 5] [--pin] [--write]

Two loads. *open*: calls begin at fixed moments, whether or not earlier ones have been answered, and each is timed from
its moment on, so that a client that is late cannot hide it. The event loop never sleeps meanwhile, since its timers
are exact to a millisecond only. *closed*: 200 tasks share 10 connections, and each calls again as soon as it has its
answer. Every sample is a process of its own, and clients take turns within a round. Without a client, bare requests and
replies on ten connections (ping-pong) show the share of the server and the event loop. A round takes four minutes.

--write puts the table and the plot into docs/explanation/latency.md; the plot needs matplotlib (extra: bench).
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from time import perf_counter
from typing import Any, Final, NamedTuple

import aioifx
from tests.bench.page import DOCS, load, machine, plotted, table, write_into
from tests.bench.peers import Peer
from tests.bench.postgres import postgres_process
from tests.bench.replay import replay_process
from tests.bench.shapes import SELECT_ONE
from tests.bench.workers import PEERS, pinned, settle_heap

PAGE: Final = DOCS / "explanation" / "latency.md"
PLOT: Final = DOCS / "explanation" / "latency.svg"

POOL: Final = 10
TASKS: Final = 200
QUANTILES: Final = (0.5, 0.99, 0.999)
CLOSED: Final = 0
"""The rate that stands for the closed load."""
WARM: Final = 2000
"""Calls before the clock starts."""
REFERENCE: Final = {"aioifx": "asyncpg", "ping-pong": "ping-pong-postgres"}

Call = Callable[[], Awaitable[object]]


class Case(NamedTuple):
    """What one sample measures."""

    peer: str
    loop: str
    rate: int
    """Calls a second; 0: closed."""


class Sample(NamedTuple):
    """Seconds of QUANTILES, and answers a second."""

    quantiles: tuple[float, ...]
    rate: float


# -- in a process of its own ------------------------------------------------------------------------------------------


async def caller(name: str, dsn: str, stack: AsyncExitStack) -> Call:
    """SELECT 1 through a pool of ten connections, as rows."""
    if name == "aioifx":
        ours = await stack.enter_async_context(aioifx.create_pool(dsn, min_size=POOL, max_size=POOL))
        await ours.wait_ready()
        return lambda: ours.fetch(SELECT_ONE)
    if name == "asyncpg":
        asyncpg: Any = importlib.import_module("asyncpg")
        theirs = await stack.enter_async_context(asyncpg.create_pool(dsn, min_size=POOL, max_size=POOL))
        return lambda: theirs.fetch("SELECT 1")
    free: asyncio.LifoQueue[Any] = asyncio.LifoQueue()
    for _ in range(POOL):
        peer: Peer = PEERS[name](dsn)
        await peer.open()
        stack.push_async_callback(peer.close)
        free.put_nowait(peer)

    async def exchange() -> None:
        peer = await free.get()
        await peer.conn.exchange(peer.request)
        free.put_nowait(peer)

    return exchange


async def measure(dsn: str, case: Case, seconds: float) -> Sample:
    """All waits of one load."""
    async with AsyncExitStack() as stack:
        call = await caller(case.peer, dsn, stack)
        for _ in range(0, WARM, TASKS):
            await asyncio.gather(*(call() for _ in range(TASKS)))
        begin = perf_counter()
        waits = await (_open(call, case.rate, seconds) if case.rate else _closed(call, seconds))
        return Sample(quantiles_of(waits), len(waits) / (perf_counter() - begin))


async def _open(call: Call, rate: int, seconds: float) -> list[float]:
    waits: list[float] = []

    async def timed(due: float) -> None:
        await call()
        waits.append(perf_counter() - due)

    begin, number = perf_counter(), 0
    async with asyncio.TaskGroup() as group:
        while number < rate * seconds:
            now = perf_counter()
            while (due := begin + number / rate) <= now and number < rate * seconds:
                group.create_task(timed(due))
                number += 1
            await asyncio.sleep(0)
    return waits


async def _closed(call: Call, seconds: float) -> list[float]:
    waits, end = list[float](), perf_counter() + seconds

    async def worker() -> None:
        while (begin := perf_counter()) < end:
            await call()
            waits.append(perf_counter() - begin)

    await asyncio.gather(*(worker() for _ in range(TASKS)))
    return waits


def quantiles_of(waits: Sequence[float]) -> tuple[float, ...]:
    """The wait that this share of all waits does not exceed."""
    ordered = sorted(waits)
    return tuple(ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in QUANTILES)


# -- the run ----------------------------------------------------------------------------------------------------------

Samples = dict[Case, list[Sample]]


def run(
    cases: Sequence[Case], seconds: float, rounds: int, *, pins: bool, note: Callable[[str], None] = print
) -> Samples:
    """All cases one after the other, *rounds* times.

    Raises:
        PostgresMissing: there is no server for asyncpg.
    """
    samples: Samples = defaultdict(list)
    with ExitStack() as servers:
        with pinned({1} if pins else set()):
            informix = servers.enter_context(replay_process(rows=100))
            postgres = servers.enter_context(postgres_process(100))
        for number in range(rounds):
            for case in cases:
                dsn = postgres if case.peer in REFERENCE.values() else informix
                with pinned({0} if pins else set()):
                    samples[case].append(_sample(dsn, case, seconds))
            note(f"round {number + 1} of {rounds}")
    return samples


def _sample(dsn: str, case: Case, seconds: float) -> Sample:
    command = [sys.executable, "-m", "tests.bench.latency", "--sample", json.dumps([dsn, *case, seconds])]
    environ = os.environ | {"PYTHONHASHSEED": "0"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environ)
    quantiles, rate = json.loads(done.stdout)
    return Sample(tuple(quantiles), rate)


def cases_of(rates: Sequence[int], loops: Sequence[str], peers: Sequence[str]) -> list[Case]:
    """Neighbours are the clients that are compared."""
    return [Case(peer, loop, rate) for loop in loops for rate in rates for peer in peers]


# -- the report -------------------------------------------------------------------------------------------------------


def latency_table(samples: Samples) -> str:
    """A line for each case: medians of the quantiles, and neighbours' ratios as median [lowest-highest]."""
    lines: list[list[str]] = []
    for case, found in samples.items():
        theirs = samples.get(case._replace(peer=REFERENCE.get(case.peer, "")))
        cells = [f"{case.peer}, {case.loop}, {_load_of(case)}"]
        cells.append(f"{statistics.median(sample.rate for sample in found):,.0f}")
        for number in range(len(QUANTILES)):
            values = [sample.quantiles[number] for sample in found]
            text = f"{statistics.median(values) * 1e3:.2f}"
            if theirs is not None:
                ratios = sorted(t.quantiles[number] / own for t, own in zip(theirs, values, strict=True))
                text += f" · {statistics.median(ratios):.2f} [{ratios[0]:.2f}-{ratios[-1]:.2f}]"
            cells.append(text)
        lines.append(cells)
    return table(["", "calls/s", *(f"p{share * 100:g}, ms · ratio" for share in QUANTILES)], lines)


def _load_of(case: Case) -> str:
    return f"{case.rate:,}/s" if case.rate else f"{TASKS} tasks"


def plot(samples: Samples, path: Path) -> None:
    """The quantiles over the rate, as SVG; one part for each event loop."""
    loops = list(dict.fromkeys(case.loop for case in samples))
    with plotted(path, len(loops), 4.2) as areas:
        for area, loop in zip(areas, loops, strict=True):
            for peer, color in (("aioifx", "C0"), ("asyncpg", "C1")):
                for number, line in enumerate(("-", "--", ":")):
                    points = [
                        (case.rate, statistics.median(sample.quantiles[number] for sample in found) * 1e3)
                        for case, found in samples.items()
                        if (case.peer, case.loop) == (peer, loop) and case.rate
                    ]
                    label = f"{peer}, p{QUANTILES[number] * 100:g}"
                    area.plot(
                        *zip(*points, strict=True), line, color=color, marker="o", markersize=3, label=label
                    )
            area.set_yscale("log")
            area.set_xlabel("calls a second")
            area.set_ylabel("ms")
            area.set_title(loop)


def _sampled(given: list[Any]) -> Sample:
    dsn, peer, loop, rate, seconds = given
    settle_heap()
    factory = importlib.import_module("uvloop").new_event_loop if loop == "uvloop" else None
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(measure(dsn, Case(peer, loop, rate), seconds))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rates", type=int, nargs="*", default=[2000, 4000, 6000, 8000], metavar="CALLS")
    parser.add_argument("--loops", nargs="+", default=["asyncio", "uvloop"])
    parser.add_argument("--seconds", type=float, default=5.0, help="of each sample")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pin", action="store_true", help="clients and servers on a CPU each")
    parser.add_argument("--write", action="store_true", help="into docs/explanation/latency.md")
    parser.add_argument("--sample", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.sample:
        print(json.dumps(_sampled(json.loads(given.sample))))
        return
    peers = [name for both in REFERENCE.items() for name in both]
    cases = cases_of([CLOSED, *given.rates], given.loops, peers)
    samples = run(cases, given.seconds, given.rounds, pins=given.pin)
    footer = f"Medians of {given.rounds} rounds of {given.seconds:g} s; {machine()}{load()}."
    text = f"{latency_table(samples)}\n\n{footer}"
    print(text)
    if given.write:
        write_into(PAGE, {"latency": text})
        plot(samples, PLOT)


if __name__ == "__main__":
    main()
