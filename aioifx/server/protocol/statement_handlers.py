"""Handlers of statement messages: prepare, describe, bind, execute, release. Never: a cursor's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aioifx.server.engine.planner import Statement
from aioifx.server.protocol.context import Handler, SessionContext
from aioifx.server.protocol.fast_path import call_routine
from aioifx.server.protocol.output_parameters import refuse_outputs
from aioifx.server.protocol.statement_log import sent_types
from aioifx.server.protocol.statement_table import PreparedStatement
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Plan
from aioifx.sqltypes import Column
from aioifx.wire import completion, descriptions, requests
from aioifx.wire.opcodes import StatementType
from aioifx.wire.requests import Request

_ALL_ROWS: Final = 0x08  # a warning of SQ_DONE: UPDATE or DELETE without WHERE (documented: sqlwarn4)


def finish(context: SessionContext) -> None:
    """End the current statement, at the end of a group or before another: a command is executed and dropped."""
    prepared = context.prepared
    if prepared is None or not prepared.is_command:
        return
    try:
        if not prepared.is_executed:
            run(context, prepared)
    finally:
        context.drop(prepared)


def prepare(context: SessionContext, message: requests.Prepare) -> None:
    """SQ_PREPARE: checks and translates a statement without executing it.

    Raises:
        SqlError: as the statement; -9752, see `refuse_outputs`.
    """
    finish(context)
    statement = _translated(context, message.sql)
    refuse_outputs(context, statement)
    context.prepared = context.statements.add(statement)


def command(context: SessionContext, message: requests.Command) -> None:
    """SQ_COMMAND: prepares a statement that is executed and dropped in the same group."""
    finish(context)
    context.prepared = context.statements.add(_translated(context, message.sql), is_command=True)


def _translated(context: SessionContext, sql: bytes) -> Statement:
    """The statement; one that is invalid is logged here, since it is never executed."""
    text = context.text(sql)
    try:
        return context.engine.prepare(text)
    except SqlError as error:
        context.record(text).fail(error)
        raise


def choose(context: SessionContext, message: requests.Id) -> None:
    """SQ_ID."""
    prepared = context.statements.find(message.statement_id)
    if prepared is not context.prepared:
        finish(context)
        context.prepared = prepared


def describe(context: SessionContext, message: requests.Describe) -> None:
    """SQ_NDESCRIBE: the reply is SQ_DESCRIBE."""
    plan = context.current.statement.plan
    columns, row_size = _laid_out(context, context.sent_columns(plan.columns))
    description = descriptions.Description(
        plan.type, context.current.statement_id, columns, row_size, estimate=1
    )
    descriptions.put_describe(context.outbox, context.capabilities, description)


def _laid_out(context: SessionContext, columns: Sequence[Column]) -> tuple[tuple[Column, ...], int]:
    """The columns with their start positions, and the size of the widest row."""
    position = 0
    placed: list[Column] = []
    for column, width in zip(columns, context.row_writer(columns).widths, strict=True):
        placed.append(replace(column, start=position))
        position += width
    return tuple(placed), position


def tell_done(context: SessionContext, message: requests.WantDone) -> None:
    """SQ_WANTDONE, after SQ_PREPARE. For INSERT, SQ_INSERTDONE is sent, too, and has no meaning yet (observed)."""
    plan = context.current.statement.plan
    if plan.type is StatementType.INSERT:
        context.write_serials(completion.Serials())
    context.write_done(completion.Done(_warnings_of(plan)))


def _warnings_of(plan: Plan) -> int:
    return _ALL_ROWS if plan.type in (StatementType.UPDATE_ALL, StatementType.DELETE_ALL) else 0


def describe_input(context: SessionContext, message: requests.DescribeInput) -> None:
    """SQ_CIDESCRIBE."""
    types = context.sent_types([parameter.type for parameter in context.current.statement.plan.parameters])
    descriptions.put_idescribe(context.outbox, context.capabilities, types)


def ignore_keys(context: SessionContext, message: requests.AutoGenKeys) -> None:
    """SQ_AUTOGENKEYS: ignored, since SQ_DONE and SQ_INSERTDONE always carry the keys."""


def bind(context: SessionContext, message: requests.Bind) -> None:
    """SQ_BIND: stores the values until the next SQ_BIND; after SQ_EXFPROUTINE, its arguments.

    Raises:
        SqlError: -415, a value cannot be converted; -999, its type is not supported.
    """
    if context.calling is not None:
        call_routine(context, message.entries)
        return
    prepared = context.current
    prepared.value_types = sent_types(message.entries)
    prepared.values = context.values_of(message.entries)


def execute(context: SessionContext, message: requests.Execute) -> None:
    """SQ_EXECUTE."""
    run(context, context.current)


def run(context: SessionContext, prepared: PreparedStatement) -> None:
    """Execute a statement and write its completion."""
    prepared.is_executed = True
    plan = prepared.statement.plan
    with context.executing(prepared) as record:
        result = context.engine.execute(prepared.statement, prepared.values)
        record.rows = result.rows
    if result.opened is not None:
        context.close_all()
        context.write_opened(result.opened)
        return
    if plan.type is StatementType.INSERT:
        context.write_serials(completion.Serials(result.serial8, result.bigserial))
    context.write_result(result, _warnings_of(plan) if prepared.is_command else 0)


def release(context: SessionContext, message: requests.Release) -> None:
    """SQ_RELEASE: closes the statement's cursor and drops the statement."""
    prepared = context.current
    finish(context)
    context.drop(prepared)


def refuse(context: SessionContext, message: Request) -> None:
    """Reject a message that is not supported."""
    raise SqlError(-999, token=type(message).__name__)


HANDLERS: Final[dict[type, Handler]] = {
    requests.Prepare: prepare,
    requests.Command: command,
    requests.Id: choose,
    requests.Describe: describe,
    requests.WantDone: tell_done,
    requests.DescribeInput: describe_input,
    requests.AutoGenKeys: ignore_keys,
    requests.Bind: bind,
    requests.Execute: execute,
    requests.Release: release,
}
