"""SET CONSTRAINTS .. DEFERRED: constraints that are checked at the end of the transaction. Never: disabled ones.

Invariants:
1. From SET CONSTRAINTS on, the transaction is exclusive: one transaction of SQLite, which other sessions do not see.
2. SQLite defers foreign keys itself. A unique key or CHECK is removed from its schema when a change violates it.
   Before COMMIT it is created again, with a check of all rows.
3. NOT NULL is checked by the text of a change; a change that violates it runs again without that check.

Source: documented: SET Transaction Mode statement. assumed: the SQLCODEs are those of statements
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Change, Step, Verb
from aioifx.server.sql.model.schema import Constraint, ConstraintKind, Schema, Table
from aioifx.server.sql.sqlite.render import filled, identifier
from aioifx.server.sql.translate.filtering import accepting_nulls
from aioifx.server.sql.translate.sqlite_ddl import (
    check_steps,
    drop_check_steps,
    drop_index_steps,
    index_steps,
    redeclaration_steps,
)
from aioifx.server.sqlite.error_mapping import DUPLICATE, NO_RECORD, broken_keys

_NULL_INTO_COLUMN: Final = -391
_NULL_INTO_KEY: Final = -703
_KEYS: Final = (ConstraintKind.PRIMARY, ConstraintKind.UNIQUE)


class DeferredConstraints:
    """The deferred constraints of one session's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.clear()

    def clear(self) -> None:
        """The transaction has ended: all constraints are immediate."""
        self._all = False
        self._named: set[int] = set()
        self._removed: dict[int, int] = {}
        """Constraints that SQLite does not enforce now: constrids with the tabids of their tables."""
        self._relaxed: set[int] = set()
        """The tables that may have NULL in columns that are NOT NULL, by tabid."""
        self._written: set[int] = set()
        """The tables with new or changed rows, by tabid."""

    @property
    def is_any(self) -> bool:
        """Whether a constraint is deferred."""
        return self._all or bool(self._named)

    def _has(self, constraint: Constraint) -> bool:
        return self._all or constraint.constrid in self._named

    # -- SET CONSTRAINTS -----------------------------------------------------------------------------------------------

    def defer(self, constrids: Collection[int] | None, schema: Schema) -> None:
        """DEFERRED, in a transaction of SQLite; None for all constraints."""
        if constrids is None:
            self._all = True
        else:
            self._named.update(constrids)
        self.resume(schema)

    def resume(self, schema: Schema) -> None:
        """Defer foreign keys in SQLite, which forgets it when it rolls back."""
        if self._all:
            self._connection.execute("PRAGMA defer_foreign_keys=ON")
        self._declare(schema, self._named)

    def _declare(self, schema: Schema, deferred: Collection[int]) -> None:
        """Declare the foreign keys of tables that have named ones."""
        for table in schema.all_tables:
            if any(key.constrid in self._named for key in table.foreign_keys):
                self._run(redeclaration_steps(table, schema.table_of, deferred))

    def _run(self, steps: Iterable[Step]) -> None:
        for step in steps:
            self._connection.execute(step.sql, step.values)

    def make_immediate(self, constrids: Collection[int] | None, schema: Schema) -> None:
        """IMMEDIATE, after a check; None for all constraints.

        Raises:
            SqlError: a constraint is violated, and all stay deferred; -999, some names after ALL DEFERRED.
        """
        if self._all and constrids is not None:
            raise SqlError(-999, token="IMMEDIATE after ALL DEFERRED")
        chosen = None if self._all else set(self._named if constrids is None else constrids)
        self._enforce(schema, chosen)
        broken = self.broken_reference(schema, chosen)
        if broken is not None:
            raise broken
        if chosen is None:
            self._connection.execute("PRAGMA defer_foreign_keys=OFF")
            self._all = False
        else:
            self._declare(schema, self._named - chosen)
            self._named -= chosen

    # -- changes -------------------------------------------------------------------------------------------------------

    def on_change(self, change: Change) -> None:
        """Called after a change."""
        if self.is_any and change.verb is not Verb.DELETE:
            self._written.add(change.table.tabid)

    def tolerated(self, change: Change, error: SqlError, schema: Schema) -> Change:
        """The change to run again after a violation of a deferred constraint, which SQLite now accepts.

        Raises:
            SqlError: *error*, if the constraint is not deferred; -999, a foreign key depends on it.
        """
        constraint = _violated(change.table, error)
        if constraint is None or not self._has(constraint):
            raise error
        if error.sqlcode in (_NULL_INTO_COLUMN, _NULL_INTO_KEY):
            self._relaxed.add(change.table.tabid)
            rows = change.by_row
            if rows is not None:
                search = None if rows.search is None else accepting_nulls(rows.search)
                rows = replace(rows, search=search, each=accepting_nulls(rows.each))
            return replace(change, sql=accepting_nulls(change.sql), by_row=rows)
        if constraint.kind is ConstraintKind.CHECK:
            self._run(drop_check_steps(change.table, constraint))
        else:
            if any(
                each.constraint.parent_constrid == constraint.constrid and not each.constraint.is_disabled
                for each in schema.references_to(change.table.tabid)
            ):
                raise SqlError(-999, token=f"DEFERRED {constraint.name}")
            index = change.table.index_of(constraint)
            if index is not None:
                self._run(drop_index_steps(change.table, index))
        self._removed[constraint.constrid] = change.table.tabid
        return change

    # -- the end -------------------------------------------------------------------------------------------------------

    def check(self, schema: Schema) -> None:
        """Check all but foreign keys, which COMMIT does, and give SQLite its schema again.

        Raises:
            SqlError: a constraint is violated.
        """
        self._enforce(schema, None)
        self._declare(schema, ())

    def forget_disabled_references(self) -> None:
        """After ALL DEFERRED, SQLite still counts the violations of a foreign key that has been disabled or dropped."""
        self._connection.execute("PRAGMA defer_foreign_keys=OFF")

    def _enforce(self, schema: Schema, chosen: Collection[int] | None) -> None:
        """Enforce the chosen constraints again, or all."""
        for constrid, tabid in [*self._removed.items()]:
            table = schema.table_of(tabid)
            found = (each for each in table.constraints if each.constrid == constrid) if table else ()
            constraint = next(iter(found), None)
            if table and constraint and (chosen is None or constrid in chosen):
                self._restore(table, constraint)
                del self._removed[constrid]
        for tabid in [*self._relaxed]:
            table = schema.table_of(tabid)
            if table is not None:
                self._require_values(table)
            self._relaxed.remove(tabid)

    def _restore(self, table: Table, constraint: Constraint) -> None:
        """Nothing that has been disabled meanwhile; the index of a disabled key may be enabled."""
        if constraint.kind is ConstraintKind.CHECK and not constraint.is_disabled:
            if self._is_row(f"{table.source} AS NEW WHERE NOT {filled(constraint.check_sql, 'NEW')}"):
                raise SqlError(-530, token=constraint.full_name)
            self._run(drop_check_steps(table, constraint))
            self._run(check_steps(table, constraint))
        index = table.index_of(constraint)
        if index is not None and not index.is_disabled:
            self._run(drop_index_steps(table, index))
            try:
                self._run(index_steps(table, index))
            except sqlite3.IntegrityError:
                raise SqlError(-268, DUPLICATE, constraint.full_name) from None

    def _require_values(self, table: Table) -> None:
        for column in table.columns:
            if not column.is_nullable and self._is_row(
                f"{table.source} WHERE {identifier(column.name)} IS NULL"
            ):
                if column.is_declared_not_null:
                    raise SqlError(_NULL_INTO_COLUMN, token=table.path_of(column.name))
                raise SqlError(_NULL_INTO_KEY, token=table.name)

    def _is_row(self, text: str) -> bool:
        return self._connection.execute(f"SELECT 1 FROM {text} LIMIT 1").fetchone() is not None

    def broken_reference(self, schema: Schema, chosen: Collection[int] | None = None) -> SqlError | None:
        """The error of the first foreign key that is violated, of the chosen or of all.

        It is -691 if rows of the child were written, or else -692, because a parent is missing.
        """
        tables = [table for table in schema.all_tables if table.foreign_keys and not table.is_temp]
        for table in sorted(tables, key=lambda table: table.tabid not in self._written):
            for key in broken_keys(self._connection, table, table.foreign_keys):
                if chosen is not None and key.constrid not in chosen:
                    continue
                if table.tabid in self._written:
                    return SqlError(-691, NO_RECORD, key.full_name)
                return SqlError(-692, token=key.full_name)
        return None


def _violated(table: Table, error: SqlError) -> Constraint | None:
    """The constraint that the error of a change is about."""
    for each in table.constraints:
        match error.sqlcode:
            case -268 | -530:
                found = each.full_name == error.token
            case -391:
                is_path = [table.path_of(name) for name in each.columns] == [error.token]
                found = each.kind is ConstraintKind.NOT_NULL and is_path
            case -703:
                found = each.kind is ConstraintKind.PRIMARY
            case _:
                found = False
        if found:
            return each
    return None
