"""An open insert cursor: rows of SQ_PUT, buffered until they are inserted. Never: a message, SQL."""

from __future__ import annotations

from itertools import chain
from struct import Struct
from typing import Final

from aioifx.codecs.rows import RowDecoder
from aioifx.errors import DataError
from aioifx.server.protocol.incoming_values import IncomingValues
from aioifx.sqltypes import Row
from aioifx.wire.tuples import TUPLE

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
