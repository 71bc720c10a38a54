"""One session's transactions: what BEGIN notes, when SQLite begins, who waits. Never: a statement's text.

House rules:
1. BEGIN WORK only notes the fact. The first write begins in SQLite, so reads before it see what is committed at that
   moment: COMMITTED READ. REPEATABLE READ begins in SQLite with the first read.
2. Whoever writes holds the database's `WriterLock`, so SQLite itself never meets a second writer of this process.
3. A statement that fails is undone alone; the transaction stays as it was before it.
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
"""The SQLite savepoint around one statement of several steps."""


@dataclass(slots=True)
class Manners:
    """How a session meets others; survives DATABASE, not the session."""

    lock_wait: float | None = 0
    """Seconds; 0 for NOT WAIT, None for WAIT without end."""
    isolation: Isolation | None = None
    """None for the database's own: COMMITTED READ, DIRTY READ without a log, REPEATABLE READ in ANSI mode."""


@dataclass(slots=True)
class _Savepoint:
    name: str
    unique: bool
    mark: str
    """Its name in SQLite."""


@dataclass(slots=True)
class _TransactionOptions:
    """What SET TRANSACTION said of the transaction that is open."""

    isolation: Isolation | None = None
    read_only: bool = False


@dataclass(slots=True)
class _Work:
    """An open transaction."""

    savepoints: list[_Savepoint] = field(default_factory=list[_Savepoint])
    terms: _TransactionOptions | None = None
    used: bool = False
    """Whether a statement has run in it."""
    is_writer: bool = False
    """Whether it has the writer's lock, and a transaction in SQLite: until it ends."""


