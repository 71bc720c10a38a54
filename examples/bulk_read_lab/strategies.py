"""The five strategies. Each reads every row of a table once, and keeps a tally of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import aioifx
from aioifx.partitions import Partition, cut_at, plan
from aioifx.rows import tuple_row
from examples.bulk_read_lab.policy import Job, Outcome, read_all
from examples.bulk_read_lab.process import in_process, peak_mib
from examples.bulk_read_lab.table import Row, Tally, source_of


async def fetchall(job: Job, _: Partition) -> Tally:
    """Every row in one list."""
    tally = Tally()
    async with job.connect() as conn:
        tally.add(await conn.fetch(f"SELECT * FROM {source_of(job.rows).relation}"))
    return tally


async def pages(job: Job, _: Partition) -> Tally:
    """Keyset pagination: a query for the rows after the last key. The key must be unique and not NULL."""
    table, tally = source_of(job.rows).relation, Tally()
    further = f"SELECT FIRST {job.limits.page} * FROM {table} WHERE id > ? ORDER BY id"
    async with job.connect() as conn:
        page = await conn.fetch(f"SELECT FIRST {job.limits.page} * FROM {table} ORDER BY id")
        while page:
            tally.add(page)
            page = await conn.fetch(further, page[-1][0])
    return tally


async def stream(job: Job, partition: Partition) -> Tally:
    """Block by block: one is processed while the next one is in flight."""
    async with job.connect() as conn:
        return await stream_on(conn, job, partition)


async def stream_on(conn: aioifx.Connection[Row], job: Job, partition: Partition) -> Tally:
    """Stream *partition* on *conn*."""
    tally = Tally()
    sql, params = source_of(job.rows).query(partition)
    async with conn.stream(sql, *params) as rows:
        async for block in rows.blocks():
            tally.add(block)
    return tally


async def pool(job: Job) -> Outcome:
    """Partitions in parallel in one process, on the connections of a pool."""
    most, size = job.limits.connections, job.limits.fetch_size
    async with aioifx.create_pool(
        job.dsn, min_size=0, max_size=most, fetch_size=size, row_factory=tuple_row
    ) as connections:

        async def read(partition: Partition) -> Tally:
            async with connections.acquire() as conn:
                return await stream_on(conn, job, partition)

        async with connections.acquire() as conn:
            partitions = await plan(conn, source_of(job.rows), job.limits.partitions)
        return await read_all(job, partitions, read, most)


async def processes(job: Job) -> Outcome:
    """A process for each partition, with a connection of its own. Rows stay where they are read."""
    peaks: list[float] = []

    async def read(partition: Partition) -> Tally:
        tally, peak = await in_process(stream_here, job, partition)
        peaks.append(peak)
        return tally

    async with job.connect() as conn:
        partitions = await plan(conn, source_of(job.rows), job.limits.processes)
    outcome = await read_all(job, partitions, read, job.limits.processes)
    outcome.children_peak_mib = peaks
    return outcome


def stream_here(job: Job, partition: Partition) -> tuple[Tally, float]:
    """What each process of `processes` does: read *partition*, and return its tally and the peak of memory."""
    return asyncio.run(stream(job, partition)), peak_mib()


def alone(
    read: Callable[[Job, Partition], Awaitable[Tally]],
) -> Callable[[Job], Coroutine[Any, Any, Outcome]]:
    """A strategy with one connection, and one partition: the whole table."""
    return lambda job: read_all(job, cut_at(()), lambda partition: read(job, partition), 1)


STRATEGIES = {
    "fetchall": alone(fetchall), "pages": alone(pages), "pool": pool,
    "stream": alone(stream), "processes": processes,
}  # fmt: skip
