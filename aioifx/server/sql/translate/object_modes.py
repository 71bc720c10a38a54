"""SET CONSTRAINTS, INDEXES, TRIGGERS and a mode -> a Plan. Never: deferred constraints, new objects, filtered rows.

Invariants:
1. An implicit index has the mode of its constraint: it is disabled with the last enabled constraint that uses it.
2. A constraint that is enabled has an enabled index and, if it is a foreign key, an enabled key to refer to.
3. A check of the rows is a query whose first row fails with ``ifx_raise``.

Source: documented: SET Database Object Mode statement; sysobjstate; -891, -892, -893, -894
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Definition, Plan, PutTable, Step, Verified
from aioifx.server.sql.model.schema import (
    ColumnDef,
    Constraint,
    ConstraintKind,
    Index,
    Table,
    TableKind,
    Trigger,
)
from aioifx.server.sql.sqlite.render import filled, identifier, string
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.filtering import require_no_violations_table, tables_of
from aioifx.server.sql.translate.scopes import MAIN, Context
from aioifx.server.sql.translate.sqlite_ddl import (
    check_steps,
    drop_check_steps,
    drop_index_steps,
    index_steps,
    redeclaration_steps,
)
from aioifx.wire.opcodes import StatementType

TOO_MANY_DUPLICATES: Final = (-371, -100, "")
"""SQLCODE, ISAM code and token of a unique index over rows with equal keys (documented)."""

FILTERING_OF_DUPLICATES: Final = "FILTERING of an index that allows duplicates"
"""What -999 refuses: such an index has no such mode (documented), and the SQLCODE is not known."""

_ORPHAN: Final = -525
"""Existing rows violate a referential constraint that is added or enabled (documented)."""


def null_check(table: Table, column: ColumnDef) -> Step:
    """A step that fails with -391 if the column contains NULL."""
    return _refusing(table, f"NEW.{identifier(column.name)} IS NULL", -391, table.path_of(column.name))


def condition_check(table: Table, constraint: Constraint) -> Step:
    """A step that fails with -530 if a row violates the CHECK constraint."""
    return _refusing(table, f"NOT {filled(constraint.check_sql, 'NEW')}", -530, constraint.full_name)


def parent_check(child: Table, key: Constraint, parent: Table) -> Step:
    """A step that fails with -525 if a row of *child* has no parent."""
    return _refusing(child, without_parent(key, parent, "NEW"), _ORPHAN, key.full_name)


def without_parent(key: Constraint, parent: Table, row: str, excluded: str = "") -> str:
    """The condition that *row* has no parent.

    Args:
        excluded: a further condition of the parent's row ``p``, beginning with AND.
    """
    pairs = column_pairs(key)
    present = " AND ".join(f"{row}.{mine} IS NOT NULL" for mine, _ in pairs)
    equal = " AND ".join(f"p.{theirs} = {row}.{mine}" for mine, theirs in pairs)
    return f"{present} AND NOT EXISTS (SELECT 1 FROM {parent.source} AS p WHERE {equal}{excluded})"


def column_pairs(key: Constraint) -> list[tuple[str, str]]:
    """The columns of a foreign key and those of its parent, as SQLite's identifiers."""
    pairs = zip(key.columns, key.parent_columns, strict=True)
    return [(identifier(mine), identifier(theirs)) for mine, theirs in pairs]


def _refusing(table: Table, condition: str, sqlcode: int, token: str) -> Step:
    """A step that fails if a row satisfies the condition, which calls the row NEW."""
    refusal = f"SELECT ifx_raise({sqlcode}, {string(token)}) FROM {table.source} AS NEW WHERE {condition}"
    return Step(refusal, visits_rows=True)


def activation_steps(
    table: Table, constraint: Constraint, parents: Callable[[int], Table | None], *, validates: bool = True
) -> Iterator[Step]:
    """Enforce a CHECK or a foreign key that *table* has now; with *validates*, its rows are checked first."""
    if constraint.is_disabled:
        return
    if constraint.kind is ConstraintKind.CHECK:
        if validates:
            yield condition_check(table, constraint)
        yield from check_steps(table, constraint)
    if constraint.kind is ConstraintKind.REFERENCES:
        parent = table if constraint.parent == table.tabid else parents(constraint.parent)
        if validates and parent is not None:
            yield parent_check(table, constraint, parent)
        yield from redeclaration_steps(table, parents)


