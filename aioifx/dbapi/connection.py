"""PEP 249's Connection and Cursor: each call runs the asyncio client's. Never: SQL's meaning, bytes.

A cursor keeps one block of rows, so that most fetches need no call of the event loop.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import length_hint
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from aioifx import errors
from aioifx.client.api.connection import Connection as AsyncConnection
from aioifx.client.api.connection import statements_of
from aioifx.client.api.cursor import ColumnDescription, fetch_block
from aioifx.client.api.cursor import Cursor as AsyncCursor
from aioifx.client.execution.arrow_reader import ArrowTable
from aioifx.client.execution.execute import OnError
from aioifx.client.execution.pipeline import ParamRows
from aioifx.client.session.database import LogMode
from aioifx.client.session.loop_binding import NotCopied
from aioifx.client.sql.placeholders import MappingRows, NamedValues
from aioifx.client.sql.templates import Sql
from aioifx.dbapi.loop_thread import Call, LoopThread
from aioifx.errors import InterfaceError
from aioifx.rows import RowFactory
from aioifx.sqltypes import Value

if TYPE_CHECKING:
    from aioifx.dbapi.adbc import IngestMode

P = ParamSpec("P")
T = TypeVar("T")


class Connection(NotCopied):
    """A session with an Informix server, with PEP 249's blocking methods; `connect` makes it.

    Threads may share it: their calls run one at a time, in the order in which they were made. A call blocks the calling
    thread, and with it an event loop that runs there.

    Ctrl+C during a call interrupts the statement at the server. The connection stays usable.

    In a forked process its methods raise InterfaceError, and `close` closes that process's descriptor alone. At the
    interpreter's exit open connections are closed. One that is garbage-collected before causes a ResourceWarning.

    Finalizers, such as those of pools, and handlers of signals may run while their thread waits for a call. There
    `cancel`, `rollback`, `close` and `terminate` wait for nothing: they are done before the next call. Other methods
    raise InterfaceError there, and in code that runs in the event loop.

    As a context manager it commits at the end of the block, or rolls back after an exception, and then closes.
    """

    # PEP 249: the exceptions as attributes, for code that does not know the module.
    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, thread: LoopThread, connection: AsyncConnection[Any]) -> None:
        self._thread = thread
        self._connection = connection

    def __repr__(self) -> str:
        return repr(self._connection)

    def run(
        self,
        function: Callable[Concatenate[AsyncConnection[Any], P], Awaitable[T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Await ``function(connection, *args, **kwargs)``, where *connection* is the asyncio connection below.

        For what PEP 249 lacks: ``conn.run(aioifx.Connection.load, "orders", rows)``. The function runs in the event
        loop of all blocking connections, where it must not block. Tasks that it leaves go on in the background.

        Raises:
            InterfaceError: in a forked process, or called by code that runs in that event loop.
        """
        return self._thread.run(lambda: function(self._connection, *args, **kwargs))

    def cursor(
        self, *, scroll: bool = False, hold: bool = False, row_factory: RowFactory[Any] | None = None
    ) -> Cursor:
        """A cursor; nothing is sent until its first `execute`. It takes the arguments of `aioifx.Connection.cursor`."""
        cursor: AsyncCursor[Any] = self._connection.cursor(scroll=scroll, hold=hold, row_factory=row_factory)
        return Cursor(self, self._thread, cursor, reads_ahead=not scroll)

    def commit(self) -> None:
        """COMMIT WORK. Sends nothing if no transaction is open."""
        self.run(AsyncConnection.commit)

    def rollback(self) -> None:
        """ROLLBACK WORK. Sends nothing if no transaction is open."""
        self._finish(AsyncConnection.rollback)

    @property
    def autocommit(self) -> bool:
        """Whether a statement outside a transaction commits by itself; by default not. It can be set outside one.

        Raises:
            InterfaceError: on setting, a transaction is open, or a call of another thread is in flight.
            NotSupportedError: on setting to False, the database has no log.
        """
        return self._connection.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        async def work(connection: AsyncConnection[Any]) -> None:
            connection.autocommit = value

        self.run(work)

    def cancel(self) -> None:
        """Interrupt the statement that another thread runs on this connection; nothing if none runs.

        The interrupted call raises `QueryCanceled`, unless the statement had already finished.
        """

        async def work(connection: AsyncConnection[Any]) -> None:
            connection.cancel()

        self._finish(work)

    def ping(self) -> None:
        """Check that the server answers, in one round trip that executes nothing.

        Raises:
            ConnectionLost: it does not.
        """
        self.run(AsyncConnection.ping)

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._connection.is_in_transaction()

    @property
    def database(self) -> str:
        """Name of the open database; empty if none is open."""
        return self._connection.database

    @property
    def isolation(self) -> str:
        """Isolation level of the next statement, such as "committed_read"."""
        return self._connection.isolation

    @property
    def log_mode(self) -> LogMode | None:
        """Logging mode of the open database: "logged", "ansi" or "unlogged"; None if none is open."""
        return self._connection.log_mode

    @property
    def server_version(self) -> str:
        """The server's version text, as sent at login."""
        return self._connection.server_version

    def is_closed(self) -> bool:
        """Whether the connection was closed, by either side."""
        return self._connection.is_closed()

    def close(self) -> None:
        """Close the connection; the server rolls back an open transaction. Idempotent."""
        if self._thread.binding.is_inherited:
            self._connection.terminate()
        elif not self._thread.has_ended:
            self._finish(AsyncConnection.close)

    def terminate(self) -> None:
        """Drop the connection immediately, without a message to the server. Idempotent.

        Calls of other threads raise `ConnectionLost`.
        """

        async def work(connection: AsyncConnection[Any]) -> None:
            connection.terminate()

        if self._thread.binding.is_inherited:
            self._connection.terminate()
        elif not self._thread.has_ended:
            self._finish(work)

    def _finish(self, function: Callable[[AsyncConnection[Any]], Awaitable[object]]) -> None:
        connection = self._connection
        self._thread.finish(lambda: function(connection))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.commit()
            elif not self.is_closed():
                with contextlib.suppress(errors.Error):  # the caller gets the first exception
                    self.rollback()
        finally:
            self.close()


