"""One run in a process of its own: JSON orders on standard input, the JSON result on standard output.

The server's address is on standard input, too, since all users of a machine can see a program's arguments.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import sys
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import aioifx
from examples.bulk_read_lab import usage
from examples.bulk_read_lab.artifacts import Run
from examples.bulk_read_lab.limits import Limits
from examples.bulk_read_lab.policy import Outcome, Policy
from examples.bulk_read_lab.strategies import STRATEGIES, Job
from examples.bulk_read_lab.table import rows_of, source_of, tally_of

EXPECTED = "expected"
"""No strategy: tells what a strategy should see, without a server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to run."""

    strategy: str
    dsn: str
    rows: int
    policy: Policy = "strict"
    limits: Limits = field(default_factory=Limits)
    server_pid: int | None = None
    """Of a server on this machine, to learn what a run costs there."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Order:
        fields = json.loads(text)
        return cls(**{**fields, "limits": Limits(**fields["limits"])})


class TimeLimit(Exception):
    """A run took longer than it may."""


async def perform(order: Order) -> Outcome:
    """Do it.

    Raises:   TimeLimit: not within its time. What the strategy raises.
    """
    if order.strategy == EXPECTED:
        return Outcome(tally_of(rows_of(order.rows)))
    job = Job(order.dsn, source_of(order.rows), order.limits, order.policy)
    limit = asyncio.timeout(order.limits.seconds)
    try:
        async with limit:
            return await STRATEGIES[order.strategy](job)
    except TimeoutError:
        if not limit.expired():
            raise
        raise TimeLimit(f"not done within {order.limits.seconds:g} s") from None


def measured(order: Order) -> Run:
    """Do it, and tell what it took. A run that fails is told of like any other, with its error."""
    memory_is_limited = order.limits.apply()
    outcome, error = Outcome(), None
    started = datetime.now(UTC)
    server = _server_seconds(order)
    children, own, clock = usage.children_seconds(), usage.own_seconds(), time.perf_counter()
    try:
        outcome = asyncio.run(perform(order))
    except Exception as failure:
        error = ": ".join([type(failure).__name__, str(failure)])
        error += "".join(f" ({note})" for note in getattr(failure, "__notes__", ()))
    seconds = time.perf_counter() - clock
    server_behind = _server_seconds(order)
    return Run(
        strategy=order.strategy,
        table_rows=order.rows,
        policy=order.policy,
        limits=asdict(order.limits),
        memory_is_limited=memory_is_limited,
        started=started.isoformat(timespec="seconds"),
        environment=environment(),
        rows=outcome.tally.rows,
        checksum=f"{outcome.tally.checksum:016x}",
        missing=outcome.missing,
        retries=outcome.retries,
        error=error,
        seconds=round(seconds, 4),
        rows_per_second=round(outcome.tally.rows / seconds),
        cpu_seconds=round(usage.own_seconds() - own, 3),
        children_cpu_seconds=round(usage.children_seconds() - children, 3),
        server_cpu_seconds=(
            round(server_behind - server, 3) if server is not None and server_behind is not None else None
        ),
        peak_mib=usage.peak_mib(),
        children_peak_mib=outcome.peaks_mib,
    )


def _server_seconds(order: Order) -> float | None:
    return usage.seconds_of(order.server_pid) if order.server_pid is not None else None


def environment() -> dict[str, Any]:
    """Where it ran."""
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
        sys.exit("PYTHONHASHSEED must be 0, or the checksums of two processes tell nothing")
    sys.stdout.write(measured(Order.from_json(sys.stdin.read())).to_json())
