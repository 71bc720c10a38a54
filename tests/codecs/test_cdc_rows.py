from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.cdc_records import RecordKind, RecordReader, RowImage, pack_sizes
from aioifx.codecs.cdc_rows import RowLayout, captured_columns, cdc_codec, is_captured
from aioifx.codecs.large_objects import Locator
from aioifx.errors import DataError, ProtocolError
from aioifx.sqltypes import (
    EXTENDED_BLOB,
    EXTENDED_CLOB,
    Column,
    Qualifier,
    Row,
    SqlType,
    TypeCode,
    Unit,
    datetime_qualifier,
)
from tests.codecs.samples import (
    BOOLEAN,
    CHAR4,
    DATE,
    FLOAT,
    INT8,
    INTEGER,
    JSON,
    LATIN1,
    LVARCHAR,
    SMALLFLOAT,
    UTF8,
    VARCHAR,
    columns_of,
    decimal_type,
    typed_values,
)
from tests.codecs.test_cdc_records import FOREIGN, INSERT

BIGINT = SqlType(TypeCode.BIGINT, 8)
SMALLINT = SqlType(TypeCode.SMALLINT, 2)
MOMENT = SqlType(TypeCode.DATETIME, datetime_qualifier(Unit.YEAR, Unit.FRACTION, 3).encoded)
DAYS = SqlType(TypeCode.INTERVAL, Qualifier(Unit.DAY, Unit.SECOND, 2).encoded)
BLOB = SqlType(TypeCode.UDTFIXED, 72, extended_id=EXTENDED_BLOB, extended_name="blob")
CLOB = SqlType(TypeCode.UDTFIXED, 72, extended_id=EXTENDED_CLOB, extended_name="clob")
SET = SqlType(TypeCode.SET, 0)


def image(layout: RowLayout, row: Row, *, little_endian: bool = False) -> RowImage:
    sizes, payload = layout.encode(row, little_endian=little_endian)
    return RowImage(RecordKind.INSERT, 1, 1, 1, 0, sizes, payload)


def test_the_row_of_a_real_server() -> None:
    layout = RowLayout(columns_of(INTEGER, VARCHAR), LATIN1)
    [record] = RecordReader().feed(INSERT)
    assert isinstance(record, RowImage)
    assert layout.decode(record) == (1, "Synthetic OVHC health fund 1")
    assert layout.encode(layout.decode(record)) == (record.sizes, record.payload)


def test_the_foreign_row_of_a_real_server_is_an_error() -> None:
    layout = RowLayout(columns_of(INTEGER, VARCHAR), LATIN1)
    [record] = RecordReader().feed(FOREIGN)
    assert isinstance(record, RowImage)
    with pytest.raises(
        ProtocolError, match=r"row of 115 bytes with 1 sizes is not one of the columns c0, c1"
    ):
        layout.decode(record)


# Type -> values and their bytes; the evidence is in the modules.
FIELDS: list[tuple[SqlType, object, str]] = [
    (SMALLINT, -2, "fffe"),
    (SMALLINT, None, "8000"),
    (INTEGER, 42, "0000002a"),
    (SqlType(TypeCode.SERIAL, 4), 7, "00000007"),
    (BIGINT, None, "8000000000000000"),
    (INT8, 5, "00010000000500000000"),
    (INT8, None, "00" * 10),
    (FLOAT, None, "ff" * 8),
    (SMALLFLOAT, 1.5, "3fc00000"),
    (DATE, dt.date(1900, 1, 1), "00000001"),
    (decimal_type(10, 2), Decimal("1.50"), "c10132000000"),
    (decimal_type(10, 2), None, "00" * 6),
    (decimal_type(16), None, "00" * 10),
    (MOMENT, None, "00" * 10),
    (MOMENT, dt.datetime(2026, 1, 2, 3, 4, 5, 678000), "c7141a01020304054350"),
    (DAYS, None, "00" * 5),
    (CHAR4, "ab  ", "61622020"),
    (CHAR4, None, "00202020"),
    (BOOLEAN, True, "0001"),
    (BOOLEAN, False, "0000"),
    (BOOLEAN, None, "0100"),
    (VARCHAR, "abc", "03616263"),
    (VARCHAR, "", "00"),
    (VARCHAR, None, "0100"),
    (LVARCHAR, "xyz", "00040078797a"),
    (LVARCHAR, "", "000100"),
    (LVARCHAR, None, "000101"),
    (BLOB, None, "00" * 76),
    (CLOB, Locator(b"\1" * 72), "00" * 4 + "01" * 72),
]


@pytest.mark.parametrize(("sql_type", "value", "field"), FIELDS)
def test_a_field_is_written_and_read(sql_type: SqlType, value: object, field: str) -> None:
    codec = cdc_codec(sql_type, LATIN1)
    assert codec.encode(value) == bytes.fromhex(field)
    assert codec.decode(bytes.fromhex(field)) == value
    layout = RowLayout(columns_of(INTEGER, sql_type, VARCHAR), LATIN1)
    assert layout.decode(image(layout, (1, value, "é"))) == (1, value, "é")


