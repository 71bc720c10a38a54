"""Connection: statements, cursors, transactions, closing. Never: opcodes."""

from __future__ import annotations

import asyncio
import warnings
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from aioifx.client.cursor import Cursor
from aioifx.client.execute import (
    ParamRows,
    check_rows,
    execute_text,
    executemany_statement,
    fetch_row,
    fetch_rows,
    value_at,
)
from aioifx.client.prepared import PreparedStatement
from aioifx.client.result import ExecuteResult
from aioifx.client.session import Session, Stats
from aioifx.client.statement import prepare, prepared
from aioifx.client.stream import Stream
from aioifx.client.transaction import Transaction
from aioifx.rows import Record, RowFactory, record_row
from aioifx.sqltypes import Value

R = TypeVar("R")


class Connection:
    """One session with an Informix server; `aioifx.connect` makes it.

    Calls from several tasks wait their turn, first come first served.

    Attributes:
        server_version: the server's version text, as it states it at login.
    """

    def __init__(
        self,
        session: Session,
        *,
        address: str,
        server_version: str,
        row_factory: RowFactory[Any] | None = None,
    ) -> None:
        self._session = session
        self._address = address
        self._factory: RowFactory[Any] = row_factory or record_row
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

    # -- queries ------------------------------------------------------------------------------------------------------

    @overload
    async def fetch(self, sql: str, *args: Value) -> list[Record]: ...
    @overload
    async def fetch(self, sql: str, *args: Value, row_factory: RowFactory[R]) -> list[R]: ...
    async def fetch(self, sql: str, *args: Value, row_factory: RowFactory[Any] | None = None) -> list[Any]:
        """Run a query and return every row."""
        async with prepared(self._session, sql, args) as statement:
            return await fetch_rows(statement, args, row_factory or self._factory)

    @overload
    async def fetchrow(self, sql: str, *args: Value) -> Record | None: ...
    @overload
    async def fetchrow(self, sql: str, *args: Value, row_factory: RowFactory[R]) -> R | None: ...
    async def fetchrow(
        self, sql: str, *args: Value, row_factory: RowFactory[Any] | None = None
    ) -> Any | None:
        """Run a query and return its first row, or None."""
        async with prepared(self._session, sql, args) as statement:
            row = await fetch_row(statement, args)
        return None if row is None else (row_factory or self._factory)(statement.columns)(row)

    async def fetchval(self, sql: str, *args: Value, column: int = 0) -> Value:
        """Run a query and return one value of its first row; None without rows."""
        async with prepared(self._session, sql, args) as statement:
            return value_at(await fetch_row(statement, args), column)

    @overload
    def stream(self, sql: str, *args: Value) -> Stream[Record]: ...
    @overload
    def stream(self, sql: str, *args: Value, row_factory: RowFactory[R]) -> Stream[R]: ...
    def stream(self, sql: str, *args: Value, row_factory: RowFactory[Any] | None = None) -> Stream[Any]:
        """The rows of a query, block by block, in constant memory; see `Stream`."""
        return Stream(self._session, sql, args, row_factory or self._factory)

    # -- statements ---------------------------------------------------------------------------------------------------

    async def execute(self, sql: str, *args: Value) -> ExecuteResult:
        """Run one statement. Rows that a query returns are counted and dropped."""
        return await execute_text(self._session, sql, args)

    async def executemany(self, sql: str, rows: ParamRows) -> ExecuteResult:
        """Run a statement once for each row of an iterable or async iterable, pipelined.

        All or nothing: outside of a transaction one is opened around the rows, and rolled back when a row fails. Inside
        one, rows in front of the failing one stay until you roll back, and so may rows that were under way behind it.

        Raises:   DatabaseError: of the first row that failed, with its row_index.
        """
        check_rows(rows)
        async with prepared(self._session, sql) as statement:
            return await executemany_statement(statement, rows)

    async def prepare(self, sql: str, *, row_factory: RowFactory[Any] | None = None) -> PreparedStatement:
        """Prepare a statement, to be executed many times."""
        async with self._session:
            statement = await prepare(self._session, sql)
        return PreparedStatement(self._session, statement, row_factory or self._factory)

    @overload
    def cursor(self) -> Cursor[Record]: ...
    @overload
    def cursor(self, *, row_factory: RowFactory[R]) -> Cursor[R]: ...
    def cursor(self, *, row_factory: RowFactory[Any] | None = None) -> Cursor[Any]:
        """A cursor with PEP 249's names; nothing is sent before it executes something."""
        return Cursor(self._session, row_factory or self._factory)

    def transaction(self) -> Transaction:
        """A transaction as a block: ``async with conn.transaction(): ...``."""
        return Transaction(self._session)

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open on this connection."""
        return self._session.in_transaction

    # -- the end ------------------------------------------------------------------------------------------------------

    def is_closed(self) -> bool:
        """Whether the connection has ended, by whichever side."""
        return not self._session.is_open

    async def close(self, *, timeout: float = 5.0) -> None:  # noqa: ASYNC109 - closing must end, also by itself
        """Say good-bye and close; an open transaction is rolled back by the server. Closing twice is fine.

        Args:     timeout: seconds until the connection is dropped instead.
        """
        if self._session.is_open:
            try:
                async with asyncio.timeout(timeout):
                    await self._session.exit()
            except TimeoutError:
                pass
            finally:
                self._session.channel.abort()
        await self._session.channel.wait_closed()

    def terminate(self) -> None:
        """Drop the connection at once, without a word to the server."""
        self._session.channel.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        session = getattr(self, "_session", None)
        if session is not None and session.is_open:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, stacklevel=1, source=self)
            if not session.channel.loop_is_closed():
                session.channel.abort()
