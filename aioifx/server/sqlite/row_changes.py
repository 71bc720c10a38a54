"""The rows that a connection's statements change: their locks, and their versions for the undo log. Never: waiting.

Each table that is written gets three triggers in the connection's temp schema, which call functions of this module.
They see all changes, whichever statement, cascade or trigger makes them. A function that returns true has met a lock
of another transaction; its trigger then aborts the statement.

A transaction locks each row that it inserts, updates or deletes. It locks each value of a unique key that it removes,
so that a rollback can restore it. It locks each value that a foreign key refers to: a child shared, the parent
exclusively.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

from aioifx.server.sql.model.schema import Schema, Table
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.sqlite.render import Composed, identifier
from aioifx.server.sql.sqlite.tree import Insert, query_sql
from aioifx.server.sqlite.lock_manager import Kind, LockManager, LockMode, Owner, Resource
from aioifx.server.sqlite.undo_log import OBJECTS, Version, packed
from aioifx.server.sqlite.watched_tables import (
    EVENTS,
    TEMP_CATALOG,
    Key,
    Watched,
    flat,
    has_smart_columns,
    key_arguments,
    objects,
    reached,
    sparse,
    trigger_name,
    trigger_texts,
    width,
)


class LockConflict(Exception):
    """A statement needs a lock of another transaction: wait for it, then run the statement again.

    Args:
        is_kept: whether the statement keeps the lock after the wait.
    """

    def __init__(self, resource: Resource, mode: LockMode, *, is_kept: bool = True) -> None:
        super().__init__(resource, mode)
        self.resource = resource
        self.mode = mode
        self.is_kept = is_kept
        self.least_wait = 0.0
        """Seconds to wait at least, whatever SET LOCK MODE says."""
        self.sqlcode = 0
        """The SQLCODE if the lock is refused; 0 for the statement's."""
        self.token = ""


