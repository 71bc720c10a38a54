"""CREATE, DROP and EXECUTE of routines -> plans. Never: running them, calls in expressions, the meaning of a body.

assumed: a routine is resolved by name and number of arguments, so a mismatch of either is -674. EXECUTE FUNCTION of
a procedure is -674, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from aioifx.server.sql.builtin_types import SYSTEM_OWNER
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import (
    CallRoutine,
    CallSpl,
    Definition,
    DropRoutine,
    Nothing,
    Plan,
    PutRoutine,
    Query,
    RemoveRoutine,
)
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.spl import (
    UNRESOLVED,
    Routine,
    SplParameter,
    SplRoutine,
    SplTrigger,
    has_signature,
)
from aioifx.server.sql.runtime.regex import ITERATORS
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.sqlite.tree import Node, listed, query_sql
from aioifx.server.sql.syntax import nodes, spl_nodes
from aioifx.server.sql.translate.calls import is_builtin, resolved_call
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.scopes import Context, Scope
from aioifx.server.sql.translate.select import QueryTranslator
from aioifx.server.sql.translate.select_plan import finished
from aioifx.server.sql.translate.spl_compiler import compiled_tree
from aioifx.server.sql.translate.spl_source import declared_type
from aioifx.server.sql.translate.typed import assigned
from aioifx.sqltypes import Column
from aioifx.wire.opcodes import StatementType

_EXISTS: Final = -673
_TWICE: Final = -669
_AMBIGUOUS: Final = -9700


def creation(node: spl_nodes.CreateRoutine, context: Context) -> Plan:
    """CREATE PROCEDURE or CREATE FUNCTION, whose body is compiled once to find its errors.

    Raises:
        SqlError: -673, it exists; -669, a parameter twice; -201, an OUT parameter with a default (assumed); others of
            the body.
    """
    context.need_database(node.name)
    parameters = tuple(_parameter(each, context) for each in node.parameters)
    types = [parameter.type for parameter in parameters if parameter.mode != "out"]
    _refuse_repeated(node)
    owner = node.name.owner or context.settings.user
    existing = next(
        (
            each
            for each in context.schema.routines_named(node.name.name, node.name.owner)
            if has_signature(each, types)
        ),
        None,
    )
    if existing is not None and node.if_not_exists:
        return Plan(StatementType.CREATE_PROCEDURE, Nothing())
    if existing is not None and not node.or_replace:
        raise SqlError(_EXISTS, token=node.name.name, offset=node.name.offset)
    trigger = node.trigger
    if trigger is not None:
        context.table(trigger.table)
    routine = SplRoutine(
        context.schema.next_procid if existing is None else existing.procid,
        node.name.name,
        owner,
        not node.results,
        parameters,
        tuple((each.name, declared_type(each.type, context)) for each in node.results),
        node.text,
        node.is_delimident,
        node.is_dba,
        node.specific,
        None if trigger is None else SplTrigger(trigger.table.name, trigger.old, trigger.new),
        node.document,
        node.is_not_variant,
    )
    compiled_tree(node, routine, context.schema, context.settings)
    return Plan(StatementType.CREATE_PROCEDURE, Definition(routines=(PutRoutine(routine),)))


def _parameter(node: spl_nodes.RoutineParameter, context: Context) -> SplParameter:
    if node.mode == "out" and node.default is not None:
        raise SqlError(-201, offset=node.offset)
    return SplParameter(node.name, declared_type(node.type, context), node.default is not None, node.mode)


def _refuse_repeated(node: spl_nodes.CreateRoutine) -> None:
    seen: set[str] = set()
    for parameter in node.parameters:
        if parameter.name in seen:
            raise SqlError(_TWICE, token=parameter.name, offset=parameter.offset)
        seen.add(parameter.name)


def dropping(node: spl_nodes.DropRoutine, context: Context) -> Plan:
    """DROP PROCEDURE, FUNCTION or ROUTINE; one that Python implements is not restored by ROLLBACK.

    Raises:
        SqlError: -674, no such routine, and no IF EXISTS; -9700, several and no list of types.
    """
    context.need_database(node.name)
    name = node.name.name
    found = [each for each in context.schema.routines if _is_meant(each, node)]
    if len(found) > 1:
        raise SqlError(_AMBIGUOUS, token=name, offset=node.name.offset)
    type_ = StatementType.DROP_PROCEDURE
    if found:
        return Plan(type_, Definition(routines=(RemoveRoutine(found[0]),)))
    if node.types is None and context.settings.routines.find(name) is not None:
        return Plan(type_, DropRoutine(name))
    if node.if_exists:
        return Plan(type_, Nothing())
    raise SqlError(UNRESOLVED, token=name, offset=node.name.offset)


def _is_meant(routine: SplRoutine, node: spl_nodes.DropRoutine) -> bool:
    if node.name.owner not in ("", routine.owner):
        return False
    if (
        node.kind == "function" and routine.is_procedure
    ):  # DROP PROCEDURE takes functions in SPL, too (documented)
        return False
    if node.is_specific:
        return routine.specific == node.name.name
    is_named = routine.name == node.name.name
    return is_named and (node.types is None or has_signature(routine, node.types))


_NO_SUCH_ROUTINE: Final = -674
_COLUMN: Final = "(expression)"
"""Name of every result (documented: SELECT's for an unnamed expression; observed: JDBC's callable statements)."""


def execution(node: nodes.Execute, context: Context, trigger_table: Table | None = None) -> Plan:
    """EXECUTE PROCEDURE or EXECUTE FUNCTION.

    Args:
        trigger_table: whose trigger calls it WITH TRIGGER REFERENCES, which a trigger routine of that table needs
            (documented; assumed: the code without it, or for another table).

    Raises:
        SqlError: -674, no such routine or none with such arguments; -9700, several.
    """
    context.need_database(node.routine)
    named = context.schema.routines_named(node.routine.name, node.routine.owner)
    found = [routine for routine in named if _is_callable(routine, trigger_table)]
    if named and not found:
        raise SqlError(_NO_SUCH_ROUTINE, token=node.routine.name, offset=node.routine.offset)
    if node.kind == "function":
        found = [routine for routine in found if routine.results]
    if found:
        return _spl_execution(node, found, context)
    routine = _resolved(node, context)
    if routine is None:
        return _built_in(node, context)
    if node.kind == "function" and not routine.returns:
        raise SqlError(_NO_SUCH_ROUTINE, token=routine.name, offset=node.routine.offset)
    translator = Expressions(context, Scope(), QueryTranslator(context))
    arguments = [
        assigned(translator.value(argument, type_), type_)
        for argument, (_, type_) in zip(_by_position(node, routine), routine.params, strict=True)
    ]
    action = CallRoutine(routine, _row(arguments), context.locked_tables)
    columns = tuple(Column(_COLUMN, type_) for type_ in routine.returns)
    return finished(StatementType.EXECUTE_ROUTINE, action, node, context, columns)


def _is_callable(routine: SplRoutine, trigger_table: Table | None) -> bool:
    if routine.trigger is None or trigger_table is None:
        return routine.trigger is None and trigger_table is None
    return routine.trigger.table == trigger_table.name


def _spl_execution(node: nodes.Execute, found: Sequence[SplRoutine], context: Context) -> Plan:
    """EXECUTE of a routine written in SPL."""
    translator = Expressions(context, Scope(), QueryTranslator(context))
    name, offset = node.routine.name, node.routine.offset
    routine, values = resolved_call(translator.value, found, name, node.arguments, offset)
    given = [
        (index, assigned(values[parameter.name], parameter.type))
        for index, parameter in enumerate(routine.parameters)
        if parameter.name in values
    ]
    action = CallSpl(
        routine,
        _row([value for _, value in given]),
        tuple(index for index, _ in given),
        context.locked_tables,
    )
    return finished(StatementType.EXECUTE_ROUTINE, action, node, context, routine.columns)


def _row(arguments: Sequence[Node]) -> Composed | None:
    return Composed(query_sql("SELECT {}", listed(arguments))) if arguments else None


def _resolved(node: nodes.Execute, context: Context) -> Routine | None:
    """A routine written in Python, or the server's own one of a database; None for a built-in function.

    Raises:
        SqlError: -674, no such routine.
    """
    name = node.routine
    context.need_database(name)
    if name.owner in ("", SYSTEM_OWNER):
        database = name.database or context.schema.database
        own = context.settings.system_routine(database, name.name, len(node.arguments))
        if own is not None:
            return own
    routine = context.settings.routines.find(name.name)
    if routine is not None:
        return routine
    if name.owner in ("", SYSTEM_OWNER):
        if name.name in ITERATORS:
            return _iterator(name.name, len(node.arguments), context.settings)
        if is_builtin(name.name):
            return None
    raise SqlError(_NO_SUCH_ROUTINE, token=name.name, offset=name.offset)


def _iterator(name: str, count: int, settings: Settings) -> Routine:
    """A built-in function that returns rows, with as many parameters as there are arguments."""
    types = ("LVARCHAR(32739)", "LVARCHAR(32739)", "INTEGER", "INTEGER")
    params = list(zip(("str", "re", "limit", "copts"), types, strict=True))
    return Routine(name, params[: max(count, 2)], types[:1], partial(ITERATORS[name], settings))


def _built_in(node: nodes.Execute, context: Context) -> Plan:
    """EXECUTE of a built-in function: a query of one row (documented: "EXECUTE FUNCTION statement").

    Raises:
        SqlError: -201, an argument by name.
    """
    for each in node.arguments:
        if isinstance(each, nodes.NamedArgument):
            raise SqlError(-201, offset=each.offset)
    arguments = tuple(each for each in node.arguments if not isinstance(each, nodes.NamedArgument))
    function = nodes.Call(node.routine.offset, replace(node.routine, owner=""), arguments)
    value = Expressions(context, Scope(), QueryTranslator(context)).value(function)
    tables = tuple(context.tables.values())
    action = Query(Composed(query_sql("SELECT {}", value.sql)), tables, locked_tables=context.locked_tables)
    columns = (Column(_COLUMN, value.known_type, value.is_nullable),)
    return finished(StatementType.EXECUTE_ROUTINE, action, node, context, columns)


def _by_position(node: nodes.Execute, routine: Routine) -> Sequence[nodes.Expression]:
    """The arguments in the order of the parameters.

    Raises:
        SqlError: -674, they do not match the parameters; -201, only some have names (assumed).
    """
    unresolved = SqlError(_NO_SUCH_ROUTINE, token=routine.name, offset=node.routine.offset)
    if len(node.arguments) != len(routine.params):
        raise unresolved
    named = {each.name: each.value for each in node.arguments if isinstance(each, nodes.NamedArgument)}
    plain = [each for each in node.arguments if not isinstance(each, nodes.NamedArgument)]
    if not named:
        return plain
    if plain:
        raise SqlError(-201, offset=plain[0].offset)
    try:
        return [named[name] for name, _ in routine.params]
    except KeyError:
        raise unresolved from None
