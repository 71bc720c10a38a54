"""Rows that violate objects in FILTERING mode: filed in the violations and diagnostics tables. Never: other errors.

A row that a statement cannot write is written into the violations table first. There queries find all that it violates.
If one of these objects is not in FILTERING mode, the statement fails with its error.

Source: documented: SET Database Object Mode statement, "Filtering Modes"; START VIOLATIONS TABLE statement; -896,
-899 and -971; Violations Table Messages: they are not deferred. assumed: unique keys are checked after each row; a
row that is filed does not count as changed, activates no trigger, and does not use up a serial number twice; a
foreign key is filed for the table whose row is deleted
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from aioifx.server.engine.session_state import SessionState
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Change, Filtering, Verb
from aioifx.server.sql.model.schema import Constraint, ConstraintKind, Index, Reference, Table, TriggerEvent
from aioifx.server.sql.sqlite.render import Composed, filled, identifier, identifiers
from aioifx.server.sql.sqlite.tree import Parameter, Text, listed, sql
from aioifx.server.sql.translate.object_modes import column_pairs, without_parent
from aioifx.server.sqlite.dml import Written
from aioifx.server.sqlite.error_mapping import DUPLICATE, NO_RECORD, is_duplicate, sql_error_of
from aioifx.server.sqlite.spool import StoredRow

RunRow: TypeAlias = Callable[[SessionState, Change, Composed, StoredRow], Written]
"""Runs the statement of one row."""

_Condition: TypeAlias = tuple[Constraint | Index, str, SqlError]

VIOLATED: Final = -971
"""A statement has filed rows, and an object is in mode FILTERING WITH ERROR."""
_NOT_STARTED: Final = -896
_TOO_MANY: Final = -899
_WITH_ERROR: Final = "G"
_VIOLATIONS: Final = frozenset({-268, -530, -391, -703, -239, -346, -691, -692})


@dataclass(frozen=True, slots=True)
class _Violation:
    item: Constraint | Index
    error: SqlError

    @property
    def row(self) -> StoredRow:
        """Its columns objtype, objowner and objname."""
        return "C" if isinstance(self.item, Constraint) else "I", self.item.owner, self.item.name


@dataclass(slots=True)
class RowFilter:
    """The rows of one statement."""

    state: SessionState
    change: Change
    filtering: Filtering
    run_row: RunRow
    is_merge: bool = False
    filed: int = 0
    """The rows that the statement has added to the diagnostics table."""
    has_error: bool = False
    """Whether the statement ends with -971."""

    def write(self, kind: TriggerEvent, sql: Composed, values: StoredRow, rowid: int) -> Written | None:
        """Write a row; None if it has been filed instead.

        Args:
            rowid: of the row that is updated or deleted.

        Raises:
            SqlError: the row violates an object that is not in FILTERING mode. -896, there is no violations table.
                -899, the statement has filed too many rows.
        """
        state, serials = self.state, self.state.current.database.serials
        noted = serials.noted()
        try:
            return self._written(kind, sql, values, rowid)
        except sqlite3.IntegrityError as failed:
            error = sql_error_of(failed, self.change) if is_duplicate(failed) else None
            if error is None:
                raise
        except SqlError as failed:
            if failed.sqlcode not in _VIOLATIONS:
                raise
            error = failed
        state.function_error = None
        serials.back_to(noted)
        self._require_started(error)
        with state.current.transactions.undone_alone():
            self._file(kind, values, rowid, error)
        return None

    def _written(self, kind: TriggerEvent, sql: Composed, values: StoredRow, rowid: int) -> Written:
        """Run the statement of the row. What is in FILTERING mode is not deferred, unlike foreign keys in SQLite."""
        current = self.state.current
        (defers,) = current.connection.execute("PRAGMA defer_foreign_keys").fetchone()
        if not defers and not current.deferred.is_any:
            return self.run_row(self.state, self.change, sql, values)
        with current.transactions.undone_alone():
            if kind is TriggerEvent.DELETE:
                self._refuse_filtered(None, rowid)
                return self.run_row(self.state, self.change, sql, values)
            done = self.run_row(self.state, self.change, sql, values)
            row = rowid or done.lastrowid or 0
            self._refuse_filtered(row, row)
            return done

    def _refuse_filtered(self, new: int | None, rowid: int) -> None:
        """Raise what a row of the table violates and is in FILTERING mode; arguments as `_violated`."""
        for each in self._violated(self.change.table, new, rowid):
            if each.item.filtering:
                raise each.error

    def _require_started(self, error: SqlError) -> None:
        if self.filtering.violations is not None:
            return
        table, references = self.change.table, self._references()
        items: list[Constraint | Index] = [*table.constraints, *table.indexes]
        items += (each.constraint for each in references)
        names = {
            each.full_name if isinstance(each, Constraint) else each.name for each in items if each.filtering
        }
        names |= {
            table.path_of(name) for each in table.constraints if each.filtering for name in each.columns
        }
        key = table.primary_key
        if error.token in names or (error.sqlcode == -703 and key is not None and key.filtering):
            raise SqlError(_NOT_STARTED, token=table.name) from None
        raise error

    def _references(self) -> Sequence[Reference]:
        schema = self.state.planner.schema(self.state.current)
        return [
            each for each in schema.references_to(self.change.table.tabid) if not each.constraint.is_disabled
        ]

    # -- filing --------------------------------------------------------------------------------------------------------

    def _file(self, kind: TriggerEvent, values: StoredRow, rowid: int, error: SqlError) -> None:
        violations, diagnostics = self.filtering.violations, self.filtering.diagnostics
        assert violations is not None and diagnostics is not None
        old = 0 if kind is TriggerEvent.INSERT else self._copied(violations, rowid)
        new = None if kind is TriggerEvent.DELETE else self._new(violations, kind, values, rowid)
        found = [*self._violated(violations, new, rowid)]
        for each in found:
            if not each.item.filtering:
                raise each.error
        if not found:
            raise error
        if new is None:
            self._record(violations, diagnostics, found, {old: "D"})
        elif not old:
            self._record(violations, diagnostics, found, {new: "I"})
        else:
            self._record(violations, diagnostics, found, {old: "O", new: "N"})

    def _record(
        self, violations: Table, diagnostics: Table, found: Sequence[_Violation], kinds: dict[int, str]
    ) -> None:
        """Complete rows of the violations table, which are of these kinds, and say what they violate."""
        number = self._number(violations)
        for rowid, kind in kinds.items():
            self._mark(violations, rowid, number, kind)
        names = identifiers([column.name for column in diagnostics.columns])
        values_of = listed(map(Parameter, range(1, 5)))
        insert = Composed(sql("INSERT INTO {} ({}) VALUES ({})", diagnostics.source, names, values_of))
        for each in found:
            self._run(diagnostics, Verb.INSERT, insert, (number, *each.row))
        self.filed += len(found)
        maximum = self.change.table.violations and self.change.table.violations.maximum
        if maximum and self.filed > maximum:
            raise SqlError(_TOO_MANY)
        self.has_error = self.has_error or any(each.item.filtering == _WITH_ERROR for each in found)

    def _run(self, table: Table, verb: Verb, text: Composed, values: StoredRow) -> int:
        return self.run_row(self.state, Change(verb, text, table), text, values).lastrowid or 0

    def _copied(self, violations: Table, rowid: int) -> int:
        """The rowid of a copy of the row in the violations table."""
        names = identifiers([column.name for column in self.change.table.columns])
        source = self.change.table.source
        copy = f"INSERT INTO {violations.source} ({names}) SELECT {names} FROM {source} WHERE rowid = {rowid}"
        return self._run(violations, Verb.INSERT, Composed(Text((copy,))), ())

    def _new(self, violations: Table, kind: TriggerEvent, values: StoredRow, rowid: int) -> int:
        """The rowid of the new row in the violations table."""
        text = self.filtering.new
        assert text is not None
        if kind is TriggerEvent.INSERT or self.is_merge:
            return self._run(violations, Verb.INSERT, text, values)
        copy = self._copied(violations, rowid)
        self._run(violations, Verb.UPDATE, text, (*values[:-1], copy))
        return copy

    def _number(self, violations: Table) -> int:
        """The next number of informix_tupleid."""
        current = self.state.current
        serials = current.database.serials
        serials.prime(current.connection, violations)
        return serials.next_value(violations, violations.columns[-3].name, 0)

    def _mark(self, violations: Table, rowid: int, number: int, kind: str) -> None:
        names = [identifier(column.name) for column in violations.columns[-3:]]
        marks = listed(sql("{} = {}", name, Parameter(n)) for n, name in enumerate(names, start=1))
        update = Composed(sql("UPDATE {} SET {} WHERE rowid = {}", violations.source, marks, rowid))
        self._run(violations, Verb.UPDATE, update, (number, kind, self.state.settings.user))

    def file_existing(self, items: Sequence[Constraint | Index]) -> bool:
        """File the rows that the table has and that violate objects which are to be enabled; whether there are any."""
        violations, diagnostics = self.filtering.violations, self.filtering.diagnostics
        assert violations is not None and diagnostics is not None
        connection, table = self.state.current.connection, self.change.table
        found: dict[int, list[_Violation]] = {}
        for item in items:
            if isinstance(item, Index):
                condition, error = self._duplicate(item, "n.rowid"), SqlError(VIOLATED)
            else:
                condition, error = self._of_constraint(item, "n.rowid")
            for (rowid,) in connection.execute(f"SELECT rowid FROM {table.source} AS n WHERE {condition}"):
                found.setdefault(rowid, []).append(_Violation(item, error))
        for rowid, each in sorted(found.items()):
            self.state.interrupts.check()
            self._record(violations, diagnostics, each, {self._copied(violations, rowid): "S"})
        return bool(found)

    # -- what is violated ----------------------------------------------------------------------------------------------

    def _violated(self, violations: Table, new: int | None, rowid: int) -> Iterator[_Violation]:
        """What a row violates.

        Args:
            violations: the table that has the new row.
            new: the rowid of the new row in it; None for DELETE.
            rowid: of the row that is updated or deleted.
        """
        row = f"{self.change.table.source} AS n WHERE n.rowid = {rowid}"
        if new is not None:
            row = f"{violations.source} AS n WHERE n.rowid = {new}"
        for item, condition, error in self._conditions(new, rowid):
            if self.state.current.connection.execute(f"SELECT 1 FROM {row} AND ({condition})").fetchone():
                yield _Violation(item, error)

    def _conditions(self, new: int | None, rowid: int) -> Iterator[_Condition]:
        """For each object the condition that row ``n`` violates it; arguments as `_violated`."""
        table = self.change.table
        if new is not None:
            for constraint in table.constraints:
                if not constraint.is_disabled:
                    yield constraint, *self._of_constraint(constraint, rowid)
            for index in table.indexes:
                if index.is_unique and not index.is_disabled and table.key_of_index(index.name) is None:
                    sqlcode = -346 if self.change.verb is Verb.UPDATE else -239
                    yield index, self._duplicate(index, rowid), SqlError(sqlcode, DUPLICATE, index.name)
        for reference in self._references():
            if new is not None or not reference.constraint.cascades:
                error = SqlError(-692, token=reference.constraint.full_name)
                yield reference.constraint, self._referred_to(reference, new, rowid), error

    def _of_constraint(self, constraint: Constraint, rowid: int | str) -> tuple[str, SqlError]:
        table, name = self.change.table, constraint.full_name
        is_null = " OR ".join(f"n.{identifier(column)} IS NULL" for column in constraint.columns)
        match constraint.kind:
            case ConstraintKind.NOT_NULL:
                return is_null, SqlError(-391, token=table.path_of(constraint.columns[0]))
            case ConstraintKind.CHECK:
                return f"NOT {filled(constraint.check_sql, 'n')}", SqlError(-530, token=name)
            case ConstraintKind.REFERENCES:
                return self._without_parent(constraint, rowid), SqlError(-691, NO_RECORD, name)
            case ConstraintKind.PRIMARY | ConstraintKind.UNIQUE:
                index = table.index_of(constraint)
                assert index is not None
                condition, error = self._duplicate(index, rowid), SqlError(-268, DUPLICATE, name)
                if constraint.kind is ConstraintKind.PRIMARY:
                    condition = f"{is_null} OR {condition}"
                return condition, error

    def _duplicate(self, index: Index, rowid: int | str) -> str:
        pairs = (
            tuple(
                f"{row}.{identifier(part.column)}" if part.column else filled(part.sql, row) for row in "on"
            )
            for part in index.parts
        )
        same = " AND ".join(f"{mine} IS {other}" for mine, other in pairs)
        return f"EXISTS (SELECT 1 FROM {self.change.table.source} AS o WHERE o.rowid <> {rowid} AND {same})"

    def _without_parent(self, key: Constraint, rowid: int | str) -> str:
        table, schema = self.change.table, self.state.planner.schema(self.state.current)
        parent = table if key.parent == table.tabid else schema.table_of(key.parent)
        assert parent is not None
        if parent is not table:
            return without_parent(key, parent, "n")
        # The row may refer to its own new key, and not to its old one.
        to_itself = " AND ".join(f"n.{other} = n.{mine}" for mine, other in column_pairs(key))
        return f"{without_parent(key, parent, 'n', f' AND p.rowid <> {rowid}')} AND NOT ({to_itself})"

    def _referred_to(self, reference: Reference, new: int | None, rowid: int) -> str:
        """The condition that a row of another table, or another row, refers to the old row, whose key is gone."""
        key, child, table = reference.constraint, reference.child, self.change.table
        pairs = column_pairs(key)
        equal = " AND ".join(f"c.{mine} = o.{other}" for mine, other in pairs)
        is_other = " AND c.rowid <> o.rowid" if child.tabid == table.tabid else ""
        rows = f"{child.source} AS c, {table.source} AS o WHERE o.rowid = {rowid} AND {equal}{is_other}"
        kept = " AND ".join(f"n.{other} = o.{other}" for _, other in pairs)
        changes = "" if new is None else f" AND NOT ({kept})"
        return f"EXISTS (SELECT 1 FROM {rows}{changes})"
