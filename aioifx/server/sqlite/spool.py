"""Rows buffered for a cursor, and its BYTE and TEXT values: in memory, then in a file. Never: SQL, Informix types.

A row that is sent has only a descriptor of the value. The client requests the value later, after other rows or after
the end of the rows (observed: informix-driver), when the table's row may have changed. So values are copied as rows
are read, one at a time, and kept until the cursor is closed.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence
from tempfile import SpooledTemporaryFile
from typing import Any, Final, TypeAlias

from aioifx.server.sql.runtime.large_objects import kept_text

StoredRow: TypeAlias = tuple[Any, ...]
"""A row from SQLite: int, float, str, bytes, None."""

MEMORY_SIZE: Final = 8 * 1024 * 1024
"""Bytes of one spool that are kept in memory."""

BLOCK_ROWS: Final = 500
"""Number of rows written and read together."""


class Spool:
    """An append-only list of rows that uses bounded memory."""

    __slots__ = ("_blocks", "_count", "_file", "_loaded", "_loaded_index", "_pending")

    def __init__(self, memory_size: int = MEMORY_SIZE) -> None:
        self._file = SpooledTemporaryFile[bytes](max_size=memory_size)
        self._blocks: list[tuple[int, int]] = []  # offset and size of each block of BLOCK_ROWS rows
        self._pending: list[StoredRow] = []  # rows after the last full block
        self._count = 0
        self._loaded: list[StoredRow] = []
        self._loaded_index = -1

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Sequence[StoredRow]) -> None:
        """Append *rows*."""
        self._pending.extend(rows)
        self._count += len(rows)
        whole = len(self._pending) - len(self._pending) % BLOCK_ROWS
        for start in range(0, whole, BLOCK_ROWS):
            block = marshal.dumps(self._pending[start : start + BLOCK_ROWS])
            offset = self._file.seek(0, 2)
            self._file.write(block)
            self._blocks.append((offset, len(block)))
        del self._pending[:whole]

    def rows(self, start: int, count: int) -> list[StoredRow]:
        """At most *count* rows starting at index *start*; fewer at the end."""
        found: list[StoredRow] = []
        stop = min(start + count, self._count)
        while start < stop:
            index, skipped = divmod(start, BLOCK_ROWS)
            piece = self._block(index)[skipped : skipped + stop - start]
            found += piece
            start += len(piece)
        return found

    def _block(self, index: int) -> list[StoredRow]:
        if index == len(self._blocks):
            return self._pending
        if index != self._loaded_index:
            offset, size = self._blocks[index]
            self._file.seek(offset)
            self._loaded = marshal.loads(self._file.read(size))
            self._loaded_index = index
        return self._loaded

    def close(self) -> None:
        """Drop the rows."""
        self._file.close()
        self._blocks.clear()
        self._pending.clear()
        self._loaded = []
        self._loaded_index = -1
        self._count = 0


class SpooledRows:
    """Reads a spool once, from its first row; closing it closes the spool."""

    __slots__ = ("_next", "_spool")

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._next = 0

    def __iter__(self) -> Iterator[StoredRow]:
        """All rows, whatever has been read so far."""
        for start in range(0, len(self._spool), BLOCK_ROWS):
            yield from self._spool.rows(start, BLOCK_ROWS)

    def fetchmany(self, size: int, /) -> list[StoredRow]:
        """The next rows, at most *size*."""
        rows = self._spool.rows(self._next, size)
        self._next += len(rows)
        return rows

    def close(self) -> None:
        """Drop the rows."""
        self._spool.close()


_CURSOR_BITS: Final = 32


class KeptValues:
    """The values of one cursor."""

    __slots__ = ("_file", "_places")

    def __init__(self, memory_size: int = MEMORY_SIZE) -> None:
        self._file = SpooledTemporaryFile[bytes](max_size=memory_size)
        self._places: list[tuple[int, int]] = []

    def add(self, value: bytes) -> int:
        """Keep a value; returns its index."""
        self._places.append((self._file.seek(0, 2), len(value)))
        self._file.write(value)
        return len(self._places) - 1

    def pieces(self, index: int, size: int) -> Iterator[bytes]:
        """The value with that index, at most *size* bytes at a time.

        Raises:
            IndexError: no such value.
        """
        place, left = self._places[index]
        while left > 0:
            self._file.seek(place)
            piece = self._file.read(min(left, size))
            place, left = place + len(piece), left - len(piece)
            yield piece

    def close(self) -> None:
        """Drop the values."""
        self._file.close()
        self._places.clear()


class KeptByCursor:
    """The kept values of a session's open cursors; each value has a number that is never used again."""

    __slots__ = ("_cursors", "_last")

    def __init__(self) -> None:
        self._cursors: dict[int, KeptValues] = {}
        self._last = 0

    def open(self) -> int:
        """A number for a new cursor."""
        self._last += 1
        self._cursors[self._last] = KeptValues()
        return self._last

    def keep(self, value: bytes | None, cursor: int) -> str | None:
        """Keep a value; returns its size and number, as a row of the cursor has them."""
        if value is None:
            return None
        index = self._cursors[cursor].add(value)
        return kept_text(len(value), cursor << _CURSOR_BITS | index)

    def pieces(self, reference: int, size: int) -> Iterator[bytes]:
        """The value with that number, at most *size* bytes at a time.

        Raises:
            KeyError, IndexError: no such value, or its cursor is closed.
        """
        return self._cursors[reference >> _CURSOR_BITS].pieces(reference & (1 << _CURSOR_BITS) - 1, size)

    def close(self, cursor: int) -> None:
        """Drop the values of a cursor."""
        kept = self._cursors.pop(cursor, None)
        if kept is not None:
            kept.close()
