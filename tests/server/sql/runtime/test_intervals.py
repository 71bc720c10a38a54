from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime import intervals
from aioifx.server.sql.runtime.intervals import (
    fit_interval,
    format_interval,
    interval_qualifier,
    parse_interval,
)
from aioifx.sqltypes import SqlType, Unit
from tests.server.sql import kinds
from tests.server.sql.kinds import INTERVAL_TYPES, error_of, interval, n

SECOND = 100_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

DAY_TO_SECOND = interval(Unit.DAY, Unit.SECOND, 2)
DAY_TO_MINUTE = interval(Unit.DAY, Unit.MINUTE, 8)
YEAR_TO_MONTH = interval(Unit.YEAR, Unit.MONTH, 4)


@pytest.mark.parametrize(
    ("text", "sql_type", "amount"),
    [
        ("3 04:05:06", DAY_TO_SECOND, 3 * DAY + 4 * HOUR + 5 * MINUTE + 6 * SECOND),
        ("-3 04:05:06", DAY_TO_SECOND, -(3 * DAY + 4 * HOUR + 5 * MINUTE + 6 * SECOND)),
        ("-5-3", YEAR_TO_MONTH, -63),
        ("+5-11", YEAR_TO_MONTH, 71),
        (" 720 ", interval(Unit.MINUTE, Unit.MINUTE, 3), 720 * MINUTE),
        ("99:59.5", interval(Unit.MINUTE, Unit.FRACTION, 2, 2), 99 * MINUTE + 59 * SECOND + 50_000),
        ("1.23456", interval(Unit.SECOND, Unit.FRACTION, 2, 3), SECOND + 23_400),
        (".123", interval(Unit.FRACTION, Unit.FRACTION, scale=3), 12_300),
        ("123", interval(Unit.FRACTION, Unit.FRACTION, scale=3), 12_300),
        ("0099 00:00:00", DAY_TO_SECOND, 99 * DAY),
    ],
)
def test_texts_are_read_by_their_qualifier(text: str, sql_type: SqlType, amount: int) -> None:
    assert parse_interval(text, interval_qualifier(sql_type)) == amount


@pytest.mark.parametrize(
    ("text", "sql_type", "sqlcode"),
    [
        ("100 00:00:00", DAY_TO_SECOND, -1261),
        ("x 00:00:00", DAY_TO_SECOND, -1262),
        ("3 04-05:06", DAY_TO_SECOND, -1262),
        ("", DAY_TO_SECOND, -1263),
        ("3", DAY_TO_SECOND, -1263),
        ("3 24:00:00", DAY_TO_SECOND, -1263),
        ("3 00:60:00", DAY_TO_SECOND, -1263),
        ("3 00:00:006", DAY_TO_SECOND, -1263),
        ("5-12", YEAR_TO_MONTH, -1263),
        ("5-3-1", YEAR_TO_MONTH, -1264),
        ("3 04:05:06.7", DAY_TO_SECOND, -1264),
    ],
)
def test_a_text_that_is_not_an_interval_says_why(text: str, sql_type: SqlType, sqlcode: int) -> None:
    assert error_of(parse_interval, text, interval_qualifier(sql_type)) == sqlcode


@given(st.text(alphabet="0123456789-: .+x", max_size=20), st.sampled_from(INTERVAL_TYPES))
def test_any_text_is_an_interval_or_an_error(text: str, sql_type: SqlType) -> None:
    qualifier = interval_qualifier(sql_type)
    try:
        amount = parse_interval(text, qualifier)
    except SqlError as error:
        assert error.sqlcode in (-1261, -1262, -1263, -1264)
    else:
        assert fit_interval(amount, qualifier) == amount


@given(st.integers(-(10**21), 10**21), st.sampled_from(INTERVAL_TYPES))
def test_what_is_shown_is_read_again(amount: int, sql_type: SqlType) -> None:
    qualifier = interval_qualifier(sql_type)
    try:
        fitted = fit_interval(amount, qualifier)
    except SqlError as error:
        assert error.sqlcode == -1265
    else:
        assert abs(fitted) <= abs(amount)
        assert parse_interval(format_interval(fitted, qualifier), qualifier) == fitted


