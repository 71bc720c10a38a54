"""A session's open database, and all state that ends with it. Never: a statement's plan."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial

from aioifx.server.catalog import catalog
from aioifx.server.engine.cursors import Cursor
from aioifx.server.engine.deferred_constraints import DeferredConstraints
from aioifx.server.engine.lock_runs import LockRuns
from aioifx.server.engine.open_objects import OpenObjects
from aioifx.server.engine.reads import Reads
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Change
from aioifx.server.sql.model.schema import Schema, Table
from aioifx.server.sql.sqlite.render import identifier
from aioifx.server.sql.translate.sqlite_ddl import release_steps
from aioifx.server.sqlite.counters import Serials
from aioifx.server.sqlite.databases import Database
from aioifx.server.sqlite.interrupts import INTERRUPTED
from aioifx.server.sqlite.spool import KeptByCursor
from aioifx.server.sqlite.transaction_state import SessionDefaults
from aioifx.server.sqlite.transactions import Transactions


class Workspace:
    """A session's open database; created and used in the session's thread."""

    def __init__(
        self,
        database: Database,
        connection: sqlite3.Connection,
        defaults: SessionDefaults,
        interrupted: Callable[[], bool],
    ) -> None:
        self.database = database
        self.connection = connection
        self.transactions = Transactions(connection, database, defaults, interrupted)
        self._interrupted = interrupted
        self.cursors: list[Cursor] = []
        self.attached: dict[str, Database] = {}
        """Attached databases, by their alias in SQLite."""
        runs = LockRuns(connection, database, self.attached, self.transactions)
        self.reads = Reads(connection, runs, self.transactions, self.settle)
        self.schema: catalog.Snapshot | None = None
        self.schema_stamp: tuple[int, int] = (0, 0)
        self.current_values: dict[int, int] = {}
        """By tabid: the last number of a sequence that this session was given."""
        database.sequences.load(connection)
        self.assigned_serials: dict[int, int] = {}
        """By type code: the last serial number that the running statement assigned."""
        self.kept = KeptByCursor()
        """BYTE and TEXT values of the rows of open cursors."""
        self.objects = OpenObjects(connection, self.transactions, database.objects_in_use, self.settle)
        self.deferred = DeferredConstraints(connection)
        self._temp_version = 0
        self._has_schema_changes = False  # whether the open transaction has changed the schema
        self._temp_serials = Serials()
        self._inserting: Table | None = None
        self._has_serials = False
        self._marks: dict[int, set[int]] = {}

    # -- schema --------------------------------------------------------------------------------------------------------

    @property
    def stamp(self) -> tuple[int, int]:
        """Changes whenever the schema may have changed."""
        return self.database.version, self._temp_version

    def on_schema_changed(self) -> None:
        """Called after this session has changed the schema, or undone a change."""
        self._has_schema_changes = self._has_schema_changes or self.transactions.is_open
        self.database.on_schema_changed()
        self._temp_version += 1

    def alias_of(self, name: str) -> str | None:
        return next((alias for alias, database in self.attached.items() if database.name == name), None)

    def attach(self, database: Database) -> str:
        alias = f"ifx_other_{len(self.attached)}"
        try:
            self.connection.execute(f"ATTACH ? AS {alias}", (str(database.path),))
        except sqlite3.OperationalError:
            raise SqlError(-999, token="more databases in one session") from None
        self.attached[alias] = database
        return alias

    # -- transactions and cursors --------------------------------------------------------------------------------------

    def settle(self, *, is_interruptible: bool = True) -> None:
        """Settle all cursors, so that the next statement cannot change their rows.

        Raises:
            SqlError: -213, interrupted; the cursors keep their rows.
        """
        self._settle(lambda cursor: True, self._check_interrupt if is_interruptible else lambda: None)

    def _settle(self, is_chosen: Callable[[Cursor], bool], check: Callable[[], None]) -> None:
        for cursor in self.cursors:
            if not cursor.is_independent and is_chosen(cursor):
                cursor.settle(check)

    def _check_interrupt(self) -> None:
        if self._interrupted():
            raise SqlError(*INTERRUPTED)

    def end_transaction(self, end: Callable[[Transactions], None]) -> None:
        """COMMIT or ROLLBACK; releases all cursors except hold cursors, whose rows are read first.

        assumed: the cursor of a routine that ends the transaction itself stays open, since the routine goes on.
        """
        self._settle(lambda cursor: cursor.hold, lambda: None)
        end(self.transactions)
        self.deferred.clear()
        left = self.cursors
        self.cursors = [cursor for cursor in left if cursor.hold or cursor.is_reading]
        for cursor in left:
            if cursor not in self.cursors:
                cursor.close()
                cursor.is_released = True
        self.objects.sweep()
        if self._has_schema_changes:
            self._has_schema_changes = False
            self.on_schema_changed()

    def roll_back(self) -> None:
        """ROLLBACK; temporary tables WITH NO LOG keep their rows, since their changes are not logged."""
        kept = self._unlogged_rows() if self.transactions.is_exclusive else []
        self.end_transaction(Transactions.rollback)
        for table, columns, rows in kept:
            if self._has_temp(table):  # the table may have been created since BEGIN
                self.connection.execute(f"DELETE FROM {table.source}")
                marks = ", ".join("?" * len(columns))
                names = ", ".join(identifier(name) for name in columns)
                self.connection.executemany(f"INSERT INTO {table.source} ({names}) VALUES ({marks})", rows)

    def _has_temp(self, table: Table) -> bool:
        """Whether a temporary table exists, since `schema` may be outdated."""
        known = "SELECT 1 FROM temp.sqlite_master WHERE type = 'table' AND name = ?"
        return self.connection.execute(known, (table.physical,)).fetchone() is not None

    def _unlogged_rows(self) -> list[tuple[Table, list[str], list[tuple[object, ...]]]]:
        tables: list[Table] = [] if self.schema is None else list(self.schema.temps.values())
        kept: list[tuple[Table, list[str], list[tuple[object, ...]]]] = []
        for table in tables:
            if not table.is_logged:
                found = self.connection.execute(f"SELECT rowid AS rowid, * FROM {table.source}")
                kept.append((table, [column[0] for column in found.description], found.fetchall()))
        return kept

    def current_rowid(self, change: Change) -> int:
        """The row that WHERE CURRENT OF refers to.

        Raises:
            SqlError: -507, no such cursor; -290, not FOR UPDATE; -266, no current row; -364, column not in OF.
        """
        cursor = next((c for c in self.cursors if c.name == change.cursor), None)
        if cursor is None:
            raise SqlError(-507, token=change.cursor)
        if cursor.update_columns is None:
            raise SqlError(-290)
        if cursor.rowid is None:
            raise SqlError(-266)
        if cursor.update_columns:
            for column in change.update_columns:
                if column not in cursor.update_columns:
                    raise SqlError(-364, token=column)
        return cursor.rowid

    def close(self) -> None:
        """Roll back, save the counters, close."""
        try:
            for cursor in self.cursors:
                cursor.close()
                cursor.is_released = True
            self.cursors.clear()
            self.transactions.abandon()
            self._empty_temps()
            self.objects.close_all()
            for counters in (self.database.serials, self.database.sequences):
                if counters.has_unsaved:
                    self.transactions.aside(partial(counters.save, self.connection))
        finally:
            self.connection.close()

    def _empty_temps(self) -> None:
        """Delete the rows of temporary tables that refer to smart large objects."""
        tables: list[Table] = [] if self.schema is None else list(self.schema.temps.values())
        for table in tables:
            for step in release_steps(table) if self._has_temp(table) else ():
                self.transactions.aside(partial(self.connection.execute, step.sql))

    # -- serial columns ------------------------------------------------------------------------------------------------

    def _serials_of(self, table: Table) -> Serials:
        return self._temp_serials if table.is_temp else self.database.serials

    def prime_serials(self, table: Table) -> None:
        """Prepare the serial counters for an INSERT into *table*."""
        if table is not self._inserting:
            self._inserting, self._has_serials = table, bool(table.serials)
        self.assigned_serials.clear()
        if self._has_serials:
            self._serials_of(table).prime(self.connection, table)

    def next_serial(self, name: str, value: int | None) -> int:
        table = self._inserting
        assert table is not None, "ifx_serial outside INSERT"
        number = self._serials_of(table).next_value(table, name, value)
        column = table.column(name)
        assert column is not None
        self.assigned_serials[column.type.code] = number
        return number

    def forget_serials(self, table: Table, schema: Schema) -> None:
        """Update the serial counters of *table*, which is new or gets a new definition."""
        serials = self._serials_of(table)
        known = schema.table(table.name) if table.is_temp else schema.table_of(table.tabid)
        if known is None:
            serials.on_created(table.tabid)
            if not table.is_temp:
                self.database.sequences.on_created(table.tabid)
        else:
            serials.on_altered(table)

    # -- sequences -----------------------------------------------------------------------------------------------------

    def begin_rows(self) -> None:
        """Start a statement: its first reference to a sequence generates a new number."""
        self._marks.clear()

    def next_value(self, tabid: int, mark: int) -> int:
        """NEXTVAL of one reference to the sequence; all references have the same number within a row.

        Raises:
            SqlError: the sequence is exhausted.
        """
        marks = self._marks.setdefault(tabid, set())
        if marks and mark not in marks:
            marks.add(mark)
            return self.current_values[tabid]
        number = self.database.sequences.next_value(self._sequence(tabid))
        self.current_values[tabid] = number
        marks.clear()
        marks.add(mark)
        return number

    def current_value(self, tabid: int) -> int:
        """CURRVAL.

        Raises:
            SqlError: -8315, the session has not used NEXTVAL yet.
        """
        if tabid not in self.current_values:
            raise SqlError(-8315, token=self._sequence(tabid).name)
        return self.current_values[tabid]

    def _sequence(self, tabid: int) -> Table:
        table = None if self.schema is None else self.schema.table_of(tabid)
        assert table is not None, "the plan is older than the schema"
        return table
