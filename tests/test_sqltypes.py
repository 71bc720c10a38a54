"""Qualifiers, described types, and the values that Python lacks."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import (
    DISTINCT,
    DISTINCT_BOOLEAN,
    DISTINCT_LVARCHAR,
    INTEGER_CODES,
    NUMBER_CODES,
    SERIALS,
    SIMPLE_TYPES,
    TRAITS,
    Datetime,
    IntervalYM,
    Qualifier,
    SqlType,
    TypeCode,
    Unit,
    datetime_qualifier,
)

# Encoded lengths of syscolumns (documented formula; observed on 14.10 for every qualifier there is).
ENCODED = [
    (0x0E0A, "YEAR TO SECOND", "YEAR(4) TO SECOND"),
    (0x0400, "YEAR TO YEAR", "YEAR(4) TO YEAR"),
    (0x0468, "HOUR TO MINUTE", "HOUR(2) TO MINUTE"),
    (0x05CF, "FRACTION TO FRACTION(5)", "FRACTION TO FRACTION(5)"),
    (0x05AC, "SECOND TO FRACTION(2)", "SECOND(3) TO FRACTION(2)"),
    (0x0E4F, "DAY TO FRACTION(5)", "DAY(3) TO FRACTION(5)"),
    (0x0B02, "YEAR TO MONTH", "YEAR(9) TO MONTH"),
    (0x144F, "DAY TO FRACTION(5)", "DAY(9) TO FRACTION(5)"),
    (0x130F, "YEAR TO FRACTION(5)", "YEAR(4) TO FRACTION(5)"),
    (0x02AA, "SECOND TO SECOND", "SECOND(2) TO SECOND"),
    (0x096D, "HOUR TO FRACTION(3)", "HOUR(2) TO FRACTION(3)"),
]


@pytest.mark.parametrize(("encoded", "as_datetime", "as_interval"), ENCODED)
def test_a_qualifier_is_taken_apart_and_put_together(
    encoded: int, as_datetime: str, as_interval: str
) -> None:
    qualifier = Qualifier.from_encoded(encoded)
    assert qualifier.encoded == encoded
    assert qualifier.datetime_text() == as_datetime
    assert qualifier.interval_text() == as_interval


@given(st.sampled_from(list(Unit)), st.sampled_from(list(Unit)), st.integers(1, 9), st.integers(1, 5))
def test_every_qualifier_survives_its_encoding(first: Unit, last: Unit, leading: int, scale: int) -> None:
    if first > last:
        return
    if last != Unit.FRACTION:
        scale = 0
    if first == Unit.FRACTION:
        leading = scale
    qualifier = Qualifier(first, last, leading, scale)
    assert Qualifier.from_encoded(qualifier.encoded) == qualifier
    assert qualifier.units[0] == first and qualifier.units[-1] == last
    assert qualifier.is_year_month == (last in (Unit.YEAR, Unit.MONTH))


@given(st.integers(0, 0xFFFF))
def test_any_number_is_a_qualifier_or_refused(encoded: int) -> None:
    try:
        qualifier = Qualifier.from_encoded(encoded)
    except InterfaceError:
        return
    assert qualifier.first <= qualifier.last


def test_fraction_has_one_to_five_digits() -> None:
    assert datetime_qualifier(Unit.HOUR, Unit.FRACTION, 3).encoded == 0x096D
    with pytest.raises(InterfaceError):
        datetime_qualifier(Unit.HOUR, Unit.FRACTION, 6)


@pytest.mark.parametrize(
    ("sqltype", "text", "kind"),
    [
        (SqlType(TypeCode.INTEGER, 4), "INTEGER", TypeCode.INTEGER),
        (SqlType(TypeCode.CHAR, 10), "CHAR(10)", TypeCode.CHAR),
        (SqlType(TypeCode.VARCHAR, 0x0A14), "VARCHAR(20)", TypeCode.VARCHAR),
        (SqlType(TypeCode.DECIMAL, 0x0A02), "DECIMAL(10,2)", TypeCode.DECIMAL),
        (SqlType(TypeCode.DECIMAL, 0x10FF), "DECIMAL(16)", TypeCode.DECIMAL),
        (SqlType(TypeCode.MONEY, 0x1002), "MONEY(16,2)", TypeCode.MONEY),
        (SqlType(TypeCode.DATETIME, 0x0E0A), "DATETIME YEAR TO SECOND", TypeCode.DATETIME),
        (SqlType(TypeCode.INTERVAL, 0x066A), "INTERVAL HOUR(2) TO SECOND", TypeCode.INTERVAL),
        (SqlType(TypeCode.UDTVAR, 2048, 1, "informix", "lvarchar"), "LVARCHAR(2048)", TypeCode.LVARCHAR),
        (SqlType(TypeCode.UDTFIXED, 1, 5, "informix", "boolean"), "BOOLEAN", TypeCode.BOOLEAN),
        (SqlType(TypeCode.UDTFIXED, 72, 10, "informix", "blob"), "BLOB", TypeCode.UDTFIXED),
        (
            SqlType(TypeCode.UDTVAR, 0, 2061, "app", "point", 0, DISTINCT | DISTINCT_LVARCHAR),
            "point",
            TypeCode.LVARCHAR,
        ),
        (
            SqlType(TypeCode.UDTFIXED, 1, 2062, "app", "flag", 0, DISTINCT | DISTINCT_BOOLEAN),
            "flag",
            TypeCode.BOOLEAN,
        ),
        (SqlType(77), "TYPE 77", 77),
    ],
)
def test_a_type_is_written_as_in_create_table(sqltype: SqlType, text: str, kind: int) -> None:
    assert str(sqltype) == text
    assert sqltype.kind == kind


def test_a_type_has_its_sizes() -> None:
    money = SqlType(TypeCode.MONEY, 0x1002)
    assert (money.precision, money.scale, money.size, money.qualifier) == (16, 2, None, None)
    floating = SqlType(TypeCode.DECIMAL, 0x20FF)
    assert (floating.precision, floating.scale) == (32, None)
    varchar = SqlType(TypeCode.NVARCHAR, 0x0AFF)
    assert (varchar.precision, varchar.size) == (None, 255)
    moment = SqlType(TypeCode.DATETIME, 0x0468)
    assert moment.qualifier == Qualifier(Unit.HOUR, Unit.MINUTE, 2)


def test_a_datetime_has_the_fields_it_was_given_and_no_others() -> None:
    value = Datetime(hour=12, minute=30)
    assert value.fields == (None, None, None, 12, 30, None, None)
    assert value.qualifier.encoded == 0x0468
    assert str(value) == "DATETIME(12:30) HOUR TO MINUTE"
    assert str(Datetime(month=2, day=29)) == "DATETIME(02-29) MONTH TO DAY"
    assert str(Datetime(1, 2)) == "DATETIME(0001-02) YEAR TO MONTH"
    assert str(Datetime(day=3, hour=4)) == "DATETIME(03 04) DAY TO HOUR"
    assert str(Datetime(second=5, microsecond=120000, scale=2)) == "DATETIME(05.12) SECOND TO FRACTION(2)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Datetime(2026, 5), "2026-05"),
        (Datetime(7), "0007"),
        (Datetime(month=5, day=4), "05-04"),
        (Datetime(day=4, hour=9, minute=30), "04T09:30"),
        (Datetime(hour=9), "09"),
        (Datetime(minute=1, second=2, microsecond=340_000, scale=2), "01:02.34"),
    ],
)
def test_a_datetime_in_iso_8601_has_the_fields_that_there_are(value: Datetime, text: str) -> None:
    assert value.isoformat() == text


def test_a_datetime_becomes_one_of_pythons_with_the_fields_of_another() -> None:
    assert Datetime(2026, 5).to_datetime() == dt.datetime(2026, 5, 1)
    assert Datetime(hour=9).to_datetime() == dt.datetime(1900, 1, 1, 9)
    leap = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
    assert Datetime(month=2, day=29).to_datetime(default=leap) == leap.replace(month=2, day=29)
    with pytest.raises(DataError, match="invalid Datetime: day "):
        Datetime(month=2, day=29).to_datetime()


@pytest.mark.parametrize("default", [dt.date(2024, 1, 1), "2024-01-01", None])
def test_the_default_of_to_datetime_is_a_datetime(default: Any) -> None:
    with pytest.raises(InterfaceError, match=f"^default: expected a datetime, got {type(default).__name__}$"):
        Datetime(month=5).to_datetime(default)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (Unit.YEAR, Unit.YEAR, Datetime),
        (Unit.YEAR, Unit.MONTH, Datetime),
        (Unit.YEAR, Unit.DAY, dt.date),
        (Unit.YEAR, Unit.HOUR, dt.datetime),
        (Unit.YEAR, Unit.MINUTE, dt.datetime),
        (Unit.YEAR, Unit.SECOND, dt.datetime),
        (Unit.MONTH, Unit.SECOND, Datetime),
        (Unit.HOUR, Unit.HOUR, Datetime),
        (Unit.HOUR, Unit.MINUTE, dt.time),
        (Unit.HOUR, Unit.SECOND, dt.time),
        (Unit.MINUTE, Unit.SECOND, Datetime),
    ],
)
def test_a_qualifier_has_the_class_of_its_values(first: Unit, last: Unit, expected: type) -> None:
    assert datetime_qualifier(first, last).datetime_class is expected


def test_the_digits_of_a_fraction_take_no_part_in_comparisons() -> None:
    assert Datetime(second=5, microsecond=0, scale=1) == Datetime(second=5, microsecond=0, scale=5)
    assert len({Datetime(minute=1), Datetime(minute=1), Datetime(second=1)}) == 2


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"hour": 24},
        {"month": 0},
        {"year": 10000},
        {"hour": 1, "second": 2},
        {"microsecond": 1_000_000},
        {"day": -1},
    ],
)
def test_fields_that_cannot_be_are_refused(fields: dict[str, int]) -> None:
    with pytest.raises(DataError):
        Datetime(**fields)


def test_an_interval_has_one_sign_for_the_whole() -> None:
    value = IntervalYM(years=-5, months=-3)
    assert value == IntervalYM(months=-63)
    assert (value.years, value.months, value.total_months) == (-5, -3, -63)
    assert str(value) == "INTERVAL(-5-3) YEAR(9) TO MONTH"
    assert repr(value) == "IntervalYM(years=-5, months=-3)"
    assert IntervalYM(1, -3) == IntervalYM(months=9)


@given(st.integers(-10_000, 10_000), st.integers(-10_000, 10_000))
def test_intervals_reckon_and_sort_as_their_months(left: int, right: int) -> None:
    a, b = IntervalYM(months=left), IntervalYM(months=right)
    assert (a + b).total_months == left + right
    assert (a - b).total_months == left - right
    assert (-a).total_months == -left
    assert (a < b, a <= b, a > b, a == b) == (left < right, left <= right, left > right, left == right)
    assert a.years * 12 + a.months == left
    assert (hash(a) == hash(b)) or left != right


def test_a_name_of_a_type_is_shown_without_control_characters() -> None:
    for flags in (0, DISTINCT):
        assert str(SqlType(TypeCode.UDTVAR, 8, 2048, "", "a\x1b[2Jb", flags=flags)).isprintable()


def test_a_serial_has_the_traits_of_the_type_of_its_values() -> None:
    assert SERIALS == {
        TypeCode.SERIAL: TypeCode.INTEGER,
        TypeCode.SERIAL8: TypeCode.INT8,
        TypeCode.BIGSERIAL: TypeCode.BIGINT,
    }
    for code, base in SERIALS.items():
        assert TRAITS[code]._replace(serial_of=None) == TRAITS[base]
    assert {type_.code for type_ in SIMPLE_TYPES.values()} == TRAITS.keys()
    assert INTEGER_CODES < NUMBER_CODES
