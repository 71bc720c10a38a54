"""Rows of a query, block by block, in constant memory. Never: a cursor's name, bytes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from types import TracebackType
from typing import Generic, Self, TypeVar

from aioifx.client.session import Session
from aioifx.client.statement import Statement, prepare
from aioifx.errors import InterfaceError
from aioifx.rows import RowFactory
from aioifx.sqltypes import Column, Row, Value

R = TypeVar("R")


class Stream(Generic[R]):
    """The rows of one query: ``async for row in stream``, or ``async for block in stream.blocks()``.

    Nothing is sent before the first row is asked for. One block is in memory at a time. The session's turn is held only
    while a block is fetched, so other statements of the same connection may run between two rows. An iteration that is
    left early may be closed with `aclose` (or ``async with``); otherwise the connection closes it with its next statement.
    """

    def __init__(
        self,
        session: Session,
        source: str | Statement,
        params: Sequence[Value],
        factory: RowFactory[R],
    ) -> None:
        self._session = session
        self._source = source
        self._params = params
        self._factory = factory
        self._statement: Statement | None = None
        self._make: Callable[[Row], R] | None = None
        self._rows: Iterator[Row] = iter(())
        self._closed = False
        self._interrupted = False

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result; empty before the first block came."""
        return self._statement.columns if self._statement is not None else ()

    def __aiter__(self) -> AsyncIterator[R]:
        return self

    async def __anext__(self) -> R:
        while True:
            for row in self._rows:
                return self._make(row) if self._make is not None else row  # type: ignore[return-value]  # R is Row then
            rows = await self._next_rows()
            if not rows:
                raise StopAsyncIteration
            self._rows = iter(rows)

    async def blocks(self) -> AsyncIterator[list[R]]:
        """The rest of the rows, a list per block of `fetch_size` bytes."""
        rest = list(self._rows)
        while rest or (rest := await self._next_rows()):
            make = self._make
            yield list(map(make, rest)) if make is not None else rest  # type: ignore[misc]  # R is Row then
            rest = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the cursor; what was not fetched is never sent."""
        self._closed = True
        self._rows = iter(())
        statement, self._statement = self._statement, None
        if statement is not None and self._session.is_open:
            async with self._session:
                await self._finish(statement)

    def __del__(self) -> None:
        statement = getattr(self, "_statement", None)
        if statement is not None and not statement.exhausted and statement is not self._source:
            statement.leave()

    async def _next_rows(self) -> list[Row]:
        """The next block, empty at the end; the statement is closed with its last block."""
        if self._interrupted:
            raise InterfaceError("the stream was interrupted in the middle of a fetch; what came then is lost")
        if self._closed:
            return []
        async with self._session:
            statement = self._statement
            try:
                if statement is None:
                    statement = await self._open()
                    rows = await statement.open(self._params)
                else:
                    rows = await statement.fetch_block()
            except BaseException as error:
                self._closed, self._statement = True, None
                if statement is not None:
                    await self._give_up(statement, error)
                raise
            if statement.exhausted:
                self._closed = True
                await self._finish(statement)
            return rows

    async def _open(self) -> Statement:
        statement = self._source if isinstance(self._source, Statement) else await prepare(self._session, self._source)
        self._statement = statement
        if not statement.returns_rows:
            self._statement = None
            await self._finish(statement)
            raise InterfaceError("stream is for statements that return rows")
        self._make = self._factory(statement.columns)
        return statement

    async def _give_up(self, statement: Statement, error: BaseException) -> None:
        if not isinstance(error, Exception):
            self._interrupted = True
            if statement is self._source:
                self._session.leave_cursor(statement.statement_id)
                statement.is_open, statement.exhausted = False, True
            else:
                statement.leave()
        elif self._session.is_open:
            await self._finish(statement)

    async def _finish(self, statement: Statement) -> None:
        """Close the cursor, and release the statement if it is this stream's own."""
        if statement is self._source:
            await statement.close_cursor()
        else:
            await statement.release()
        if self._session.is_open:
            await self._session.autocommit()


