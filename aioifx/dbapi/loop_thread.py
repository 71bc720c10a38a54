"""One event loop for all blocking connections, which the waiting threads run. Never: SQL, a connection's state.

Invariants:
1. At most one thread runs the loop at a time, the driver. A call drives while it waits. If another thread does, it
   waits for its turn or its result, whichever comes first. A driver hands over as soon as its own call has ended.
2. The background thread drives while no call does: after `_IDLE` seconds, or at once if something waits for it. There
   is one per process, started by the first connection, and ended by the interpreter's exit. A forked process starts its
   own, and never touches its parent's.
3. No exception of a signal's handler is raised while the loop runs, which could be anywhere in it. After one, such as
   KeyboardInterrupt, the call is cancelled in the loop. This interrupts its statement at the server. Only then does the
   exception reach the caller.
4. What a call raises never ends the loop.
5. A thread that is inside a call never waits for another one: finalizers and handlers of signals run there, too.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast
from weakref import WeakSet

from aioifx.client.api.connection import Connection
from aioifx.client.observation.query_log import calling_thread
from aioifx.client.session.loop_binding import LoopBinding
from aioifx.dbapi.driven_loop import DrivenLoop
from aioifx.dbapi.signals import Handlers, replace_handlers, restore_handlers
from aioifx.errors import DataError, InterfaceError

R = TypeVar("R")
T = TypeVar("T")

Job: TypeAlias = Callable[[], Callable[[], None]]
"""What a caller's thread is to call; the loop is to call what it returns."""

logger: Final = logging.getLogger("aioifx.dbapi")

_POLL: Final = 0.1 if sys.platform == "win32" else None
"""Seconds between looks for a signal, where one does not end a wait (assumed for Windows: not tested). There the thread
in the background alone runs the loop."""

_IDLE: Final = 0.05
"""Seconds without a call until the background thread drives. If it did at once, each call would have to stop it."""

_CLOSE_TIMEOUT: Final = 1.0
_EXIT_TIMEOUT: Final = 5.0
"""Seconds for connections to close at exit, each, and for the thread to end."""

_ROWS_AT_A_TIME: Final = 100
"""Rows that the loop takes from an iterable of the caller's thread at a time."""


