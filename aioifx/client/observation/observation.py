"""Reports operations to observers: each starts and ends once, with its bytes and time. Never: what an observer does.

Invariants:
1. An operation ends exactly once, also after a cancellation and when its stream is garbage-collected.
2. An exception of an observer is logged, once for each of its types, and never reaches the caller. KeyboardInterrupt
   and SystemExit do, after all observers were called.
3. Of nested operations the innermost is current; its connection counts for it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from aioifx._speedups.operation import CoreObservation, Identity
from aioifx._speedups.round_trip import Waiter
from aioifx.channel import Channel
from aioifx.client.observation.operation import Observer, Operation, OperationName
from aioifx.errors import DatabaseError, LockError

T = TypeVar("T")

logger: Final = logging.getLogger("aioifx.observer")

_now: Final = time.perf_counter


class Identifies(Protocol):
    """A session."""

    def identity(self) -> Identity:
        """What operations say of the server and the session."""
        ...


current_operation: Final[ContextVar[Operation | None]] = ContextVar("aioifx_operation", default=None)
"""The operation whose code is running; requests that it sends count for it."""


def running() -> Operation | None:
    """The current operation, if it has not ended; a task that it started may outlive it."""
    operation = current_operation.get()
    return None if operation is None or operation.duration is not None else operation


def note(*, sql: str | None = None, parameters: int | None = None, batch_size: int | None = None) -> None:
    """Set what was not known at the start of the current operation."""
    if (operation := running()) is not None:
        operation.sql = operation.sql if sql is None else sql
        operation.parameters = operation.parameters if parameters is None else parameters
        operation.batch_size = operation.batch_size if batch_size is None else batch_size


def note_session(session: Identifies) -> None:
    """Set the server and the session of the current operation."""
    if (operation := running()) is not None:
        operation.set_identity(session.identity())


@contextmanager
def queueing(waiter: Waiter | None = None) -> Generator[None, None, None]:
    """The time of the block is queue time of the current operation.

    Args:
        waiter: the time ends when its request is sent, if that is within the block.
    """
    operation, began = running(), _now()
    before = 0.0 if operation is None else operation.queue_time
    try:
        yield
    finally:
        if operation is not None:  # what was added within the block is part of its time
            sent = None if waiter is None else waiter.in_flight
            operation.queue_time = before + (_now() if sent is None else sent.sent_at) - began


class Observation(CoreObservation):
    """The observers of one connection, or of a pool and its connections.

    Args:
        identity: of operations that have no connection yet.
        pool: name of the pool.
    """

    def __init__(self, observers: Sequence[Observer], identity: Identity, pool: str = "") -> None:
        super().__init__(Operation, tuple(observers), identity, pool)
        self._logged: set[tuple[int, type[BaseException]]] = set()
        self.on_lock_error: Callable[[Operation, LockError], Awaitable[None]] | None = None
        """Awaited after an operation that ended with a LockError, before the caller gets it."""

    def _log(self, observer: Observer, error: BaseException) -> None:
        key = id(observer), type(error)
        if key not in self._logged:
            self._logged.add(key)
            logger.warning(
                "an observer failed: %s; further %s of it are not logged",
                type(observer).__name__,
                type(error).__name__,
                exc_info=error,
            )

    @contextmanager
    def briefly(
        self, name: OperationName, sql: str = "", session: Identifies | None = None
    ) -> Generator[None, None, None]:
        """The block is one operation, which waits for nothing."""
        operation = self.start(name, sql, 0, session)
        try:
            yield
        except BaseException as error:
            self.end(operation, error)
            raise
        self.end(operation)

    # -- calls --------------------------------------------------------------------------------------------------------

    async def run(
        self,
        name: OperationName,
        work: Awaitable[T],
        *,
        sql: str = "",
        parameters: int = 0,
        batch_size: int | None = None,
        session: Identifies | None = None,
    ) -> T:
        """Await *work* as one operation."""
        operation = self.start(name, sql, parameters, session)
        operation.batch_size = batch_size
        outer = current_operation.get()
        current_operation.set(operation)
        try:
            result = await work
            if (rows_of := _ROWS.get(name)) is not None:
                operation.rows = rows_of(result)
        except BaseException as error:
            self.end(operation, error)
            if self.on_lock_error is not None and isinstance(error, LockError):
                await self.on_lock_error(operation, error)
            raise
        finally:
            current_operation.set(outer)
            self.end(operation)
            del operation  # it refers to the error, whose traceback refers to this frame
        return result

    async def run_opening(self, name: OperationName, work: Awaitable[T], release: Callable[[T], object]) -> T:
        """`run`; an observer that raises KeyboardInterrupt at its end has the result of *work* released."""
        results: list[T] = []

        async def noted() -> T:
            results.append(await work)
            return results[0]

        try:
            return await self.run(name, noted())
        except BaseException:
            for result in results:
                release(result)
            raise


class Watch:
    """One operation of several calls: a stream, or a cursor with its result.

    It starts with the first call of `run`. Garbage collection ends it.
    """

    def __init__(
        self,
        observation: Observation,
        name: OperationName,
        sql: object,
        parameters: int,
        session: Identifies | None = None,
    ) -> None:
        self._operation: Operation | None = None  # while it runs
        self._observation = observation
        self._start: Callable[[], Operation] | None = partial(
            observation.start, name, sql, parameters, session
        )
        self._waited = 0.0
        self._entered: float | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0

    async def run(self, work: Awaitable[T]) -> T:
        """Await *work*, which counts for the operation unless that has ended."""
        if self._start is not None:
            start, self._start = self._start, None
            self._loop, self._pid = asyncio.get_running_loop(), os.getpid()
            self._operation = start()
        operation, outer = self._operation, current_operation.get()
        current_operation.set(operation)
        self._entered = entered = _now()
        try:
            return await work
        except LockError as error:
            if operation is not None and self._observation.on_lock_error is not None:
                await self._observation.on_lock_error(operation, error)
            raise
        finally:
            current_operation.set(outer)
            self._waited += _now() - entered
            self._entered = None
            del operation  # it refers to the error, whose traceback refers to this frame

    def add_rows(self, count: int) -> None:
        if self._operation is not None:
            self._operation.rows += count

    def end(self, error: BaseException | None = None) -> None:
        """End the operation, if it has started. Idempotent."""
        self._start = None
        operation, self._operation = self._operation, None
        if operation is not None:
            waited = self._waited + (0.0 if self._entered is None else _now() - self._entered)
            self._observation.end(operation, error, waited)

    def __del__(self) -> None:
        operation = getattr(self, "_operation", None)
        if operation is None or self._loop is None or self._pid != os.getpid():
            return
        # Finalizers run in any thread, and at any point of an observer's own code.
        try:
            self._loop.call_soon_threadsafe(self._observation.end, operation, None, self._waited)
        except RuntimeError:  # the loop is closed
            self._observation.end(operation, None, self._waited)


def _one(result: Any) -> int:
    return int(result is not None)


def _rowcount(result: Any) -> int:
    return max(int(result.rowcount), 0)


_ROWS: Final[dict[OperationName, Callable[[Any], int]]] = {
    "fetch": len, "call": len, "fetchrow": _one, "fetchval": _one, "execute": _rowcount,
    "executemany": _rowcount, "load": _rowcount, "unload": int,
}  # fmt: skip
"""The number of rows in the result of a call; others have none."""


class MeteredChannel(Channel):
    """A channel for observed connections.

    What arrives counts for the oldest outstanding reply of a running operation. Replies to deferred cleanup, which
    belongs to no operation, count for the operation that waits for its own reply after them.
    """

    def __init__(self) -> None:
        super().__init__()
        self.current_operation = current_operation

    def _sending_operation(self) -> Operation | None:
        # `send` is called from `data_received` as well, in the context that the connection was opened in.
        operation = self.pending_replies[-1].operation if self.pending_replies else running()
        if not isinstance(operation, Operation) or operation.duration is not None:
            return None
        if self.on_reply is None:  # the login, where no dispatcher counts
            operation.round_trips += 1
        return operation

    def _set_failed(self, error: DatabaseError) -> None:
        self.add_server_time(_now())
        super()._set_failed(error)
