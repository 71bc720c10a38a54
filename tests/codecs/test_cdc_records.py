from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    has_sizes,
    log_of,
    lsn_text,
    pack_sizes,
    sequence_of,
    split_schema,
)
from aioifx.errors import DataError, ProtocolError
from tests.counting import allocated

# Observed: an INSERT of INTEGER and VARCHAR of 14.10, and the head of a row of syscolumns that came under the same
# label after a restart in reused log space.
INSERT = bytes.fromhex(
    "000000280000002100000042000000280000000c04a4c1b8000000b6000000010000000000"
    "00001d000000011c53796e746865746963204f564843206865616c74682066756e642031"
)
FOREIGN = (
    bytes.fromhex("00000028000000730000004200000028000000070a9e37a00000001f00000001000000000000006f")
    + bytes.fromhex("077461626e616d65000000010001000d008080000000")
).ljust(40 + 0x73, b"\0")

BLOCK = 65_536

EVERY_KIND: list[CdcRecord] = [
    TableSchema(1, 0, 4, 1, 1, "id integer, name varchar(20)"),
    Begin(sequence_of(12, 0x18), 182, 1_700_000_000, 501),
    RowImage(RecordKind.INSERT, sequence_of(12, 0x20), 182, 1, 0, pack_sizes((29,)), b"x" * 33),
    RowImage(RecordKind.DELETE, sequence_of(12, 0x24), 182, 1, 0, b"", b"abcd"),
    RowImage(RecordKind.UPDBEF, sequence_of(12, 0x28), 182, 1, 0, b"", b""),
    RowImage(RecordKind.UPDAFT, sequence_of(12, 0x2C), 182, 1, 0, b"", b""),
    Discard(sequence_of(12, 0x28), 182),
    Truncate(sequence_of(12, 0x30), 182, 1),
    Rollback(sequence_of(12, 0x34), 183),
    Commit(sequence_of(12, 0x38), 182, 1_700_000_001),
    Timeout(sequence_of(12, 0x38)),
    Failure(1, -83713),
]


def test_the_frame_of_a_real_server() -> None:
    [record] = RecordReader().feed(INSERT)
    assert record == RowImage(
        RecordKind.INSERT, 0x0000000C04A4C1B8, 182, 1, 0, pack_sizes((29,)), INSERT[40:]
    )
    assert encode_record(record) == INSERT
    assert (log_of(record.sequence), lsn_text(record.sequence)) == (12, "LSN(12,0x4a4c1b8)")


def test_the_foreign_frame_of_a_real_server_has_the_same_label() -> None:
    [record] = RecordReader().feed(FOREIGN)
    assert isinstance(record, RowImage)
    assert (record.label, log_of(record.sequence), record.sizes) == (1, 7, pack_sizes((0x6F,)))


@pytest.mark.parametrize("record", EVERY_KIND, ids=lambda record: record.__class__.__name__)
@pytest.mark.parametrize("extra", [b"", b"\1\2\3\4"], ids=["known", "longer"])
def test_every_kind_is_read_as_it_was_written(record: CdcRecord, extra: bytes) -> None:
    [found] = RecordReader().feed(encode_record(record, extra=extra))
    if isinstance(record, RowImage):
        record = record._replace(sizes=record.sizes + extra)
    assert found == record and type(found) is type(record)


def test_records_are_cut_at_every_byte() -> None:
    data = b"".join(map(encode_record, EVERY_KIND))
    for cut in range(len(data) + 1):
        reader = RecordReader()
        assert reader.feed(data[:cut]) + reader.feed(data[cut:]) == EVERY_KIND
        assert reader.pending == 0
    reader = RecordReader()
    assert [record for byte in data for record in reader.feed(bytes([byte]))] == EVERY_KIND


def test_a_large_record_costs_no_more_per_byte_in_more_blocks() -> None:
    for count in (16, 64):
        data = encode_record(RowImage(RecordKind.INSERT, 1, 1, 1, 0, b"", bytes(count * BLOCK)))
        blocks = [data[at : at + BLOCK] for at in range(0, len(data), BLOCK)]
        assert allocated(RecordReader().feed, blocks) < 3.5 * len(data)  # together, joined, and its payload


