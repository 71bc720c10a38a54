"""Statement-local variables: ``WHERE f(a, y # INT) > 0 AND y < 5``. Never: other calls.

The call is one more source in FROM, whose arguments refer to the tables before it, so it runs once for a row.

Source: documented: Guide to SQL: Syntax, Statement-Local Variable Declaration; calls in WHERE of a query only, the
query and its subqueries read the variable. assumed: an INOUT parameter is NULL at first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.type_rules import plain
from aioifx.server.sql.sqlite.tree import NULL, Node, call, sql, unquoted
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.calls import NO_VARIABLE, given, resolved_call
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.scopes import Source, SourceColumn
from aioifx.server.sql.translate.typed import Typed, assigned
from aioifx.sqltypes import SqlType


def sources_of(conditions: Sequence[nodes.Expression], translator: Expressions) -> list[Node]:
    """What the calls with statement-local variables add to FROM; the scope gets their results and the variables.

    Raises:
        SqlError: -9752, a variable is not for an OUT or INOUT parameter, or one of these has another argument; -674, no
            such routine; -999, in the query of a view.
    """
    return [_source(node, translator) for condition in conditions for node in _calls(condition)]


def _calls(node: nodes.Node) -> Iterator[nodes.Call]:
    """The calls that declare variables, inner ones first; those of subqueries are theirs."""
    if isinstance(node, nodes.Query):
        return
    for child in nodes.children(node):
        yield from _calls(child)
    if isinstance(node, nodes.Call) and node.declares:
        yield node


def _source(node: nodes.Call, translator: Expressions) -> Node:
    context, scope = translator.context, translator.scope
    if context.names is not None:
        raise SqlError(-999, token="STATEMENT-LOCAL VARIABLE", offset=node.offset)

    def value(argument: nodes.Expression, hint: SqlType | None) -> Typed:
        if isinstance(argument, nodes.LocalVariable):
            return Typed(NULL, context.resolved(argument.type))
        return translator.value(argument, hint)

    named = {each.name: each.value for each in node.named}
    found = [each for each in context.schema.routines_named(node.name, node.routine.owner) if each.results]
    routine, values = resolved_call(value, found, node.name, (*node.arguments, *node.named), node.offset)
    if routine.result is None:
        raise SqlError(-999, token=node.name, offset=node.offset)
    pairs = zip(routine.parameters, node.arguments, strict=False)
    arguments = {parameter.name: argument for parameter, argument in pairs} | named
    variables = {name: each for name, each in arguments.items() if isinstance(each, nodes.LocalVariable)}
    outputs = [each.name for each in routine.outputs]
    if variables.keys() != arguments.keys() & set(outputs):
        raise SqlError(NO_VARIABLE, token=node.name, offset=node.offset)

    alias = context.alias()
    row = unquoted(alias, "value")
    columns = tuple(
        _column(variables[each.name], Typed(call("ifx_field", row, index), each.type), translator)
        for index, each in enumerate(routine.outputs, start=1)
        if each.name in variables
    )
    scope.sources.append(Source("", alias, (), pseudo=columns))
    scope.paths = {**scope.paths, node.offset: SourceColumn("", call("ifx_field", row, 0), routine.result)}
    return sql("json_each({}) AS {}", call("ifx_spl_rows", routine.procid, *given(routine, values)), alias)


def _column(variable: nodes.LocalVariable, value: Typed, translator: Expressions) -> SourceColumn:
    type_ = plain(translator.context.resolved(variable.type))
    return SourceColumn(variable.name, assigned(value, type_), type_)
