"""A statement's tree and a schema -> a Plan. Never: tokens, SQLite itself.

It dispatches to `expressions` and `calls`, `from_clause` and `select` (SELECT), `dml` and `merge` (DML), `ddl` (DDL),
`routines` (routines), and `control` (transactions, sessions, databases).
"""

from __future__ import annotations

from dataclasses import replace

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Definition, Nothing, Plan
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.translate.control import control_plan
from aioifx.server.sql.translate.ddl import ddl_plan
from aioifx.server.sql.translate.external_tables import external_table, unload_plan
from aioifx.server.sql.translate.merge import merge_plan
from aioifx.server.sql.translate.object_modes import mode_plan
from aioifx.server.sql.translate.routines import creation, dropping, execution
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.select_plan import query_plan
from aioifx.server.sql.translate.spl_program import Embedded, EmbeddedExpression
from aioifx.server.sql.translate.triggers import change_plan
from aioifx.wire.opcodes import StatementType


def translate(statement: nodes.Statement, schema: Schema, settings: Settings) -> Plan:
    """The plan of a statement.

    Raises:
        SqlError: a name is unknown, types do not match, or the statement is not supported (-999).
    """
    context = Context(schema, settings, statement=statement)
    match statement:
        case nodes.Query():
            return query_plan(statement, context)
        case nodes.Merge():
            return merge_plan(statement, context)
        case nodes.Insert() if (external := external_table(statement.table, context)) is not None:
            return unload_plan(statement, external, context)
        case nodes.Insert() | nodes.Update() | nodes.Delete() | nodes.Truncate():
            return change_plan(statement, context)
        case (
            nodes.CreateTable()
            | nodes.CreateTableAs()
            | nodes.CreateExternalTable()
            | nodes.StartViolations()
            | nodes.StopViolations()
            | nodes.AlterTable()
            | nodes.CreateIndex()
            | nodes.CreateView()
            | nodes.CreateSynonym()
            | nodes.CreateSequence()
            | nodes.AlterSequence()
            | nodes.Drop()
            | nodes.RenameObject()
            | nodes.RenameColumn()
            | nodes.CreateTrigger()
            | nodes.CreateRowType()
            | nodes.CreateDistinctType()
            | nodes.DropType()
        ):
            return ddl_plan(statement, context)
        case nodes.CreateSchema():
            return _schema_plan(statement, schema, settings)
        case nodes.SetObjectMode():
            return mode_plan(statement, context)
        case nodes.Execute():
            return execution(statement, context)
        case spl_nodes.CreateRoutine():
            return creation(statement, context)
        case spl_nodes.DropRoutine():
            return dropping(statement, context)
        case _:
            return control_plan(statement, context)


def _schema_plan(statement: nodes.CreateSchema, schema: Schema, settings: Settings) -> Plan:
    """CREATE SCHEMA: one definition of all, in which each statement sees the objects of those before it.

    Source: documented: CREATE SCHEMA statement; the objects belong to the user of AUTHORIZATION

    Raises:
        SqlError: as `translate`.
    """
    parts: list[Definition] = []
    settings, schema = replace(settings, user=statement.owner), schema.owned_by(statement.owner)
    for each in statement.statements:
        action = translate(each, schema, settings).action
        if isinstance(action, Definition):
            parts.append(action)
            tables = [change.table for change in action.changes]
            schema = schema.with_tables(tables, [change.type for change in action.types])
        elif not isinstance(action, Nothing):  # CREATE TABLE .. AS
            raise SqlError(-999, token="CREATE TABLE .. AS in CREATE SCHEMA", offset=each.offset)
    whole = Definition(
        tuple(step for part in parts for step in part.steps),
        tuple(change for part in parts for change in part.changes),
        tuple(change for part in parts for change in part.types),
    )
    return Plan(StatementType.CREATE_SCHEMA, whole)


def translate_embedded(embedded: Embedded, schema: Schema, settings: Settings) -> Plan:
    """The plan of an SQL statement or expression in a routine.

    Raises:
        SqlError: as `translate`.
    """
    if isinstance(embedded, EmbeddedExpression):
        return embedded.plan(schema, settings)
    return translate(embedded.tree, schema, settings)
