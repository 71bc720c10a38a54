"""The target of INSERT, UPDATE and DELETE: a table, or an updatable view of one. Never: views that are read.

Source: documented (SQL Syntax, CREATE VIEW, updating through views; Database Design, modifying data through a view):
one underlying table or such a view, neither grouped nor DISTINCT nor a UNION; no INSERT where a column is computed;
-234, -384 and -385. assumed: WITH CHECK OPTION on any other view is -384.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from aioifx.server.sql.errors import SqlError, placed_at
from aioifx.server.sql.frozen import Frozen
from aioifx.server.sql.model.schema import ColumnDef, Table, TableKind
from aioifx.server.sql.sqlite.tree import Case, Column, Node, call, logic, sql
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.conditions import Subqueries
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.grouping import has_aggregate
from aioifx.server.sql.translate.scopes import MAIN, Context, Scope, Source, SourceColumn, view_statement
from aioifx.server.sql.translate.sqlite_ddl import collated

_COMPUTED: int = -234
_NOT_SIMPLE: int = -384
_OUTSIDE_THE_VIEW: int = -385


class Target(Frozen):
    """The target of a statement that changes rows."""

    table: Table
    """The table whose rows change."""
    source: Source
    """The source that the statement's expressions refer to."""
    columns: Mapping[str, ColumnDef | None]
    """The table's columns by the names that the statement uses; None for a computed column."""
    filters: tuple[Node, ...] = ()
    """Conditions of the rows that the view contains."""
    checks: Callable[[Mapping[str, Node]], list[Node]] = lambda _: []
    """The conditions of WITH CHECK OPTION on a row with these new values, by the table's column names."""

    def column(self, name: nodes.Name) -> ColumnDef:
        """The column that gets a value.

        Raises:
            SqlError: -217 no such column, -234 it is computed.
        """
        if name.text not in self.columns:
            raise SqlError(-217, token=name.text, offset=name.offset)
        column = self.columns[name.text]
        if column is None:
            raise SqlError(_COMPUTED, token=name.text, offset=name.offset)
        return column

    def all_columns(self, offset: int) -> list[ColumnDef]:
        """The columns, when none is named.

        Raises:
            SqlError: -384, one is computed, so a whole row cannot be given.
        """
        columns = [column for column in self.columns.values() if column is not None]
        if len(columns) != len(self.columns):
            raise SqlError(_NOT_SIMPLE, offset=offset)
        return columns

    def shown(self, columns: Sequence[ColumnDef]) -> list[ColumnDef]:
        """These columns by the names that the statement uses."""
        names = {column.name: name for name, column in self.columns.items() if column is not None}
        return [replace(column, name=names[column.name]) for column in columns]


def table_target(table: Table, source: Source) -> Target:
    """A table that the statement names directly."""
    return Target(table, source, {column.name: column for column in table.columns})


def target_of(name: nodes.QualifiedName, label: str, context: Context, queries: Subqueries) -> Target:
    """The table of a name, or the underlying table of a view.

    Raises:
        SqlError: -511 a catalog table, -999 one of another database, -384 a view that is not simple.
    """
    table = context.table(name)
    if table.kind is not TableKind.VIEW or table.is_system:
        return table_target(require_writable(table, name), context.source(table, label))
    with placed_at(name.offset):
        level = _expanded(table, label, name, context, queries, context.source)
    alias = level.source.alias
    own: dict[Node, ColumnDef] = {Column(alias, column.name): column for column in level.table.columns}
    columns = {column.name: own.get(column.sql) for column in level.source.columns}

    def checks(new: Mapping[str, Node]) -> list[Node]:
        if not level.checks:
            return []

        def with_new_values(table: Table, label: str) -> Source:
            values = (_new_value(column, alias, new) for column in table.columns)
            return Source(label, alias, tuple(values), table, table.owner)

        return list(_expanded(table, label, name, context, queries, with_new_values).checks)

    return Target(level.table, level.source, columns, level.filters, checks)


