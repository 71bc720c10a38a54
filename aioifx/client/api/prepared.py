"""A prepared statement that the user executes repeatedly. Never: opcodes."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

from aioifx.client.execution.execute import (
    RECORDS,
    TUPLES,
    OnError,
    R,
    RowFetcher,
    check_on_error,
    execute_statement,
    executemany_statement,
    value_at,
)
from aioifx.client.execution.parameters import check_rows
from aioifx.client.execution.pipeline import ParamRows, is_single_use
from aioifx.client.execution.result import ExecuteResult
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import Action, StatementCache, note_stale
from aioifx.client.execution.stream import Stream
from aioifx.client.session.owner import NotCopied
from aioifx.client.session.session import Session, note_sql
from aioifx.client.sql.placeholders import MappingRows, NamedRows, NamedStatement, NamedValues, is_list
from aioifx.errors import InterfaceError
from aioifx.rows import Item, RowFactory
from aioifx.sqltypes import Column, SqlType, Value

T = TypeVar("T")


class PreparedStatement(NotCopied, Generic[Item]):
    """Returned by `Connection.prepare`; stays prepared at the server until `close`.

    ``async with await conn.prepare(...) as statement:`` closes it at its end.

    When its table has changed (-710), the statement is prepared again and executed, once, unless a transaction is open.
    Inside of one, and in an `executemany` whose rows cannot be read twice, the error is raised, and the next execution
    prepares the statement anew.
    """

    def __init__(
        self,
        statements: StatementCache,
        statement: Statement,
        factory: RowFactory[Any],
        names: NamedStatement | None = None,
    ) -> None:
        """Args:     names: where the statement has named parameters, which is which."""
        self._names = names
        self._statements = statements
        self._statement = statement
        statement.from_cache = True  # a later table change can make it stale
        self._factory = factory
        self._fetcher = RowFetcher(factory)
        self._closed = False

    @property
    def _session(self) -> Session:
        return self._statements.session

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"id {self._statement.statement_id}"
        return f"<PreparedStatement {state}: {self._statement.sql[:60]!r}>"

    @property
    def sql(self) -> str:
        """The SQL text that was prepared."""
        return self._statement.sql

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result; empty if the statement returns no rows."""
        return self._statement.columns

    @property
    def parameters(self) -> tuple[SqlType | None, ...]:
        """The parameter types that the server expects; None where the server does not say."""
        return self._statement.parameters

    @overload
    async def fetch(
        self,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: None = None,
        timeout: float | None = None,
    ) -> list[Item]: ...
    @overload
    async def fetch(
        self,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[R],
        timeout: float | None = None,
    ) -> list[R]: ...
    async def fetch(
        self,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
        timeout: float | None = None,
    ) -> list[Any]:
        """Run the query and return every row.

        Args:     args: values of the placeholders ``?``. named: values of ``:name`` or ``:1`` instead, if prepared
                  with ``named=True``. timeout: seconds for this call; None: command_timeout.
        """
        if named is not None or self._names is not None:
            args = self._by_position(args, named)
        fetcher = self._fetcher if row_factory is None else RowFetcher(row_factory)
        return await self._run(args, fetcher.fetch_all, timeout)

    @overload
    async def fetchrow(
        self,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: None = None,
        timeout: float | None = None,
    ) -> Item | None: ...
    @overload
    async def fetchrow(
        self,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[R],
        timeout: float | None = None,
    ) -> R | None: ...
    async def fetchrow(
        self,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
        timeout: float | None = None,
    ) -> Any | None:
        """The first row, or None if there are no rows. See `fetch`."""
        if named is not None or self._names is not None:
            args = self._by_position(args, named)
        fetcher = self._fetcher if row_factory is None else RowFetcher(row_factory)
        return await self._run(args, fetcher.fetch_first, timeout)

    async def fetchval(
        self,
        *args: Value,
        named: NamedValues | None = None,
        column: int | str = 0,
        timeout: float | None = None,
    ) -> Value:
        """One value of the first row, by column position or name; None if there are no rows. See `fetch`."""
        if named is not None or self._names is not None:
            args = self._by_position(args, named)
        if isinstance(column, str):
            row = await self._run(args, RECORDS.fetch_first, timeout)
        else:
            row = await self._run(args, TUPLES.fetch_first, timeout)
        return value_at(row, column)

    async def execute(
        self, *args: Value, named: NamedValues | None = None, timeout: float | None = None
    ) -> ExecuteResult:
        """Execute once; rows are counted and discarded. See `fetch`."""
        if named is not None or self._names is not None:
            args = self._by_position(args, named)
        return await self._run(args, execute_statement, timeout)

    async def executemany(
        self,
        rows: ParamRows | None = None,
        *,
        named: MappingRows | None = None,
        on_error: OnError = "raise",
        timeout: float | None = None,
    ) -> ExecuteResult:
        """Execute once for each row, pipelined. See `Connection.executemany`."""
        collect = check_on_error(on_error)
        source = self._rows_by_position(rows, named)
        return await self._run(
            (),
            lambda statement, _: executemany_statement(statement, source, collect=collect),
            timeout,
            once=is_single_use(source, self._session),
        )

    @overload
    def stream(
        self,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: None = None,
        prefetch: bool = True,
        timeout: float | None = None,
    ) -> Stream[Item]: ...
    @overload
    def stream(
        self,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[R],
        prefetch: bool = True,
        timeout: float | None = None,
    ) -> Stream[R]: ...
    def stream(
        self,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
        prefetch: bool = True,
        timeout: float | None = None,
    ) -> Stream[Any]:
        """The rows, block by block.

        A prepared statement has one cursor: every other call is an `InterfaceError` until the stream is read to its end
        or closed.

        Args:     timeout: seconds for each block; None: command_timeout.
        """
        if named is not None or self._names is not None:
            args = self._by_position(args, named)
        factory = row_factory or self._factory
        self._ready()
        return Stream(self._statements, self._begin, args, factory, prefetch=prefetch, timeout=timeout)

    async def close(self) -> None:
        """Give the statement back; nothing is waited for. Closing twice is fine."""
        if not self._closed:
            if not self._statements.is_closed:
                self._session.dispatcher.owner.check()
            self._closed = True
            _release(self._statements, self._statement)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and not self._statements.is_closed:
            self._session.dispatcher.call_threadsafe(_release, self._statements, self._statement)

    def _ready(self) -> Statement:
        if self._closed:
            raise InterfaceError("the prepared statement is closed")
        if self._statement.is_open:
            raise InterfaceError("a stream of this prepared statement is still open; close it first")
        return self._statement

    async def _begin(self, params: Sequence[Value], action: Action[T]) -> tuple[Statement, T]:
        """Run *action* for a stream that holds the lock."""
        may_repeat, statement = not self._session.in_transaction, self._ready()
        try:
            return statement, await action(statement, params)
        except BaseException as error:
            return await self._retry_if_stale(statement, error, may_repeat, params, action)

    async def _retry_if_stale(
        self,
        statement: Statement,
        error: BaseException,
        may_repeat: bool,
        params: Sequence[Value],
        action: Action[T],
    ) -> tuple[Statement, T]:
        """Close the cursor after a failure. If the table has changed, prepare again and retry."""
        _close_cursor(statement)
        note_sql(error, statement.sql)
        fresh = await self._statements.prepare_again(statement, error)
        if fresh is None:
            raise error
        self._statement = fresh
        if not may_repeat:
            note_stale(error)
            raise error
        try:
            return fresh, await action(fresh, params)
        except BaseException:
            _close_cursor(fresh)
            raise

    def _by_position(self, args: tuple[Value, ...], named: NamedValues | None) -> tuple[Value, ...]:
        """The values of the placeholders, by position."""
        names = self._names
        if named is None or args or names is None:
            raise InterfaceError(_HOW_NAMED if names is None else _NAMED_ONLY)
        values = names.values(named)
        for name, value in zip(names.names, values, strict=True):
            if is_list(value):
                raise InterfaceError(
                    f"parameter :{name}: a prepared statement expects one value, got a {type(value).__name__};"
                    " only the calls of a connection or pool expand it"
                )
        return values

    def _rows_by_position(self, rows: ParamRows | None, named: MappingRows | None) -> ParamRows | NamedRows:
        """The rows of values for executemany."""
        names = self._names
        if named is not None and names is not None and rows is None:
            return NamedRows(names, named)
        if named is not None or names is not None:
            raise InterfaceError(_HOW_NAMED if names is None else _NAMED_ONLY)
        check_rows(rows)
        assert rows is not None
        return rows

    async def _run(
        self,
        params: Sequence[Value],
        action: Action[T],
        timeout: float | None,
        *,
        once: bool = False,
    ) -> T:
        """A whole call: acquire the lock, use the statement, then close its cursor.

        Args:     once: *action* cannot be repeated; a stale statement is prepared again only for the next call.
        """
        session = self._session
        if timeout is not None or session.settings.pending or not session.dispatcher.try_acquire():
            await session.acquire(timeout)
        try:
            may_repeat, statement = not (once or session.in_transaction), self._ready()
            try:
                result = await action(statement, params)
            except BaseException as error:
                statement, result = await self._retry_if_stale(statement, error, may_repeat, params, action)
            self._statements.invalidate_after(statement)
            statement.close_cursor()
            if statement.returns_rows:
                session.commit_later()
            elif session.is_ansi:
                await session.autocommit()
            return result
        finally:
            session.dispatcher.release()


def _close_cursor(statement: Statement) -> None:
    statement.close_cursor()
    statement.session.commit_later()


_HOW_NAMED = "named: expected values by position; the statement was prepared without named=True"
_NAMED_ONLY = (
    "named: missing; the statement was prepared with named=True and does not accept values by position"
)


def _release(statements: StatementCache, statement: Statement) -> None:
    """Release the statement to the cache, unless an open stream still uses it."""
    if statement.is_open:
        statement.release_later()
    else:
        statements.release(statement)
