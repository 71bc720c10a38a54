"""Rows of an insert cursor, and BYTE and TEXT values that a client sends in pieces. Never: a message, SQL.

A descriptor in a row stands for a value; NULLs have none. The values follow SQ_BIND, or each SQ_PUT, in the order of
the descriptors (observed: JDBC, lob.json).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from struct import Struct
from typing import Final

from aioifx.codecs.large_objects import Descriptor
from aioifx.codecs.rows import RowDecoder
from aioifx.errors import DataError
from aioifx.sqltypes import Row
from aioifx.wire.tuples import TUPLE


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


_HEAD: Final = Struct(">hhi")
_PAD: Final = b"\0"


class Insertion:
    """The state of one insert cursor.

    Args:
        transaction: the number of the transaction that the cursor was opened in.
        hold: the cursor stays open after that transaction.
    """

    __slots__ = ("_payloads", "hold", "incoming", "transaction")

    def __init__(self, transaction: int, *, hold: bool = False) -> None:
        self.transaction = transaction
        self.hold = hold
        self._payloads: list[tuple[bytes, ...]] = []
        self.incoming = IncomingValues()
        """The BYTE and TEXT values of the rows, in order."""

    def put(self, payloads: tuple[bytes, ...]) -> None:
        """Buffer rows, each encoded as SQ_TUPLE without its header."""
        self._payloads.append(payloads)

    def drain(self, decoder: RowDecoder) -> tuple[list[Row], bool]:
        """The buffered rows up to the first that cannot be decoded, and whether there is such a row."""
        payloads, self._payloads = self._payloads, []
        incoming, self.incoming = self.incoming, IncomingValues()
        data = bytearray(b"".join(map(_framed, chain.from_iterable(payloads))))
        rows: list[Row] = []
        try:
            decoder(data, 0, len(data), rows)
        except DataError:
            return incoming.placed(rows), True
        return incoming.placed(rows), False


def _framed(payload: bytes) -> bytes:
    """The payload as an SQ_TUPLE message, since the decoder is fastest on runs of them."""
    size = len(payload)
    return _HEAD.pack(TUPLE, 0, size) + payload + _PAD * (size & 1)
