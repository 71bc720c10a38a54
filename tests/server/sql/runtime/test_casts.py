from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Stored, type_number
from aioifx.server.sql.runtime.casts import as_text, assigner, comparer, convert
from aioifx.server.sql.runtime.dates import days_of
from aioifx.sqltypes import SqlType, Unit
from tests.server.sql import kinds
from tests.server.sql.kinds import (
    BIGINT,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    SMALLFLOAT,
    SMALLINT,
    YEAR_TO_DAY,
    YEAR_TO_MINUTE,
    YEAR_TO_SECOND,
    char,
    datetime_type,
    decimal,
    error_of,
    interval,
    lvarchar,
    money,
    n,
    varchar,
)

FOURTH = days_of(date(2026, 5, 4))
DAY_TO_SECOND = interval(Unit.DAY, Unit.SECOND, 3)
YEAR_TO_MONTH = interval(Unit.YEAR, Unit.MONTH, 4)

ALL = [
    SMALLINT, INTEGER, BIGINT, FLOAT, SMALLFLOAT, decimal(5, 2), decimal(), money(), char(12), varchar(12),
    lvarchar(40), DATE, YEAR_TO_DAY, YEAR_TO_SECOND, kinds.HOUR_TO_MINUTE, DAY_TO_SECOND, YEAR_TO_MONTH, BOOLEAN,
]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "source", "target", "result"),
    [
        # numbers
        (7, INTEGER, SMALLINT, 7),
        ("2.7", decimal(), INTEGER, 2),
        ("-2.7", decimal(), INTEGER, -2),
        (2.7, FLOAT, INTEGER, 2),
        (7, INTEGER, FLOAT, 7.0),
        (0.1, FLOAT, decimal(), "0.1"),
        (0.1, FLOAT, SMALLFLOAT, 0.10000000149011612),
        ("1.005", decimal(), decimal(5, 2), "1.01"),
        (5, INTEGER, decimal(5, 2), "5"),
        # text and numbers
        ("12", char(2), INTEGER, 12),
        (" 12.50 ", varchar(9), decimal(5, 2), "12.5"),
        ("1e3", char(3), INTEGER, 1000),
        ("$12.50", char(6), money(), "12.5"),
        (12, INTEGER, char(5), "12"),
        ("3.5", decimal(5, 2), varchar(9), "3.50"),
        ("3.5", decimal(), varchar(9), "3.5"),
        (3.0, FLOAT, varchar(9), "3"),
        (0.1, FLOAT, varchar(9), "0.1"),
        # text and text
        ("abcdefg", varchar(9), char(5), "abcde"),
        ("ab ", varchar(9), char(5), "ab"),
        ("ab", char(4), varchar(9), "ab  "),
        ("ab", char(4), varchar(3), "ab "),
        ("ab ", varchar(9), lvarchar(), "ab "),
        # dates
        ("05/04/2026", char(10), DATE, FOURTH),
        (FOURTH, DATE, char(10), "05/04/2026"),
        (FOURTH, DATE, INTEGER, FOURTH),
        (FOURTH, INTEGER, DATE, FOURTH),
        (FOURTH, DATE, YEAR_TO_SECOND, "2026-05-04 00:00:00"),
        ("2026-05-04 12:30:00", YEAR_TO_SECOND, DATE, FOURTH),
        # datetimes
        ("2026-05-04 12:30:59", YEAR_TO_SECOND, YEAR_TO_MINUTE, "2026-05-04 12:30"),
        ("2026-05-04 12:30", YEAR_TO_MINUTE, YEAR_TO_SECOND, "2026-05-04 12:30:00"),
        ("2026-05-04 12:30", char(16), YEAR_TO_MINUTE, "2026-05-04 12:30"),
        ("2026-05-04 12:30", YEAR_TO_MINUTE, varchar(30), "2026-05-04 12:30"),
        # intervals
        ("3 04:05:06", char(10), DAY_TO_SECOND, ((3 * 24 + 4) * 3600 + 306) * 100_000),
        (3_600 * 100_000, DAY_TO_SECOND, interval(Unit.MINUTE, Unit.MINUTE, 2), 3_600 * 100_000),
        (63, YEAR_TO_MONTH, varchar(9), "5-03"),
        # booleans
        ("t", char(1), BOOLEAN, "t"),
        ("f", BOOLEAN, varchar(5), "f"),
        ("t", BOOLEAN, BOOLEAN, "t"),
    ],
    ids=str,
)
def test_conversions(value: Stored, source: SqlType, target: SqlType, result: Stored) -> None:
    converted = convert(value, source, target, kinds.settings())
    assert converted == result
    assert type(converted) is type(result)