class Transactions:
    """The transaction state of one SQLite connection."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        database: Database,
        manners: Manners,
        interrupted: Callable[[], bool],
    ) -> None:
        self._connection = connection
        self._database = database
        self._manners = manners
        self._interrupted = interrupted
        self._marks = 0
        self._work: _Work | None = None
        if self._ansi:
            self._work = _Work()

    @property
    def _ansi(self) -> bool:
        return self._database.log_mode is LogMode.ANSI

    @property
    def open(self) -> bool:
        """Whether COMMIT and ROLLBACK have something to end."""
        return self._work is not None

    @property
    def used(self) -> bool:
        """Whether closing the database would lose work: in ANSI mode a transaction is always open."""
        return self._work is not None and (self._work.used or not self._ansi)

    @property
    def _terms(self) -> _TransactionOptions | None:
        work = self._work
        return work.terms if work else None

    @property
    def read_only(self) -> bool:
        """Whether SET TRANSACTION forbids the open transaction to write."""
        terms = self._terms
        return terms is not None and terms.read_only

    @property
    def isolation(self) -> Isolation:
        """The level that holds now."""
        terms = self._terms
        if terms and terms.isolation:
            return terms.isolation
        if self._manners.isolation:
            return self._manners.isolation
        return {
            LogMode.UNLOGGED: Isolation.DIRTY_READ,
            LogMode.LOGGED: Isolation.COMMITTED_READ,
            LogMode.ANSI: Isolation.REPEATABLE_READ,
        }[self._database.log_mode]

    @property
    def waiting(self) -> bool:
        """Whether the session waits to become the writer; for other threads too."""
        return self._database.writer.waits(self)

    # -- the statements of transaction control -------------------------------------------------------------------------

    def begin(self) -> None:
        """BEGIN WORK.

        Raises:   SqlFault: -256, the database keeps no log; -535, a transaction is open.
        """
        self._need_log()
        if self._work is not None:
            raise SqlError(-535)
        self._work = _Work()

    def commit(self) -> None:
        """COMMIT WORK.

        Raises:   SqlFault: -256, the database keeps no log; -255, no transaction is open.
        """
        self._need_work()
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
        self._end()

    def rollback(self) -> None:
        """ROLLBACK WORK.

        Raises:   SqlFault: -256, the database keeps no log; -255, no transaction is open.
        """
        self._need_work()
        self.abandon()

    def abandon(self) -> None:
        """Undo whatever is open; for a session that ends."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._end()

    def _end(self) -> None:
        self._work = _Work() if self._ansi else None
        self._database.writer.release(self)

    def _need_log(self) -> None:
        if self._database.log_mode is LogMode.UNLOGGED:
            raise SqlError(-256)

    def _need_work(self) -> _Work:
        self._need_log()
        if self._work is None:
            raise SqlError(-255)
        return self._work

    def set_terms(self, isolation: Isolation | None, read_only: bool | None) -> None:
        """SET TRANSACTION: for the open transaction, before its first statement.

        Raises:   SqlFault: -255, none is open; -876, it is active; -877, said before.
        """
        work = self._need_work()
        if work.used:
            raise SqlError(-876)
        if work.terms is not None:
            raise SqlError(-877)
        work.terms = _TransactionOptions(isolation, bool(read_only))

    # -- savepoints ----------------------------------------------------------------------------------------------------

    def set_savepoint(self, name: str, unique: bool) -> None:
        """SAVEPOINT: the same name again moves it, unless either is UNIQUE.

        Raises:   SqlFault: -255, no transaction is open; -743, a unique one has the name (assumed: the SQLCODE).
        """
        work = self._need_work()
        for known in [point for point in work.savepoints if point.name == name]:
            if unique or known.unique:
                raise SqlError(-743, token=name)
            work.savepoints.remove(known)  # SQLite keeps the mark, where it does no harm
        self._marks += 1
        savepoint = _Savepoint(name, unique, f"ifx_mark_{self._marks}")
        work.savepoints.append(savepoint)
        work.used = True
        if self._connection.in_transaction:
            self._connection.execute(f"SAVEPOINT {savepoint.mark}")

    def release_savepoint(self, name: str) -> None:
        """RELEASE SAVEPOINT: it and all later ones are forgotten, what was done stays.

        Raises:   SqlFault: -255, no transaction is open; -278, no such savepoint (assumed: the SQLCODE).
        """
        work = self._need_work()
        index = _find(work, name)
        if self._connection.in_transaction:
            self._connection.execute(f"RELEASE {work.savepoints[index].mark}")
        del work.savepoints[index:]

    def rollback_to(self, name: str) -> None:
        """ROLLBACK TO SAVEPOINT: all later work is undone, later savepoints are forgotten, this one stays.

        Args:     name: "" for the latest.
        Raises:   SqlFault: -255, no transaction is open; -278, no such savepoint (assumed: the SQLCODE).
        """
        work = self._need_work()
        index = _find(work, name)
        if self._connection.in_transaction:
            self._connection.execute(f"ROLLBACK TO {work.savepoints[index].mark}")
        del work.savepoints[index + 1 :]

    # -- statements ----------------------------------------------------------------------------------------------------

    def reading(self) -> None:
        """A query is about to run."""
        if self._work is not None:
            self._work.used = True
            if self.isolation is Isolation.REPEATABLE_READ and not self._connection.in_transaction:
                self._begin("BEGIN")

    def lock(self) -> None:
        """Become the writer until the transaction ends: LOCK TABLE, FOR UPDATE.

        Raises:   LockRefused: another session is.
        """
        work = self._work
        if work is None:
            return
        work.used = True
        if work.is_writer:
            return
        self._acquire(brief=False)
        if not self._connection.in_transaction:
            self._begin("BEGIN IMMEDIATE")
        work.is_writer = True

    @contextmanager
    def writing(self, *, alone: bool, shared: bool = True) -> Generator[None, None, None]:
        """Around a statement that writes; when it fails, nothing of it remains.

        Args:     alone: it is one SQLite statement, which undoes itself.
                  shared: it writes what other sessions see; False for the session's temporary tables.
        Raises:   LockRefused: another session writes. SqlFault: -878, the transaction is READ ONLY.
        """
        work = self._work
        if work is not None:
            work.used = True
            if self.read_only and shared:
                raise SqlError(-878)
            self.lock()
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
        """Without space or memory, or when a lost client's statement is dropped, SQLite rolls everything back."""
        if not self._connection.in_transaction:
            self._end()

    @contextmanager
    def undone_alone(self) -> Generator[None, None, None]:
        """Around several steps inside a transaction: when one fails, nothing remains of any of them."""
        self._connection.execute(f"SAVEPOINT {_STATEMENT}")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute(f"ROLLBACK TO {_STATEMENT}")
                self._connection.execute(f"RELEASE {_STATEMENT}")
            raise
        self._connection.execute(f"RELEASE {_STATEMENT}")

    def aside(self, work: Callable[[], None]) -> None:
        """Let the server itself write, when this session has ended its own work; not while another session writes."""
        with suppress(LockRefused):
            self._database.writer.acquire(self, wait=0, brief=True, interrupted=lambda: False)
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                work()
                self._connection.execute("COMMIT")
            finally:
                self._database.writer.release(self)

    def _acquire(self, *, brief: bool) -> None:
        self._database.writer.acquire(
            self, wait=self._manners.lock_wait, brief=brief, interrupted=self._interrupted
        )

    def _begin(self, sql: str) -> None:
        """Begin in SQLite, and set the savepoints that were only noted so far."""
        self._connection.execute(sql)
        for savepoint in self._work.savepoints if self._work else ():
            self._connection.execute(f"SAVEPOINT {savepoint.mark}")


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection is in the way: a reader that must write too late, or another process."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def refused_by(error: sqlite3.Error) -> LockRefused:
    """What a busy SQLite means here."""
    return LockRefused(LOCKED)


def _find(work: _Work, name: str) -> int:
    for index in range(len(work.savepoints) - 1, -1, -1):
        if name in ("", work.savepoints[index].name):
            return index
    raise SqlError(-278, token=name)
