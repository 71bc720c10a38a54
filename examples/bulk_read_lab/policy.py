"""What is read and within which limits; partitions read in parallel, and the handling of failed ones.

Strict: the first failure ends the run, with its error. Tolerant: the others continue, a failed partition is retried
after them, and the result names those that could not be read. Rows of a failed attempt are not counted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import aioifx
from aioifx.client.connect.connect import ConnectContext
from aioifx.partitions import Partition
from aioifx.rows import tuple_row
from examples.bulk_read_lab.table import Row, Tally

Policy = Literal["strict", "tolerant"]

PARTIAL = (aioifx.DatabaseError, MemoryError, OSError)
"""Failures of one partition. Any other error is a mistake, which a retry cannot fix."""


def _limit(default: float, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The same for every strategy, so that they are compared under the same conditions."""

    memory_mib: int = _limit(4096, "MiB of address space that each process may have (Linux); 0 for no limit")
    seconds: float = _limit(120.0, "seconds that a run may take")
    connections: int = _limit(4, "connections of the pool")
    processes: int = _limit(2, "processes, each with a connection and a partition of its own")
    partitions: int = _limit(8, "partitions that the pool reads")
    page: int = _limit(10_000, "rows of a page")
    fetch_size: int = _limit(32_767, "bytes of a block of rows on the wire")
    retries: int = _limit(2, "further attempts at a partition, if failures are tolerated")


@dataclass(frozen=True, slots=True)
class Job:
    """What is read, and under which conditions."""

    dsn: str = field(repr=False)
    rows: int
    limits: Limits = field(default_factory=Limits)
    policy: Policy = "strict"

    def connect(self) -> ConnectContext[Row]:
        """A connection under the limits."""
        return aioifx.connect(self.dsn, fetch_size=self.limits.fetch_size, row_factory=tuple_row)


@dataclass(slots=True)
class Outcome:
    """What was read, and what was not."""

    tally: Tally = field(default_factory=Tally)
    missing: dict[str, str] = field(default_factory=dict[str, str])
    """Ranges of keys that could not be read, with the last error of each."""
    retries: int = 0
    children_peak_mib: list[float] = field(default_factory=list[float])
    """Peak memory of each process that was started."""


async def read_all(
    job: Job, partitions: Sequence[Partition], read: Callable[[Partition], Awaitable[Tally]], width: int
) -> Outcome:
    """Read each of *partitions* from its beginning, *width* at a time, as the job's policy says.

    Raises:   what *read* raises, if strict, or if it is not a failure of that partition.
    """
    outcome = Outcome()
    waiting = deque((partition, job.limits.retries) for partition in partitions)

    async def work() -> None:
        while waiting:
            partition, left = waiting.popleft()
            try:
                outcome.tally.join(await read(partition))
            except PARTIAL as error:
                if job.policy == "strict":
                    error.add_note(f"while reading {partition}")
                    raise
                if left > 0:
                    outcome.retries += 1
                    waiting.append((partition, left - 1))
                else:
                    outcome.missing[str(partition)] = f"{type(error).__name__}: {error}"

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(width):
                group.create_task(work())
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return outcome
