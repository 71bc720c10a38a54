"""Bulk load through an insert cursor: blocks, commits, finding the failed row. Never: opcodes, text.

Invariants:
1. All or nothing, unless the caller asks for a commit after each block or the database has no log.
2. While the server processes one block, the next one is prepared; there are never more. One block is in flight.
3. The server does not report which row it rejected. So the state before each block is preserved (start of the
   transaction, or a savepoint). After a failure the block is undone, and its rows are sent again one by one. The caller
   sees the first error with the row's index; the second pass leaves no data.
4. Work that cannot be undone is never sent twice.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from aioifx.client.bulk.batches import Block, Blocks, check_block
from aioifx.client.bulk.sources import SourceReader
from aioifx.client.execution.execute import implicit_transaction
from aioifx.client.execution.insert_cursor import InsertCursor
from aioifx.client.execution.pipeline import execute_many
from aioifx.client.execution.result import ExecuteResult, result_of
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import StatementCache
from aioifx.client.session.dispatcher import INTERRUPTED
from aioifx.client.session.session import failure_of, is_cancelled_or_timed_out
from aioifx.client.sql.identifiers import column_name, object_name
from aioifx.errors import DatabaseError, Error, InterfaceError
from aioifx.wire.batch_replies import BatchTally
from aioifx.wire.completion import ServerError

Progress: TypeAlias = Callable[[int], object]
"""Called with the number of rows so far."""

Commit: TypeAlias = Literal["end", "block"]
"""When a load commits."""

_BEGINNING: Final = b"aioifx_load"
"""Savepoint before a load within the user's transaction."""
_BLOCK: Final = b"aioifx_block"
"""Savepoint before each block except the first; it moves from block to block."""


@dataclass(frozen=True, slots=True)
class Order:
    """Options of a load.

    Args:     columns: None for all, or for those in a header. block: number of rows; None: chosen by size.
              commit: "end" or "block".
    Raises:   InterfaceError: an option is invalid.
    """

    table: str
    columns: Sequence[str] | None = None
    block: int | None = None
    commit: Commit = "end"
    progress: Progress | None = None

    def __post_init__(self) -> None:
        object_name(self.table, "table")
        names: object = self.columns
        if names is not None:
            if isinstance(names, str) or not isinstance(names, Sequence) or not names:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InterfaceError("columns: expected a sequence of names")
            for name in self.columns or ():
                column_name(name, "columns")
        check_block(self.block)
        if self.commit not in ("end", "block"):
            raise InterfaceError(f'commit: expected "end" or "block", got {self.commit!r:.40}')
        check_progress(self.progress)

    def insertion(self, found: Sequence[str] | None, values: int, *, origin: str = "header") -> str:
        """The INSERT statement for rows of *values* values.

        Args:     found: column names found in the source; *origin* is where, for messages.
        """
        names = self.columns if self.columns is not None else found
        if names is None:
            return f"insert into {self.table} values({','.join('?' * values)})"
        listed = ",".join(column_name(name, origin) for name in names)
        return f"insert into {self.table} ({listed}) values({','.join('?' * len(names))})"


def check_progress(progress: Progress | None) -> None:
    """Raise InterfaceError unless *progress* can be called and is not async."""
    if progress is not None and not callable(progress):
        raise InterfaceError(f"progress: expected a function, got {type(progress).__name__}")
    if progress is not None and inspect.iscoroutinefunction(progress):
        raise InterfaceError("progress: expected a function that is not async")


async def load(
    statements: StatementCache,
    feed: SourceReader,
    order: Order,
    timeout: float | None = None,
) -> ExecuteResult:
    """Run a load as a complete call: lock, prepared statement, rows.

    Raises:   as `Connection.load`.
    """
    session = statements.session
    try:
        async with session.turn(timeout):
            if (
                order.commit == "block"
                and session.is_logged
                and (session.in_transaction or not session.autocommits)
            ):
                raise InterfaceError('commit: "block" cannot be used in a transaction, which it would end')
            values = await feed.begin()
            if values is None and order.columns is None and feed.names is None:
                return ExecuteResult()
            session.dispatcher.extend_deadline()  # time spent in the source does not count
            statement = await statements.prepare(order.insertion(feed.names, values or 0, origin=feed.origin))
            try:
                result = await _Load(statement, feed, order).run()
            except BaseException as error:
                statements.on_failure(statement, error)
                raise
            statements.release(statement)
            return result
    finally:
        feed.close()