def test_a_schema_may_end_in_nul() -> None:
    schema = TableSchema(1, 0, 4, 1, 0, "id integer\0")
    assert RecordReader().feed(encode_record(schema)) == [schema._replace(text="id integer")]


HEAD = b"\0\0\0\x10\0\0\0\0\0\0\0\x42"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\0\0\0\x10\0\0\0\0\0\0\0\x43\0\0\0\1", "expected scheme 66, got 67"),
        (b"\0\0\0\x0f\0\0\0\0\0\0\0\x42\0\0\0\1", "header of 15 bytes"),
        (b"\0\0\0\x10\x7f\0\0\0\0\0\0\x42\0\0\0\1", "payload of 2130706432"),
        (HEAD + b"\0\0\0\1", "BEGINTX: header of 16 bytes"),
        (HEAD + b"\0\0\0\x28", "INSERT: header of 16 bytes"),
        (HEAD + b"\0\0\0\4", "unknown kind 4"),
        (encode_record(EVERY_KIND[0])[:-1] + b"\xff", "not UTF-8"),
    ],
)
def test_what_is_no_record_is_refused(data: bytes, message: str) -> None:
    reader = RecordReader()
    for more in (data, b"", INSERT):  # nothing can be read after an error
        with pytest.raises(ProtocolError, match=message):
            reader.feed(more)
    assert reader.pending == 0


def test_records_before_one_that_cannot_be_read_are_given() -> None:
    reader = RecordReader()
    assert reader.feed(INSERT + HEAD + b"\0\0\0\4") == RecordReader().feed(INSERT)
    for refused in (reader.check, lambda: reader.feed(INSERT)):
        with pytest.raises(ProtocolError, match="unknown kind 4"):
            refused()


@given(st.binary(max_size=200))
def test_any_bytes_are_records_or_refused(data: bytes) -> None:
    reader = RecordReader(max_record=1000)
    try:
        records = reader.feed(data)
    except ProtocolError:
        return
    assert reader.pending <= len(data) and len(records) <= len(data) // 16


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        (pack_sizes((3, 4)), True),
        (pack_sizes((3, 4), little_endian=True), True),
        (b"\1\2\3\4" + pack_sizes((3, 4)), True),
        (pack_sizes((3, 4)) + b"\1\2\3\4", True),
        (pack_sizes((4, 3)), False),
        (pack_sizes((3,)), False),
        (b"", False),
    ],
)
def test_sizes_agree_in_either_order_of_bytes(sizes: bytes, found: bool) -> None:
    image = RowImage(RecordKind.INSERT, 1, 1, 1, 0, sizes, b"")
    assert has_sizes(image, (3, 4)) is found


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", []),
        ("id integer", [("id", "integer")]),
        ("a integer not null,d decimal(10,2), s varchar(20)",
         [("a", "integer not null"), ("d", "decimal(10,2)"), ("s", "varchar(20)")]),
        ('"A ""b" datetime year to fraction(3)', [('A "b', "datetime year to fraction(3)")]),
    ],
)  # fmt: skip
def test_the_text_of_a_schema_is_split(text: str, columns: list[tuple[str, str]]) -> None:
    assert split_schema(text) == columns


@pytest.mark.parametrize("text", ["id", "id integer,", ",id integer"])
def test_a_column_without_a_type_is_refused(text: str) -> None:
    with pytest.raises(ProtocolError, match="expected a name and a type"):
        split_schema(text)


@pytest.mark.parametrize("item", ["a", "a ", '"', '"a" b ', ","])
def test_a_hostile_schema_is_split_in_linear_time(item: str) -> None:
    for text in (item + " " * 400_000, item + "x" * 400_000, item * 200_000):
        try:
            split_schema(text)
        except ProtocolError as error:
            assert "expected a name and a type" in str(error)[:100]


@pytest.mark.parametrize(("log", "position"), [(-1, 0), (1 << 31, 0), (1, 1 << 32), (1, -1)])
def test_a_sequence_fits_a_bigint(log: int, position: int) -> None:
    with pytest.raises(DataError, match="sequence number"):
        sequence_of(log, position)
