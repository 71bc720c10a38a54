"""The command line of the lab."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import fields
from pathlib import Path

from examples.bulk_read_lab import report
from examples.bulk_read_lab.artifacts import read_summary
from examples.bulk_read_lab.lab import LabFailed, Plan, Server, own_server, run_lab
from examples.bulk_read_lab.limits import Limits
from examples.bulk_read_lab.strategies import STRATEGIES

WHAT_LIMITS_BOUND = {
    "memory_mib": "MiB of address space that each process may have; 0 for no limit",
    "seconds": "seconds that a run may take",
    "connections": "connections of the pool",
    "processes": "processes, each with a connection and a partition of its own",
    "partitions": "partitions that the pool reads",
    "page": "rows of a page",
    "fetch_size": "bytes of a block of rows on the wire",
    "retries": "further attempts at a partition, if failures are tolerated",
}


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; `limits` and `plan` are made of it."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.bulk_read_lab",
        description="Read a big table in five ways, and measure them side by side.",
    )
    default = Plan()
    parser.add_argument("--rows", type=int, nargs="+", default=list(default.sizes), help="sizes of the table")
    parser.add_argument("--runs", type=int, default=default.runs, help="runs of each strategy at each size")
    parser.add_argument("--strategies", nargs="+", choices=list(STRATEGIES), default=list(STRATEGIES))
    parser.add_argument(
        "--policy", choices=["strict", "tolerant"], default="strict", help="of partitions that fail"
    )
    parser.add_argument(
        "--dsn",
        default=os.environ.get("AIOIFX_DSN"),
        help="a server, on which tables are made and dropped (default: AIOIFX_DSN, else an embedded one)",
    )
    parser.add_argument(
        "--out", type=Path, default=default.out, help="where artifacts go (default %(default)s)"
    )
    parser.add_argument("--report", type=Path, metavar="PAGE.md", help="write table and plots into this page")
    parser.add_argument("--only-report", action="store_true", help="run nothing, report what is in --out")
    for field in fields(Limits):
        parser.add_argument(
            f"--{field.name.replace('_', '-')}",
            type=type(getattr(default.limits, field.name)),
            default=getattr(default.limits, field.name),
            help=f"{WHAT_LIMITS_BOUND[field.name]} (default %(default)s)",
        )
    given = parser.parse_args(arguments)
    if min(given.runs, *given.rows) < 1:
        parser.error("rows and runs must be at least 1")
    try:
        limits = Limits(**{field.name: getattr(given, field.name) for field in fields(Limits)})
    except ValueError as error:
        parser.error(f"--{str(error).replace('_', '-')}")
    given.plan = Plan(
        sizes=tuple(given.rows),
        strategies=tuple(dict.fromkeys(given.strategies)),
        runs=given.runs,
        policy=given.policy,
        limits=limits,
        out=given.out,
    )
    return given


async def main(given: argparse.Namespace) -> int:
    """Run, sum up, report. SIGTERM and SIGINT end it, and the processes that it has started.

    Returns:  the exit code: 0 if every run saw every row, 128 and the signal's number if a signal has ended it.
    """
    this = asyncio.current_task()
    assert this is not None
    received: list[signal.Signals] = []

    def end(number: signal.Signals) -> None:
        received.append(number)
        this.cancel()

    with suppress(NotImplementedError):  # Windows; there SIGINT is a KeyboardInterrupt
        # A handler for SIGINT as well: a background job of a shell starts with SIGINT ignored, and then Python
        # raises no KeyboardInterrupt.
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, end, number)
    try:
        return await work(given)
    except asyncio.CancelledError:
        if not received:
            raise
        return 128 + received[0]


async def work(given: argparse.Namespace) -> int:
    """Run, or read what earlier runs have left; then report."""
    plan: Plan = given.plan
    if given.only_report:
        summary = read_summary(plan.out)
    else:
        async with AsyncExitStack() as stack:
            server = Server(given.dsn) if given.dsn else await stack.enter_async_context(own_server())
            summary = await run_lab(plan, server)
    print(f"\n{report.table(summary)}")
    if given.report is not None:
        for path in report.write(summary, given.report):
            print(path)
    return 1 if any(cell.failed for cell in summary.cells) else 0


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main(parse())))
    except LabFailed as failure:
        sys.exit(str(failure))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