def loosened(table: Table, constraint: Constraint) -> Table:
    """A table whose columns may be NULL if only a constraint prevented it, which is dropped or disabled now."""
    if constraint.kind not in (ConstraintKind.PRIMARY, ConstraintKind.NOT_NULL):
        return table
    key = table.primary_key
    columns: list[ColumnDef] = []
    for column in table.columns:
        if column.name in constraint.columns and not column.is_serial:
            declared = column.is_declared_not_null and constraint.kind is not ConstraintKind.NOT_NULL
            is_key = key is not None and not key.is_disabled and column.name in key.columns
            column = replace(column, is_nullable=not (declared or is_key), is_declared_not_null=declared)
        columns.append(column)
    return replace(table, columns=tuple(columns))


def nullability_steps(before: Table, after: Table) -> Iterator[Step]:
    """Create the unique indexes again that have columns which may be NULL now, and could not before, or vice versa."""
    changed = {
        column.name
        for column in after.columns
        if (old := before.column(column.name)) is not None and old.is_nullable != column.is_nullable
    }
    for index in after.indexes:
        if index.is_unique and not changed.isdisjoint(index.columns):
            yield from drop_index_steps(before, index)
            yield from index_steps(after, index, TOO_MANY_DUPLICATES)


_NOT_NULL: Final = frozenset({ConstraintKind.PRIMARY, ConstraintKind.NOT_NULL})
_CHECKED: Final = frozenset({ConstraintKind.CHECK, ConstraintKind.REFERENCES})
"""Those that NOVALIDATE enables without a check of the rows."""
_KEYS: Final = frozenset({ConstraintKind.PRIMARY, ConstraintKind.UNIQUE})


def mode_plan(node: nodes.SetObjectMode, context: Context) -> Plan:
    """The plan of a SET of the mode of objects.

    Raises:
        SqlError: -349, no database is open; -206, no such table; -894, no such object. -891, its table is temporary.
            -892 and -893, it depends on other objects, or they on it. -897, it is a unique index of a violations table.
    """
    if not context.schema.database:
        raise SqlError(-349)
    change = _ModeChange(
        context, node.is_disabled, node.filtering, node.table is None, not node.is_not_validated
    )
    if node.table is not None:
        table = context.table(node.table)
        if table.kind is not TableKind.VIEW or table.is_system or node.kinds != ("triggers",):
            table = definable(node.table, context)
        change.require_permanent(table, node.table.offset)
        constraints = [(table, each.name) for each in table.constraints]
        indexes = [(table, each.name) for each in table.indexes]
        triggers = [(table, each.name) for each in table.triggers]
    else:
        triggers = _found(context, node, "triggers")
        constraints = _found(context, node, "constraints")
        indexes = _found(context, node, "indexes")
    change.apply(
        constraints if "constraints" in node.kinds else (), indexes if "indexes" in node.kinds else ()
    )
    for changed, name in triggers if "triggers" in node.kinds else ():
        change.set_trigger(changed.tabid, name)
    changes = tuple(PutTable(table) for table in change.tables.values())
    verified = tuple(change.verified())
    return Plan(StatementType.SET_OBJECT_MODE, Definition(tuple(change.steps), changes, verified=verified))


def _found(context: Context, node: nodes.SetObjectMode, kind: nodes.ObjectKind) -> list[tuple[Table, str]]:
    """The objects of one kind that the statement names, with their tables.

    Raises:
        SqlError: -894 (assumed: for each kind).
    """
    schema = context.schema
    find: Callable[[str], tuple[Table, Constraint | Index | Trigger] | None] = {
        "constraints": schema.constraint,
        "indexes": schema.index,
        "triggers": schema.trigger,
    }[kind]
    found: list[tuple[Table, str]] = []
    for name in node.names if kind in node.kinds else ():
        known = find(name.name)
        if known is None or name.owner not in ("", known[1].owner):
            raise SqlError(-894, token=name.name, offset=name.offset)
        found.append((known[0], known[1].name))
    return found


