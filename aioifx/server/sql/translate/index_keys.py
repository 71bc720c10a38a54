"""The keys of CREATE INDEX: columns, and functions of columns. Never: the index.

Source: documented: CREATE INDEX statement, using the return value of a function as an index key; -9843, -9844, -9848
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import IndexPart, Table
from aioifx.server.sql.model.type_rules import family_of
from aioifx.server.sql.sqlite.render import template
from aioifx.server.sql.sqlite.tree import Column
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.calls import is_builtin, resolved_call
from aioifx.server.sql.translate.complex_types import require_ordered
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.large_objects import refuse_keys
from aioifx.server.sql.translate.scopes import Context, Scope, Source, SourceColumn
from aioifx.server.sql.translate.select import QueryTranslator
from aioifx.server.sql.translate.sqlite_ddl import collation
from aioifx.sqltypes import SqlType


def index_part(node: nodes.IndexPart, table: Table, context: Context) -> IndexPart:
    """One key of a new index.

    Raises:
        SqlError: -217 no such column, -610 a large object; -674, -9843, -9844, -9848 the function does not do; -999 an
            argument must be converted.
    """
    if isinstance(node.key, nodes.Call):
        return _function_key(node.key, node.is_descending, table, context)
    name = node.key
    column = table.column(name.text)
    if column is None:
        raise SqlError(-217, token=name.text, offset=name.offset)
    require_ordered(column.type, name.offset)
    refuse_keys(table, [name])
    return IndexPart(name.text, node.is_descending)


def _function_key(call: nodes.Call, is_descending: bool, table: Table, context: Context) -> IndexPart:
    columns = tuple(
        SourceColumn(column.name, Column("", column.name), column.type, column.is_nullable)
        for column in table.columns
    )
    names = [each.name for each in call.arguments if isinstance(each, nodes.Column)]
    for argument, name in zip(call.arguments, names, strict=True):
        if table.column(name) is None:
            raise SqlError(-217, token=name, offset=argument.offset)
    scope = Scope([Source(table.name, "", columns)])
    translator = Expressions(context, scope, QueryTranslator(context))
    function = _suitable(call, translator)
    for argument, name, type_ in zip(call.arguments, names, function.types, strict=True):
        column = table.column(name)
        # A conversion may depend on the session's settings, and the stored keys must not.
        if column is None or family_of(column.type) is not family_of(type_):
            raise SqlError(-999, token="FUNCTIONAL INDEX", offset=argument.offset)
    value = translator.value(call)
    require_ordered(value.known_type, call.offset)
    return IndexPart(
        "",
        is_descending,
        call.name,
        function.procid,
        tuple(names),
        template(value.sql),
        collation(value.type),
    )


class _Function(NamedTuple):
    """A function that the user has written."""

    procid: int
    """0 if it is written in Python."""
    types: Sequence[SqlType]
    has_result: bool
    is_variant: bool


def _suitable(call: nodes.Call, translator: Expressions) -> _Function:
    """The function of a key, which must be written by the user and NOT VARIANT."""
    function = None if is_builtin(call.name) else _found(call, translator)
    if function is None or not function.has_result:
        raise SqlError(-9844, token=call.name, offset=call.offset)
    if len(function.types) != len(call.arguments):
        raise SqlError(-9843, offset=call.offset)
    if function.is_variant:
        raise SqlError(-9848, token=call.name, offset=call.offset)
    return function


def _found(call: nodes.Call, translator: Expressions) -> _Function:
    """The function of a name; with its number of parameters, if there is one.

    Raises:
        SqlError: -674, no such function.
    """
    context = translator.context
    found = context.schema.routines_named(call.name, call.routine.owner)
    if found:
        routine = found[0]
        if any(len(each.parameters) == len(call.arguments) for each in found):
            routine, _ = resolved_call(translator.value, found, call.name, call.arguments, call.offset)
        has_result = routine.result is not None
        return _Function(routine.procid, routine.types, has_result, not routine.is_not_variant)
    known = context.settings.routines.find(call.name)
    if known is None:
        raise SqlError(-674, token=call.name, offset=call.offset)
    types = [type_ for _, type_ in known.params]
    return _Function(0, types, known.result is not None, known.variant)