class Cursor(NotCopied):
    """A cursor with PEP 249's blocking methods; `Connection.cursor` makes it. ``for row in cursor`` reads its rows.

    It has the rows of one statement at a time, and of these one block in memory. The size of a block is the option
    fetch_size, in bytes. Threads must not share a cursor.

    Args:
        reads_ahead: rows may be fetched before they are asked for.
    """

    def __init__(
        self, connection: Connection, thread: LoopThread, cursor: AsyncCursor[Any], *, reads_ahead: bool
    ) -> None:
        self.connection = connection
        """The connection that made it."""
        self.arraysize = 1
        """Default size of `fetchmany`, in rows. It has no effect on the size of a block."""
        self.messages: list[tuple[type[Exception], Exception]] = []
        """The server's warnings for the last statement, and the errors that an executemany has collected."""
        self._thread = thread
        self._cursor = cursor
        self._reads_ahead = reads_ahead
        self._rows: Iterator[Any] = iter(())
        """The rest of the block in memory."""
        self._is_last = False
        """Whether no block comes after the one in memory."""
        self._is_closed = False

    def __repr__(self) -> str:
        return "<Cursor closed>" if self._is_closed else repr(self._cursor)

    # -- attributes ---------------------------------------------------------------------------------------------------

    @property
    def description(self) -> list[ColumnDescription] | None:
        """The columns of the result, with PEP 249's seven values each; None without a result.

        The type_code is a `SqlType`, and equal to the type objects of this module that it belongs to.
        """
        return self._cursor.description

    @property
    def rowcount(self) -> int:
        """Rows affected by the last statement; -1 for a query, whose number of rows is not known in advance."""
        return self._cursor.rowcount

    @property
    def lastrowid(self) -> int | None:
        """The serial value of the last row inserted; None when there is none."""
        return self._cursor.lastrowid

    @property
    def serials(self) -> tuple[int | None, ...]:
        """The serial values of the rows of the last `executemany`; see `ExecuteResult`."""
        return self._cursor.serials

    @property
    def rownumber(self) -> int | None:
        """0-based number of the next row; None without a result, or if unknown."""
        number = self._cursor.rownumber
        return None if number is None else number - length_hint(self._rows)

    @property
    def name(self) -> str | None:
        """Cursor name for WHERE CURRENT OF, while the cursor is open at the server; otherwise None."""
        return self._cursor.name

    # -- execute ------------------------------------------------------------------------------------------------------

    def execute(
        self,
        operation: Sql,
        parameters: Sequence[Value] | Mapping[str, Value] | None = (),
        *,
        named: NamedValues | None = None,
        timeout: float | None = None,
    ) -> Self:
        """Run a statement. For a query, fetch the first block, except with a scroll cursor.

        Earlier results of the cursor are discarded.

        Args:
            operation: one statement; a t-string has its values.
            parameters: the values of its placeholders, ``?``; or a mapping with the values of its ``:name``, which
                may have others.
            named: instead, the values of its ``:name`` or ``:1``, and no others.
            timeout: seconds for this call; None: command_timeout.

        Raises:
            ProgrammingError: a mapping lacks a value; names the parameter.
        """
        cursor = self._cursor
        values = () if parameters is None else parameters
        self._begin(lambda: cursor.execute(operation, values, named=named, timeout=timeout))
        return self

    def _begin(self, execute: Callable[[], Awaitable[T]]) -> T:
        """Run a statement, and fetch the first block of its rows; returns what *execute* returns."""
        cursor = self._cursor

        async def work() -> tuple[T, list[Any]]:
            result = await execute()
            return result, await fetch_block(cursor) if self._reads_ahead and cursor.columns else []

        self._reset()
        result, rows = self._run(work)
        self._rows, self._is_last = iter(rows), bool(cursor.columns) and not cursor.is_fetching
        self._collect_messages()
        return result

    def executemany(
        self,
        operation: str,
        seq_of_parameters: ParamRows | MappingRows | ArrowTable | None = None,
        *,
        named: MappingRows | ArrowTable | None = None,
        on_error: OnError = "raise",
        timeout: float | None = None,
    ) -> Self:
        """Run a statement once for each row, pipelined. See `aioifx.Connection.executemany`.

        If the statement has ``:name``, the rows are mappings as in `execute`. An iterable is iterated in the calling
        thread, so it may block, and use this module on another connection.
        """
        self._check_open()
        self._reset()
        cursor, call = self._cursor, Call[AsyncCursor[Any]](self._thread)
        source, mappings = _for_loop(call, seq_of_parameters), _for_loop(call, named)
        options: dict[str, Any] = {"on_error": on_error, "timeout": timeout}
        call.run(lambda: cursor.executemany(operation, source, named=mappings, **options))
        self._collect_messages()
        return self

    def callproc(self, procname: str, parameters: Sequence[Value] = ()) -> list[Value]:
        """Call a procedure or function; its results are the rows of this cursor.

        Args:
            procname: ``[database:][owner.]name``.
            parameters: its arguments by position; an OUT parameter needs one too, such as None.

        Returns:
            A copy of *parameters*, with the values of OUT and INOUT parameters, unless the routine has results, too.
        """
        cursor = self._cursor
        return self._begin(lambda: cursor.callproc(procname, parameters))

    def nextset(self) -> None:
        """None: a statement of Informix has one result.

        Raises:
            InterfaceError: the last statement had no result.
        """
        self._check_open()
        if self._cursor.description is None:
            raise InterfaceError("the cursor has no result: no query was executed")

    def setinputsizes(self, sizes: Sequence[object]) -> None:
        """Does nothing: the types of parameters are known without it."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: the option max_lob_size limits large values."""

    # -- fetch --------------------------------------------------------------------------------------------------------

    def fetchone(self) -> Any | None:
        """The next row, or None."""
        return next(self, None)

    def fetchmany(self, size: int | None = None) -> list[Any]:
        """The next *size* rows, fewer at the end; without a size, `arraysize`."""
        wanted: Any = self.arraysize if size is None else size
        if isinstance(wanted, int) and wanted > 0:
            return self._fetch(wanted)
        return self._run(lambda: self._cursor.fetchmany(wanted))  # none, or an error

    def fetchall(self) -> list[Any]:
        """All remaining rows."""
        return self._fetch(None)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        for row in self._rows:
            return row
        for row in self._fetch(1):
            return row
        raise StopIteration

    def scroll(self, value: int, mode: str = "relative") -> None:
        """Move to before another row, with a scroll cursor. See `aioifx.Cursor.scroll`.

        Raises:
            IndexError: there is no such row; the cursor has not moved.
        """
        self._run(lambda: self._cursor.scroll(value, mode))

    # -- Arrow, by the names of ADBC ----------------------------------------------------------------------------------

    def fetch_arrow_table(self) -> Any:
        """The remaining rows as a `pyarrow.Table`. It needs pyarrow.

        `aioifx.arrow` is faster, because it makes no rows; see `fetch_record_batch`.
        """
        return self.fetch_record_batch().read_all()

    def fetch_record_batch(self) -> Any:
        """The remaining rows as a `pyarrow.RecordBatchReader`, which fetches them as it is read.

        Raises:
            InterfaceError: the last statement had no result; when read, rows are not tuples, by the row factory.
            NotSupportedError: a column has objects, such as JSON and collections.
        """
        from aioifx.dbapi.adbc import reader_of

        self._check_open()
        client = self.connection._connection  # pyright: ignore[reportPrivateUsage] - of this module
        return reader_of(self._cursor.columns, statements_of(client).base_session, self.fetchmany)

    fetch_arrow = fetch_record_batch

    def adbc_ingest(
        self,
        table_name: str,
        data: Any,
        mode: IngestMode = "create",
        *,
        catalog_name: str | None = None,
        db_schema_name: str | None = None,
        temporary: bool = False,
    ) -> int:
        """Load Arrow data or a data frame into a table, by an insert cursor. It needs pyarrow.

        Text becomes LVARCHAR(2048) in a table that is created. Create it before, and append, for other types.

        Args:
            table_name: the table.
            data: what has Arrow's PyCapsule interface. Its columns have the names of the table's.
            mode: "create" the table, "append" to it, "replace" it, or "create_append": create it if there is none.
            catalog_name: the database that it is in; None: the open one.
            db_schema_name: its owner.
            temporary: create it for the session only.

        Returns:
            The number of rows.

        Raises:
            NotSupportedError: one of Arrow's types has no SQL type.
        """
        from aioifx.dbapi import adbc

        self._check_open()
        name = adbc.table_name(table_name, catalog_name, db_schema_name, temporary=temporary)
        reader = adbc.open_data(data)
        for sql in adbc.create_statements(name, reader.schema, mode, temporary=temporary):
            self.execute(sql)
        self._reset()
        return self.connection.run(AsyncConnection.load, name, reader).rowcount

    # -- close --------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the cursor and discard its rows. Idempotent, also after the connection was closed.

        Every other use then raises `InterfaceError`.
        """
        if not self._is_closed:
            self._reset()
            self._is_closed = True
            thread = self._thread
            # What has been read to its end is closed at the server already.
            if self._cursor.is_fetching and not (thread.binding.is_inherited or thread.has_ended):
                thread.finish(self._cursor.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- internals ----------------------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._is_closed:
            raise InterfaceError("the cursor is closed")

    def _run(self, work: Callable[[], Awaitable[T]]) -> T:
        self._check_open()
        call: Call[T] = Call(self._thread)
        return call.run(work)

    def _reset(self) -> None:
        self.messages.clear()
        self._rows, self._is_last = iter(()), False

    def _collect_messages(self) -> None:
        result = self._cursor.result
        if result is not None:
            self.messages += [(type(message), message) for message in (*result.warnings, *result.errors)]

    def _fetch(self, wanted: int | None) -> list[Any]:
        """The next *wanted* rows; None: all."""
        rows = list(islice(self._rows, wanted))
        if self._is_last or len(rows) == wanted:
            return rows
        left = None if wanted is None else wanted - len(rows)
        cursor = self._cursor

        async def work() -> list[Any]:
            found = await fetch_block(cursor)
            while (left is None or len(found) < left) and (block := await fetch_block(cursor)):
                found += block
            return found

        found = self._run(work)
        self._is_last = not cursor.is_fetching
        if left is None:
            return rows + found
        self._rows = iter(found[left:])
        return rows + found[:left]


def _for_loop(call: Call[Any], rows: Any) -> Any:
    """The rows of an executemany as the event loop may iterate over them."""
    kind = rows.__class__
    is_iterated_there = issubclass(kind, (list, tuple, str, bytes, Mapping, AsyncIterable)) or (
        hasattr(kind, "__arrow_c_stream__") or hasattr(kind, "__arrow_c_array__")
    )
    return call.rows_of(rows) if issubclass(kind, Iterable) and not is_iterated_there else rows
