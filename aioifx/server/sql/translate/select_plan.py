"""SELECT as a statement -> a Plan: plain, FOR UPDATE, INTO TEMP. Never: how a query is translated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aioifx.server.sql.builtin_types import BYTE, TEXT
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import (
    Action,
    Change,
    Definition,
    FilledTable,
    Plan,
    PutTable,
    Query,
    Step,
    Verb,
)
from aioifx.server.sql.model.schema import ColumnDef, Table, require_row
from aioifx.server.sql.sqlite import tree
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.relations import Block, Relation, keeping
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.select import Place, QueryTranslator
from aioifx.server.sql.translate.select_triggers import selection
from aioifx.server.sql.translate.sqlite_ddl import column_text, reference_steps, undo_of
from aioifx.sqltypes import Column
from aioifx.wire.opcodes import StatementType


def finished(
    type_: StatementType,
    action: Action,
    statement: nodes.Node,
    context: Context,
    columns: tuple[Column, ...] = (),
) -> Plan:
    """A plan with the results collected in the context."""
    return Plan(
        type_,
        action,
        columns,
        context.gathered_parameters(statement),
        tuple(context.attach.items()),
        frozenset(context.refresh),
    )


def query_plan(query: nodes.Query, context: Context) -> Plan:
    """A SELECT."""
    relation = QueryTranslator(context).query(query, None, Place.STATEMENT)
    fires = selection(query, context)
    if query.into_temp is not None:
        return _into_temp(query, query.into_temp, relation, context)
    described = relation.described()
    keeps = any(column.type in (BYTE, TEXT) for column in described)
    if keeps:
        relation = keeping(relation, nodes.bound_count(query) + 1)
    action = Query(
        Composed(relation.query()),
        tuple(context.tables.values()),
        keeps=keeps,
        transfers=context.transfers,
        locked_tables=context.locked_tables,
        fires=fires,
    )
    action = _keyed(action, query, relation, nodes.bound_count(query) + keeps + 1)
    if query.for_update is not None:
        action = _for_update(action, query.for_update, relation)
    return finished(
        StatementType.SELECT,
        action,
        query,
        context,
        described,
    )


def _keyed(action: Query, query: nodes.Query, relation: Relation, parameter: int) -> Query:
    """The query with its texts that have rowids, if each of its rows is a row of one stored table and it has no order.

    Args:
        parameter: the number of the rowid in `Query.row_sql`.
    """
    body, rows = query.body, relation.rows
    is_simple = (
        isinstance(body, nodes.Select)
        and isinstance(rows, Block)
        and len(body.from_items) == 1
        and isinstance(body.from_items[0], nodes.TableRef)
        and len(rows.sources) == 1
        and rows.sources[0].table is not None
        and not (rows.is_grouped or rows.is_distinct or query.common_tables or query.order_by)
    )
    if not is_simple:
        return action
    assert isinstance(body, nodes.Select)
    assert isinstance(rows, Block)
    alias = rows.sources[0].alias
    keyed = rows.with_rowid(alias)
    conjunction = "AND" if body.where is not None else "WHERE"
    of_row = tree.Operation("=", tree.unquoted(alias, "rowid"), tree.Parameter(parameter))
    one = replace(keyed, tail=tree.sql("{} {} {}", keyed.tail, conjunction, of_row))
    return replace(
        action, keyed_sql=Composed(replace(relation, rows=keyed).query()), row_sql=Composed(one.query())
    )


def _for_update(action: Query, clause: nodes.ForUpdate, relation: Relation) -> Query:
    """Rows with their rowids.

    Raises:
        SqlError: -365, it is not over the rows of one stored table, or has an order (documented: DECLARE statement,
            "Subset of SELECT statements associated with cursors"; assumed: the code).
    """
    if action.keyed_sql is None:
        raise SqlError(-365, offset=clause.offset)
    assert isinstance(relation.rows, Block)
    (source,) = relation.rows.sources
    assert source.table is not None
    if source.table.is_system or source.table.generated:
        raise SqlError(-511, token=source.table.name, offset=clause.offset)
    for name in clause.columns:
        if source.table.column(name.text) is None:
            raise SqlError(-217, token=name.text, offset=name.offset)
    columns = tuple(name.text for name in clause.columns)
    return replace(action, sql=action.keyed_sql, for_update=True, update_columns=columns, has_rowid=True)


def _into_temp(query: nodes.Query, clause: nodes.IntoTemp, relation: Relation, context: Context) -> Plan:
    """A temporary table with the columns of the query, and its rows in it.

    Raises:
        SqlError: -958 the table exists; -528, its rows are too long; others of `result_columns`.
    """
    schema = context.schema
    existing = schema.table(clause.table.text)
    if existing is not None and existing.is_temp:
        raise SqlError(-958, token=clause.table.text, offset=clause.table.offset)
    columns = result_columns(relation, query)
    require_row(columns, clause.table.offset)
    table = Table(
        schema.next_temp_tabid,
        clause.table.text,
        context.settings.user,
        columns,
        is_temp=True,
        is_logged=not clause.no_log,
        catalog="temp",
    )
    declared = ", ".join(column_text(column) for column in columns)
    steps = (Step(f"CREATE TABLE {table.source} ({declared})", undo=undo_of(table)), *reference_steps(table))
    action = FilledTable(Definition(steps, (PutTable(table),)), filling(table, relation, context))
    return finished(StatementType.SELECT_INTO_TEMP, action, query, context)


def result_columns(relation: Relation, query: nodes.Query) -> tuple[ColumnDef, ...]:
    """The columns of a table that is made of a query's rows.

    Raises:
        SqlError: -249 an expression without a label, -328 a name twice.
    """
    columns: list[ColumnDef] = []
    for column in relation.described():
        if column.name.startswith("("):
            raise SqlError(-249, offset=query.offset)
        if any(each.name == column.name for each in columns):
            raise SqlError(-328, token=column.name, offset=query.offset)
        columns.append(ColumnDef(column.name, column.type, column.nullable))
    return tuple(columns)


def filling(table: Table, relation: Relation, context: Context) -> Change:
    """The INSERT of a query's rows into a new table with its columns."""
    names = tuple(column.name for column in table.columns)
    insert = tree.Insert(table.source, names, _as_source(relation, table.columns))
    search = Composed(relation.query())
    return Change(Verb.INSERT, Composed(insert), table, search=search, locked_tables=context.locked_tables)


def _as_source(relation: Relation, columns: Sequence[ColumnDef]) -> tree.Node:
    """A query after INSERT INTO; old SQLite does not accept a WITH clause there.

    A SERIAL column stays SERIAL, so its counter must include the existing numbers.
    """
    serials = [column.is_serial and not column.is_nullable for column in columns]
    if relation.common or any(serials):
        items = (
            tree.call("ifx_serial", column.name, tree.unquoted("", number))
            if is_serial
            else tree.unquoted("", number)
            for number, (column, is_serial) in enumerate(zip(columns, serials, strict=True), start=1)
        )
        return tree.query_sql("SELECT {} FROM ({})", tree.listed(items), relation.query())
    return relation.query()
