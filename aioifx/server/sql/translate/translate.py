"""A statement's tree and a schema -> a Plan. Never: tokens, SQLite itself.

The rooms behind it: names, expressions, calls (expressions), sources, queries (SELECT), changes and merges (DML),
definitions (DDL), executions (routines), controls (transactions, sessions, databases).
"""

from __future__ import annotations

from aioifx.server.sql.model.plan import Plan
from aioifx.server.sql.model.schema import Schema
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.syntax import tree
from aioifx.server.sql.translate import changes, controls, definitions
from aioifx.server.sql.translate.executions import execution
from aioifx.server.sql.translate.merges import merge_plan
from aioifx.server.sql.translate.names import Context
from aioifx.server.sql.translate.statements import query_plan


def translate(statement: tree.Statement, schema: Schema, settings: Settings) -> Plan:
    """What the engine shall do for a statement.

    Raises:   SqlFault: a name is unknown, types do not fit, or the statement is not supported (-999).
    """
    context = Context(schema, settings, statement=statement)
    match statement:
        case tree.Query():
            return query_plan(statement, context)
        case tree.Merge():
            return merge_plan(statement, context)
        case tree.Insert() | tree.Update() | tree.Delete() | tree.Truncate():
            return changes.plan_of(statement, context)
        case (
            tree.CreateTable()
            | tree.AlterTable()
            | tree.CreateIndex()
            | tree.CreateView()
            | tree.CreateSynonym()
            | tree.CreateSequence()
            | tree.AlterSequence()
            | tree.Drop()
            | tree.RenameObject()
            | tree.RenameColumn()
        ):
            return definitions.plan_of(statement, context)
        case tree.Execute():
            return execution(statement, context)
        case _:
            return controls.plan_of(statement, context)
