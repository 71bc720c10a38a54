"""Rows gathered into batches for sending. Never: a request, a transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from aioifx.client.bulk.sources import SourceReader
from aioifx.client.config.checks import check_whole
from aioifx.client.execution.insert_cursor import MAX_ROWS, InsertCursor
from aioifx.sqltypes import Row

BATCH_SIZE: Final = 128 * 1024
"""Default size of a batch in bytes (measured: see docs/howto/loading.md)."""

_FIRST: Final = 16
"""Rows read first, while the size of a row is unknown."""

_MAX_AT_ONCE: Final = 1024
"""Maximum rows read at a time; other tasks can run between two reads."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows that are sent together."""

    first: int
    """0-based index of the first row."""
    count: int
    """Number of rows."""
    portions: list[Sequence[Row]]
    """The rows, kept until the server has accepted the batch, to find a row that it rejects."""
    messages: list[bytes | bytearray]
    """The SQ_PUT messages, in pieces because copying a batch takes time."""

    @property
    def rows(self) -> Iterator[Row]:
        """The rows, one after another."""
        return chain.from_iterable(self.portions)


def check_block(block: object) -> None:
    """Raise InterfaceError unless the option *block* is a valid number of rows for SQ_PUT."""
    if block is not None:
        check_whole("block", block, 1, MAX_ROWS)


class Batches:
    """The batches of one load, one after another.

    Args:
        rows: number of rows in a batch; None: as many as fill BATCH_SIZE bytes.
        tries_one: the first batch has one row.
    """

    def __init__(
        self, reader: SourceReader, cursor: InsertCursor, rows: int | None = None, *, tries_one: bool = False
    ) -> None:
        self._reader = reader
        self._cursor = cursor
        self._rows = rows
        self._limit = 1 if tries_one else rows
        self._count = 0
        self._width = BATCH_SIZE // _FIRST
        """Bytes of one row, estimated from the last ones; the initial value is a safe guess."""
        self._at_once = 1 if cursor.has_large_values else _MAX_AT_ONCE

    async def next(self) -> Batch | None:
        """The next batch; None when there are no more rows.

        Raises:
            DataError: a value does not fit; names the row. Any exception of the source.
        """
        first, size = self._count, 0
        portions: list[Sequence[Row]] = []
        pieces: list[bytes | bytearray] = []
        while wanted := self._wanted(self._count - first, size):
            read = await self._reader.read(wanted)
            if not read:
                break
            if self._cursor.has_large_values:
                read = await self._cursor.collect(read, self._count, self._reader.place)
            encoded = self._cursor.encode(read, self._count, self._reader.place)
            self._count += len(read)
            self._width = len(encoded) // len(read) + 1
            portions.append(read)
            pieces.append(encoded)
            size += len(encoded)
            if len(read) < wanted and not self._reader.reads_less:
                break
        count = self._count - first
        self._limit = self._rows
        return Batch(first, count, portions, self._cursor.messages(pieces, count)) if count else None

    def _wanted(self, rows: int, size: int) -> int:
        """Number of rows to read next; 0 if the batch is full."""
        if self._limit is not None:
            return min(self._at_once, self._limit - rows)
        if size >= BATCH_SIZE:
            return 0
        return min(self._at_once, MAX_ROWS - rows, (BATCH_SIZE - size) // self._width + 1)
