"""One session's transactions: BEGIN, COMMIT, ROLLBACK, savepoints, isolation. Never: how a statement writes.

The versions of changed rows are in the undo log until the end of the transaction; ROLLBACK restores them. An exclusive
transaction (`write_statements`) is rolled back by SQLite first, which undoes all since it became exclusive.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import time
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Isolation
from aioifx.server.sqlite.capture import Capture
from aioifx.server.sqlite.databases import Database, LogMode
from aioifx.server.sqlite.lock_manager import ROW_LOCKED, LockRefused
from aioifx.server.sqlite.transaction_state import (
    Savepoint,
    SessionDefaults,
    Transaction,
    TransactionOptions,
)
from aioifx.server.sqlite.write_statements import Writes

_LEVELS: Final = {
    LogMode.UNLOGGED: Isolation.DIRTY_READ,
    LogMode.LOGGED: Isolation.COMMITTED_READ,
    LogMode.ANSI: Isolation.REPEATABLE_READ,
}
"""The default levels (documented)."""


class Transactions(Writes):
    """The transaction state of one SQLite connection."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        database: Database,
        defaults: SessionDefaults,
        interrupted: Callable[[], bool],
    ) -> None:
        super().__init__(connection, database, defaults, interrupted)
        self._marks = 0
        self._capture = Capture(connection, database)
        if self._is_ansi:
            self._work = self._new()

    def _new(self) -> Transaction:
        number = next(self._database.transaction_numbers)
        return Transaction(number, started=time()) if self._database.captured else Transaction(number)

    @property
    def _is_ansi(self) -> bool:
        return self._database.log_mode is LogMode.ANSI

    @property
    def is_open(self) -> bool:
        """Whether COMMIT and ROLLBACK have a transaction to end."""
        return self._work is not None

    @property
    def is_used(self) -> bool:
        """Whether closing the database would lose changes; in ANSI mode a transaction is always open."""
        return self._work is not None and (self._work.is_used or not self._is_ansi)

    @property
    def number(self) -> int:
        """Identifies the open transaction in ``ifx_undo``; 0 outside a transaction."""
        return self._work.number if self._work else 0

    @property
    def _terms(self) -> TransactionOptions | None:
        work = self._work
        return work.terms if work else None

    @property
    def is_read_only(self) -> bool:
        """Whether SET TRANSACTION made the open transaction read-only."""
        terms = self._terms
        return terms is not None and terms.is_read_only

    @property
    def isolation(self) -> Isolation:
        """The level in effect."""
        terms = self._terms
        level = (terms and terms.isolation) or self._defaults.isolation or _LEVELS[self._database.log_mode]
        return Isolation.LAST_COMMITTED if level in self._defaults.last_committed else level

    @property
    def retains_update_locks(self) -> bool:
        """Whether locks of cursors FOR UPDATE last until the end of the transaction."""
        level = self.isolation
        if level is Isolation.LAST_COMMITTED:
            level = Isolation.COMMITTED_READ
        return (
            level is Isolation.REPEATABLE_READ
            or self._defaults.retains_update_locks
            or level in self._defaults.retaining
        )

    @property
    def session_id(self) -> int:
        """Number of the session, as sysmaster shows it."""
        return self._defaults.session_id

    # -- the statements of transaction control -------------------------------------------------------------------------

    def begin(self) -> None:
        """BEGIN WORK.

        Raises:
            SqlError: -256, the database is unlogged; -535, a transaction is open.
        """
        self._need_log()
        if self._work is not None:
            raise SqlError(-535)
        self._work = self._new()

    def commit(self) -> None:
        """COMMIT WORK. It does not wait for an exclusive transaction of another session.

        Raises:
            SqlError: -256, the database is unlogged; -255, no transaction is open; -346, the disk is full.
        """
        work = self._need_work()
        self._end_hold()
        has_latch = work.is_exclusive or (work.mark > 0 and self._latch.try_acquire())
        if work.mark and self._database.captured:
            with self._capture.committing(work.number, work.started):
                self._commit_rows(work, has_latch)
        else:
            self._commit_rows(work, has_latch)
        if work.temp_mark:
            self._temp_log.discard(work.number)
        for text in work.dropped:
            self._connection.execute(text)
        self._end()

    def _commit_rows(self, work: Transaction, has_latch: bool) -> None:
        if work.is_exclusive and work.mark and self._database.captured:
            self._commit_captured(work.number)
        elif work.is_exclusive:
            self._log.discard(work.number)
            self._connection.execute("COMMIT")
        elif has_latch:
            with self._sqlite_transaction():
                self._log.discard(work.number)
        elif work.mark:
            self._commit_beside(work.number)

    def _commit_captured(self, number: int) -> None:
        """Commit an exclusive transaction whose end is in the log of changes already.

        Its undo log is in the file with its COMMIT only. Until the latch is released, its number is in both or, if the
        server is killed before the COMMIT, only in the file of committed ones; see `unended`.
        """
        self._commit_beside(number)
        try:
            self._connection.execute("COMMIT")
        except BaseException:
            self._database.committed.remove(frozenset({number}))
            raise

    def _commit_beside(self, number: int) -> None:
        try:
            self._database.committed.add(number)
        except OSError:
            raise SqlError(-346, -131) from None

    def rollback(self) -> None:
        """ROLLBACK WORK.

        Raises:
            SqlError: -256, the database is unlogged; -255, no transaction is open.
            LockRefused: another session's transaction is exclusive, longer than `busy_timeout`.
        """
        work = self._need_work()
        self._leave_sqlite(work)
        self._restore(work, 0, 0, 0)
        self._end()

    def abandon(self) -> None:
        """Roll back the open transaction, if any, at the end of a session.

        If another session keeps the latch, that session rolls this one back when it releases it.
        """
        work = self._work
        self._locked_tables.clear()
        if work is not None:
            self._leave_sqlite(work)
            if work.mark and not self._latch.try_acquire():
                with self._undoing(work, 0):
                    self._database.abandoned.append((work.number, self))
                self._work = None
                self._latch.end_abandoned()
                return
            self._restore(work, 0, 0, 0)
        self._end()

    def _leave_sqlite(self, work: Transaction) -> None:
        """Roll back SQLite's transaction, if this one is exclusive; the latch is kept."""
        self._end_hold()
        if work.is_exclusive:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            work.is_exclusive = False
            self._changes.forget()

    def _restore(self, work: Transaction, mark: int, temp_mark: int, made: int) -> None:
        """Restore the rows changed since the marks, and drop the temporary objects created since."""
        if work.mark > mark:
            self._latch.acquire()
            self._changes.keep_rowids(self)
            try:
                with self._undoing(work, mark), self._latch.restoring():
                    self._log.restore(work.number, mark)
            except BaseException:  # such as a full disk: the transaction stays open, other sessions can write
                self._latch.release()
                raise
            work.mark = mark
        if work.temp_mark > temp_mark or work.made[made:]:
            with self._latch.restoring(is_shared=False):
                self._temp_log.restore(work.number, temp_mark)
                while work.made[made:]:
                    self._connection.execute(work.made.pop())
            work.temp_mark = temp_mark
            self._changes.forget()

    def _undoing(self, work: Transaction, mark: int) -> AbstractContextManager[None]:
        if not self._database.captured:
            return nullcontext()
        return self._capture.undoing(work.number, work.started, mark)

    def _end(self) -> None:
        self._work = self._new() if self._is_ansi else None
        self._release()

    def _need_log(self) -> None:
        if self._database.log_mode is LogMode.UNLOGGED:
            raise SqlError(-256)

    def _need_work(self) -> Transaction:
        self._need_log()
        if self._work is None:
            raise SqlError(-255)
        return self._work

    def require_open(self) -> None:
        """Require an open transaction.

        Raises:
            SqlError: -256, the database is unlogged; -255, no transaction is open.
        """
        self._need_work()

    def set_terms(self, isolation: Isolation | None, read_only: bool | None) -> None:
        """SET TRANSACTION: for the open transaction, before its first statement.

        Raises:
            SqlError: -255, no transaction is open; -876, it has run a statement; -877, already set.
        """
        work = self._need_work()
        if work.is_used:
            raise SqlError(-876)
        if work.terms is not None:
            raise SqlError(-877)
        work.terms = TransactionOptions(isolation, bool(read_only))

    # -- savepoints ----------------------------------------------------------------------------------------------------

    def set_savepoint(self, name: str, unique: bool) -> None:
        """SAVEPOINT: a repeated name moves the savepoint, unless either is UNIQUE.

        Raises:
            SqlError: -255, no transaction is open; -743, a unique one has the name (assumed: the SQLCODE).
        """
        work = self._need_work()
        self._end_hold()
        for known in [point for point in work.savepoints if point.name == name]:
            if unique or known.is_unique:
                raise SqlError(-743, token=name)
            work.savepoints.remove(known)  # SQLite keeps the old savepoint, which is harmless
        sqlite_name = ""
        if work.is_exclusive:
            self._marks += 1
            sqlite_name = f"ifx_mark_{self._marks}"
            self._connection.execute(f"SAVEPOINT {sqlite_name}")
        work.savepoints.append(
            Savepoint(name, unique, work.mark, work.temp_mark, len(work.made), len(work.dropped), sqlite_name)
        )
        work.is_used = True

    def release_savepoint(self, name: str) -> None:
        """RELEASE SAVEPOINT: removes it and all later ones; changes are kept.

        Raises:
            SqlError: -255, no transaction is open; -278, no such savepoint (assumed: the SQLCODE).
        """
        work = self._need_work()
        del work.savepoints[work.find(name) :]

    def rollback_to(self, name: str) -> None:
        """ROLLBACK TO SAVEPOINT: undoes all later changes and removes later savepoints; this one is kept.

        Args:
            name: "" for the latest.

        Raises:
            SqlError: -255, no transaction is open; -278, no such savepoint (assumed: the SQLCODE).
            LockRefused: as `rollback`.
        """
        work = self._need_work()
        index = work.find(name)
        point = work.savepoints[index]
        if point.sqlite_name:
            self._connection.execute(f"ROLLBACK TO {point.sqlite_name}")
            self._changes.forget()
        else:
            self._leave_sqlite(work)
            self._restore(work, point.mark, point.temp_mark, point.made)
            self._release_latch()
        del work.dropped[point.dropped :]
        del work.savepoints[index + 1 :]

    def recover(self) -> None:
        """See `Latch.recover`."""
        self._latch.recover()


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection blocks this one: another process."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def refused_by(error: sqlite3.Error) -> LockRefused:
    """The `LockRefused` for SQLITE_BUSY."""
    return LockRefused(ROW_LOCKED)
