"""Rows of a query, block by block, in constant memory. Never: a cursor's name, bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import chain
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
    left early may be closed with `aclose` (or ``async with``); otherwise the connection closes it with its next
    statement.
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
        ended = False
        while True:
            for row in self._rows:
                return self._make(row) if self._make is not None else row  # type: ignore[return-value]  # R is Row then
            if ended:
                raise StopAsyncIteration
            rows = await self._next_rows()
            # Another task may have fetched a block while this one waited for its turn.
            self._rows = chain(self._rows, rows)
            ended = not rows

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
        closed, self._closed = self._closed, True
        self._rows = iter(())
        statement = self._statement
        if closed or statement is None or not self._session.is_open:
            return
        try:
            async with self._session:
                await self._finish(statement)
        except asyncio.CancelledError:
            self._leave(statement)
            raise

    def __del__(self) -> None:
        statement = getattr(self, "_statement", None)
        if statement is not None and not self._closed:
            self._leave(statement)

    async def _next_rows(self) -> list[Row]:
        """The next block, empty at the end; the statement is closed with its last block."""
        if self._interrupted:
            raise InterfaceError(
                "the stream was interrupted in the middle of a fetch; what came then is lost"
            )
        if self._closed:
            return []
        async with self._session:
            if self._closed:  # by another task, in the meantime
                return []
            try:
                if self._statement is None:
                    self._statement = statement = await self._prepare()
                    self._make = self._factory(statement.columns)
                    rows = await statement.open(self._params, shared=True)
                else:
                    statement = self._statement
                    rows = await statement.fetch_block()
            except BaseException as error:
                await self._give_up(error)
                raise
            if statement.exhausted:
                self._closed = True
                await self._finish(statement)
            return rows

    async def _prepare(self) -> Statement:
        source = self._source
        if isinstance(source, Statement):
            if source.is_open:
                raise InterfaceError(
                    "another stream of this prepared statement is still open; close it first"
                )
            statement = source
        else:
            statement = await prepare(self._session, source, self._params)
        if not statement.returns_rows:
            await self._finish(statement)
            raise InterfaceError("stream is for statements that return rows")
        return statement

    async def _give_up(self, error: BaseException) -> None:
        self._closed = True
        self._interrupted = not isinstance(error, Exception)
        if self._statement is None:
            return
        if self._interrupted:
            self._leave(self._statement)
        elif self._session.is_open:
            await self._finish(self._statement)

    def _leave(self, statement: Statement) -> None:
        """Without waiting; the session's next turn does it."""
        if statement is self._source:
            statement.leave_cursor()
        else:
            statement.leave()

    async def _finish(self, statement: Statement) -> None:
        """Close the cursor, and release the statement if it is this stream's own."""
        if statement is self._source:
            await statement.close_cursor()
        else:
            await statement.release()
        if self._session.is_open:
            await self._session.autocommit()
