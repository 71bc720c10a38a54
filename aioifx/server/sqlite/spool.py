"""Rows buffered for a cursor: in memory up to a limit, then in a temporary file. Never: SQL, Informix types."""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Sequence
from tempfile import SpooledTemporaryFile
from typing import Any, Final, TypeAlias

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
