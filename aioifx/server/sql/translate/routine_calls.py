"""EXECUTE, DROP and calls in expressions of routines written in Python -> plans and SQLite text. Never: running them.

assumed: a routine is resolved by name and number of arguments, so a mismatch of either is -674. EXECUTE FUNCTION of
a procedure is -674, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import CallRoutine, DropRoutine, Nothing, Plan
from aioifx.server.sql.model.routines import Routine
from aioifx.server.sql.syntax import nodes
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


def execution(node: nodes.Execute, context: Context) -> Plan:
    """EXECUTE PROCEDURE or EXECUTE FUNCTION.

    Raises:   SqlError: -674, no such routine or none with such arguments.
    """
    routine = _resolved(node.routine, context)
    if node.kind == "function" and not routine.returns:
        raise SqlError(_NO_SUCH_ROUTINE, token=routine.name, offset=node.routine.offset)
    translator = Expressions(context, Scope(), QueryTranslator(context))
    texts = [
        assigned(translator.value(argument, type_), type_)
        for argument, (_, type_) in zip(_by_position(node, routine), routine.params, strict=True)
    ]
    action = CallRoutine(routine, f"SELECT {', '.join(texts)}" if texts else "")
    columns = tuple(Column(_COLUMN, type_) for type_ in routine.returns)
    return finished(StatementType.EXECUTE_ROUTINE, action, node, context, columns)


def _resolved(name: nodes.QualifiedName, context: Context) -> Routine:
    context.need_database(name)
    routine = context.settings.routines.find(name.name)
    if routine is None:
        raise SqlError(_NO_SUCH_ROUTINE, token=name.name, offset=name.offset)
    return routine


def _by_position(node: nodes.Execute, routine: Routine) -> Sequence[nodes.Expression]:
    """The arguments in the order of the parameters.

    Raises:   SqlError: -674, they do not match the parameters; -201, only some have names (assumed).
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


def dropping(node: nodes.Drop, context: Context) -> Plan:
    """DROP PROCEDURE, FUNCTION or ROUTINE; not undone by ROLLBACK, since the routine was not created by SQL.

    Raises:   SqlError: -674, no such routine, and no IF EXISTS.
    """
    if node.if_exists and context.settings.routines.find(node.name.name) is None:
        return Plan(StatementType.DROP_PROCEDURE, Nothing())
    return Plan(StatementType.DROP_PROCEDURE, DropRoutine(_resolved(node.name, context).name))
