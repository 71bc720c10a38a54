"""Text of a field <-> value, by the type of its column."""

from __future__ import annotations

import datetime as dt
import decimal
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aioifx.client.bulk.field_text import field_formatter, field_parser
from aioifx.client.bulk.text_formats import CsvFormat, UnloadFormat, records
from aioifx.codecs.registry import codec_for
from aioifx.errors import DataError, InterfaceError, NotSupportedError
from aioifx.sqltypes import Column, Row, SqlType, TypeCode
from tests.codecs.samples import (
    BOOLEAN,
    BSON,
    INTEGER,
    JSON,
    LATIN1,
    LVARCHAR,
    columns_of,
    decimal_type,
    tables,
    typed_values,
)

CHAR = SqlType(TypeCode.CHAR, 10)
VARCHAR = SqlType(TypeCode.VARCHAR, 10)
FLOAT = SqlType(TypeCode.FLOAT, 8)
DATE = SqlType(TypeCode.DATE, 4)
MONEY = decimal_type(10, 2, TypeCode.MONEY)
BYTE = SqlType(TypeCode.BYTE, 56)
TEXT = SqlType(TypeCode.TEXT, 56)
SET = SqlType(TypeCode.SET, 0)
BLOB = SqlType(TypeCode.UDTFIXED, 72, extended_id=10, extended_name="blob")
SECONDS = SqlType(TypeCode.DATETIME, 0x0E0A)


def parsed(text: str | None, sql_type: SqlType) -> Any:
    """The value of a record with a single field."""
    return field_parser([Column("c", sql_type)])([text])[0]


def formatted(value: Any, sql_type: SqlType) -> str | None:
    """The field of a row with a single value."""
    return field_formatter([Column("c", sql_type)])([value])[0]


@pytest.mark.parametrize(
    ("sql_type", "value", "text"),
    [
        (INTEGER, -7, "-7"),
        (SqlType(TypeCode.BIGINT, 8), 9_000_000_000, "9000000000"),
        (INTEGER, True, "1"),
        (decimal_type(10, 2), Decimal("0.50"), "0.50"),
        (decimal_type(16), Decimal("1E+5"), "100000"),
        (decimal_type(16), Decimal("1E-7"), "0.0000001"),
        (MONEY, Decimal("-1234.50"), "-1234.50"),
        (FLOAT, 0.1, "0.1"),
        (FLOAT, 3, "3.0"),
        (FLOAT, 1e300, "1e+300"),
        (BOOLEAN, True, "t"),
        (BOOLEAN, False, "f"),
        (DATE, dt.date(2026, 1, 31), "2026-01-31"),
        (SECONDS, dt.datetime(2026, 1, 31, 12, 30, 5), "2026-01-31 12:30:05"),
        (VARCHAR, "a  ", "a  "),
        (LVARCHAR, "", ""),
        (TEXT, "a\nb", "a\nb"),
        (BYTE, b"\x00\xff", "00ff"),
        (BYTE, b"", ""),
        (JSON, '{"a":1}', '{"a":1}'),
        (SET, "SET{1,2}", "SET{1,2}"),
        (INTEGER, None, None),
    ],
)
def test_a_value_is_written_as_unload_writes_it_and_read(sql_type: SqlType, value: Any, text: str) -> None:
    assert formatted(value, sql_type) == text
    assert parsed(text, sql_type) == value


def test_char_alone_loses_its_trailing_blanks() -> None:
    assert formatted("ab  ", CHAR) == "ab"
    assert formatted("    ", SqlType(TypeCode.NCHAR, 4)) == ""
    assert formatted("ab \t", CHAR) == "ab \t"