class LoopThread:
    """An event loop, and the daemon thread that runs it in the background. Subinterpreters have no daemon threads.

    Args:
        callers_drive: False: the daemon thread alone runs the loop, all the time, as for a server.
    """

    def __init__(self, *, callers_drive: bool = True) -> None:
        self.callers_drive = callers_drive and _POLL is None
        self.loop: asyncio.AbstractEventLoop
        if self.callers_drive:
            self.loop = DrivenLoop(self._on_work)
        else:
            self.loop = asyncio.new_event_loop()
        self.binding = LoopBinding("the connection", self.loop)
        self.connections: WeakSet[Connection[Any]] = WeakSet()
        """Connections to close at exit; only the loop itself uses it."""
        self.driver: Call[Any] | LoopThread | None = None
        """Who runs the loop: a call in its thread, or the daemon thread. Changed under the lock."""
        self.inside = set[int]()
        """Threads that are inside a call, except while they run code of the caller."""
        self._lock = threading.Lock()
        self._waiting = deque[Call[Any]]()
        """Calls that drive when it is their turn."""
        self._undriven = 0
        """Calls that wait and cannot drive."""
        self._calls = 0
        self._wakes: SimpleQueue[bool] = SimpleQueue()
        """Ends a wait of the daemon thread; True: something waits for it. A queue, because finalizers use it."""
        self._sleeps = False
        """Whether the daemon thread waits for the end of a call."""
        self.left = deque[Callable[[], Awaitable[object]]]()
        """What `finish` is to start."""
        self._started = set[asyncio.Task[None]]()
        """What it has started: the loop itself has weak references."""
        self._is_ending = False
        try:
            self._thread = self._make_thread()
            self._thread.start()
        except RuntimeError as error:  # from CPython 3.12 on, when the interpreter is exiting
            self.loop.close()
            raise InterfaceError(f"the background event loop cannot be started: {error}") from error

    def _make_thread(self) -> threading.Thread:
        make = partial(threading.Thread, target=self._main, name="aioifx.dbapi")
        try:
            # A daemon, because the interpreter joins other threads before it calls `atexit` functions.
            return make(daemon=True)
        except RuntimeError:  # in a subinterpreter
            threading._register_atexit(self.end)  # type: ignore[attr-defined]  # called before threads are joined
            return make(daemon=False)

    @property
    def has_ended(self) -> bool:
        """Whether the loop takes no more calls: the interpreter is exiting."""
        return self._is_ending

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Await ``work()`` in the loop, and return its result or raise its exception."""
        call: Call[T] = Call(self)  # a subscript would cost as much as the rest of this
        return call.run(work)

    def finish(self, work: Callable[[], Awaitable[object]]) -> None:
        """As `run`, but inside a call start it and wait for nothing, because finalizers run in any thread.

        It precedes calls that are made later. Its error is logged.
        """
        if threading.get_ident() in self.inside:
            # Not create_task: the collector may run at any allocation of the loop.
            self.left.append(work)
            self.loop.call_soon_threadsafe(self.start_left)
        else:
            self.run(work)

    def start_left(self) -> None:
        """Start what `finish` was called for; by who drives."""
        while self.left:
            task = self.loop.create_task(_logged(self.left.popleft()))
            self._started.add(task)
            task.add_done_callback(self._started.discard)

    def check(self) -> None:
        """Raise InterfaceError if the calling code cannot wait for the loop."""
        if self.binding.is_inherited:
            raise self.binding.refusal()
        if self._is_ending:
            raise InterfaceError("the interpreter is exiting, and the connection was closed")
        if threading.get_ident() in self.inside:
            raise InterfaceError(
                "a blocking call cannot be made from the event loop of blocking calls, where row factories, codecs,"
                " adapters and observers run"
            )

    def end(self) -> None:
        """Close all connections, and end the thread, unless it has ended."""
        if self._is_ending:
            return
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

    # -- who drives ---------------------------------------------------------------------------------------------------

    def take(self, call: Call[Any]) -> None:
        """Make *call* the driver, or let it wait: for its turn if it can drive, and for its result."""
        with self._lock:
            self._calls += 1
            if not call.can_drive:
                self._undriven += 1
                return
            driver = self.driver
            if driver is None:
                self.driver = call
                return
            self._waiting.append(call)
        if driver is self:
            self.loop.call_soon_threadsafe(self.loop.stop)

    def release(self, call: Call[Any]) -> None:
        """*call* drives no longer, and waits neither for its turn nor for its result."""
        with self._lock:
            if not call.can_drive:
                self._undriven -= 1
            elif self.driver is call:
                self._hand_over()
            elif call in self._waiting:
                self._waiting.remove(call)

    def _hand_over(self) -> None:
        """Let the call drive that has waited longest; under the lock."""
        if self._waiting:
            self.driver = following = self._waiting.popleft()
            following.jobs.put(TURN)
            return
        self.driver = None
        if self._sleeps or self._undriven:
            self._sleeps = False
            self._wakes.put(self._undriven > 0)

    def _on_work(self) -> None:
        """Called when a thread has put work into the loop, also by finalizers at any place."""
        if self.driver is None:  # otherwise that does it, or at the latest the daemon thread after `_IDLE`
            self._wakes.put(True)

    def _main(self) -> None:
        self.inside.add(threading.get_ident())
        while True:
            self._take_idle()
            if self._is_ending:
                break
            try:
                self.loop.run_forever()
            except BaseException:  # asyncio lets SystemExit and KeyboardInterrupt of callbacks through
                logger.exception("a callback raised in the background event loop")
            with self._lock:
                self._hand_over()
        self.loop.close()

    def _take_idle(self) -> None:
        """Wait until nothing drives the loop and it is needed, and drive from then on."""
        calls, is_needed = -1, not self.callers_drive
        while True:
            with self._lock:
                is_free, is_quiet = self.driver is None, self._calls == calls
                if is_free and (is_needed or is_quiet or self._is_ending):
                    self.driver = self
                    return
                # Not for the end of a short call, whose thread would wake this one for nothing.
                self._sleeps, calls = is_quiet, self._calls
            try:
                is_needed = self._wakes.get(timeout=None if self._sleeps else _IDLE)
                calls = -1  # a call has just ended: wait once more
            except Empty:
                is_needed = False


async def _logged(work: Callable[[], Awaitable[object]]) -> None:
    try:
        await work()
    except Exception:
        logger.warning("a connection that was garbage-collected could not be cleaned up", exc_info=True)


async def _end_connection(connection: Connection[Any]) -> None:
    if not connection.is_closed():
        connection.cancel()  # of a daemon thread
    await connection.close(timeout=_CLOSE_TIMEOUT)


class _Turn:
    """In the jobs of a call that has waited: it is the driver."""


TURN: Final = _Turn()


class Call(Generic[T]):
    """One blocking call."""

    def __init__(self, thread: LoopThread) -> None:
        thread.check()
        self._thread = thread
        self._loop = thread.loop
        self._caller = threading.get_ident()
        # Two event loops cannot run in one thread.
        self.can_drive = thread.callers_drive and asyncio._get_running_loop() is None
        self.jobs: SimpleQueue[Job | _Turn | None] = SimpleQueue()
        """What the caller's thread is to call; None ends its wait."""
        self._task: asyncio.Task[None] | None = None
        self._result: T | None = None
        self._error: BaseException | None = None
        self._interrupt: BaseException | None = None
        """What a handler of a signal, or code of the caller, has raised."""
        self._defers = True
        """Whether what handlers of signals raise is raised after the call only."""
        self._handlers: Handlers = {}

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """As `LoopThread.run`."""
        thread = self._thread
        replace_handlers(self._on_signal, self._handlers)
        try:
            thread.inside.add(self._caller)
            self._begin(work)
            while (job := self._next_job()) is not None:
                self._do(job)
        except BaseException:  # a defect, or no memory
            thread.release(self)
            raise
        finally:
            thread.inside.discard(self._caller)
            self._defers = False
            restore_handlers(self._handlers)
        error = self._interrupt or self._error
        if error is not None:
            try:
                raise error
            finally:
                del self._error, self._interrupt, error  # break the reference cycle through the traceback
        return cast("T", self._result)

    def _begin(self, work: Callable[[], Awaitable[T]]) -> None:
        thread = self._thread
        thread.take(self)
        if thread.driver is not self:
            self._loop.call_soon_threadsafe(self._start, work)
        else:
            if thread.left:
                thread.start_left()
            self._start(work)

    def _start(self, work: Callable[[], Awaitable[T]]) -> None:
        if self._interrupt is None:
            self._task = self._loop.create_task(self._main(work))
        else:
            self._notify(None)

    async def _main(self, work: Callable[[], Awaitable[T]]) -> None:
        calling_thread.set(self._caller)  # in the task's copy of the context
        try:
            self._result = await work()
        except BaseException as error:  # SystemExit as well: it is for the caller, not for the loop
            self._error = error
        finally:
            self._notify(None)

    def _notify(self, job: Job | None) -> None:
        self.jobs.put(job)
        if self._thread.driver is self:
            self._loop.stop()

    # -- in the caller's thread ---------------------------------------------------------------------------------------

    def _next_job(self) -> Job | None:
        """Drive, or wait while another thread does, until there is something to do here."""
        thread = self._thread
        while True:
            if thread.driver is self and self.jobs.empty():
                try:
                    self._loop.run_forever()
                except BaseException as error:  # SystemExit and KeyboardInterrupt of a callback
                    self._on_interrupt(error)
                continue  # `stop` may have been meant for another driver
            try:
                job = self.jobs.get(timeout=_POLL)
            except Empty:
                continue
            if not isinstance(job, _Turn):
                thread.release(self)
                return job

    def _do(self, job: Job) -> None:
        """Call *job*, which may make calls of its own, and then wait again."""
        thread, then = self._thread, None
        thread.inside.discard(self._caller)
        try:
            self._defers = False
            then = job()
            self._defers = True
        except BaseException as error:
            self._defers = True
            self._on_interrupt(error)
        thread.inside.add(self._caller)
        thread.take(self)
        if then is not None:
            self._loop.call_soon_threadsafe(then)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        """Call the handler that it has replaced."""
        handler = self._handlers[number]
        if not self._defers:
            handler(number, frame)
            return
        try:
            handler(number, frame)
        except BaseException as error:
            self._on_interrupt(error)

    def _on_interrupt(self, error: BaseException) -> None:
        """Cancel the call, or no longer wait for its end."""
        if self._interrupt is None:
            self._interrupt = error
            self._loop.call_soon_threadsafe(self._cancel)
        else:
            self._loop.call_soon_threadsafe(self._notify, None)

    def _cancel(self) -> None:
        # A task that is cancelled before its first step does not run `_main`.
        if self._task is not None and not self._task.done():
            self._task.add_done_callback(lambda _: self._notify(None))
            self._task.cancel()

    # -- rows of the caller -------------------------------------------------------------------------------------------

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

        def job() -> Callable[[], None]:
            try:
                return partial(_resolve, future, function(), None)
            except StopIteration as error:  # no future takes it
                failure = DataError("the iterable raised StopIteration")
                failure.__cause__ = error
                return partial(_resolve, future, None, failure)
            except Exception as error:
                return partial(_resolve, future, None, error)

        self._notify(job)
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
        if _is_exiting or (_current is not None and _current.has_ended):
            raise InterfaceError("the interpreter is exiting: a connection cannot be opened")
        if _current is None:
            _current = LoopThread()
        return _current


def _end_at_exit() -> None:
    global _is_exiting, _current
    with _lock:
        _is_exiting, thread, _current = True, _current, None
    if thread is not None:
        thread.end()


def _on_fork() -> None:
    global _lock, _current
    if _current is not None and isinstance(_current.loop, DrivenLoop):
        _current.loop.disown()
    _lock, _current = threading.Lock(), None


# On import, so that functions registered by an application, which are called earlier, can still use connections.
atexit.register(_end_at_exit)
if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_on_fork)
