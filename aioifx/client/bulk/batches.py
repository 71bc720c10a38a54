"""Rows, gathered into blocks that are ready to be sent. Never: who sends them, what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aioifx.client.bulk.sources import SourceReader
from aioifx.client.execution.insert_cursor import MAX_ROWS, InsertCursor
from aioifx.errors import InterfaceError
from aioifx.sqltypes import Row

BLOCK: Final = 128 * 1024
"""Bytes of a block whose rows nobody has limited (measured: see docs/howto/loading.md)."""

_FIRST: Final = 16
"""Rows taken at first, when nobody knows yet how large they are."""

_MOST: Final = 1024
"""Rows taken at a time; between two takes others have the event loop."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that go together."""

    first: int
    """The index of the first one, from 0."""
    rows: list[Row]
    """Kept until the server has taken them: a row that it refuses has to be looked for."""
    messages: bytes | bytearray


def check_block(block: object) -> None:
    """Raise unless *block* is a number of rows that SQ_PUT can count."""
    if block is None:
        return
    if not isinstance(block, int) or not 1 <= block <= MAX_ROWS:
        raise InterfaceError(f"block: must be 1 to {MAX_ROWS} rows, not {block!r:.40}")


class Blocks:
    """The blocks of one load, one at a time.

    Args:     rows: of a block; None for as many as fill BLOCK bytes.
    """

    def __init__(self, feed: SourceReader, cursor: InsertCursor, rows: int | None = None) -> None:
        self._feed = feed
        self._cursor = cursor
        self._limit = rows
        self._count = 0
        self._width = BLOCK // _FIRST
        """Bytes of one row, as far as those that came last tell; at first a guess on the safe side."""

    async def make(self) -> Block | None:
        """The next one; None when there are no more rows.

        Raises:   DataError: a value does not fit; names the row. Whatever the rows' source raises.
        """
        first, rows, data = self._count, list[Row](), bytearray()
        while wanted := self._wanted(len(rows), len(data)):
            taken = await self._feed.take(wanted)
            encoded = self._cursor.encode(taken, self._count, self._feed.place)
            self._count += len(taken)
            self._width = len(encoded) // len(taken) + 1 if taken else self._width
            rows += taken
            data += encoded
            if len(taken) < wanted:
                break
        return Block(first, rows, self._cursor.messages(data, len(rows))) if rows else None

    def _wanted(self, rows: int, size: int) -> int:
        """How many rows to take next; 0 when the block is full."""
        if self._limit is not None:
            return min(_MOST, self._limit - rows)
        if size >= BLOCK:
            return 0
        return min(_MOST, MAX_ROWS - rows, (BLOCK - size) // self._width + 1)
