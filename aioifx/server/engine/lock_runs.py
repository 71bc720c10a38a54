"""Runs of queries that test locks: changed rows, snapshots, the lock on a cursor's row. Never: isolation levels.

A run reads from ``ifx_undo`` which rows other transactions have changed, in the snapshot of the text itself. So a
transaction that ends meanwhile cannot show half of its changes.
"""

from __future__ import annotations

import marshal
import sqlite3
from array import array
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from aioifx.server.engine.cursors import RowSource
from aioifx.server.sql.frozen import Frozen
from aioifx.server.sql.model.plan import Isolation
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.sqlite.render import Bound, Composed
from aioifx.server.sql.sqlite.tree import Reference
from aioifx.server.sqlite.databases import Database
from aioifx.server.sqlite.lock_manager import Kind, LockManager, LockMode, Owner, Resource
from aioifx.server.sqlite.lock_testing import Path, paths, with_versions
from aioifx.server.sqlite.row_changes import LockConflict
from aioifx.server.sqlite.spool import Spool, SpooledRows, StoredRow

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


_BLOCK: Final = 1000

_CHANGED: Final = (
    'SELECT seq, tabid, row, image IS NULL, txn FROM {}."ifx_undo" WHERE txn <> ? AND tabid IN ({})'
    " ORDER BY seq DESC"
)
"""What other transactions have changed, the first change of a row last."""


class Reader(Protocol):
    """The transaction that reads."""

    @property
    def isolation(self) -> Isolation: ...

    @property
    def is_open(self) -> bool: ...

    @property
    def owner(self) -> Owner: ...

    @property
    def number(self) -> int:
        """``ifx_undo.txn`` of its own changes."""
        ...

    @property
    def retains_update_locks(self) -> bool: ...

    def wait(self, conflict: LockConflict) -> None: ...


class Conflict(LockConflict):
    """A read that needs a lock of another transaction, or must wait for one."""

    def __init__(
        self, resource: Resource, mode: LockMode, table: Table, path: Path, *, is_kept: bool = False
    ) -> None:
        super().__init__(resource, mode, is_kept=is_kept)
        self.sqlcode = path.access.value
        self.token = table.name


class Text(Frozen):
    """A query to run."""

    sql: Composed
    bound: Bound
    tables: Sequence[Table]
    """Its tables that others can change."""
    is_repeatable: bool = True
    """Whether it can be run twice, because it has no effects."""


@dataclass(slots=True)
class Visited:
    """The rows of one table in a run: which others have changed, and what a visit to them means."""

    database: str
    table: Table
    changed: Mapping[int, int | None]
    """By rowid: the number in ``ifx_undo`` of the last committed version; None for an inserted row."""
    is_left_out: bool = False
    """Whether changed rows are left out, instead of being a conflict."""
    is_shared: bool = False
    """Whether a visited row gets a shared lock."""
    visits: int = 0
    new_locks: int = 0
    versions: frozenset[int] = field(init=False)
    """The numbers of the versions that are read in place of rows that are left out."""

    def __post_init__(self) -> None:
        self.versions = frozenset(seq for seq in self.changed.values() if seq is not None)

    def row(self, row: int) -> Resource:
        """The resource of one row."""
        return Resource(self.database, self.table.tabid, Kind.ROW, row)


Run: TypeAlias = dict[int, Visited]
"""The tables of a run, by the numbers of their aliases."""


