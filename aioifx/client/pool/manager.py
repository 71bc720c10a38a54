"""PoolManager: performs what PoolState decides: open, assign, reset, close. Never: a query; what a hook does.

Invariants:
1. `PoolState` decides; its actions run here immediately or in the pool's own tasks. No lock is held over I/O.
2. Releasing awaits nothing, so it works in a cancelled scope.
3. A released connection in an unknown state is closed; so is one whose reset fails or times out.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import random
import warnings
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeVar

from aioifx.channel import running_loop
from aioifx.client.api.connection import Connection, lease_of
from aioifx.client.execution.statement_cache import StatementCache
from aioifx.client.observation.observation import Observation, note_session
from aioifx.client.pool.decisions import (
    Action,
    Assign,
    Close,
    Limits,
    Open,
    PooledConnection,
    PoolState,
    Reject,
)
from aioifx.client.pool.leases import Acquirer, Holder, Holders, Lease, acquirer_of
from aioifx.client.pool.lifecycle import ConnectionLifecycle, PooledSession, session_of, within_operation
from aioifx.client.pool.listeners import PoolTimes, listeners_of
from aioifx.client.pool.waits import Waiter, WaitLimits
from aioifx.client.session.loop_binding import LoopBinding
from aioifx.client.session.session import Session
from aioifx.client.session.waiting import CoalescingTimer
from aioifx.errors import (
    AuthenticationError,
    Error,
    InterfaceError,
    LocaleError,
    NotSupportedError,
    PoolClosed,
    PoolTimeout,
)

T = TypeVar("T")

logger: Final = logging.getLogger("aioifx.pool")

_PERMANENT_ERRORS: Final = (AuthenticationError, LocaleError, NotSupportedError, InterfaceError)
"""Connect errors that a retry cannot resolve."""

WARNING_INTERVAL: Final = 60.0
"""Seconds between two warnings that a pool cannot open connections."""


_running_loop: Final = asyncio._get_running_loop  # pyright: ignore[reportPrivateUsage] - None without a loop


def _because(cause: BaseException | None) -> str:
    """The end of a message with a cause."""
    return f": {cause}" if cause is not None and str(cause) else ""


def _is_cancellation(error: BaseException) -> bool:
    """Whether the current task was cancelled, and a hook has not raised CancelledError by itself."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


