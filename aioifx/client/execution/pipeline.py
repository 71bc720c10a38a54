"""Pipelined executions of one statement: send all, then drain. Never: transactions, what a row means.

Every row is a separate group, ID · BIND · EXECUTE · EOT, and every group has its reply, also after a failed one
(observed: informix-driver against 12.10, 14.10 and 15, batches of 2 to 1000, failures in the first, a middle and the
last row). That a later write is answered too, after a failure in the one before it, is assumed. So the wait for replies
is limited after a failed row, until the server has shown it. The number of bytes in flight is bounded, based on JDBC's
limit for one write (observed: batch.json, 32 KB).
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

from aioifx._speedups.round_trip import InFlight
from aioifx.client.execution.arrow_reader import ArrowData, ArrowReader
from aioifx.client.execution.parameters import check_sequence
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import STALE
from aioifx.client.lobs.sources import items_of
from aioifx.client.session.failures import failure_of
from aioifx.client.session.interrupts import INTERRUPTED
from aioifx.client.session.session import Session
from aioifx.client.session.transactions import note_stored
from aioifx.client.sql.placeholders import NamedRows
from aioifx.client.sql.scanner import uses_client_file
from aioifx.codecs.arrow_rows import ArrowRows
from aioifx.codecs.native import TUPLES_AT_ONCE
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    DataError,
    NotSupportedError,
    ProgrammingError,
    QueryTimeout,
)
from aioifx.sqltypes import Value
from aioifx.wire.batch_replies import BatchTally, ExecutionsReader
from aioifx.wire.opcodes import StatementType
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply

ParamRows: TypeAlias = Iterable[Sequence[Value]] | AsyncIterable[Sequence[Value]]

BatchRows: TypeAlias = ParamRows | NamedRows | ArrowData
"""The rows of an executemany."""

FLUSH: Final = 32 * 1024
"""Bytes of requests in one write."""

WINDOW: Final = 2
"""Writes with outstanding replies; the server processes one while the next is in flight."""

ANSWER_TIMEOUT: Final = 30.0
"""Seconds without a reply, in addition to a lock wait, after which rows sent after a failed one count as dropped."""


@dataclass(slots=True)
class _ExecutePipeline:
    statement: Statement
    collect: bool
    tally: BatchTally
    outbox: Outbox = field(default_factory=Outbox)
    in_flight: deque[InFlight] = field(default_factory=deque[InFlight])
    queued: int = 0
    sent: int = 0
    _before_last: int = 0
    """Rows of all writes but the last."""
    _has_later: bool = False
    """Whether a row has failed while a later write was in flight."""
    rejected: list[DataError] = field(default_factory=list[DataError])
    """Errors of rows that were not sent, because a value does not fit."""
    interrupted: int | None = None
    """The number of the first failure that is an interrupt."""
    has_ended: bool = False
    """Whether the call has ended; replies may still arrive."""
    _timer: asyncio.TimerHandle | None = None
    """Limits the wait for replies after a failed row."""
    _seen: int = 0
    """Replies when it was started."""

    def extend(self, index: int, rows: Iterator[Sequence[Value]]) -> int:
        """Encode rows into the next write until it is full or no rows are left; returns their number."""
        count, left = self.statement.put_executions(self.outbox, rows, FLUSH)
        self.queued += count
        if left is not None:
            self.add(index + count, left[0])
            count += 1
        return count

    def extend_by_columns(self, rows: ArrowRows, start: int) -> int:
        """The same for rows of Arrow data from *start* on; 0 if `extend` must encode the next one."""
        count = self.statement.put_arrow(self.outbox, rows, start, FLUSH) - start
        self.queued += count
        return count

    def add(self, index: int, params: Sequence[Value]) -> None:
        """Encode one row into the next write; on failure nothing of the row remains in it."""
        before = len(self.outbox.data)
        try:
            check_sequence(params, f"row {index}: parameters")
            self.statement.put_execution(self.outbox, params, index)
        except Exception as error:
            del self.outbox.data[before:]
            if not isinstance(error, DataError):
                raise
            self._reject(index, error)
        else:
            self.queued += 1

    def _reject(self, index: int, error: DataError) -> None:
        """Keep the error of a row that was not sent; raise it unless errors are collected."""
        error.row_index = index
        if not self.collect:
            raise error
        self.rejected.append(error)

    async def execute_stored(self, index: int, params: Sequence[Value]) -> None:
        """Store the large objects of one row, and execute it."""
        statement = self.statement
        try:
            check_sequence(params, f"row {index}: parameters")
            params = await statement.encoder.collect(params, index)
            storing = await statement.store(params, index)
            async with storing as stored:
                failed = len(self.tally.failures)
                self.add(index, stored)
                self.flush()
                await self.drain_one()
                if len(self.tally.failures) > failed:
                    storing.release()
        except DataError as error:
            if error.sqlcode:
                raise
            self._reject(index, error)

    async def add_large(self, index: int, params: Sequence[Value]) -> None:
        """`add` a row with large parameters, which are read from their sources first."""
        try:
            check_sequence(params, f"row {index}: parameters")
            params = await self.statement.encoder.collect(params, index)
        except DataError as error:
            self._reject(index, error)
        else:
            self.add(index, params)

    @property
    def is_full(self) -> bool:
        """Whether the next write has reached its size."""
        return len(self.outbox.data) >= FLUSH

    async def wait_for_window(self) -> None:
        """Send the next write, and wait until the window has room for another."""
        self.flush()
        session = self.statement.session
        try:
            await session.dispatcher.drain()
        except QueryTimeout as error:
            session.transactions.on_reply_lost(self.statement.sql, error)
            raise
        while len(self.in_flight) >= WINDOW:
            await self.drain_one()

    def flush(self) -> None:
        """Send the next write."""
        if self.queued:
            session = self.statement.session
            reader = ExecutionsReader(
                session.conversation.capabilities, self.queued, self.tally, self._on_reply
            )
            lost = partial(session.transactions.on_reply_lost, self.statement.sql)
            self.in_flight.append(
                session.dispatcher.send(self.outbox.detach(), reader, interruptible=True, on_lost=lost)
            )
            self._before_last, self.sent, self.queued = self.sent, self.sent + self.queued, 0

    def _on_reply(self, reply: Reply) -> None:
        """Called with each reply that is not of the usual form."""
        session, tally = self.statement.session, self.tally
        session.conversation.on_reply(reply)
        if reply.error is None:
            return
        if reply.error.sqlcode == INTERRUPTED and self.interrupted is None:
            self.interrupted = len(tally.failures)
        self._has_later = self._has_later or tally.answered < self._before_last
        self._seen = tally.answered + 1
        if self.has_ended:
            return
        if self._timer is None and self._seen < self.sent and session.behavior.answers_after_error is None:
            self._expect_replies()

    def _expect_replies(self) -> None:
        """Limit the time without a reply, unless a row may wait for a lock without a limit."""
        session = self.statement.session
        seconds = ANSWER_TIMEOUT + session.settings.lock_wait
        if seconds != math.inf:
            self._timer = session.channel.loop.call_later(seconds, self._on_silence, self._seen)

    def _on_silence(self, seen: int) -> None:
        """Called some time after *seen* replies had arrived: close the connection if no other has."""
        self._timer, self._seen = None, self.tally.answered
        if self._seen == self.sent:
            self._on_all_answered()
        elif self._seen > seen:
            self._expect_replies()
        else:
            self.statement.session.channel.abort(
                ConnectionLost(
                    "the connection was closed: no reply came to rows that were sent after a failed one"
                )
            )

    def _on_all_answered(self) -> None:
        """Called after a failed row: the rows in flight after it were answered, too. Its own write always is."""
        if self._has_later:
            self.statement.session.behavior.learn("answers_after_error", True)

    async def drain_one(self) -> None:
        """Wait for the replies to the oldest write.

        Raises:
            DatabaseError: for the first failed row, unless errors are collected and the statement is not stale. For the
                row that ended the transaction, since the rows after it would not be part of it.
        """
        dispatcher = self.statement.session.dispatcher
        await dispatcher.reply(self.in_flight.popleft())
        dispatcher.extend_deadline()
        if self._timer is not None and self.tally.answered == self.sent:
            self.stop_timer()
            self._on_all_answered()
        failures = self.tally.failures
        if failures and (not self.collect or self._is_stale()):
            raise self.failure(0)
        if failures and (number := self._ending()) is not None:
            raise self.failure(number)
        if self.interrupted is not None:  # a cancel ends the whole call, not one row
            raise self.failure(self.interrupted)

    def _is_stale(self) -> bool:
        """Whether the statement was stale before its first execution, so that no row was executed."""
        index, error = self.tally.failures[0]
        return index == 0 and self.statement.is_from_cache and error.sqlcode in STALE

    def _ending(self) -> int | None:
        """The number of the failure with which the server ended the transaction."""
        transactions = self.statement.session.transactions
        if not transactions.is_aborted:
            return None
        for number, (_, error) in enumerate(self.tally.failures):
            if error is transactions.ended_by:
                return number
        return None

    def note_stored(self, error: BaseException) -> None:
        """Say of *error* if rows were executed after the failure that ended the transaction, outside of it."""
        number = self._ending()
        if number is not None and isinstance(error, DatabaseError):
            failures = self.tally.failures
            if self.sent - failures[number][0] > len(failures) - number:
                note_stored(error)

    def note_unanswered(self, error: BaseException) -> None:
        """Say of *error* which row had failed, if the replies to rows after it are lost."""
        unanswered, failures = self.sent - self.tally.answered, self.tally.failures
        if not (isinstance(error, DatabaseError) and failures and unanswered):
            return
        session, sql = self.statement.session, self.statement.sql
        if error.row_index is None:
            error.row_index = self.failure(0).row_index
            error.add_note(f"the row of row_index had failed: {failure_of(failures[0][1])}")
        error.add_note(f"no reply came to {unanswered} rows that were sent after it")
        error.connection_usable = error.connection_usable and session.is_open
        session.transactions.on_reply_lost(sql, error)

    async def drain(self) -> None:
        """Wait for every reply; the first error is raised after the last one."""
        first: Exception | None = None
        while self.in_flight:
            try:
                await self.drain_one()
            except QueryTimeout:
                raise
            except Exception as error:
                first = first or error
        if first is not None:
            raise first

    def failure(self, number: int) -> DatabaseError:
        """The error of one row, with its row_index."""
        index, error = self.tally.failures[number]
        for rejected in self.rejected:  # the server does not count them
            if rejected.row_index is not None and rejected.row_index <= index:
                index += 1
        return failure_of(error, self.statement.sql, index, self.statement.session.options)

    def failures(self) -> tuple[DatabaseError, ...]:
        """All errors, in the order of their rows."""
        failed = [*map(self.failure, range(len(self.tally.failures))), *self.rejected]
        return tuple(sorted(failed, key=lambda error: error.row_index or 0))

    def stop_timer(self) -> None:
        """Do not limit the wait for replies any more. Idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def abandon(self) -> None:
        """Stop waiting; the replies are still read."""
        while self.in_flight:
            self.statement.session.dispatcher.abandon(self.in_flight.popleft())


