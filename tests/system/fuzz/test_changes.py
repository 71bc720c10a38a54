"""Captured changes, mutated: any bytes are right records and rows, or an error of ours, wherever reads end."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from functools import cache

import pytest

from aioifx.codecs.cdc_records import CdcRecord, RecordKind, RecordReader, RowImage, encode_record
from aioifx.codecs.cdc_rows import RowLayout
from aioifx.errors import DataError, ProtocolError
from aioifx.sqltypes import Row
from tests.codecs.samples import INTEGER, LATIN1, LVARCHAR, VARCHAR, columns_of
from tests.codecs.test_cdc_records import EVERY_KIND, FOREIGN, INSERT
from tests.codecs.test_cdc_rows import FIELDS

INPUTS, INPUTS_IF_EXHAUSTIVE = 400, 25_000
"""Of each seed. 250,000 were tried with the version that this test came with."""

MAX_RECORD = 4096

EDGES = [
    bytes.fromhex(each) for each in ("00000000", "0000000f", "00000010", "00000042", "7fffffff", "ffffffff")
]
"""Numbers in place of others: of sizes, of the scheme, of kinds."""

LAYOUTS = [
    RowLayout(columns_of(INTEGER, VARCHAR), LATIN1),
    RowLayout(columns_of(VARCHAR, LVARCHAR, INTEGER), LATIN1),
    RowLayout(columns_of(*(sql_type for sql_type, _, _ in FIELDS)), LATIN1),
]
ROWS: list[Row] = [(1, "abc"), ("abc", "xyz", None), tuple(value for _, value, _ in FIELDS)]


@cache
def starts() -> list[bytes]:
    """Records of every kind, of rows of every type, in both orders of bytes, with longer headers."""
    images = [
        RowImage(kind, 1 << 32, 7, label, 0, *layout.encode(row, little_endian=little_endian))
        for label, (layout, row) in enumerate(zip(LAYOUTS, ROWS, strict=True))
        for kind, little_endian in ((RecordKind.INSERT, False), (RecordKind.UPDAFT, True))
    ]
    records: list[CdcRecord] = [*EVERY_KIND, *images]
    return [
        *map(encode_record, records),
        *(encode_record(each, extra=b"\1\2\3\4") for each in images),
        INSERT,
        FOREIGN,
    ]


def accidents(choose: random.Random) -> bytes:
    """One or more records, in which bytes or numbers are others, are missing or come twice; or any bytes."""
    if not choose.randrange(16):
        return choose.randbytes(choose.randrange(64))
    data = bytearray(choose.choice(starts()))
    if choose.randrange(4):
        for _ in range(choose.randrange(4)):
            data[choose.randrange(len(data))] = choose.getrandbits(8)
    if not choose.randrange(4):
        at = choose.randrange(0, len(data), 4)
        data[at : at + 4] = choose.choice(EDGES)
    if not choose.randrange(6):
        at = choose.randrange(len(data))
        data[at : at + choose.randrange(9)] = choose.randbytes(choose.randrange(9))
    return bytes(data) if choose.randrange(3) else choose.choice(starts()) + data + choose.choice(starts())


def outcome(pieces: list[bytes]) -> tuple[list[CdcRecord], str, int]:
    """All records, the error's message, and the bytes of a record that is not whole."""
    reader, records = RecordReader(MAX_RECORD), list[CdcRecord]()
    try:
        for piece in pieces:
            records += reader.feed(piece)
        reader.check()
    except ProtocolError as error:
        for more in (b"", INSERT):
            with pytest.raises(ProtocolError) as again:
                reader.feed(more)
            assert str(again.value) == str(error)
        return records, str(error), reader.pending
    return records, "", reader.pending


def row_of(layout: RowLayout, image: RowImage, *, by_reference: bool = False) -> Row | str:
    """A row, or the message of its error."""
    try:
        return layout._reference(image) if by_reference else layout.decode(image)
    except (ProtocolError, DataError) as error:
        return str(error)


def check_rows(records: list[CdcRecord]) -> int:
    """Compare the rows of records with the reference; returns how many are rows of their layout."""
    found = 0
    for record in records:
        if isinstance(record, RowImage):
            layout = LAYOUTS[record.label % len(LAYOUTS)]
            row = row_of(layout, record)
            assert repr(row) == repr(row_of(layout, record, by_reference=True))
            if isinstance(row, tuple):
                assert len(row) == len(layout.columns)
                found += 1
    return found


def check(data: bytes, cuts: list[int]) -> tuple[int, bool]:
    """Read *data* in one piece and in several; returns how many rows were right, and whether it ended in an error."""
    whole, failure, pending = outcome([data])
    assert len(whole) * 16 <= len(data)
    edges = [0, *cuts, len(data)]
    pieces = [data[start:stop] for start, stop in itertools.pairwise(edges)]
    assert outcome(pieces) == (whole, failure, pending)
    return check_rows(whole), bool(failure)


def inputs(seed: int, count: int) -> Iterator[tuple[bytes, list[int]]]:
    choose = random.Random(seed)
    for _ in range(count):
        data = accidents(choose)
        yield data, sorted(choose.randrange(len(data) + 1) for _ in range(choose.randrange(1, 4)))


@pytest.mark.parametrize("seed", range(4))
def test_any_bytes_are_records_and_rows_or_an_error(seed: int, is_exhaustive: bool) -> None:
    count = INPUTS_IF_EXHAUSTIVE if is_exhaustive else INPUTS
    found = [check(data, cuts) for data, cuts in inputs(seed, count)]
    rows, failures = (sum(each) for each in zip(*found, strict=True))
    assert count * 0.3 < rows and count * 0.1 < failures < count * 0.9  # or they are not worth their time


@pytest.mark.parametrize("seed", [5])
def test_records_are_the_same_wherever_reads_end(seed: int, is_exhaustive: bool) -> None:
    for data, _ in inputs(seed, 500 if is_exhaustive else 20):
        for cut in range(len(data) + 1):
            check(data, [cut])
        check(data, [*range(1, len(data))])


def test_the_records_themselves_are_right() -> None:
    records, failure, pending = outcome([b"".join(starts())])
    assert (len(records), failure, pending) == (len(starts()), "", 0)
    for record in records[len(EVERY_KIND) : -2]:
        assert isinstance(record, RowImage)
        assert row_of(LAYOUTS[record.label], record) == ROWS[record.label]
