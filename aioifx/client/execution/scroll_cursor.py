"""An open scroll cursor: its position, and the fetch for each move. Never: row factories.

Rows are numbered from 1, as in SQ_TUPID. A scroll cursor keeps the rows that it has read in a temporary table
(documented). So what is known of them stays valid and is not queried again.

Callers of this module's coroutines hold the session's lock.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import IntEnum
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from aioifx.client.config.checks import Lobs
from aioifx.client.config.options import MIN_FETCH_SIZE
from aioifx.client.execution.cursor_requests import REPLY_SLACK
from aioifx.client.execution.large_values import LargeValues
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_requests import statement_request
from aioifx.client.execution.statement_state import ON_CLOSE, ON_OPEN
from aioifx.client.session.failures import raise_for
from aioifx.errors import ProtocolError
from aioifx.sqltypes import Row, Value
from aioifx.wire import requests
from aioifx.wire.replies import Reply

_MAX_ROWS: Final = 0x7FFF_FFFF
"""SQ_SFETCH and SQ_TUPID have four bytes for a row number."""


class Orientation(IntEnum):
    """Kinds of SQ_SFETCH; JDBC expresses every move by these (observed: scroll.json)."""

    NEXT = 1
    LAST = 4
    ABSOLUTE = 6


class Fetched(NamedTuple):
    """One row of a scroll cursor."""

    number: int
    row: Row
    position: int
    """Row that the server's cursor is on."""


Fetch: TypeAlias = Callable[[Orientation, int], Awaitable[Fetched | None]]
"""Fetches the row with this number; None if there is none."""


