"""CREATE and DROP of PROCEDURE, FUNCTION and ROUTINE -> plans. Never: calls, the meaning of a body."""

from __future__ import annotations

from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Definition, DropRoutine, Nothing, Plan, PutRoutine, RemoveRoutine
from aioifx.server.sql.model.spl import UNRESOLVED, SplParameter, SplRoutine, SplTrigger, has_signature
from aioifx.server.sql.syntax import spl_nodes
from aioifx.server.sql.translate.scopes import Context
from aioifx.server.sql.translate.spl_compiler import compiled_tree
from aioifx.server.sql.translate.spl_source import declared_type
from aioifx.wire.opcodes import StatementType

_EXISTS: Final = -673
_TWICE: Final = -669
_AMBIGUOUS: Final = -9700


def creation(node: spl_nodes.CreateRoutine, context: Context) -> Plan:
    """CREATE PROCEDURE or CREATE FUNCTION, whose body is compiled once to find its errors.

    Raises:
        SqlError: -673, it exists; -669, a parameter twice; -999, OUT parameters; others of the body.
    """
    context.need_database(node.name)
    parameters = tuple(_parameter(each, context) for each in node.parameters)
    types = [parameter.type for parameter in parameters]
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
    if node.mode != "in":
        raise SqlError(-999, token=f"{node.mode.upper()} PARAMETER", offset=node.offset)
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
    if node.kind != "routine" and (node.kind == "procedure") != routine.is_procedure:
        return False
    if node.is_specific:
        return routine.specific == node.name.name
    is_named = routine.name == node.name.name
    return is_named and (node.types is None or has_signature(routine, node.types))
