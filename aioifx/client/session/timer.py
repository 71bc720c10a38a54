"""One timer for many deadlines. Never: what happens at a deadline, a request, a pool."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context


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