@pytest.mark.parametrize(
    ("value", "source", "target", "sqlcode"),
    [
        (40_000, INTEGER, SMALLINT, -1214),
        ("3000000000", decimal(), INTEGER, -1215),
        ("1e19", char(4), BIGINT, -1284),
        (-32_768, INTEGER, SMALLINT, -1214),
        ("1000", decimal(), decimal(5, 2), -1226),
        (1e300, FLOAT, SMALLFLOAT, -1222),
        ("1e300", varchar(9), decimal(), -1226),
        ("x", char(1), INTEGER, -1213),
        ("", varchar(1), decimal(), -1213),
        ("$1", char(2), decimal(), -1213),
        ("nan", char(3), FLOAT, -1213),
        (123456, INTEGER, char(5), -1207),
        (FOURTH, DATE, char(9), -1207),
        ("2026-05-04 12:30:59", YEAR_TO_SECOND, varchar(10), -1207),
        ("x", char(1), DATE, -1218),
        ("02/30/2026", char(10), DATE, -1206),
        ("13/01/2026", char(10), DATE, -1205),
        ("01/01/0000", char(10), DATE, -1204),
        (10**7, INTEGER, DATE, -1210),
        ("12026-05-04", char(11), YEAR_TO_DAY, -1261),
        ("x", char(1), YEAR_TO_DAY, -1262),
        ("2026-05-32", char(10), YEAR_TO_DAY, -1263),
        ("2026-05-04 1", char(12), YEAR_TO_DAY, -1264),
        (400 * 86_400 * 100_000, DAY_TO_SECOND, interval(Unit.DAY, Unit.DAY, 2), -1265),
        (1, DAY_TO_SECOND, YEAR_TO_MONTH, -1266),
        (1, YEAR_TO_MONTH, DAY_TO_SECOND, -1266),
        (1, INTEGER, YEAR_TO_DAY, -1260),
        (1, INTEGER, DAY_TO_SECOND, -1260),
        (1, INTEGER, BOOLEAN, -1260),
        ("t", BOOLEAN, INTEGER, -1260),
        (FOURTH, DATE, BOOLEAN, -1260),
        (FOURTH, DATE, DAY_TO_SECOND, -1260),
        ("T", char(1), BOOLEAN, -1260),
        ("1", char(1), BOOLEAN, -1260),
        ("x", char(1), kinds.BLOB, -1260),
    ],
    ids=str,
)
def test_what_cannot_be_converted_says_why(
    value: Stored, source: SqlType, target: SqlType, sqlcode: int
) -> None:
    assert error_of(convert, value, source, target, kinds.settings()) == sqlcode


@pytest.mark.parametrize("source", ALL, ids=str)
@pytest.mark.parametrize("target", ALL, ids=str)
def test_null_becomes_null_of_any_type(source: SqlType, target: SqlType) -> None:
    assert convert(None, source, target, kinds.settings()) is None
    assert convert(None, kinds.NULL, target, kinds.settings()) is None


@given(st.text(alphabet="0123456789-+./: eE$tf\tü", max_size=24), st.sampled_from(ALL))
def test_any_text_converts_or_is_an_error(text: str, target: SqlType) -> None:
    settings = kinds.settings()
    try:
        stored = convert(text, lvarchar(24), target, settings)
        # what was read once is read alike when it is shown
        shown = as_text(stored, target, settings)
        again = convert(shown, lvarchar(400), target, settings)
    except SqlError as error:
        assert error.sqlcode in range(-1290, -1199)
    else:
        assert again == stored


@given(st.text(max_size=30), st.sampled_from(ALL))
def test_any_unicode_text_converts_or_is_an_error(text: str, target: SqlType) -> None:
    try:
        convert(text, lvarchar(40), target, kinds.settings())
    except SqlError as error:
        assert error.sqlcode in range(-1290, -1199) or error.sqlcode == -23103


def test_sizes_count_bytes_of_the_code_set() -> None:
    settings = kinds.settings()
    assert convert("äöü", lvarchar(), char(4), settings) == "äöü"
    settings.code_set = "utf-8"
    assert convert("äöü", lvarchar(), char(4), settings) == "äö"
    assert convert("äöü", lvarchar(), varchar(5), settings) == "äö"
    assert as_text("ä", char(4), settings) == "ä  "


def test_the_session_says_how_dates_are_written() -> None:
    settings = kinds.settings()
    settings.dbdate = "Y4MD-"
    assert convert(FOURTH, DATE, char(10), settings) == "2026-05-04"
    assert convert("2026-05-04", char(10), DATE, settings) == FOURTH


