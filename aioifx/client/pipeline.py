"""Many executions of one statement in flight: send all, then drain. Never: transactions, what a row means.

Every row is a group of its own, ID · BIND · EXECUTE · EOT, and every group has its reply, also behind one that failed
(observed: informix-driver against 12.10, 14.10 and 15, batches of 2 to 1000, failures at the first, a middle and the
last row). How many bytes are under way is bounded; JDBC's limit for one write is the measure (observed: batch.json,
32 KB).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from aioifx.client.session import first_failure, raise_for
from aioifx.client.statement import Statement, check_sequence
from aioifx.errors import DataError, ProgrammingError
from aioifx.sqltypes import Value
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Done, Reply, Serials

FLUSH: Final = 32 * 1024
"""Bytes of requests that leave in one write."""

WINDOW: Final = 2
"""Writes whose replies are outstanding; the server works on one while the next is on its way."""


@dataclass(slots=True)
class Outcome:
    """What an executemany did."""

    rowcount: int = 0
    last: Done = field(default_factory=Done)
    serials: Serials | None = None
    warnings: int = 0


@dataclass(slots=True)
class _Batch:
    """Groups sent in one write."""

    first: int
    count: int
    replies: asyncio.Future[list[Reply]]


@dataclass(slots=True)
class _Pipeline:
    statement: Statement
    outcome: Outcome = field(default_factory=Outcome)
    outbox: Outbox = field(default_factory=Outbox)
    in_flight: deque[_Batch] = field(default_factory=deque[_Batch])
    first: int = 0
    put: int = 0

    def add(self, index: int, params: Sequence[Value]) -> None:
        """Encode one row into the next write; on failure nothing of it is left there."""
        check_sequence(params, f"row {index}: its parameters")
        before = len(self.outbox)
        try:
            self.statement.put_execution(self.outbox, params, index)
        except Exception as error:
            del self.outbox.data[before:]
            if isinstance(error, DataError):
                error.row_index = index
            raise
        self.put += 1

    def flush(self) -> None:
        """Send what was added."""
        if self.put:
            session = self.statement.session
            future = session.submit(self.outbox.take(), session.replies(self.put))
            self.in_flight.append(_Batch(self.first, self.put, future))
            self.first += self.put
            self.put = 0

    async def drain_one(self) -> None:
        """Wait for the replies to the oldest write.

        Raises:   DatabaseError: of the first row in it that failed, with its row_index.
        """
        batch = self.in_flight.popleft()
        replies: list[Reply] = await self.statement.session.wait(batch.replies)
        for reply in replies:
            if reply.done is not None and reply.error is None:
                self.outcome.rowcount += reply.done.rows
                self.outcome.last = reply.done
                self.outcome.serials = reply.serials or self.outcome.serials
                self.outcome.warnings |= reply.done.warnings
        failed = first_failure(replies)
        if failed is not None:
            raise_for(replies[failed], self.statement.sql, batch.first + failed)

    async def drain(self) -> None:
        """Wait for every reply; the first error is raised behind the last one."""
        first: BaseException | None = None
        while self.in_flight:
            try:
                await self.drain_one()
            except Exception as error:
                first = first or error
        if first is not None:
            raise first

    def abandon(self) -> None:
        """Wait for nothing any more; the replies are read all the same."""
        while self.in_flight:
            self.statement.session.abandon(self.in_flight.popleft().replies)


async def execute_many(
    statement: Statement, rows: Iterable[Sequence[Value]] | AsyncIterable[Sequence[Value]]
) -> Outcome:
    """Execute *statement* once for each row, pipelined. The caller holds the session's turn.

    Sending stops at the first failure that shows; rows behind it that were under way have been executed.

    Raises:   DatabaseError: of the first row that failed, with its row_index, after every reply has been read.
              DataError: a value does not fit; rows in front of it may have been executed.
    """
    if statement.returns_rows:
        raise ProgrammingError("executemany is for statements that return no rows", sql=statement.sql)
    pipeline = _Pipeline(statement)
    try:
        try:
            await _send_all(pipeline, rows)
        except Exception as error:
            await _drain_quietly(pipeline)
            raise error
        await pipeline.drain()
    except BaseException:
        pipeline.abandon()
        raise
    return pipeline.outcome


async def _send_all(
    pipeline: _Pipeline, rows: Iterable[Sequence[Value]] | AsyncIterable[Sequence[Value]]
) -> None:
    """Send every row, waiting whenever the window is full."""
    index = 0
    async with aclosing(_rows(rows)) as source:
        async for params in source:
            pipeline.add(index, params)
            index += 1
            if len(pipeline.outbox) >= FLUSH:
                pipeline.flush()
                await pipeline.statement.session.channel.drain()
                while len(pipeline.in_flight) >= WINDOW:
                    await pipeline.drain_one()
    pipeline.flush()


async def _drain_quietly(pipeline: _Pipeline) -> None:
    """Read what is outstanding; the error in hand came first."""
    try:
        await pipeline.drain()
    except Exception:
        pass


async def _rows(
    rows: Iterable[Sequence[Value]] | AsyncIterable[Sequence[Value]],
) -> AsyncGenerator[Sequence[Value], None]:
    if isinstance(rows, AsyncIterable):
        async for params in rows:
            yield params
    else:
        for params in rows:
            yield params
