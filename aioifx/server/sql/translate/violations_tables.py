"""START and STOP VIOLATIONS TABLE -> Plans, and what they prevent. Never: the rows in them (`filtering`).

Source: documented: START VIOLATIONS TABLE and STOP VIOLATIONS TABLE statements; -886, -895 to -898. assumed: a renamed
column is an altered one; the SQLCODE for MAX ROWS 0
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Definition, Plan, PutTable
from aioifx.server.sql.model.schema import ColumnDef, Table, Violations
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.filtering import is_violations_table, require_no_violations_table
from aioifx.server.sql.translate.object_modes import definable
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.sqlite_ddl import creation_steps
from aioifx.sqltypes import SqlType, TypeCode
from aioifx.wire.opcodes import StatementType

_NOT_CREATED: Final = -895
_LONGEST: Final = 128

_PLAIN: Final = {
    TypeCode.SERIAL: SqlType(TypeCode.INTEGER, 4),
    TypeCode.SERIAL8: SqlType(TypeCode.INT8, 10),
    TypeCode.BIGSERIAL: SqlType(TypeCode.BIGINT, 8),
}
"""The types of serial columns in a violations table."""

_ADDED: Final = (
    ColumnDef("informix_tupleid", SqlType(TypeCode.SERIAL, 4), is_nullable=False, is_declared_not_null=True),
    ColumnDef("informix_optype", SqlType(TypeCode.CHAR, 1)),
    ColumnDef("informix_recowner", SqlType(TypeCode.CHAR, 32)),
)
_DIAGNOSTICS: Final = (
    ColumnDef("informix_tupleid", SqlType(TypeCode.INTEGER, 4)),
    ColumnDef("objtype", SqlType(TypeCode.CHAR, 1)),
    ColumnDef("objowner", SqlType(TypeCode.CHAR, 32)),
    ColumnDef("objname", SqlType(TypeCode.VARCHAR, 128)),
)


def start_violations(node: nodes.StartViolations, context: Context) -> Plan:
    """START VIOLATIONS TABLE: both tables, and their connection with the table.

    Raises:
        SqlError: -206, no such table. -895, it has such tables or is one, or is temporary; a name is taken; the number
            of rows is not from 1 to the largest INTEGER.
    """
    table = definable(node.table, context)
    name = table.name
    names = [each.text for each in node.names] if node.names else [f"{name}_vio", f"{name}_dia"]
    is_limit = node.maximum is None or 1 <= node.maximum < 1 << 31
    is_taken = (
        any(context.schema.existing(each, table.owner) is not None for each in names) or names[0] == names[1]
    )
    is_unfit = table.is_temp or table.violations is not None or is_violations_table(table, context)
    if not is_limit or is_taken or is_unfit or any(len(each) > _LONGEST for each in names):
        raise SqlError(_NOT_CREATED, token=name, offset=node.table.offset)
    first = context.schema.next_tabid
    made = [
        Table(first, names[0], table.owner, tuple(_violations_columns(table))),
        Table(first + 1, names[1], table.owner, _DIAGNOSTICS),
    ]
    started = replace(table, violations=Violations(first, first + 1, node.maximum))
    steps = [step for each in made for step in creation_steps(each, context.schema.table_of)]
    changes = tuple(map(PutTable, (started, *made)))
    return Plan(StatementType.START_VIOLATIONS, Definition(tuple(steps), changes))


def _violations_columns(table: Table) -> Iterator[ColumnDef]:
    """The columns of the table, and three more; a digit is added to a name that the table has."""
    for column in table.columns:
        yield ColumnDef(
            column.name,
            _PLAIN.get(TypeCode(column.type.kind), column.type),
            minimum=column.minimum,
            space=column.space,
        )
    for added in _ADDED:
        names = [added.name, *(f"{added.name}{digit}" for digit in range(1, 10))]
        name = next((name for name in names if table.column(name) is None), None)
        if name is None:
            raise SqlError(_NOT_CREATED, token=table.name)
        yield replace(added, name=name)


def stop_violations(node: nodes.StopViolations, context: Context) -> Plan:
    """STOP VIOLATIONS TABLE: both tables stay.

    Raises:
        SqlError: -206, no such table. -896, it has no such tables.
    """
    table = definable(node.table, context)
    if table.violations is None:
        raise SqlError(-896, token=table.name, offset=node.table.offset)
    stopped = PutTable(replace(table, violations=None))
    return Plan(StatementType.STOP_VIOLATIONS, Definition((), (stopped,)))


def check_alterable(table: Table, statement: nodes.AlterTable | nodes.RenameColumn, context: Context) -> None:
    """Refuse to alter a violations table, and the columns of a table that has one.

    Raises:
        SqlError: -897, -898.
    """
    require_no_violations_table(table, statement.table.offset, context)
    of_columns = (nodes.AddColumn, nodes.DropColumn, nodes.ModifyColumn)
    is_of_columns = isinstance(statement, nodes.RenameColumn) or any(
        isinstance(action, of_columns) for action in statement.actions
    )
    if table.violations is not None and is_of_columns:
        raise SqlError(-898, token=table.name, offset=statement.table.offset)


def violations_dropped_with(table: Table, node: nodes.Drop, context: Context) -> Iterator[Table]:
    """The violations and diagnostics tables that are dropped with a table.

    Raises:
        SqlError: -897, it is one itself. -886, RESTRICT and there are any.
    """
    require_no_violations_table(table, node.name.offset, context)
    if table.violations is None:
        return
    if node.is_restricted:
        raise SqlError(-886, token=table.name, offset=node.name.offset)
    for tabid in table.violations[:2]:
        found = context.schema.table_of(tabid)
        if found is not None:
            yield found
