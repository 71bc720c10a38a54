"""One session's transactions: BEGIN, the start in SQLite, isolation, savepoints. Never: a statement's text.

Invariants:
1. BEGIN WORK only sets a flag. The first write starts the transaction in SQLite, so reads before it see the data
   committed at that time: COMMITTED READ. Under REPEATABLE READ the first read starts it.
2. A writer holds the database's `WriterLock`, so SQLite never has two writers of this process.
3. A failed statement is undone alone; the transaction is as it was before the statement.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Isolation
from aioifx.server.sqlite.databases import Database, LogMode
from aioifx.server.sqlite.write_lock import LOCKED, LockRefused

_STATEMENT: Final = "ifx_statement"
"""The SQLite savepoint of a statement with several steps."""


@dataclass(slots=True)
class SessionDefaults:
    """Number, isolation level and lock mode of a session; they outlive the DATABASE statement, not the session."""

    lock_wait: float | None = 0
    """Seconds; 0 for NOT WAIT, None for WAIT without a limit."""
    isolation: Isolation | None = None
    """None for the database's default: COMMITTED READ; DIRTY READ if unlogged, REPEATABLE READ in ANSI mode."""
    session_id: int = field(default=0, compare=False)


@dataclass(slots=True)
class _Savepoint:
    name: str
    is_unique: bool
    mark: str
    """Its name in SQLite."""


@dataclass(slots=True)
class _TransactionOptions:
    """Options that SET TRANSACTION gave the open transaction."""

    isolation: Isolation | None = None
    is_read_only: bool = False


@dataclass(slots=True)
class _Transaction:
    """An open transaction."""

    savepoints: list[_Savepoint] = field(default_factory=list[_Savepoint])
    terms: _TransactionOptions | None = None
    is_used: bool = False
    """Whether a statement has run in it."""
    is_writer: bool = False
    """Whether it holds the writer lock and has started in SQLite, both until it ends."""


