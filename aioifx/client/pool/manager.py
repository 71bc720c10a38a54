"""PoolManager: carries out what PoolState decides: open, check out, take back, close. Never: a query; what a hook does.

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
import os
import random
import traceback
import warnings
import weakref
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from aioifx.client.api.connection import Connection
from aioifx.client.pool.lifecycle import ConnectionLifecycle, close_quietly
from aioifx.client.pool.state import Action, Assign, Close, Limits, Open, PoolState, Reject, Slot
from aioifx.client.session.owner import Owner
from aioifx.errors import (
    AuthenticationError,
    Error,
    InterfaceError,
    LocaleError,
    NotSupportedError,
    PoolClosed,
    PoolTimeout,
)

logger: Final = logging.getLogger("aioifx.pool")

_PERMANENT_ERRORS: Final = (AuthenticationError, LocaleError, NotSupportedError, InterfaceError)
"""Connect errors that a retry cannot resolve."""

_HERE: Final = os.path.dirname(os.path.dirname(__file__))
"""Directory of our own frames, left out of the "acquired at" traceback."""


@dataclass(slots=True, eq=False)
class Waiter:
    """A task that waits for a connection."""

    future: asyncio.Future[Assign[Connection[Any], Waiter]]


@dataclass(slots=True)
class _Lease:
    """A connection in use."""

    slot: Slot[Connection[Any]]
    since: float
    borrower: str
    """Where it was acquired, in debug mode."""


class PoolManager:
    """Connections of one pool, with the pool's name and state. Bound to one event loop."""

    def __init__(
        self,
        upkeep: ConnectionLifecycle,
        limits: Limits,
        *,
        name: str,
        debug: bool = False,
        slow_release: float | None = None,
    ) -> None:
        self._upkeep = upkeep
        self.name = name
        self._debug = debug
        self._slow_release = slow_release
        self.lending: PoolState[Connection[Any], Waiter] = PoolState(limits, random.random)
        self.timed_out = 0
        """Acquires that timed out."""
        self._leases: weakref.WeakKeyDictionary[Connection[Any], _Lease] = weakref.WeakKeyDictionary()
        """By checked-out connection; weak, so that a leaked connection can be collected."""
        self._openings: set[asyncio.Task[None]] = set()
        self._rests: set[asyncio.Task[None]] = set()
        self._closings: dict[asyncio.Task[None], Connection[Any]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._look_at = 0.0  # uvloop's handles do not show that they have expired
        self._loop: asyncio.AbstractEventLoop | None = None
        self._owner: Owner | None = None
        self._context: contextvars.Context | None = None
        """Context of `start`: the pool's own tasks neither see nor keep context variables of its users."""
        self._changed: asyncio.Future[None] | None = None

    def __repr__(self) -> str:
        lending = self.lending
        state = "closed" if lending.closing else "open" if self._loop else "new"
        return (
            f"<Pool {self.name!r} {state}: {len(lending.idle)} idle, {len(lending.lent)} in use,"
            f" {len(lending.waiting)} waiting, at most {lending.limits.max_size}>"
        )

    # -- starting -----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start opening min_size connections, and return once the first one is open.

        Raises:   ConnectError: the server cannot be reached, or rejects the login.
        """
        if self._loop is not None:
            raise InterfaceError("the pool is already started")
        self._loop = asyncio.get_running_loop()
        self._owner = Owner("the pool", self._loop)
        self._context = contextvars.copy_context()
        self._check_open()
        if self.lending.limits.min_size:
            self.lending.opening += 1
            try:
                await self._open()
            except BaseException as error:
                self.terminate()
                if not isinstance(error, Exception):  # a cancellation, which `_open` does not report
                    self._do(self.lending.cancelled(self._now()))
                raise
        if self.lending.closing:  # closed by another task meanwhile
            await self.close(None)
        self._check_open()
        self._do(self.lending.decide(self._now()))

    async def wait_ready(self, timeout: float | None = None) -> None:
        """Wait until min_size connections are open, with as many attempts as it takes.

        Raises:   PoolTimeout: not in time. PoolClosed: the pool was closed meanwhile.
        """
        limits = self.lending.limits
        self._check_open()
        try:
            async with asyncio.timeout(timeout):
                while self.lending.size < limits.min_size:
                    await self._change()
                    self._check_open()
        except TimeoutError:
            raise PoolTimeout(
                f"{self!r}: {self.lending.size} of {limits.min_size} connections were open after {timeout:g} s"
            ) from self.lending.error

    # -- acquiring ----------------------------------------------------------------------------------------------------

    async def borrow(self, timeout: float) -> Connection[Any]:
        """Acquire a connection; awaited by `Pool.acquire`."""
        loop = self._check_open()
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                waiter = Waiter(loop.create_future())
                self._do(self.lending.wait(waiter, self._now()))
                while (conn := await self._prepare(await self._wait_assigned(waiter))) is None:
                    waiter = Waiter(loop.create_future())
                    self._do(self.lending.wait_first(waiter, self._now()))
                return conn
        except TimeoutError as error:
            if isinstance(error, Error) or not limit.expired():
                raise
            self.timed_out += 1
            raise PoolTimeout(f"{self!r}: no connection within {timeout:g} s") from self.lending.error

    async def _wait_assigned(self, waiter: Waiter) -> Assign[Connection[Any], Waiter]:
        try:
            return await waiter.future
        except asyncio.CancelledError:
            self.lending.forget(waiter)
            future = waiter.future
            if future.done() and not future.cancelled() and future.exception() is None:
                self._give_back(
                    future.result().slot, sound=True, used=False
                )  # assigned just before the cancellation
            raise

    async def _prepare(self, lend: Assign[Connection[Any], Waiter]) -> Connection[Any] | None:
        """The connection, ready for use; None if it turns out to be dead."""
        slot, base = lend.slot, lend.slot.connection
        where = self._place()
        try:
            if base.is_closed() or (lend.check and not await self._upkeep.is_alive(base)):
                self._drop(slot)
                return None
            conn = await self._upkeep.check_out(base, partial(self._forgotten, slot, where))
        except BaseException:  # a reply is pending, or the setup hook ended half-way
            self._drop(slot)
            raise
        self._leases[conn] = _Lease(slot, self._now(), where)
        return conn

    def _place(self) -> str:
        """Where a connection is acquired, in debug mode."""
        if not self._debug:
            return ""
        frames = [f for f in traceback.extract_stack(limit=20) if not f.filename.startswith(_HERE)]
        return f"; acquired at\n{''.join(traceback.format_list(frames[-8:]))}"

    def take_back(self, conn: Connection[Any]) -> None:
        """Release a connection.

        Raises:   InterfaceError: the connection is not from this pool, or is already released.
        """
        if conn not in self._leases:
            raise InterfaceError(f"{self!r} expected a connection of this pool that is not yet released")
        self._check_loop()
        lease = self._leases.pop(conn)
        self._warn_if_slow(lease)
        slot, base = lease.slot, lease.slot.connection
        conn.recall()
        if not base.is_clean:
            self._give_back(slot, sound=False)
        elif not self._upkeep.needs_reset(base):
            self._give_back(slot, sound=True)
        else:
            task = self._spawn(self._upkeep.clear_up(base, self), self._rests)
            task.add_done_callback(partial(self._on_reset_done, slot))

    def has_lent(self, conn: Connection[Any]) -> bool:
        """Whether this connection is from this pool and not yet released."""
        return conn in self._leases

    def _on_reset_done(self, slot: Slot[Connection[Any]], task: asyncio.Task[None]) -> None:
        """Called when a reset has ended: the connection is clean or closed, or the task was cancelled."""
        if task.cancelled():
            self._drop(slot)
        else:
            self._give_back(slot, sound=slot.connection.is_clean)

    def _give_back(self, slot: Slot[Connection[Any]], *, sound: bool, used: bool = True) -> None:
        """Return a connection to the pool; one that is not sound is closed."""
        sound = sound and not slot.connection.is_closed()
        self._do(self.lending.give_back(slot, self._now(), sound=sound, used=used))

    def _drop(self, slot: Slot[Connection[Any]]) -> None:
        """Discard a connection that is dead or in an unknown state."""
        slot.connection.terminate()
        self._give_back(slot, sound=False)

    def _forgotten(self, slot: Slot[Connection[Any]], where: str) -> None:
        """Called in any thread when a connection is garbage-collected without being released."""
        if self._owner is None or self._owner.is_inherited:
            return
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so there is nothing to update
                self._loop.call_soon_threadsafe(self._reclaim_leaked, slot)
        if not self.lending.closing:  # last, because a warning may be an error
            warnings.warn(f"a connection of {self!r} was not released{where}", ResourceWarning, stacklevel=2)

    def _reclaim_leaked(self, slot: Slot[Connection[Any]]) -> None:
        if slot in self.lending.lent:
            self._drop(slot)

    def _ended(self, base: Connection[Any]) -> None:
        """Called when a connection has been closed by either side."""
        if actions := self.lending.ended(base, self._now()):
            self._do(actions)

    def _warn_if_slow(self, lease: _Lease) -> None:
        held = self._now() - lease.since
        if self._slow_release is not None and held > self._slow_release:
            logger.warning("%r: a connection was held for %.1f s%s", self, held, lease.borrower)

    # -- size ---------------------------------------------------------------------------------------------------------

    def resize(self, min_size: int, max_size: int) -> None:
        """Change min_size and max_size. Surplus connections are closed: idle ones now, others on release."""
        self._check_open()
        self._do(self.lending.resize(min_size, max_size, self._now()))

    def expire(self) -> None:
        """Replace every connection that is open now: idle ones now, others on release."""
        self._check_open()
        self._do(self.lending.expire(self._now()))

    # -- closing ------------------------------------------------------------------------------------------------------

    async def close(self, timeout: float | None) -> None:
        """Stop assigning connections, wait until all are released, and close them.

        Args:     timeout: seconds until connections still in use are dropped; None: no limit.
        """
        if self._owner is None or self._owner.is_inherited or self._owner.loop.is_closed():
            return self.terminate()
        self._check_loop()
        self._lend_no_more()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    while self.lending.lent:
                        await self._change()
            self._drop_lent()
            while tasks := {*self._openings, *self._rests, *self._closings}:
                await asyncio.wait(tasks)
        except BaseException:
            self.terminate()
            raise
        return None

    def terminate(self) -> None:
        """Drop every connection immediately, including those in use. Valid in any state; waits for nothing.

        In a forked process only that process's descriptors are closed; the parent's pool is unaffected.
        """
        owner = self._owner
        if owner is not None and not owner.is_here:
            if not (owner.is_inherited or owner.loop.is_closed()):
                raise self._refused(owner)
            self.lending.closing = True
            for slot in (*self.lending.idle, *self.lending.lent):
                slot.connection.terminate()
            return
        self._lend_no_more()
        self._drop_lent()
        for conn in self._closings.values():
            conn.terminate()

    def _lend_no_more(self) -> None:
        self._do(self.lending.close())
        for task in self._openings:
            task.cancel()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drop_lent(self) -> None:
        for slot in self.lending.lent:
            slot.connection.terminate()
        for task in self._rests:  # a hook may be waiting for something else
            task.cancel()

    # -- performing actions -------------------------------------------------------------------------------------------

    def _do(self, actions: list[Action[Connection[Any], Waiter]]) -> None:
        for action in actions:
            match action:
                case Assign():
                    if action.waiter.future.done():  # cancelled just before
                        self._give_back(action.slot, sound=True, used=False)
                    else:
                        action.waiter.future.set_result(action)
                case Open():
                    task = self._spawn(self._open_for_others(), self._openings)
                    task.add_done_callback(self._opening_ended)
                case Close():
                    self._close(action.slot.connection)
                case Reject():
                    if not action.waiter.future.done():
                        action.waiter.future.set_exception(self._refusal(action))
        self._notify()
        self._schedule()

    def _refusal(self, refusal: Reject[Waiter]) -> PoolTimeout | PoolClosed:
        kind = PoolClosed if self.lending.closing else PoolTimeout
        error = kind(f"{self!r}: {refusal.reason}")
        error.__cause__ = refusal.cause
        return error

    async def _open(self) -> None:
        """Open one connection and report success or failure to `PoolState`, but not a cancellation."""
        try:
            base = await self._upkeep.open()
        except Exception as error:
            permanent = isinstance(error, _PERMANENT_ERRORS)
            self._do(self.lending.failed(error, self._now(), permanent=permanent))
            raise
        base.when_ended(partial(_tell_end, weakref.ref(self), weakref.ref(base)))
        self._do(self.lending.opened(base, self._now()))

    async def _open_for_others(self) -> None:
        failures = self.lending.failures
        try:
            await self._open()
        except Exception as error:
            # Waiting tasks cause two attempts a second during an outage: not worth a warning each.
            level = logging.WARNING if self.lending.failures != failures else logging.DEBUG
            logger.log(level, "%r: connecting failed: %s", self, error)

    def _opening_ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # possibly before it started
            self._do(self.lending.cancelled(self._now()))

    def _close(self, conn: Connection[Any]) -> None:
        """Close a connection in a background task."""
        task = self._spawn(close_quietly(conn))
        self._closings[task] = conn
        task.add_done_callback(self._closings.pop)

    def _schedule(self) -> None:
        """Set the timer for the next decision. Firing early is harmless, so an earlier timer is kept."""
        look = self.lending.next_deadline(self._now())
        if look is None or self._loop is None:
            return
        if self._timer is not None:
            if self._look_at <= look:
                return
            self._timer.cancel()
        self._look_at = look
        self._timer = self._loop.call_at(look, self._look, context=self._context)

    def _look(self) -> None:
        self._timer = None
        self._do(self.lending.decide(self._now()))

    def _notify(self) -> None:
        changed, self._changed = self._changed, None
        if changed is not None and not changed.done():
            changed.set_result(None)

    async def _change(self) -> None:
        """Return after the next change."""
        if self._changed is None or self._changed.done():
            self._changed = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._changed)

    def _spawn(
        self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]] | None = None
    ) -> asyncio.Task[None]:
        assert self._loop is not None
        task = self._loop.create_task(work, context=self._context)
        if tasks is not None:
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        return task

    def _now(self) -> float:
        return self._loop.time() if self._loop is not None else 0.0

    def _check_open(self) -> asyncio.AbstractEventLoop:
        if self.lending.closing:
            raise PoolClosed(f"{self!r}: the pool is closed")
        if self._loop is None:
            raise InterfaceError("the pool is not started: await it, or use async with")
        self._check_loop()
        return self._loop

    def _check_loop(self) -> None:
        owner = self._owner
        if owner is not None and asyncio.get_running_loop() is not owner.loop:
            raise self._refused(owner)

    def _refused(self, owner: Owner) -> InterfaceError:
        owner.what = repr(self)
        return owner.refusal()


def _tell_end(keeper: weakref.ref[PoolManager], conn: weakref.ref[Connection[Any]]) -> None:
    """Called when a connection has ended, possibly after its pool manager."""
    owner, base = keeper(), conn()
    if owner is not None and base is not None:
        owner._ended(base)  # pyright: ignore[reportPrivateUsage] - the manager's own callback
