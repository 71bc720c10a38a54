"""An open scroll cursor: its position, and the fetch for each move. Never: messages, row factories.

Rows are numbered from 1, as in SQ_TUPID. A scroll cursor keeps the rows that it has read in a temporary table
(documented), so what is known of them stays valid and is not queried again.

Callers of this module's coroutines hold the session's lock.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from aioifx.client.execution.statement import Statement
from aioifx.sqltypes import Row

_MOST_ROWS: Final = 0x7FFF_FFFF
"""SQ_SFETCH and SQ_TUPID have four bytes for a row number."""


class Orientation(IntEnum):
    """Kinds of SQ_SFETCH; JDBC expresses every move by these (observed: scroll.json)."""

    NEXT = 1
    LAST = 4
    ABSOLUTE = 6


class ScrollCursor:
    """Moves within the rows of one open scroll cursor."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
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

    async def last(self) -> Row | None:
        """Move to the last row; None if there are no rows."""
        return await self._go(await self._size())

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
        if not 1 <= number <= (_MOST_ROWS if self._count is None else self._count):
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
        found = await self._statement.scroll_fetch(kind, number)
        self._reached, self._reached_row, self._place = found or (None, None, None)