@pytest.mark.parametrize(
    ("sql_type", "text", "expected"),
    [
        (INTEGER, "  12 ", 12),
        (INTEGER, "+12", 12),
        (decimal_type(10, 2), " 1.5", Decimal("1.5")),
        (decimal_type(16), "1.5e3", Decimal("1500")),
        (MONEY, "$1234.50", Decimal("1234.50")),
        (MONEY, "-$1,234.50", Decimal("-1234.50")),
        (MONEY, "$-1.50", Decimal("-1.50")),
        (MONEY, "1.50 €", Decimal("1.50")),
        (MONEY, "£1,234,567", Decimal("1234567")),
        (FLOAT, "1,234.5", 1234.5),
        (FLOAT, " 1e3", 1000.0),
        (FLOAT, "-inf", float("-inf")),
        (BOOLEAN, "T", True),
        (BOOLEAN, "F", False),
        (BOOLEAN, " True", True),
        (BOOLEAN, "0", False),
        (BYTE, "00FF", b"\x00\xff"),
        (VARCHAR, " a ", " a "),
    ],
)
def test_other_spellings_are_read(sql_type: SqlType, text: str, expected: Any) -> None:
    assert parsed(text, sql_type) == expected


@pytest.mark.parametrize(
    ("sql_type", "text"),
    [
        (INTEGER, ""),
        (INTEGER, "1_000"),
        (INTEGER, "1.0"),
        (INTEGER, "1,000"),
        (INTEGER, "0x10"),
        (INTEGER, "9" * 5000),
        (decimal_type(10, 2), ""),
        (decimal_type(10, 2), "$"),
        (decimal_type(10, 2), "NaN"),
        (decimal_type(10, 2), "Infinity"),
        (decimal_type(10, 2), "1_0"),
        (decimal_type(10, 2), "1,500"),
        (decimal_type(10, 2), "1,50"),
        (decimal_type(10, 2), "1234,567.0"),
        (decimal_type(10, 2), "--1"),
        (decimal_type(10, 2), "-$-1"),
        (decimal_type(10, 2), "1.2.3"),
        (MONEY, "1.50 DM"),
        (FLOAT, "1_0.0"),
        (FLOAT, "1,5"),
        (FLOAT, "$nan"),
        (FLOAT, ""),
        (BOOLEAN, ""),
        (BOOLEAN, "yes"),
        (DATE, "31.01.2026"),
        (BYTE, "0"),
        (BYTE, "00 ff"),
        (BYTE, "zz"),
    ],
)
def test_text_that_is_not_such_a_value_is_rejected_without_being_shown(sql_type: SqlType, text: str) -> None:
    with pytest.raises(DataError) as caught:
        parsed(text, sql_type)
    assert str(caught.value) == f"column 'c': not a valid {sql_type}"


def test_malformed_decimals_are_refused_in_a_context_without_traps() -> None:
    with decimal.localcontext(decimal.Context(traps=[])), pytest.raises(DataError):
        parsed("abc", MONEY)


@pytest.mark.parametrize(
    ("sql_type", "value"),
    [
        (INTEGER, "7"),
        (INTEGER, 1.0),
        (MONEY, "7"),
        (MONEY, Decimal("NaN")),
        (FLOAT, Decimal(1)),
        (BOOLEAN, 1),
        (CHAR, 7),
        (BSON, b"\x05\0\0\0\0"),
        (BYTE, "00"),
        (SET, {1, 2}),
        (DATE, dt.datetime(2026, 1, 31)),
    ],
)
def test_a_value_of_another_class_is_not_written(sql_type: SqlType, value: Any) -> None:
    with pytest.raises(DataError):
        formatted(value, sql_type)


@pytest.mark.parametrize("sql_type", [BLOB, SqlType(99), SqlType(TypeCode.ROWREF)])
def test_a_type_without_text_is_refused_by_its_column(sql_type: SqlType) -> None:
    for make in (field_parser, field_formatter):
        with pytest.raises(NotSupportedError, match=f"^column 'c1': {sql_type} values have no text form$"):
            make(columns_of(INTEGER, sql_type))


# --- rows -----------------------------------------------------------------------------------------------------------

ITEM = (Column("id", INTEGER), Column("price", MONEY), Column("since", DATE))