@dataclass(slots=True)
class _ModeChange:
    context: Context
    is_disabled: bool
    filtering: str
    is_named: bool
    """Whether the objects are named, not all of a table."""
    validates: bool
    tables: dict[int, Table] = field(default_factory=dict[int, Table])
    """The changed tables, by tabid."""
    steps: list[Step] = field(default_factory=list[Step])
    enabled: dict[int, list[Constraint | Index]] = field(default_factory=dict[int, list[Constraint | Index]])
    """What rows must not violate, by tabid."""

    def verified(self) -> Iterator[Verified]:
        """What is enabled on tables that have violations tables."""
        for tabid, items in self.enabled.items():
            table = self.context.schema.table_of(tabid)
            if table is not None and table.violations is not None:
                yield Verified(table, tuple(items), tables_of(table, self.context.schema))

    def require_permanent(self, table: Table, offset: int = 0) -> None:
        if table.is_temp and (self.is_disabled or self.filtering):
            raise SqlError(-891, offset=offset)

    def apply(self, constraints: Iterable[tuple[Table, str]], indexes: Iterable[tuple[Table, str]]) -> None:
        """Disable foreign keys, other constraints and indexes in this order; enable them in the reverse order."""
        keys_first = sorted(constraints, key=lambda each: _is_foreign_key(*each), reverse=self.is_disabled)
        if not self.is_disabled:
            self._set_indexes(indexes)
        for table, name in keys_first:
            self.require_permanent(table)
            self._set_constraint(table.tabid, name)
        if self.is_disabled:
            self._set_indexes(indexes)

    def _table(self, tabid: int) -> Table | None:
        return self.tables.get(tabid) or self.context.schema.table_of(tabid)

    def set_trigger(self, tabid: int, name: str) -> None:
        table = self._table(tabid)
        assert table is not None
        triggers = tuple(
            replace(each, is_disabled=self.is_disabled) if each.name == name else each
            for each in table.triggers
        )
        self.tables[tabid] = replace(table, triggers=triggers)

    # --- Constraints --------------------------------------------------------------------------------------------------

    def _set_constraint(self, tabid: int, name: str) -> None:
        table = self._table(tabid)
        constraint = next((c for c in table.constraints if c.name == name), None) if table else None
        if table is None or constraint is None:
            return  # a temporary table, whose constraints are enabled
        if constraint.is_disabled != self.is_disabled:
            (self._disable if self.is_disabled else self._enable)(table, constraint)
        if constraint.filtering != self.filtering:
            mode = replace(constraint, is_disabled=self.is_disabled, filtering=self.filtering)
            self.tables[tabid] = _with_constraint(self.tables.get(tabid, table), mode)

    def _disable(self, table: Table, constraint: Constraint) -> None:
        if constraint.kind in _KEYS and any(
            key.parent_constrid == constraint.constrid and not key.is_disabled
            for reference in self.context.schema.references_to(table.tabid)
            for key in (self._table(reference.child.tabid) or reference.child).foreign_keys
        ):
            raise SqlError(-892, token=constraint.name)
        after = loosened(_with_constraint(table, replace(constraint, is_disabled=True)), constraint)
        self.tables[table.tabid] = after
        if constraint.kind is ConstraintKind.CHECK:
            self.steps += drop_check_steps(table, constraint)
        if constraint.kind is ConstraintKind.REFERENCES:
            self.steps += redeclaration_steps(after, self._table)
        index = after.index_of(constraint)
        if index is not None and index.is_implicit and not _is_used(after, index):
            self._set_index(after, index)
        self.steps += nullability_steps(table, self.tables[table.tabid])

    def _enable(self, table: Table, constraint: Constraint) -> None:
        parent = self._table(constraint.parent) if constraint.kind is ConstraintKind.REFERENCES else None
        if parent and any(
            c.constrid == constraint.parent_constrid and c.is_disabled for c in parent.constraints
        ):
            raise SqlError(-893, token=constraint.name)
        index = table.index_of(constraint)
        if index is not None and index.is_disabled:
            self._set_index(table, index)
            table = self.tables[table.tabid]
        enabled = replace(constraint, is_disabled=False)
        after = _with_constraint(table, enabled)
        if constraint.kind in _NOT_NULL:
            after = self._required(after, constraint)
        self.tables[table.tabid] = after
        if self.validates or constraint.kind not in _CHECKED:
            self.enabled.setdefault(table.tabid, []).append(enabled)
        self.steps += nullability_steps(table, after)
        self.steps += activation_steps(after, enabled, self._table, validates=self.validates)

    def _required(self, table: Table, constraint: Constraint) -> Table:
        """A table whose columns in a primary key or NOT NULL are not nullable."""
        declared = constraint.kind is ConstraintKind.NOT_NULL
        columns = [
            replace(column, is_nullable=False, is_declared_not_null=declared or column.is_declared_not_null)
            if column.name in constraint.columns
            else column
            for column in table.columns
        ]
        self.steps += [
            null_check(table, column) for column in table.columns if column.name in constraint.columns
        ]
        return replace(table, columns=tuple(columns))

    # --- Indexes ------------------------------------------------------------------------------------------------------

    def _set_indexes(self, indexes: Iterable[tuple[Table, str]]) -> None:
        for table, name in indexes:
            self.require_permanent(table)
            current = self._table(table.tabid)
            index = next((i for i in current.indexes if i.name == name), None) if current else None
            if current is None or index is None:
                continue
            if self.is_disabled and not index.is_disabled and _is_used(current, index):
                raise SqlError(-892, token=index.name)
            if self.filtering and not index.is_unique and self.is_named:
                raise SqlError(-999, token=FILTERING_OF_DUPLICATES)
            filtering = self.filtering if index.is_unique and not index.is_implicit else ""
            if filtering:
                require_no_violations_table(current, 0, self.context)
            if (index.is_disabled, index.filtering) != (self.is_disabled, filtering):
                self._set_index(current, index, filtering)

    def _set_index(self, table: Table, index: Index, filtering: str = "") -> None:
        changed = replace(index, is_disabled=self.is_disabled, filtering=filtering)
        indexes = tuple(changed if each.name == index.name else each for each in table.indexes)
        self.tables[table.tabid] = replace(table, indexes=indexes)
        if index.is_disabled == self.is_disabled:
            return
        if self.is_disabled:
            self.steps += drop_index_steps(table, index)
            return
        self.steps += index_steps(table, changed, TOO_MANY_DUPLICATES)
        if index.is_unique and not index.is_implicit:
            self.enabled.setdefault(table.tabid, []).append(changed)


def _is_foreign_key(table: Table, name: str) -> bool:
    return any(key.name == name for key in table.foreign_keys)


def _is_used(table: Table, index: Index) -> bool:
    """Whether an enabled constraint uses an index."""
    return any(each.index == index.name and not each.is_disabled for each in table.constraints)


def _with_constraint(table: Table, changed: Constraint) -> Table:
    constraints = tuple(changed if each.constrid == changed.constrid else each for each in table.constraints)
    return replace(table, constraints=constraints)


def definable(name: nodes.QualifiedName, context: Context) -> Table:
    """The table of a name, if its definition may be changed.

    Raises:
        SqlError: -511 a catalog table, -206 a view, -999 an external table or a table of another database.
    """
    table = context.table(name)
    if table.external is not None:
        raise SqlError(-999, token="a change of an external table", offset=name.offset)
    if table.is_system or table.generated:
        raise SqlError(-511, token=table.name, offset=name.offset)
    if table.kind is not TableKind.TABLE:
        raise SqlError(-206, -111, token=table.name, offset=name.offset)
    if table.catalog not in MAIN:
        raise SqlError(-999, token=str(name), offset=name.offset)
    return table
