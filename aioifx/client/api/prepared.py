"""A prepared statement that the user executes repeatedly. Never: opcodes."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any, Generic, Self, TypeVar, Unpack, cast, overload

from aioifx.client.api.queries import FetchOptions, StreamOptions
from aioifx.client.config.checks import Lobs, check_lobs
from aioifx.client.execution.actions import Action, execute_statement, fetch_all_rows, fetch_first_row
from aioifx.client.execution.arrow_reader import ArrowData, ArrowTable, is_arrow
from aioifx.client.execution.block_reader import BlockReader
from aioifx.client.execution.execute import OnError, call, check_on_error, executemany, named_rows, value_at
from aioifx.client.execution.parameters import check_rows
from aioifx.client.execution.pipeline import BatchRows, ParamRows
from aioifx.client.execution.result import ExecuteResult
from aioifx.client.execution.row_plan import LobRows, RowPlans
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import StatementCache, note_stale
from aioifx.client.execution.stream import Stream
from aioifx.client.observation.observation import Watch
from aioifx.client.observation.operation import OperationName
from aioifx.client.session.failures import note_sql
from aioifx.client.session.loop_binding import NotCopied
from aioifx.client.session.session import Session
from aioifx.client.sql.placeholders import MappingRows, NamedStatement, NamedValues, is_list
from aioifx.client.sql.templates import note_place
from aioifx.codecs.base import Floating
from aioifx.codecs.conversions import Conversions
from aioifx.codecs.record_batches import ArrowResult
from aioifx.errors import InterfaceError
from aioifx.rows import Item, RowFactory, record_row, tuple_row
from aioifx.sqltypes import Column, SqlType, Value

R = TypeVar("R")
T = TypeVar("T")


class PreparedStatement(NotCopied, Generic[Item]):
    """Returned by `Connection.prepare`; stays prepared at the server until `close`.

    ``async with await conn.prepare(...) as statement:`` closes it at its end.

    If its table has changed (-710), the statement is prepared again and executed once more. In a transaction, and in an
    `executemany` whose rows cannot be read twice, the error is raised instead; the next execution then succeeds.

    Args:
        names: the statement's named parameters, if it has any.
        values: those of a call without any: of the template that was prepared.
    """

    def __init__(
        self,
        statements: StatementCache,
        statement: Statement,
        factory: RowFactory[Any],
        names: NamedStatement | None = None,
        values: tuple[Value, ...] = (),
    ) -> None:
        self._names = names
        self._values = values
        self._takes_values = names is None and not values
        """Whether the values of each call are those of its placeholders."""
        self._own = _OwnStatement(statements, statement)
        self._factory = factory
        session = statements.base_session
        self._observed = None if session.observation is None else session

    def __repr__(self) -> str:
        state = "closed" if self._own.is_user_closed else f"id {self._own.statement.statement_id}"
        return f"<PreparedStatement {state}: {self._own.statement.sql[:60]!r}>"

    @property
    def sql(self) -> str:
        """The SQL text that was prepared."""
        return self._own.statement.sql

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result; empty if the statement returns no rows."""
        return self._own.statement.columns

    @property
    def parameters(self) -> tuple[SqlType | None, ...]:
        """The parameter types that the server expects; None for a type that the server does not describe."""
        return self._own.statement.parameters

    @overload
    async def fetch(
        self, *args: Value, row_factory: None = None, **options: Unpack[FetchOptions]
    ) -> list[Item]: ...
    @overload
    async def fetch(
        self, *args: Value, row_factory: RowFactory[R], **options: Unpack[FetchOptions]
    ) -> list[R]: ...
    async def fetch(
        self,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
        lobs: Lobs | None = None,
        timeout: float | None = None,
    ) -> list[Any]:
        """Run the query and return every row.

        Args:
            args: values of the placeholders ``?``; none: those of the template that was prepared, if it was one.
            named: values of ``:name`` or ``:1`` instead, if prepared with ``style="named"``.
            lobs: as in `Connection.fetch`.
            timeout: seconds for this call; None: command_timeout.
        """
        factory = self._factory if row_factory is None else row_factory
        return await self._call("fetch", args, named, fetch_all_rows, factory, lobs, timeout)

    @overload
    async def fetchrow(
        self, *args: Value, row_factory: None = None, **options: Unpack[FetchOptions]
    ) -> Item | None: ...
    @overload
    async def fetchrow(
        self, *args: Value, row_factory: RowFactory[R], **options: Unpack[FetchOptions]
    ) -> R | None: ...
    async def fetchrow(
        self,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
        lobs: Lobs | None = None,
        timeout: float | None = None,
    ) -> Any | None:
        """The first row, or None if there are no rows. See `fetch`."""
        factory = self._factory if row_factory is None else row_factory
        return await self._call("fetchrow", args, named, fetch_first_row, factory, lobs, timeout)

    async def fetchval(
        self,
        *args: Value,
        named: NamedValues | None = None,
        column: int | str = 0,
        lobs: Lobs | None = None,
        timeout: float | None = None,
    ) -> Value:
        """One value of the first row, by column position or name; None if there are no rows. See `fetch`."""
        factory: RowFactory[Any] = record_row if isinstance(column, str) else tuple_row
        row = await self._call("fetchval", args, named, fetch_first_row, factory, lobs, timeout)
        return value_at(row, column)

    async def execute(
        self, *args: Value, named: NamedValues | None = None, timeout: float | None = None
    ) -> ExecuteResult:
        """Execute once; rows are counted and discarded. See `fetch`."""
        return await self._call("execute", args, named, execute_statement, None, None, timeout)

    async def executemany(
        self,
        rows: ParamRows | ArrowTable | None = None,
        *,
        named: MappingRows | ArrowTable | None = None,
        on_error: OnError = "raise",
        timeout: float | None = None,
    ) -> ExecuteResult:
        """Execute once for each row, pipelined. See `Connection.executemany`."""
        collect = check_on_error(on_error)
        source = self._rows_by_position(rows, named)
        work = executemany(self._own, self.sql, source, collect=collect, timeout=timeout)
        if self._observed is None:
            return await work
        size = len(rows) if isinstance(rows, (list, tuple)) else None
        return await self._observed.observed("executemany", work, self.sql, 0, size)

    @overload
    def stream(
        self, *args: Value, row_factory: None = None, **options: Unpack[StreamOptions]
    ) -> Stream[Item]: ...
    @overload
    def stream(
        self, *args: Value, row_factory: RowFactory[R], **options: Unpack[StreamOptions]
    ) -> Stream[R]: ...
    def stream(
        self,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
        lobs: Lobs | None = None,
        prefetch: bool = True,
        timeout: float | None = None,
    ) -> Stream[Any]:
        """The rows, block by block.

        A prepared statement has one cursor: until the stream is exhausted or closed, other calls raise
        `InterfaceError`.

        Args:
            timeout: seconds for each block; None: command_timeout.
        """
        if named is not None or not self._takes_values:
            args = self._by_position(args, named)
        if lobs is not None:
            check_lobs(lobs)
        plan = partial(RowPlans.of_stream, factory=row_factory or self._factory, lobs=lobs, timeout=timeout)
        self._own.check_ready()
        reader = BlockReader(self._own, self.sql, args, plan, prefetch=prefetch, timeout=timeout)
        session = self._observed
        if session is not None and session.observation is not None:
            reader.watch = Watch(session.observation, "stream", self.sql, len(args), session)
        return Stream(reader)

    async def fetch_arrow(
        self,
        *args: Value,
        named: NamedValues | None = None,
        floating_decimal: Floating = "float",
        timeout: float | None = None,
    ) -> ArrowResult:
        """All rows in Arrow's layout; see `Connection.fetch_arrow`."""
        stream = self.stream(*args, named=named, timeout=timeout)
        return await stream.arrow(floating_decimal=floating_decimal).read_all()

    async def close(self) -> None:
        """Release the statement. Waits for nothing. Idempotent."""
        self._own.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _call(
        self,
        name: OperationName,
        args: tuple[Value, ...],
        named: NamedValues | None,
        action: Action[Any, T],
        argument: Any,
        lobs: Lobs | None,
        timeout: float | None,
    ) -> Awaitable[T]:
        """`execute.call` on the statement, as one operation."""
        if named is not None or not self._takes_values:
            args = self._by_position(args, named)
        if lobs is not None:
            argument = LobRows(argument, lobs)
        work = call(self._own, self.sql, args, action, argument, timeout)
        return work if self._observed is None else self._observed.observed(name, work, self.sql, len(args))

    def _by_position(self, args: tuple[Value, ...], named: NamedValues | None) -> tuple[Value, ...]:
        """The values of the placeholders, by position."""
        names = self._names
        if named is None and self._values:
            return args or self._values
        if named is None or args or names is None:
            raise InterfaceError(_HOW_NAMED if names is None else _NAMED_ONLY)
        values = names.values(named)
        if any(map(is_list, values)):
            for name, value, (_, expands) in zip(names.names, values, names.lists(values), strict=True):
                if expands:
                    raise InterfaceError(
                        f"parameter :{name}: expected one value for a prepared statement, got {type(value).__name__};"
                        " only the calls of a connection or pool expand a list"
                    )
        return values

    def _rows_by_position(
        self, rows: ParamRows | ArrowTable | None, named: MappingRows | ArrowTable | None
    ) -> BatchRows:
        """The rows of values for executemany."""
        names = self._names
        if named is not None and names is not None and rows is None:
            return named_rows(names, named)
        if named is not None or names is not None:
            raise InterfaceError(_HOW_NAMED if names is None else _NAMED_ONLY)
        if is_arrow(rows):
            return ArrowData(rows)
        check_rows(rows)
        return cast("ParamRows", rows)