class ScrollCursor:
    """Moves within the rows of one open scroll cursor."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch_row = fetch
        self._row: int | None = 0  # current row; 0 before the first, None after the last
        self._count: int | None = None  # number of rows, once known
        self._reached: int | None = 0  # the row fetched last; None if there was none
        self._reached_row: Row | None = None
        self._place: int | None = 0  # position of the server's cursor; None if unknown

    @property
    def index(self) -> int | None:
        """0-based index of the row that `next` returns; None if unknown."""
        return self._count if self._row is None else self._row

    # -- moves --------------------------------------------------------------------------------------------------------

    async def next(self) -> Row | None:
        """The next row; None after the last."""
        return None if self._row is None else await self._go(self._row + 1, stepping=True)

    async def absolute(self, number: int) -> Row | None:
        """Move to a row by its number; a negative number counts from the end, -1 is the last row.

        Returns None for a number outside the result; the position is then before the first or after the last row.
        """
        return await self._go(number if number >= 0 else await self._size() + 1 + number)

    async def relative(self, offset: int) -> Row | None:
        """Move by *offset* rows; None outside the result, as with `absolute`."""
        if self._row is not None:
            return await self._go(self._row + offset)
        return None if offset >= 0 else await self._go(await self._size() + 1 + offset)

    async def position(self, index: int, *, relative: bool) -> bool:
        """Move before a row, counted from 0; False without moving if there is no such row."""
        if relative:
            index += await self._size() if self._row is None else self._row
        if await self._row_at(index + 1) is None:
            return False
        self._row = index
        return True

    # -- internals ----------------------------------------------------------------------------------------------------

    async def _go(self, number: int, *, stepping: bool = False) -> Row | None:
        row = await self._row_at(number, stepping=stepping)
        self._row = number if row is not None else 0 if number < 1 else None
        return row

    async def _row_at(self, number: int, *, stepping: bool = False) -> Row | None:
        """The row with that number; sends nothing for a known row, or for one that cannot exist."""
        if not 1 <= number <= (_MAX_ROWS if self._count is None else self._count):
            return None
        if number == self._reached:
            return self._reached_row
        # NEXT is usable only if the server's cursor is on the previous row.
        is_next = stepping and self._place == number - 1
        last_known = (0, self._reached, self._row)
        await self._fetch(Orientation.NEXT if is_next else Orientation.ABSOLUTE, number)
        if self._reached is None and number - 1 in last_known:
            self._count = number - 1
        return self._reached_row

    async def _size(self) -> int:
        """The number of rows, from the number of the last one."""
        if self._count is None:
            await self._fetch(Orientation.LAST, 0)
            self._count = self._reached or 0
        return self._count

    async def _fetch(self, kind: Orientation, number: int) -> None:
        found = await self._fetch_row(kind, number)
        self._reached, self._reached_row, self._place = found or (None, None, None)


# -- requests ---------------------------------------------------------------------------------------------------------


async def open_scroll_cursor(
    statement: Statement, params: Sequence[Value], *, hold: bool, lobs: Lobs | None = None
) -> ScrollCursor:
    """Open a scroll cursor, without fetching.

    Wire: ID · CURNAME · [BIND] · SCROLL · [HOLD] · OPEN
    Source: observed: JDBC, scroll.json

    Args:
        lobs: how large values are returned; None: the connection's. Servers refuse BYTE and TEXT (documented).
    """
    statement.plans.reader()
    large = statement.plans.large_values(lobs)
    statement.check_usable()
    params = await statement.encoder.collect(params)
    outbox = statement_request(statement.statement_id)
    requests.put_curname(outbox, statement.cursor.name())
    statement.encoder.put(outbox, params)
    requests.put_scroll(outbox)
    if hold:
        requests.put_hold(outbox)
    await statement.check_may_run()
    requests.put_open(outbox)
    statement.state = ON_OPEN[statement.state]
    reply = await statement.session.conversation.exchange(
        outbox, interruptible=True, on_lost=statement.on_lost
    )
    raise_for(reply, statement.sql, statement.session.options)
    return ScrollCursor(partial(_fetch, statement, large))


async def _fetch(
    statement: Statement, large: LargeValues | None, orientation: Orientation, row: int
) -> Fetched | None:
    """Fetch one row of a scroll cursor.

    Wire: ID · [RET_TYPE] · SFETCH; the reply is TUPLE · TUPID · [DONE], or TUPID · TUPLE · DONE
    Source: observed: JDBC, scroll.json: RET_TYPE every time, one row at a time; an unexpected number ends in an
    internal error of JDBC. That the row precedes its number: JDBC, which otherwise cannot move back after last(), and
    informix-driver, which takes the last of several rows for the one of that number (12.10, 14.10 and 15)
    """
    statement.check_usable()
    session, outbox = statement.session, statement_request(statement.statement_id)
    if statement.cursor.ret_types:
        requests.put_ret_type(outbox, session.conversation.capabilities, statement.cursor.ret_types)
    size = max(MIN_FETCH_SIZE, statement.cursor.row_size)
    requests.put_scroll_fetch(outbox, orientation, row, size)
    reply = await session.conversation.exchange(
        outbox,
        session.conversation.reader(statement.plans.reader(), 2 * size + REPLY_SLACK),
        on_success=partial(_check_fetched, row),
        interruptible=True,
        on_lost=statement.on_lost,
    )
    if reply.is_cursor_closed:
        statement.state = ON_CLOSE[statement.state]
    raise_for(reply, statement.sql, statement.session.options)
    if not (reply.rows and reply.row_number):
        return None
    found = row or reply.row_number
    wanted = reply.rows[found - reply.row_number - 1]
    if large is not None:
        wanted = await large.fill_row(wanted)
    return Fetched(found, wanted, reply.row_number)


def _check_fetched(asked: int, reply: Reply) -> None:
    """Check the reply to a scroll fetch: empty, or rows up to its number, including the *asked* one."""
    count, number = len(reply.rows), reply.row_number or 0
    if reply.bad_value is None and count and not 0 <= number - count < (asked or number) <= number:
        came = f"row {number}" if count == 1 else f"{count} rows up to {number}"
        raise ProtocolError(f"expected row {asked or 'last'}, got {came}")
