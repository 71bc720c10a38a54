"""Bulk load through an insert cursor: batches, commits, finding the failed row. Never: opcodes, text.

Invariants:
1. All or nothing, unless the caller asks for a commit after each batch or the database has no log.
2. One batch is in flight, and the next one is prepared meanwhile. At most these two are in memory.
3. The server does not report which row it rejected. So the state before each batch can be restored: it is the start
   of the transaction, or a savepoint. After a failure the batch is undone, and its rows are sent again one by one. The
   caller gets the first error with the row's index. The second pass leaves no data.
4. Work that cannot be undone is never sent twice.
5. Rows with columns that SQ_PUT cannot carry are executed one by one, pipelined. So are those for a server that has
   refused SQ_PUT.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from typing import Final

from aioifx.client.bulk.arguments import Commit, OnReject, Progress
from aioifx.client.bulk.rejects import Rejects
from aioifx.client.bulk.sources import SourceReader
from aioifx.client.config.checks import check_whole
from aioifx.client.execution.execute import implicit_transaction
from aioifx.client.execution.insert_cursor import MAX_ROWS, InsertCursor
from aioifx.client.execution.pipeline import run_pipeline
from aioifx.client.execution.result import ExecuteResult, result_of
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import StatementCache
from aioifx.client.observation.observation import note
from aioifx.client.session.failures import failure_of, is_cancelled_or_timed_out
from aioifx.client.session.fetch_size import may_be_about_the_request
from aioifx.client.session.interrupts import INTERRUPTED
from aioifx.client.sql.hints import did_you_mean
from aioifx.client.sql.identifiers import check_column_names, column_name, object_name
from aioifx.errors import DatabaseError, DataError, Error, InterfaceError, UndefinedColumn
from aioifx.sqltypes import Row
from aioifx.wire.batch_replies import BatchTally
from aioifx.wire.completion import ServerError

_BEGINNING: Final = b"aioifx_load"
"""Savepoint before a load within the user's transaction."""
_BLOCK: Final = b"aioifx_block"
"""Savepoint before each batch except the first; it moves from batch to batch."""


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """Options of a load.

    Args:
        columns: None for all, or for those in a header.
        block: number of rows; None: chosen by size.
        commit: "end" or "block".

    Raises:
        InterfaceError: an option is invalid.
    """

    table: str
    columns: Sequence[str] | None = None
    block: int | None = None
    commit: Commit = "end"
    progress: Progress | None = None
    on_reject: OnReject | None = None

    def __post_init__(self) -> None:
        object_name(self.table, "table")
        if self.columns is not None:
            check_column_names(self.columns, "columns")
        check_block(self.block)
        if self.commit not in ("end", "block"):
            raise InterfaceError(f'commit: expected "end" or "block", got {self.commit!r:.40}')
        check_progress(self.progress)
        check_progress(self.on_reject, "on_reject")

    def insert_sql(self, found: Sequence[str] | None, values: int, *, origin: str = "header") -> str:
        """The INSERT statement for rows of *values* values.

        Args:
            found: column names found in the source; *origin* is where, for messages.
        """
        names = self.columns if self.columns is not None else found
        if names is None:
            return f"insert into {self.table} values({','.join('?' * values)})"
        listed = ",".join(column_name(name, origin) for name in names)
        return f"insert into {self.table} ({listed}) values({','.join('?' * len(names))})"


def check_progress(function: Progress | OnReject | None, option: str = "progress") -> None:
    """Raise InterfaceError unless *function* can be called and is not async."""
    if function is not None and not callable(function):
        raise InterfaceError(f"{option}: expected a function, got {type(function).__name__}")
    if function is not None and inspect.iscoroutinefunction(function):
        raise InterfaceError(f"{option}: expected a function that is not async, got a coroutine function")


