"""What a call does with its statement: fetch its rows, or execute it. Never: the lock, which statement it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from aioifx._speedups.round_trip import InFlight
from aioifx.client.config.options import MIN_FETCH_SIZE
from aioifx.client.execution.queued_call import Sender
from aioifx.client.execution.read_again import fill
from aioifx.client.execution.result import ExecuteResult, result_of
from aioifx.client.execution.row_plan import converted
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_state import PREPARED, WITH_ROWS
from aioifx.rows import RowFactory
from aioifx.sqltypes import Value
from aioifx.wire.replies import Reply

A = TypeVar("A")
T = TypeVar("T")

Action: TypeAlias = Callable[[Statement, Sequence[Value], A, Awaitable[Reply] | None], Awaitable[T]]
"""What a call does with its statement, its parameters and an argument of its own. The last is the reply, if the request
is sent."""


async def fetch_all_rows(
    statement: Statement,
    params: Sequence[Value],
    factory: RowFactory[Any],
    sent: Awaitable[Reply] | None = None,
) -> list[Any]:
    """All rows, converted block by block to limit memory; a statement that returns none is executed."""
    if not statement.returns_rows:
        await statement.execute(params)
        return []
    session = statement.session
    plan = statement.plans.last
    if plan is None or plan.factory is not factory:
        plan = statement.plans.of_factory(factory)
    read_rows, convert, _, large = plan
    if sent is None:
        in_flight = statement.try_send_open(params, read_rows, session.fetch_buffer.size)
        sent = None if in_flight is None else session.dispatcher.reply(in_flight)
    rows: list[Any] = (
        await statement.open(params, read_rows=read_rows)
        if sent is None
        else statement.accept_block(await sent)
    )
    if large is not None:
        rows = (await fill(statement, large, rows, params)).rows
    if convert is not None:
        rows = converted(rows, convert)
    while statement.state is not PREPARED and statement.state in WITH_ROWS:  # the first test is the fast one
        block = await statement.fetch_block(ahead=large is None)
        if large is not None:
            block, is_whole = await fill(statement, large, block, params)
            if is_whole:
                rows.clear()
        rows += block if convert is None else converted(block, convert)
    return rows


async def fetch_first_row(
    statement: Statement,
    params: Sequence[Value],
    factory: RowFactory[Any],
    sent: Awaitable[Reply] | None = None,
) -> Any:
    """The first row, converted, or None; requests as little as JDBC's smallest buffer holds.

    A statement that returns no rows is executed.
    """
    if not statement.returns_rows:
        await statement.execute(params)
        return None
    plan = statement.plans.last
    if plan is None or plan.factory is not factory:
        plan = statement.plans.of_factory(factory)
    read_rows, convert, _, large = plan
    if sent is None:
        in_flight = statement.try_send_open(params, read_rows, MIN_FETCH_SIZE)
        sent = None if in_flight is None else statement.session.dispatcher.reply(in_flight)
    rows = (
        await statement.open(params, MIN_FETCH_SIZE, read_rows=read_rows)
        if sent is None
        else statement.accept_block(await sent)
    )
    while not rows and statement.state in WITH_ROWS:
        rows = await statement.fetch_block()
    if not rows:
        return None
    if large is not None and not (rows := (await fill(statement, large, rows[:1], params)).rows):
        return None
    return rows[0] if convert is None else convert(rows[0])


async def _count_rows(statement: Statement, params: Sequence[Value]) -> int:
    """Fetch and discard all rows; returns their number."""
    count = len(await statement.open(params))
    while statement.state in WITH_ROWS:
        count += len(await statement.fetch_block(ahead=True))
    return count


async def execute_statement(
    statement: Statement, params: Sequence[Value], _: None = None, sent: Awaitable[Reply] | None = None
) -> ExecuteResult:
    """Execute; rows of a query are fetched, counted and discarded."""
    if statement.returns_rows:
        count = await _count_rows(statement, params)
        return result_of(statement.kind, None, rowcount=count)
    reply = await statement.execute(params, sent)
    if reply.is_plain:  # without warnings of routines
        return result_of(statement.kind, reply.done, reply.serials, statement.warnings)
    return result_of(
        statement.kind,
        reply.done,
        reply.serials,
        warnings=statement.warnings,
        warned=reply.warnings,
        left_out=reply.warnings_left_out,
    )


# -- the first request of a call that waits ---------------------------------------------------------------------------


def _send_all(
    statement: Statement, params: Sequence[Value], factory: RowFactory[Any], future: asyncio.Future[Reply]
) -> InFlight | None:
    plan = statement.plans.last
    if not statement.returns_rows or plan is None or plan.factory is not factory:
        return None
    size = statement.session.fetch_buffer.size
    return statement.try_send_open(params, plan.read_rows, size, False, future)


def _send_first(
    statement: Statement, params: Sequence[Value], factory: RowFactory[Any], future: asyncio.Future[Reply]
) -> InFlight | None:
    plan = statement.plans.last
    if not statement.returns_rows or plan is None or plan.factory is not factory:
        return None
    return statement.try_send_open(params, plan.read_rows, MIN_FETCH_SIZE, False, future)


def _send_execute(
    statement: Statement, params: Sequence[Value], _: None, future: asyncio.Future[Reply]
) -> InFlight | None:
    return None if statement.returns_rows else statement.try_send_execute(params, future)


SENDERS: Final[Mapping[object, Sender]] = {
    fetch_all_rows: _send_all,
    fetch_first_row: _send_first,
    execute_statement: _send_execute,
}
"""By the action of a call, what sends its first request."""
