"""The frame of SQ_TUPLE around a row. Never: what is in a row.

Wire: 2 tag 14 · 2 warnings · 4 size · size bytes · pad to even; nothing is padded inside a row
Source: observed, gbase8s_messages.json, tuple_payloads.json
"""

from __future__ import annotations

from struct import Struct, pack
from typing import Final, NamedTuple

from aioifx.errors import ProtocolError
from aioifx.wire.tuples import TUPLE, TUPLE_HEAD

_HEAD: Final = Struct(">hxxi")


class Frame(NamedTuple):
    """The bytes around the size of a row, in four bytes, which is before the row."""

    prefix: bytes
    suffix: bytes


TUPLE_FRAME: Final = Frame(pack(">hh", TUPLE, 0), b"")


def whole_size(data: bytearray, pos: int, end: int) -> int:
    """The bytes of the message at *pos* if it is a whole SQ_TUPLE, else 0; less than TUPLE_HEAD if it is invalid."""
    if end - pos < TUPLE_HEAD:
        return 0
    tag, size = _HEAD.unpack_from(data, pos)
    whole: int = TUPLE_HEAD + size + (size & 1)
    return whole if tag == TUPLE and pos + whole <= end else 0


def whole_payload(data: bytearray, pos: int, end: int) -> bytes | None:
    """The row in the message at *pos*; None if it is not a whole SQ_TUPLE.

    Raises:
        ProtocolError: the size is negative.
    """
    if end - pos < TUPLE_HEAD:
        return None
    tag, size = _HEAD.unpack_from(data, pos)
    if tag != TUPLE:
        return None
    if size < 0:
        raise ProtocolError(f"SQ_TUPLE of {size} bytes")
    start = pos + TUPLE_HEAD
    return bytes(data[start : start + size]) if start + size + (size & 1) <= end else None


def framed_size(payload: bytes) -> int:
    """The bytes of the message that carries *payload*."""
    return TUPLE_HEAD + len(payload) + (len(payload) & 1)


def framed(payload: bytes) -> bytes:
    """The message that carries *payload*."""
    size = len(payload)
    return TUPLE_FRAME.prefix + size.to_bytes(4, "big") + payload + bytes(size & 1)
