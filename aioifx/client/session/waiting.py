"""What tasks wait for: a reply, a deadline. Never: when a request is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar

from aioifx._speedups.round_trip import InFlight
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