async def load(
    statements: StatementCache,
    reader: SourceReader,
    spec: LoadSpec,
    timeout: float | None = None,
) -> ExecuteResult:
    """Run a load as a complete call: lock, prepared statement, rows.

    Raises:
        Error: as `Connection.load`.
    """
    session = statements.session
    try:
        async with session.turn(timeout):
            if (
                spec.commit == "block"
                and session.database.is_logged
                and (session.transactions.is_open or not session.transactions.autocommit)
            ):
                raise InterfaceError(
                    'commit: expected "end" in a transaction, got "block", which would end it'
                )
            values = await reader.peek_width()
            if values is None and spec.columns is None and reader.names is None:
                return ExecuteResult()
            session.dispatcher.extend_deadline()  # time spent in the source does not count
            sql = spec.insert_sql(reader.names, values or 0, origin=reader.origin)
            try:
                statement = await statements.prepare(sql)
            except UndefinedColumn as error:
                raise await _without_column(statements, spec, reader.origin, error) from None
            if session.observation is not None:
                note(sql=statement.sql, parameters=len(statement.parameters))
            try:
                result = await _Load(statement, reader, spec).run()
            except BaseException as error:
                statements.on_failure(statement, error)
                raise
            statements.release(statement)
            if session.observation is not None:
                note(batch_size=result.rowcount)
            return result
    finally:
        reader.close()


async def _without_column(
    statements: StatementCache, spec: LoadSpec, origin: str, error: DatabaseError
) -> DatabaseError:
    """The error for a column name that the table does not have, with a similar one that it has."""
    query = await statements.prepare(f"select * from {spec.table}")
    hint = did_you_mean(error.token, [column.name for column in query.columns])
    statements.release(query)
    where = origin if spec.columns is None else "columns"
    message = f"{where}: table {spec.table} has no column {error.token}{hint} (SQLCODE {error.sqlcode})"
    return UndefinedColumn(
        message, sqlcode=error.sqlcode, isamcode=error.isamcode, sqlstate=error.sqlstate, token=error.token
    )


