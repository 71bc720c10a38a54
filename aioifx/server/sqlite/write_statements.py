"""Statements that write: the latch, a transaction of SQLite, locks, the undo log. Never: BEGIN and COMMIT.

Invariants:
1. A statement that writes is a SQLite transaction of its own, under the latch of the database file. So other sessions
   never wait for the rest of a transaction, and the file has uncommitted rows. Locks keep the rows apart.
2. A failed statement is undone alone; its locks are kept. A statement that meets a lock is undone as well, releases
   the latch, waits, and runs again.
3. Changes that cannot be undone row by row, such as CREATE TABLE, make the transaction *exclusive*. Its SQLite
   transaction stays open, and it keeps the latch, until it ends. Other sessions that write wait meanwhile.
"""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from time import monotonic
from typing import Final, TypeVar

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Step, Undo
from aioifx.server.sql.model.schema import Schema, Table
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sqlite.connection import begin_writing, savepoint, transaction
from aioifx.server.sqlite.databases import Database
from aioifx.server.sqlite.latch import Latch
from aioifx.server.sqlite.lock_manager import Kind, LockMode, LockRefused, Owner, Resource
from aioifx.server.sqlite.row_changes import LockConflict, RowChanges
from aioifx.server.sqlite.transaction_state import SessionDefaults, Transaction
from aioifx.server.sqlite.undo_log import TRUNCATION, UndoLog, Version
from aioifx.server.sqlite.watched_tables import temp_objects

T = TypeVar("T")

_STATEMENT: Final = "ifx_statement"
"""The SQLite savepoint of a statement of an exclusive transaction."""
_HOLD: Final = 0.02
"""Seconds for which a batch may keep a transaction of SQLite open, so that other sessions can write."""
_PART: Final = "ifx_part"
"""The SQLite savepoint of a part of a statement."""


class NotExclusive(Exception):
    """A part of a statement needs an exclusive transaction: make it exclusive, then run the statement again."""


