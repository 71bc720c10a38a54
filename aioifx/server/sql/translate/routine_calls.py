"""EXECUTE of a routine, written in SPL or in Python -> a plan. Never: running it, calls in expressions.

assumed: a routine is resolved by name and number of arguments, so a mismatch of either is -674. EXECUTE FUNCTION of
a procedure is -674, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import CallRoutine, CallSpl, Plan
from aioifx.server.sql.model.routines import Routine
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.spl import SplRoutine
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.sqlite.tree import Node, listed, query_sql
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.calls import resolved_call
from aioifx.server.sql.translate.expressions import Expressions
from aioifx.server.sql.translate.scopes import Context, Scope
from aioifx.server.sql.translate.select import QueryTranslator
from aioifx.server.sql.translate.select_plan import finished
from aioifx.server.sql.translate.typed import assigned
from aioifx.sqltypes import Column
from aioifx.wire.opcodes import StatementType

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
    routine = _resolved(node.routine, context)
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


def _resolved(name: nodes.QualifiedName, context: Context) -> Routine:
    context.need_database(name)
    routine = context.settings.routines.find(name.name)
    if routine is None:
        raise SqlError(_NO_SUCH_ROUTINE, token=name.name, offset=name.offset)
    return routine


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
