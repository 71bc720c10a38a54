"""Clients side by side, in one interleaved run: what each workload costs them, as ratios. Never: a client's calls.

    python -m tests.bench.compare [--only fetch,many] [--peers aioifx,jdbc] [--rounds 5] [--pin split|same]

aioifx (native and pure, on asyncio and uvloop), informix-driver (blocking and asyncio) and IBM's JDBC driver use one
replay server; asyncpg and psycopg use a private PostgreSQL with the same rows. Peers whose packages, tools or servers
are not here are left out, and said so. Every client is a process of its own; all of them get their rows right, then
warm up, and then take turns: A B C, A B C. A ratio is that of two neighbours, and given as median [lowest-highest].
Times are wall-clock; CPU is the client's own process's. Memory is the peak of a sample above what the process had when
it was new, and above what it had just before: Python keeps what it once had, so --only one workload tells most.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import signal
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

import aioifx
from tests.bench.peers import CALLS, Missing, Order
from tests.bench.postgres import PostgresMissing, postgres_process
from tests.bench.replay import replay_process
from tests.bench.shapes import SHAPES
from tests.bench.workers import CHECKED, JdbcWorker, PythonWorker, Sample, Worker, pinned
from tests.system.interop.jdbc import JdbcMissing, fetched

REFERENCES: Final = ("informix-driver", "asyncpg", f"aioifx {aioifx.speedups}, rows")
"""What ratios are of by default. Ping-pongs are compared with in any case, each with its own."""
PACKAGES: Final = ("informix-driver", "asyncpg", "psycopg", "uvloop", "pyarrow", "Cython")
WARM_JVM: Final = 2.0
"""Seconds for which JDBC repeats a workload before the first round."""

_PARTLY: Final = {"aioifx-tables": ("columns",), "aioifx-tuples": ("fetch",)}
_JDBC: Final = ("fetch", "stream", "select-1", "insert", "many*", "connect")


def orders(rows: int, effort: float = 1.0) -> list[Order]:
    """Everything that is measured.

    Args:
        rows: of the largest results.
        effort: 1 for samples of some 20 milliseconds and more.
    """
    sizes = sorted({size for size in (1, 10, 100, 1000, 10_000, 100_000, rows) if size <= rows})
    fetches = [
        Order("fetch", shape, size, max(1, 10_000 // (size + 9))) for shape in SHAPES for size in sizes
    ]
    found = [
        *fetches,
        *(Order("stream", shape, rows) for shape in SHAPES),
        *(Order("columns", shape, rows) for shape in SHAPES),
        Order("select-1", repeat=2000),
        Order("insert", repeat=500),
        Order("many", rows=100, repeat=50),
        Order("many", rows=1000, repeat=5),
        Order("many-tx", rows=100, repeat=50),
        Order("many-tx", rows=1000, repeat=5),
        Order("load", rows=min(rows, 10_000)),
        Order("pool", repeat=500 // CALLS),
        Order("concurrent", repeat=500 // CALLS),
        Order("gather", repeat=40),
        Order("crowd", repeat=10),
        Order("connect", repeat=50),
    ]
    return [replace(order, repeat=max(1, int(order.repeat * effort))) for order in found]


@dataclass(frozen=True, slots=True)
class Contestant:
    """A peer that can be started: what it is called, and how it is."""

    name: str
    start: Callable[[], Worker]
    workloads: tuple[str, ...] = ("*",)


@dataclass(slots=True)
class Result:
    """One peer in one workload."""

    order: Order
    peer: str
    samples: list[Sample]

    def median(self, field: str) -> float:
        values: list[float] = [getattr(sample, field) for sample in self.samples]
        return statistics.median(values)

    def beyond(self, other: Result) -> float:
        """Seconds of CPU that it takes more than *other*: the median of neighbours."""
        both = zip(self.samples, other.samples, strict=True)
        return statistics.median(own.cpu - theirs.cpu for own, theirs in both)

    def ratio(self, other: Result) -> str:
        """How many times as fast as *other*: neighbours' ratios."""
        ratios = sorted(
            theirs.wall / own.wall for own, theirs in zip(self.samples, other.samples, strict=True)
        )
        return f"{statistics.median(ratios):.2f} [{ratios[0]:.2f}-{ratios[-1]:.2f}]"


# -- who takes part ---------------------------------------------------------------------------------------------------


