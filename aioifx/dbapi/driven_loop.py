"""The event loop of blocking calls, which runs in one thread or another. Never: which one."""

from __future__ import annotations

import asyncio
import atexit
import os
import select
import selectors
from collections.abc import Callable
from contextvars import Context
from typing import TypeVarTuple

from aioifx.client.session.loop_binding import driven_loops

Ts = TypeVarTuple("Ts")


class _Selector(selectors.DefaultSelector):
    """Looks for events in every third iteration in which the loop would not wait for them.

    A call has an iteration before its request and one after its reply, where there are none (measured: 3 % of a call).
    """

    def __init__(self) -> None:
        super().__init__()
        self._skipped = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout == 0 and self._skipped < 2:
            self._skipped += 1
            return []
        self._skipped = 0
        return super().select(timeout)


class DrivenLoop(asyncio.SelectorEventLoop):
    """An event loop. *on_work* is called after `call_soon_threadsafe`, in any thread and by finalizers."""

    def __init__(self, on_work: Callable[[], None]) -> None:
        self._events = _Selector()
        super().__init__(self._events)
        self._on_work = on_work
        driven_loops.add(self)

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = super().call_soon_threadsafe(callback, *args, context=context)
        self._on_work()
        return handle

    def disown(self) -> None:
        """Called in a forked process: keep it from changing its parent's selector, and from warnings at its exit."""
        if hasattr(select, "epoll"):
            # Both processes share what it has registered; a new one has nothing.
            with select.epoll() as empty:
                os.dup2(empty.fileno(), self._events.fileno(), inheritable=False)
        if not self.is_running():  # otherwise it cannot be closed, and nothing tries to
            atexit.register(self.close)
