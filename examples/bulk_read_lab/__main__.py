"""The command line of the lab."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path

from examples.bulk_read_lab import report
from examples.bulk_read_lab.job import Job
from examples.bulk_read_lab.lab import own_server, run_all
from examples.bulk_read_lab.strategies import STRATEGIES

OPTIONS = [field for field in fields(Job) if field.metadata]


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.bulk_read_lab",
        description="Read a big table in five ways, and measure them side by side.",
    )
    server = "a server, where tables are created and dropped (default: AIOIFX_DSN, else an embedded one)"
    add = parser.add_argument
    add("--rows", type=int, nargs="+", default=[100_000, 500_000, 1_000_000], help="sizes of the table")
    add("--runs", type=int, default=3, help="runs of each strategy at each size")
    add("--strategies", nargs="+", choices=list(STRATEGIES), default=list(STRATEGIES))
    add("--dsn", default=os.environ.get("AIOIFX_DSN"), help=server)
    add("--out", type=Path, default=".bulk_read_lab", help="directory of the results (default %(default)s)")
    for option in OPTIONS:
        name = f"--{option.name.replace('_', '-')}"
        add(name, type=type(option.default), default=option.default, **option.metadata)
    given = parser.parse_args()
    if min(given.runs, *given.rows) < 1:
        parser.error("rows and runs must be at least 1")
    return given


async def lab(given: argparse.Namespace) -> int:
    """Run and report. Returns the exit code: 0 if every run saw every row."""
    async with nullcontext((given.dsn, None)) if given.dsn else own_server() as (dsn, pid):
        limits = {option.name: getattr(given, option.name) for option in OPTIONS}
        jobs = [Job(dsn, rows, **limits) for rows in given.rows]
        runs = await run_all(given.strategies, jobs, given.runs, pid)
    print(f"\n{report.table(runs)}\n")
    server = "a server of the user's" if given.dsn else "the embedded server"
    for path in report.write(runs, report.where(jobs[0], server, given.runs), given.out):
        print(path)
    return 1 if any(run.error for run in runs) else 0


def main() -> int:
    """Run the lab. SIGINT and SIGTERM end it and every process it started, with the exit code 128 + the number."""
    received = signal.SIGINT

    def end(number: int, _: object) -> None:
        nonlocal received
        received = signal.Signals(number)
        signal.raise_signal(signal.SIGINT)  # asyncio then cancels the lab

    signal.signal(signal.SIGTERM, end)
    # A shell's background job starts with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return asyncio.run(lab(parse()))
    except KeyboardInterrupt:
        return 128 + received


if __name__ == "__main__":
    sys.exit(main())
