"""Rows gathered into blocks for sending. Never: who sends them, how they are processed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aioifx.client.bulk.sources import SourceReader
from aioifx.client.execution.insert_cursor import MAX_ROWS, InsertCursor
from aioifx.errors import InterfaceError
from aioifx.sqltypes import Row

BLOCK: Final = 128 * 1024
"""Default size of a block in bytes (measured: see docs/howto/loading.md)."""

_FIRST: Final = 16
"""Rows read first, while their size is still unknown."""

_MOST: Final = 1024
"""Rows read at a time; other tasks can run in between."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that are sent together."""

    first: int
    """0-based index of the first row."""
    rows: list[Row]
    """Kept until the server has accepted the block, to find a row that it rejects."""
    messages: bytes | bytearray


def check_block(block: object) -> None:
    """Raise InterfaceError unless *block* is a valid number of rows for SQ_PUT."""
    if block is None:
        return
    if not isinstance(block, int) or not 1 <= block <= MAX_ROWS:
        raise InterfaceError(f"block: expected 1 to {MAX_ROWS} rows, got {block!r:.40}")


class Blocks:
    """The blocks of one load, one after another.

    Args:     rows: number of rows in a block; None: as many as fill BLOCK bytes.
    """

    def __init__(self, feed: SourceReader, cursor: InsertCursor, rows: int | None = None) -> None:
        self._feed = feed
        self._cursor = cursor
        self._limit = rows
        self._count = 0
        self._width = BLOCK // _FIRST
        """Bytes of one row, estimated from the last ones; the initial value is a safe guess."""

    async def make(self) -> Block | None:
        """The next block; None when there are no more rows.

        Raises:   DataError: a value does not fit; names the row. Any exception of the source.
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
        """Number of rows to read next; 0 if the block is full."""
        if self._limit is not None:
            return min(_MOST, self._limit - rows)
        if size >= BLOCK:
            return 0
        return min(_MOST, MAX_ROWS - rows, (BLOCK - size) // self._width + 1)
