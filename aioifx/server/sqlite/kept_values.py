"""BYTE and TEXT values of an open cursor's rows, kept until it is closed. Never: rows, messages.

A row that is sent has only a descriptor of the value. The client requests the value later, after other rows or after
the end of the rows (observed: informix-driver), when the table's row may have changed. So values are copied as rows
are read: one at a time, to memory up to a limit, then to a temporary file.
"""

from __future__ import annotations

from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import Final

from aioifx.server.sql.runtime.large_objects import kept_text

MEMORY_SIZE: Final = 8 * 1024 * 1024
"""Bytes of one cursor's values that are kept in memory."""

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
