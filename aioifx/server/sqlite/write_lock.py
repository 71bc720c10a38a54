"""Who may write: one session at a time per database, first come, first served. Never: what is written; SQLite.

SQLite lets one connection write. Where a session meets another one's open transaction it waits as SET LOCK MODE
says, here, on a condition that the holder notifies, and not in SQLite's sleeping busy handler.

A lock held for one statement outside a transaction is *brief*: others wait for its end even under NOT WAIT, as they
would for a latch of the real server. That keeps concurrent autocommit statements from failing by chance.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import monotonic

from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.interrupts import INTERRUPTED

LOCKED = -107
"""ISAM: somebody holds it, and this session does not wait."""
TIMED_OUT = -154
"""ISAM: somebody held it for as long as this session waits."""


class LockRefused(Exception):
    """Another session writes; the statement turns this into its own SQLCODE."""

    def __init__(self, isamcode: int) -> None:
        super().__init__(isamcode)
        self.isamcode = isamcode


class WriterLock:
    """The right to write to one database."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holder: object | None = None
        self._brief = False
        self._queue: deque[object] = deque()

    @property
    def waiting(self) -> int:
        """Sessions that want to write and may not yet."""
        with self._changed:
            return len(self._queue)

    def waits(self, owner: object) -> bool:
        """Whether *owner* wants to write and may not yet."""
        with self._changed:
            return owner in self._queue and not (self._holder is None and self._queue[0] is owner)

    def acquire(
        self, owner: object, *, wait: float | None, brief: bool, interrupted: Callable[[], bool]
    ) -> None:
        """Make *owner* the writer; at once if it is that already.

        Args:     wait: seconds, 0 for NOT WAIT, None for as long as it takes.
                  brief: held for one statement only, not until a transaction ends.
                  interrupted: asked before each wait; what it says must hold, for it is not asked again.
        Raises:   LockRefused: it was not free in time. SqlFault: -213, interrupted while waiting.
        """
        with self._changed:
            if owner is self._holder:
                self._brief = self._brief and brief
                return
            self._queue.append(owner)
            try:
                self._await_turn(owner, wait, interrupted)
                self._holder, self._brief = owner, brief
            finally:
                self._queue.remove(owner)
                self._changed.notify_all()

    def _await_turn(self, owner: object, wait: float | None, interrupted: Callable[[], bool]) -> None:
        deadline = None if wait is None else monotonic() + wait
        while self._holder is not None or self._queue[0] is not owner:
            if interrupted():
                raise SqlError(*INTERRUPTED)
            if self._holder is None or self._brief or deadline is None:
                self._changed.wait()
                continue
            remaining = deadline - monotonic()
            if remaining <= 0:
                raise LockRefused(TIMED_OUT if wait else LOCKED)
            self._changed.wait(remaining)

    def release(self, owner: object) -> None:
        """Let the next one write; nothing happens when *owner* is not the writer."""
        with self._changed:
            if owner is self._holder:
                self._holder, self._brief = None, False
                self._changed.notify_all()

    def wake(self) -> None:
        """Let all that wait look whether they have been interrupted."""
        with self._changed:
            self._changed.notify_all()
