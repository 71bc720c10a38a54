"""What the messages of a statement's life do: prepare, describe, bind, execute, release. Never: a cursor's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from aioifx.codecs.params import decode_value
from aioifx.errors import DataError, NotSupportedError
from aioifx.server.protocol.context import Handler, SessionContext
from aioifx.server.protocol.statement_table import Slot
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Plan, StatementType
from aioifx.sqltypes import Column
from aioifx.wire import replies, requests
from aioifx.wire.requests import Request

_ALL_ROWS: Final = 0x08  # a warning of SQ_DONE: UPDATE or DELETE without WHERE (documented: sqlwarn4)


def finish(desk: SessionContext) -> None:
    """What the end of a group, or another statement, implies for this one: a command is executed and forgotten."""
    slot = desk.slot
    if slot is None or not slot.is_command:
        return
    try:
        if not slot.executed:
            run(desk, slot)
    finally:
        desk.drop(slot)


def prepare(desk: SessionContext, message: requests.Prepare) -> None:
    """SQ_PREPARE: checked and translated, not executed."""
    finish(desk)
    desk.slot = desk.slots.add(desk.engine.prepare(desk.text(message.sql)))


def command(desk: SessionContext, message: requests.Command) -> None:
    """SQ_COMMAND: a statement that is executed and forgotten in the same group."""
    finish(desk)
    statement = desk.engine.prepare(desk.text(message.sql))
    desk.slot = desk.slots.add(statement, is_command=True)


def choose(desk: SessionContext, message: requests.Id) -> None:
    """SQ_ID."""
    slot = desk.slots.find(message.statement_id)
    if slot is not desk.slot:
        finish(desk)
        desk.slot = slot


def describe(desk: SessionContext, message: requests.Describe) -> None:
    """SQ_NDESCRIBE, answered by SQ_DESCRIBE."""
    plan = desk.here.statement.plan
    columns, row_size = _laid_out(desk, plan.columns)
    description = replies.Description(plan.type, desk.here.statement_id, columns, row_size, estimate=1)
    replies.put_describe(desk.outbox, desk.capabilities, description)


def _laid_out(desk: SessionContext, columns: Sequence[Column]) -> tuple[tuple[Column, ...], int]:
    """The columns with their start positions, and the size of the widest row."""
    position = 0
    placed: list[Column] = []
    for column, width in zip(columns, desk.portions(columns).widths, strict=True):
        placed.append(replace(column, start=position))
        position += width
    return tuple(placed), position


def tell_done(desk: SessionContext, message: requests.WantDone) -> None:
    """SQ_WANTDONE, behind SQ_PREPARE. For INSERT, SQ_INSERTDONE comes here too, and means nothing yet (observed)."""
    plan = desk.here.statement.plan
    if plan.type is StatementType.INSERT:
        replies.put_insertdone(desk.outbox, desk.capabilities, replies.Serials())
    desk.put_done(replies.Done(_warnings_of(plan)))


def _warnings_of(plan: Plan) -> int:
    return _ALL_ROWS if plan.type in (StatementType.UPDATE_ALL, StatementType.DELETE_ALL) else 0


def describe_input(desk: SessionContext, message: requests.DescribeInput) -> None:
    """SQ_CIDESCRIBE."""
    types = [parameter.type for parameter in desk.here.statement.plan.parameters]
    replies.put_idescribe(desk.outbox, desk.capabilities, types)


def ignore_keys(desk: SessionContext, message: requests.AutoGenKeys) -> None:
    """SQ_AUTOGENKEYS: the keys travel in SQ_DONE and SQ_INSERTDONE in any case."""


def bind(desk: SessionContext, message: requests.Bind) -> None:
    """SQ_BIND: the values stay until others come.

    Raises:   SqlFault: -415, one cannot be converted; -999, it is of a type that is not served.
    """
    slot, code_set = desk.here, desk.code_set
    try:
        slot.values = tuple(
            [
                decode_value(code & 0xFF, indicator, precision, data, code_set)
                for code, _, _, indicator, precision, data in message.entries
            ]
        )
    except DataError:
        raise SqlError(-415) from None
    except NotSupportedError as error:
        raise SqlError(-999, token=str(error)) from None


def execute(desk: SessionContext, message: requests.Execute) -> None:
    """SQ_EXECUTE."""
    run(desk, desk.here)


def run(desk: SessionContext, slot: Slot) -> None:
    """Execute a statement and tell how it ended."""
    slot.executed = True
    plan = slot.statement.plan
    outcome = desk.engine.execute(slot.statement, slot.values)
    if outcome.opened is not None:
        desk.close_all()
        desk.put_opened(outcome.opened)
        return
    if plan.type is StatementType.INSERT:
        serials = replies.Serials(outcome.serial8, outcome.bigserial)
        replies.put_insertdone(desk.outbox, desk.capabilities, serials)
    desk.put_outcome(outcome, _warnings_of(plan) if slot.is_command else 0)


def release(desk: SessionContext, message: requests.Release) -> None:
    """SQ_RELEASE: the statement, and what stands open on it."""
    slot = desk.here
    finish(desk)
    desk.drop(slot)


def refuse(desk: SessionContext, message: Request) -> None:
    """Large objects and routines."""
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