def test_cut_strings_are_an_error_where_the_session_wants_it() -> None:
    settings = kinds.settings()
    assign = assigner(n(varchar(9)), n(char(3)))
    assert assign("abcd", settings) == "abc"
    settings.string_truncate_error = True
    assert error_of(assign, "abcd", settings) == -1279
    assert assign("abc   ", settings) == "abc"
    assert convert("abcd", varchar(9), char(3), settings) == "abc"


@pytest.mark.parametrize(
    ("value", "sql_type", "text"),
    [
        ("ab", char(4), "ab  "),
        ("ab ", varchar(4), "ab "),
        (5, INTEGER, "5"),
        ("3.5", money(), "3.50"),
        (1e300, FLOAT, "1e+300"),
        (FOURTH, DATE, "05/04/2026"),
        ("12:30", kinds.HOUR_TO_MINUTE, "12:30"),
        (-63, YEAR_TO_MONTH, "-5-03"),
        ("t", BOOLEAN, "t"),
        (None, INTEGER, None),
    ],
)
def test_values_as_text(value: Stored, sql_type: SqlType, text: str | None) -> None:
    assert as_text(value, sql_type, kinds.settings()) == text


def compare(left: Stored, left_type: SqlType, right: Stored, right_type: SqlType) -> int | None:
    return comparer(type_number(left_type), type_number(right_type))(left, right, kinds.settings())


@pytest.mark.parametrize(
    ("left", "left_type", "right", "right_type", "order"),
    [
        ("ab", char(5), "ab  ", varchar(5), 0),
        ("a", char(5), "b", varchar(5), -1),
        (2, INTEGER, "2.5", decimal(), -1),
        (2, INTEGER, 2.0, FLOAT, 0),
        ("0.1", decimal(), 0.1, FLOAT, 0),
        (10, INTEGER, "9", varchar(5), 1),
        ("9", varchar(5), 10, INTEGER, -1),
        (2, SMALLINT, "2.5", char(3), -1),
        ("10.0", char(4), "10", decimal(5, 2), 0),
        (FOURTH, DATE, "05/04/2026", char(10), 0),
        (FOURTH, DATE, FOURTH + 1, INTEGER, -1),
        (FOURTH, DATE, "2026-05-04 00:00:01", YEAR_TO_SECOND, -1),
        (FOURTH, DATE, "2026-05-04", YEAR_TO_DAY, 0),
        ("2026-05-04 12:30", YEAR_TO_MINUTE, "2026-05-04 12:30:00", YEAR_TO_SECOND, 0),
        ("2026-05-04 12:30", YEAR_TO_MINUTE, "2026-05-04 12:30", varchar(20), 0),
        ("12:30", kinds.HOUR_TO_MINUTE, "2026-05-04 12:29", YEAR_TO_MINUTE, 1),
        ("12:30", kinds.HOUR_TO_MINUTE, "12:30", kinds.HOUR_TO_MINUTE, 0),
        (100_000, interval(Unit.SECOND, Unit.SECOND), 99_999, interval(Unit.SECOND, Unit.FRACTION, 2, 5), 1),
        (63, YEAR_TO_MONTH, "5-3", char(3), 0),
        ("t", BOOLEAN, "f", char(1), 1),
    ],
    ids=str,
)
def test_comparisons(
    left: Stored, left_type: SqlType, right: Stored, right_type: SqlType, order: int
) -> None:
    assert compare(left, left_type, right, right_type) == order
    assert compare(right, right_type, left, left_type) == -order


@pytest.mark.parametrize(
    ("left", "left_type", "right", "right_type", "sqlcode"),
    [
        (1, INTEGER, "x", char(1), -1213),
        (FOURTH, DATE, "x", char(1), -1218),
        ("2026-05-04", YEAR_TO_DAY, "5/4/2026", char(8), -1262),
        (1, DAY_TO_SECOND, 1, YEAR_TO_MONTH, -1266),
        (1, INTEGER, 1, YEAR_TO_MONTH, -1260),
        ("t", BOOLEAN, 1, INTEGER, -1260),
        (1, INTEGER, "2026-05-04", YEAR_TO_DAY, -1260),
    ],
    ids=str,
)
def test_what_cannot_be_compared_says_why(
    left: Stored, left_type: SqlType, right: Stored, right_type: SqlType, sqlcode: int
) -> None:
    assert error_of(compare, left, left_type, right, right_type) == sqlcode


def test_every_two_types_compare_or_are_refused() -> None:
    for first in ALL:
        for second in ALL:
            try:
                comparer(type_number(first), type_number(second))
            except SqlError as error:
                assert error.sqlcode in (-1260, -1266)


def test_a_datetime_compares_with_one_of_other_fields_by_what_both_have() -> None:
    month = datetime_type(Unit.YEAR, Unit.MONTH)
    assert compare("2026-05", month, "2026-05-01 00:00:00", YEAR_TO_SECOND) == 0
