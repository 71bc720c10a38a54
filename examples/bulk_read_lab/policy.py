"""Partitions read in parallel, and the handling of failed ones.

Strict: the first failure ends the run, with its error. Tolerant: the others continue, a failed partition is retried
after them, and the result names those that could not be read. Rows of a failed attempt are not counted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import aioifx
from aioifx.partitions import Partition
from examples.bulk_read_lab.table import Tally

Policy = Literal["strict", "tolerant"]

PARTIAL = (aioifx.DatabaseError, MemoryError, OSError)
"""Failures of one partition. Any other error is a mistake, which a retry cannot fix."""


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
    partitions: Sequence[Partition],
    read: Callable[[Partition], Awaitable[Tally]],
    *,
    width: int,
    policy: Policy,
    retries: int,
) -> Outcome:
    """Read each of *partitions*, *width* at a time.

    Args:     read: reads one of them, from its beginning. retries: further attempts at one of them, if tolerant.
    Raises:   what *read* raises, if strict, or if it is not a failure of that partition.
    """
    outcome = Outcome()
    waiting = deque((partition, retries) for partition in partitions)

    async def work() -> None:
        while waiting:
            partition, left = waiting.popleft()
            try:
                outcome.tally.join(await read(partition))
            except PARTIAL as error:
                if policy == "strict":
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
