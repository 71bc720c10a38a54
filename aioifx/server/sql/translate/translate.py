"""A statement's tree and a schema -> a Plan. Never: tokens, SQLite itself.

It dispatches to `expressions` and `calls`, `from_clause` and `select` (SELECT), `dml` and `merge` (DML), `ddl` (DDL),
`routines` (routines), and `control` (transactions, sessions, databases).
"""

from __future__ import annotations

from aioifx.server.sql.model.plan import Plan
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.translate.control import control_plan
from aioifx.server.sql.translate.ddl import ddl_plan
from aioifx.server.sql.translate.merge import merge_plan
from aioifx.server.sql.translate.object_modes import mode_plan
from aioifx.server.sql.translate.routines import creation, dropping, execution
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.select_plan import query_plan
from aioifx.server.sql.translate.spl_program import Embedded, EmbeddedExpression
from aioifx.server.sql.translate.triggers import change_plan


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
        case nodes.Insert() | nodes.Update() | nodes.Delete() | nodes.Truncate():
            return change_plan(statement, context)
        case (
            nodes.CreateTable()
            | nodes.CreateTableAs()
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


def translate_embedded(embedded: Embedded, schema: Schema, settings: Settings) -> Plan:
    """The plan of an SQL statement or expression in a routine.

    Raises:
        SqlError: as `translate`.
    """
    if isinstance(embedded, EmbeddedExpression):
        return embedded.plan(schema, settings)
    return translate(embedded.tree, schema, settings)