class _Load:
    def __init__(self, statement: Statement, reader: SourceReader, spec: LoadSpec) -> None:
        self._statement = statement
        self._session = session = statement.session
        self._cursor = InsertCursor(statement, adapts=reader.has_values)
        self._rejects = reader.rejects = Rejects(spec.on_reject)
        if self._rejects and not session.database.is_logged:
            self._cursor.can_put = False  # a block with a rejected row could not be undone
        if not self._cursor.can_put:
            self._prepare_executions(reader)
        self._rejects.columns = self._cursor.columns
        reader.set_columns(self._cursor.columns)
        self._reader = reader
        # Without a log only the refusal of a single row is known to have stored nothing.
        tries_one = not session.database.is_logged and session.behavior.takes_put is None
        self._batches = Batches(reader, self._cursor, spec.block, tries_one=tries_one)
        self._progress = spec.progress
        self._commits_each = spec.commit == "block" or not session.database.is_logged
        """Whether a batch accepted by the server remains after a later failure."""
        self._nested = False
        """Whether the load is part of the caller's transaction."""
        self._has_savepoint = False
        """Whether a savepoint exists before the current batch."""
        self._tally = BatchTally()
        self._committed = 0
        """Rows of batches that remain."""

    async def run(self) -> ExecuteResult:
        """Load every batch."""
        upcoming: Batch | Exception | None = await self._batches.next()
        if upcoming is not None:
            await self._statement.check_may_run()
            self._nested = self._session.transactions.is_open
        async with self._load_scope(bool(upcoming)):
            while isinstance(upcoming, Batch):
                async with self._batch_scope():
                    following = await self._send(upcoming)
                self._committed = self._tally.rowcount
                if self._progress is not None:
                    self._progress(upcoming.first + upcoming.count)
                upcoming = following
            if upcoming is not None:
                raise upcoming
        tally = self._tally
        return result_of(
            self._statement.kind,
            tally.done,
            tally.serials,
            warnings=tally.warnings | self._statement.warnings,
            warned=tally.warned,
            left_out=tally.warnings_left_out,
            rowcount=tally.rowcount,
        )

    # -- transactions -------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _load_scope(self, any_rows: bool) -> AsyncGenerator[None, None]:
        if self._commits_each or not any_rows:
            try:
                yield
            except BaseException as error:
                if self._committed:
                    error.add_note(f"{self._committed} rows of earlier blocks are in the table")
                raise
        elif self._nested:
            async with self._savepoint_scope():
                yield
        else:
            async with self._transaction_scope():
                yield

    def _batch_scope(self) -> AbstractAsyncContextManager[None]:
        if self._commits_each and self._session.database.is_logged:
            return self._transaction_scope()
        return nullcontext()

    @asynccontextmanager
    async def _transaction_scope(self) -> AsyncGenerator[None, None]:
        async with implicit_transaction(self._session):
            yield
        self._cursor.on_transaction_end()

    @asynccontextmanager
    async def _savepoint_scope(self) -> AsyncGenerator[None, None]:
        """All or nothing within the user's transaction, whose earlier work remains. The savepoint ends with it."""
        session = self._session
        await session.transactions.set_savepoint(_BEGINNING)
        try:
            yield
        except BaseException as error:
            if is_cancelled_or_timed_out(error):
                session.transactions.rollback_to_later(_BEGINNING)
            else:
                await session.transactions.rollback_to_or_close(_BEGINNING)
            raise

    async def _set_savepoint(self, batch: Batch) -> None:
        """Set a savepoint before *batch*, unless the batch begins the load or a transaction."""
        self._has_savepoint = False
        if batch.first and not self._commits_each:
            try:
                await self._session.transactions.set_savepoint(_BLOCK)
                self._has_savepoint = True
            except DatabaseError as error:
                if is_cancelled_or_timed_out(error) or not self._session.is_open:
                    raise  # otherwise savepoints are not supported and a failed row cannot be found

    def _can_roll_back(self, batch: Batch) -> bool:
        return self._session.database.is_logged and (
            self._has_savepoint or self._commits_each or not batch.first
        )

    async def _rollback_batch(self, batch: Batch) -> None:
        """Roll back to the state before *batch*."""
        session = self._session
        if self._has_savepoint:
            await session.transactions.rollback_to_savepoint(_BLOCK)
        elif self._nested:
            await session.transactions.rollback_to_savepoint(_BEGINNING)
        else:
            await session.transactions.rollback()
            await session.transactions.begin()

    # -- batches ------------------------------------------------------------------------------------------------------

    async def _send(self, batch: Batch) -> Batch | Exception | None:
        """Send *batch* and wait until the server has accepted it.

        Returns:
            The next batch, prepared meanwhile, or the exception of preparing it.
        """
        dispatcher = self._session.dispatcher
        dispatcher.extend_deadline()
        if not self._cursor.can_put:
            self._tally.extend(await self._execute(batch))
            dispatcher.extend_deadline()
            return await self._next_batch()
        if self._session.database.is_ansi:
            # Opening an open cursor is an error in an ANSI database (documented).
            await self._statement.close_and_wait()
        await self._set_savepoint(batch)
        in_flight = self._cursor.send(batch.messages)
        try:
            following = await self._next_batch()
        except BaseException:
            dispatcher.abandon(in_flight)
            raise
        reply = await dispatcher.reply(in_flight)
        dispatcher.extend_deadline()
        wrong = reply.error or await self._cursor.finish_block()
        if wrong is None:
            self._session.behavior.learn("takes_put", True)
            self._tally.add(reply)
        elif error := await self._batch_error(batch, wrong, is_stored=reply.error is None):
            raise error
        return following

    async def _execute(self, batch: Batch) -> BatchTally:
        """Execute the INSERT for each row of *batch*, and report those that the server rejects."""
        try:
            tally, failures = await run_pipeline(self._statement, batch.rows, collect=bool(self._rejects))
        except DatabaseError as error:
            self._name_row(error, batch)
            raise
        rows = [*batch.rows] if failures else []
        for failure in failures:
            position = failure.row_index or 0
            self._name_row(failure, batch)
            self._rejects.report(failure, failure.row_index or 0, self._reader.fields(rows[position]))
        return tally

    def _name_row(self, error: DatabaseError, batch: Batch) -> None:
        """Let an error of a row of *batch* name the row in the source."""
        if (position := error.row_index) is None:
            return
        place = self._reader.place(batch.first + position)
        error.row_index = self._rejects.index_of(batch.first + position)
        text = str(error)
        row = text.removeprefix(f"row {position}: ").removeprefix(f"row {position}, ")
        if row != text:
            error.args = (f"{place}: {row}",)

    async def _next_batch(self) -> Batch | Exception | None:
        """The next batch. An exception is returned, to be raised after the batch before it is finished."""
        try:
            return await self._batches.next()
        except Exception as error:
            return error

    async def _batch_error(
        self, batch: Batch, rejection: ServerError, *, is_stored: bool
    ) -> DatabaseError | None:
        """The error for a rejected batch, with the row's index if it can be found.

        Args:
            is_stored: whether the rows were accepted, and only the end of the batch was not.

        Returns:
            None if the server refuses SQ_PUT, and the rows were executed one by one.
        """
        error = failure_of(rejection, self._statement.sql)
        which = self._reader.span(batch.first, batch.first + batch.count - 1)
        if rejection.sqlcode == INTERRUPTED:
            return error
        is_refusal = batch.first == 0 and may_be_about_the_request(rejection)
        if not self._can_roll_back(batch) and (is_stored or batch.count > 1 or not is_refusal):
            error.add_note(
                f"the rejected one is in {which}; they cannot be undone, so they were not sent again to find it"
            )
            return error
        if self._rejects:
            tally = await self._execute_again(batch)
            if is_refusal and tally.rowcount == batch.count:
                self._stop_putting()
            self._tally.extend(tally)
            return None
        try:
            found = await self._find_bad_row(batch)
        except Error as failure:
            if is_cancelled_or_timed_out(failure) or not self._session.is_open:
                raise failure from error
            error.add_note(f"the rejected one is in {which}; sending them again to find it failed: {failure}")
            return error
        if isinstance(found, BatchTally):
            if is_refusal:
                self._stop_putting()
                self._tally.extend(found)
                return None
            error.add_note(
                f"the rejected one is in {which}, but none of them failed when they were sent again one by one"
            )
        elif (found.sqlcode, found.isamcode) == (rejection.sqlcode, rejection.isamcode):
            error.row_index = found.row_index
            error.args = (f"{self._reader.place(found.row_index or 0)}: {error}",)
        elif is_refusal:
            self._stop_putting()
            error = found
        else:
            error.add_note(
                f"the rejected one is in {which}; when they were sent again one by one,"
                f" {self._reader.place(found.row_index or 0)} failed with another error (SQLCODE {found.sqlcode})"
            )
        return error

    def _prepare_executions(self, reader: SourceReader) -> None:
        """Called before rows are executed, instead of put."""
        if not reader.has_values:
            self._statement.drop_conversions()

    def _stop_putting(self) -> None:
        """Execute the rows of all other batches, here and at this server."""
        self._cursor.can_put = False
        if self._session.behavior.takes_put is None:
            self._session.behavior.learn("takes_put", False)

    async def _execute_again(self, batch: Batch) -> BatchTally:
        """Undo *batch* and send its rows one by one."""
        self._session.dispatcher.extend_deadline()
        await self._statement.close_and_wait()
        if self._session.database.is_logged:
            await self._rollback_batch(batch)
        self._prepare_executions(self._reader)
        return await self._execute(batch)

    async def _find_bad_row(self, batch: Batch) -> DatabaseError | BatchTally:
        """Undo *batch* and send its rows one by one; returns the error of the first failed row, or the totals."""
        try:
            return await self._execute_again(batch)
        except DatabaseError as error:
            if error.row_index is None or is_cancelled_or_timed_out(error) or not self._session.is_open:
                raise
            return error


