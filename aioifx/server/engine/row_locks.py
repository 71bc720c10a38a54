"""The lock on a cursor's current row: FOR UPDATE and CURSOR STABILITY. Never: which rows a query has."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Final

from aioifx.server.engine.cursors import RowSource
from aioifx.server.sqlite.lock_manager import LockManager, LockMode, Owner, Resource
from aioifx.server.sqlite.spool import StoredRow

_BLOCK: Final = 1000

INTENTIONS: Final = {LockMode.U: LockMode.IX, LockMode.S: LockMode.IS}
"""The lock on the table for a lock on one of its rows."""


class CurrentRow:
    """The row that a cursor was moved to last, and its lock.

    Args:
        acquire: waits for a lock.
        read: the row with a rowid, as it is now; None if it is not in the result.
        is_kept: whether locks last until the end of the transaction, not until the cursor leaves the row.
    """

    def __init__(
        self,
        locks: LockManager,
        owner: Owner,
        resource_of: Callable[[int], Resource],
        mode: LockMode,
        acquire: Callable[[Resource, LockMode], None],
        read: Callable[[int], StoredRow | None],
        *,
        is_kept: bool,
    ) -> None:
        self._locks = locks
        self._owner = owner
        self._resource_of = resource_of
        self._mode = mode
        self._acquire = acquire
        self._read = read
        self._is_kept = is_kept
        self._held: Resource | None = None

    def move_to(self, row: int) -> StoredRow | None:
        """Lock a row, then read it again, since it may have changed before the lock; None if it has left the result.

        Raises:
            SqlError: the lock was refused; the cursor stays at the row before.
        """
        resource = self._resource_of(row)
        is_new = self._locks.mode_of(self._owner, resource) is None
        self._acquire(resource, self._mode)
        found = self._read(row)
        if found is None:
            if is_new:
                self._locks.release(self._owner, resource, self._mode)
            return None
        if resource != self._held:
            self.leave()
            self._held = resource if is_new and not self._is_kept else None
        return found

    def leave(self) -> None:
        """Release the lock, unless the row has been changed meanwhile."""
        if self._held is not None:
            self._locks.release(self._owner, self._held, self._mode)
            self._held = None

    def moved_with(self, rows: list[StoredRow]) -> list[StoredRow]:
        """A block of rows with their rowids, after moving to its last row that is still in the result."""
        rows = list(rows)
        while rows:
            found = self.move_to(rows[-1][-1])
            if found is not None:
                rows[-1] = found
                break
            del rows[-1]
        return rows


class LockedRows:
    """The rows of a cursor FOR UPDATE: their rowids are read when it opens, and each row when it is fetched.

    Args:
        keys: rows with their rowids; read and closed at once, since it would keep an old snapshot.
    """

    def __init__(self, keys: RowSource, current: CurrentRow) -> None:
        self._rowids = array("q")
        self._next = 0
        self._current = current
        try:
            while block := keys.fetchmany(_BLOCK):
                self._rowids.extend(row[-1] for row in block)
        finally:
            keys.close()

    @property
    def is_done(self) -> bool:
        """Whether no row is left."""
        return self._next == len(self._rowids)

    def fetchmany(self, size: int, /) -> list[StoredRow]:
        """The next rows, at most *size*.

        Raises:
            SqlError: the lock of the next row was refused; it can be fetched again.
        """
        rows: list[StoredRow] = []
        while len(rows) < size and not self.is_done:
            row = self._current.move_to(self._rowids[self._next])
            self._next += 1
            if row is not None:
                rows.append(row)
        return rows

    def close(self) -> None:
        """Release the lock of the current row."""
        self._current.leave()
