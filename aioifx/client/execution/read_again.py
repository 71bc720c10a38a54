"""BYTE and TEXT values that a server dropped with their cursor: the query is read again. Never: how values are fetched.

With OPTOFC a server closes the cursor with the last row, and may refuse the values of these rows then. The same query
is read on another connection, whose cursors stay open, if nothing can depend on its being run twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from aioifx.client.execution.large_values import LargeValues, ValueNotKept
from aioifx.client.execution.prepare import prepare
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_state import PREPARED, WITH_ROWS
from aioifx.client.sql.statement_rules import calls_routine
from aioifx.errors import DatabaseError
from aioifx.sqltypes import Row, Value


class Filled(NamedTuple):
    """Rows with their large values."""

    rows: list[Row]
    is_whole: bool = False
    """Whether they are all rows of the query, which was read again."""


async def fill(
    statement: Statement, large: LargeValues, rows: list[Row], params: Sequence[Value] | None = None
) -> Filled:
    """`LargeValues.fill`; all rows of the query if they had to be read again.

    Args:
        params: of the statement; None: the caller has returned earlier rows, so that they cannot be read again.

    Raises:
        DatabaseError: as `LargeValues.fill`; or the server has dropped a value, and the query cannot be read again. The
            message names the option, unless the server closes cursors without it, too.
    """
    large.is_cursor_closed = statement.state is PREPARED
    try:
        return Filled(await large.fill(rows))
    except ValueNotKept as lost:
        error = lost.error
    behavior = statement.session.behavior
    if params is None or not _may_read_again(statement, large):
        behavior.learn("keeps_closed_values", False)
        raise error
    limit = asyncio.timeout_at(statement.session.dispatcher.deadline)
    reason: Exception
    try:
        async with limit:
            rows = await _read_again(statement, large, params)
    except ValueNotKept as lost:  # OPTOFC may be set at the server for every client (documented)
        error, reason = lost.error, error
    except DatabaseError as failure:
        if failure.sqlcode and failure.sqlcode == error.sqlcode:
            raise error from failure  # it is not readable at all, which says nothing about the server
        error.add_note(f"reading it again on another connection failed: {failure}")
        reason = failure
    except TimeoutError as failure:
        if not limit.expired():
            raise
        error.add_note("reading it again on another connection exceeded the time limit of the call")
        reason = failure
    else:
        behavior.learn("keeps_closed_values", False)
        return Filled(rows, is_whole=True)
    behavior.learn("keeps_closed_values", False)
    raise error from reason


def _may_read_again(statement: Statement, large: LargeValues) -> bool:
    """Whether the query has no side effect, and another connection with the same options sees the same.

    Assumed: no view that it names calls a routine with side effects, and no trigger on SELECT has them.
    """
    session = statement.session
    return (
        session.reconnect is not None
        and session.options.sends_optofc
        and statement.is_repeatable
        and not calls_routine(statement.sql)
        and not (session.transactions.is_open or session.database.is_ansi)
        and session.transactions.autocommit
        and session.is_resettable
        and not (large.has_handles or statement.has_consumed)
    )


async def _read_again(statement: Statement, large: LargeValues, params: Sequence[Value]) -> list[Row]:
    session = statement.session
    assert session.reconnect is not None
    async with session.reconnect() as other:
        other.conversions = statement.conversions
        other.settings.push(session.settings.isolation, session.settings.lock_mode)
        async with other:
            again = await prepare(other, statement.sql, params)
            if again.columns != statement.columns:
                raise DatabaseError("the columns have changed", sql=statement.sql)
            values = large.elsewhere(again.plans.fetching)
            rows: list[Row] = []
            block = await again.open(params, read_rows=statement.cursor.read_rows)
            while True:
                values.is_cursor_closed = again.state is PREPARED
                rows += await values.fill(block)
                if again.state not in WITH_ROWS:
                    return rows
                block = await again.fetch_block()
