"""The rows of one query, in blocks or one by one; the next block is requested early. Never: what a row becomes.

Invariants:
1. At most two blocks are in memory: the current one, and the one requested early.
2. A block is requested early only while the connection is idle, so that no other task waits for it.
3. Closing waits for nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Self

from aioifx._speedups.round_trip import InFlight
from aioifx.client.config.checks import check_flag, check_timeout
from aioifx.client.execution.execute import start
from aioifx.client.execution.large_values import LargeValues
from aioifx.client.execution.read_again import fill
from aioifx.client.execution.row_plan import RowPlan, RowPlans
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import StatementSource
from aioifx.client.observation.observation import Watch
from aioifx.client.session.session import Session
from aioifx.errors import InterfaceError
from aioifx.sqltypes import Column, Row, Value


class BlockReader:
    """Reads the blocks of one query: ``async for block in reader``. Nothing is sent until the first block is requested.

    Args:
        source: provides the statement; None if a subclass sets it in `_start`.
        plan: called with the statement's plans when its cursor is opened; returns how its rows are read.
        prefetch: request the next block while the current one is consumed.
        timeout: seconds for each block; None: command_timeout.
        hold: the cursor stays open after the transaction that it is opened in.
    """

    def __init__(
        self,
        source: StatementSource | None,
        sql: str,
        params: Sequence[Value],
        plan: Callable[[RowPlans], RowPlan],
        *,
        prefetch: bool = False,
        timeout: float | None = None,
        hold: bool = False,
    ) -> None:
        check_timeout(timeout)
        check_flag("prefetch", prefetch)
        if source is not None:
            self._source = source
        self._sql = sql
        self._params = params
        self.plan = plan
        self._may_prefetch = prefetch
        self._timeout = timeout
        self._hold = hold
        self.statement: Statement | None = None
        self.convert: Callable[[Row], Any] | None = None
        """Converts the rows of the blocks, which do so themselves if None; see `RowPlan`."""
        self.large: LargeValues | None = None
        """Fetches the large values of the rows; None if there are none."""
        self.watch: Watch | None = None
        """The operation that reading is; None if it is part of another, or there are no observers."""
        self._prefetched: InFlight | None = None
        self._fetching = asyncio.Lock()
        self._closed = False
        self.was_closed_by_server = False
        """Whether the server closed the cursor with its last row."""
        self.was_read_to_end = False
        """Whether the last block was read."""
        self._interrupted = False

    @property
    def _session(self) -> Session:
        return self._source.session

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the result; empty before the first block."""
        return self.statement.columns if self.statement is not None else ()

    # -- blocks -------------------------------------------------------------------------------------------------------

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> list[Row]:
        if rows := await self.next_block():
            return rows
        raise StopAsyncIteration

    def next_block(self) -> Coroutine[Any, Any, list[Row]]:
        """The next block, empty at the end; the statement is released with its last block.

        Raises:
            InterfaceError: the statement returns no rows, or an earlier fetch was interrupted.
        """
        self._check_binding()
        block = self._next_block()
        return block if self.watch is None or self._closed else self.watch.run(block)

    async def _next_block(self) -> list[Row]:
        async with self._fetching:
            if self._interrupted:
                raise InterfaceError(
                    "the stream was interrupted during a fetch, and the rows of that fetch are lost"
                )
            if self._closed:
                return []
            if self.large is not None:
                self.large.close()
            try:
                rows = await (self._start() if self.statement is None else self._fetch(self.statement))
            except BaseException as error:
                self._closed = True
                self._interrupted = not isinstance(error, Exception)
                self._on_closed()
                if self.watch is not None:
                    self.watch.end(error)
                raise
            if self._closed:  # by another task, meanwhile
                self._finish()
                return []
            if self.watch is not None:
                self.watch.add_rows(len(rows))
            if not (self.large is not None and self.large.streams and rows):
                self.finish_if_exhausted()
            self._prefetch()
            return rows

    async def _start(self) -> list[Row]:
        """Prepare, open, and fetch the first block."""
        async with self._session.turn(self._timeout):
            if self._closed:
                return []
            _, rows = await start(self._source, self._sql, self._params, self.open)
            return rows

    async def open(self, statement: Statement, params: Sequence[Value]) -> list[Row]:
        """Open the cursor and fetch the first block. The caller holds the lock, and the statement until this succeeds.

        Raises:
            InterfaceError: the statement returns no rows.
        """
        if not statement.returns_rows:
            raise InterfaceError("stream: expected a statement that returns rows, got one that returns none")
        session, plan = statement.session, self.plan(statement.plans)
        hold = session.transactions.needs_hold_cursor or (self._hold and session.database.is_logged)
        in_flight = statement.try_send_open(params, plan.read_rows, session.fetch_buffer.size, hold)
        rows = (
            await statement.open(params, hold=hold, read_rows=plan.read_rows)
            if in_flight is None
            else statement.accept_block(await session.dispatcher.reply(in_flight))
        )
        if plan.large is not None:
            rows = (await fill(statement, plan.large, rows, params)).rows
            self.large, self._may_prefetch = plan.large, False
            if plan.large.streams:  # otherwise it is shared
                plan.large.watch = self.watch
        self.statement, self.convert = statement, plan.convert
        return rows

    async def _fetch(self, statement: Statement) -> list[Row]:
        """The prefetched block, or one that is fetched now. If that fails, the statement is released."""
        prefetched, self._prefetched = self._prefetched, None
        dispatcher = self._session.dispatcher
        try:
            if prefetched is not None:
                reply = dispatcher.reply(prefetched, prefetched=True, timeout=self._timeout)
                return await statement.fetch_ahead(reply, has_lock=False)
            async with self._session.turn(self._timeout):
                if self._closed:
                    return []
                rows = await statement.fetch_block()
                return rows if self.large is None else (await fill(statement, self.large, rows)).rows
        except BaseException as error:
            self._source.on_failure(statement, error)
            raise

    def _prefetch(self) -> None:
        """Request the next block early if that delays no other task."""
        statement = self.statement
        if (
            self._may_prefetch
            and not self._closed
            and statement is not None
            and statement.is_usable
            and (statement.early is not None or self._session.dispatcher.is_idle)
        ):
            self._prefetched = statement.send_fetch()

    # -- closing ------------------------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether no more blocks will come."""
        return self._closed

    def finish_if_exhausted(self) -> None:
        """Release the statement after its last block."""
        if self.statement is not None and self.statement.is_exhausted:
            self._closed = self.was_read_to_end = True
            self.was_closed_by_server = not self.statement.is_open
            self._finish()

    def close(self) -> None:
        """Close the cursor; remaining rows are not fetched. Waits for nothing. Idempotent.

        Raises:
            InterfaceError: not in the connection's event loop.
        """
        if not self._closed:
            self._check_binding()
        closed, self._closed = self._closed, True
        if closed:
            return
        if not self._fetching.locked():
            self._finish()
        elif self.statement is not None:  # the task that is fetching cleans up after its fetch
            self.statement.cursor.continuation.send = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _check_binding(self) -> None:
        """Raise InterfaceError in another event loop or process."""
        if not self._source.is_closed:
            self._session.dispatcher.binding.check()

    def _finish(self) -> None:
        if self.statement is not None:
            release_cursor(self._source, self.statement, self._prefetched, self.large)
            self._prefetched = None
        self._on_closed()
        if self.watch is not None:
            self.watch.end()

    def _on_closed(self) -> None:
        """Called when fetching has ended and the cursor is closed."""

    def __del__(self) -> None:
        if not getattr(self, "_closed", True) and self.statement is not None and not self._source.is_closed:
            # Finalizers run in any thread.
            self._session.dispatcher.call_threadsafe(
                release_cursor, self._source, self.statement, self._prefetched, self.large
            )


def release_cursor(
    source: StatementSource,
    statement: Statement,
    prefetched: InFlight | None,
    large: LargeValues | None = None,
) -> None:
    """Close the cursor of a reader and release its statement."""
    if large is not None:
        large.close()
    if source.is_closed:
        return  # already released
    session = source.session
    if prefetched is not None:
        statement.discard_prefetched(prefetched)
        session.dispatcher.abandon(prefetched, interrupt=False)
    source.release(statement)
    session.transactions.commit_later()