class PoolManager:
    """Connections of one pool, with the pool's name and state. Bound to one event loop."""

    def __init__(
        self,
        lifecycle: ConnectionLifecycle,
        limits: Limits,
        *,
        name: str,
        debug: bool = False,
        slow_release: float | None = None,
    ) -> None:
        self._lifecycle = lifecycle
        self.observation = lifecycle.observation
        self.name = name
        self.has_setup = lifecycle.setup is not None
        """Whether there is a setup hook."""
        self._slow_release = slow_release
        self.last_leaked: Acquirer | None = None
        """Of the connection that was last garbage-collected without being released; None if there is none."""
        self.state: PoolState[PooledSession, Waiter] = PoolState(limits, random.random)
        self._times = PoolTimes(self.state.counters, listeners_of(self.observation, name, self.state))
        self._wait_time, self._use_time = self.state.counters.wait_time, self.state.counters.use_time
        self._holders = Holders(self.state.in_use, debug)
        self._is_watched = debug or bool(self._times.listeners) or slow_release is not None
        """Whether more follows from an acquire or a release than that its time is counted."""
        self._opening: set[asyncio.Task[None]] = set()
        self._resetting: set[asyncio.Task[None]] = set()
        self._closing: dict[asyncio.Task[None], PooledSession] = {}
        self._timer: CoalescingTimer | None = None
        self._limits: WaitLimits | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._now: Callable[[], float] = float  # 0.0 until it is started
        self._binding: LoopBinding | None = None
        self._context: contextvars.Context | None = None
        """Context of `start`: the pool's own tasks neither see nor keep context variables of its users."""
        self._changed: asyncio.Future[None] | None = None
        self._silent_until = 0.0
        self._unreported = 0
        """Failed attempts without a warning."""

    def __repr__(self) -> str:
        state = self.state
        phase = "closed" if state.is_closing else "open" if self._loop else "new"
        return (
            f"<Pool {self.name!r} {phase}: {len(state.idle)} idle, {len(state.in_use)} in use"
            f"{self._holders.longest(self._now())}, {len(state.waiting)} waiting, at most {state.limits.max_size}>"
        )

    def any_session(self) -> Session | None:
        """The session of any open connection; None if there is none."""
        state = self.state
        return next((pooled.session.session for pooled in (*state.in_use, *state.idle)), None)

    # -- starting -----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start opening min_size connections, and return once the first one is open.

        Raises:
            ConnectError: the server cannot be reached, or rejects the login.
            InterfaceError: no asyncio.
        """
        if self._loop is not None:
            raise InterfaceError("the pool is already started")
        self._loop = running_loop()
        self._now = self._loop.time
        self._binding = LoopBinding("the pool", self._loop)
        self._context = contextvars.copy_context()
        self._timer = CoalescingTimer(self._loop, self._on_timer, self._context)
        self._limits = WaitLimits(self._loop, self.state.waiting.keys(), self._time_out, self._context)
        self._check_open()
        if self.state.limits.min_size:
            self.state.opening += 1
            try:
                await self._open()
            except BaseException as error:
                self.terminate()
                if _is_cancellation(error):  # which `_open` does not report
                    self._perform(self.state.on_open_cancelled(self._now()))
                raise
        if self.state.is_closing:  # closed by another task meanwhile
            await self.close(None)
        self._check_open()
        self._perform(self.state.decide(self._now()))

    async def wait_ready(self, timeout: float | None = None) -> None:
        """Wait until min_size connections are open, with as many attempts as it takes.

        Raises:
            PoolTimeout: not in time.
            PoolClosed: the pool was closed meanwhile.
        """
        limits = self.state.limits
        self._check_open()
        self.state.is_left = False
        self._perform(self.state.decide(self._now()))
        try:
            async with asyncio.timeout(timeout):
                while self.state.size < limits.min_size:
                    await self._wait_change()
                    self._check_open()
        except TimeoutError:
            raise PoolTimeout(
                f"{self!r}: {self.state.size} of {limits.min_size} connections were open after {timeout:g} s"
                f"{_because(self.state.error)}"
            ) from self.state.error

    # -- acquiring ----------------------------------------------------------------------------------------------------

    def acquire(self, timeout: float) -> Coroutine[Any, Any, Connection[Any]]:
        """Acquire a connection; awaited by `Pool.acquire`."""
        if self.observation is None:
            return self._acquire(timeout)
        return self.observation.run_opening(
            "acquire", within_operation(self._acquire(timeout)), self.release_if_held
        )

    def try_take(self) -> PooledConnection[PooledSession] | None:
        """An idle connection, if there is one that needs neither a check nor the setup hook; `end` returns it."""
        if self._binding is None or _running_loop() is not self._binding.loop:
            self._check_open()
        now = self._now()
        pooled = None if self.has_setup else self.state.acquire_idle(now)
        if pooled is None:
            self._check_open()
            return None
        if pooled.session.session.channel.failure is not None:
            self._drop(pooled, "it does not answer")
            return None
        if self._is_watched:
            self._hold(pooled, now, now)
        else:
            pooled.held_since = now
            self._wait_time.shortest += 1
        return pooled

    def take(self, timeout: float) -> Coroutine[Any, Any, PooledConnection[PooledSession]]:
        """Wait for a connection that `try_take` has not found; `end` returns it. Not if there is a setup hook."""
        if self.observation is None:
            return self._take(timeout)
        return within_operation(
            self.observation.run_opening(
                "acquire",
                within_operation(self._take(timeout)),
                lambda pooled: self.end(pooled, pooled.session.statements),
            )
        )

    def try_take_within(self, observation: Observation) -> PooledConnection[PooledSession] | None:
        """`try_take` as an operation, within the current one, unless a connection has to be waited for."""
        try:
            pooled = self.try_take()
        except Error as error:
            observation.end(observation.start("acquire"), error)
            raise
        if pooled is None:
            return None
        session = session_of(pooled)
        try:
            observation.end(observation.start("acquire", session=session))
        except BaseException:  # an observer may raise KeyboardInterrupt
            self.end(pooled, pooled.session.statements)
            raise
        note_session(session)
        return pooled

    async def _take(self, timeout: float) -> PooledConnection[PooledSession]:
        asked_at = self._now()
        pooled = await self._wait_pooled(asked_at, self._deadline(timeout), timeout)
        self._hold(pooled, asked_at, self._now())
        return pooled

    def _hold(self, pooled: PooledConnection[PooledSession], asked_at: float, now: float) -> None:
        """Called when a task has got a connection."""
        pooled.held_since = now
        if self._holders.debug:
            pooled.user = self._holders.acquirer()
        self._times.on_acquired(now - asked_at)

    async def _acquire(self, timeout: float) -> Connection[Any]:
        pooled = self.try_take()
        if pooled is None and self.has_setup:
            return await self._acquire_set_up(timeout)
        lease = Lease(pooled or await self._take(timeout), self._on_leaked)
        lease.is_held = True
        return lease.connection()

    async def _acquire_set_up(self, timeout: float) -> Connection[Any]:
        """Wait for a connection, and run the setup hook with it."""
        asked_at, deadline = self._now(), self._deadline(timeout)
        pooled = await self._wait_pooled(asked_at, deadline, timeout)
        lease = Lease(pooled, self._on_leaked)
        conn = lease.connection()
        await self._within(
            deadline, timeout, pooled, self._lifecycle.run_setup(pooled.session, conn), "its setup failed"
        )
        self._hold(pooled, asked_at, self._now())
        lease.is_held = True
        return conn

    async def _wait_pooled(
        self, asked_at: float, deadline: float, timeout: float
    ) -> PooledConnection[PooledSession]:
        """Wait for a connection that is open, and checked if a check is due."""
        assert self._loop is not None and self._limits is not None
        waiter = Waiter(asyncio.Future(loop=self._loop), deadline, timeout)
        self._perform(self.state.enqueue(waiter, asked_at))
        while True:
            if not waiter.future.done():
                self._limits.arm(deadline)
            try:
                assigned = await waiter.future
            except asyncio.CancelledError:
                self._on_wait_cancelled(waiter)
                raise
            pooled, session = assigned.pooled, assigned.pooled.session
            if session.session.dispatcher.is_open and (
                not assigned.check
                or await self._within(deadline, timeout, pooled, session.is_alive(), "its check failed")
            ):
                return pooled
            self._drop(pooled, "it does not answer")
            waiter = Waiter(asyncio.Future(loop=self._loop), deadline, timeout)
            self._perform(self.state.requeue_first(waiter, self._now()))

    def _on_wait_cancelled(self, waiter: Waiter) -> None:
        """Give up the place in the queue, or the connection that was assigned just before the cancellation."""
        self.state.cancel(waiter)
        future = waiter.future
        if future.done() and not future.cancelled() and future.exception() is None:
            pooled = future.result().pooled
            self._return(pooled, pooled.session.reset_failure, used=False)

    async def _within(
        self,
        deadline: float,
        timeout: float,
        pooled: PooledConnection[PooledSession],
        work: Coroutine[Any, Any, T],
        reason: str,
    ) -> T:
        """Await *work*, until *deadline*; if it fails, the connection is in an unknown state and is dropped."""
        limit = asyncio.timeout_at(deadline)
        try:
            async with limit:
                return await work
        except TimeoutError as error:
            self._drop(pooled, reason)
            if isinstance(error, Error) or not limit.expired():
                raise
            raise self._timed_out(timeout) from self.state.error
        except BaseException:
            self._drop(pooled, reason)
            raise

    def _time_out(self, waiter: Waiter) -> None:
        self.state.cancel(waiter)
        error = self._timed_out(waiter.timeout)
        error.__cause__ = self.state.error
        waiter.future.set_exception(error)

    def _deadline(self, timeout: float) -> float:
        """When a wait ends that begins now, in the event loop's time."""
        assert self._loop is not None
        return self._loop.time() + timeout

    def _timed_out(self, timeout: float) -> PoolTimeout:
        self._times.on_timed_out()
        return self._timeout(f"no connection within {timeout:g} s{_because(self.state.error)}")

    def release(self, conn: Connection[Any]) -> None:
        """Release a connection.

        Raises:
            InterfaceError: the connection is not from this pool, or is already released.
        """
        if not self.release_if_held(conn):
            raise InterfaceError(
                f"conn: expected a connection of {self!r} that is not yet released, got {conn!r}"
            )

    def release_if_held(self, conn: Connection[Any]) -> bool:
        """Release a connection, unless it is already released or not from this pool. Returns whether it did."""
        lease = lease_of(conn)
        if not isinstance(lease, Lease) or not lease.is_held or lease.pooled not in self.state.in_use:
            return False
        self._check_loop()
        conn._invalidate()  # pyright: ignore[reportPrivateUsage] - the pool's side of it
        lease.is_held = False
        self.end(lease.pooled, lease.statements)
        return True

    def end(self, pooled: PooledConnection[PooledSession], statements: StatementCache) -> None:
        """Release a connection that is held.

        Args:
            statements: those that its user had.
        """
        now, since = self._now(), pooled.held_since
        assert since is not None
        held = now - since
        pooled.held_since = None
        times = self._use_time
        if held > times.usual or self._is_watched:
            self._on_held(pooled, held)
        else:
            times.shortest += 1
            times.total += held
        session = pooled.session
        if self._lifecycle.reset is None and session.session.try_reset(statements.in_use):
            if statements is not session.statements:
                statements.is_closed = True
            if not self.state.try_release(pooled, now):
                self._perform(self.state.release(pooled, now))
            return
        session.reset(statements)
        if failure := session.reset_failure:
            self._return(pooled, failure)
        elif self._lifecycle.is_reset(session):
            self._perform(self.state.release(pooled, now))
        else:
            task = self._spawn(self._lifecycle.finish_reset(session, self), self._resetting)
            task.add_done_callback(partial(self._on_reset_done, pooled))

    def _on_held(self, pooled: PooledConnection[PooledSession], seconds: float) -> None:
        """Called when a task releases a connection, that long after the acquire."""
        self._times.on_released(seconds)
        if self._slow_release is not None and seconds > self._slow_release:
            acquirer = acquirer_of(pooled)
            by = f" by {acquirer.name}{acquirer.place}" if acquirer.frames else ""
            logger.warning("%r: a connection was held for %.1f s%s", self, seconds, by)

    def holders(self) -> list[Holder]:
        """The connections in use, longest held first."""
        return self._holders.listed(self._now())

    def _on_reset_done(self, pooled: PooledConnection[PooledSession], task: asyncio.Task[None]) -> None:
        """Called when a reset has ended: the connection is reset or closed, or the task was cancelled."""
        if task.cancelled():
            self._on_left()
            self._drop(pooled, "its reset was cancelled")
        else:
            self._return(pooled, pooled.session.reset_failure)

    def _return(
        self, pooled: PooledConnection[PooledSession], unhealthy: str = "", *, used: bool = True
    ) -> None:
        """Return a connection to the pool; an unhealthy one is closed."""
        self._perform(self.state.release(pooled, self._now(), unhealthy=unhealthy, used=used))

    def _drop(self, pooled: PooledConnection[PooledSession], reason: str) -> None:
        """Discard a connection that is dead or in an unknown state."""
        pooled.session.terminate()
        self._return(pooled, reason)

    def _on_leaked(self, lease: Lease) -> None:
        """Called in any thread when a connection is garbage-collected without being released."""
        if self._binding is None or self._binding.is_inherited:
            return
        self.last_leaked = by = acquirer_of(lease.pooled)
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so there is nothing to update
                self._loop.call_soon_threadsafe(self._reclaim_leaked, lease)
        if not self.state.is_closing:  # last, because a warning may be an error
            warnings.warn(f"a connection of {self!r} was not released{by}", ResourceWarning, stacklevel=2)

    def _reclaim_leaked(self, lease: Lease) -> None:
        if lease.is_held:
            lease.is_held, lease.pooled.held_since = False, None
            self._drop(lease.pooled, "it was not released")

    def _on_closed(self, session: PooledSession) -> None:
        """Called when a connection has been closed by either side."""
        if actions := self.state.on_closed(session, self._now()):
            self._perform(actions)

    # -- size ---------------------------------------------------------------------------------------------------------

    def resize(self, min_size: int, max_size: int) -> None:
        """Change min_size and max_size. Surplus connections are closed: idle ones now, others on release."""
        self._check_open()
        self._perform(self.state.resize(min_size, max_size, self._now()))

    def expire(self) -> None:
        """Replace every connection that is open now: idle ones now, others on release."""
        self._check_open()
        self._perform(self.state.expire(self._now()))

    # -- closing ------------------------------------------------------------------------------------------------------

    async def close(self, timeout: float | None) -> None:
        """Stop assigning connections, wait until all are released, and close them.

        Args:
            timeout: seconds until connections still in use are dropped; None: no limit.
        """
        if self._binding is None or self._binding.is_inherited or self._binding.loop.is_closed():
            return self.terminate()
        self._check_loop()
        self._stop_assigning()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    while self.state.in_use:
                        await self._wait_change()
            self._drop_in_use()
            while tasks := {*self._opening, *self._resetting, *self._closing}:
                await asyncio.wait(tasks)
        except BaseException:
            self.terminate()
            raise
        return None

    def terminate(self) -> None:
        """Drop every connection immediately, including those in use. Valid in any state; waits for nothing.

        In a forked process only that process's descriptors are closed; the parent's pool is unaffected.
        """
        binding = self._binding
        if binding is not None and not binding.is_here:
            if not (binding.is_inherited or binding.loop.is_closed()):
                raise self._wrong_loop(binding)
            self.state.is_closing = True
            for pooled in (*self.state.idle, *self.state.in_use):
                pooled.session.terminate()
            return
        self._stop_assigning()
        self._drop_in_use()
        for session in self._closing.values():
            session.terminate()

    def _stop_assigning(self) -> None:
        self._perform(self.state.close())
        for task in self._opening:
            task.cancel()
        for timer in (self._timer, self._limits):
            if timer is not None:
                timer.cancel()

    def _drop_in_use(self) -> None:
        for pooled in self.state.in_use:
            pooled.session.terminate()
        for task in self._resetting:  # a hook may be waiting for something else
            task.cancel()

    # -- performing actions -------------------------------------------------------------------------------------------

    def _perform(self, actions: list[Action[PooledSession, Waiter]]) -> None:
        for action in actions:
            match action:
                case Assign():
                    if action.waiter.future.done():  # cancelled just before
                        self._return(action.pooled, action.pooled.session.reset_failure, used=False)
                    else:
                        action.waiter.future.set_result(action)
                case Open():
                    task = self._spawn(self._open_in_background(), self._opening)
                    task.add_done_callback(self._on_open_done)
                case Close():
                    logger.debug("%r: closing %r: %s", self, action.pooled.session, action.reason)
                    self._close(action.pooled.session)
                case Reject():
                    if not action.waiter.future.done():
                        action.waiter.future.set_exception(self._rejection(action))
        if self._changed is not None:
            self._notify()
        self._schedule()

    def _rejection(self, rejected: Reject[Waiter]) -> PoolTimeout | PoolClosed:
        if self.state.is_closing:
            return PoolClosed(f"{self!r}: {rejected.reason}")
        error = self._timeout(f"{rejected.reason}{_because(rejected.cause)}")
        error.__cause__ = rejected.cause
        return error

    def _timeout(self, reason: str) -> PoolTimeout:
        error = PoolTimeout(f"{self!r}: {reason}")
        if note := self._holders.note(self._now()):
            error.add_note(note)
        return error

    async def _open(self) -> None:
        """Open one connection and report success or failure to `PoolState`, but not a cancellation."""
        began = self._now()
        try:
            session = await self._lifecycle.open()
        except BaseException as error:
            if _is_cancellation(error):
                raise
            permanent = isinstance(error, _PERMANENT_ERRORS)
            self._perform(self.state.on_open_failed(error, self._now(), permanent=permanent))
            raise
        session.on_close(self._on_closed)
        logger.debug("%r: opened %r", self, session)
        now = self._now()
        self._times.on_opened(now - began)
        self._perform(self.state.on_opened(session, now))

    async def _open_in_background(self) -> None:
        try:
            await self._open()
        except BaseException as error:
            if _is_cancellation(error):
                raise
            self._log_failure(error)
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise

    def _log_failure(self, error: BaseException) -> None:
        """Warn of a failed attempt, once in WARNING_INTERVAL; the next warning counts the others."""
        self._unreported += 1
        text, now = str(error) or type(error).__name__, self._now()
        if now < self._silent_until:
            logger.debug("%r: connecting failed: %s", self, text)
            return
        attempts = f" ({self._unreported} attempts since the last warning)" if self._unreported > 1 else ""
        logger.warning("%r: connecting failed%s: %s", self, attempts, text)
        self._silent_until, self._unreported = now + WARNING_INTERVAL, 0

    def _on_open_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # possibly before it started
            self._on_left()
            self._perform(self.state.on_open_cancelled(self._now()))

    def _on_left(self) -> None:
        """Called when a task of the pool was cancelled, as the event loop does with all tasks at its end."""
        self.state.is_left = True
        for waiter in [*self.state.waiting]:
            if waiter.future.done():  # its task was cancelled, too, and has not run yet
                self.state.cancel(waiter)

    def _close(self, session: PooledSession) -> None:
        """Close a session in a background task."""
        task = self._spawn(session.close())
        self._closing[task] = session
        task.add_done_callback(self._closing.pop)

    def _schedule(self) -> None:
        """Set the timer for the next decision."""
        deadline = self.state.next_deadline
        if deadline is not None and self._timer is not None:
            self._timer.arm(deadline)

    def _on_timer(self) -> None:
        self._perform(self.state.decide(self._now()))

    def _notify(self) -> None:
        changed, self._changed = self._changed, None
        if changed is not None and not changed.done():
            changed.set_result(None)

    async def _wait_change(self) -> None:
        """Return after the next change."""
        if self._changed is None or self._changed.done():
            self._changed = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._changed)

    def _spawn(
        self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]] | None = None
    ) -> asyncio.Task[None]:
        assert self._loop is not None and self._context is not None
        # A copy for each task, because an operation is in a context variable while it runs.
        task = self._loop.create_task(work, context=self._context.copy())
        if tasks is not None:
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        return task

    def _check_open(self) -> None:
        if self.state.is_closing:
            raise PoolClosed(f"{self!r}: the pool is closed")
        if self._loop is None:
            raise InterfaceError("the pool is not started: await it, or use async with")
        # As `_check_loop`, without a call.
        if self._binding is not None and _running_loop() is not self._binding.loop:
            raise self._wrong_loop(self._binding)

    def _check_loop(self) -> None:
        if self._binding is not None and not self._binding.is_running:
            raise self._wrong_loop(self._binding)

    def _wrong_loop(self, binding: LoopBinding) -> InterfaceError:
        binding.what = repr(self)
        return binding.refusal()
