"""Constraints that begin or cease to be enforced on a table with rows: checks, SQLite's DDL. Never: their definition.

A check of the rows is a query whose first row fails with ``ifx_raise``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from aioifx.server.sql.model.plan import Step
from aioifx.server.sql.model.schema import ColumnDef, Constraint, ConstraintKind, Table
from aioifx.server.sql.sqlite.render import filled, identifier, string
from aioifx.server.sql.translate.sqlite_ddl import (
    check_steps,
    drop_index_steps,
    index_steps,
    redeclaration_steps,
)

TOO_MANY_DUPLICATES: Final = (-371, -100, "")
"""SQLCODE, ISAM code and token of a unique index over rows with equal keys (documented)."""

_ORPHAN: Final = -525
"""Existing rows violate a referential constraint that is added or enabled (documented)."""


def null_check(table: Table, column: ColumnDef) -> Step:
    """A step that fails with -391 if the column contains NULL."""
    return _refusing(table, f"NEW.{identifier(column.name)} IS NULL", -391, column.name)


def condition_check(table: Table, constraint: Constraint) -> Step:
    """A step that fails with -530 if a row violates the CHECK constraint."""
    return _refusing(table, f"NOT {filled(constraint.check_sql, 'NEW')}", -530, constraint.full_name)


def parent_check(child: Table, key: Constraint, parent: Table) -> Step:
    """A step that fails with -525 if a row of *child* has no parent."""
    pairs = list(zip(key.columns, key.parent_columns, strict=True))
    present = " AND ".join(f"NEW.{identifier(mine)} IS NOT NULL" for mine, _ in pairs)
    equal = " AND ".join(f"p.{identifier(theirs)} = NEW.{identifier(mine)}" for mine, theirs in pairs)
    orphaned = f"{present} AND NOT EXISTS (SELECT 1 FROM {parent.source} AS p WHERE {equal})"
    return _refusing(child, orphaned, _ORPHAN, key.full_name)


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
