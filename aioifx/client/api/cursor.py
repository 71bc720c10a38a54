"""Cursor: execute, executemany, fetch*, scroll: PEP 249 with await. Never: its connection, its pool, bytes."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, Generic, Self, TypeAlias, TypeVar

from aioifx.client.config.checks import Lobs, check_row_factory, row_maker
from aioifx.client.execution.actions import execute_statement
from aioifx.client.execution.arrow_reader import ArrowTable
from aioifx.client.execution.block_reader import BlockReader
from aioifx.client.execution.execute import (
    OnError,
    by_name_or_position,
    call_of,
    check_on_error,
    executemany,
    rows_by_name_or_position,
    start,
)
from aioifx.client.execution.outputs import CallAction, call_outputs
from aioifx.client.execution.parameters import check_sequence
from aioifx.client.execution.pipeline import ParamRows
from aioifx.client.execution.result import ExecuteResult
from aioifx.client.execution.row_plan import LobRows, RowPlans, converted
from aioifx.client.execution.scroll_cursor import ScrollCursor, open_scroll_cursor
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import StatementCache
from aioifx.client.observation.observation import Watch
from aioifx.client.session.loop_binding import NotCopied
from aioifx.client.session.session import Session
from aioifx.client.sql.placeholders import MappingRows, NamedValues
from aioifx.client.sql.templates import Sql
from aioifx.errors import DatabaseError, InterfaceError
from aioifx.rows import RowFactory, identity
from aioifx.sqltypes import Column, Row, SqlType, Value

R = TypeVar("R")
T = TypeVar("T")

ColumnDescription: TypeAlias = tuple[
    str, SqlType, int | None, int | None, int | None, int | None, bool | None
]
"""PEP 249's seven fields: name, type_code, display_size, internal_size, precision, scale, null_ok."""


