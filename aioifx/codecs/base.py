"""Codec: decode, encode, null, step kind. Never: a concrete type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import tzinfo
from enum import IntEnum
from typing import Final, Literal, TypeAlias

from aioifx.errors import DataError
from aioifx.sqltypes import Value

MAX_BYTES: Final = 2**31 - 1
"""The largest offset in a text or binary column."""
Decode: TypeAlias = Callable[[bytes], Value]
"""The whole field, head included -> its value, None for NULL. Raises DataError for invalid bytes."""

Encode: TypeAlias = Callable[[Value], bytes]
"""A value, or None for NULL -> the whole field. Raises DataError for a value that the type cannot hold."""

Floating: TypeAlias = Literal["float", "text"] | int
"""How a column of Arrow stores DECIMAL(p): as a double, as text, or with this many digits after the point."""


class Kind(IntEnum):
    """The fields that generated and native code decode; OTHER is decoded by Codec.decode."""

    OTHER = 0
    SMALLINT = 1
    INTEGER = 2
    BIGINT = 3
    INT8 = 4
    SMALLFLOAT = 5
    FLOAT = 6
    DECIMAL = 7
    DATE = 8
    DATETIME = 9
    INTERVAL = 10
    BOOLEAN = 11
    CHAR = 12
    VARCHAR = 13
    LVARCHAR = 14
    INTEGRAL = 15
    """DECIMAL or MONEY of scale 0 that is decoded as int."""


VARCHAR_HEAD: Final = 1
"""A VARCHAR field begins with its size in one byte."""

ENVELOPE_HEAD: Final = 5
"""An extended type begins with an indicator byte (1 = NULL) and its size in four."""


MAX_SIZE: Final = 2**31 - 1
"""Largest size of a field on the wire, whose four bytes are signed (assumed; documented for BYTE and TEXT)."""


def sized(data: bytes) -> bytes:
    """*data* after its size in four bytes.

    Raises:
        DataError: it is larger than `MAX_SIZE`.
    """
    if len(data) > MAX_SIZE:
        raise DataError(f"value of {len(data)} bytes: expected at most {MAX_SIZE}")
    return len(data).to_bytes(4, "big") + data


@dataclass(frozen=True, slots=True, eq=False)
class Codec:
    """One column type as a row carries it: how many bytes a field has, and what they mean.

    Args:
        kind:   for generated and native code.
        head:   bytes that give the size of the rest; 0 for a field of fixed width.
        width:  bytes of the whole field when it is fixed; else 0.
        detail: for *kind*: an encoded length, or whether blanks are stripped.
        capacity: the most bytes of a text of varying size; 0: no limit.
        zone: of the datetimes that *decode* returns; None: they are naive.
    """

    kind: Kind
    head: int
    width: int
    decode: Decode
    encode: Encode
    detail: int = 0
    capacity: int = 0
    zone: tzinfo | None = None

    def rest(self, head: bytes) -> int:
        """How many bytes of the field follow its first *self.head* bytes."""
        if self.head == VARCHAR_HEAD:
            return head[0]
        if self.head == ENVELOPE_HEAD:
            return int.from_bytes(head[1:5], "big")
        return self.width
