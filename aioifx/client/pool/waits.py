"""Tasks that wait for a connection of a pool, and their time limits. Never: which of them gets one."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection
from contextvars import Context
from dataclasses import dataclass
from typing import Final

from aioifx.client.pool.decisions import Assign
from aioifx.client.pool.lifecycle import PooledSession
from aioifx.client.session.waiting import CoalescingTimer

SEARCH_INTERVAL: Final = 1e-6
"""Least seconds, for each waiting task, from one search for overdue waits to the next: a search takes a tenth of it."""


@dataclass(slots=True, eq=False)
class Waiter:
    """A task that waits for a connection."""

    future: asyncio.Future[Assign[PooledSession, Waiter]]
    deadline: float
    """When the wait times out, in the event loop's time."""
    timeout: float
    """Its time limit in seconds."""


class WaitLimits:
    """The time limits of all waits, with one timer: `asyncio.timeout` would cost as much as the rest of a wait.

    Args:
        waiting: the waiters; those whose future is done are ignored.
        time_out: called with each waiter that is overdue.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        waiting: Collection[Waiter],
        time_out: Callable[[Waiter], None],
        context: Context,
    ) -> None:
        self._loop = loop
        self._waiting = waiting
        self._time_out = time_out
        timer = CoalescingTimer(loop, self._search, context)
        self.arm = timer.arm
        """Called with the deadline of a new waiter."""
        self.cancel = timer.cancel
        """Limit no wait any longer. Idempotent."""

    def _search(self) -> None:
        """Time out the waiters that are overdue. Many others are not searched again at once."""
        now, waiting, following = self._loop.time(), [*self._waiting], math.inf
        for waiter in waiting:
            if waiter.deadline > now:
                following = min(following, waiter.deadline)
            elif not waiter.future.done():
                self._time_out(waiter)
        if following < math.inf:
            self.arm(max(following, now + SEARCH_INTERVAL * len(waiting)))