class Cursor(NotCopied, Generic[R]):
    """Returned by `Connection.cursor`: PEP 249 with await. ``async for row in cursor`` reads the remaining rows.

    It has the rows of one statement at a time. One connection can have several open cursors. Rows are fetched in blocks
    as needed; a scroll cursor fetches them one by one.

    Args:
        scroll: it can be moved in.
        hold: it outlives the transaction that it was opened in.
        lobs: how large values are returned; None: as by the connection's option.
    """

    def __init__(
        self,
        statements: StatementCache,
        factory: RowFactory[R],
        *,
        scroll: bool = False,
        hold: bool = False,
        lobs: Lobs | None = None,
    ) -> None:
        self._lobs: Lobs | None = lobs
        self._statements = statements
        self._factory = factory
        self._scrolls = scroll
        self._hold = hold
        self._blocks: BlockReader | None = None
        self._statement: Statement | None = None
        """The statement of a scroll cursor, or one that returns no rows."""
        self._convert: Callable[[Row], R] | None = None
        self._rows: Iterator[Row] = iter(())
        self._fetched = 0
        self._scrolling: ScrollCursor | None = None
        self._result: ExecuteResult | None = None
        self._columns: tuple[Column, ...] | None = None
        self._watch: Watch | None = None
        """The operation of the result, with observers."""
        self._closed = False
        self.arraysize = 100
        """Default size of `fetchmany`, in rows."""

    @property
    def _session(self) -> Session:
        return self._statements.session

    def __repr__(self) -> str:
        state = "closed" if self._closed else "fetching" if self.is_fetching else "idle"
        return f"<Cursor {state}>"

    # -- attributes of PEP 249 ----------------------------------------------------------------------------------------

    @property
    def description(self) -> list[ColumnDescription] | None:
        """The columns of the result, with PEP 249's seven values each; None without a result.

        These are name, type_code (a `SqlType`), display_size and internal_size (bytes of a character type), precision,
        scale and null_ok.
        """
        if self._columns is None:
            return None
        return [_describe(column) for column in self._columns]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns as the server described them; empty without a result."""
        return self._columns or ()

    @property
    def result(self) -> ExecuteResult | None:
        """The result of the last statement, with its warnings; None for a query."""
        return self._result

    @property
    def is_fetching(self) -> bool:
        """Whether the cursor of a query is open at the server: rows may be left to fetch."""
        return self._scrolling is not None or not (self._blocks is None or self._blocks.is_closed)

    @property
    def rowcount(self) -> int:
        """Rows affected by the last statement; -1 for a query, whose number of rows is not known in advance."""
        return self._result.rowcount if self._result is not None else -1

    @property
    def lastrowid(self) -> int | None:
        """The serial value of the last row inserted; None when there is none."""
        return self._result.serial if self._result is not None else None

    @property
    def serials(self) -> tuple[int | None, ...]:
        """The serial values of the rows of the last `executemany`; see `ExecuteResult`."""
        return self._result.serials if self._result is not None else ()

    @property
    def rownumber(self) -> int | None:
        """0-based number of the next row; None without a result, or if unknown."""
        if self._convert is None:
            return None
        return self._fetched if self._scrolling is None else self._scrolling.index

    @property
    def name(self) -> str | None:
        """Cursor name for WHERE CURRENT OF, while the cursor is open at the server; otherwise None.

        A cursor is closed with its last block. A cursor FOR UPDATE is closed when a row after the last is requested.

        Raises:
            InterfaceError: a server with OPTOFC has closed a cursor FOR UPDATE with its last row.
        """
        blocks = self._blocks
        if blocks is not None and blocks.was_closed_by_server and self._convert is not None:
            if blocks.statement is not None and blocks.statement.is_for_update:
                raise InterfaceError(
                    "name: the server has closed the cursor with its last row; optofc=False keeps it open"
                )
        statement = self._statement if self._blocks is None else self._blocks.statement
        return statement.cursor_name if statement is not None else None

    # -- execute ------------------------------------------------------------------------------------------------------

    @property
    def row_factory(self) -> RowFactory[R]:
        """Makes the objects that are returned for rows; a change applies from the next `execute`."""
        return self._factory

    @row_factory.setter
    def row_factory(self, factory: RowFactory[R]) -> None:
        check_row_factory(factory)
        self._factory = factory

    async def execute(
        self,
        sql: Sql,
        params: Sequence[Value] | Mapping[str, Value] = (),
        *,
        named: NamedValues | None = None,
        timeout: float | None = None,
    ) -> Self:
        """Run a statement. For a query, fetch the first block, except with a scroll cursor.

        Earlier results of the cursor are discarded.

        Args:
            sql: one statement; a t-string has its values.
            params: the values of its placeholders, ``?``; or a mapping with the values of its ``:name``, and perhaps
                more.
            named: instead, the values of its ``:name`` or ``:1``, and no others.
            timeout: seconds for this call; None: command_timeout.

        Raises:
            ProgrammingError: a mapping lacks a value; names the parameter.
        """
        sql, values = by_name_or_position(sql, params, named)
        if self._statements.base_session.observation is None:
            self._reset()
            await self._execute(sql, values, timeout)
        else:
            await self._observed(sql, len(values), partial(self._execute, sql, values, timeout))
        return self

    async def _observed(self, sql: str, parameters: int, execute: Callable[[], Awaitable[T]]) -> T:
        """Execute as one operation, which goes on until the rows are fetched."""
        self._reset()
        session = self._session
        if session.observation is None:
            return await execute()
        watch = self._watch = Watch(session.observation, "cursor", sql, parameters, session)
        try:
            result = await watch.run(execute())
        except BaseException as error:
            watch.end(error)
            raise
        if self._convert is None:
            watch.end()
        return result

    async def _execute(
        self,
        sql: str,
        params: Sequence[Value],
        timeout: float | None,
        begin: Callable[[Statement, Sequence[Value]], Awaitable[None]] | None = None,
    ) -> None:
        session = self._session
        # ``async with session.turn(timeout)``, without awaiting if nothing has to be awaited.
        if session.settings.pending or not session.dispatcher.try_acquire_within(timeout):
            await session.acquire(timeout)
        try:
            statement, _ = await start(self._statements, sql, params, begin or self._begin)
            if self._blocks is not None:
                self._blocks.finish_if_exhausted()
            else:
                self._statement = statement
                if not statement.returns_rows:
                    self._finish()
                    await session.transactions.commit_implicit()
        finally:
            session.dispatcher.release()

    async def _begin(self, statement: Statement, params: Sequence[Value]) -> None:
        """Execute the statement, or open its cursor."""
        if not statement.returns_rows:
            self._result = await execute_statement(statement, params)
            self._count(self._result.rowcount)
            return
        convert: Callable[[Row], R]
        if self._scrolls:
            convert = row_maker(self._factory, statement.columns)
            hold = self._session.transactions.needs_hold_cursor or (
                self._hold and self._session.database.is_logged
            )
            self._scrolling = await open_scroll_cursor(statement, params, hold=hold, lobs=self._lobs)
        else:
            factory = self._factory if self._lobs is None else LobRows(self._factory, self._lobs)
            plan = partial(RowPlans.of_factory, factory=factory)
            blocks = BlockReader(self._statements, statement.sql, params, plan, hold=self._hold)
            rows = await blocks.open(statement, params)
            self._count(len(rows))
            blocks.watch = self._watch
            self._rows = iter(rows)
            self._blocks, convert = blocks, blocks.convert or identity
        self._columns, self._convert = statement.columns, convert

    async def executemany(
        self,
        sql: str,
        rows: ParamRows | MappingRows | ArrowTable | None = None,
        *,
        named: MappingRows | ArrowTable | None = None,
        on_error: OnError = "raise",
        timeout: float | None = None,
    ) -> Self:
        """Run a statement once for each row, pipelined. See `Connection.executemany`.

        If the statement has ``:name``, the rows are mappings as in `execute`.
        """
        sql, source = rows_by_name_or_position(sql, rows, named)
        collect = check_on_error(on_error)
        self._reset()
        size = len(rows) if isinstance(rows, (list, tuple)) else None
        work = executemany(self._statements, sql, source, collect=collect, timeout=timeout)
        self._result = await self._session.observed("executemany", work, sql, 0, size)
        return self

    async def callproc(
        self, procname: str, parameters: Sequence[Value] = (), *, timeout: float | None = None
    ) -> list[Value]:
        """Call a procedure or function; its results are the rows of this cursor.

        Args:
            procname: ``[database:][owner.]name``.
            parameters: its arguments by position; an OUT parameter needs one too, such as None.
            timeout: seconds; None: command_timeout.

        Returns:
            A copy of *parameters*, with the values of OUT and INOUT parameters, unless the routine has results, too.
        """
        check_sequence(parameters, "parameters")
        sql, values = call_of(procname, parameters, None)
        return await self._observed(sql, len(values), partial(self._callproc, sql, values, timeout))

    async def _callproc(self, sql: str, values: Sequence[Value], timeout: float | None) -> list[Value]:
        action = CallAction(self._begin)
        try:
            await self._execute(sql, values, timeout, action)
            return [*values]
        except DatabaseError as error:
            routine = action.refused(error)
            if routine is None:
                raise
        return (await call_outputs(self._statements, routine, sql, values, timeout=timeout)).put_into(values)

    # -- fetch --------------------------------------------------------------------------------------------------------

    async def fetchone(self) -> R | None:
        """The next row, or None."""
        convert = self._check_result()
        ended = False
        while True:
            for row in self._rows:
                self._fetched += 1
                return convert(row)
            if ended:
                return None
            ended = not await self._more()

    async def fetchmany(self, size: int | None = None) -> list[R]:
        """The next *size* rows, fewer at the end; without a size, `arraysize`."""
        convert = self._check_result()
        wanted = self.arraysize if size is None else size
        _check_number("size", wanted)
        if wanted < 0:
            raise InterfaceError(f"size: expected 0 or more, got {wanted}")
        wanted = min(wanted, sys.maxsize)  # the maximum of islice
        rows = list(islice(self._rows, wanted))
        while len(rows) < wanted and await self._more():
            rows += islice(self._rows, wanted - len(rows))
        self._fetched += len(rows)
        return _map_rows(rows, convert)

    async def fetchall(self) -> list[R]:
        """All remaining rows."""
        convert = self._check_result()
        rows = list(self._rows)
        while await self._more():
            rows += self._rows
        self._fetched += len(rows)
        return _map_rows(rows, convert)

    async def _fetch_block(self) -> list[R]:
        convert = self._check_result()
        rows = list(self._rows)
        if not rows and await self._more():
            rows = list(self._rows)
        self._fetched += len(rows)
        return _map_rows(rows, convert)

    def __aiter__(self) -> AsyncIterator[R]:
        return self

    async def __anext__(self) -> R:
        row = await self.fetchone()
        if row is None:
            raise StopAsyncIteration
        return row

    # -- scroll -------------------------------------------------------------------------------------------------------

    async def scroll(self, value: int, mode: str = "relative") -> None:
        """Move to before another row.

        Args:
            value: rows to move on, or back if negative; with *mode* "absolute", the row's number, from 0.
            mode: "relative" or "absolute".

        Raises:
            IndexError: there is no such row; the cursor has not moved.
        """
        if mode not in ("relative", "absolute"):
            raise InterfaceError(f'mode: expected "relative" or "absolute", got {mode!r:.40}')
        _check_number("value", value)
        self._check_scroll()
        if not await self._scroll(lambda rows: rows.position(value, relative=mode == "relative")):
            raise IndexError(f"scroll({value}, {mode!r}) is outside the result")

    async def fetch_absolute(self, number: int) -> R | None:
        """FETCH ABSOLUTE: the row with this 1-based number; a negative number counts from the end, -1 is the last row.

        PEP 249 has no way to the last row, and no move that fails without an exception. A number that no row has gives
        None; the cursor is then before the first row or after the last.
        """
        _check_number("number", number)
        return await self._fetch_at(lambda rows: rows.absolute(number))

    async def fetch_relative(self, offset: int) -> R | None:
        """FETCH RELATIVE: the row at *offset* from the one fetched last, such as -1; None outside the result.

        After the last row, -1 gives the last row. 0 fetches the same row again.
        """
        _check_number("offset", offset)
        return await self._fetch_at(lambda rows: rows.relative(offset))

    # -- close --------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the cursor and discard its rows. Waits for nothing. Idempotent.

        Every other use then raises `InterfaceError`.
        """
        self._reset(checked=False)
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self) -> None:
        statement = getattr(self, "_statement", None)
        if statement is not None and not self._statements.is_closed:
            self._session.dispatcher.call_threadsafe(self._statements.release, statement)

    # -- internals ----------------------------------------------------------------------------------------------------

    def _check_result(self) -> Callable[[Row], R]:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        if self._convert is None:
            raise InterfaceError("the cursor has no result: no query was executed, or a fetch failed")
        return self._convert

    async def _more(self) -> bool:
        """Fetch another block; False at the end."""
        if self._scrolling is not None:
            row = await self._scroll(lambda rows: rows.next())
            self._count(row is not None)
            self._rows = chain(self._rows, () if row is None else (row,))
            return row is not None
        if self._blocks is None:
            return False
        try:
            rows = await self._blocks.next_block()
        except BaseException:
            self._blocks, self._convert = None, None  # so that a failure cannot pass for the end of the rows
            raise
        # Another task may have fetched a block while this one waited for the lock.
        self._rows = chain(self._rows, rows)
        return bool(rows)

    def _check_scroll(self) -> Callable[[Row], R]:
        if not self._scrolls and not self._closed:
            raise InterfaceError("the cursor is forward-only; use cursor(scroll=True)")
        return self._check_result()

    async def _fetch_at(self, move: Callable[[ScrollCursor], Awaitable[Row | None]]) -> R | None:
        convert = self._check_scroll()
        row = await self._scroll(move)
        self._count(row is not None)
        return None if row is None else convert(row)

    def _scroll(self, move: Callable[[ScrollCursor], Awaitable[T]]) -> Awaitable[T]:
        """Move a scroll cursor, holding the session's lock."""
        moving = self._move(move)
        return moving if self._watch is None else self._watch.run(moving)

    async def _move(self, move: Callable[[ScrollCursor], Awaitable[T]]) -> T:
        async with self._session:
            self._check_result()  # another task may have closed it or failed
            statement, scrolling = self._statement, self._scrolling
            assert statement is not None and scrolling is not None
            try:
                return await move(scrolling)
            except BaseException as error:
                self._statement, self._convert, self._scrolling = None, None, None
                self._statements.on_failure(statement, error)
                if self._watch is not None:
                    self._watch.end(error)
                raise

    def _count(self, rows: int) -> None:
        """Add *rows* to those of the operation."""
        if self._watch is not None:
            self._watch.add_rows(rows)

    def _finish(self) -> None:
        """Release the statement."""
        if self._blocks is not None:
            self._blocks.close()
            self._blocks = None
        statement, self._statement = self._statement, None
        if statement is not None and not self._statements.is_closed:
            self._statements.release(statement)
            if statement.returns_rows:
                self._session.transactions.commit_later()

    def _reset(self, *, checked: bool = True) -> None:
        if checked and self._closed:
            raise InterfaceError("the cursor is closed")
        if not self._statements.is_closed:
            self._session.dispatcher.binding.check()
        self._rows, self._convert, self._columns, self._result = iter(()), None, None, None
        self._scrolling, self._fetched = None, 0
        self._finish()
        watch, self._watch = self._watch, None
        if watch is not None:
            watch.end()


def _check_number(name: str, number: object) -> None:
    if not isinstance(number, int):
        raise InterfaceError(f"{name}: expected a whole number, got {type(number).__name__}")


def _map_rows(rows: list[Any], convert: Callable[[Row], R]) -> list[R]:
    return rows if convert is identity else converted(rows, convert)


def _describe(column: Column) -> ColumnDescription:
    sqltype = column.type
    return (
        column.name,
        sqltype,
        sqltype.size,
        sqltype.size,
        sqltype.precision,
        sqltype.scale,
        column.nullable,
    )


async def fetch_block(cursor: Cursor[R]) -> list[R]:
    """The rest of the block of rows in memory, or else the next block; empty at the end. For modules of this package.

    The size of a block is the option fetch_size, in bytes. A scroll cursor has blocks of one row.
    """
    return await cursor._fetch_block()  # pyright: ignore[reportPrivateUsage] - of this module