def test_a_record_becomes_a_row() -> None:
    parse = field_parser(ITEM)
    assert parse(["7", "$1.50", None]) == (7, Decimal("1.50"), None)
    assert isinstance(parse(["7", "1", None]), tuple)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["7", "secret", "2026-01-31"], r"^record 17: column 'price': not a valid MONEY\(10,2\)$"),
        (["7", "1.50", "secret"], r"^record 17: column 'since': not a valid DATE$"),
        (["7", "1.50"], r"^record 17: 2 fields for 3 columns$"),
        (["7"], r"^record 17: 1 field for 3 columns$"),
        ([None] * 4, r"^record 17: 4 fields for 3 columns$"),
    ],
)
def test_a_wrong_field_is_named_by_record_and_column(fields: list[str | None], message: str) -> None:
    with pytest.raises(DataError, match=message):
        field_parser(ITEM)(fields, 17)


def test_a_record_without_a_number_is_refused_by_the_column() -> None:
    with pytest.raises(DataError, match=r"^column 'id': not a valid INTEGER$"):
        field_parser(ITEM)(["x", None, None])


def test_a_value_that_cannot_be_written_is_named_by_its_column() -> None:
    write = field_formatter(ITEM)
    assert write((7, Decimal("1.50"), None)) == ["7", "1.50", None]
    with pytest.raises(DataError, match=r"^column 'since': DATE does not accept str$"):
        write((7, None, "2026-01-31"))
    with pytest.raises(DataError, match=r"^1 value for 3 columns$"):
        write((7,))


def test_dates_of_another_dbdate_are_read_and_written() -> None:
    columns = columns_of(DATE, SECONDS)
    row = (dt.date(2026, 1, 31), dt.datetime(2026, 1, 31, 12, 30, 5))
    fields = field_formatter(columns, dbdate="MDY4/")(row)
    assert fields == ["01/31/2026", "2026-01-31 12:30:05"]
    assert field_parser(columns, dbdate="MDY4/")(fields) == row
    with pytest.raises(InterfaceError, match="dbdate"):
        field_parser(columns, dbdate="MDY2/")


# --- laws -----------------------------------------------------------------------------------------------------------


def as_written(value: Any, sql_type: SqlType) -> Any:
    """CHAR comes back without its trailing blanks, which its column adds again."""
    return (
        value.rstrip(" ") if sql_type.kind in (TypeCode.CHAR, TypeCode.NCHAR) and value is not None else value
    )


# Law: a value of any type comes back as the same value of the same class.
@given(typed_values())
@example((FLOAT, float("inf")))
@example((FLOAT, -0.0))
@example((decimal_type(32), Decimal("1E-60")))
def test_a_value_of_any_type_comes_back(sample: tuple[SqlType, Any]) -> None:
    sql_type, value = sample
    text = formatted(value, sql_type)
    assert isinstance(text, str)
    read = parsed(text, sql_type)
    assert read == as_written(value, sql_type)
    assert type(read) is type(value)


# Law: what is read encodes to the same bytes, so that a table copied by way of a file is the same table.
@given(typed_values())
def test_what_is_read_has_the_bytes_of_what_was_written(sample: tuple[SqlType, Any]) -> None:
    sql_type, value = sample
    codec = codec_for(sql_type, LATIN1)
    assert codec.encode(parsed(formatted(value, sql_type), sql_type)) == codec.encode(value)


# Law: whole tables come back, through both formats.
@given(tables(), st.sampled_from([UnloadFormat(), CsvFormat(null="\\N")]))
def test_a_table_comes_back(table: tuple[tuple[Column, ...], list[Row]], form: Any) -> None:
    columns, rows = table
    write, parse = field_formatter(columns), field_parser(columns)
    text = "".join(form.join(write(row)) for row in rows)
    read = [parse(fields, number) for number, fields in enumerate(records([text], form), 1)]
    assert read == [
        tuple(as_written(value, column.type) for value, column in zip(row, columns, strict=True))
        for row in rows
    ]


# Law: any text is read or refused, for any type.
@pytest.mark.exhaustive
@given(typed_values(), st.text() | st.text(st.sampled_from("0123456789.,-+$€ eEtfnaif:"), max_size=12))
def test_any_text_is_read_or_refused(sample: tuple[SqlType, Any], text: str) -> None:
    sql_type, _ = sample
    try:
        parsed(text, sql_type)
    except DataError as error:
        assert str(error) == f"column 'c': not a valid {sql_type}"
