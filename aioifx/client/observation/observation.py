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
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from aioifx.channel import Channel
from aioifx.client.observation.operation import Observer, Operation, OperationName
from aioifx.errors import DatabaseError, LockError

T = TypeVar("T")

logger: Final = logging.getLogger("aioifx.observer")

_now: Final = time.perf_counter
_INTERRUPTS: Final = (KeyboardInterrupt, SystemExit)
"""Raised by an observer, these reach the caller after all observers were called. A CancelledError, as of a future that
an observer asks for its result, does not cancel the caller."""


class Meter(Protocol):
    """What an operation's requests were sent through."""

    def add_outstanding_time(self, operation: Operation) -> None:
        """Add the server time of a reply that is still outstanding; called before the operation ends."""
        ...


class RunningOperation(Operation):
    """An operation with what is needed until its end."""

    began: float = 0.0
    meter: Meter | None = None
    """Set by the first request."""

    # Not the initializer of 24 fields: it costs four times as much.
    def __init__(self, name: OperationName, sql: str = "", parameters: int = 0) -> None:
        self.name, self.sql, self.parameters = name, sql, parameters


class Identifies(Protocol):
    """A session."""

    def identify(self, operation: Operation) -> None:
        """Set the operation's fields about the server and the session."""
        ...


current_operation: Final[ContextVar[RunningOperation | None]] = ContextVar("aioifx_operation", default=None)
"""The operation whose code is running; requests that it sends count for it."""


@dataclass(frozen=True, slots=True)
class Target:
    """The server of operations that have no connection yet."""

    host: str = ""
    port: int = 0
    server_name: str = ""
    database: str = ""
    user: str = ""

    def identify(self, operation: Operation) -> None:
        operation.host, operation.port, operation.server_name = self.host, self.port, self.server_name
        operation.database, operation.user = self.database, self.user


def running() -> RunningOperation | None:
    """The current operation, if it has not ended; a task that it started may outlive it."""
    operation = current_operation.get()
    return None if operation is None or operation.duration is not None else operation


def note(*, sql: str | None = None, parameters: int | None = None, batch_size: int | None = None) -> None:
    """Set what was not known at the start of the current operation."""
    if (operation := running()) is not None:
        operation.sql = operation.sql if sql is None else sql
        operation.parameters = operation.parameters if parameters is None else parameters
        operation.batch_size = operation.batch_size if batch_size is None else batch_size


@contextmanager
def queueing() -> Generator[None, None, None]:
    """The time of the block is queue time of the current operation."""
    operation, began = running(), _now()
    before = 0.0 if operation is None else operation.queue_time
    try:
        yield
    finally:
        if operation is not None:  # what was added within the block is part of its time
            operation.queue_time = before + _now() - began


class Observation:
    """The observers of one connection, or of a pool and its connections.

    Args:
        pool: name of the pool.
        target: for operations without a connection.
    """

    def __init__(self, observers: Sequence[Observer], target: Target, pool: str = "") -> None:
        self.observers: Final = tuple(observers)
        self._on_start: Final = tuple(observer.on_start for observer in self.observers)
        self._on_end: Final = tuple(observer.on_end for observer in self.observers)
        self._target = target
        self._pool = pool
        self._logged: set[tuple[int, type[BaseException]]] = set()
        self.on_lock_error: Callable[[Operation, LockError], Awaitable[None]] | None = None
        """Awaited after an operation that ended with a LockError, before the caller gets it."""

    # -- start and end ------------------------------------------------------------------------------------------------

    def start(
        self, name: OperationName, sql: object = "", parameters: int = 0, session: Identifies | None = None
    ) -> RunningOperation:
        """Start an operation; the caller must `end` it.

        Args:
            sql: a text of another type is rejected later, when it is prepared.
        """
        operation = RunningOperation(name, sql if isinstance(sql, str) else "", parameters)
        (session or self._target).identify(operation)
        operation.pool = self._pool
        operation.started_at, operation.began = time.time(), _now()
        try:
            self._notify(self._on_start, operation)
        except _INTERRUPTS as interrupt:
            self.end(operation, interrupt)
            raise
        return operation

    def end(
        self, operation: RunningOperation, error: BaseException | None = None, waited: float | None = None
    ) -> None:
        """End an operation. Idempotent.

        Args:
            waited: seconds that the caller waited; None: all the time.
        """
        if operation.duration is not None:
            return
        meter, operation.meter = operation.meter, None
        if meter is not None:
            meter.add_outstanding_time(operation)
        operation.duration = duration = _now() - operation.began
        operation.wait_time = duration if waited is None else min(waited, duration)
        operation.error = error
        self._notify(self._on_end, operation)

    def _notify(self, methods: Sequence[Callable[[Operation], object]], operation: RunningOperation) -> None:
        """Call a method of each observer; an exception that interrupts is raised after all were called."""
        interrupt: BaseException | None = None
        for method in methods:
            try:
                method(operation)
            except _INTERRUPTS as error:
                interrupt = error
            except BaseException as error:
                self._log(self.observers[methods.index(method)], error)
        if interrupt is not None:
            raise interrupt

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
        self._operation: RunningOperation | None = None  # while it runs
        self._observation = observation
        self._start: Callable[[], RunningOperation] | None = partial(
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


def _length(result: Any) -> int:
    return len(result)


def _one(result: Any) -> int:
    return int(result is not None)


def _rowcount(result: Any) -> int:
    return max(int(result.rowcount), 0)


_ROWS: Final[dict[OperationName, Callable[[Any], int]]] = {
    "fetch": _length, "call": _length, "fetchrow": _one, "fetchval": _one, "execute": _rowcount,
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

    def _sending_operation(self) -> RunningOperation | None:
        # `send` is called from `data_received` as well, in the context that the connection was opened in.
        operation = self.pending_replies[-1].operation if self.pending_replies else running()
        if not isinstance(operation, RunningOperation) or operation.duration is not None:
            return None
        if self.on_reply is None:  # the login, where no dispatcher counts
            operation.round_trips += 1
        return operation

    def add_outstanding_time(self, operation: Operation) -> None:
        for in_flight in self.pending_replies:
            if in_flight.operation is operation:
                operation.server_time += _now() - max(self._quiet_since, in_flight.sent_at)
                return

    def _set_failed(self, error: DatabaseError) -> None:
        self.add_server_time(_now())
        super()._set_failed(error)