def is_single_use(rows: BatchRows, session: Session) -> bool:
    """Whether the rows cannot be sent again after another PREPARE: they are consumed, or may be stored already."""
    if isinstance(rows, ArrowData):
        return not (rows.is_repeatable and session.database.is_logged)
    return not (_is_in_memory(rows) and session.database.is_logged)


def _is_in_memory(rows: BatchRows) -> bool:
    """Whether the user holds all rows."""
    return isinstance(rows.source if isinstance(rows, NamedRows) else rows, (list, tuple))


async def run_pipeline(
    statement: Statement, rows: BatchRows, *, collect: bool = False
) -> tuple[BatchTally, tuple[DatabaseError, ...]]:
    """Execute *statement* once for each row, pipelined. The caller holds the session's lock.

    Unless errors are collected, sending stops at the first reply with a failure; rows already in flight after it are
    executed.

    Returns:
        The totals, and the errors of failed rows if they are collected.

    Raises:
        DatabaseError: for the first failed row, with its row_index, after every reply has been read.
        DataError: a value does not fit; rows before it may have been executed.
    """
    if statement.returns_rows:
        raise ProgrammingError(
            "executemany: expected a statement that returns no rows, got one that returns rows",
            sql=statement.sql,
        )
    if uses_client_file(statement.sql):
        raise NotSupportedError(
            "executemany: expected a statement without files of the client; use execute", sql=statement.sql
        )
    each: list[int] | None = [] if statement.kind == StatementType.INSERT and _is_in_memory(rows) else None
    pipeline = _ExecutePipeline(statement, collect, BatchTally(each_serial=each))
    statement.session.dispatcher.note_holder()  # *rows* may be the user's async iterable
    try:
        try:
            await _send_all(pipeline, rows)
        except QueryTimeout:
            raise
        except Exception as error:
            await _drain_quietly(pipeline)
            raise error
        await pipeline.drain()
    except BaseException as error:
        pipeline.abandon()
        pipeline.note_stored(error)
        pipeline.note_unanswered(error)
        raise
    finally:
        pipeline.has_ended = True
        pipeline.stop_timer()
    return pipeline.tally, pipeline.failures()


