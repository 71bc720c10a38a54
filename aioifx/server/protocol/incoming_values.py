"""BYTE and TEXT values that a client sends in pieces after the descriptors that stand for them. Never: a message.

NULLs have no value. The values follow SQ_BIND, or each SQ_PUT, in the order of the descriptors (observed: JDBC,
lob.json).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from aioifx.codecs.large_objects import Descriptor
from aioifx.sqltypes import Row


class IncomingValues:
    """The values received so far."""

    __slots__ = ("_pieces", "_values")

    def __init__(self) -> None:
        self._values: list[bytes] = []
        self._pieces: list[bytes] = []

    @property
    def count(self) -> int:
        """Number of complete values."""
        return len(self._values)

    def add(self, piece: bytes) -> bool:
        """Append a piece of the current value; an empty one ends it. Returns whether it ended the value."""
        if piece:
            self._pieces.append(piece)
            return False
        self._values.append(b"".join(self._pieces))
        self._pieces.clear()
        return True

    def placed(self, rows: Sequence[Row]) -> list[Row]:
        """The rows with values in place of descriptors, as far as they were received."""
        if not self._values:
            return list(rows)
        values = iter(self._values)
        return [
            tuple([next(values, value) if isinstance(value, Descriptor) else value for value in row])
            for row in rows
        ]


def descriptors(rows: Sequence[Row]) -> int:
    """Number of descriptors in *rows*."""
    return sum(isinstance(value, Descriptor) for value in chain.from_iterable(rows))