@given(st.lists(typed_values(UTF8), min_size=1, max_size=8), st.booleans())
def test_rows_are_read_as_they_were_written(typed: list[tuple[SqlType, object]], little_endian: bool) -> None:
    layout = RowLayout(columns_of(*(sql_type for sql_type, _ in typed)), UTF8)
    sizes, payload = layout.encode(tuple(value for _, value in typed), little_endian=little_endian)
    record = RowImage(RecordKind.INSERT, 1, 1, 1, 0, sizes, payload)
    row = layout.decode(record)
    assert layout.encode(row, little_endian=little_endian) == (sizes, payload)
    assert len(row) == len(typed)


def test_columns_of_fixed_width_come_first_and_rows_keep_their_order() -> None:
    layout = RowLayout(columns_of(VARCHAR, INTEGER, LVARCHAR, BOOLEAN), LATIN1)
    record = image(layout, ("abc", 42, "xyz", True))
    assert record.payload == bytes.fromhex("0000002a 0001 03616263 00040078797a")
    assert record.sizes == pack_sizes((4, 6))
    assert layout.decode(record) == ("abc", 42, "xyz", True)
    schema = layout.schema(3)
    assert schema.text == "c1 integer, c3 boolean, c0 varchar(40), c2 lvarchar(2048)"
    assert schema[:-1] == (3, 0, 6, 2, 2)
    layout.check_schema(schema)


def test_rows_of_very_many_columns_are_decoded() -> None:
    layout = RowLayout(columns_of(*[INTEGER, VARCHAR] * 300), LATIN1)
    assert layout.decode(image(layout, (1, "a") * 300)) == (1, "a") * 300


def test_a_table_of_one_column_has_rows_of_one_value() -> None:
    layout = RowLayout(columns_of(INTEGER), LATIN1)
    assert layout.decode(image(layout, (1,))) == (1,)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": "c1 varchar(40), c0 integer"}, "expected the columns c0, c1, got c1, c0"),
        ({"text": "c0 integer"}, "got c0"),
        ({"fixed_columns": 2}, "expected fixed_columns 1, got 2"),
        ({"variable_columns": 0}, "expected variable_columns 1, got 0"),
        ({"fixed_size": 8}, "expected fixed_size 4, got 8"),
    ],
)
def test_a_schema_of_other_columns_is_refused(change: dict[str, object], message: str) -> None:
    layout = RowLayout(columns_of(INTEGER, VARCHAR), LATIN1)
    layout.check_schema(layout.schema(1)._replace(text="C0 integer not null,c1 varchar(40)"))
    with pytest.raises(ProtocolError, match=message):
        layout.check_schema(layout.schema(1)._replace(**change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("payload", "sizes"),
    [("", ()), ("000000", ()), ("00000001", (1,)), ("00000001 05", (6,)), ("00000001 0161 00", (2,)),
     ("00000001 0161", (3,)), ("00000001 0161", ())],
)  # fmt: skip
def test_a_row_that_is_not_used_up_is_refused(payload: str, sizes: tuple[int, ...]) -> None:
    record = RowImage(RecordKind.DELETE, 1, 1, 1, 0, pack_sizes(sizes), bytes.fromhex(payload))
    with pytest.raises(ProtocolError, match="CDC record DELETE: a row of"):
        RowLayout(columns_of(INTEGER, VARCHAR), LATIN1).decode(record)


def test_an_invalid_value_names_its_column() -> None:
    layout = RowLayout(columns_of(INTEGER, BOOLEAN), LATIN1)
    with pytest.raises(DataError, match="column 'c1': BOOLEAN that is neither true nor false") as caught:
        layout.decode(RowImage(RecordKind.INSERT, 1, 1, 1, 0, b"", bytes.fromhex("00000001 0002")))
    assert caught.value.column == "c1"
    with pytest.raises(DataError, match="column 'c0': "):
        layout.encode(("x", True))
    with pytest.raises(DataError, match="row of 1 values for 2 columns"):
        layout.encode((1,))


def test_what_no_record_holds_is_refused() -> None:
    with pytest.raises(DataError, match="32767 bytes does not fit a record"):
        cdc_codec(SqlType(TypeCode.LVARCHAR, 0), LATIN1).encode("x" * 0x7FFF)
    with pytest.raises(DataError, match="a locator: expected 72 bytes, got bytes"):
        cdc_codec(BLOB, LATIN1).encode(b"\1" * 72)
    with pytest.raises(DataError, match="LVARCHAR without its flag"):
        cdc_codec(LVARCHAR, LATIN1).decode(b"\0\0")


def test_some_types_cannot_be_captured() -> None:
    assert [is_captured(sql_type) for sql_type in (INTEGER, LVARCHAR, BLOB, DAYS, JSON, SET)] == [
        True, True, True, True, False, False
    ]  # fmt: skip
    columns = [
        Column("a", INTEGER),
        Column("j", JSON),
        Column("b", DATE),
        Column("s", SET),
        Column("z", INTEGER),
    ]
    assert [column.name for column in captured_columns(columns)] == ["a", "b"]
