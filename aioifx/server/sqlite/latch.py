"""The write latch of a database file, as one session acquires it. Never: the session's own transaction.

SQLite has one writer at a time. A session has the latch while a statement writes, or as long as its transaction is
exclusive. If a transaction ends while another session keeps the latch, the next session that has the latch ends it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager

from aioifx.server.sqlite import undo_log
from aioifx.server.sqlite.connection import transaction
from aioifx.server.sqlite.databases import Database
from aioifx.server.sqlite.lock_manager import Kind, LockMode, LockRefused, Owner, Resource
from aioifx.server.sqlite.row_changes import RowChanges
from aioifx.server.sqlite.undo_log import UndoLog


class Latch:
    """The latch of one database file for one session."""

    def __init__(
        self, connection: sqlite3.Connection, database: Database, changes: RowChanges, owner: Owner
    ) -> None:
        self._connection = connection
        self._database = database
        self._changes = changes
        self._owner = owner
        self._resource = Resource(database.name, 0, Kind.LATCH)
        self._log = UndoLog(connection)
        self.is_held = False
        """Whether this session has it."""

    def acquire(self, interrupted: Callable[[], bool] = lambda: False) -> None:
        """Acquire it, unless this session has it; wait as long as `busy_timeout`.

        Raises:
            LockRefused: another session keeps it.
            SqlError: -213, interrupted.
        """
        if not self.is_held:
            wait = self._database.busy_timeout
            self._database.locks.acquire(
                self._owner, self._resource, LockMode.X, wait=wait, interrupted=interrupted
            )
            self.is_held = True
            self._end_others()

    def try_acquire(self) -> bool:
        """Acquire it, unless an exclusive transaction of another session has it."""
        if self._database.exclusive not in (None, self._owner):
            return False
        try:
            self.acquire()
        except LockRefused:
            return False
        return True

    def release(self) -> None:
        """Release it, if this session has it."""
        if self.is_held:
            try:
                self._end_others()
            finally:
                self.is_held = False
                self._database.exclusive = None
                self._database.locks.release(self._owner, self._resource, LockMode.X)
            self.end_abandoned()

    def end_abandoned(self) -> None:
        """Roll back what was abandoned while a session had the latch, unless one has it now, which then does this.

        Called after each release and each abandonment: otherwise nobody would release the locks until the next change.
        """
        if self._database.abandoned:
            try:
                self._database.locks.acquire(
                    self._owner, self._resource, LockMode.X, wait=0, interrupted=lambda: False
                )
            except LockRefused:
                return
            self.is_held = True
            self.release()

    def _end_others(self) -> None:
        """End the transactions that could not get the latch when they ended."""
        database = self._database
        while numbers := database.committed.numbers:
            with transaction(self._connection):
                for number in numbers:
                    self._log.discard(number)
            database.committed.remove(numbers)
        while database.abandoned:
            number, owner = database.abandoned[0]
            self._changes.keep_rowids(owner)
            with self.restoring():
                self._log.restore(number)
            database.abandoned.popleft()
            database.locks.release_all(owner)

    @contextmanager
    def restoring(self, *, is_shared: bool = True) -> Generator[None, None, None]:
        """Context of one SQLite transaction whose changes are neither locked nor noted.

        Args:
            is_shared: it writes what other sessions see; False for temporary tables.
        """
        self._changes.is_undoing = True
        try:
            with undo_log.without_foreign_keys(self._connection, is_shared=is_shared):
                yield
        finally:
            self._changes.is_undoing = False

    def recover(self) -> None:
        """Roll back what a killed server has left in the file, unless a session has done so."""
        if not self._database.is_recovered:
            self.acquire()
            try:
                with self.restoring():
                    self._log.restore_all()
                self._database.is_recovered = True
            finally:
                self.release()