class LockRuns:
    """The runs of one session in its open database.

    Args:
        attached: databases by the SQLite schema that they are attached as.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        database: Database,
        attached: Mapping[str, Database],
        reader: Reader,
    ) -> None:
        self._connection = connection
        self._database = database
        self._attached = attached
        self._reader = reader
        self._run: Run = {}
        self._conflict: tuple[int, Resource] | None = None
        connection.create_function("ifx_locktest", 2, self._test)
        connection.create_function("ifx_before", 2, self._is_version)
        connection.create_function("ifx_image", 2, _value_of)

    # -- runs ----------------------------------------------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Generator[None, None, None]:
        """Context of texts that see one state of the database."""
        if self._connection.in_transaction:
            yield
            return
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")

    def visited(self, text: Text, *, is_left_out: bool = False, is_shared: bool = False) -> Run:
        """The tables of a text, with the rows that others have changed in the present snapshot.

        Raises:
            Conflict: another transaction has locked a table as a whole.
        """
        changed: dict[tuple[str, int], dict[int, int | None]] = {}
        by_catalog: dict[str, list[Table]] = {}
        for table in text.tables:
            if self.locks.holders_against(self.owner, self.table_lock(table), LockMode.IS):
                raise Conflict(self.table_lock(table), LockMode.IS, table, Path())
            by_catalog.setdefault(table.catalog, []).append(table)
            changed[table.catalog, table.tabid] = {}
        for catalog, tables in by_catalog.items():
            tabids = ", ".join(str(table.tabid) for table in tables)
            sql = _CHANGED.format(catalog, tabids)
            entries = self._connection.execute(sql, (self._reader.number,)).fetchall()
            committed = self.database_of(catalog).committed.numbers
            for seq, tabid, row, is_new, number in entries:
                if number not in committed:
                    changed[catalog, tabid][row] = None if is_new else seq
        found = {(table.catalog, table.tabid): table for table in text.tables}
        run: Run = {}
        for each in text.sql.references:
            key = each.catalog, each.tabid
            if key in found:
                database = self.database_of(each.catalog).name
                run[each.number] = Visited(database, found[key], changed[key], is_left_out, is_shared)
        return run

    def spooled(self, text: Text, run: Run, form: Composed) -> SpooledRows:
        """Run a form of a text to its end.

        Raises:
            Conflict: it visits a row that others have changed.
        """
        spool = Spool()
        try:
            with self.running(run), closing(self._connection.execute(form.text, text.bound)) as rows:
                while block := rows.fetchmany(_BLOCK):
                    spool.append(block)
        except sqlite3.OperationalError:
            spool.close()
            if self._conflict is None:
                raise
            (alias, resource), self._conflict = self._conflict, None
            path = self.paths_of(text).get(alias, Path())
            raise Conflict(resource, LockMode.S, run[alias].table, path) from None
        except BaseException:
            spool.close()
            raise
        return SpooledRows(spool)

    @contextmanager
    def running(self, run: Run) -> Generator[None, None, None]:
        """Context in which the functions of texts use *run*; a routine inside may run texts of its own."""
        before, self._run, self._conflict = self._run, run, None
        try:
            yield
        finally:
            self._run = before

    def paths_of(self, text: Text) -> dict[int, Path]:
        by_key = {(table.catalog, table.tabid): table for table in text.tables}
        by_alias = {each.number: by_key.get((each.catalog, each.tabid)) for each in text.sql.references}
        return paths(self._connection, text.sql, text.bound, by_alias.get)

    # -- functions of texts --------------------------------------------------------------------------------------------

    def _test(self, alias: int, row: int) -> bool:
        """``ifx_locktest``.

        Raises:
            ValueError: the row is a conflict, which is noted.
        """
        visited = self._run.get(alias)
        if visited is None:
            return True
        if row in visited.changed:
            if visited.is_left_out:
                return False
            self._conflict = alias, visited.row(row)
            raise ValueError
        if visited.is_shared:
            visited.visits += 1
            resource = visited.row(row)
            if self.locks.mode_of(self.owner, resource) is None:
                if not self.locks.try_acquire(self.owner, resource, LockMode.S):
                    self._conflict = alias, resource
                    raise ValueError
                visited.new_locks += 1
        return True

    def _is_version(self, alias: int, seq: int) -> bool:
        """``ifx_before``."""
        visited = self._run.get(alias)
        return visited is not None and seq in visited.versions

    # -- locks ---------------------------------------------------------------------------------------------------------

    @property
    def locks(self) -> LockManager:
        return self._database.locks

    @property
    def owner(self) -> Owner:
        return self._reader.owner

    def database_of(self, catalog: str) -> Database:
        """The database of a SQLite schema."""
        return self._attached.get(catalog, self._database)

    def table_lock(self, table: Table) -> Resource:
        return Resource(self.database_of(table.catalog).name, table.tabid, Kind.TABLE)

    def has_foreign(self, tables: Sequence[Table]) -> bool:
        """Whether other transactions may have changed rows of the tables."""
        return not self.locks.is_idle and any(
            self.locks.has_foreign_row_locks(self.owner, self.database_of(table.catalog).name, (table.tabid,))
            for table in tables
        )


def versions_of(composed: Composed, run: Run) -> Composed:
    """The form of a query or change that reads the last committed versions of the tables in *run*."""

    def table_of(reference: Reference) -> Table | None:
        visited = run.get(reference.number)
        return visited.table if visited is not None else None

    return with_versions(composed, table_of)


def _value_of(image: bytes, number: int) -> Stored:
    """``ifx_image``."""
    value: Stored = marshal.loads(image)[number]
    return value
