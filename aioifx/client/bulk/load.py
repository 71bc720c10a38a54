"""Many rows into one table through an insert cursor: blocks, commits, the row that failed. Never: opcodes, text.

House rules:
1. All or nothing, unless the caller wants a commit behind each block or the database has no log.
2. While the server works on one block the next one is made; there is never a third. One block is under way at a time.
3. The server does not say which row it refused. So a state in front of each block is kept (the beginning of the
   transaction, or a savepoint), it is gone back to, and the block's rows are sent once more, one by one, for their
   error to tell. What the caller sees is the first error, with the row's index; nothing of this second pass stays.
4. What cannot be undone is never sent twice.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from aioifx.client.bulk.batches import Block, Blocks, check_block
from aioifx.client.bulk.sources import SourceReader
from aioifx.client.execution.execute import whole
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
from aioifx.wire.replies import ServerError

Progress: TypeAlias = Callable[[int], object]
"""Called with the number of rows so far."""

Commit: TypeAlias = Literal["end", "block"]
"""When a load commits."""

_BEGINNING: Final = b"aioifx_load"
"""The savepoint in front of a load that is part of a transaction."""
_BLOCK: Final = b"aioifx_block"
"""The savepoint in front of a block that is not the first; it moves from block to block."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be loaded, and how.

    Args:     columns: None for all, or for those that a header names. block: rows; None for as many as fit well.
              commit: "end" or "block".
    Raises:   InterfaceError: it cannot be meant.
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
                raise InterfaceError("columns: must be a sequence of names")
            for name in self.columns or ():
                column_name(name, "columns")
        check_block(self.block)
        if self.commit not in ("end", "block"):
            raise InterfaceError(f'commit: must be "end" or "block", not {self.commit!r:.40}')
        check_progress(self.progress)

    def insertion(self, found: Sequence[str] | None, values: int, *, origin: str = "header") -> str:
        """The INSERT, for rows of so many values.

        Args:     found: the columns' names as the rows tell them; *origin* is where.
        """
        names = self.columns if self.columns is not None else found
        if names is None:
            return f"insert into {self.table} values({','.join('?' * values)})"
        listed = ",".join(column_name(name, origin) for name in names)
        return f"insert into {self.table} ({listed}) values({','.join('?' * len(names))})"


def check_progress(progress: Progress | None) -> None:
    """Raise unless *progress* can be called, and need not be awaited."""
    if progress is not None and not callable(progress):
        raise InterfaceError(f"progress: must be a function, not {type(progress).__name__}")
    if progress is not None and inspect.iscoroutinefunction(progress):
        raise InterfaceError("progress: must not be async")


async def load(
    statements: StatementCache,
    feed: SourceReader,
    order: Order,
    timeout: float | None = None,
) -> ExecuteResult:
    """Do it, as a whole call: the turn, a statement prepared for it, its rows.

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
                raise InterfaceError('commit="block" would end your transaction')
            values = await feed.begin()
            if values is None and order.columns is None and feed.names is None:
                return ExecuteResult()
            session.line.extend_deadline()  # the time that the rows' source takes is not the server's
            statement = await statements.prepare(order.insertion(feed.names, values or 0, origin=feed.origin))
            try:
                result = await _Load(statement, feed, order).run()
            except BaseException as error:
                statements.failed(statement, error)
                raise
            statements.give_back(statement)
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
        """Whether a block that the server has taken stays, whatever comes behind it."""
        self._nested = False
        """Whether it is part of a transaction of the caller's."""
        self._has_mark = False
        """Whether there is a savepoint in front of the block that is under way."""
        self._told = BatchTally()
        self._kept = 0
        """Rows of blocks that stay."""

    async def run(self) -> ExecuteResult:
        """Every block."""
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
        async with whole(self._session):
            yield
        self._cursor.closed()

    @asynccontextmanager
    async def _savepoint_scope(self) -> AsyncGenerator[None, None]:
        """All or nothing inside of a transaction; what it did before stays. The savepoint goes with the transaction."""
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
        """Keep the state in front of *block*, unless one is kept that is the same: what the first one follows."""
        self._has_mark = False
        if block.first and not self._commits_each:
            try:
                await self._session.set_savepoint(_BLOCK)
                self._has_mark = True
            except DatabaseError as error:
                if is_cancelled_or_timed_out(error) or not self._session.is_open:
                    raise  # otherwise there are no savepoints here, and a row that fails will not be found

    def _can_undo(self, block: Block) -> bool:
        return self._session.is_logged and (self._has_mark or self._commits_each or not block.first)

    async def _undo(self, block: Block) -> None:
        """Go back to the state in front of *block*."""
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
        """Send *block* and wait until the server has taken it.

        Returns:  the next one, which was made meanwhile, or what kept it from being made.
        """
        line = self._session.line
        line.extend_deadline()
        if self._session.is_ansi:
            await self._cursor.close()  # there, to open what is open is an error (documented)
        await self._mark(block)
        ticket = self._cursor.submit(block.messages)
        try:
            following = await self._made()
        except BaseException:
            line.abandon(ticket)
            raise
        reply = await line.wait(ticket)
        line.extend_deadline()
        wrong = reply.error or await self._cursor.end()
        if wrong is not None:
            raise await self._refused(block, wrong)
        self._told.add(reply)
        return following

    async def _made(self) -> Block | Exception | None:
        """The next block. What goes wrong with it is kept until the block in front of it is done with."""
        try:
            return await self._blocks.make()
        except Exception as error:
            return error

    async def _refused(self, block: Block, told: ServerError) -> DatabaseError:
        """The error for a block that the server has not taken, with the row's index if it can be found."""
        error = self._error(told)
        which = self._feed.span(block.first, block.first + len(block.rows) - 1)
        if told.sqlcode == INTERRUPTED:
            return error
        if not self._can_undo(block):
            error.add_note(f"it is one of {which}; what cannot be undone is not sent again to find out")
            return error
        try:
            found = await self._find_bad_row(block)
        except Error as failure:
            if is_cancelled_or_timed_out(failure) or not self._session.is_open:
                raise failure from error
            error.add_note(f"it is one of {which}, which could not be sent again to find out: {failure}")
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
        """Undo *block* and send its rows one by one; the error of the first that fails, if any does."""
        self._session.line.extend_deadline()
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
