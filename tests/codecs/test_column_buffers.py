from __future__ import annotations

import sys

from aioifx.codecs.arrow_layout import fields_for
from aioifx.codecs.column_buffers import PureColumns
from tests.codecs.samples import BOOLEAN, INTEGER, LATIN1, VARCHAR, columns_of


def test_a_null_is_zeros_and_a_bit_that_is_not_set() -> None:
    columns = PureColumns(fields_for(columns_of(INTEGER, BOOLEAN, VARCHAR), LATIN1), LATIN1)
    nought, four, seven, eight = (number.to_bytes(4, sys.byteorder) for number in (0, 4, 7, 8))
    filled = (seven, b"\1", b"text")
    for row in (filled, (None, None, None), filled):
        assert columns.append(row)
    assert columns.finish() == (
        3,
        [
            (1, b"\x05", seven + nought + seven, None),
            (1, b"\x05", b"\x05", None),
            (1, b"\x05", nought + four + four + eight, b"texttext"),
        ],
    )
    assert (columns.rows, columns.nbytes) == (0, 0)


def test_bits_go_on_in_the_next_byte() -> None:
    columns = PureColumns(fields_for(columns_of(BOOLEAN), LATIN1), LATIN1)
    for place in range(11):
        columns.append((b"\1" if place in (0, 7, 8, 10) else b"\0",))
    assert columns.finish() == (11, [(0, None, b"\x81\x05", None)])


def test_a_row_without_room_is_not_appended() -> None:
    columns = PureColumns(fields_for(columns_of(VARCHAR, VARCHAR), LATIN1), LATIN1, most_bytes=5)
    assert columns.append((b"12345", b""))
    assert not columns.append((b"", b"123456"))
    assert not columns.append((b"6", b""))
    assert columns.append((None, b"12345"))
    assert columns.rows == 2