class Writes:
    """The writes of one SQLite connection, and the locks that they need; also the owner of these locks."""

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
        self._locks = database.locks
        self._changes = RowChanges(connection, database.locks, database.name, self, database.deleted_rows)
        self._latch = Latch(connection, database, self._changes, self)
        self._log = UndoLog(connection)
        self._temp_log = UndoLog(connection, "temp")
        self._is_writing = False
        self._unwatched: Table | None = None
        self._is_batch = False
        self._is_implicit = False
        """Whether the transaction is that of one statement, so that its changes can be captured."""
        self._held_since: float | None = None
        self._work: Transaction | None = None
        self._locked_tables: dict[Resource, LockMode] = {}
        """Tables that LOCK TABLE has locked in an unlogged database."""

    @property
    @abstractmethod
    def is_read_only(self) -> bool:
        """Whether SET TRANSACTION made the open transaction read-only."""

    @abstractmethod
    def begin(self) -> None:
        """BEGIN WORK."""

    @abstractmethod
    def commit(self) -> None:
        """COMMIT WORK."""

    @abstractmethod
    def rollback(self) -> None:
        """ROLLBACK WORK."""

    @property
    def is_exclusive(self) -> bool:
        """Whether a transaction of SQLite is open until the end of this one."""
        return self._work is not None and self._work.is_exclusive

    @property
    def is_inside(self) -> bool:
        """Whether a transaction of SQLite is open between statements: an interrupt would undo more than a statement."""
        return self.is_exclusive or self._held_since is not None

    @property
    def is_writing(self) -> bool:
        """Whether a statement that writes is running."""
        return self._is_writing

    @property
    def owner(self) -> Owner:
        """The owner of the session's locks."""
        return self

    @property
    def is_waiting(self) -> bool:
        """Whether the session waits for a lock or the latch; safe to call from other threads."""
        return self._locks.is_waiting(self)

    def wake(self) -> None:
        """Make a waiting session check for an interrupt; safe to call from other threads."""
        self._locks.wake(self)

    # -- locks ---------------------------------------------------------------------------------------------------------

    def on_query(self) -> None:
        """Called before a query runs."""
        self._end_hold()
        if self._work is not None:
            self._work.is_used = True

    def lock_table(self, table: Table, mode: LockMode) -> None:
        """Lock a table until the transaction ends or, in an unlogged database, until `unlock_table`.

        It waits as SET LOCK MODE says.

        Raises:
            LockRefused: another session has a conflicting lock.
            SqlError: -213, interrupted.
        """
        self.on_query()
        resource = self._table(table)
        self.wait(LockConflict(resource, mode))
        if self._work is None:
            self._locked_tables[resource] = mode
        else:
            self._changes.note_lock(table, mode)

    def unlock_table(self, table: Table) -> None:
        """Release the lock of `lock_table` in an unlogged database, if there is one."""
        self._locked_tables.pop(self._table(table), None)
        self._release()

    def _table(self, table: Table) -> Resource:
        return Resource(self._database.name, table.tabid, Kind.TABLE)

    def wait(self, conflict: LockConflict) -> None:
        """Wait for the lock of another transaction, as SET LOCK MODE says.

        Raises:
            LockConflict: a statement that writes is running, and must release the latch first. LockRefused, or SqlError
                if the conflict has a SQLCODE: it is not released in time.
            SqlError: -213, interrupted.
        """
        if self._is_writing:  # a routine of a trigger: the statement waits, not this one, which has the latch
            if conflict.is_kept and self._locks.try_acquire(self, conflict.resource, conflict.mode):
                return
            raise conflict
        wait = self._defaults.lock_wait
        acquire = self._locks.acquire if conflict.is_kept else self._locks.wait_for
        try:
            acquire(
                self,
                conflict.resource,
                conflict.mode,
                wait=wait if wait is None else max(wait, conflict.least_wait),
                interrupted=self._interrupted,
            )
        except LockRefused as refused:
            if conflict.sqlcode:
                raise SqlError(conflict.sqlcode, refused.isamcode, conflict.token) from None
            raise

    def _release_latch(self) -> None:
        if self._held_since is not None and monotonic() - self._held_since > _HOLD:
            self._end_hold()
        if not self.is_inside:
            self._latch.release()

    def _release(self) -> None:
        """Release all locks, except those of LOCK TABLE in an unlogged database."""
        self._release_latch()
        self._locks.release_all(self, self._locked_tables)
        self._changes.on_released()

    # -- statements ----------------------------------------------------------------------------------------------------

    @contextmanager
    def batch(self) -> Generator[None, None, None]:
        """Context of statements that a client has sent together.

        INSERTs in a row share a transaction of SQLite, for a short time, which costs less than one for each.
        """
        self._is_batch = True
        try:
            yield
        finally:
            self._is_batch = False
            self._end_hold()

    def _begin_hold(self) -> None:
        if self._is_batch and self._work is not None and self._latch.is_held and not self.is_inside:
            begin_writing(self._connection)
            self._changes.begin(is_kept=True)
            self._held_since = monotonic()

    def _end_hold(self) -> None:
        if self._held_since is not None:
            assert self._work is not None
            self._held_since = None
            try:
                self._flush(self._work)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._changes.end()
                self.rollback()
                raise
            self._changes.end()
            self._release_latch()

    def _flush(self, work: Transaction) -> None:
        """Write the versions of the changed rows into the logs, and lock the rows that are new."""
        changes = self._changes
        changes.lock_new_rows()
        work.mark = self._log.append(work.number, work.mark, changes.versions)
        work.temp_mark = self._temp_log.append(work.number, work.temp_mark, changes.temp_versions)

    def run(self, attempt: Callable[[], T], *, shared: bool = True, brief: bool = False) -> T:
        """Run a statement that writes, again after each wait for a lock; if it fails, all its changes are undone.

        Args:
            attempt: makes its changes in the context of `changing`, `changing_objects` or `defining`.
            shared: it writes what other sessions see; False for the session's temporary tables.
            brief: it need not be interruptible, so it may share a transaction of SQLite with its `batch`.

        Raises:
            LockRefused: another session has a lock, or is writing longer than `busy_timeout`.
            SqlError: -878, the transaction is READ ONLY; -213, interrupted.
        """
        if self._is_writing:  # the action of a trigger
            return attempt()
        if self._work is not None:
            self._work.is_used = True
            if self.is_read_only and shared:
                raise SqlError(-878)
        if not brief:
            self._end_hold()
        try:
            while True:
                if shared:
                    self._latch.acquire(self._interrupted)
                if brief:
                    self._begin_hold()
                try:
                    return attempt()
                except LockConflict as conflict:
                    self._end_hold()
                    self._release_latch()
                    self.wait(conflict)
                except NotExclusive:
                    self.become_exclusive()
        finally:
            if self._is_implicit:
                self._end_implicit()
            if self._work is None:
                # The locks go first: who gets the latch next must not meet those of an ended statement.
                self._locks.release_all(self, self._locked_tables)
                self._latch.is_held = False
                self._changes.on_released()
                self._latch.end_abandoned()
            self._release_latch()

    def _end_implicit(self) -> None:
        """End the transaction of one statement, which is undone if it has failed."""
        self._is_implicit = False
        if self._work is not None:
            try:
                self.commit()
            except BaseException:
                self.rollback()
                raise

    def changing(
        self, table: Table, schema: Schema, mode: LockMode = LockMode.IX, *, only_inserts: bool = False
    ) -> AbstractContextManager[None]:
        """Context of changes of a table's rows; only inside `run`.

        Args:
            mode: of the lock on the table.
            only_inserts: nothing but new rows of the table. Outside a transaction they are not watched if no other
                session has a lock that they can meet. The triggers would cost more than the rows.

        Raises:
            LockConflict: another transaction has a lock.
        """
        if self._database.captured and self._work is None and not table.is_temp:
            self.begin()
            self._is_implicit = True
        if not table.is_temp and (mode is LockMode.X or not self._changes.intends_to_write(table)):
            self._try_lock(table, mode)
        is_unwatched = only_inserts and self._work is None and self._changes.is_free(table)
        self._unwatched = table if is_unwatched else None
        self.watch(table, schema)
        if self._held_since is not None and not self._is_writing:
            return self._held_statement()  # one context less, in a place that costs
        return self._statement(is_shared=self._latch.is_held)

    @contextmanager
    def changing_objects(self) -> Generator[None, None, None]:
        """Context of changes of smart large objects; only inside `run`."""
        self._changes.watch_objects()
        with self._statement():
            yield

    @contextmanager
    def defining(self, tables: Sequence[Table], *, in_place: bool = False) -> Generator[None, None, None]:
        """Context of a change of the schema; only inside `run`.

        Inside a statement that activates a trigger, that statement is undone and runs again if the transaction must
        become exclusive.

        Args:
            tables: that are created, altered, dropped, or that a new constraint refers to.
            in_place: it only creates temporary tables, which a rollback can drop.
        """
        for table in tables:
            if not table.is_temp:
                self._try_lock(table, LockMode.X)
        if self._work is not None and not in_place:
            if self._is_writing and not self._work.is_exclusive:
                raise NotExclusive
            self.become_exclusive()
        if not in_place:
            self._changes.forget()
        elif self._work is not None:
            self._changes.watch_temp_catalog()
        before = temp_objects(self._connection) if in_place else {}
        with self._statement(is_shared=self._latch.is_held):
            yield
        if in_place and self._work is not None and not self._work.is_exclusive:
            made = (text for name, text in temp_objects(self._connection).items() if name not in before)
            self._work.made += made

    def postpones(self, step: Step) -> bool:
        """Whether a step that drops a temporary table is left to COMMIT, so that a rollback can keep the table."""
        if self._work is None or self._work.is_exclusive or step.undo is not Undo.KEEP:
            return False
        self._work.dropped.append(step.sql)
        return True

    def _try_lock(self, table: Table, mode: LockMode) -> None:
        resource = self._table(table)
        if not self._locks.try_acquire(self, resource, mode):
            raise LockConflict(resource, mode)
        self._changes.note_lock(table, mode)

    def become_exclusive(self) -> None:
        """Keep SQLite's transaction open, and the latch, from now on to the end of the transaction.

        Raises:
            LockRefused: another session is writing longer than `busy_timeout`.
            SqlError: -213, interrupted.
        """
        work = self._work
        if work is not None and not work.is_exclusive:
            self._latch.acquire(self._interrupted)
            begin_writing(self._connection)
            work.is_used = work.is_exclusive = True
            self._database.exclusive = self

    @contextmanager
    def _statement(self, *, is_shared: bool = True) -> Generator[None, None, None]:
        """Context of a statement in SQLite; its versions and locks are complete when it ends."""
        if self._is_writing:  # the action of a trigger
            with self.undone_alone():
                yield
            return
        if self._held_since is not None:
            with self._held_statement():
                yield
            return
        work, changes = self._work, self._changes
        marks = (work.mark, work.temp_mark) if work else (0, 0)
        temps = self._temps()
        changes.begin(is_kept=work is not None)
        self._is_writing = True
        try:
            with self._sqlite_transaction(is_shared=is_shared):
                yield
                if work is not None:
                    self._flush(work)
        except BaseException:
            if work is not None:
                work.mark, work.temp_mark = marks
            self._forget_temps(temps)
            changes.forget_new()
            self._notice_loss()
            if changes.conflict is not None:
                raise changes.conflict from None
            raise
        finally:
            self._is_writing = False
            changes.end()

    @contextmanager
    def _held_statement(self) -> Generator[None, None, None]:
        """Context of a statement that shares a transaction of SQLite; SQLite undoes it alone if it fails."""
        self._is_writing = True
        try:
            with self.step():
                yield
        except BaseException:
            self._notice_loss()
            raise
        finally:
            self._is_writing = False

    def _sqlite_transaction(self, *, is_shared: bool = True) -> AbstractContextManager[None]:
        """Context of a SQLite transaction or, inside one, of a savepoint."""
        if self.is_inside:
            return savepoint(self._connection, _STATEMENT)
        return transaction(self._connection, is_shared=is_shared)

    def _notice_loss(self) -> None:
        """Detect a rollback of several statements by SQLite itself: out of space or memory, or a lost client."""
        if self.is_inside and not self._connection.in_transaction:
            if self._held_since is not None:
                self._held_since = None
                self._changes.end()
            self.rollback()

    @contextmanager
    def undone_alone(self) -> Generator[None, None, None]:
        """Context of a part of a statement: if it fails, all of it is undone."""
        temps = self._temps()
        with self.step(), savepoint(self._connection, _PART):
            try:
                yield
            except BaseException:
                self._forget_temps(temps)
                self._changes.forget_new()
                raise

    def _temps(self) -> tuple[int, int]:
        """How many temporary objects the transaction has created and dropped, for `_forget_temps`."""
        work = self._work
        return (len(work.made), len(work.dropped)) if work else (0, 0)

    def _forget_temps(self, temps: tuple[int, int]) -> None:
        """Called when SQLite has undone what created and dropped temporary objects."""
        if self._work is not None:
            del self._work.made[temps[0] :], self._work.dropped[temps[1] :]

    @contextmanager
    def step(self) -> Generator[None, None, None]:
        """Context of one of several attempts inside a statement: if it fails, its versions are forgotten.

        Raises:
            LockConflict: it has met a lock of another transaction.
        """
        mark = self.mark()
        try:
            yield
        except BaseException:
            self.back_to(mark)
            raise

    def mark(self) -> tuple[int, int, int]:
        """See `RowChanges.mark`."""
        return self._changes.mark()

    def note_conflict(self, conflict: LockConflict) -> None:
        """Let the running statement, which fails next, wait for a lock that its function has met, and run again."""
        self._changes.conflict = conflict

    def back_to(self, mark: tuple[int, int, int]) -> None:
        """See `RowChanges.back_to`.

        Raises:
            LockConflict: what failed has met a lock of another transaction.
        """
        self._changes.back_to(mark)
        if (conflict := self._changes.conflict) is not None:
            self._changes.conflict = None
            raise conflict from None

    def note_truncation(self, table: Table) -> None:
        """Called before the running statement deletes all rows of a table as TRUNCATE."""
        if table.tabid in self._database.captured and self._work is not None:
            self._changes.versions.append(Version(table.tabid, 0, TRUNCATION, None))

    def probing(self, table: Table) -> AbstractContextManager[bool]:
        """See `RowChanges.probing`."""
        return self._changes.probing(table)

    def unlocked_objects(self, numbers: Sequence[int]) -> list[int]:
        """See `RowChanges.unlocked_objects`."""
        return self._changes.unlocked_objects(numbers)

    def watch(self, table: Table, schema: Schema) -> None:
        """Make the changes of another table known that the running statement makes."""
        if (self._work is not None or not table.is_temp) and table is not self._unwatched:
            self._changes.watch(table, schema)

    def with_new_rowids(self, insert: Composed, table: Table) -> Composed:
        """See `RowChanges.with_new_rowids`."""
        return self._changes.with_new_rowids(insert, table)

    def aside(self, work: Callable[[], object]) -> bool:
        """Run a write of the server itself outside the transaction; returns False if a statement prevents it."""
        if self._is_writing or not self._latch.try_acquire():
            return False
        kept, self._work = self._work, None
        try:
            with self._statement():
                work()
        except LockConflict:
            return False
        finally:
            self._work = kept
            self._release()
        return True