@pytest.mark.parametrize(
    ("amount", "sql_type", "text"),
    [
        (3 * DAY + 5 * HOUR + 30 * MINUTE, DAY_TO_MINUTE, "3 05:30"),
        (-63, YEAR_TO_MONTH, "-5-03"),
        (0, DAY_TO_SECOND, "0 00:00:00"),
        (12_300, interval(Unit.FRACTION, Unit.FRACTION, scale=3), ".123"),
        (-150_000, interval(Unit.SECOND, Unit.FRACTION, 2, 1), "-1.5"),
        (7, interval(Unit.MONTH, Unit.MONTH, 2), "7"),
    ],
)
def test_one_sign_stands_for_the_whole(amount: int, sql_type: SqlType, text: str) -> None:
    assert format_interval(amount, interval_qualifier(sql_type)) == text


def test_fitting_cuts_at_the_end_and_refuses_at_the_beginning() -> None:
    minutes = interval_qualifier(DAY_TO_MINUTE)
    assert fit_interval(MINUTE + 59 * SECOND, minutes) == MINUTE
    assert fit_interval(-(MINUTE + 59 * SECOND), minutes) == -MINUTE
    assert fit_interval(63, interval_qualifier(interval(Unit.YEAR, Unit.YEAR, 1))) == 60
    assert error_of(fit_interval, 100 * DAY, interval_qualifier(DAY_TO_SECOND)) == -1265
    fraction = interval_qualifier(interval(Unit.FRACTION, Unit.FRACTION, scale=3))
    assert error_of(fit_interval, SECOND, fraction) == -1265
    assert error_of(interval_qualifier, kinds.DATE) == -1266


@pytest.mark.parametrize(
    ("number", "sql_type", "amount"),
    [
        (5, interval(Unit.DAY, Unit.DAY), 5 * DAY),
        ("2.9", interval(Unit.HOUR, Unit.HOUR), 2 * HOUR),
        (-1, interval(Unit.YEAR, Unit.YEAR), -12),
        (1.5, interval(Unit.SECOND, Unit.SECOND), SECOND),
        (None, interval(Unit.DAY, Unit.DAY), None),
    ],
)
def test_units_make_an_interval_of_a_number(number: object, sql_type: SqlType, amount: int | None) -> None:
    assert intervals.units(number, n(sql_type)) == amount  # type: ignore[arg-type] # any stored number


def test_intervals_add_up_within_their_type() -> None:
    days = n(interval(Unit.DAY, Unit.DAY, 2))
    assert intervals.add_intervals(98 * DAY, DAY, days) == 99 * DAY
    assert error_of(intervals.add_intervals, 99 * DAY, DAY, days) == -1265
    assert intervals.subtract_intervals(DAY, 3 * DAY, days) == -2 * DAY
    assert intervals.subtract_intervals(None, DAY, days) is None
    assert intervals.negate_interval(DAY) == -DAY
    assert intervals.negate_interval(None) is None


def test_intervals_times_and_by_numbers() -> None:
    hours = n(interval(Unit.HOUR, Unit.MINUTE))
    assert intervals.multiply_interval(HOUR, "1.5", hours) == HOUR + 30 * MINUTE
    assert intervals.multiply_interval(-HOUR, 0.501, hours) == -30 * MINUTE
    assert intervals.divide_interval(HOUR, 7, hours) == 8 * MINUTE
    assert error_of(intervals.divide_interval, HOUR, "0", hours) == -1202
    assert error_of(intervals.multiply_interval, HOUR, "1e100", hours) == -1265
    assert intervals.multiply_interval(None, 1, hours) is None
    assert intervals.divide_interval(HOUR, None, hours) is None


def test_smaller_fields_of_the_second_operand_do_not_count() -> None:
    days = n(interval(Unit.DAY, Unit.DAY, 2))
    assert intervals.subtract_intervals(5 * DAY, 3 * HOUR, days) == 5 * DAY
    assert intervals.add_intervals(5 * DAY, 47 * HOUR, days) == 6 * DAY


def test_a_product_has_the_precision_of_the_interval() -> None:
    # The manual's own example: 15:30.0002 * 2.5
    fine = n(interval(Unit.MINUTE, Unit.FRACTION, 2, 4))
    amount = 15 * MINUTE + 30 * SECOND + 20
    assert intervals.multiply_interval(amount, "2.5", fine) == 38 * MINUTE + 45 * SECOND + 50
    assert error_of(intervals.multiply_interval, 5 * DAY, 100, n(interval(Unit.DAY, Unit.DAY, 2))) == -1265
