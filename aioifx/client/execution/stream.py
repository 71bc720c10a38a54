"""Rows of a query, block by block, in bounded memory. Never: a cursor's name, bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from types import TracebackType
from typing import Generic, Protocol, Self, TypeAlias, TypeVar

from aioifx.client.config.checks import check_flag, check_timeout
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import Action, StatementCache
from aioifx.client.session.dispatcher import InFlight
from aioifx.client.session.owner import NotCopied
from aioifx.client.session.session import Session
from aioifx.errors import InterfaceError
from aioifx.rows import RowFactory
from aioifx.sqltypes import Column, Row, Value
from aioifx.wire.replies import Reply
from aioifx.wire.tuples import RowReader

R = TypeVar("R")


class Receiver(Protocol):
    """Receives the tuples of a stream in another form than rows."""

    def opening(self, statement: Statement) -> RowReader:
        """Called before the cursor is opened, also when it is opened again; returns the reader of its tuples."""
        ...

    def on_block(self, statement: Statement) -> None:
        """Called when a block has arrived, before the next one is requested."""
        ...


Begin: TypeAlias = Callable[[Sequence[Value], Action[list[Row]]], Awaitable[tuple[Statement, list[Row]]]]
"""Like `StatementCache.begin`, for one statement."""


class Stream(NotCopied, Generic[R]):
    """The rows of one query: ``async for row in stream``, or ``async for block in stream.blocks()``.

    Nothing is sent until the first row is requested. At most two blocks are in memory: the current one, and the next
    one, which is requested as soon as the connection is free. Other statements of the connection may run between two
    blocks. After leaving an iteration early, close the stream with `aclose` or ``async with``. Otherwise garbage
    collection closes it.

    Raises:   InterfaceError: when iterated, the statement returns no rows, or an earlier iteration was cancelled in the
              middle of a fetch, whose rows are lost.
    """

    def __init__(
        self,
        statements: StatementCache | None,
        source: str | Begin,
        params: Sequence[Value],
        factory: RowFactory[R],
        *,
        prefetch: bool = True,
        timeout: float | None = None,
        converts: bool = True,
    ) -> None:
        """Args:     source: a query, or what uses a statement of the user's.
        prefetch: False asks for a block only when its first row is wanted.
        timeout: seconds for each block; None: command_timeout.
        converts: False: values are those of their types, whatever the user wants of them.
        """
        check_timeout(timeout)
        check_flag("prefetch", prefetch)
        self._timeout = timeout
        if statements is not None:  # otherwise a subclass sets them in `_begin`
            self._statements = statements
        self._source = source
        self._params = params
        self._factory = factory
        self._may_prefetch = prefetch
        self._converts = converts
        self._statement: Statement | None = None
        self._prefetched: InFlight[Reply] | None = None
        self._make: Callable[[Row], R] | None = None
        self._rows: Iterator[R] = iter(())
        self._fetching = asyncio.Lock()
        self._closed = False
        self._interrupted = False
        self._receiver: Receiver | None = None

    @property
    def _session(self) -> Session:
        return self._statements.session

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result; empty before the first block."""
        return self._statement.columns if self._statement is not None else ()

    def __aiter__(self) -> AsyncIterator[R]:
        return self

    async def __anext__(self) -> R:
        for row in self._rows:
            return row
        while rows := await self._next_rows():
            # Another task may have fetched a block while this one waited for the lock.
            self._rows = chain(self._rows, rows if self._make is None else map(self._make, rows))  # type: ignore[arg-type]  # R is Row then
            for row in self._rows:
                return row
        for row in self._rows:
            return row
        raise StopAsyncIteration

    async def blocks(self) -> AsyncGenerator[list[R], None]:
        """The rest of the rows, a list for each block of `fetch_size` bytes, without an await for each row."""
        if rest := list(self._rows):
            yield rest
        while rows := await self._next_rows():
            yield rows if self._make is None else list(map(self._make, rows))  # type: ignore[misc]  # R is Row then

    async def send_blocks(self, receiver: Receiver) -> AsyncGenerator[None, None]:
        """Instead of rows: *receiver* reads the blocks; yields after each one."""
        self._receiver = receiver
        while await self._next_rows():
            yield

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the cursor; remaining rows are not fetched. Waits for nothing."""
        if not self._closed:
            self._check_owner()
        closed, self._closed = self._closed, True
        self._rows = iter(())
        if not (closed or self._fetching.locked()):  # a task that is fetching cleans up after its fetch
            self._finish()

    def _check_owner(self) -> None:
        """Raise InterfaceError in another event loop or process."""
        if not self._statements.is_closed:
            self._session.dispatcher.owner.check()

    def _finish(self) -> None:
        if self._statement is not None:
            release_stream(
                self._statements, self._statement, is_own=self._is_own, prefetched=self._prefetched
            )
            self._prefetched = None
        self._on_finished()

    def _on_finished(self) -> None:
        """Called when fetching has ended and the cursor is closed."""

    def __del__(self) -> None:
        if (
            not getattr(self, "_closed", True)
            and self._statement is not None
            and not self._statements.is_closed
        ):
            # Finalizers run in any thread.
            end = partial(release_stream, is_own=self._is_own, prefetched=self._prefetched)
            self._session.dispatcher.call_threadsafe(end, self._statements, self._statement)

    # -- fetching -----------------------------------------------------------------------------------------------------

    @property
    def _is_own(self) -> bool:
        """Whether the statement belongs to this stream alone."""
        return isinstance(self._source, str)

    async def _next_rows(self) -> list[Row]:
        """The next block, empty at the end; the statement is released with its last block."""
        self._check_owner()
        async with self._fetching:
            if self._interrupted:
                raise InterfaceError(
                    "the stream was interrupted during a fetch, and the rows of that fetch are lost"
                )
            if self._closed:
                return []
            try:
                rows = await (self._begin() if self._statement is None else self._continue(self._statement))
            except BaseException as error:
                self._closed = True
                self._interrupted = not isinstance(error, Exception)
                self._on_finished()
                raise
            if self._closed:  # by another task, meanwhile
                self._finish()
                return []
            if self._receiver is not None and self._statement is not None:
                self._receiver.on_block(self._statement)
            self._prefetch()
            return rows

    async def _begin(self) -> list[Row]:
        """Prepare, open, and fetch the first block."""
        async with self._session.turn(self._timeout):
            if self._closed:
                return []
            source = self._source
            begin: Begin = partial(self._statements.begin, source) if isinstance(source, str) else source
            self._statement, rows = await begin(self._params, self._open)
            return rows

    async def _open(self, statement: Statement, params: Sequence[Value]) -> list[Row]:
        if not statement.returns_rows:
            raise InterfaceError("stream: expected a statement that returns rows")
        hold = self._session.needs_hold_cursor
        if self._receiver is not None:
            return await statement.open(params, hold=hold, opening=self._receiver.opening)
        if not self._converts:
            return await statement.open(params, hold=hold, read_rows=statement.row_reader(plain=True))
        row_plan = statement.row_plan(self._factory)
        self._make = row_plan.make
        return await statement.open(params, hold=hold, read_rows=row_plan.read_rows)

    async def _continue(self, statement: Statement) -> list[Row]:
        """The prefetched block, or one that is fetched now."""
        prefetched, self._prefetched = self._prefetched, None
        if prefetched is not None:
            return await self._guarded(statement, self._await_prefetched(statement, prefetched))
        async with self._session.turn(self._timeout):
            if self._closed:
                return []
            return await self._guarded(statement, statement.fetch_block())

    async def _await_prefetched(self, statement: Statement, prefetched: InFlight[Reply]) -> list[Row]:
        return statement.accept_block(
            await self._session.dispatcher.prefetched_reply(prefetched, self._timeout)
        )

    async def _guarded(self, statement: Statement, fetch: Awaitable[list[Row]]) -> list[Row]:
        """Await *fetch*; if it fails, release the statement."""
        try:
            return await fetch
        except BaseException as error:
            if self._is_own:
                self._statements.on_failure(statement, error)
            else:
                statement.close_cursor()
                self._session.commit_later()
            raise

    def _prefetch(self) -> None:
        """Request the next block early if that delays no other task; after the last block, finish."""
        statement = self._statement
        assert statement is not None
        if statement.is_exhausted:
            self._closed = True
            self._finish()
        elif self._may_prefetch and statement.is_usable and self._session.dispatcher.is_idle:
            self._prefetched = statement.send_fetch()


def release_stream(
    statements: StatementCache, statement: Statement, *, is_own: bool, prefetched: InFlight[Reply] | None
) -> None:
    """Close the cursor of a finished stream and release its statement."""
    if statements.is_closed:
        return  # already released
    session = statements.session
    if prefetched is not None:
        statement.discard_prefetched(prefetched)
        session.dispatcher.abandon(prefetched, interrupt=False)
    if is_own:
        statements.release(statement)
    else:
        statement.close_cursor()
    session.commit_later()
