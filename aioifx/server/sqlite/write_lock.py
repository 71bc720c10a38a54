"""The write lock of a database: one session at a time, in order of arrival. Never: what is written; SQLite.

SQLite lets one connection write. A session that meets another session's open transaction waits as SET LOCK MODE
specifies. It waits here, on a condition that the owner notifies, not in SQLite's sleeping busy handler.

A lock held for one statement outside a transaction is *brief*. Others wait for its release even under NOT WAIT, as
they would for a latch of the real server. So concurrent autocommit statements do not fail at random.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import monotonic, time
from typing import NamedTuple

from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.interrupts import INTERRUPTED

LOCKED = -107
"""ISAM: another session holds the lock, and this one does not wait."""
TIMED_OUT = -154
"""ISAM: another session held the lock longer than this one waits."""


class LockRefused(Exception):
    """Another session holds the write lock; the statement maps this to its own SQLCODE."""

    def __init__(self, isamcode: int) -> None:
        super().__init__(isamcode)
        self.isamcode = isamcode


class HeldLock(NamedTuple):
    """A write lock at one moment."""

    holder: object
    tables: dict[str, float]
    """Tables that the holder has locked or written, each with the time since when, in seconds since the epoch."""
    waiters: tuple[object, ...]
    """In order of arrival."""


class WriterLock:
    """The write lock of one database."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holder: object | None = None
        self._is_brief = False
        self._queue: deque[object] = deque()
        self._tables: dict[str, float] = {}

    def held(self) -> HeldLock | None:
        """The lock as it is now; None if it is free."""
        with self._changed:
            if self._holder is None:
                return None
            return HeldLock(self._holder, dict(self._tables), tuple(self._queue))

    def note_table(self, owner: object, table: str) -> None:
        """Record what *owner* locks or writes; no effect if it does not hold the lock."""
        with self._changed:
            if owner is self._holder:
                self._tables.setdefault(table, time())

    def is_waiting(self, owner: object) -> bool:
        """Whether *owner* waits for the lock."""
        with self._changed:
            return owner in self._queue and not (self._holder is None and self._queue[0] is owner)

    def is_held_by(self, owner: object) -> bool:
        """Whether *owner* holds the lock."""
        return self._holder is owner

    def acquire(
        self, owner: object, *, wait: float | None, brief: bool, interrupted: Callable[[], bool]
    ) -> None:
        """Acquire the lock for *owner*; reentrant.

        Args:     wait: seconds; 0 for NOT WAIT, None for no limit.
                  brief: held for one statement only, not until a transaction ends.
                  interrupted: called before each wait; not called again after it has returned True.
        Raises:   LockRefused: not released in time. SqlError: -213, interrupted while waiting.
        """
        with self._changed:
            if owner is self._holder:
                self._is_brief = self._is_brief and brief
                return
            self._queue.append(owner)
            try:
                self._await_turn(owner, wait, interrupted)
                self._holder, self._is_brief, self._tables = owner, brief, {}
            finally:
                self._queue.remove(owner)
                self._changed.notify_all()

    def _await_turn(self, owner: object, wait: float | None, interrupted: Callable[[], bool]) -> None:
        deadline = None if wait is None else monotonic() + wait
        while self._holder is not None or self._queue[0] is not owner:
            if interrupted():
                raise SqlError(*INTERRUPTED)
            if self._holder is None or self._is_brief or deadline is None:
                self._changed.wait()
                continue
            remaining = deadline - monotonic()
            if remaining <= 0:
                raise LockRefused(TIMED_OUT if wait else LOCKED)
            self._changed.wait(remaining)

    def release(self, owner: object) -> None:
        """Release the lock; no effect if *owner* does not hold it."""
        with self._changed:
            if owner is self._holder:
                self._holder, self._is_brief = None, False
                self._changed.notify_all()

    def wake(self) -> None:
        """Wake all waiters, so that they check for interrupts."""
        with self._changed:
            self._changed.notify_all()
