"""A whole lab: a server, its tables, every strategy several times, and whether each run saw the rows that were loaded.

Every run is a process of its own, so that the peak of its memory is the strategy's.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from examples.bulk_read_lab.job import Job, Tally, expected, filled_table
from examples.bulk_read_lab.process import cpu_of, in_process, limit_memory, peak_mib
from examples.bulk_read_lab.strategies import STRATEGIES, Outcome


@dataclass(slots=True)
class Run:
    """One run of a strategy; README.md describes its fields."""

    strategy: str
    table_rows: int
    outcome: Outcome = field(default_factory=Outcome)
    error: str | None = None
    seconds: float = 0.0
    rows_per_second: float = 0.0
    cpu_seconds: float = 0.0
    cpu_microseconds_per_row: float = 0.0
    server_cpu_seconds: float | None = None
    peak_mib: float = 0.0
    all_peak_mib: float = 0.0

    def __str__(self) -> str:
        figures = f"{self.rows_per_second:>9,.0f} rows/s  {self.cpu_seconds:7.2f} s CPU  {self.all_peak_mib:7.1f} MiB"
        return f"{self.strategy:<10} {f'failed: {self.error}' if self.error else figures}"


def measure(strategy: str, job: Job, server: int | None) -> Run:
    """Run a strategy in this process; *server* is the process id of an embedded server."""
    limit_memory(job.memory_mib)
    run = Run(strategy, job.rows)
    clock, cpu, server_cpu = time.perf_counter(), sum(os.times()[:4]), cpu_of(server)
    try:
        run.outcome = asyncio.run(STRATEGIES[strategy](job))
    except Exception as error:
        run.error = "; ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    run.seconds = time.perf_counter() - clock
    run.rows_per_second = run.outcome.tally.rows / run.seconds
    run.cpu_seconds = sum(os.times()[:4]) - cpu
    run.cpu_microseconds_per_row = run.cpu_seconds / job.rows * 1e6
    if server_cpu is not None:
        run.server_cpu_seconds = (cpu_of(server) or 0.0) - server_cpu
    run.peak_mib = peak_mib()
    run.all_peak_mib = run.peak_mib + sum(run.outcome.children_peak_mib)
    return run


async def run_fresh(strategy: str, job: Job, server: int | None, loaded: Tally) -> Run:
    """Run a strategy in a new process. Unless it saw every row that was *loaded*, the run has an error."""
    run = Run(strategy, job.rows)
    try:
        async with asyncio.timeout(job.seconds):
            run = await in_process(measure, strategy, job, server)
    except TimeoutError:
        run.error = f"not done within {job.seconds:g} s"
    except ChildProcessError as error:
        run.error = str(error)
    missing, tally = run.outcome.missing, run.outcome.tally
    if run.error is None and missing:
        run.error = "; ".join(f"{keys} are missing: {error}" for keys, error in missing.items())
    elif run.error is None and tally != loaded:
        run.error = f"wrong rows: expected {loaded}, got {tally}"
    return run


async def run_all(names: Sequence[str], jobs: Sequence[Job], times: int, server: int | None) -> list[Run]:
    """Run every strategy so many times on the table of every job, and print each run."""
    # Without a fixed seed the processes would compute different checksums; see Tally.
    os.environ["PYTHONHASHSEED"] = "0"
    runs: list[Run] = []
    for job in jobs:
        print(f"{job.rows:,} rows: loading", flush=True)
        async with filled_table(job):
            loaded = await in_process(expected, job.rows)
            for _ in range(times):  # rounds, so that a change of the machine affects all
                for name in names:
                    runs.append(await run_fresh(name, job, server, loaded))
                    print(f"  {runs[-1]}", flush=True)
    return runs


@asynccontextmanager
async def own_server() -> AsyncGenerator[tuple[str, int], None]:
    """An embedded server in a process of its own: its DSN and process id."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "aioifx.server", "--port", "0", "--database", "lab"),
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C must not end it before the table is dropped
    )
    assert process.stdout is not None
    try:
        line = (await process.stdout.readline()).decode()
        yield line.rpartition(" ")[2].strip(), process.pid
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()