async def _send_all(pipeline: _ExecutePipeline, rows: BatchRows) -> None:
    """Send every row, waiting while the window is full."""
    if isinstance(rows, ArrowData):
        async with rows.reader() as reader:
            return await _send_arrow(pipeline, reader)
    if isinstance(rows, NamedRows):
        rows = rows.by_position()
    if pipeline.statement.lob_parameters is not None:
        return await _send_one_by_one(pipeline, rows)
    if pipeline.statement.large_parameters is not None:
        return await _send_large(pipeline, rows)
    if isinstance(rows, AsyncIterable):
        index = 0
        async for params in rows:
            index += pipeline.extend(index, iter((params,)))
            if pipeline.is_full:
                await pipeline.wait_for_window()
    else:
        await _send_rows(pipeline, 0, rows)
    return pipeline.flush()


async def _send_rows(pipeline: _ExecutePipeline, index: int, rows: Iterable[Sequence[Value]]) -> int:
    """Send the rows of an ordinary iterable, which need no await each; returns the index of the next row."""
    source = iter(rows)
    while count := pipeline.extend(index, source):
        index += count
        if pipeline.is_full:
            await pipeline.wait_for_window()
    return index


async def _send_arrow(pipeline: _ExecutePipeline, reader: ArrowReader) -> None:
    """Send the rows of Arrow data."""
    statement, index = pipeline.statement, 0
    if statement.lob_parameters is not None:
        return await _send_one_by_one(pipeline, reader.rows())
    if statement.large_parameters is not None:
        return await _send_large(pipeline, reader.rows())
    while (rows := await reader.read()) is not None:
        start = 0
        while start < len(rows):
            if not (count := pipeline.extend_by_columns(rows, start)):
                count = len(tuples := rows[start : start + TUPLES_AT_ONCE])
                await _send_rows(pipeline, index + start, tuples)
            start += count
            if pipeline.is_full:
                await pipeline.wait_for_window()
        index += start
    return pipeline.flush()


async def _send_one_by_one(pipeline: _ExecutePipeline, rows: ParamRows) -> None:
    """Store the BLOB and CLOB values of each row, and execute it, before the next one."""
    index = 0
    async for params in items_of(rows):
        await pipeline.execute_stored(index, params)
        index += 1


async def _send_large(pipeline: _ExecutePipeline, rows: ParamRows) -> None:
    """Send rows with large parameters. The rows of JDBC's batches have them as well (observed)."""
    index = 0
    async for params in items_of(rows):
        await pipeline.add_large(index, params)
        index += 1
        if pipeline.is_full:
            await pipeline.wait_for_window()
    pipeline.flush()


async def _drain_quietly(pipeline: _ExecutePipeline) -> None:
    """Read outstanding replies; their errors are dropped in favour of the current one."""
    try:
        await pipeline.drain()
    except QueryTimeout:
        raise
    except Exception:
        pass
