"""Encoders of rows against each other, endlessly: ``python -m tests.system.fuzz.differential_tuples --seconds 60``.

The reference is the oracle: a run, native or pure, has its bytes for every row, or hands the row back. Inputs are
bytes, so atheris can guide what it calls `rows`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from aioifx.codecs.base import Codec
from aioifx.codecs.native import EncodeRows, native_row_encoder, pure_row_encoder
from aioifx.codecs.rows import RowEncoder
from aioifx.codecs.text import CodeSet
from aioifx.codecs.tuple_frames import TUPLE_FRAME, Frame
from aioifx.errors import Error, NotSupportedError
from aioifx.sqltypes import Column, Row, SqlType
from tests.system.fuzz.differential_params import CODE_SETS, TYPES, Source, go_on, value_for

FRAMES: Final = (TUPLE_FRAME, Frame(b"\0\x11", b"\0\1"), None)

Make = Callable[[Sequence[Codec], CodeSet, Frame | None], EncodeRows]


def _encodable(sql_type: SqlType | None) -> bool:
    try:
        RowEncoder([Column("c", sql_type)] if sql_type else [], CODE_SETS[0])
    except NotSupportedError:
        return False
    return sql_type is not None


_ENCODABLE: Final = tuple(sql_type for sql_type in TYPES if sql_type and _encodable(sql_type))


def rows(data: bytes) -> int:
    """Types and rows made of these bytes, encoded by every encoder that there is; the bytes must agree.

    Returns:
        How many of the rows can be encoded at all.
    """
    source = Source(data)
    code_set, frame = CODE_SETS[source.below(len(CODE_SETS))], FRAMES[source.below(len(FRAMES))]
    types = [_ENCODABLE[source.below(len(_ENCODABLE))] for _ in range(source.below(7))]
    columns = [Column(f"c{index}", sql_type) for index, sql_type in enumerate(types)]
    reference = RowEncoder(columns, code_set, padded_varchar=not source.below(4), frame=frame)
    codecs = [field.codec for field in reference.fields]
    found: list[Any] = []
    while not source.is_empty and len(found) < 30:
        row = [value_for(source, codec.encode) for codec in codecs[source.below(40) == 1 :]]
        found.append(tuple(row) if source.below(4) else row)
    expected = [_expected(reference, row, frame) for row in found]
    for make in encoders():
        _compare(make(codecs, code_set, frame), found, expected)
    return len(expected) - expected.count(None)


def encoders() -> tuple[Make, ...]:
    """Those that are built."""
    try:
        import aioifx._speedups.row_encoder  # noqa: F401
    except ImportError:
        return (pure_row_encoder,)
    return pure_row_encoder, native_row_encoder


def _expected(reference: RowEncoder, row: Row, frame: Frame | None) -> bytes | None:
    try:
        payload = reference.encode_payload(row)
    except Error:
        return None
    head = frame.prefix + len(payload).to_bytes(4, "big") + frame.suffix if frame else b""
    return head + payload + b"\0" * (len(payload) % 2)


def _compare(encode: EncodeRows, found: list[Any], expected: list[bytes | None]) -> None:
    handed_back: list[int] = []

    def reference(row: Row) -> bytes:
        begin = handed_back[-1] + 1 if handed_back else 0
        index = next(index for index in range(begin, len(found)) if found[index] is row)
        handed_back.append(index)
        return expected[index] or b""

    data = encode(found, reference)
    assert bytes(data) == b"".join(piece or b"" for piece in expected)
    assert {index for index, piece in enumerate(expected) if piece is None} <= {*handed_back}


if __name__ == "__main__":
    sys.exit(go_on(rows, __doc__, encoders()))
