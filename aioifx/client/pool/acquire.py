"""Acquiring a connection for a block or a query's blocks, and its release at the end. Never: which connection.

Invariants:
1. A connection is released when its block or its last rows end, for any reason. The release awaits nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic

from aioifx.client.api.connection import Connection, no_attribute, statements_of
from aioifx.client.execution.block_reader import BlockReader, release_cursor
from aioifx.client.execution.row_plan import RowPlan, RowPlans
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import StatementSource
from aioifx.client.pool.lifecycle import within_operation
from aioifx.client.pool.manager import PoolManager
from aioifx.client.session.in_flight import InFlight
from aioifx.errors import InterfaceError
from aioifx.rows import Item
from aioifx.sqltypes import Row, Value
from aioifx.wire.replies import Reply


class AcquireContext(Generic[Item]):
    """Result of `Pool.acquire`: await it, or use it with ``async with``."""

    __slots__ = ("_conn", "_entered", "_manager", "_timeout")

    def __init__(self, manager: PoolManager, timeout: float) -> None:
        self._manager = manager
        self._timeout = timeout
        self._conn: Connection[Item] | None = None
        self._entered = False

    if not TYPE_CHECKING:  # hidden from type checkers, which reject unknown attributes

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)

    def __await__(self) -> Generator[Any, None, Connection[Item]]:
        return self._manager.acquire(self._timeout).__await__()

    async def __aenter__(self) -> Connection[Item]:
        if self._entered:
            raise InterfaceError("an acquire can be entered only once; call acquire() again")
        self._entered = True
        self._conn = await self._manager.acquire(self._timeout)
        return self._conn

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def release(self) -> None:
        """Release the connection of the block, unless it is already released."""
        conn, self._conn = self._conn, None
        if conn is not None:
            self._manager.release_if_held(conn)  # not if it was released inside the block


class PoolBlockReader(BlockReader):
    """Reads blocks on a connection that is acquired for the first one, and released after the last one or `close`.

    If the reader is not closed, garbage collection releases the connection.
    """

    def __init__(
        self,
        acquire: Callable[[], AcquireContext[Any]],
        sql: str,
        params: Sequence[Value],
        plan: Callable[[RowPlans], RowPlan],
        *,
        prefetch: bool,
        timeout: float | None,
    ) -> None:
        super().__init__(None, sql, params, plan, prefetch=prefetch, timeout=timeout)
        self._acquire = acquire
        self._acquired: AcquireContext[Any] | None = None

    async def _start(self) -> list[Row]:
        acquired = self._acquire()
        acquiring = acquired.__aenter__()
        conn = await (acquiring if self.watch is None else within_operation(acquiring))
        self._source = statements_of(conn)
        self._acquired = acquired
        return await super()._start()

    def _check_binding(self) -> None:
        if self._acquired is not None:
            super()._check_binding()

    def _on_closed(self) -> None:
        acquired, self._acquired = self._acquired, None
        if acquired is not None:
            acquired.release()

    def __del__(self) -> None:
        acquired = getattr(self, "_acquired", None)
        if acquired is not None and not self._source.is_closed:
            # Finalizers run in any thread. The callback keeps the connection alive until it has run.
            self._session.dispatcher.call_threadsafe(
                _release_leaked, self._source, self.statement, self._prefetched, acquired
            )


def _release_leaked(
    source: StatementSource,
    statement: Statement | None,
    prefetched: InFlight[Reply] | None,
    acquired: AcquireContext[Any],
) -> None:
    """Clean up a reader that was garbage-collected without being closed."""
    if statement is not None:
        release_cursor(source, statement, prefetched)
    acquired.release()