def python_peers(dsn: str, postgres: str | None) -> Iterator[Contestant]:
    """Every client written in Python."""

    def of(name: str, peer: str, dsn: str, loop: str = "asyncio", *, pure: bool = False) -> Contestant:
        workloads = ("select-1",) if peer.startswith("ping-pong") else _PARTLY.get(peer, ("*",))
        return Contestant(name, lambda: PythonWorker(name, peer, dsn, loop, pure=pure), workloads)

    yield of("informix-driver", "informix-driver", dsn)
    yield of("informix-driver aio", "informix-driver-aio", dsn)
    yield of(f"aioifx.dbapi {aioifx.speedups}", "aioifx-dbapi", dsn)
    for loop, end in (("asyncio", ""), ("uvloop", " uvloop")):
        if aioifx.speedups == "native":
            yield of(f"aioifx native{end}", "aioifx", dsn, loop)
        yield of(f"aioifx pure{end}", "aioifx", dsn, loop, pure=True)
        yield of(f"aioifx pure, tuples{end}", "aioifx-tuples", dsn, loop, pure=True)
        yield of(f"ping-pong{end}", "ping-pong", dsn, loop)
        if postgres is not None:
            yield of(f"ping-pong postgres{end}", "ping-pong-postgres", postgres, loop)
            yield of(f"asyncpg{end}", "asyncpg", postgres, loop)
            yield of(f"psycopg{end}", "psycopg", postgres, loop)
    yield of(f"aioifx {aioifx.speedups}, rows", "aioifx-tables", dsn)


def jdbc_peers(dsn: str, jar: Path) -> Iterator[Contestant]:
    """JDBC with the fetch buffer that it has by default, and with the largest of the short kind."""
    options = aioifx.parse_dsn(dsn)
    url = (
        f"jdbc:informix-sqli://{options.host}:{options.port}/{options.database}:INFORMIXSERVER={options.server}"
        f";user={options.user};password=secret"
    )

    def of(name: str, url: str) -> Contestant:
        return Contestant(name, lambda: JdbcWorker(name, jar, url), _JDBC)

    yield of("jdbc", url)
    yield of("jdbc 32k", f"{url};FET_BUF_SIZE=32767")


@contextmanager
def contestants(given: argparse.Namespace, servers: set[int]) -> Iterator[list[Contestant]]:
    """All that can be had here, with their servers running."""
    with ExitStack() as stack:
        with pinned(servers):
            dsn = stack.enter_context(replay_process(rows=given.rows, delay=given.delay))
            postgres = jar = None
            if named("asyncpg", given.peers) or named("psycopg", given.peers):
                try:
                    postgres = stack.enter_context(postgres_process(given.rows))
                except PostgresMissing as missing:
                    print(f"left out: asyncpg, psycopg: {missing}", file=sys.stderr)
        if named("jdbc", given.peers):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-jdbc-")))
            try:
                jar = fetched(folder, Path(__file__).with_name("JdbcBench.java"))
            except JdbcMissing as missing:
                print(f"left out: jdbc: {missing}", file=sys.stderr)
        all_of_them = [*python_peers(dsn, postgres), *(jdbc_peers(dsn, jar) if jar else ())]
        yield [one for one in all_of_them if named(one.name, given.peers)]


def named(name: str, patterns: str) -> bool:
    """Whether one of *patterns*, between commas, fits the beginning of *name*."""
    return any(fnmatch(name, f"{pattern}*") for pattern in patterns.split(","))


# -- measuring --------------------------------------------------------------------------------------------------------


def compare(
    workers: Sequence[tuple[tuple[str, ...], Worker]], wanted: Sequence[Order], rounds: int
) -> Iterator[list[Result]]:
    """Each workload's results, as soon as it is done.

    Args:
        workers: each with patterns of the workloads that it takes part in.
    """
    for _, worker in workers:
        for shape in SHAPES.values():
            try:
                assert worker.check(shape, CHECKED), f"{worker.name}: wrong rows of the {shape.name} table"
            except Missing:
                pass
    for order in wanted:
        ready = [
            worker
            for patterns, worker in workers
            if any(fnmatch(order.workload, pattern) for pattern in patterns) and is_warm(worker, order)
        ]
        results = [Result(order, worker.name, []) for worker in ready]
        for _ in range(rounds):
            for worker, result in zip(ready, results, strict=True):
                result.samples.append(worker.sample(order))
        yield results


