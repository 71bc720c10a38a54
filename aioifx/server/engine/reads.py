"""Queries at their isolation level: conflicts with locks, waits, last committed versions. Never: changing a row.

Invariants:
1. A text is run as it is when no other transaction has changed rows of its tables. The locks are looked at before and
   after SQLite takes the snapshot, which the first step of the text does.
2. Otherwise the rows that others have changed are read from ``ifx_undo`` in the snapshot of the text itself. So a
   transaction that ends meanwhile cannot show half of its changes. Such a text is run to its end at once.
3. Nothing waits while SQLite has a snapshot: a conflict ends the run, and after the wait the text is run again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from aioifx.server.engine.cursors import Postponed, RowSource
from aioifx.server.engine.lock_runs import (
    INTENTIONS,
    Conflict,
    CurrentRow,
    LockedRows,
    LockRuns,
    Reader,
    Run,
    Text,
    versions_of,
)
from aioifx.server.sql.model.plan import Change, Isolation, Query, Verb
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.sqlite.render import Bound, Composed
from aioifx.server.sql.sqlite.tree import In, walk
from aioifx.server.sql.translate.dml import has_side_effects
from aioifx.server.sqlite.lock_manager import (
    DEADLOCK,
    ROW_LOCKED,
    TABLE_LOCKED,
    TIMED_OUT,
    Kind,
    LockMode,
    Resource,
)
from aioifx.server.sqlite.lock_testing import Access, Path, with_tests
from aioifx.server.sqlite.row_changes import LockConflict
from aioifx.server.sqlite.spool import SpooledRows, StoredRow

LOCK_ERRORS: Final = frozenset({ROW_LOCKED, TABLE_LOCKED, DEADLOCK, TIMED_OUT})
"""ISAM codes of refused locks."""


class OpenedRows(NamedTuple):
    """The rows of a new cursor."""

    rows: RowSource
    has_rowid: bool
    current: CurrentRow | None = None
    """The row that the cursor locks, if it needs the rows that are fetched."""
    is_done: Callable[[], bool] | None = None
    """Whether no row is left; None unless rows are locked by fetching them."""


class Reads:
    """The reads of one session in its open database.

    Args:
        settle: settles all cursors, which keep an old snapshot.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        runs: LockRuns,
        reader: Reader,
        settle: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._runs = runs
        self._reader = reader
        self._settle = settle

    # -- queries -------------------------------------------------------------------------------------------------------

    def rows(self, query: Query, sql: Composed, bound: Bound) -> RowSource:
        """Run a form of a query; waits for locks of others as SET LOCK MODE says.

        Args:
            sql: `query.sql` or `query.keyed_sql`.

        Raises:
            SqlError: a lock was refused. -213, interrupted while waiting.
        """
        level = self._reader.isolation
        if not query.locked_tables or level is Isolation.DIRTY_READ:
            return self._connection.execute(sql.text, bound)
        while True:
            try:
                return self._attempt(query, sql, bound, level)
            except Conflict as conflict:
                self._reader.wait(conflict)

    def _attempt(self, query: Query, sql: Composed, bound: Bound, level: Isolation) -> RowSource:
        tables = query.locked_tables
        if level is Isolation.REPEATABLE_READ and self._reader.is_open:
            return self._repeatable(Text(sql, bound, tables))
        releases = self._runs.locks.releases
        if not self._runs.has_foreign(tables):
            rows = self._connection.execute(sql.text, bound)
            # In this order: a release is counted before its lock is gone.
            if not self._runs.has_foreign(tables) and releases == self._runs.locks.releases:
                return rows
            rows.close()
        text = Text(sql, bound, tables, is_repeatable=not has_side_effects(sql.tree))
        return self._tested(text, leaves_out=level is Isolation.LAST_COMMITTED)

    def _tested(self, text: Text, *, leaves_out: bool) -> RowSource:
        """Run a text while other transactions may have changed rows of its tables."""
        with self._runs.snapshot():
            run = self._runs.visited(text, is_left_out=leaves_out)
            if not any(visited.changed for visited in run.values()):
                return self._connection.execute(text.sql.text, text.bound)  # its rows keep the snapshot
            if leaves_out:
                return self._runs.spooled(text, run, versions_of(text.sql, run))
            return self._without_conflict(text, run)

    def _without_conflict(self, text: Text, run: Run) -> SpooledRows:
        """The rows of a text that reads no row that others have changed or deleted.

        Raises:
            Conflict: it reads one.
        """
        rows = self._runs.spooled(text, run, with_tests(text.sql))
        try:
            self._check_missing(text, run, rows)
        except BaseException:
            rows.close()
            raise
        return rows

    def _check_missing(self, text: Text, run: Run, rows: SpooledRows) -> None:
        """Check for rows that are no longer where the text looks for them: deleted ones, and changed keys.

        If all rows of the table are read, any of them is a conflict. Otherwise one is if the last committed versions
        have another result.

        Raises:
            Conflict: there is one.
        """
        missing = {alias: each for alias, each in run.items() if each.versions and not each.is_left_out}
        if not missing:
            return
        ways = self._runs.paths_of(text)
        whole = next((alias for alias in missing if ways.get(alias, Path()).is_whole), None)
        if whole is None and text.is_repeatable:
            versions = {alias: replace(visited, is_left_out=True) for alias, visited in run.items()}
            with closing(self._runs.spooled(text, versions, versions_of(text.sql, run))) as committed:
                if _fingerprint(committed) == _fingerprint(rows):
                    return
        alias = next(iter(missing)) if whole is None else whole
        visited = missing[alias]
        row = next(row for row, version in visited.changed.items() if version is not None)
        raise Conflict(visited.row(row), LockMode.S, visited.table, ways.get(alias, Path()))

    # -- rows of cursors -----------------------------------------------------------------------------------------------

    def opened(self, query: Query, values: tuple[Stored, ...], *, is_scroll: bool) -> OpenedRows:
        """The rows of a new cursor.

        Raises:
            SqlError: a lock was refused. -213, interrupted while waiting.
        """
        bound = query.sql.bound(values)
        if query.transfers:
            return OpenedRows(Postponed(partial(self.rows, query, query.sql, bound)), False)
        mode = None if is_scroll else self._mode_of_rows(query)
        if mode is None or query.keyed_sql is None:
            return OpenedRows(self.rows(query, query.sql, bound), query.has_rowid)
        current = self._current_row(query, query.keyed_sql, values, mode)
        keyed = self.rows(query, query.keyed_sql, query.keyed_sql.bound(values))
        if mode is LockMode.S:
            return OpenedRows(keyed, True, current)
        locked = LockedRows(keyed, current)
        return OpenedRows(locked, True, is_done=lambda: locked.is_done)

    def _mode_of_rows(self, query: Query) -> LockMode | None:
        """The lock that the current row of a cursor has: FOR UPDATE in a transaction, and under CURSOR STABILITY.

        Under CURSOR STABILITY only a query on the rows of one table, without an order, locks its current row. Informix
        sorts other results first, or reads several tables.
        """
        if query.keyed_sql is None or not query.locked_tables:
            return None
        if query.for_update:
            return LockMode.U if self._reader.is_open else None
        return LockMode.S if self._reader.isolation is Isolation.CURSOR_STABILITY else None

    def _current_row(
        self, query: Query, keyed: Composed, values: tuple[Stored, ...], mode: LockMode
    ) -> CurrentRow:
        """The current row of a new cursor."""
        (reference, *_) = keyed.references
        table = next(each for each in query.locked_tables if each.source == reference.source)
        text = Text(keyed, keyed.bound(values), query.locked_tables)
        path = self._runs.paths_of(text).get(reference.number, Path())
        whole = self._runs.table_lock(table)

        def acquire(resource: Resource, mode: LockMode) -> None:
            if resource.kind is Kind.ROW:
                acquire(whole, INTENTIONS[mode])
            self._reader.wait(Conflict(resource, mode, table, path, is_kept=True))

        def read(row: int) -> StoredRow | None:
            self._settle()  # a row is read again as it is after the lock
            assert query.row_sql is not None
            rows = self.rows(query, query.row_sql, query.row_sql.bound((*values, row)))
            try:
                return next(iter(rows.fetchmany(1)), None)
            finally:
                rows.close()

        return CurrentRow(
            self._runs.locks,
            self._runs.owner,
            lambda row: Resource(whole.database, table.tabid, Kind.ROW, row),
            mode,
            acquire,
            read,
            is_kept=mode is LockMode.U and self._reader.retains_update_locks,
        )

    # -- REPEATABLE READ -----------------------------------------------------------------------------------------------

    def _repeatable(self, text: Text) -> RowSource:
        """Run a text whose rows stay as they are until the end of the transaction.

        A table is locked as a whole, unless its only row is found by a unique key.
        """
        single = self._single(text)
        if single is None:
            self._share_tables(text)
            return self._connection.execute(text.sql.text, text.bound)
        self._take(text, text.tables[0], LockMode.IS)
        while True:
            with self._runs.snapshot():
                run = self._runs.visited(text, is_shared=True)
                rows = self._without_conflict(text, run)
            visited = run[single]
            if visited.visits and not visited.new_locks:
                return rows
            rows.close()  # a row may have changed between the snapshot and its lock
            if not visited.visits:
                self._share_tables(text)
                return self._connection.execute(text.sql.text, text.bound)

    def _single(self, text: Text) -> int | None:
        """The alias of the only table of a text, if its key has one value."""
        found = text.sql.references
        if len(found) != 1 or len(text.tables) != 1:
            return None
        if any(isinstance(each, In) for each in walk(text.sql.tree)):
            return None
        path = self._runs.paths_of(text).get(found[0].number)
        return found[0].number if path is not None and path.is_unique else None

    def _share_tables(self, text: Text) -> None:
        """Lock all tables of a text for reading.

        Raises:
            Conflict: another transaction has changed rows of one.
        """
        for table in text.tables:
            self._take(text, table, LockMode.S)

    def _take(self, text: Text, table: Table, mode: LockMode) -> None:
        resource = self._runs.table_lock(table)
        if not self._runs.locks.try_acquire(self._runs.owner, resource, mode):
            path = self._path_to(table, text)
            conflict = Conflict(resource, mode, table, path, is_kept=True)
            if not path.is_whole:  # Informix would lock only the part of the index that is read
                conflict.least_wait = self._runs.database_of(table.catalog).busy_timeout
            raise conflict

    def _path_to(self, table: Table, text: Text) -> Path:
        alias = next((each.number for each in text.sql.references if each.tabid == table.tabid), 0)
        return self._runs.paths_of(text).get(alias, Path())

    # -- changes -------------------------------------------------------------------------------------------------------

    @contextmanager
    def changing(self, change: Change, values: tuple[Stored, ...]) -> Generator[Change, None, None]:
        """Context of a change in SQLite's transaction: gives the change that reads what the isolation level allows.

        The table that it changes is read under COMMITTED READ at least, whatever the level (assumed).

        Raises:
            Conflict: it reads a row that another transaction has changed.
        """
        text = self._text_of(change, values)
        left_out = self._left_out(change, text) if text is not None else {}
        try:
            if left_out:
                with self._runs.running(left_out):
                    yield _with_versions(change, left_out)
            else:
                yield change
        except LockConflict as conflict:
            if change.verb is not Verb.INSERT and conflict.resource.kind is Kind.ROW and not conflict.sqlcode:
                path = Path(Access.KEY) if text is None else self._path_to(change.table, text)
                conflict.sqlcode, conflict.token = path.access.value, change.table.name
            raise

    def _text_of(self, change: Change, values: tuple[Stored, ...]) -> Text | None:
        """The search of a change whose locks are tested; None if there is none."""
        tables = change.locked_tables
        if self._reader.isolation is Isolation.DIRTY_READ:
            tables = tuple(table for table in tables if table is change.table)
        if change.search is None or not tables:
            return None
        return Text(change.search, change.search.bound(values), tables)

    def _left_out(self, change: Change, text: Text) -> Run:
        """The tables of which a change reads the last committed versions.

        Raises:
            Conflict: it reads a row that another transaction has changed.
        """
        level = self._reader.isolation
        if level is Isolation.REPEATABLE_READ and self._reader.is_open:
            single = self._single(text)
            if single is not None:
                run = self._runs.visited(text, is_shared=True)
                self._without_conflict(text, run).close()
                if run[single].visits:
                    return {}
            self._share_tables(text)
            return {}
        if not self._runs.has_foreign(text.tables):
            return {}
        run = self._runs.visited(text)
        for visited in run.values():
            visited.is_left_out = level is Isolation.LAST_COMMITTED and visited.table is not change.table
        left_out = {alias: visited for alias, visited in run.items() if visited.is_left_out}
        self._without_conflict(replace(text, sql=versions_of(text.sql, left_out)), run).close()
        return left_out if any(visited.changed for visited in left_out.values()) else {}


def _with_versions(change: Change, run: Run) -> Change:
    """The change that reads the last committed versions of the tables in *run*."""
    by_row = change.by_row
    if by_row is not None:
        search = None if by_row.search is None else versions_of(by_row.search, run)
        by_row = replace(by_row, search=search, each=versions_of(by_row.each, run))
    return replace(change, sql=versions_of(change.sql, run), by_row=by_row)


def _fingerprint(rows: SpooledRows) -> tuple[int, int]:
    """Equal for equal rows in any order."""
    count = total = 0
    for row in rows:
        count += 1
        total += hash(row)
    return count, total
