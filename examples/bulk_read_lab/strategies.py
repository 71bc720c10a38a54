"""The five strategies. Each reads every row of a table once, in one partition or several.

Policy strict: the first partition that fails ends the run, with its error. Tolerant: the others continue, a failed
partition is retried after them, and the outcome names those that could not be read. Rows of a failed attempt are not
counted.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

import aioifx
from aioifx.partitions import Partition, cut_at, plan
from examples.bulk_read_lab.job import Job, Row, Tally
from examples.bulk_read_lab.process import in_process, peak_mib

PARTIAL = (aioifx.DatabaseError, MemoryError, OSError)
"""Failures of one partition. Any other error is a mistake, which a retry cannot fix."""


@dataclass(slots=True)
class Outcome:
    """What was read, and what was not; README.md describes the fields."""

    tally: Tally = field(default_factory=Tally)
    missing: dict[str, str] = field(default_factory=dict[str, str])
    retries: int = 0
    children_peak_mib: list[float] = field(default_factory=list[float])


Read = Callable[[aioifx.Pool[Row], Job, Partition], Awaitable[Tally]]


async def fetchall(pool: aioifx.Pool[Row], job: Job, _: Partition) -> Tally:
    """Every row in one list."""
    tally = Tally()
    tally.add(await pool.fetch(f"SELECT * FROM {job.source.relation}"))
    return tally


async def pages(pool: aioifx.Pool[Row], job: Job, _: Partition) -> Tally:
    """Keyset pagination: a query for the rows after the last key. The key must be unique and not NULL."""
    query, tally = f"SELECT FIRST {job.page} * FROM {job.source.relation}", Tally()
    page = await pool.fetch(f"{query} ORDER BY id")
    while page:
        tally.add(page)
        page = await pool.fetch(f"{query} WHERE id > ? ORDER BY id", page[-1][0])
    return tally


async def stream(pool: aioifx.Pool[Row], job: Job, partition: Partition) -> Tally:
    """Block by block: one is processed while the next one is in flight."""
    sql, params = job.source.query(partition)
    tally = Tally()
    async with pool.stream(sql, *params) as rows:
        async for block in rows.blocks():
            tally.add(block)
    return tally


def stream_here(job: Job, partition: Partition) -> tuple[Tally, float]:
    """What each process of `processes` does: read *partition*, and return its tally and the peak of memory."""

    async def read() -> Tally:
        async with job.pool(1) as pool:
            return await stream(pool, job, partition)

    return asyncio.run(read()), peak_mib()


async def processes(job: Job) -> Outcome:
    """A process for each partition, with a connection of its own. Rows stay where they are read."""
    peaks: list[float] = []

    async def read(_: object, job: Job, partition: Partition) -> Tally:
        tally, peak = await in_process(stream_here, job, partition)
        peaks.append(peak)
        return tally

    outcome = await read_all(job, read, job.processes, job.processes)
    outcome.children_peak_mib = peaks
    return outcome


STRATEGIES: dict[str, Callable[[Job], Coroutine[Any, Any, Outcome]]] = {
    "fetchall": lambda job: read_all(job, fetchall),
    "pages": lambda job: read_all(job, pages),
    "stream": lambda job: read_all(job, stream),
    "pool": lambda job: read_all(job, stream, job.partitions, job.connections),
    "processes": processes,
}


async def read_all(job: Job, read: Read, partitions: int = 1, width: int = 1) -> Outcome:
    """Divide the table into *partitions*, and read *width* of them at a time, on as many connections."""
    async with job.pool(width) as pool:
        if partitions > 1:
            async with pool.acquire() as conn:
                parts = await plan(conn, job.source, partitions)
        else:
            parts = cut_at(())
        return await read_each(job, parts, lambda part: read(pool, job, part), width)


async def read_each(
    job: Job, partitions: Sequence[Partition], read: Callable[[Partition], Awaitable[Tally]], width: int
) -> Outcome:
    """Read each of *partitions* from its beginning, *width* at a time, as the job's policy says.

    Raises:
        BaseException: what *read* raises, if strict, or if it is not a failure of that partition.
    """
    outcome = Outcome()
    waiting = deque((partition, job.retries) for partition in partitions)

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
