"""The event loop in a background thread, and blocking calls of it. Never: SQL, a connection's state.

Invariants:
1. At most one thread per process: it is started by the first connection, and ended by the interpreter's exit. A forked
   process starts its own, and never touches its parent's.
2. After a KeyboardInterrupt, or another exception of a signal handler, the call is cancelled in the loop. This
   interrupts its statement at the server. Only then does the exception reach the caller.
3. What a call raises never ends the loop.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, Final, Generic, TypeVar, cast
from weakref import WeakSet

from aioifx.client.api.connection import Connection
from aioifx.client.observation.query_log import calling_thread
from aioifx.client.session.loop_binding import LoopBinding
from aioifx.errors import DataError, InterfaceError

R = TypeVar("R")
T = TypeVar("T")

logger: Final = logging.getLogger("aioifx.dbapi")

_POLL: Final = 0.1 if sys.platform == "win32" else None
"""Seconds between looks for a signal, where one does not end a wait (assumed for Windows: not tested)."""

_CLOSE_TIMEOUT: Final = 1.0
_EXIT_TIMEOUT: Final = 5.0
"""Seconds for connections to close at exit, each, and for the thread to end."""

_ROWS_AT_A_TIME: Final = 100
"""Rows that the loop takes from an iterable of the caller's thread at a time."""