BATCH_SIZE: Final = 128 * 1024
"""Default size of a batch in bytes (measured: see docs/howto/loading.md)."""

_FIRST: Final = 16
"""Rows read first, while the size of a row is unknown."""

_MAX_AT_ONCE: Final = 1024
"""Maximum rows read at a time; other tasks can run between two reads."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that are sent together."""

    first: int
    """0-based index of the first row."""
    count: int
    """Number of rows."""
    portions: list[Sequence[Row]]
    """The rows, kept until the server has accepted the batch, to find a row that it rejects."""
    messages: list[bytes | bytearray]
    """The SQ_PUT messages, in pieces because copying a batch takes time."""

    @property
    def rows(self) -> Iterator[Row]:
        """The rows, one after another."""
        return chain.from_iterable(self.portions)


def check_block(block: object) -> None:
    """Raise InterfaceError unless the option *block* is a valid number of rows for SQ_PUT."""
    if block is not None:
        check_whole("block", block, 1, MAX_ROWS)


class Batches:
    """The batches of one load, one after another.

    Args:
        rows: number of rows in a batch; None: as many as fill BATCH_SIZE bytes.
        tries_one: the first batch has one row.
    """

    def __init__(
        self, reader: SourceReader, cursor: InsertCursor, rows: int | None = None, *, tries_one: bool = False
    ) -> None:
        self._reader = reader
        self._cursor = cursor
        self._rows = rows
        self._limit = 1 if tries_one else rows
        self._count = 0
        self._width = BATCH_SIZE // _FIRST
        """Bytes of one row, estimated from the last ones; the initial value is a safe guess."""
        self._at_once = 1 if cursor.has_large_values else _MAX_AT_ONCE

    async def next(self) -> Batch | None:
        """The next batch; None when there are no more rows.

        Raises:
            DataError: a value does not fit; names the row. Any exception of the source.
        """
        first, size = self._count, 0
        portions: list[Sequence[Row]] = []
        pieces: list[bytes | bytearray] = []
        while wanted := self._wanted(self._count - first, size):
            read = await self._reader.read(wanted)
            if not read:
                break
            rows, encoded = await self._encoded(read)
            if rows:
                self._count += len(rows)
                self._width = len(encoded) // len(rows) + 1
                portions.append(rows)
                pieces.append(encoded)
                size += len(encoded)
            if len(read) < wanted and not self._reader.reads_less:
                break
        count = self._count - first
        self._limit = self._rows
        return Batch(first, count, portions, self._cursor.messages(pieces, count)) if count else None

    async def _encoded(self, given: Sequence[Row]) -> tuple[Sequence[Row], bytes | bytearray]:
        """These rows without those that do not fit, which are reported; and the bytes of the rest."""
        given, rows = await self._collected(given) if self._cursor.has_large_values else (given, given)
        fitting: list[Row] = []
        pieces: list[bytes | bytearray] = []
        while True:
            first = self._count + len(fitting)
            try:
                encoded = self._cursor.encode(rows, first, self._reader.place)
            except DataError as error:
                if not self._reader.rejects or error.row_index is None:
                    raise
                rejected = self._leave_out(error, given, first)
                before, rows, given = rows[:rejected], rows[rejected + 1 :], given[rejected + 1 :]
                fitting += before  # which are not tried again
                pieces.append(self._cursor.encode(before, first, self._reader.place))
            else:
                return ([*fitting, *rows], b"".join([*pieces, encoded])) if pieces else (rows, encoded)

    async def _collected(self, given: Sequence[Row]) -> tuple[list[Row], list[Row]]:
        """These rows without those whose large values do not fit, as they are given and with large values read."""
        kept: list[Row] = []
        collected: list[Row] = []
        for row in given:  # one at a time: a source can be read once
            first = self._count + len(kept)
            try:
                collected += await self._cursor.collect([row], first, self._reader.place)
            except DataError as error:
                if not self._reader.rejects or error.row_index is None:
                    raise
                self._leave_out(error, [row], first)
            else:
                kept.append(row)
        return kept, collected

    def _leave_out(self, error: DataError, rows: Sequence[Row], first: int) -> int:
        """Report the row of an error; returns its number among *rows*."""
        rejects, position = self._reader.rejects, error.row_index
        assert position is not None
        rejects.leave_out(error, rejects.index_of(position), self._reader.fields(rows[position - first]))
        return position - first

    def _wanted(self, rows: int, size: int) -> int:
        """Number of rows to read next; 0 if the batch is full."""
        if self._limit is not None:
            return min(self._at_once, self._limit - rows)
        if size >= BATCH_SIZE:
            return 0
        return min(self._at_once, MAX_ROWS - rows, (BATCH_SIZE - size) // self._width + 1)
