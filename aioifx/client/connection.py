"""Connection: statements, cursors, transactions, closing. Never: opcodes."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from aioifx.client.cursor import Cursor
from aioifx.client.delimited import TextFormat
from aioifx.client.execute import (
    TUPLES,
    Rows,
    call_of,
    check_on_error,
    check_rows,
    execute_statement,
    execute_text,
    executemany_statement,
    value_at,
)
from aioifx.client.feed import RowSource, feed_of
from aioifx.client.formats import format_of
from aioifx.client.line import Stats
from aioifx.client.load import Order, Progress, check_progress, load
from aioifx.client.manners import Isolation
from aioifx.client.moments import ISO_DATES
from aioifx.client.named import NamedValues, bind_named
from aioifx.client.owner import NotCopied
from aioifx.client.pipeline import ParamRows, comes_but_once
from aioifx.client.prepared import PreparedStatement
from aioifx.client.result import ExecuteResult
from aioifx.client.session import Session
from aioifx.client.statements import Statements
from aioifx.client.stream import Stream
from aioifx.client.transaction import Transaction, commit_work, rollback_work
from aioifx.client.unload import Target, unload
from aioifx.errors import ConnectionLost, InterfaceError
from aioifx.rows import Record, RowFactory, record_row, tuple_row
from aioifx.sqltypes import Value

R = TypeVar("R")


class Connection(NotCopied):
    """One session with an Informix server; `aioifx.connect` makes it.

    Calls from several tasks wait their turn, first come first served.

    Attributes:
        server_version: the server's version text, as it states it at login.
    """

    def __init__(
        self,
        session: Session,
        *,
        statement_cache_size: int = 100,
        address: str,
        server_version: str,
        row_factory: RowFactory[Any] | None = None,
        statements: Statements | None = None,
        dropped: Callable[[], None] | None = None,
    ) -> None:
        """Args:     statements, dropped: of one that is lent: what its lender keeps prepared, and what is called if it
        is garbage before it was given back.
        """
        self._session = session
        self._statements = Statements(session, statement_cache_size) if statements is None else statements
        self._blocks: list[Transaction] = []
        self._dropped = dropped
        self._is_lent = statements is not None
        self._address = address
        self._factory: RowFactory[Any] = row_factory or record_row
        self._rows = Rows(self._factory)
        self.server_version = server_version

    def __repr__(self) -> str:
        state = "open" if self._session.is_open else "closed"
        return f"<Connection {state} {self.database or 'no database'} at {self._address}>"

    @property
    def database(self) -> str:
        """The open database; empty when none is open. ``DATABASE other`` changes it."""
        return self._session.database

    @property
    def stats(self) -> Stats:
        """What this connection did so far: round trips, statements, rows."""
        return self._session.stats

    @property
    def row_factory(self) -> RowFactory[Any]:
        """What rows are made into, unless a call says otherwise."""
        return self._factory

    # -- queries ------------------------------------------------------------------------------------------------------

    @overload
    async def fetch(self, sql: str, *args: Value, named: NamedValues | None = None) -> list[Record]: ...
    @overload
    async def fetch(
        self, sql: str, *args: Value, named: NamedValues | None = None, row_factory: RowFactory[R]
    ) -> list[R]: ...
    async def fetch(
        self,
        sql: str,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> list[Any]:
        """Run a query and return every row.

        Args:     args: the values of its placeholders, ``?``. named: instead, those of its ``:name`` or ``:1``.
        """
        if named is not None:
            sql, args = _by_position(sql, args, named)
        rows = self._rows if row_factory is None else Rows(row_factory)
        return await self._statements.run(sql, args, rows.all)

    @overload
    async def fetchrow(self, sql: str, *args: Value, named: NamedValues | None = None) -> Record | None: ...
    @overload
    async def fetchrow(
        self, sql: str, *args: Value, named: NamedValues | None = None, row_factory: RowFactory[R]
    ) -> R | None: ...
    async def fetchrow(
        self,
        sql: str,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> Any | None:
        """Run a query and return its first row, or None."""
        if named is not None:
            sql, args = _by_position(sql, args, named)
        rows = self._rows if row_factory is None else Rows(row_factory)
        return await self._statements.run(sql, args, rows.first)

    async def fetchval(
        self, sql: str, *args: Value, named: NamedValues | None = None, column: int = 0
    ) -> Value:
        """Run a query and return one value of its first row; None without rows."""
        if named is not None:
            sql, args = _by_position(sql, args, named)
        return value_at(await self._statements.run(sql, args, TUPLES.first), column)

    @overload
    def stream(
        self, sql: str, *args: Value, named: NamedValues | None = None, prefetch: bool = True
    ) -> Stream[Record]: ...
    @overload
    def stream(
        self,
        sql: str,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[R],
        prefetch: bool = True,
    ) -> Stream[R]: ...
    def stream(
        self,
        sql: str,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
        prefetch: bool = True,
    ) -> Stream[Any]:
        """The rows of a query, block by block, in constant memory; see `Stream`.

        Args:     prefetch: False asks for a block only when its first row is wanted, not while the one before it is
                  consumed.
        """
        if named is not None:
            sql, args = _by_position(sql, args, named)
        return Stream(self._statements, sql, args, row_factory or self._factory, prefetch=prefetch)

    # -- statements ---------------------------------------------------------------------------------------------------

    async def call(
        self,
        routine: str,
        *args: Value,
        named: Mapping[str, Value] | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> list[Any]:
        """Call a stored procedure or function and return what it returns, as rows.

        Args:     routine: ``[owner.]name``. args: its arguments by position. named: instead, by their names.
        """
        sql, args = call_of(routine, args, named)
        return await self.fetch(sql, *args, row_factory=row_factory or self._factory)

    async def execute(self, sql: str, *args: Value, named: NamedValues | None = None) -> ExecuteResult:
        """Run one statement. Rows that a query returns are counted and dropped."""
        if named is not None:
            sql, args = _by_position(sql, args, named)
        if args:
            return await self._statements.run(sql, args, execute_statement)
        return await execute_text(self._statements, sql)

    async def executemany(self, sql: str, rows: ParamRows, *, on_error: str = "raise") -> ExecuteResult:
        """Run a statement once for each row of an iterable or async iterable, pipelined; none is collected.

        All or nothing: outside of a transaction one is opened around the rows, and rolled back when a row fails. Inside
        one, rows in front of the failing one stay until you roll back, and so may rows that were under way behind it.

        Args:     on_error: "collect" goes on behind rows that fail; those that succeed stay, and the result has an
                  error with its row_index for each of the others.
        Raises:   DatabaseError: of the first row that failed, with its row_index.
        """
        check_rows(rows)
        collect = check_on_error(on_error)
        return await self._statements.run(
            sql,
            None,
            lambda statement, _: executemany_statement(statement, rows, collect=collect),
            once=comes_but_once(rows, self._session),
        )

    async def load(
        self,
        table: str,
        rows: RowSource,
        *,
        columns: Sequence[str] | None = None,
        format: str | TextFormat | None = None,
        delimiter: str | None = None,
        header: bool = False,
        encoding: str | None = None,
        dbdate: str = ISO_DATES,
        block: int | None = None,
        commit: str = "end",
        progress: Progress | None = None,
    ) -> ExecuteResult:
        """Insert very many rows into one table, fast, in bounded memory: a bulk load through an insert cursor.

        All or nothing, also inside of a transaction of yours, unless *commit* is "block" or the database has no log.
        Values must be of their columns' own Python types; the server converts nothing.

        Args:     table: ``name``, ``owner.name``, ``db:name`` or ``db@server:name``.
                  rows: an iterable or async iterable of sequences; with *format*, a path, an open file, or chunks of
                  text or bytes.
                  columns: names of those that a row has values for; all of the table's, or what the header names.
                  format: "unload", "csv" or a TextFormat; *delimiter*, *header* (the first record has the columns'
                  names), *encoding* and *dbdate* (how dates are written) say more about it.
                  block: rows that are sent, and with commit="block" committed, at a time; by default 128 KB of them.
                  commit: "end", or "block" behind each block: what is committed stays, whatever fails later.
                  progress: called with the number of rows so far, behind each block; what it raises ends the load.
        Returns:  the number of rows, the last serial value, warnings.
        Raises:   DatabaseError: of the first row that the server refused, with its row_index if it can be found.
                  DataError: a value does not fit, or text cannot be read; with its row_index.
                  InterfaceError: the call makes no sense; NotSupportedError: a column's type cannot be loaded.
        """
        order = Order(table, columns, block, commit, progress)
        form = None
        if format is not None:
            form = format_of(
                format,
                self._session.file_code_set,
                delimiter=delimiter,
                header=header,
                encoding=encoding,
                reading=True,
            )
        elif header or delimiter is not None or encoding is not None:
            raise InterfaceError("delimiter, header and encoding are a format's: say which")
        return await load(self._statements, feed_of(rows, form, dbdate), order)

    async def unload(
        self,
        query: str,
        out: Target,
        *args: Value,
        format: str | TextFormat = "unload",
        delimiter: str | None = None,
        header: bool = False,
        encoding: str | None = None,
        dbdate: str = ISO_DATES,
        progress: Progress | None = None,
    ) -> int:
        """Write the rows of a query as text, in constant memory; `load` reads it.

        Args:     out: a path, an open file (text or binary), or a function, async or not, that takes bytes.
                  format: "unload", "csv" or a TextFormat; *delimiter*, *header* (the first record has the columns'
                  names), *encoding* and *dbdate* (how dates are written) say more about it.
                  progress: called with the number of rows so far, behind each block; what it raises ends the unload.
        Returns:  the number of rows. When it fails, what was written stays.
        """
        check_progress(progress)
        form = format_of(
            format, self._session.file_code_set, delimiter=delimiter, header=header, encoding=encoding
        )
        stream = Stream(self._statements, query, args, tuple_row)
        return await unload(stream, out, form, dbdate=dbdate, progress=progress)

    async def prepare(self, sql: str, *, row_factory: RowFactory[Any] | None = None) -> PreparedStatement:
        """Prepare a statement, to be executed many times."""
        async with self._statements.session:
            statement = await self._statements.take(sql)
        statement.one_shot = False
        return PreparedStatement(self._statements, statement, row_factory or self._factory)

    @overload
    def cursor(self, *, scroll: bool = False, hold: bool = False) -> Cursor[Record]: ...
    @overload
    def cursor(
        self, *, scroll: bool = False, hold: bool = False, row_factory: RowFactory[R]
    ) -> Cursor[R]: ...
    def cursor(
        self, *, scroll: bool = False, hold: bool = False, row_factory: RowFactory[Any] | None = None
    ) -> Cursor[Any]:
        """A cursor with PEP 249's names; nothing is sent before it executes something.

        Args:     scroll: its rows can be gone through in any direction; each one is a round trip.
                  hold: opened inside of a transaction, it outlives it. Outside of one every cursor does.
        """
        return Cursor(self._statements, row_factory or self._factory, scroll=scroll, hold=hold)

    def transaction(
        self,
        *,
        isolation: Isolation | None = None,
        lock_wait: float | None = None,
        read_only: bool = False,
    ) -> Transaction:
        """A transaction as a block, ``async with conn.transaction(): ...``; inside of another one, a savepoint.

        Args:     isolation: "dirty_read", "committed_read", "committed_read_last_committed" (or "last_committed"),
                  "cursor_stability", "repeatable_read". lock_wait: seconds to wait for a lock; 0: not at all, -1: for
                  ever. Both hold for the block; None leaves them as they are.
                  read_only: the server refuses changes.
        """
        return Transaction(
            self._statements, self._blocks, isolation=isolation, lock_wait=lock_wait, read_only=read_only
        )

    async def commit(self) -> None:
        """COMMIT WORK, for a transaction that ``autocommit=False`` or a BEGIN WORK of yours has begun.

        Nothing is sent when none is open.

        Raises:   InterfaceError: a `transaction` block is open.
        """
        await commit_work(self._statements.session, self._blocks)

    async def rollback(self) -> None:
        """ROLLBACK WORK, for a transaction that ``autocommit=False`` or a BEGIN WORK of yours has begun.

        Nothing is sent when none is open.

        Raises:   InterfaceError: a `transaction` block is open.
        """
        await rollback_work(self._statements.session, self._blocks)

    @property
    def autocommit(self) -> bool:
        """Whether a statement outside of a transaction commits by itself; the option of that name says so."""
        return self._session.autocommits

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open on this connection."""
        return self._session.in_transaction

    async def ping(self) -> None:
        """Ask the server for a sign of life, in one round trip.

        Raises:   ConnectionLost: there is none.
        """
        async with self._statements.session as session:
            await session.ping()

    # -- lending ------------------------------------------------------------------------------------------------------

    def lend(self, dropped: Callable[[], None] | None = None) -> Connection:
        """Another connection that is this one, until `recall`; for pools.

        Args:     dropped: called if it is garbage before it was recalled, in whichever thread.
        """
        return Connection(
            self._session,
            address=self._address,
            server_version=self.server_version,
            row_factory=self._factory,
            statements=self._statements.renewed(),
            dropped=dropped,
        )

    def recall(self) -> None:
        """Take a lent one back: it and all that came from it is of no use any more. Nothing is waited for.

        Cursors are closed, an open transaction is rolled back, isolation and lock mode are those of the options again.
        """
        if not self._statements.is_over:
            self._dropped = None
            if self._blocks:
                self._blocks[0].lose()
            self._statements.end()
            session = self._session
            session.leave_as_new()
            if session.line.is_in_use:  # by a task that nobody told, and that would go on
                session.channel.abort(
                    ConnectionLost("the connection was given back to its pool while another task used it")
                )

    async def rest(self) -> None:
        """Return when nothing of what was recalled is under way any more.

        Raises:   ConnectionLost, QueryTimeout: it did not come to rest.
        """
        while not self.is_at_rest:
            async with self._session.bare_turn(settled=True):
                self._session.leave_as_new()

    def keep_as_new(self) -> None:
        """What has been set and opened on it until now is what each borrower shall find."""
        self._session.keep_as_new()
        self._statements.clear()

    def when_ended(self, callback: Callable[[], None]) -> None:
        """Have *callback* called when the session has ended, by whichever side."""
        self._session.line.on_end = callback

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is under way, and no transaction open."""
        session = self._session
        return session.line.is_free and not session.in_transaction

    @property
    def is_as_new(self) -> bool:
        """Whether another user would find it as if it had just been opened; its statements may be kept prepared.

        Settings that nobody can restore, temporary tables, another database or an interrupt in doubt speak against it,
        and so does a server that is not the primary one any more, if that was asked for.
        """
        session = self._session
        return session.is_open and not (session.is_altered or session.has_moved or session.line.in_doubt)

    # -- the end ------------------------------------------------------------------------------------------------------

    def is_closed(self) -> bool:
        """Whether the connection has ended, by whichever side, or was given back to its pool."""
        return self._statements.is_over or not self._session.is_open

    async def close(self, *, timeout: float = 5.0) -> None:  # noqa: ASYNC109 - closing must end, also by itself
        """Say good-bye and close; an open transaction is rolled back by the server. Closing twice is fine.

        Args:     timeout: seconds until the connection is dropped instead.
        """
        if self._statements.is_over:
            return None
        owner, channel = self._session.line.owner, self._session.channel
        if owner.is_inherited:
            return channel.abort()
        if channel.failure is not None and not owner.is_here:
            return None
        owner.check()
        if self._session.is_open:
            try:
                async with asyncio.timeout(timeout):
                    await self._session.exit()
            except TimeoutError:
                pass
            finally:
                self._session.channel.abort()
        return await self._session.channel.wait_closed()

    def terminate(self) -> None:
        """Drop the connection at once, without a word to the server.

        In a forked process it closes that process's descriptor alone, and the connection of the parent stays.
        """
        session = self._session
        if not self._statements.is_over:
            session.line.owner.check_end()
            session.channel.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        statements = getattr(self, "_statements", None)
        if statements is None or statements.is_over:
            return
        session = self._session
        if self._dropped is not None:
            self._dropped()
        elif session.channel.is_inherited and not self._is_lent:
            session.channel.abort()
        elif session.is_open and not self._is_lent:
            message = f"{self!r} was not closed"
            # A finalizer may run in any thread.
            if session.line.owner.is_here:
                session.channel.abort()
            else:
                session.line.soon(session.channel.abort)
            warnings.warn(message, ResourceWarning, stacklevel=1, source=self)


def _by_position(sql: str, args: tuple[Value, ...], named: NamedValues) -> tuple[str, tuple[Value, ...]]:
    """The statement and its values with placeholders."""
    if args:
        raise InterfaceError("named: values go by position or by name, not both")
    return bind_named(sql, named)