class _Load:
    def __init__(self, statement: Statement, feed: SourceReader, order: Order) -> None:
        self._statement = statement
        self._session = session = statement.session
        self._cursor = InsertCursor(statement, adapts=feed.has_values)
        feed.fit(self._cursor.columns)
        self._feed = feed
        self._blocks = Blocks(feed, self._cursor, order.block)
        self._progress = order.progress
        self._commits_each = order.commit == "block" or not session.is_logged
        """Whether a block accepted by the server remains after a later failure."""
        self._nested = False
        """Whether the load is part of the caller's transaction."""
        self._has_mark = False
        """Whether a savepoint exists before the current block."""
        self._told = BatchTally()
        self._kept = 0
        """Rows of blocks that remain."""

    async def run(self) -> ExecuteResult:
        """Load every block."""
        upcoming: Block | Exception | None = await self._blocks.make()
        if upcoming is not None:
            await self._statement.admit()
            self._nested = self._session.in_transaction
        async with self._load_scope(bool(upcoming)):
            while isinstance(upcoming, Block):
                async with self._batch_scope():
                    following = await self._put(upcoming)
                self._kept = self._told.rowcount
                if self._progress is not None:
                    self._progress(upcoming.first + len(upcoming.rows))
                upcoming = following
            if upcoming is not None:
                raise upcoming
        told = self._told
        return result_of(
            self._statement.kind,
            told.done,
            told.serials,
            warnings=told.warnings | self._statement.warnings,
            warned=told.warned,
            rowcount=told.rowcount,
        )

    # -- transactions -------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _load_scope(self, any_rows: bool) -> AsyncGenerator[None, None]:
        if self._commits_each or not any_rows:
            try:
                yield
            except BaseException as error:
                if self._kept:
                    error.add_note(f"{self._kept} rows of earlier blocks are in the table")
                raise
        elif self._nested:
            async with self._savepoint_scope():
                yield
        else:
            async with self._transaction_scope():
                yield

    def _batch_scope(self) -> AbstractAsyncContextManager[None]:
        if self._commits_each and self._session.is_logged:
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
        await session.set_savepoint(_BEGINNING)
        try:
            yield
        except BaseException as error:
            if is_cancelled_or_timed_out(error):
                session.rollback_to_later(_BEGINNING)
            else:
                await session.rollback_to_or_close(_BEGINNING)
            raise

    async def _mark(self, block: Block) -> None:
        """Preserve the state before *block*, unless it equals the state that is already preserved."""
        self._has_mark = False
        if block.first and not self._commits_each:
            try:
                await self._session.set_savepoint(_BLOCK)
                self._has_mark = True
            except DatabaseError as error:
                if is_cancelled_or_timed_out(error) or not self._session.is_open:
                    raise  # otherwise savepoints are not supported and a failed row cannot be found

    def _can_undo(self, block: Block) -> bool:
        return self._session.is_logged and (self._has_mark or self._commits_each or not block.first)

    async def _undo(self, block: Block) -> None:
        """Roll back to the state before *block*."""
        session = self._session
        if self._has_mark:
            await session.rollback_to_savepoint(_BLOCK)
        elif self._nested:
            await session.rollback_to_savepoint(_BEGINNING)
        else:
            await session.rollback()
            await session.begin()

    # -- blocks -------------------------------------------------------------------------------------------------------

    async def _put(self, block: Block) -> Block | Exception | None:
        """Send *block* and wait until the server has accepted it.

        Returns:  the next block, prepared meanwhile, or the exception of preparing it.
        """
        dispatcher = self._session.dispatcher
        dispatcher.extend_deadline()
        if self._session.is_ansi:
            await self._cursor.close()  # there, opening an open cursor is an error (documented)
        await self._mark(block)
        in_flight = self._cursor.send(block.messages)
        try:
            following = await self._made()
        except BaseException:
            dispatcher.abandon(in_flight)
            raise
        reply = await dispatcher.reply(in_flight)
        dispatcher.extend_deadline()
        wrong = reply.error or await self._cursor.finish_block()
        if wrong is not None:
            raise await self._refused(block, wrong)
        self._told.add(reply)
        return following

    async def _made(self) -> Block | Exception | None:
        """The next block. An exception is returned, to be raised after the block before it is finished."""
        try:
            return await self._blocks.make()
        except Exception as error:
            return error

    async def _refused(self, block: Block, told: ServerError) -> DatabaseError:
        """The error for a rejected block, with the row's index if it can be found."""
        error = self._error(told)
        which = self._feed.span(block.first, block.first + len(block.rows) - 1)
        if told.sqlcode == INTERRUPTED:
            return error
        if not self._can_undo(block):
            error.add_note(
                f"it is one of {which}; they cannot be undone, so they were not sent again to find it"
            )
            return error
        try:
            found = await self._find_bad_row(block)
        except Error as failure:
            if is_cancelled_or_timed_out(failure) or not self._session.is_open:
                raise failure from error
            error.add_note(f"it is one of {which}; sending them again to find it failed: {failure}")
            return error
        if found is None:
            error.add_note(
                f"it was one of {which}, but none of them failed when they were sent again one by one"
            )
        elif (found.sqlcode, found.isamcode) == (told.sqlcode, told.isamcode):
            error = self._error(told, found.row_index)
        else:
            error.add_note(
                f"it was one of {which}; when they were sent again one by one,"
                f" {self._feed.place(found.row_index or 0)} failed otherwise (SQLCODE {found.sqlcode})"
            )
        return error

    async def _find_bad_row(self, block: Block) -> DatabaseError | None:
        """Undo *block* and send its rows one by one; returns the error of the first failed row, or None."""
        self._session.dispatcher.extend_deadline()
        await self._cursor.close()
        await self._undo(block)
        try:
            await execute_many(self._statement, block.rows)
        except DatabaseError as error:
            if error.row_index is None:
                raise
            error.row_index += block.first
            return error
        return None

    def _error(self, told: ServerError, row_index: int | None = None) -> DatabaseError:
        error = failure_of(told, self._statement.sql)
        if row_index is not None:
            error.row_index = row_index
            error.args = (f"{self._feed.place(row_index)}: {error}",)
        return error
