"""The command line of the lab."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from examples.bulk_read_lab import report
from examples.bulk_read_lab.lab import own_server, run_all
from examples.bulk_read_lab.policy import Job, Limits
from examples.bulk_read_lab.strategies import STRATEGIES


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line, with its `limits`."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.bulk_read_lab",
        description="Read a big table in five ways, and measure them side by side.",
    )
    server = "a server, where tables are created and dropped (default: AIOIFX_DSN, else an embedded one)"
    add = parser.add_argument
    add("--rows", type=int, nargs="+", default=[100_000, 500_000, 1_000_000], help="sizes of the table")
    add("--runs", type=int, default=3, help="runs of each strategy at each size")
    add("--strategies", nargs="+", choices=list(STRATEGIES), default=list(STRATEGIES))
    add("--policy", choices=["strict", "tolerant"], default="strict", help="for partitions that fail")
    add("--dsn", default=os.environ.get("AIOIFX_DSN"), help=server)
    add("--out", type=Path, default=".bulk_read_lab", help="directory of the results (default %(default)s)")
    for field in fields(Limits):
        text = f"{field.metadata['help']} (default %(default)s)"
        add(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default, help=text)
    given = parser.parse_args(arguments)
    if min(given.runs, *given.rows) < 1:
        parser.error("rows and runs must be at least 1")
    given.limits = Limits(**{field.name: getattr(given, field.name) for field in fields(Limits)})
    return given


async def lab(given: argparse.Namespace, dsn: str, pid: int | None = None) -> int:
    """Run and report. Returns the exit code: 0 if every run saw every row."""
    jobs = [Job(dsn, rows, given.limits, given.policy) for rows in given.rows]
    runs = await run_all(given.strategies, jobs, given.runs, pid)
    print(f"\n{report.table(runs)}\n")
    server = "a server of the user's" if pid is None else "the embedded server"
    for path in report.write(runs, report.where(given.limits, server, given.runs), given.out):
        print(path)
    return 1 if any(run.error for run in runs) else 0


async def main(given: argparse.Namespace) -> int:
    """Run the lab. SIGINT and SIGTERM end it and every process it started, with the exit code 128 + the number."""
    received: list[int] = []
    this = asyncio.current_task()
    assert this is not None

    def end(number: int) -> None:
        received.append(number)
        this.cancel()

    with suppress(NotImplementedError):  # Windows
        # SIGINT as well: a background job of a shell starts with SIGINT ignored, and then asyncio does not handle it.
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        if given.dsn:
            return await lab(given, given.dsn)
        async with own_server() as (dsn, pid):
            return await lab(given, dsn, pid)
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0]


if __name__ == "__main__":
    sys.exit(asyncio.run(main(parse())))