def conversions_of(statement: PreparedStatement[Any]) -> Conversions:
    """The conversions of a statement's values; for modules of this package."""
    return statement._own.statement.conversions  # pyright: ignore[reportPrivateUsage] - of this module


class _OwnStatement:
    """The statement of one `PreparedStatement`, as the source of its calls. Streams keep it alive."""

    def __init__(self, statements: StatementCache, statement: Statement) -> None:
        self._statements = statements
        self.statement = statement
        statement.is_from_cache = True  # a later table change can make it stale
        self.is_user_closed = False

    @property
    def session(self) -> Session:
        return self._statements.session

    @property
    def is_closed(self) -> bool:
        return self._statements.is_closed

    @property
    def base_session(self) -> Session:
        return self._statements.base_session

    def check_ready(self) -> None:
        """Raise InterfaceError if the statement was closed, or has an open cursor."""
        if self.is_user_closed:
            raise InterfaceError("the prepared statement is closed")
        if self.statement.is_open:
            raise InterfaceError("a stream of this prepared statement is still open; close it first")

    def lookup(self, sql: str, params: Sequence[Value] | None) -> Statement:
        self.check_ready()
        return self.statement

    async def prepare(self, sql: str, params: Sequence[Value] | None = None) -> Statement:
        """Prepare the text again, in place of the statement so far."""
        stale, fresh = self.statement, await self._statements.prepare(sql)
        fresh.is_one_shot = False
        self.statement = fresh
        self._statements.drop(stale)
        return fresh

    def release(self, statement: Statement) -> None:
        statement.close_cursor()
        statement.is_from_cache = True

    def on_failure(self, statement: Statement, error: BaseException) -> None:
        note_sql(error, statement.sql)
        statement.close_cursor()
        statement.session.transactions.commit_later()

    async def recover(
        self, statement: Statement, error: BaseException, params: Sequence[Value] | None, may_repeat: bool
    ) -> Statement | None:
        note_place(error, params)
        self.on_failure(statement, error)
        if not self._statements.is_stale(statement, error):
            return None
        fresh = await self.prepare(statement.sql)
        if may_repeat:
            return fresh
        fresh.is_from_cache = True
        note_stale(error)
        return None

    def clear(self) -> None:
        self._statements.clear()

    def close(self) -> None:
        """Release the statement. Waits for nothing. Idempotent."""
        if not self.is_user_closed:
            if not self.is_closed:
                self.session.dispatcher.binding.check()
            self.is_user_closed = True
            _release(self._statements, self.statement)

    def __del__(self) -> None:
        if not getattr(self, "is_user_closed", True) and not self.is_closed:
            self.session.dispatcher.call_threadsafe(_release, self._statements, self.statement)


def _release(statements: StatementCache, statement: Statement) -> None:
    """Release the statement to the cache, unless an open stream still uses it."""
    if statement.is_open:
        statement.release_later()
    else:
        statements.release(statement)


_HOW_NAMED = (
    'named: expected values by position, got values by name; the statement was prepared without style="named"'
)
_NAMED_ONLY = (
    'named: missing; the statement was prepared with style="named" and does not accept values by position'
)