def is_warm(worker: Worker, order: Order) -> bool:
    """Run *order* before the clock starts; False if the client cannot."""
    spent = 0.0
    try:
        while True:
            sample = worker.sample(order)
            spent += sample.wall * sample.done
            if spent > WARM_JVM or not isinstance(worker, JdbcWorker):
                return True
    except Missing as missing:
        if str(missing) != order.workload:
            print(f"left out: {worker.name} in {order.name}: {missing}", file=sys.stderr)
        return False


# -- telling ----------------------------------------------------------------------------------------------------------


def machine() -> dict[str, Any]:
    """Where and with what it was measured."""
    found: dict[str, Any] = {
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "processor": _processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "aioifx": aioifx.speedups,
    }
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def ping_pong_of(peer: str) -> str:
    """Who exchanges the same bytes with *peer*'s server, on its loop; on asyncio for one that has no loop."""
    name = (
        "ping-pong postgres" if peer.startswith(("asyncpg", "psycopg", "ping-pong postgres")) else "ping-pong"
    )
    return f"{name} uvloop" if peer.endswith(" uvloop") else name


def table(results: Sequence[Result], references: Sequence[str]) -> Iterator[str]:
    """One workload as lines of Markdown."""
    by_name = {result.peer: result for result in results}
    columns = [name for name in references if name in by_name]
    pings = {name: by_name[name] for name in by_name if name.startswith("ping-pong")}
    order = results[0].order
    unit, scale = ("µs", 1e6) if order.rows == 1 else ("ns a row", 1e9)
    heads = [
        f"{order.name}",
        f"{unit}",
        f"CPU, {unit}",
        "MiB",
        "MiB added",
        *(f"x {name}" for name in columns),
    ]
    if pings:
        heads += ["ping-pongs", f"own CPU, {unit}"]
    yield f"| {' | '.join(heads)} |"
    yield f"| --- |{' ---: |' * (len(heads) - 1)}"
    for result in results:
        cells = [result.peer, f"{result.median('wall') * scale:,.1f}", f"{result.median('cpu') * scale:,.1f}"]
        cells += [f"{result.median(field) / 2**20:.1f}" for field in ("memory", "added")]
        cells += [result.ratio(by_name[name]) for name in columns]
        if pings:
            ping = pings.get(ping_pong_of(result.peer))
            cells += [ping.ratio(result), f"{result.beyond(ping) * scale:,.1f}"] if ping else ["", ""]
        yield f"| {' | '.join(cells)} |"


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=100_000, help="of the largest results")
    parser.add_argument("--only", default="*", metavar="PATTERNS", help="such as fetch/narrow,select-1")
    parser.add_argument("--peers", default="*", metavar="PATTERNS", help="such as aioifx,asyncpg")
    parser.add_argument("--reference", action="append", metavar="PEER", help="ratios are of this one")
    parser.add_argument("--pin", choices=("split", "same"), help="clients and servers on two CPUs, or on one")
    parser.add_argument(
        "--delay", type=float, default=0.0, metavar="MS", help="added to the replay server's replies"
    )
    parser.add_argument("--effort", type=float, default=1.0, help="repetitions in a sample, times this")
    parser.add_argument("--json", type=Path, metavar="FILE", help="all samples")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    given = parse_arguments(arguments)
    found = machine()
    print(", ".join(f"{name} {value}" for name, value in found.items() if value), end="\n\n", flush=True)
    clients, servers = {"split": ({0}, {1}), "same": ({0}, {0})}.get(given.pin, (set[int](), set[int]()))
    every: list[Result] = []
    with contestants(given, servers) as chosen, ExitStack() as stack:
        workers: list[tuple[tuple[str, ...], Worker]] = []
        with pinned(clients):
            for contestant in chosen:
                workers.append((contestant.workloads, contestant.start()))
                stack.callback(workers[-1][1].close)
        chosen_orders = [order for order in orders(given.rows, given.effort) if named(order.name, given.only)]
        for results in compare(workers, chosen_orders, given.rounds):
            if results:
                every += results
                print("\n".join(table(results, given.reference or REFERENCES)), end="\n\n", flush=True)
    if given.json:
        report = {
            "machine": found,
            "pin": given.pin,
            "delay": given.delay,
            "results": [asdict(r) for r in every],
        }
        given.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # no server is left behind
    main()
