"""The query methods shared by Connection and Pool. Never: the session's lock, where the connection comes from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, overload

from aioifx.client.bulk.arguments import Commit, Format, OnReject, Progress, RowSource, Target
from aioifx.client.config.checks import Lobs, check_lobs, check_timeout
from aioifx.client.execution.actions import Action, execute_statement, fetch_all_rows, fetch_first_row
from aioifx.client.execution.arrow_reader import ArrowTable
from aioifx.client.execution.block_reader import BlockReader
from aioifx.client.execution.execute import (
    OnError,
    by_position,
    call_of,
    check_on_error,
    execute_text,
    executemany,
    rows_by_position,
    value_at,
)
from aioifx.client.execution.outputs import call_routine
from aioifx.client.execution.pipeline import ParamRows
from aioifx.client.execution.result import ExecuteResult
from aioifx.client.execution.row_plan import LobRows, RowPlan, RowPlans
from aioifx.client.execution.statement_cache import StatementCache
from aioifx.client.execution.stream import Stream
from aioifx.client.observation.operation import OperationName
from aioifx.client.sql.placeholders import MappingRows, NamedValues
from aioifx.client.sql.scanner import check_sql
from aioifx.client.sql.templates import Sql
from aioifx.codecs.base import Floating
from aioifx.codecs.record_batches import ArrowResult
from aioifx.codecs.temporal_text import ISO_DATES, check_dbdate
from aioifx.errors import InterfaceError
from aioifx.rows import Item, RowFactory, record_row, tuple_row
from aioifx.sqltypes import Value

if TYPE_CHECKING:
    from aioifx.client.bulk.sources import SourceReader

A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")


class FetchOptions(TypedDict, total=False):
    """Arguments of `Queries.fetch` that do not decide what it returns."""

    named: NamedValues | None
    lobs: Lobs | None
    timeout: float | None


class StreamOptions(FetchOptions, total=False):
    """Those of `Queries.stream`."""

    prefetch: bool


class Queries(ABC, Generic[Item]):
    """Query methods. Each call needs one connection.

    Args:
        factory: the default row factory.
    """

    def __init__(self, factory: RowFactory[Item] | None) -> None:
        self._factory: RowFactory[Any] = factory or record_row

    @abstractmethod
    def _call(
        self,
        name: OperationName,
        sql: str,
        params: Sequence[Value],
        action: Action[A, T],
        argument: A,
        timeout: float | None,
    ) -> Awaitable[T]:
        """`execute.call` on one connection, as one operation."""

    @abstractmethod
    def _run(
        self,
        name: OperationName,
        sql: str,
        parameters: int,
        function: Callable[[StatementCache], Awaitable[T]],
        batch_size: int | None = None,
    ) -> Awaitable[T]:
        """Call *function* with the statement cache of one connection, as one operation."""

    @abstractmethod
    def _block_reader(
        self,
        sql: str,
        params: Sequence[Value],
        plan: Callable[[RowPlans], RowPlan],
        prefetch: bool,
        timeout: float | None,
    ) -> BlockReader:
        """A reader of a query's blocks on one connection."""

    @property
    def row_factory(self) -> RowFactory[Item]:
        """The default row factory."""
        return self._factory

    # -- rows ---------------------------------------------------------------------------------------------------------

    @overload
    async def fetch(
        self, sql: Sql, *args: Value, row_factory: None = None, **options: Unpack[FetchOptions]
    ) -> list[Item]: ...
    @overload
    async def fetch(
        self, sql: Sql, *args: Value, row_factory: RowFactory[R], **options: Unpack[FetchOptions]
    ) -> list[R]: ...
    async def fetch(
        self,
        sql: Sql,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
        lobs: Lobs | None = None,
        timeout: float | None = None,
    ) -> list[Any]:
        """Run a query and return all rows.

        A statement that returns no rows is executed; the list is then empty.

        Args:
            sql: one statement: text, or a t-string (Python 3.14), whose interpolations are its values.
            args: the values of its placeholders, ``?``.
            named: instead, the values of its ``:name`` or ``:1``; a list or tuple expands to as many values as it
                has: ``IN (:ids)``.
            row_factory: makes the rows of this call; None: the connection's.
            lobs: how large values are returned, "handles" or "inline"; None: as by the connection's option.
            timeout: seconds for the whole call, including the wait for the connection; None: command_timeout.

        Raises:
            QueryTimeout: the call took longer.
            InterfaceError: *timeout* is zero or less, or the values do not match the placeholders.
        """
        if named is not None or type(sql) is not str:
            sql, args = by_position(sql, args, named)
        if timeout is not None:
            check_timeout(timeout)  # before a pool acquires a connection; likewise below
        factory = self._factory if row_factory is None else row_factory
        if lobs is not None:
            factory = LobRows(factory, lobs)
        return await self._call("fetch", sql, args, fetch_all_rows, factory, timeout)

    @overload
    async def fetchrow(
        self, sql: Sql, *args: Value, row_factory: None = None, **options: Unpack[FetchOptions]
    ) -> Item | None: ...
    @overload
    async def fetchrow(
        self, sql: Sql, *args: Value, row_factory: RowFactory[R], **options: Unpack[FetchOptions]
    ) -> R | None: ...
    async def fetchrow(
        self,
        sql: Sql,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
        lobs: Lobs | None = None,
        timeout: float | None = None,
    ) -> Any | None:
        """Run a query and return its first row, or None; no further rows are fetched. See `fetch`."""
        if named is not None or type(sql) is not str:
            sql, args = by_position(sql, args, named)
        if timeout is not None:
            check_timeout(timeout)
        factory = self._factory if row_factory is None else row_factory
        if lobs is not None:
            factory = LobRows(factory, lobs)
        return await self._call("fetchrow", sql, args, fetch_first_row, factory, timeout)

    async def fetchval(
        self,
        sql: Sql,
        *args: Value,
        named: NamedValues | None = None,
        column: int | str = 0,
        lobs: Lobs | None = None,
        timeout: float | None = None,
    ) -> Value:
        """Run a query and return one value of its first row; None if there are no rows. See `fetch`.

        Args:
            column: its 0-based position, or its name.

        Raises:
            InterfaceError: the row has no such column.
        """
        if named is not None or type(sql) is not str:
            sql, args = by_position(sql, args, named)
        if timeout is not None:
            check_timeout(timeout)
        # Checking the class first is free.
        by_place = column.__class__ is int or not isinstance(column, str)
        factory: RowFactory[Any] = tuple_row if by_place else record_row
        if lobs is not None:
            factory = LobRows(factory, lobs)
        row = await self._call("fetchval", sql, args, fetch_first_row, factory, timeout)
        return value_at(row, column)

    @overload
    def stream(
        self, sql: Sql, *args: Value, row_factory: None = None, **options: Unpack[StreamOptions]
    ) -> Stream[Item]: ...
    @overload
    def stream(
        self, sql: Sql, *args: Value, row_factory: RowFactory[R], **options: Unpack[StreamOptions]
    ) -> Stream[R]: ...
    def stream(
        self,
        sql: Sql,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
        lobs: Lobs | None = None,
        prefetch: bool = True,
        timeout: float | None = None,
    ) -> Stream[Any]:
        """The rows of a query, block by block, in constant memory. See `Stream`.

        Not awaited: nothing is sent until the first row is requested.

        Args:
            lobs: how large values are returned; "stream" returns each as a series of chunks, valid until the next row:
                ``async for chunk in row["photo"]``.
            prefetch: False requests a block only when its first row is needed, not while the previous block is
                consumed.
            timeout: seconds for each block; None: command_timeout.
        """
        if named is not None or type(sql) is not str:
            sql, args = by_position(sql, args, named)
        check_sql(sql)
        if lobs is not None:
            check_lobs(lobs)
        factory = self._factory if row_factory is None else row_factory
        plan = partial(RowPlans.of_stream, factory=factory, lobs=lobs, timeout=timeout)
        return Stream(self._block_reader(sql, args, plan, prefetch, timeout))

    async def fetch_arrow(
        self,
        sql: Sql,
        *args: Value,
        named: NamedValues | None = None,
        floating_decimal: Floating = "float",
        timeout: float | None = None,
    ) -> ArrowResult:
        """Run a query and return all rows in Arrow's layout, for Polars, DuckDB and others.

        It needs pyarrow only without the kernel.

        Args:
            floating_decimal: as for `Stream.arrow`.
            timeout: seconds for each block; None: command_timeout.

        Raises:
            DataError: a value cannot be decoded, or Arrow's type cannot hold it; the message names the column.
            NotSupportedError: a column's type cannot be fetched, or there is neither the kernel nor pyarrow.
            InterfaceError: the statement returns no rows.
        """
        stream = self.stream(sql, *args, named=named, timeout=timeout)
        return await stream.arrow(floating_decimal=floating_decimal).read_all()

    # -- statements ---------------------------------------------------------------------------------------------------

    @overload
    async def call(
        self,
        routine: str,
        *args: Value,
        named: Mapping[str, Value] | None = None,
        row_factory: None = None,
        timeout: float | None = None,
    ) -> list[Item]: ...
    @overload
    async def call(
        self,
        routine: str,
        *args: Value,
        named: Mapping[str, Value] | None = None,
        row_factory: RowFactory[R],
        timeout: float | None = None,
    ) -> list[R]: ...
    async def call(
        self,
        routine: str,
        *args: Value,
        named: Mapping[str, Value] | None = None,
        row_factory: RowFactory[Any] | None = None,
        timeout: float | None = None,
    ) -> list[Any]:
        """Call a stored procedure or function and return its results as rows.

        The values of OUT and INOUT parameters are columns of the row, with the names of the parameters. An OUT
        parameter needs an argument too, such as None.

        Args:
            routine: ``[database:][owner.]name``.
            args: its arguments by position.
            named: instead, by their names.
            timeout: as in `fetch`; for each of two steps with OUT or INOUT parameters.
        """
        sql, values = call_of(routine, args, named)
        if timeout is not None:
            check_timeout(timeout)
        factory = self._factory if row_factory is None else row_factory
        call = partial(
            call_routine, sql=sql, values=values, factory=factory, args=args, named=named, timeout=timeout
        )
        return await self._run("call", sql, len(values), call)

    async def execute(
        self,
        sql: Sql,
        *args: Value,
        named: NamedValues | None = None,
        timeout: float | None = None,
    ) -> ExecuteResult:
        """Run one statement of any kind. Rows of a query are counted and discarded. See `fetch`.

        A statement without parameters that cannot return rows takes one round trip.
        """
        if named is not None or type(sql) is not str:
            sql, args = by_position(sql, args, named)
        if timeout is not None:
            check_timeout(timeout)
        if args:
            return await self._call("execute", sql, args, execute_statement, None, timeout)
        return await self._run(
            "execute", sql, 0, partial(execute_text, sql=sql, timeout=timeout, params=args)
        )

    async def executemany(
        self,
        sql: str,
        rows: ParamRows | ArrowTable | None = None,
        *,
        named: MappingRows | ArrowTable | None = None,
        on_error: OnError = "raise",
        timeout: float | None = None,
    ) -> ExecuteResult:
        """Run a statement once for each row of an iterable or async iterable, pipelined, in constant memory.

        Outside a transaction it is all or nothing: a transaction is started for the rows, and rolled back if one fails.
        Inside a transaction, rows before the failed one remain until you roll back; rows already in flight may remain,
        too. In a database without a log each row commits by itself.

        *rowcount* of the result is the sum over all rows, and *serial* the last serial value.

        Args:
            rows: the values of each execution's placeholders, ``?``.
            named: instead, a mapping for each execution, with the values of ``:name``. Both may be a table with Arrow's
                PyCapsule interface.
            on_error: "collect" continues after rows that fail. The result has an error for each of them, with its
                row_index.
            timeout: seconds from one reply to the next; None: command_timeout.

        Raises:
            DatabaseError: for the first failed row, with its row_index.
            InterfaceError: *rows* uses this connection.
            ProgrammingError: the statement returns rows.
        """
        sql, source = rows_by_position(sql, rows, named)
        collect = check_on_error(on_error)
        check_timeout(timeout)
        function = partial(executemany, sql=sql, rows=source, collect=collect, timeout=timeout)
        size = len(rows) if isinstance(rows, (list, tuple)) else None
        return await self._run("executemany", sql, 0, function, batch_size=size)

    # -- bulk ---------------------------------------------------------------------------------------------------------

    async def load(
        self,
        table: str,
        rows: RowSource | None = None,
        *,
        named: MappingRows | ArrowTable | None = None,
        columns: Sequence[str] | None = None,
        format: Format | None = None,
        dbdate: str = ISO_DATES,
        block: int | None = None,
        commit: Commit = "end",
        progress: Progress | None = None,
        on_reject: OnReject | None = None,
        timeout: float | None = None,
    ) -> ExecuteResult:
        """Insert many rows into one table in bounded memory: a bulk load through an insert cursor.

        All or nothing, also inside your own transaction, unless *commit* is "block" or the database has no log.
        Values must have the Python types of their columns; the server converts nothing.

        Args:
            table: ``name``, ``owner.name``, ``db:name`` or ``db@server:name``.
            rows: an iterable or async iterable of sequences, or a table with Arrow's PyCapsule interface. With
                *format*, a path, an open file, or chunks of text or bytes.
            named: an iterable or async iterable of mappings by column name instead, or a table.
            columns: names of the columns in each row. None: the names in the header, in the first mapping or of the
                Arrow data's columns, else all columns of the table.
            format: "unload", "csv", or an object such as `CsvFormat(header=True)`. None: by the name of a file, .unl or
                .csv.
            dbdate: the form of dates in text, as in DBDATE.
            block: rows to send, and with commit="block" to commit, at a time. None: 128 KB of rows.
            commit: "end", or "block" to commit after each block; committed blocks remain after a later failure.
            progress: called with the number of rows so far after each block; an exception ends the load.
            on_reject: called with each row that cannot be loaded, an `aioifx.Reject`; the load goes on without it. An
                exception ends the load. None: the first such row ends it.
            timeout: seconds for each block; None: command_timeout.

        Returns:
            The number of rows, the last serial value, and warnings.

        Raises:
            DatabaseError: for the first row rejected by the server, with its row_index if it can be found.
            DataError: a value does not fit, or text cannot be parsed; with its row_index.
            InterfaceError: invalid arguments.
            NotSupportedError: a column's type cannot be loaded, or Arrow's type has no equivalent.
        """
        # Imported here because most programs never load or unload.
        from aioifx.client.bulk.load import LoadSpec, load
        from aioifx.client.bulk.sources import open_mappings, open_source
        from aioifx.client.bulk.text_formats import format_by_name, format_of

        spec = LoadSpec(table, columns, block, commit, progress, on_reject)
        check_dbdate(dbdate)
        check_timeout(timeout)
        format = format or format_by_name(rows)
        if named is not None and (rows is not None or format is not None):
            raise InterfaceError("named: cannot be combined with rows or format")

        def reader(statements: StatementCache) -> SourceReader:
            takes_aware = statements.session.conversions.takes_aware
            if named is not None:
                return open_mappings(named, columns, takes_aware=takes_aware)
            if rows is None:
                raise InterfaceError("rows: expected an iterable or async iterable, got NoneType")
            form = None if format is None else format_of(format, statements.session.file_code_set)
            return open_source(rows, form, dbdate, takes_aware=takes_aware)

        return await self._run(
            "load",
            f"insert into {table}",
            0,
            lambda statements: load(statements, reader(statements), spec, timeout),
        )

    async def unload(
        self,
        query: Sql,
        out: Target,
        *args: Value,
        named: NamedValues | None = None,
        format: Format | None = None,
        dbdate: str = ISO_DATES,
        progress: Progress | None = None,
        timeout: float | None = None,
    ) -> int:
        """Write the rows of a query as text, in constant memory, in a format that `load` reads.

        Args:
            out: a path, an open file (text or binary), or a function, async or not, called with bytes.
            args: values of the placeholders ``?``.
            named: values of ``:name`` instead.
            format: "unload", "csv", or an object such as `CsvFormat(header=True)`. None: by the name of a file, .unl or
                .csv; else "unload".
            dbdate: the form of dates in text, as in DBDATE.
            progress: called with the number of rows so far after each block; an exception ends the unload.
            timeout: seconds for each block; None: command_timeout.

        Returns:
            The number of rows. After a failure, the rows already written remain.
        """
        from aioifx.client.bulk.load import check_progress
        from aioifx.client.bulk.text_formats import format_by_name, format_of
        from aioifx.client.bulk.unload import unload

        check_progress(progress)
        check_dbdate(dbdate)
        check_timeout(timeout)
        if named is not None or type(query) is not str:
            query, args = by_position(query, args, named)
        check_sql(query)

        def start(statements: StatementCache) -> Awaitable[int]:
            code_set = statements.session.file_code_set
            name = format or format_by_name(out) or "unload"
            form = format_of(name, code_set)
            blocks = BlockReader(statements, query, args, RowPlans.plain, prefetch=True, timeout=timeout)
            return unload(blocks, out, form, dbdate=dbdate, progress=progress)

        return await self._run("unload", query, len(args), start)
