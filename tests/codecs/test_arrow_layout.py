from __future__ import annotations

import pytest

from aioifx.codecs.arrow_layout import Field, Layout, fields_for
from aioifx.codecs.text import CodeSet
from aioifx.sqltypes import Column, Qualifier, SqlType, TypeCode, Unit, datetime_qualifier
from tests.codecs.samples import (
    BOOLEAN,
    BSON,
    CHAR4,
    DATE,
    FLOAT,
    INT8,
    INTEGER,
    JSON,
    LATIN1,
    LVARCHAR,
    POINT,
    SMALLFLOAT,
    UTF8,
    VARCHAR,
    columns_of,
    decimal_type,
)


def field_of(sql_type: SqlType, code_set: CodeSet = LATIN1) -> Field:
    (field,) = fields_for(columns_of(sql_type), code_set)
    return field


def datetime_of(first: Unit, last: Unit, scale: int = 0) -> SqlType:
    return SqlType(TypeCode.DATETIME, datetime_qualifier(first, last, scale).encoded)


def interval_of(first: Unit, last: Unit, leading: int, scale: int = 0) -> SqlType:
    return SqlType(TypeCode.INTERVAL, Qualifier(first, last, leading, scale).encoded)


LAYOUTS = [
    (SqlType(TypeCode.SMALLINT, 2), (Layout.INT16, 0, 0)),
    (INTEGER, (Layout.INT32, 0, 0)),
    (SqlType(TypeCode.SERIAL, 4), (Layout.INT32, 0, 0)),
    (SqlType(TypeCode.BIGINT, 8), (Layout.INT64, 0, 0)),
    (SqlType(TypeCode.BIGSERIAL, 8), (Layout.INT64, 0, 0)),
    (INT8, (Layout.INT64, 0, 0)),
    (SqlType(TypeCode.SERIAL8, 10), (Layout.INT64, 0, 0)),
    (SMALLFLOAT, (Layout.FLOAT32, 0, 0)),
    (FLOAT, (Layout.FLOAT64, 0, 0)),
    (decimal_type(16, 2), (Layout.DECIMAL, 16, 2)),
    (decimal_type(9, 3, TypeCode.MONEY), (Layout.DECIMAL, 9, 3)),
    (decimal_type(16), (Layout.FLOAT64, 0, 0)),
    (DATE, (Layout.DATE, 0, 0)),
    (datetime_of(Unit.YEAR, Unit.DAY), (Layout.DATE, 0, 0)),
    (datetime_of(Unit.YEAR, Unit.SECOND), (Layout.TIMESTAMP, 0, 0)),
    (datetime_of(Unit.YEAR, Unit.FRACTION, 1), (Layout.TIMESTAMP, 0, 3)),
    (datetime_of(Unit.YEAR, Unit.FRACTION, 3), (Layout.TIMESTAMP, 0, 3)),
    (datetime_of(Unit.YEAR, Unit.FRACTION, 4), (Layout.TIMESTAMP, 0, 6)),
    (datetime_of(Unit.HOUR, Unit.SECOND), (Layout.CLOCK, 0, 0)),
    (datetime_of(Unit.HOUR, Unit.FRACTION, 5), (Layout.CLOCK, 0, 6)),
    (datetime_of(Unit.YEAR, Unit.MINUTE), (Layout.TIMESTAMP, 0, 0)),
    (datetime_of(Unit.HOUR, Unit.MINUTE), (Layout.CLOCK, 0, 0)),
    (datetime_of(Unit.YEAR, Unit.MONTH), (Layout.UTF8, 0, 0)),
    (interval_of(Unit.DAY, Unit.SECOND, 9), (Layout.DURATION, 0, 0)),
    (interval_of(Unit.HOUR, Unit.FRACTION, 2, 2), (Layout.DURATION, 0, 3)),
    (interval_of(Unit.DAY, Unit.FRACTION, 4, 5), (Layout.DURATION, 0, 6)),
    (interval_of(Unit.YEAR, Unit.MONTH, 4), (Layout.INT32, 0, 0)),
    (BOOLEAN, (Layout.BOOL, 0, 0)),
    (CHAR4, (Layout.UTF8, 0, 0)),
    (VARCHAR, (Layout.UTF8, 0, 0)),
    (LVARCHAR, (Layout.UTF8, 0, 0)),
    (JSON, (Layout.UTF8, 0, 0)),
    (BSON, (Layout.BINARY, 0, 0)),
    (POINT, (Layout.BINARY, 0, 0)),
]


@pytest.mark.parametrize(("sql_type", "layout"), LAYOUTS, ids=[str(sql_type) for sql_type, _ in LAYOUTS])
def test_every_type_has_its_layout(sql_type: SqlType, layout: tuple[Layout, int, int]) -> None:
    field = field_of(sql_type)
    assert (field.layout, field.precision, field.scale) == layout


@pytest.mark.parametrize(
    ("sql_type", "layout", "value"),
    [
        (SqlType(TypeCode.BYTE, 56), Layout.BINARY, b"ab"),
        (SqlType(TypeCode.TEXT, 56), Layout.UTF8, "ab"),
        (SqlType(TypeCode.UDTFIXED, 72, extended_id=10, extended_name="blob"), Layout.BINARY, b"ab"),
        (SqlType(TypeCode.UDTFIXED, 72, 2063, extended_name="scan", source=11), Layout.UTF8, "ab"),
    ],
    ids=str,
)
def test_large_objects_are_stored_by_their_values(sql_type: SqlType, layout: Layout, value: object) -> None:
    field = field_of(sql_type)
    assert (field.layout, field.column.type) == (layout, sql_type)
    assert field.store(value) == b"ab"


def test_names_of_columns_stay_and_opaque_types_become_plain_bytes() -> None:
    (field,) = fields_for([Column("where", POINT, nullable=False)], UTF8)
    assert (field.column.name, field.column.nullable) == ("where", False)
    assert field.stored(b"\0\0\0\0\3\xc3\xa4a") == b"\xc3\xa4a"
    assert field.stored(b"\1\0\0\0\0") is None


@pytest.mark.parametrize(
    ("sql_type", "weights"),
    [
        (
            interval_of(Unit.DAY, Unit.SECOND, 3),
            (8_640_000_000_000, 86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000),
        ),
        (interval_of(Unit.SECOND, Unit.FRACTION, 2, 4), (1_000_000, 10_000, 100)),
        (interval_of(Unit.FRACTION, Unit.FRACTION, 3, 3), (10_000, 100)),
        (interval_of(Unit.YEAR, Unit.MONTH, 4), (1200, 12, 1)),
        (interval_of(Unit.DAY, Unit.SECOND, 9), ()),  # its microseconds might not fit
        (interval_of(Unit.YEAR, Unit.MONTH, 9), ()),
        (INTEGER, ()),
    ],
    ids=str,
)
def test_the_kernel_gets_the_unit_of_each_pair_of_an_interval(
    sql_type: SqlType, weights: tuple[int, ...]
) -> None:
    assert field_of(sql_type).native[10] == weights


# --- the columns in Python, without a decoder -----------------------------------------------------------------------