def _new_value(column: ColumnDef, alias: str, new: Mapping[str, Node]) -> SourceColumn:
    value = new.get(column.name, Column(alias, column.name))
    in_parentheses = sql("({})", collated(sql("({})", value), column.type))
    return SourceColumn(column.name, in_parentheses, column.type, column.is_nullable)


def require_writable(table: Table, name: nodes.QualifiedName) -> Table:
    """The table, if its rows may be changed.

    Raises:
        SqlError: -511 a catalog table, -999 a view, an external table or a table of another database.
    """
    if table.external is not None:
        raise SqlError(-999, token="a change of an external table", offset=name.offset)
    if table.is_system or table.generated:
        raise SqlError(-511, token=table.name, offset=name.offset)
    if table.kind is TableKind.VIEW:
        raise SqlError(-999, token="VIEW", offset=name.offset)
    if table.catalog not in MAIN:
        raise SqlError(-999, token=str(name), offset=name.offset)
    return table


class _ViewLevel(Frozen):
    """A view, or one of its underlying views."""

    table: Table
    source: Source
    filters: tuple[Node, ...] = ()
    checks: tuple[Node, ...] = ()


def _expanded(
    view: Table,
    label: str,
    name: nodes.QualifiedName,
    context: Context,
    queries: Subqueries,
    source_of: Callable[[Table, str], Source],
) -> _ViewLevel:
    """A view down to its table, whose columns *source_of* gives."""
    statement = view_statement(view)
    reference = simple_reference(statement.query)
    if reference is None:
        raise SqlError(_NOT_SIMPLE, token=view.name, offset=name.offset)
    inner_label = reference.alias.text if reference.alias else reference.table.name
    beneath = context.table(reference.table)
    if beneath.kind is TableKind.VIEW and not beneath.is_system:
        with context.view_inside(name.offset):
            below = _expanded(beneath, inner_label, name, context, queries, source_of)
    else:
        below = _ViewLevel(require_writable(beneath, name), source_of(beneath, inner_label))
    assert isinstance(statement.query.body, nodes.Select)
    select, scope = statement.query.body, Scope([below.source])
    translator = Expressions(context, scope, queries)
    own = (translator.condition(select.where),) if select.where is not None else ()
    filters = (*below.filters, *own)
    columns: list[SourceColumn] = []
    for item in select.items:
        if isinstance(item.expression, nodes.Star):
            columns += scope.starred(item.expression)
        else:
            value = translator.typed(item.expression)
            columns.append(SourceColumn("", value.sql, value.known_type, value.is_nullable))
    named = (
        replace(column, name=declared.name) for declared, column in zip(view.columns, columns, strict=True)
    )
    source = Source(label, below.source.alias, tuple(named), below.source.table, view.owner)
    return _ViewLevel(below.table, source, filters, filters if statement.has_check_option else below.checks)


def require_simple(node: nodes.CreateView, context: Context) -> None:
    """Raise SqlError -384 if rows cannot be written through a new view, so WITH CHECK OPTION has no meaning."""
    reference = simple_reference(node.query)
    beneath = None if reference is None else context.table(reference.table)
    if beneath is not None and beneath.kind is TableKind.VIEW and not beneath.is_system:
        with context.view_inside(node.offset):
            require_simple(view_statement(beneath), context)
    elif beneath is None:
        raise SqlError(_NOT_SIMPLE, token=node.view.name, offset=node.offset)


def simple_reference(query: nodes.Query) -> nodes.TableRef | None:
    """The table that a view reads if rows can be written through it; None if they cannot."""
    select = query.body
    if not isinstance(select, nodes.Select) or query.common_tables or len(select.from_items) != 1:
        return None
    (reference,) = select.from_items
    is_grouped = select.is_distinct or select.group_by or select.having is not None or select.hierarchy
    if is_grouped or not isinstance(reference, nodes.TableRef):
        return None
    return None if any(has_aggregate(item) for item in select.items) else reference


def checked(value: Node, conditions: Sequence[Node]) -> Node:
    """The value if the conditions hold; it raises -385 if they do not."""
    if not conditions:
        return value
    return Case(((logic("AND", conditions), value),), call("ifx_raise", _OUTSIDE_THE_VIEW))
