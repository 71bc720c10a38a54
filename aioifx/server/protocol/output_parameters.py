"""Calls of routines with OUT and INOUT parameters, which are refused when they are prepared. Never: a routine's body.

Routines that return results, too, are prepared: JDBC takes as many values as the routine has OUT and INOUT parameters
(observed), so it is not known where a server sends the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aioifx.codecs.bind_values import binder_for
from aioifx.server.catalog.sysrows import PARAMETER_ATTRIBUTES
from aioifx.server.engine.planner import Statement
from aioifx.server.protocol.context import Handler, SessionContext
from aioifx.server.protocol.row_blocks import sent_loader
from aioifx.server.protocol.statement_log import sent_types
from aioifx.server.protocol.statement_table import procid_of
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import CallSpl
from aioifx.server.sql.model.spl import UNRESOLVED, SplRoutine
from aioifx.server.sqlite.spool import StoredRow
from aioifx.wire import objects, routines
from aioifx.wire.fields import BindEntry
from aioifx.wire.objects import Routine


def refuse_outputs(context: SessionContext, statement: Statement) -> None:
    """Refuse to prepare a call that sets parameters of the client (documented: JDBC guide, "Driver restrictions").

    With literals among the arguments a client cannot call the routine otherwise (documented), so it is prepared.

    Raises:
        SqlError: -9752, with the number of the routine.
    """
    plan, database = statement.plan, context.engine.database
    action = plan.action
    if database is None or not isinstance(action, CallSpl):
        return
    routine, has_literals = action.routine, len(plan.parameters) < len(action.given)
    if routine.outputs and not routine.results and not has_literals:
        number = context.refused.take(routine.procid, statement.text)
        token = routines.routine_token(Routine(database.name.encode(), number))
        raise SqlError(routines.NEEDS_VARIABLE, token=token)


def describe(context: SessionContext, message: routines.DescribeRoutine) -> None:
    """SQ_FPDESCRIBE."""
    found = [
        routines.RoutineParameter(PARAMETER_ATTRIBUTES[each.mode], each.name, each.type)
        for each in _routine(context, message.routine.routine).parameters
    ]
    routines.put_routine_parameters(context.outbox, context.capabilities, found)


def find(context: SessionContext, message: routines.FindNumbered) -> None:
    """SQ_GETROUTINE with a number."""
    _routine(context, message.routine.routine)
    objects.put_routine(context.outbox, message.routine)


def call(context: SessionContext, message: routines.Outputs) -> None:
    """SQ_FPARAM: calls the routine of the last SQ_EXFPROUTINE.

    Raises:
        SqlError: -674, no such routine; as the routine.
    """
    called, arguments = context.calling, context.arguments
    if called is None:
        raise SqlError(UNRESOLVED)
    context.calling, context.arguments = None, ()
    routine = _routine(context, called.routine)
    row = _run(context, routine, arguments, context.refused.text(called.routine))
    entries: list[bytes] = []
    for value, parameter in zip(row, routine.outputs, strict=True):
        load = sent_loader(parameter.type, context.engine.settings)
        loaded = value if value is None or load is None else load(value)
        entries.append(binder_for(parameter.type, context.code_set)(loaded))
    modes = [parameter.mode != "in" for parameter in routine.parameters]
    is_first = context.refused.call(called.routine)
    routines.put_outputs(context.outbox, modes if message.described or is_first else None)
    objects.put_encoded(context.outbox, entries)


def _routine(context: SessionContext, number: int) -> SplRoutine:
    found = context.engine.routine(procid_of(number))
    if found is None:
        raise SqlError(UNRESOLVED, token=str(number))
    return found


def _run(context: SessionContext, routine: SplRoutine, arguments: Sequence[BindEntry], sql: str) -> StoredRow:
    """Execute the call as a statement with the client's text; the single row of its values."""
    engine, values = context.engine, context.values_of(arguments)
    prepared = context.statements.add(engine.prepare_call(routine, len(values)))
    prepared.value_types = sent_types(arguments)
    try:
        with context.executing(prepared, sql=sql) as record:
            cursor = engine.open(prepared.statement, values)
            try:
                (row,), _ = engine.fetch(cursor, 1)
            finally:
                engine.close_cursor(cursor)
            record.rows = 1
        return row
    finally:
        context.drop(prepared)


HANDLERS: Final[dict[type, Handler]] = {
    routines.DescribeRoutine: describe,
    routines.FindNumbered: find,
    routines.Outputs: call,
}
