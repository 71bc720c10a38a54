"""An open scroll cursor: where it stands, and which fetch leads to another row. Never: messages, what a row becomes.

Rows are numbered from 1, as SQ_TUPID does it. A scroll cursor keeps the rows that it has read in a temporary table
(documented), so what is known of them stays true, and is not asked for again.

Whoever calls a coroutine of this module holds the session's turn.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from aioifx.client.execution.statement import Statement
from aioifx.sqltypes import Row

_MOST_ROWS: Final = 0x7FFF_FFFF
"""SQ_SFETCH and SQ_TUPID have four bytes for a row's number."""


class Kind(IntEnum):
    """What SQ_SFETCH asks for; JDBC uses no other kinds, and expresses every move by these (observed: scroll.json)."""

    NEXT = 1
    LAST = 4
    ABSOLUTE = 6


class Scrolling:
    """Moves about in the rows of one open scroll cursor."""

    def __init__(self, statement: Statement) -> None:
        self._statement = statement
        self._row: int | None = 0  # the row it stands on; 0 in front of the first, None behind the last
        self._count: int | None = None  # rows in all, once that is known
        self._reached: int | None = 0  # the row that came last; None when none came
        self._reached_row: Row | None = None
        self._place: int | None = 0  # where the server's own cursor stands; None when that is not known

    @property
    def index(self) -> int | None:
        """How many rows lie in front of the one that `next` leads to; None if that is not known."""
        return self._count if self._row is None else self._row

    # -- moves --------------------------------------------------------------------------------------------------------

    async def next(self) -> Row | None:
        """One row further; None behind the last."""
        return None if self._row is None else await self._go(self._row + 1, stepping=True)

    async def last(self) -> Row | None:
        """To the last row; None if there are no rows."""
        return await self._go(await self._size())

    async def to(self, number: int) -> Row | None:
        """To a row by its number; a negative one counts from the end: -1 is the last.

        A number that no row has leads in front of the first row or behind the last, and gives None.
        """
        return await self._go(number if number >= 0 else await self._size() + 1 + number)

    async def by(self, offset: int) -> Row | None:
        """So many rows on, or back; None outside, as with `to`."""
        if self._row is not None:
            return await self._go(self._row + offset)
        return None if offset >= 0 else await self._go(await self._size() + 1 + offset)

    async def move(self, index: int, *, relative: bool) -> bool:
        """Stand in front of a row, counted from 0; False, and nothing has moved, if there is no such row."""
        if relative:
            index += await self._size() if self._row is None else self._row
        if await self._row_at(index + 1) is None:
            return False
        self._row = index
        return True

    # -- within -------------------------------------------------------------------------------------------------------

    async def _go(self, number: int, *, stepping: bool = False) -> Row | None:
        row = await self._row_at(number, stepping=stepping)
        self._row = number if row is not None else 0 if number < 1 else None
        return row

    async def _row_at(self, number: int, *, stepping: bool = False) -> Row | None:
        """The row with that number; nothing is sent for one that is here already, or that cannot be there."""
        if not 1 <= number <= (_MOST_ROWS if self._count is None else self._count):
            return None
        if number == self._reached:
            return self._reached_row
        # Where the server's cursor does not stand on the row before, what "next" leads to is its own affair.
        is_next = stepping and self._place == number - 1
        last_known = (0, self._reached, self._row)
        await self._fetch(Kind.NEXT if is_next else Kind.ABSOLUTE, number)
        if self._reached is None and number - 1 in last_known:
            self._count = number - 1
        return self._reached_row

    async def _size(self) -> int:
        """How many rows there are; the last one tells."""
        if self._count is None:
            await self._fetch(Kind.LAST, 0)
            self._count = self._reached or 0
        return self._count

    async def _fetch(self, kind: Kind, number: int) -> None:
        found = await self._statement.scroll_fetch(kind, number)
        self._reached, self._reached_row, self._place = found or (None, None, None)
