"""A whole lab: a server, its tables, every strategy several times, and whether all of them saw the same rows."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import aioifx
from examples.bulk_read_lab.artifacts import Run, Summary, cell_of
from examples.bulk_read_lab.limits import Limits
from examples.bulk_read_lab.policy import Policy
from examples.bulk_read_lab.run import EXPECTED, Order, environment
from examples.bulk_read_lab.strategies import STRATEGIES
from examples.bulk_read_lab.table import drop, fill

ROOT = Path(__file__).parents[2]
GRACE = 15.0
"""Seconds that a run has to begin and to tell, beside those of its limit."""


class LabFailed(Exception):
    """There is no result, not even one of a run that failed."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where the tables are."""

    dsn: str
    pid: int | None = None
    """Of our own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is run."""

    sizes: tuple[int, ...] = (100_000, 500_000, 1_000_000)
    strategies: tuple[str, ...] = tuple(STRATEGIES)
    runs: int = 3
    policy: Policy = "strict"
    limits: Limits = field(default_factory=Limits)
    out: Path = Path(".bulk_read_lab")

    def orders(self, server: Server, size: int) -> Iterator[tuple[str, Order]]:
        """Every run at one size, with the name of its artifact; rounds over all strategies, so that what changes on
        the machine meets them all."""
        for number in range(1, self.runs + 1):
            for strategy in self.strategies:
                order = Order(
                    strategy=strategy,
                    dsn=server.dsn,
                    rows=size,
                    policy=self.policy,
                    limits=self.limits,
                    server_pid=server.pid,
                )
                yield f"{strategy}-{size}-{number}.json", order


@asynccontextmanager
async def own_server() -> AsyncGenerator[Server, None]:
    """An embedded server in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "aioifx.server", "--port", "0", "--database", "lab"),
        env=_environment(),
        stdout=asyncio.subprocess.PIPE,
        stdin=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(GRACE):
            line = (await process.stdout.readline()).decode()
        if not line:
            raise LabFailed("the embedded server does not start")
        yield Server(line.rpartition(" ")[2].strip(), process.pid)
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


async def run_fresh(order: Order) -> Run:
    """Do *order* in a new process, and end that and its children if it takes too long.

    Raises:   LabFailed: it has not told what came of it.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "examples.bulk_read_lab.run"),
        env=_environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # so that its children can be ended with it
    )
    try:
        async with asyncio.timeout(order.limits.seconds + GRACE):
            output, _ = await process.communicate(order.to_json().encode())
    except TimeoutError:
        raise LabFailed(f"{order.strategy}: no answer within the time limit, and {GRACE:g} s") from None
    finally:
        if process.returncode is None:
            _kill(process)
            await process.wait()
    if process.returncode or not output:
        raise LabFailed(f"{order.strategy}: ended with exit code {process.returncode}, without a result")
    return Run.from_json(output.decode())


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:  # Windows
            process.kill()


def _environment() -> dict[str, str]:
    # The seed is for the checksums; see Tally.
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}


async def run_lab(plan: Plan, server: Server, say: Callable[[str], object] = print) -> Summary:
    """Run everything, and leave the artifacts in a directory; after each size, a summary so far.

    Raises:   LabFailed: a run has left no result.
    """
    plan.out.mkdir(parents=True, exist_ok=True)
    summary = Summary(
        environment=environment(),
        embedded_server=server.pid is not None,
        limits=asdict(plan.limits),
        policy=plan.policy,
        expected={},
        cells=[],
        artifacts=[],
    )
    for size in plan.sizes:
        say(f"{size:,} rows: loading")
        async with _table(server.dsn, size):
            truth = await run_fresh(Order(strategy=EXPECTED, dsn="", rows=size, limits=plan.limits))
            summary.expected[str(size)] = {"rows": truth.rows, "checksum": truth.checksum}
            good: dict[str, list[Run]] = {strategy: [] for strategy in plan.strategies}
            for name, order in plan.orders(server, size):
                run = await run_fresh(order)
                (plan.out / name).write_text(run.to_json(), encoding="utf-8")
                summary.artifacts.append(name)
                say(_line(run, truth))
                if is_right(run, truth):
                    good[run.strategy].append(run)
        summary.cells.extend(cell_of(each, size, runs, plan.runs - len(runs)) for each, runs in good.items())
        (plan.out / "summary.json").write_text(summary.to_json(), encoding="utf-8")
    return summary


@asynccontextmanager
async def _table(dsn: str, size: int) -> AsyncGenerator[None, None]:
    async with aioifx.connect(dsn) as conn:
        await fill(conn, size)
    try:
        yield
    finally:
        async with aioifx.connect(dsn) as conn:
            await drop(conn, size)


def is_right(run: Run, truth: Run) -> bool:
    """Whether it saw every row, as it was loaded, and nothing else."""
    return run.is_complete and (run.rows, run.checksum) == (truth.rows, truth.checksum)


def _line(run: Run, truth: Run) -> str:
    cpu = run.cpu_seconds + run.children_cpu_seconds
    memory = run.peak_mib + sum(run.children_peak_mib)
    figures = f"{run.rows_per_second:>9,} rows/s  {cpu:7.2f} s CPU  {memory:7.1f} MiB"
    if is_right(run, truth):
        return f"  {run.strategy:<10} {figures}"
    if run.error is not None:
        return f"  {run.strategy:<10} failed: {run.error}"
    if run.missing:
        ranges = "; ".join(f"{each.keys} ({each.error})" for each in run.missing)
        return f"  {run.strategy:<10} {run.rows:,} of {truth.rows:,} rows; missing: {ranges}"
    return f"  {run.strategy:<10} wrong rows: {run.rows:,} with checksum {run.checksum}"