class LoopThread:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.binding = LoopBinding("the connection", self.loop)
        self.connections: WeakSet[Connection[Any]] = WeakSet()
        """Connections to close at exit; only the thread itself uses it."""
        self._started = set[asyncio.Task[None]]()
        """What `finish` has started: the loop itself has weak references."""
        self._is_ending = False
        # A daemon, because the interpreter joins other threads before it calls `atexit` functions.
        self._thread = threading.Thread(target=self._main, name="aioifx.dbapi", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # from CPython 3.12 on, when the interpreter is exiting
            self.loop.close()
            raise InterfaceError(f"the background event loop cannot be started: {error}") from error

    def _main(self) -> None:
        while not self._is_ending:
            try:
                self.loop.run_forever()
            except BaseException:  # asyncio lets SystemExit and KeyboardInterrupt of callbacks through
                logger.exception("a callback raised in the background event loop")
        self.loop.close()

    @property
    def has_ended(self) -> bool:
        """Whether the loop takes no more calls: the interpreter is exiting."""
        return self._is_ending

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Await ``work()`` in the loop, and return its result or raise its exception."""
        call: Call[T] = Call(self)  # a subscript would cost as much as the rest of this
        return call.run(work)

    def finish(self, work: Callable[[], Awaitable[object]]) -> None:
        """As `run`, but in the thread itself start it and wait for nothing, because finalizers run in any thread.

        It precedes calls that are made later. Its error is logged.
        """
        if threading.get_ident() == self._thread.ident:
            # Not create_task: the collector may run at any allocation of the loop.
            self.loop.call_soon_threadsafe(self._start, work)
        else:
            self.run(work)

    def _start(self, work: Callable[[], Awaitable[object]]) -> None:
        task = self.loop.create_task(_logged(work))
        self._started.add(task)
        task.add_done_callback(self._started.discard)

    def check(self) -> None:
        """Raise InterfaceError if the calling code cannot wait for the loop."""
        if self.binding.is_inherited:
            raise self.binding.refusal()
        if self._is_ending:
            raise InterfaceError("the interpreter is exiting, and the connection was closed")
        if threading.get_ident() == self._thread.ident:
            raise InterfaceError(
                "a blocking call cannot be made from the background event loop, where row factories, codecs,"
                " adapters and observers run"
            )

    def end(self) -> None:
        """Close all connections, and end the thread."""
        self.loop.call_soon_threadsafe(lambda: self.loop.create_task(self._end()))
        self._thread.join(_EXIT_TIMEOUT)

    async def _end(self) -> None:
        try:
            await asyncio.gather(*map(_end_connection, self.connections), return_exceptions=True)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            if others:
                await asyncio.wait(others, timeout=_CLOSE_TIMEOUT)
        finally:
            self._is_ending = True
            self.loop.stop()


async def _logged(work: Callable[[], Awaitable[object]]) -> None:
    try:
        await work()
    except Exception:
        logger.warning("a connection that was garbage-collected could not be cleaned up", exc_info=True)


async def _end_connection(connection: Connection[Any]) -> None:
    if not connection.is_closed():
        connection.cancel()  # of a daemon thread
    await connection.close(timeout=_CLOSE_TIMEOUT)


class Call(Generic[T]):
    """One blocking call."""

    def __init__(self, thread: LoopThread) -> None:
        thread.check()
        self._loop = thread.loop
        self._caller = threading.get_ident()
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        """What the caller's thread is to call; None ends its wait."""
        self._task: asyncio.Task[None] | None = None
        self._result: T | None = None
        self._error: BaseException | None = None

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """As `LoopThread.run`."""
        try:
            self._loop.call_soon_threadsafe(self._start, work)
            while (job := self._next_job()) is not None:
                job()
        except BaseException:
            self._cancel()
            raise
        error = self._error
        if error is not None:
            try:
                raise error
            finally:
                del self._error, error  # break the reference cycle through the traceback
        return cast("T", self._result)

    def _next_job(self) -> Callable[[], None] | None:
        while True:
            try:
                return self._jobs.get(timeout=_POLL)
            except Empty:
                pass

    def _start(self, work: Callable[[], Awaitable[T]]) -> None:
        calling_thread.set(self._caller)  # in the copy of its context
        self._task = self._loop.create_task(self._main(work))

    async def _main(self, work: Callable[[], Awaitable[T]]) -> None:
        try:
            self._result = await work()
        except BaseException as error:  # SystemExit as well: it is for the caller, not for the loop
            self._error = error
        finally:
            self._jobs.put(None)

    def _cancel(self) -> None:
        """Cancel the call, and wait until it has ended."""
        self._loop.call_soon_threadsafe(self._cancel_task)
        while self._next_job() is not None:
            pass

    def _cancel_task(self) -> None:
        # The exception may have come before the call was started, or after its end was taken from the queue. A task
        # that is cancelled before its first step does not run `_main`.
        if self._task is None or self._task.done():
            self._jobs.put(None)
        else:
            self._task.add_done_callback(lambda _: self._jobs.put(None))
            self._task.cancel()

    async def rows_of(self, rows: Iterable[R]) -> AsyncGenerator[R, None]:
        """The items of an iterable, for the loop, iterated in the caller's thread.

        There it may block or make calls of its own.
        """
        iterator: Iterator[R] | None = None

        def take() -> list[R]:
            nonlocal iterator
            if iterator is None:
                iterator = iter(rows)
            return list(islice(iterator, _ROWS_AT_A_TIME))

        while chunk := await self._in_caller(take):
            for row in chunk:
                yield row

    async def _in_caller(self, function: Callable[[], R]) -> R:
        """Call *function* in the caller's thread."""
        future: asyncio.Future[R] = self._loop.create_future()

        def job() -> None:
            try:
                result = function()
            except StopIteration as error:  # no future takes it
                failure = DataError("the iterable raised StopIteration")
                failure.__cause__ = error
                self._loop.call_soon_threadsafe(_resolve, future, None, failure)
            except Exception as error:
                self._loop.call_soon_threadsafe(_resolve, future, None, error)
            else:
                self._loop.call_soon_threadsafe(_resolve, future, result, None)

        self._jobs.put(job)
        return await future


def _resolve(future: asyncio.Future[Any], result: object, error: Exception | None) -> None:
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


# -- the one of this process ------------------------------------------------------------------------------------------

_lock = threading.Lock()
_current: LoopThread | None = None
_is_exiting = False


def loop_thread() -> LoopThread:
    """The thread of this process, started if there is none.

    Raises:
        InterfaceError: the interpreter is exiting.
    """
    global _current
    with _lock:
        if _is_exiting:
            raise InterfaceError("the interpreter is exiting: a connection cannot be opened")
        if _current is None:
            _current = LoopThread()
        return _current


def _end_at_exit() -> None:
    global _is_exiting
    with _lock:
        _is_exiting, thread = True, _current
    if thread is not None:
        thread.end()


def _on_fork() -> None:
    global _lock, _current
    _lock, _current = threading.Lock(), None


# On import, so that functions registered by an application, which are called earlier, can still use connections.
atexit.register(_end_at_exit)
if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_on_fork)
