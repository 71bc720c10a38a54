"""INSERT, UPDATE and DELETE on views with INSTEAD OF triggers -> Plans. Never: the triggers' actions.

Source: documented (Guide to SQL: Syntax, CREATE TRIGGER, "INSTEAD OF Triggers on Views"): the actions run for each row,
instead of the statement. assumed: a column that an INSERT does not name is NULL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import ByRow, Change, Event, Plan, Verb
from aioifx.server.sql.model.schema import ColumnDef, Table, TableKind, TriggerEvent
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.sqlite.tree import EMPTY, NULL, Node, Piece, listed, query_sql, sql, unquoted
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.dml import assigned_value, dml_plan, targets_of
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.scopes import Context, Scope, Source
from aioifx.server.sql.translate.select import Place, QueryTranslator
from aioifx.server.sql.translate.select_plan import finished
from aioifx.server.sql.translate.typed import Typed, assigned
from aioifx.server.sql.translate.views import table_target
from aioifx.sqltypes import Column
from aioifx.wire.opcodes import StatementType

_Statement: TypeAlias = nodes.Insert | nodes.Update | nodes.Delete


def change_plan(statement: _Statement | nodes.Truncate, context: Context) -> Plan:
    """The plan of a DML statement on a table or view."""
    if isinstance(statement, nodes.Truncate):
        return dml_plan(statement, context)
    name = statement.table.table if isinstance(statement.table, nodes.TableRef) else statement.table
    table = context.table(name)
    event = _EVENTS[type(statement)]
    has_trigger = any(each.is_fired_by(event, ()) for each in table.triggers)
    if table.kind is not TableKind.VIEW or not has_trigger:
        return dml_plan(statement, context)
    match statement:
        case nodes.Insert():
            return _inserting(statement, table, context)
        case nodes.Update():
            return _updating(statement, table, context)
        case nodes.Delete():
            rows = _rows(statement, table, {}, context)
            type_ = StatementType.DELETE if statement.where is not None else StatementType.DELETE_ALL
            return finished(type_, _change(Verb.DELETE, TriggerEvent.DELETE, table, rows), statement, context)


_EVENTS: Final[dict[type[nodes.Node], TriggerEvent]] = {
    nodes.Insert: TriggerEvent.INSERT,
    nodes.Update: TriggerEvent.UPDATE,
    nodes.Delete: TriggerEvent.DELETE,
}


def _change(
    verb: Verb, event: TriggerEvent, view: Table, rows: Node, columns: Sequence[ColumnDef] = ()
) -> Change:
    names = tuple(column.name for column in columns)
    nothing = Composed(EMPTY)
    by_row = ByRow(Composed(rows), nothing, is_instead=True)
    return Change(verb, nothing, view, update_columns=names, events=(Event(event, names),), by_row=by_row)


def _described(columns: Iterable[ColumnDef]) -> tuple[Column, ...]:
    return tuple(Column(column.name, column.type, column.is_nullable) for column in columns)


def _inserting(node: nodes.Insert, view: Table, context: Context) -> Plan:
    targets = targets_of(table_target(view, Source(view.name, "", ())), node.columns, node.offset)
    queries = QueryTranslator(context)
    rows: Piece = ""
    if node.values is not None:
        translator = Expressions(context, Scope(), queries, sequences=0)
        values = [assigned_value(translator, *pair) for pair in zip(targets, node.values, strict=False)]
        count = len(node.values)
    else:
        assert node.query is not None
        relation = queries.query(node.query, None, Place.INSERT)
        alias, count = context.alias(), len(relation.outputs)
        values = [
            Typed(unquoted(alias, number), out.type) for number, out in enumerate(relation.outputs, start=1)
        ]
        rows = sql(" FROM ({}) AS {}", relation.query(), alias)
    if count != len(targets):
        raise SqlError(-236)
    made = {column.name: assigned(value, column.type) for column, value in zip(targets, values, strict=True)}
    new = [made.get(column.name, NULL) for column in view.columns]
    search = query_sql("SELECT {}{}", listed([*[NULL] * len(new), *new]), rows)
    change = _change(Verb.INSERT, TriggerEvent.INSERT, view, search, targets)
    return finished(StatementType.INSERT, change, node, context, _described(targets))


def _updating(node: nodes.Update, view: Table, context: Context) -> Plan:
    new: dict[str, nodes.Expression] = {}
    for assignment in node.assignments:
        names = assignment.columns or tuple(nodes.Name(node.offset, each.name) for each in view.columns)
        if len(names) != len(assignment.values):
            raise SqlError(-505)
        for name, value in zip(names, assignment.values, strict=True):
            column = view.column(name.text)
            if column is None:
                raise SqlError(-217, token=name.text, offset=name.offset)
            is_parameter = isinstance(value, nodes.Parameter)
            new[name.text] = nodes.Cast(value.offset, value, column.type) if is_parameter else value
    columns = [column for column in view.columns if column.name in new]
    rows = _rows(node, view, new, context)
    type_ = StatementType.UPDATE if node.where is not None else StatementType.UPDATE_ALL
    change = _change(Verb.UPDATE, TriggerEvent.UPDATE, view, rows, columns)
    return finished(type_, change, node, context, _described(columns))


def _rows(
    node: nodes.Update | nodes.Delete, view: Table, new: dict[str, nodes.Expression], context: Context
) -> Node:
    """The SELECT of the old values of the rows and, for UPDATE, of the new ones.

    Raises:
        SqlError: -999, WHERE CURRENT OF.
    """
    if isinstance(node.where, nodes.CurrentOf):
        raise SqlError(-999, token="CURRENT OF", offset=node.where.offset)
    label = nodes.QualifiedName(
        node.offset, node.table.alias.text if node.table.alias else node.table.table.name
    )
    old = [nodes.Column(node.offset, column.name, label) for column in view.columns]
    values = [new.get(column.name, each) for column, each in zip(view.columns, old, strict=True)]
    items = [*old, *values] if isinstance(node, nodes.Update) else old
    select = nodes.Select(
        node.offset,
        tuple(nodes.SelectItem(node.offset, each, None) for each in items),
        (node.table,),
        node.where,
    )
    relation = QueryTranslator(context).query(nodes.Query(node.offset, select), None, Place.STATEMENT)
    alias = context.alias()
    made = [
        assigned(Typed(unquoted(alias, number), output.type), column.type)
        for number, (output, column) in enumerate(
            zip(relation.outputs, view.columns * 2, strict=False), start=1
        )
    ]
    nulls = [NULL] * (2 * len(old) - len(items))
    return query_sql("SELECT {} FROM ({}) AS {}", listed([*made, *nulls]), relation.query(), alias)
