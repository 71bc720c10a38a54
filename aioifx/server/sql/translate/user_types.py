"""CREATE ROW TYPE, CREATE DISTINCT TYPE, DROP TYPE, and the types of columns -> Plans. Never: rows of the catalog.

Source: documented: statements, and that a subtype begins with the fields of its supertype. assumed: the SQLCODEs -9631
for a name that exists and -9630 for a type in use.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeAlias

from aioifx.server.sql.complex_types import (
    ComplexType,
    distinct_of,
    is_named,
    named_row,
    row_of,
    type_text,
)
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Definition, Nothing, Plan, PutType, RemoveType
from aioifx.server.sql.model.schema import ColumnDef, UserType
from aioifx.server.sql.model.type_rules import is_large
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.large_objects import refuse_nested
from aioifx.server.sql.translate.scopes import Context
from aioifx.sqltypes import (
    SERIALS,
    SqlType,
    TypeCode,
)
from aioifx.wire.opcodes import StatementType

_Statement: TypeAlias = nodes.CreateRowType | nodes.CreateDistinctType | nodes.DropType

_NOT_FOUND: Final = -9628
_EXISTS: Final = -9631
_IN_USE: Final = -9630


def user_type_plan(statement: _Statement, context: Context) -> Plan:
    """The plan of a statement that defines or drops a type."""
    match statement:
        case nodes.CreateRowType():
            return _create_row_type(statement, context)
        case nodes.CreateDistinctType():
            return _create_distinct_type(statement, context)
        case nodes.DropType():
            return _drop_type(statement, context)


def _is_new(name: nodes.QualifiedName, context: Context, if_not_exists: bool) -> bool:
    if context.schema.type_named(name.name, name.owner) is None:
        return True
    if if_not_exists:
        return False
    raise SqlError(_EXISTS, token=name.name, offset=name.offset)


def _create_row_type(node: nodes.CreateRowType, context: Context) -> Plan:
    if not _is_new(node.name, context, node.if_not_exists):
        return Plan(StatementType.CREATE_ROW_TYPE, Nothing())
    row = context.resolved(node.row) if node.row is not None else None
    supertype = context.resolved(node.supertype) if node.supertype is not None else None
    parts = [each for each in (supertype, row) if each is not None]
    if not all(isinstance(each, ComplexType) and each.code == TypeCode.ROW for each in parts):
        raise SqlError(_NOT_FOUND, offset=node.offset)
    rows = [each for each in parts if isinstance(each, ComplexType)]
    names = [name for each in rows for name in each.names]
    if len(set(names)) < len(names):
        raise SqlError(-328, token=max(names, key=names.count), offset=node.offset)
    whole = row_of(
        names,
        [part for each in rows for part in each.parts],
        [flag for each in rows for flag in each.required],
    )
    owner, number = node.name.owner or context.settings.user, context.schema.next_extended_id
    refuse_nested(whole, node.offset)
    type_ = named_row(whole, number, owner, node.name.name)
    known = UserType(
        number, "R", owner, node.name.name, type_, supertype.extended_id if supertype is not None else 0
    )
    return _defined(StatementType.CREATE_ROW_TYPE, known)


def _create_distinct_type(node: nodes.CreateDistinctType, context: Context) -> Plan:
    if not _is_new(node.name, context, node.if_not_exists):
        return Plan(StatementType.CREATE_DISTINCT_TYPE, Nothing())
    base = context.resolved(node.base)
    if base.code in SERIALS or (isinstance(base, ComplexType) and not is_named(base)):
        raise SqlError(-201, offset=node.offset)  # documented: not allowed; the number is assumed
    if is_large(base):
        raise SqlError(-999, token=f"CREATE DISTINCT TYPE AS {base}", offset=node.offset)
    owner, number = node.name.owner or context.settings.user, context.schema.next_extended_id
    type_ = distinct_of(base, number, owner, node.name.name)
    return _defined(StatementType.CREATE_DISTINCT_TYPE, UserType(number, "D", owner, node.name.name, type_))


def _defined(type_: StatementType, known: UserType) -> Plan:
    return Plan(type_, Definition(types=(PutType(known),)))


def _drop_type(node: nodes.DropType, context: Context) -> Plan:
    type_ = StatementType.DROP_ROW_TYPE if node.is_row else StatementType.DROP_TYPE
    known = context.schema.type_named(node.name.name, node.name.owner)
    if known is None or (known.mode == "R") is not node.is_row:
        if known is None and node.if_exists:
            return Plan(type_, Nothing())
        raise SqlError(_NOT_FOUND, token=node.name.name, offset=node.name.offset)
    tables = tuple(context.schema.all_tables)
    columns = (column.type for table in tables for column in table.columns)
    others = (each for each in context.schema.types if each is not known)
    is_of_type = any(table.type_id == known.extended_id for table in tables)
    if (
        is_of_type
        or any(_uses(each, known) for each in columns)
        or any(
            _uses(each.type, known) or known.extended_id in (each.supertype, each.type.source)
            for each in others
        )
    ):
        raise SqlError(_IN_USE, token=known.name, offset=node.name.offset)
    return Plan(type_, Definition(types=(RemoveType(known),)))


def _uses(type_: SqlType, known: UserType) -> bool:
    """Whether a type is the given one or has it as a part."""
    if type_.extended_id == known.extended_id:
        return True
    return isinstance(type_, ComplexType) and any(_uses(part, known) for part in type_.parts)


def columns_of_type(type_: SqlType, context: Context) -> tuple[tuple[ColumnDef, ...], int]:
    """The columns of a typed table, which are the fields of its named ROW type, and the number of that type.

    Raises:
        SqlError: -9628, it is not a named ROW type.
    """
    row = context.resolved(type_)
    if not isinstance(row, ComplexType) or not is_named(row):
        raise SqlError(_NOT_FOUND, token=type_.extended_name)
    columns = (
        ColumnDef(name, part, is_nullable=not required, is_declared_not_null=required)
        for name, part, required in zip(row.names, row.parts, row.required, strict=True)
    )
    return tuple(columns), row.extended_id


def with_type_numbers(
    columns: Iterable[ColumnDef], context: Context
) -> tuple[tuple[ColumnDef, ...], tuple[PutType, ...]]:
    """Columns with the numbers of their unnamed types, and the types that the database does not have yet."""
    known = {each.type.extended_name: each.extended_id for each in context.schema.types if not each.name}
    number = context.schema.next_extended_id
    done: list[ColumnDef] = []
    new: list[PutType] = []
    for column in columns:
        type_ = column.type
        if isinstance(type_, ComplexType) and not is_named(type_) and not type_.extended_id:
            text = type_text(type_)
            if text not in known:
                known[text] = number
                mode = "R" if type_.code == TypeCode.ROW else "C"
                numbered = replace(type_, extended_id=number)
                new.append(PutType(UserType(number, mode, context.settings.user, "", numbered)))
                number += 1
            column = replace(column, type=replace(type_, extended_id=known[text]))
        done.append(column)
    return tuple(done), tuple(new)
