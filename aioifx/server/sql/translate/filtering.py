"""Changes of tables with objects in FILTERING mode -> how their rows are filed. Never: which row violates what.

Source: documented: SET Database Object Mode statement, "Filtering Modes"; START VIOLATIONS TABLE statement; -973
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import ByRow, Change, Filtering, Verb
from aioifx.server.sql.model.schema import Constraint, Index, Schema, Table
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.sqlite.tree import Call, Node, transformed
from aioifx.server.sql.translate.scopes import Context

_FROM_VIOLATIONS: Final = -973

Written = Callable[[str], Node]
"""The statement of one row for a table that SQLite's text names; None for DELETE."""


def accepting_nulls(composed: Composed) -> Composed:
    """A change without the checks of NOT NULL."""
    return Composed(_accepting_nulls(composed.tree))


def _accepting_nulls(tree: Node) -> Node:
    return transformed(tree, _with_null)


def _with_null(node: Node) -> Node | None:
    if not isinstance(node, Call) or node.name != "ifx_required":
        return None
    return Call("ifx_nullable", tuple(_accepting_nulls(each) for each in node.arguments))


def is_filtered(table: Table, verb: Verb, schema: Schema) -> bool:
    """Whether an object of the table, or a foreign key that refers to it, is in FILTERING mode."""
    if table.is_temp:
        return False
    own: list[Constraint | Index] = [*table.constraints, *table.indexes]
    if verb is not Verb.DELETE and any(each.filtering for each in own):
        return True
    # MERGE is an INSERT as well.
    return any(each.constraint.filtering for each in schema.references_to(table.tabid))


def tables_of(table: Table, schema: Schema) -> Filtering:
    """The violations and diagnostics tables of a table."""
    violations, diagnostics = map(schema.table_of, (table.violations or (0, 0))[:2])
    return Filtering(violations, diagnostics)


def is_violations_table(table: Table, context: Context) -> bool:
    """Whether it is the violations or diagnostics table of another."""
    pairs = (each.violations for each in context.schema.all_tables if each.violations is not None)
    return not table.is_temp and any(table.tabid in pair[:2] for pair in pairs)


def require_no_violations_table(table: Table, offset: int, context: Context) -> None:
    """Refuse columns, constraints, triggers and unique indexes in FILTERING mode of such a table.

    Raises:
        SqlError: -897 (assumed: also for triggers and indexes).
    """
    if is_violations_table(table, context):
        raise SqlError(-897, token=table.name, offset=offset)


def filtering(change: Change, by_row: ByRow, written: Written | None, context: Context) -> Change:
    """The change, which is run row by row and files rows.

    Raises:
        SqlError: -973, it inserts rows of the violations table.
    """
    filed = tables_of(change.table, context.schema)
    violations = filed.violations
    reads = {each.tabid for each in context.locked_tables}
    if change.verb is Verb.INSERT and violations is not None and violations.tabid in reads:
        raise SqlError(_FROM_VIOLATIONS)
    if written is not None and violations is not None:
        filed = replace(filed, new=Composed(_accepting_nulls(written(violations.source))))
    search = None if by_row.search is None else accepting_nulls(by_row.search)
    return replace(change, by_row=replace(by_row, search=search, filtering=filed))
