"""Partitions read in parallel, and the handling of failed ones.

Strict: the first failure ends the run, with its error. Tolerant: the others continue, a failed partition is retried
after them, and the result names those that could not be read. Rows of a failed attempt are not counted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import aioifx
from aioifx.partitions import Partition
from examples.bulk_read_lab.table import Tally

Policy = Literal["strict", "tolerant"]
Read = Callable[[Partition], Awaitable[Tally]]


class ChildLost(Exception):
    """A process has ended without an answer."""


PARTIAL = (aioifx.DatabaseError, aioifx.PoolClosed, ChildLost, MemoryError, OSError)
"""Failures of one partition. Any other error is a mistake, which a retry cannot fix."""


class Missing(NamedTuple):
    """A range of keys that could not be read."""

    keys: str
    low: int | None
    end: int | None
    attempts: int
    error: str
    """Of the last attempt."""


@dataclass(slots=True)
class Outcome:
    """What was read, and what was not."""

    tally: Tally = field(default_factory=Tally)
    missing: list[Missing] = field(default_factory=list[Missing])
    retries: int = 0
    peaks_mib: list[float] = field(default_factory=list[float])
    """Peak memory of each process that was started."""


async def read_all(
    partitions: Sequence[Partition], read: Read, *, width: int, policy: Policy, retries: int
) -> Outcome:
    """Read each of *partitions*, *width* at a time.

    Args:     read: reads one of them, from its beginning. retries: further attempts at one of them, if tolerant.
    Raises:   what *read* raises, if strict, or if it is not a failure of that partition.
    """
    outcome = Outcome()
    waiting = deque((partition, 1) for partition in partitions)
    allowed = retries + 1 if policy == "tolerant" else 1

    async def work() -> None:
        while waiting:
            partition, attempt = waiting.popleft()
            try:
                outcome.tally.join(await read(partition))
            except PARTIAL as error:
                if policy == "strict":
                    error.add_note(f"while reading {partition}")
                    raise
                if attempt < allowed:
                    outcome.retries += 1
                    waiting.append((partition, attempt + 1))
                    continue
                reason = f"{type(error).__name__}: {error}"
                outcome.missing.append(Missing(str(partition), partition.low, partition.end, attempt, reason))

    tasks = [asyncio.ensure_future(work()) for _ in range(min(width, len(partitions)))]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return outcome
