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
from examples.bulk_read_lab.lab import SUMMARY, LabFailed, own_server, read_json, run_lab
from examples.bulk_read_lab.process import Limits
from examples.bulk_read_lab.strategies import STRATEGIES


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line, with its `limits`."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.bulk_read_lab",
        description="Read a big table in five ways, and measure them side by side.",
    )
    sizes = [100_000, 500_000, 1_000_000]
    add = parser.add_argument
    add("--rows", type=int, nargs="+", default=sizes, help="sizes of the table")
    add("--runs", type=int, default=3, help="runs of each strategy at each size")
    add("--strategies", nargs="+", choices=list(STRATEGIES), default=list(STRATEGIES))
    add("--policy", choices=["strict", "tolerant"], default="strict", help="for partitions that fail")
    server = "a server, where tables are created and dropped (default: AIOIFX_DSN, else an embedded one)"
    add("--dsn", default=os.environ.get("AIOIFX_DSN"), help=server)
    add(
        "--out",
        type=Path,
        default=Path(".bulk_read_lab"),
        help="directory of the results (default %(default)s)",
    )
    add("--report", type=Path, metavar="PAGE.md", help="write table and plots into this page")
    add("--only-report", action="store_true", help="run nothing, report what is in --out")
    for field in fields(Limits):
        text = f"{field.metadata['help']} (default %(default)s)"
        add(f"--{field.name.replace('_', '-')}", type=type(field.default), default=field.default, help=text)
    given = parser.parse_args(arguments)
    if min(given.runs, *given.rows) < 1:
        parser.error("rows and runs must be at least 1")
    try:
        given.limits = Limits(**{field.name: getattr(given, field.name) for field in fields(Limits)})
    except ValueError as error:
        parser.error(f"--{str(error).replace('_', '-')}")
    given.strategies = list(dict.fromkeys(given.strategies))
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
    """Run, or read the files of earlier runs; then report."""
    if given.only_report:
        summary = read_json(given.out / "summary.json", SUMMARY)
    elif given.dsn:
        summary = await run_lab(given, given.dsn, None)
    else:
        async with own_server() as (dsn, pid):
            summary = await run_lab(given, dsn, pid)
    print(f"\n{report.table(summary)}")
    if given.report is not None:
        for path in report.write(summary, given.report):
            print(path)
    return 1 if any(cell["failed"] for cell in summary["cells"]) else 0


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(main(parse())))
    except LabFailed as failure:
        sys.exit(str(failure))
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