class RowChanges:
    """The changes of one connection; used in its session's thread.

    Args:
        deleted_rows: by tabid, the highest rowid that a transaction has deleted or rolled back.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        locks: LockManager,
        database: str,
        owner: Owner,
        deleted_rows: dict[int, int],
    ) -> None:
        self._connection = connection
        self._locks = locks
        self._database = database
        self._owner = owner
        self._deleted_rows = deleted_rows
        self._watched: dict[_Name, Watched] = {}
        self._described: dict[_Name, Watched] = {}
        """What triggers have last been made for, even if a rollback makes it uncertain whether they exist."""
        self._uncertain: list[_Name] = []
        self._plans: dict[_Name, tuple[Table, Schema, list[Watched]]] = {}
        self._foreign: dict[int, bool] = {}
        self._intents: dict[int, LockMode] = {}
        self._next_rowids: dict[int, int] = {}
        self._is_kept = False
        self._new_rows: list[Resource] = []
        self.is_undoing = False
        """Whether rows are being restored: then nothing is locked or noted."""
        self.conflict: LockConflict | None = None
        """The lock that the running statement has met."""
        self.versions: list[Version] = []
        """Versions of changed rows of the database's tables, which the log does not have yet."""
        self.temp_versions: list[Version] = []
        """The same for temporary tables."""
        connection.create_function("ifx_undoing", 0, lambda: self.is_undoing)
        connection.create_function("ifx_pack", -1, lambda *values: packed(values))
        connection.create_function("ifx_on_probe", -1, self._on_probe)
        connection.create_function("ifx_new_rowid", 1, self._new_rowid)
        for event, handler in (
            ("insert", self._on_insert),
            ("update", self._on_update),
            ("delete", self._on_delete),
        ):
            connection.create_function(f"ifx_on_{event}", -1, self._function_of(handler))

    # -- which tables are watched --------------------------------------------------------------------------------------

    def watch(self, table: Table, schema: Schema) -> None:
        """Make all changes that a change of *table* can cause known; called outside SQLite's transactions."""
        name = table.is_temp, table.tabid
        known = self._plans.get(name)
        if known is None or known[0] is not table or known[1] is not schema:
            known = self._plans[name] = table, schema, list(reached(table, schema))
        for watched in known[2]:
            self._watch(watched)

    def watch_objects(self) -> None:
        """The same for smart large objects."""
        for watched in objects():
            self._watch(watched)

    def watch_temp_catalog(self) -> None:
        """The same for the descriptions of temporary tables."""
        for tabid, (name, columns) in TEMP_CATALOG.items():
            self._watch(Watched(tabid, f'temp."{name}"', columns, is_temp=True))

    def forget(self) -> None:
        """Drop all triggers: called before a change of the schema, and when SQLite has rolled one back.

        SQLite refuses to alter a table while a trigger names a column that another session has dropped.
        """
        left = f"SELECT name FROM temp.sqlite_master WHERE {_OWN_TRIGGERS}"
        for (name,) in self._connection.execute(left).fetchall():
            self._connection.execute(f"DROP TRIGGER IF EXISTS temp.{identifier(name)}")
        if self._connection.execute(left).fetchone():
            self._delete_orphans()
        self._watched.clear()

    def _delete_orphans(self) -> None:
        """Delete triggers whose table another connection has dropped.

        SQLite keeps their texts, which fail ALTER TABLE, but DROP TRIGGER does not find them.
        """
        self._connection.execute("PRAGMA writable_schema = ON")
        try:
            self._connection.execute(f"DELETE FROM temp.sqlite_master WHERE {_OWN_TRIGGERS}")
        finally:
            self._connection.execute("PRAGMA writable_schema = OFF")

    def forget_new(self) -> None:
        """Called when SQLite has rolled back a statement, which may have created triggers."""
        while self._uncertain:
            self._watched.pop(self._uncertain.pop(), None)

    def _watch(self, watched: Watched) -> None:
        name = watched.is_temp, watched.tabid
        if self._watched.get(name) == watched:
            return
        self._drop_triggers(watched)
        for text in trigger_texts(watched):
            self._connection.execute(text)
        self._watched[name] = self._described[name] = watched
        if self._connection.in_transaction:
            self._uncertain.append(name)

    def _drop_triggers(self, watched: Watched) -> None:
        for event in EVENTS:
            self._connection.execute(f"DROP TRIGGER IF EXISTS temp.{trigger_name(watched, event)}")

    # -- statements ----------------------------------------------------------------------------------------------------

    def begin(self, *, is_kept: bool) -> None:
        """Begin a statement.

        Args:
            is_kept: whether locks and versions are needed after the statement, for its transaction.
        """
        self._is_kept = is_kept
        self.conflict = None
        self._foreign.clear()
        self._next_rowids.clear()

    def end(self) -> None:
        """End a statement: the log has its versions, or they are not needed."""
        self.conflict = None
        self.versions.clear()
        self.temp_versions.clear()
        self._new_rows.clear()

    def on_released(self) -> None:
        """Called when the locks of the session have been released."""
        self._intents.clear()

    def mark(self) -> tuple[int, int, int]:
        """The present number of versions, for `back_to`."""
        return len(self.versions), len(self.temp_versions), len(self._new_rows)

    def back_to(self, mark: tuple[int, int, int]) -> None:
        """Forget the versions noted after *mark*: SQLite has undone their changes."""
        del self.versions[mark[0] :]
        del self.temp_versions[mark[1] :]
        del self._new_rows[mark[2] :]

    def lock_new_rows(self) -> None:
        """Lock the inserted rows, which no other session can have seen."""
        if self._new_rows:
            self._locks.acquire_new(self._owner, self._new_rows, LockMode.X)
            self._new_rows.clear()

    def keep_rowids(self, owner: Owner) -> None:
        """Called before the changes of a transaction are undone: no new row gets the rowid of one that it has inserted.

        Locks on that row may be kept.
        """
        for tabid, row in self._locks.rows_of(owner):
            if row > self._deleted_rows.get(tabid, 0):
                self._deleted_rows[tabid] = row

    def with_new_rowids(self, insert: Composed, table: Table) -> Composed:
        """An INSERT that does not use the rowid of a row whose deletion can be undone.

        SQLite gives a new row the rowid after the highest one, which may be that of a deleted row.
        """
        deleted = self._deleted_rows.get(table.tabid)
        node = insert.tree
        if deleted is None or table.is_temp or not isinstance(node, Insert) or "rowid" in node.columns:
            return insert
        (highest,) = self._connection.execute(f"SELECT max(rowid) FROM {table.source}").fetchone()
        if (highest or 0) >= deleted:
            return insert
        rows = query_sql("SELECT ifx_new_rowid({}), * FROM ({})", table.tabid, node.rows)
        return Composed(Insert(node.target, ("rowid", *node.columns), rows))

    def _new_rowid(self, tabid: int) -> int:
        number = self._next_rowids.get(tabid)
        if number is None:
            (highest,) = self._connection.execute(f'SELECT max(rowid) FROM main."t{tabid}"').fetchone()
            number = max(highest or 0, self._deleted_rows.get(tabid, 0))
        self._next_rowids[tabid] = number + 1
        return number + 1

    def unlocked_objects(self, numbers: Sequence[int]) -> list[int]:
        """Those smart large objects that no other transaction has changed."""
        found = ((number, Resource(self._database, OBJECTS, Kind.ROW, number)) for number in numbers)
        return [
            number
            for number, resource in found
            if not self._locks.holders_against(self._owner, resource, LockMode.X)
        ]

    # -- duplicates ----------------------------------------------------------------------------------------------------

    @contextmanager
    def probing(self, table: Table) -> Generator[bool, None, None]:
        """Context of a statement that has met a duplicate. False: there are no other transactions.

        A row with the key that another transaction has locked is a conflict: that transaction may still remove it.
        """
        watched = self._watched.get((table.is_temp, table.tabid))
        if watched is None or watched.is_temp or not self._has_foreign(watched.tabid):
            yield False
            return
        arguments = ", ".join([str(watched.tabid), *key_arguments(watched)])
        events = ("INSERT", "UPDATE")
        for event in events:
            self._connection.execute(
                f"CREATE TEMP TRIGGER {trigger_name(watched, f'probe {event}')} BEFORE {event} ON {watched.source}"
                f" WHEN ifx_on_probe({arguments}) BEGIN SELECT RAISE(ABORT, 'ifx:locked'); END"
            )
        try:
            yield True
        finally:
            for event in events:
                self._connection.execute(f"DROP TRIGGER temp.{trigger_name(watched, f'probe {event}')}")

    def _on_probe(self, tabid: int, *values: Stored) -> bool:
        watched = self._described[False, tabid]
        row = sparse(watched, flat(watched.key_columns, values))
        for key in watched.keys:
            if key.mode is not LockMode.X:
                continue
            same = " AND ".join(f"{text} IS ?" for text in key.conditions)
            query = f"SELECT rowid FROM {watched.source} WHERE {same}"
            for (rowid,) in self._connection.execute(query, self._key_values(key, row)).fetchall():
                resource = Resource(self._database, tabid, Kind.ROW, rowid)
                if self._locks.holders_against(self._owner, resource, LockMode.S):
                    self.conflict = LockConflict(resource, LockMode.S, is_kept=False)
                    return True
        return False

    # -- functions of the triggers -------------------------------------------------------------------------------------

    def _function_of(self, handler: _Handler) -> Callable[..., bool]:
        def function(is_temp: bool, tabid: int, row: int, *values: Stored) -> bool:
            if self.is_undoing:
                return False
            try:
                handler(self._described[bool(is_temp), tabid], row, values)
            except LockConflict as conflict:
                self.conflict = conflict
                return True
            return False

        return function

    def _on_insert(self, watched: Watched, row: int, values: Sequence[Stored]) -> None:
        if watched.is_temp:
            self._note(watched, row, "I", None)
            return
        self._intend(watched.tabid, LockMode.IX)
        if watched.keys:
            self._lock_keys(watched, None, sparse(watched, flat(watched.key_columns, values)))
        if row <= self._deleted_rows.get(watched.tabid, 0):
            self._lock_row(watched, row)
        elif self._is_kept and watched.locks_rows and self._intents[watched.tabid] is not LockMode.X:
            self._new_rows.append(Resource(self._database, watched.tabid, Kind.ROW, row))
        self._note(watched, row, "I", None)

    def _on_update(self, watched: Watched, row: int, values: Sequence[Stored]) -> None:
        count = width(watched.columns)
        old = flat(watched.columns, values[:count])
        if not watched.is_temp:
            self._lock_row(watched, row)
            if watched.keys:
                self._lock_keys(watched, old, sparse(watched, flat(watched.key_columns, values[count:])))
        self._note(watched, row, "U", old)

    def _on_delete(self, watched: Watched, row: int, values: Sequence[Stored]) -> None:
        old = flat(watched.columns, values)
        if not watched.is_temp:
            self._lock_row(watched, row)
            self._lock_keys(watched, old, None)
            if self._is_kept and row > self._deleted_rows.get(watched.tabid, 0):
                self._deleted_rows[watched.tabid] = row
        self._note(watched, row, "D", old)

    def _note(self, watched: Watched, row: int, op: str, values: Sequence[Stored] | None) -> None:
        if self._is_kept:
            versions = self.temp_versions if watched.is_temp else self.versions
            versions.append(Version(watched.tabid, row, op, None if values is None else packed(values)))

    # -- locks ---------------------------------------------------------------------------------------------------------

    def _intend(self, tabid: int, mode: LockMode) -> None:
        """Lock a table as the locks on its rows and keys need it."""
        held = self._intents.get(tabid)
        if held is not mode and held not in _WRITES:
            self._lock(Resource(self._database, tabid, Kind.TABLE), mode)
            self._intents[tabid] = mode

    def intends_to_write(self, table: Table) -> bool:
        """Whether the transaction has an IX or X lock on a table."""
        return self._intents.get(table.tabid) in _WRITES

    def note_lock(self, table: Table, mode: LockMode) -> None:
        """Called when the transaction has got a lock on a table; X makes locks on its rows unnecessary."""
        if mode in _WRITES and self._intents.get(table.tabid) is not LockMode.X:
            self._intents[table.tabid] = mode

    def _lock_row(self, watched: Watched, row: int) -> None:
        self._intend(watched.tabid, LockMode.IX)
        if watched.locks_rows and self._intents[watched.tabid] is not LockMode.X:
            self._lock(Resource(self._database, watched.tabid, Kind.ROW, row), LockMode.X)

    def _lock_keys(
        self, watched: Watched, old: Sequence[Stored] | None, new: Sequence[Stored] | None
    ) -> None:
        """Lock the keys that a row loses or gets."""
        for key in watched.keys:
            if old is not None and new is not None and all(old[each] == new[each] for each in key.positions):
                continue
            before = None if old is None else key.resource(self._database, self._key_values(key, old))
            after = None if new is None else key.resource(self._database, self._key_values(key, new))
            if before == after:
                continue
            if before is not None:
                self._lock_key(key, before, is_kept=self._is_kept)
            if after is not None:
                # Another transaction finds the row itself, unless it refers to it or is referred to.
                is_kept = self._is_kept and (key.is_referenced or key.mode is LockMode.S)
                self._lock_key(key, after, is_kept=is_kept)

    def _key_values(self, key: Key, row: Sequence[Stored]) -> Sequence[Stored]:
        values = [row[position] for position in key.positions]
        if not key.query:
            return values
        found: tuple[Stored, ...] = self._connection.execute(key.query, values).fetchone()
        return found

    def _lock_key(self, key: Key, resource: Resource, *, is_kept: bool) -> None:
        if is_kept:
            self._intend(key.tabid, LockMode.IX if key.mode is LockMode.X else LockMode.IS)
            self._lock(resource, key.mode)
        elif self._has_foreign(resource.tabid) and self._locks.holders_against(
            self._owner, resource, key.mode
        ):
            raise LockConflict(resource, key.mode, is_kept=False)

    def _has_foreign(self, tabid: int) -> bool:
        """Whether another transaction writes to a table or a table that refers to it; asked once per statement."""
        found = self._foreign.get(tabid)
        if found is None:
            found = self._foreign[tabid] = self._locks.has_others(self._owner, self._database, tabid)
        return found

    def is_free(self, table: Table) -> bool:
        """Whether no other session has locked rows or keys that new rows of a table can meet."""
        return not has_smart_columns(table) and not any(
            self._locks.has_others(self._owner, self._database, tabid)
            for tabid in (table.tabid, *(key.parent for key in table.foreign_keys))
        )

    def _lock(self, resource: Resource, mode: LockMode) -> None:
        if not self._locks.try_acquire(self._owner, resource, mode):
            raise LockConflict(resource, mode)


_WRITES: Final = (LockMode.IX, LockMode.X)
_Name: TypeAlias = tuple[bool, int]
_Handler: TypeAlias = Callable[[Watched, int, Sequence[Stored]], None]

_OWN_TRIGGERS: Final = "type = 'trigger' AND name LIKE 'ifx:%'"
