"""One run in a process of its own: an order as JSON on standard input, the result as JSON on standard output.

The server's address is on standard input too, because all users of a machine can see a program's arguments.
README.md describes the fields of the result.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypedDict

import aioifx
from examples.bulk_read_lab.policy import Outcome, Policy
from examples.bulk_read_lab.process import Limits, peak_mib, seconds_of
from examples.bulk_read_lab.strategies import STRATEGIES, Job
from examples.bulk_read_lab.table import rows_of, source_of, tally_of

RUN = "bulk-read-run/1"
EXPECTED = "expected"
"""Not a strategy: counts the rows that a strategy should see, without a server."""

Result = dict[str, Any]


class Order(TypedDict):
    """What to run."""

    strategy: str
    dsn: str
    rows: int
    policy: Policy
    limits: Mapping[str, Any]
    server_pid: int | None
    """Of a server on this machine, to measure what a run costs there."""


class TimeLimit(Exception):
    """A run took longer than its limit."""


async def perform(order: Order, limits: Limits) -> Outcome:
    """Run the strategy.

    Raises:   TimeLimit: it was too slow. What the strategy raises.
    """
    if order["strategy"] == EXPECTED:
        return Outcome(tally_of(rows_of(order["rows"])))
    job = Job(order["dsn"], source_of(order["rows"]), limits, order["policy"])
    limit = asyncio.timeout(limits.seconds)
    try:
        async with limit:
            return await STRATEGIES[order["strategy"]](job)
    except TimeoutError:
        if not limit.expired():
            raise
        raise TimeLimit(f"not done within {limits.seconds:g} s") from None


def measured(order: Order) -> Result:
    """Run and measure. A run that fails has a result too, with its error."""
    limits = Limits(**order["limits"])
    memory_is_limited = limits.apply()
    outcome, error = Outcome(), None
    started = datetime.now(UTC).isoformat(timespec="seconds")
    server, before, clock = seconds_of(order["server_pid"]), os.times(), time.perf_counter()
    try:
        outcome = asyncio.run(perform(order, limits))
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
        error += "".join(f" ({note})" for note in getattr(failure, "__notes__", ()))
    seconds, after, server_after = time.perf_counter() - clock, os.times(), seconds_of(order["server_pid"])
    spent = [
        round(b - a, 3) for a, b in zip(before, after, strict=True)
    ]  # user, system, and those of children
    return {
        "schema": RUN,
        "strategy": order["strategy"],
        "table_rows": order["rows"],
        "policy": order["policy"],
        "limits": order["limits"],
        "memory_is_limited": memory_is_limited,
        "started": started,
        "environment": environment(),
        "rows": outcome.tally.rows,
        "checksum": f"{outcome.tally.checksum:016x}",
        "missing": [each._asdict() for each in outcome.missing],
        "retries": outcome.retries,
        "error": error,
        "seconds": round(seconds, 4),
        "rows_per_second": round(outcome.tally.rows / seconds),
        "cpu_seconds": round(spent[0] + spent[1], 3),
        "children_cpu_seconds": round(spent[2] + spent[3], 3),
        "server_cpu_seconds": None
        if server is None or server_after is None
        else round(server_after - server, 3),
        "peak_mib": peak_mib(),
        "children_peak_mib": outcome.peaks_mib,
    }


def environment() -> dict[str, Any]:
    """Versions and machine."""
    try:
        ours = version("aioifx")
    except PackageNotFoundError:  # run from its source, not installed
        ours = "(not installed)"
    return {
        "aioifx": ours,
        "speedups": aioifx.speedups,
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.system(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
    }


if __name__ == "__main__":
    if sys.flags.hash_randomization:
        sys.exit("PYTHONHASHSEED must be 0: otherwise the checksums of two processes cannot be compared")
    json.dump(measured(json.load(sys.stdin)), sys.stdout)