class Transactions:
    """The transaction state of one SQLite connection."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        database: Database,
        defaults: SessionDefaults,
        interrupted: Callable[[], bool],
    ) -> None:
        self._connection = connection
        self._database = database
        self._defaults = defaults
        self._interrupted = interrupted
        self._marks = 0
        self._work: _Transaction | None = None
        if self._is_ansi:
            self._work = _Transaction()

    @property
    def _is_ansi(self) -> bool:
        return self._database.log_mode is LogMode.ANSI

    @property
    def is_open(self) -> bool:
        """Whether COMMIT and ROLLBACK have a transaction to end."""
        return self._work is not None

    @property
    def is_writing(self) -> bool:
        """Whether this session holds the lock of the database's writer."""
        return self._database.writer.is_held_by(self)

    @property
    def is_used(self) -> bool:
        """Whether closing the database would lose changes; in ANSI mode a transaction is always open."""
        return self._work is not None and (self._work.is_used or not self._is_ansi)

    @property
    def _terms(self) -> _TransactionOptions | None:
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
        if terms and terms.isolation:
            return terms.isolation
        if self._defaults.isolation:
            return self._defaults.isolation
        return {
            LogMode.UNLOGGED: Isolation.DIRTY_READ,
            LogMode.LOGGED: Isolation.COMMITTED_READ,
            LogMode.ANSI: Isolation.REPEATABLE_READ,
        }[self._database.log_mode]

    @property
    def session_id(self) -> int:
        """Number of the session, as sysmaster shows it."""
        return self._defaults.session_id

    @property
    def is_waiting(self) -> bool:
        """Whether the session waits to become the writer; safe to call from other threads."""
        return self._database.writer.is_waiting(self)

    # -- the statements of transaction control -------------------------------------------------------------------------

    def begin(self) -> None:
        """BEGIN WORK.

        Raises:   SqlError: -256, the database is unlogged; -535, a transaction is open.
        """
        self._need_log()
        if self._work is not None:
            raise SqlError(-535)
        self._work = _Transaction()

    def commit(self) -> None:
        """COMMIT WORK.

        Raises:   SqlError: -256, the database is unlogged; -255, no transaction is open.
        """
        self._need_work()
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
        self._end()

    def rollback(self) -> None:
        """ROLLBACK WORK.

        Raises:   SqlError: -256, the database is unlogged; -255, no transaction is open.
        """
        self._need_work()
        self.abandon()

    def abandon(self) -> None:
        """Roll back the open transaction, if any, at the end of a session."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._end()

    def _end(self) -> None:
        self._work = _Transaction() if self._is_ansi else None
        self._database.writer.release(self)

    def _need_log(self) -> None:
        if self._database.log_mode is LogMode.UNLOGGED:
            raise SqlError(-256)

    def _need_work(self) -> _Transaction:
        self._need_log()
        if self._work is None:
            raise SqlError(-255)
        return self._work

    def set_terms(self, isolation: Isolation | None, read_only: bool | None) -> None:
        """SET TRANSACTION: for the open transaction, before its first statement.

        Raises:   SqlError: -255, no transaction is open; -876, it has run a statement; -877, already set.
        """
        work = self._need_work()
        if work.is_used:
            raise SqlError(-876)
        if work.terms is not None:
            raise SqlError(-877)
        work.terms = _TransactionOptions(isolation, bool(read_only))

    # -- savepoints ----------------------------------------------------------------------------------------------------

    def set_savepoint(self, name: str, unique: bool) -> None:
        """SAVEPOINT: a repeated name moves the savepoint, unless either is UNIQUE.

        Raises:   SqlError: -255, no transaction is open; -743, a unique one has the name (assumed: the SQLCODE).
        """
        work = self._need_work()
        for known in [point for point in work.savepoints if point.name == name]:
            if unique or known.is_unique:
                raise SqlError(-743, token=name)
            work.savepoints.remove(known)  # SQLite keeps the old savepoint, which is harmless
        self._marks += 1
        savepoint = _Savepoint(name, unique, f"ifx_mark_{self._marks}")
        work.savepoints.append(savepoint)
        work.is_used = True
        if self._connection.in_transaction:
            self._connection.execute(f"SAVEPOINT {savepoint.mark}")

    def release_savepoint(self, name: str) -> None:
        """RELEASE SAVEPOINT: removes it and all later ones; changes are kept.

        Raises:   SqlError: -255, no transaction is open; -278, no such savepoint (assumed: the SQLCODE).
        """
        work = self._need_work()
        index = _find(work, name)
        if self._connection.in_transaction:
            self._connection.execute(f"RELEASE {work.savepoints[index].mark}")
        del work.savepoints[index:]

    def rollback_to(self, name: str) -> None:
        """ROLLBACK TO SAVEPOINT: undoes all later changes and removes later savepoints; this one is kept.

        Args:     name: "" for the latest.
        Raises:   SqlError: -255, no transaction is open; -278, no such savepoint (assumed: the SQLCODE).
        """
        work = self._need_work()
        index = _find(work, name)
        if self._connection.in_transaction:
            self._connection.execute(f"ROLLBACK TO {work.savepoints[index].mark}")
        del work.savepoints[index + 1 :]

    # -- statements ----------------------------------------------------------------------------------------------------

    def on_query(self) -> None:
        """Called before a query runs."""
        if self._work is not None:
            self._work.is_used = True
            if self.isolation is Isolation.REPEATABLE_READ and not self._connection.in_transaction:
                self._begin("BEGIN")

    def lock(self, table: str = "") -> None:
        """Become the writer until the transaction ends: LOCK TABLE, FOR UPDATE.

        Args:     table: for sysmaster.
        Raises:   LockRefused: another session is the writer.
        """
        work = self._work
        if work is None:
            return
        work.is_used = True
        if not work.is_writer:
            self._acquire(brief=False)
            if not self._connection.in_transaction:
                self._begin("BEGIN IMMEDIATE")
            work.is_writer = True
        self._database.writer.note_table(self, table)

    @contextmanager
    def writing(self, table: str = "", *, alone: bool, shared: bool = True) -> Generator[None, None, None]:
        """Context of a statement that writes; if it fails, all its changes are undone.

        Args:     table: for sysmaster. alone: it is one SQLite statement, which undoes itself.
                  shared: it writes what other sessions see; False for the session's temporary tables.
        Raises:   LockRefused: another session writes. SqlError: -878, the transaction is READ ONLY.
        """
        work = self._work
        if work is not None:
            work.is_used = True
            if self.is_read_only and shared:
                raise SqlError(-878)
            self.lock(table)
            try:
                if alone:
                    yield
                else:
                    with self.undone_alone():
                        yield
            except BaseException:
                self._notice_loss()
                raise
            return
        if shared:
            self._acquire(brief=True)
            self._database.writer.note_table(self, table)
        try:
            if alone:
                yield
                return
            self._connection.execute("BEGIN IMMEDIATE" if shared else "BEGIN")
            try:
                yield
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        finally:
            self._database.writer.release(self)

    def _notice_loss(self) -> None:
        """Detect a rollback by SQLite itself: out of space or memory, or an aborted statement of a lost client."""
        if not self._connection.in_transaction:
            self._end()

    @contextmanager
    def undone_alone(self) -> Generator[None, None, None]:
        """Context of several steps inside a transaction: if one fails, all of them are undone."""
        self._connection.execute(f"SAVEPOINT {_STATEMENT}")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute(f"ROLLBACK TO {_STATEMENT}")
                self._connection.execute(f"RELEASE {_STATEMENT}")
            raise
        self._connection.execute(f"RELEASE {_STATEMENT}")

    def aside(self, work: Callable[[], object]) -> bool:
        """Run a write of the server itself after the session's transaction; returns False if another session writes."""
        with suppress(LockRefused):
            self._database.writer.acquire(self, wait=0, brief=True, interrupted=lambda: False)
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                work()
                self._connection.execute("COMMIT")
                return True
            finally:
                self._database.writer.release(self)
        return False

    def _acquire(self, *, brief: bool) -> None:
        self._database.writer.acquire(
            self, wait=self._defaults.lock_wait, brief=brief, interrupted=self._interrupted
        )

    def _begin(self, sql: str) -> None:
        """Start the transaction in SQLite, with the savepoints set so far."""
        self._connection.execute(sql)
        for savepoint in self._work.savepoints if self._work else ():
            self._connection.execute(f"SAVEPOINT {savepoint.mark}")


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection blocks this one: an outdated reader that wants to write, or another process."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def refused_by(error: sqlite3.Error) -> LockRefused:
    """The `LockRefused` for SQLITE_BUSY."""
    return LockRefused(LOCKED)


def _find(work: _Transaction, name: str) -> int:
    for index in range(len(work.savepoints) - 1, -1, -1):
        if name in ("", work.savepoints[index].name):
            return index
    raise SqlError(-278, token=name)
