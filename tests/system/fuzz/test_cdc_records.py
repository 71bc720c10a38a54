"""Records of change data capture with accidents: an error of ours or right, however the reads are cut.

Right: records that are written again are the same bytes, and rows that are written again are the same values.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest

from aioifx.codecs.cdc_records import (
    Begin,
    CdcRecord,
    Commit,
    Discard,
    Failure,
    RecordKind,
    RecordReader,
    Rollback,
    RowImage,
    TableSchema,
    Timeout,
    Truncate,
    encode_record,
)
from aioifx.codecs.cdc_rows import RowLayout
from aioifx.codecs.text import code_set_of
from aioifx.errors import DataError, ProtocolError
from aioifx.sqltypes import Column, Row, TypeCode
from aioifx.testing.messages import column
from tests.codecs.samples import BOOLEAN, LVARCHAR

MAX_RECORD = 4096
CASES, CASES_IF_EXHAUSTIVE = 3_000, 1_000_000

COLUMNS: tuple[Column, ...] = (
    column("id", TypeCode.SERIAL, 4),
    column("note", TypeCode.VARCHAR, 20),
    column("small", TypeCode.SMALLINT, 2),
    column("big", TypeCode.BIGINT, 8),
    column("old", TypeCode.INT8, 10),
    column("price", TypeCode.DECIMAL, 8 << 8 | 2),
    column("free", TypeCode.DECIMAL, 16 << 8 | 255),
    column("ratio", TypeCode.FLOAT, 8),
    column("name", TypeCode.CHAR, 6),
    Column("long", LVARCHAR),
    column("day", TypeCode.DATE, 4),
    column("moment", TypeCode.DATETIME, 19 << 8 | 15),
    column("span", TypeCode.INTERVAL, 9 << 8 | 4 << 4 | 10),
    Column("flag", BOOLEAN),
)
LAYOUT = RowLayout(COLUMNS, code_set_of("en_US.utf8"))
ROWS: tuple[Row, ...] = (
    (
        1, "small text", -5, 2**62, -(2**62), Decimal("-1234.50"), Decimal("1.5E+10"), 0.1, "abc   ", "ä" * 40,
        date(2026, 2, 28), datetime(2026, 2, 28, 1, 2, 3, 456000), timedelta(days=3, hours=4), True,
    ),
    (2, "", *[None] * 12),
    (3, None, 0, 0, 0, Decimal(0), Decimal(0), -0.0, " " * 6, "", date(1, 1, 1), datetime.min, timedelta(0), False),
)  # fmt: skip


def image(kind: RecordKind, row: Row) -> RowImage:
    return RowImage(kind, 12 << 32 | 77, 9, 1, 0, *LAYOUT.encode(row))


RECORDS: Sequence[CdcRecord] = (
    LAYOUT.schema(1),
    Begin(12 << 32 | 4, 9, 1_700_000_000, 1000),
    *(image(kind, row) for kind in (RecordKind.INSERT, RecordKind.UPDBEF, RecordKind.UPDAFT) for row in ROWS),
    image(RecordKind.DELETE, ROWS[0]),
    Discard(12 << 32 | 8, 9),
    Truncate(12 << 32 | 9, 9, 1),
    Commit(12 << 32 | 16, 9, 1_700_000_001),
    Rollback(12 << 32 | 16, 9),
    Timeout(12 << 32 | 17),
    Failure(1, -83713),
)
PIECES = [encode_record(record) for record in RECORDS]


def read(data: bytes, *cuts: int) -> tuple[list[CdcRecord], int, str]:
    """The records of *data* that comes in parts, the bytes of one that is not whole, and the error that ended it."""
    reader = RecordReader(MAX_RECORD)
    found: list[CdcRecord] = []
    for begin, end in pairwise((0, *cuts, len(data))):
        try:
            found += reader.feed(data[begin:end])
        except ProtocolError as error:
            return [], 0, str(error)
    return found, reader.pending, ""


def check(data: bytes, cut: int) -> bool:
    """Raise AssertionError unless *data* is read right; returns whether all of it was."""
    records, _, error = whole = read(data)
    assert read(data, cut)[:2] == whole[:2] if not error else read(data, cut)[2] == error
    assert read(b"".join(map(encode_record, records)))[0] == records
    is_right = not error
    for record in records:
        if isinstance(record, RowImage):
            is_right &= _check_row(record)
        elif isinstance(record, TableSchema):
            with suppress(ProtocolError):
                LAYOUT.check_schema(record)
    return is_right


def _check_row(record: RowImage) -> bool:
    try:
        row = LAYOUT.decode(record)
    except (ProtocolError, DataError):
        return False
    with suppress(
        DataError
    ):  # a value beyond what the column was declared with is read as in rows of queries
        again = _written_again(record, row)  # rounded, if it has more digits than the column
        assert repr(_written_again(record, again)) == repr(again)
    return True


def _written_again(record: RowImage, row: Row) -> Row:
    sizes, payload = LAYOUT.encode(row)
    return LAYOUT.decode(record._replace(sizes=sizes, payload=payload))


def damaged(pieces: Sequence[bytes], source: random.Random) -> bytes:
    """A few records, one after the other, with an accident."""
    data = bytearray(b"".join(source.choices(pieces, k=source.randint(1, 3))))
    for _ in range(source.randint(1, 2)):
        at = source.randrange(len(data))
        match source.randrange(6):
            case 0:
                data[at] ^= 1 << source.randrange(8)
            case 1:
                data[at] = source.choice((0, 1, 127, 128, 255))
            case 2:
                del data[at : at + source.randint(1, 8)]
            case 3:
                data[at:at] = source.randbytes(source.randint(1, 8))
            case 4:
                data[at : at + 4] = source.choice((0, 1, 16, 2**31 - 1, 2**32 - 1)).to_bytes(4, "big")
            case _:
                del data[at:]
        if not data:
            return b""
    return bytes(data)


def test_what_is_written_is_read() -> None:
    data = b"".join(PIECES)
    assert check(data, len(data) // 2)
    assert read(data, *range(1, len(data))) == read(data) == ([*RECORDS], 0, "")
    rows = [LAYOUT.decode(record) for record in RECORDS if isinstance(record, RowImage)]
    assert rows[: len(ROWS)] == [*ROWS]


@pytest.mark.partial
@pytest.mark.timeout(1200)
def test_accidents_are_an_error_of_ours_or_right(is_exhaustive: bool) -> None:
    source, right = random.Random(33), 0
    cases = CASES_IF_EXHAUSTIVE if is_exhaustive else CASES
    for number in range(cases):
        data = damaged(PIECES, source)
        try:
            right += check(data, source.randint(0, len(data)))
        except Exception as error:
            error.add_note(f"input {number}: {data.hex()}")
            raise
    assert cases / 20 < right < cases, "the accidents reach the rows, and damage most records"
