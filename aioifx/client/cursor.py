"""Cursor: execute, executemany, fetch*, with PEP 249's names, awaited. Never: its connection, its pool, bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import chain, islice
from types import TracebackType
from typing import Generic, Self, TypeAlias, TypeVar

from aioifx.client.execute import ParamRows, check_rows, execute_statement, executemany_statement
from aioifx.client.result import ExecuteResult
from aioifx.client.session import Session
from aioifx.client.statement import Statement, check_sequence, prepare, prepared
from aioifx.errors import InterfaceError
from aioifx.rows import RowFactory
from aioifx.sqltypes import Column, Row, SqlType, Value

R = TypeVar("R")

ColumnDescription: TypeAlias = tuple[
    str, SqlType, int | None, int | None, int | None, int | None, bool | None
]
"""PEP 249's seven: name, type_code, display_size, internal_size, precision, scale, null_ok."""


class Cursor(Generic[R]):
    """One statement's rows at a time; several cursors of one connection may be open side by side.

    Rows come in blocks as they are fetched, not all at once.
    """

    def __init__(self, session: Session, factory: RowFactory[R]) -> None:
        self._session = session
        self._factory = factory
        self._statement: Statement | None = None
        self._make: Callable[[Row], R] | None = None
        self._rows: Iterator[Row] = iter(())
        self._result: ExecuteResult | None = None
        self._columns: tuple[Column, ...] | None = None
        self._fetching = False
        self._closed = False
        self.arraysize = 100
        """Rows that `fetchmany` returns when it is not told otherwise."""

    def __repr__(self) -> str:
        state = "closed" if self._closed else "fetching" if self._fetching else "idle"
        return f"<Cursor {state}>"

    # -- what PEP 249 wants known -------------------------------------------------------------------------------------

    @property
    def description(self) -> list[ColumnDescription] | None:
        """The columns of the result, PEP 249's seven each; None without a result."""
        if self._columns is None:
            return None
        return [_describe(column) for column in self._columns]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns as the server described them."""
        return self._columns or ()

    @property
    def rowcount(self) -> int:
        """Rows that the last statement touched; -1 for a query, whose rows are not counted ahead."""
        return self._result.rowcount if self._result is not None else -1

    @property
    def lastrowid(self) -> int | None:
        """The serial value of the last row inserted."""
        return self._result.serial if self._result is not None else None

    # -- executing ----------------------------------------------------------------------------------------------------

    async def execute(self, sql: str, params: Sequence[Value] = ()) -> Self:
        """Run a statement; of a query the first block is fetched."""
        check_sequence(params, "parameters")
        await self._reset()
        async with self._session:
            statement = await prepare(self._session, sql, params)
            self._statement = statement
            try:
                if statement.returns_rows:
                    make = self._factory(statement.columns)
                    self._rows = iter(await statement.open(params, shared=True))
                    self._columns, self._make = statement.columns, make
                    self._fetching = True
                else:
                    self._result = await execute_statement(statement, params)
                if statement.exhausted:
                    await self._finish()
            except BaseException as error:
                await self._give_up(statement, error)
                raise
        return self

    async def executemany(self, sql: str, rows: ParamRows) -> Self:
        """Run a statement once for each row, pipelined; see `Connection.executemany`."""
        check_rows(rows)
        await self._reset()
        async with prepared(self._session, sql) as statement:
            self._result = await executemany_statement(statement, rows)
        return self

    # -- fetching -----------------------------------------------------------------------------------------------------

    async def fetchone(self) -> R | None:
        """The next row, or None."""
        make = self._check_result()
        ended = False
        while True:
            for row in self._rows:
                return make(row)
            if ended:
                return None
            ended = not await self._more()

    async def fetchmany(self, size: int | None = None) -> list[R]:
        """The next *size* rows, fewer at the end."""
        make = self._check_result()
        wanted = self.arraysize if size is None else size
        if wanted < 0:
            raise InterfaceError(f"fetchmany: size is {wanted}")
        rows = list(islice(self._rows, wanted))
        while len(rows) < wanted and await self._more():
            rows += islice(self._rows, wanted - len(rows))
        return list(map(make, rows))

    async def fetchall(self) -> list[R]:
        """All remaining rows."""
        make = self._check_result()
        rows = list(self._rows)
        while await self._more():
            rows += self._rows
        return list(map(make, rows))

    def __aiter__(self) -> AsyncIterator[R]:
        return self

    async def __anext__(self) -> R:
        row = await self.fetchone()
        if row is None:
            raise StopAsyncIteration
        return row

    # -- the end ------------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close the cursor and forget its rows; it cannot be used again."""
        await self._reset(checked=False)
        self._closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        statement = getattr(self, "_statement", None)
        if statement is not None:
            statement.leave()

    # -- within -------------------------------------------------------------------------------------------------------

    def _check_result(self) -> Callable[[Row], R]:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        if self._make is None:
            raise InterfaceError("the cursor has no result: no query was executed, or a fetch failed")
        return self._make

    async def _more(self) -> bool:
        """Fetch another block; False when there is none."""
        if not self._fetching:
            return False
        async with self._session:
            statement = self._statement
            if statement is None:  # another task has reached the end in the meantime
                return False
            try:
                rows = await statement.fetch_block()
                if statement.exhausted:
                    await self._finish()
            except BaseException as error:
                await self._give_up(statement, error)
                raise
        # Another task may have fetched a block while this one waited for its turn.
        self._rows = chain(self._rows, rows)
        return bool(rows)

    async def _give_up(self, statement: Statement, error: BaseException) -> None:
        """Behind a failure there is no result: what a cancelled fetch still brings must not look like the next rows."""
        self._statement, self._make, self._fetching = None, None, False
        if not isinstance(error, Exception):
            statement.leave()
        elif self._session.is_open:
            await statement.release()
            await self._session.autocommit_failed()

    async def _finish(self) -> None:
        """Release the statement behind its last row; the turn is held."""
        statement, self._statement = self._statement, None
        self._fetching = False
        if statement is not None:
            await statement.release()
            await self._session.autocommit()

    async def _reset(self, *, checked: bool = True) -> None:
        if checked and self._closed:
            raise InterfaceError("the cursor is closed")
        self._rows, self._make, self._columns, self._result = iter(()), None, None, None
        self._fetching = False
        if self._statement is not None and self._session.is_open:
            async with self._session:
                await self._finish()
        self._statement = None


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
