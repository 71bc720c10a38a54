"""A statement that the user prepared, to be executed many times. Never: opcodes."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from aioifx.client.execute import (
    TUPLES,
    R,
    Rows,
    check_rows,
    execute_statement,
    executemany_statement,
    value_at,
)
from aioifx.client.owner import NotCopied
from aioifx.client.pipeline import ParamRows, comes_but_once
from aioifx.client.result import ExecuteResult
from aioifx.client.session import Session
from aioifx.client.statement import Statement
from aioifx.client.statements import Statements, Use, note_stale
from aioifx.client.stream import Stream
from aioifx.errors import InterfaceError
from aioifx.rows import Record, RowFactory
from aioifx.sqltypes import Column, SqlType, Value

T = TypeVar("T")


class PreparedStatement(NotCopied):
    """What `Connection.prepare` gives: the statement stays prepared at the server until `close`."""

    def __init__(self, statements: Statements, statement: Statement, factory: RowFactory[Any]) -> None:
        self._statements = statements
        self._statement = statement
        statement.reused = True  # its table may change before it is used
        self._factory = factory
        self._rows = Rows(factory)
        self._closed = False

    @property
    def _session(self) -> Session:
        return self._statements.session

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"id {self._statement.statement_id}"
        return f"<PreparedStatement {state}: {self._statement.sql[:60]!r}>"

    @property
    def sql(self) -> str:
        """The text that was prepared."""
        return self._statement.sql

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result; empty when the statement returns no rows."""
        return self._statement.columns

    @property
    def parameters(self) -> tuple[SqlType | None, ...]:
        """The types that the server expects; None where it does not say."""
        return self._statement.parameters

    @overload
    async def fetch(self, *args: Value) -> list[Record]: ...
    @overload
    async def fetch(self, *args: Value, row_factory: RowFactory[R]) -> list[R]: ...
    async def fetch(self, *args: Value, row_factory: RowFactory[Any] | None = None) -> list[Any]:
        """Every row."""
        rows = self._rows if row_factory is None else Rows(row_factory)
        return await self._run(args, rows.all)

    @overload
    async def fetchrow(self, *args: Value) -> Record | None: ...
    @overload
    async def fetchrow(self, *args: Value, row_factory: RowFactory[R]) -> R | None: ...
    async def fetchrow(self, *args: Value, row_factory: RowFactory[Any] | None = None) -> Any | None:
        """The first row, or None."""
        rows = self._rows if row_factory is None else Rows(row_factory)
        return await self._run(args, rows.first)

    async def fetchval(self, *args: Value, column: int = 0) -> Value:
        """One value of the first row, or None."""
        return value_at(await self._run(args, TUPLES.first), column)

    async def execute(self, *args: Value) -> ExecuteResult:
        """Execute once; rows are counted and dropped."""
        return await self._run(args, execute_statement)

    async def executemany(self, rows: ParamRows) -> ExecuteResult:
        """Execute once for each row, pipelined; see `Connection.executemany`."""
        check_rows(rows)
        once = comes_but_once(rows, self._session)
        return await self._run((), lambda statement, _: executemany_statement(statement, rows), once=once)

    @overload
    def stream(self, *args: Value, prefetch: bool = True) -> Stream[Record]: ...
    @overload
    def stream(self, *args: Value, row_factory: RowFactory[R], prefetch: bool = True) -> Stream[R]: ...
    def stream(
        self, *args: Value, row_factory: RowFactory[Any] | None = None, prefetch: bool = True
    ) -> Stream[Any]:
        """The rows, block by block. One at a time: a prepared statement has one cursor."""
        factory = row_factory or self._factory
        self._ready()
        return Stream(self._statements, self._begin, args, factory, prefetch=prefetch)

    async def close(self) -> None:
        """Give the statement back; nothing is waited for."""
        if not self._closed:
            if not self._statements.is_over:
                self._session.line.owner.check()
            self._closed = True
            _let_go(self._statements, self._statement)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and not self._statements.is_over:
            self._session.line.soon(_let_go, self._statements, self._statement)

    def _ready(self) -> Statement:
        if self._closed:
            raise InterfaceError("the prepared statement is closed")
        if self._statement.is_open:
            raise InterfaceError("a stream of this prepared statement is still open; close it first")
        return self._statement

    async def _begin(self, params: Sequence[Value], use: Use[T]) -> tuple[Statement, T]:
        """Use the statement, for a stream that has the turn."""
        may_repeat, statement = not self._session.in_transaction, self._ready()
        try:
            return statement, await use(statement, params)
        except BaseException as error:
            return await self._again(statement, error, may_repeat, params, use)

    async def _again(
        self,
        statement: Statement,
        error: BaseException,
        may_repeat: bool,
        params: Sequence[Value],
        use: Use[T],
    ) -> tuple[Statement, T]:
        """Behind a failure: close the cursor; where a change of its table was the matter, prepare and use it anew."""
        _put_cursor_down(statement)
        fresh = await self._statements.anew(statement, error)
        if fresh is None:
            raise error
        self._statement = fresh
        if not may_repeat:
            note_stale(error)
            raise error
        try:
            return fresh, await use(fresh, params)
        except BaseException:
            _put_cursor_down(fresh)
            raise

    async def _run(self, params: Sequence[Value], use: Use[T], *, once: bool = False) -> T:
        """A whole call: the turn, the use of the statement; its cursor is closed behind that.

        Args:     once: *use* cannot be repeated, so a stale statement is prepared again for the next call only.
        """
        session = self._session
        if session.manners.due or not session.line.turn_now():
            await session.__aenter__()
        try:
            may_repeat, statement = not (once or session.in_transaction), self._ready()
            try:
                result = await use(statement, params)
            except BaseException as error:
                statement, result = await self._again(statement, error, may_repeat, params, use)
            self._statements.executed(statement)
            statement.put_cursor_down()
            if statement.returns_rows:
                session.autocommit_later()
            elif session.is_ansi:
                await session.autocommit()
            return result
        finally:
            session.line.give_turn()


def _put_cursor_down(statement: Statement) -> None:
    statement.put_cursor_down()
    statement.session.autocommit_later()


def _let_go(statements: Statements, statement: Statement) -> None:
    """Keep the statement for others, unless a stream of it is still open and might go on."""
    if statement.is_open:
        statement.put_down()
    else:
        statements.give_back(statement)
