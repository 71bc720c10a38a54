"""An open insert cursor: the rows that SQ_PUT has brought, gathered until they are inserted. Never: a message, SQL."""

from __future__ import annotations

from itertools import chain
from struct import Struct
from typing import Final

from aioifx.codecs.row_codegen import TUPLE
from aioifx.codecs.rows import RowDecoder
from aioifx.errors import DataError
from aioifx.sqltypes import Row

_HEAD: Final = Struct(">hhi")
_PAD: Final = b"\0"


class Insertion:
    """What one insert cursor has in hand."""

    __slots__ = ("_payloads", "hold", "transaction")

    def __init__(self, transaction: int, *, hold: bool = False) -> None:
        """Args:     transaction: the number of the one that it was opened in.
        hold: it outlives that.
        """
        self.transaction = transaction
        self.hold = hold
        self._payloads: list[tuple[bytes, ...]] = []

    @property
    def waiting(self) -> bool:
        """Whether rows have been put since they were last taken."""
        return bool(self._payloads)

    def put(self, payloads: tuple[bytes, ...]) -> None:
        """Gather rows, in the form of SQ_TUPLE without its head."""
        self._payloads.append(payloads)

    def take(self, decoder: RowDecoder) -> tuple[list[Row], bool]:
        """The rows gathered so far, up to the first that means nothing, and whether there is such a one."""
        payloads, self._payloads = self._payloads, []
        data = bytearray(b"".join(map(_framed, chain.from_iterable(payloads))))
        rows: list[Row] = []
        try:
            decoder(data, 0, len(data), rows)
        except DataError:
            return rows, True
        return rows, False


def _framed(payload: bytes) -> bytes:
    """The payload as an SQ_TUPLE, in whose runs rows are decoded fastest."""
    size = len(payload)
    return _HEAD.pack(TUPLE, 0, size) + payload + _PAD * (size & 1)
