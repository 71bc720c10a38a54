"""The five strategies. Each reads every row of a table once, and keeps a tally of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import aioifx
from aioifx.partitions import Partition, Source, cut_at, plan
from aioifx.rows import tuple_row
from examples.bulk_read_lab.children import read_in_child
from examples.bulk_read_lab.limits import Limits
from examples.bulk_read_lab.policy import Outcome, Policy, Read, read_all
from examples.bulk_read_lab.reading import connect, read_streaming, streamed
from examples.bulk_read_lab.table import Tally

EVERYTHING = cut_at(())


@dataclass(frozen=True, slots=True)
class Job:
    """What is read, and under which conditions."""

    dsn: str
    source: Source
    limits: Limits = field(default_factory=Limits)
    policy: Policy = "strict"

    async def read_all(self, partitions: tuple[Partition, ...], read: Read, width: int = 1) -> Outcome:
        """Read *partitions* as the policy says."""
        return await read_all(partitions, read, width=width, policy=self.policy, retries=self.limits.retries)


async def fetchall(job: Job) -> Outcome:
    """Every row in one list."""

    async def read(partition: Partition) -> Tally:
        tally = Tally()
        async with connect(job.dsn, job.limits) as conn:
            sql, params = job.source.query(partition)
            tally.add(await conn.fetch(sql, *params))
        return tally

    return await job.read_all(EVERYTHING, read)


async def pages(job: Job) -> Outcome:
    """Page by page, each a query of its own: the rows after the last key.

    The key is the table's first column. It must be unique and not NULL.
    """
    table, key = job.source.relation, job.source.column
    first = f"SELECT FIRST {job.limits.page} * FROM {table} ORDER BY {key}"
    further = f"SELECT FIRST {job.limits.page} * FROM {table} WHERE {key} > ? ORDER BY {key}"

    async def read(partition: Partition) -> Tally:
        tally = Tally()
        async with connect(job.dsn, job.limits) as conn:
            page = await conn.fetch(first)
            while page:
                tally.add(page)
                page = await conn.fetch(further, page[-1][0])
        return tally

    return await job.read_all(EVERYTHING, read)


async def stream(job: Job) -> Outcome:
    """Block by block, as they come: one is looked at while the next one is on its way."""
    return await job.read_all(
        EVERYTHING, lambda partition: read_streaming(job.dsn, job.source, partition, job.limits)
    )


async def pool(job: Job) -> Outcome:
    """Partitions side by side in one process, on the connections of a pool."""
    async with aioifx.create_pool(
        job.dsn,
        min_size=0,
        max_size=job.limits.connections,
        fetch_size=job.limits.fetch_size,
        row_factory=tuple_row,
    ) as connections:
        async with connections.acquire() as conn:
            partitions = await plan(conn, job.source, job.limits.partitions)

        async def read(partition: Partition) -> Tally:
            async with connections.acquire() as conn:
                return await streamed(conn, job.source, partition)

        return await job.read_all(partitions, read, width=job.limits.connections)


async def processes(job: Job) -> Outcome:
    """As many partitions as processes, each with a connection of its own. Rows stay where they are read."""
    async with connect(job.dsn, job.limits) as conn:
        partitions = await plan(conn, job.source, job.limits.processes)
    peaks: list[float] = []

    async def read(partition: Partition) -> Tally:
        said = await read_in_child(job.dsn, job.source, partition, job.limits)
        peaks.append(said.peak_mib)
        return said.tally

    outcome = await job.read_all(partitions, read, width=job.limits.processes)
    outcome.peaks_mib = peaks
    return outcome


STRATEGIES: dict[str, Callable[[Job], Awaitable[Outcome]]] = {
    each.__name__: each for each in (fetchall, pages, pool, stream, processes)
}
