"""CREATE EXTERNAL TABLE, and INSERT INTO one -> Plans. Never: the files.

A query reads an external table as one that the engine fills before it runs. INSERT .. SELECT writes the files anew.

Source: documented: CREATE EXTERNAL TABLE statement. assumed: INSERT replaces the file
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan
from aioifx.server.sql.model.plan import Definition, Plan, PutTable, RemoveTable
from aioifx.server.sql.model.schema import ColumnDef, Table, TableKind
from aioifx.server.sql.model.type_rules import Family, family_of
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.sqlite.tree import NULL, Node, listed, query_sql, unquoted
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.constraints import check_columns, column_of
from aioifx.server.sql.translate.dml import left_out, stored
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.select import Place, QueryTranslator
from aioifx.server.sql.translate.select_plan import finished
from aioifx.server.sql.translate.typed import Typed
from aioifx.sqltypes import Column
from aioifx.wire.opcodes import StatementType

_UNFIT: Final = frozenset(
    {Family.SIMPLE_LARGE, Family.SMART_LARGE, Family.ROW, Family.COLLECTION, Family.DOCUMENT, Family.OTHER}
)


def create_external_table(node: nodes.CreateExternalTable, context: Context, owner: str) -> Plan:
    """CREATE EXTERNAL TABLE.

    Raises:
        SqlError: -999, a column has a type that is not supported in files; as CREATE TABLE.
    """
    if node.same_as is not None:
        columns = context.table(node.same_as).columns
    else:
        columns = tuple(column_of(column, context) for column in node.columns)
    check_columns(columns, node.offset)
    for column in columns:
        if family_of(column.type) in _UNFIT:
            raise SqlError(-999, token=f"{column.type} of an external table", offset=node.offset)
    tabid = context.schema.next_tabid
    table = Table(
        tabid,
        node.table.name,
        owner,
        columns,
        TableKind.EXTERNAL,
        generated=f'temp."external_{tabid}"',
        external=node.external,
    )
    return Plan(StatementType.CREATE_TABLE, Definition((), (PutTable(table),)))


def drop_external_table(table: Table, dependents: list[RemoveTable]) -> Plan:
    """DROP TABLE of an external table, whose files stay."""
    return Plan(StatementType.DROP_TABLE, Definition((), (*dependents, RemoveTable(table))))


def external_table(name: nodes.QualifiedName, context: Context) -> Table | None:
    """The external table of a name in the current database."""
    if name.database not in ("", context.schema.database):
        return None
    found = context.schema.table(name.name, name.owner)
    return found if found is not None and found.external is not None else None


def unload_plan(node: nodes.Insert, table: Table, context: Context) -> Plan:
    """INSERT INTO an external table.

    Raises:
        SqlError: -999, it is not INSERT .. SELECT; as any INSERT.
    """
    if node.query is None:
        raise SqlError(-999, token="INSERT VALUES of an external table", offset=node.offset)
    targets = _targets(node, table)
    relation = QueryTranslator(context).query(node.query, None, Place.INSERT)
    if len(relation.outputs) != len(targets):
        raise SqlError(-236)
    alias = context.alias()
    made: dict[str, Node] = {
        column.name: stored(Typed(unquoted(alias, number), output.type), column, table)
        for number, (column, output) in enumerate(zip(targets, relation.outputs, strict=True), start=1)
    }
    plain = replace(table, columns=tuple(column for column in table.columns if not column.is_serial))
    made |= {column.name: value for column, value in left_out(plain, targets)}
    values = listed(made.get(column.name, NULL) for column in table.columns)
    query = query_sql("SELECT {} FROM ({}) AS {}", values, relation.query(), alias)
    tables = tuple(context.tables.values())
    action = plan.Unload(plan.Query(Composed(query), tables, locked_tables=context.locked_tables), table)
    described = tuple(Column(column.name, column.type, column.is_nullable) for column in targets)
    return finished(StatementType.INSERT, action, node, context, described)


def _targets(node: nodes.Insert, table: Table) -> list[ColumnDef]:
    targets: list[ColumnDef] = []
    for name in node.columns:
        column = table.column(name.text)
        if column is None:
            raise SqlError(-217, token=name.text, offset=name.offset)
        if column in targets:
            raise SqlError(-681, token=name.text, offset=name.offset)
        targets.append(column)
    return targets or list(table.columns)
