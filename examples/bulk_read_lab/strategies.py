"""The five strategies. Each reads every row of a table once, and keeps a tally of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection as Pipe

import aioifx
from aioifx.client.connect.connect import ConnectContext
from aioifx.partitions import Partition, Source, cut_at, plan
from aioifx.rows import tuple_row
from examples.bulk_read_lab.policy import ChildLost, Outcome, Policy, Read, read_all
from examples.bulk_read_lab.process import Limits, peak_mib
from examples.bulk_read_lab.table import Row, Tally

EVERYTHING = cut_at(())


@dataclass(frozen=True, slots=True)
class Job:
    """What is read, and under which conditions."""

    dsn: str
    source: Source
    limits: Limits = field(default_factory=Limits)
    policy: Policy = "strict"

    def connect(self) -> ConnectContext[Row]:
        """A connection under the limits."""
        return aioifx.connect(self.dsn, fetch_size=self.limits.fetch_size, row_factory=tuple_row)

    async def read_all(self, partitions: tuple[Partition, ...], read: Read, width: int = 1) -> Outcome:
        """Read *partitions* as the policy says."""
        return await read_all(partitions, read, width=width, policy=self.policy, retries=self.limits.retries)

    async def stream(self, conn: aioifx.Connection[Row], partition: Partition) -> Tally:
        """Read *partition*: a block is processed while the next one is in flight."""
        tally = Tally()
        sql, params = self.source.query(partition)
        async with conn.stream(sql, *params, row_factory=tuple_row) as rows:
            async for block in rows.blocks():
                tally.add(block)
        return tally

    async def stream_alone(self, partition: Partition) -> Tally:
        """Read *partition* on a connection of its own."""
        async with self.connect() as conn:
            return await self.stream(conn, partition)


async def fetchall(job: Job) -> Outcome:
    """Every row in one list."""

    async def read(partition: Partition) -> Tally:
        tally = Tally()
        async with job.connect() as conn:
            sql, params = job.source.query(partition)
            tally.add(await conn.fetch(sql, *params))
        return tally

    return await job.read_all(EVERYTHING, read)


async def pages(job: Job) -> Outcome:
    """Keyset pagination: a query for the rows after the last key. The key must be unique and not NULL."""
    table, key = job.source.relation, job.source.column
    first = f"SELECT FIRST {job.limits.page} * FROM {table} ORDER BY {key}"
    further = f"SELECT FIRST {job.limits.page} * FROM {table} WHERE {key} > ? ORDER BY {key}"

    async def read(partition: Partition) -> Tally:
        tally = Tally()
        async with job.connect() as conn:
            page = await conn.fetch(first)
            while page:
                tally.add(page)
                page = await conn.fetch(further, page[-1][0])
        return tally

    return await job.read_all(EVERYTHING, read)


async def pool(job: Job) -> Outcome:
    """Partitions in parallel in one process, on the connections of a pool."""
    limits = job.limits
    async with aioifx.create_pool(
        job.dsn,
        min_size=0,
        max_size=limits.connections,
        fetch_size=limits.fetch_size,
        row_factory=tuple_row,
    ) as connections:
        async with connections.acquire() as conn:
            partitions = await plan(conn, job.source, limits.partitions)

        async def read(partition: Partition) -> Tally:
            async with connections.acquire() as conn:
                return await job.stream(conn, partition)

        return await job.read_all(partitions, read, width=limits.connections)


async def stream(job: Job) -> Outcome:
    """Block by block: one is processed while the next one is in flight."""
    return await job.read_all(EVERYTHING, job.stream_alone)


async def processes(job: Job) -> Outcome:
    """A process for each partition, with a connection of its own. Rows stay where they are read."""
    async with job.connect() as conn:
        partitions = await plan(conn, job.source, job.limits.processes)
    peaks: list[float] = []

    async def read(partition: Partition) -> Tally:
        tally, peak = await read_in_child(job, partition)
        peaks.append(peak)
        return tally

    outcome = await job.read_all(partitions, read, width=job.limits.processes)
    outcome.peaks_mib = peaks
    return outcome


async def read_in_child(job: Job, partition: Partition) -> tuple[Tally, float]:
    """The tally of *partition*, read in a process of its own, and the peak of its memory in MiB.

    The process is spawned, because a fork would copy sockets, locks and the event loop. On cancellation it is killed.

    Raises:   ChildLost: it ended without an answer. What the reading raised there.
    """
    spawn = get_context("spawn")
    ours, theirs = spawn.Pipe(duplex=False)
    child = spawn.Process(target=_answer, args=(theirs, job, partition), daemon=True)
    with theirs:  # the child has a copy: when it ends, so does the pipe
        child.start()
    receiving = asyncio.create_task(asyncio.to_thread(ours.recv))
    try:
        answer = await asyncio.shield(receiving)
    except EOFError:
        child.join()
        raise ChildLost(f"the process has ended with exit code {child.exitcode}") from None
    finally:
        child.kill()
        child.join()
        await asyncio.gather(receiving, return_exceptions=True)
        ours.close()
    if isinstance(answer, Exception):
        raise answer
    tally, peak = answer
    return tally, peak


def _answer(pipe: Pipe[object, object], job: Job, partition: Partition) -> None:
    """The child's main function."""
    with pipe:
        try:
            pipe.send((asyncio.run(job.stream_alone(partition)), peak_mib()))
        except Exception as error:
            pipe.send(error)


STRATEGIES: dict[str, Callable[[Job], Awaitable[Outcome]]] = {
    each.__name__: each for each in (fetchall, pages, pool, stream, processes)
}
