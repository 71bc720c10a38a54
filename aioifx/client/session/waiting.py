"""What tasks wait for: a reply, the lock of a session, a deadline. Never: when a request is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

from aioifx._speedups.round_trip import CoreLock, InFlight
from aioifx.errors import QueryTimeout

T = TypeVar("T")


def begin_task(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task that may outlive the wait for it. Its error is retrieved, so that asyncio does not log it then."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(_retrieve_error)
    return task


def _retrieve_error(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()


def time_out(in_flight: InFlight) -> None:
    """Fail the wait with QueryTimeout. The reply is still read."""
    within = f"no answer within {in_flight.timeout:g} s"
    error = QueryTimeout(f"{within}; the statement was interrupted" if in_flight.is_interruptible else within)
    if in_flight.on_lost is not None:
        in_flight.on_lost(error)
    in_flight.future.set_exception(error)
    in_flight.future.exception()  # its task may be cancelled at this moment and not retrieve the exception


class FairLock(CoreLock):
    """First come, first served: `release` passes the lock to the next waiter, so that no other task can acquire it
    before that one runs.
    """

    __slots__ = ()

    async def acquire(self) -> None:
        """Acquire the lock. A cancelled wait loses its place, and passes on a lock that it was given."""
        if not self.is_locked:
            self.is_locked = True
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiters[waiter] = True
        try:
            await waiter
            if waiter in self.waiters:  # woken early, and the lock is not released
                del self.waiters[waiter]
                waiter = asyncio.get_running_loop().create_future()
                self.waiters[waiter] = False
                self.waiters.move_to_end(waiter, last=False)
                await waiter
        except BaseException:
            if self.waiters.pop(waiter, None) is None and not waiter.cancelled():
                self.release()  # passed on just before the cancellation
            raise

    def wake_early(self) -> None:
        """Wake the first waiter, since the holder is about to release the lock.

        The holder and the waiter then run in the same iteration of the event loop. A waiter that comes too early waits
        again, and is not woken early twice.
        """
        for waiter, may_wake in self.waiters.items():
            if may_wake and not waiter.done():
                self.waiters[waiter] = False
                waiter.set_result(None)
            break

    def release(self) -> None:
        """Pass the lock to the next waiter, if there is one."""
        while self.waiters:
            waiter, _ = self.waiters.popitem(last=False)
            if not waiter.done():
                waiter.set_result(None)
                return
            if not waiter.cancelled():  # woken early: it runs next
                return
        self.is_locked = False


class CoalescingTimer:
    """Calls *callback* at the earliest deadline that it was armed for, or before it.

    It is not stopped when a deadline no longer matters. Creating and stopping a timer for each wait would cost more
    than the rest of the wait. *callback* thus checks which deadlines have passed, and arms the timer for the others.
    """

    __slots__ = ("_at", "_callback", "_context", "_handle", "_loop")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        callback: Callable[[], None],
        context: Context | None = None,
    ) -> None:
        self._loop = loop
        self._callback = callback
        self._context = context
        self._handle: asyncio.TimerHandle | None = None
        self._at = 0.0  # uvloop's handles do not show that they have expired

    def arm(self, deadline: float) -> None:
        """Call back no later than at *deadline*, a time of the event loop."""
        if self._handle is not None:
            if self._at <= deadline:
                return
            self._handle.cancel()
        self._at = deadline
        self._handle = self._loop.call_at(deadline, self._on_time, context=self._context)

    def cancel(self) -> None:
        """Do not call back. Idempotent."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _on_time(self) -> None:
        self._handle = None
        self._callback()
