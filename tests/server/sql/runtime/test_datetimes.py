from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime import datetimes
from aioifx.server.sql.runtime.dates import days_of
from aioifx.server.sql.runtime.datetimes import qualifier_of
from aioifx.sqltypes import Qualifier, SqlType, Unit
from tests.server.sql import kinds
from tests.server.sql.kinds import DATETIME_TYPES, datetime_type, error_of

SECOND = qualifier_of(kinds.YEAR_TO_SECOND)
MINUTE = qualifier_of(kinds.YEAR_TO_MINUTE)
DAY = qualifier_of(kinds.YEAR_TO_DAY)
FRACTION = qualifier_of(kinds.YEAR_TO_FRACTION_3)
CLOCK = qualifier_of(kinds.HOUR_TO_MINUTE)


def of(first: Unit, last: Unit, scale: int = 0) -> Qualifier:
    return qualifier_of(datetime_type(first, last, scale))


@pytest.mark.parametrize(
    ("text", "qualifier", "stored"),
    [
        ("2026-05-04 12:34:56", SECOND, "2026-05-04 12:34:56"),
        (" 2026-5-4 1:2 ", MINUTE, "2026-05-04 01:02"),
        ("2026-05-04 12:34:56.12345", FRACTION, "2026-05-04 12:34:56.123"),
        ("2026-05-04 12:34:56.5", FRACTION, "2026-05-04 12:34:56.500"),
        ("2026-05-04 12:34:56", FRACTION, "2026-05-04 12:34:56.000"),
        ("26-05-04", DAY, "2026-05-04"),
        ("12:34", CLOCK, "12:34"),
        ("7", of(Unit.HOUR, Unit.HOUR), "07"),
        (".5", of(Unit.FRACTION, Unit.FRACTION, 3), ".500"),
        ("5", of(Unit.FRACTION, Unit.FRACTION, 1), ".5"),
        ("2-29", of(Unit.MONTH, Unit.DAY), "02-29"),
    ],
)
def test_texts_are_read_by_their_qualifier(text: str, qualifier: Qualifier, stored: str) -> None:
    assert datetimes.parse_datetime(text, qualifier, kinds.settings()) == stored


@pytest.mark.parametrize(
    ("text", "qualifier", "sqlcode"),
    [
        ("20260-05-04", DAY, -1261),
        ("012:34", CLOCK, -1261),
        ("2026-05-x4", DAY, -1262),
        ("2026/05/04", DAY, -1262),
        ("abc", DAY, -1262),
        ("2026-05-04T12:34", MINUTE, -1262),
        ("", DAY, -1263),
        ("2026-05", DAY, -1263),
        ("2026-05-", DAY, -1263),
        ("2026-13-04", DAY, -1263),
        ("2026-02-29", DAY, -1263),
        ("2026-04-31", DAY, -1263),
        ("0000-01-01", DAY, -1263),
        ("24:00", CLOCK, -1263),
        ("12:60", CLOCK, -1263),
        ("12:034", CLOCK, -1263),
        ("2-30", of(Unit.MONTH, Unit.DAY), -1263),
        ("2026-05-04 12:34", FRACTION, -1263),
        ("2026-05-04 12:34:56.", FRACTION, -1263),
        ("", of(Unit.FRACTION, Unit.FRACTION, 3), -1263),
        ("2026-05-04 12:34:56.0", SECOND, -1264),
        ("2026-05-04x", DAY, -1264),
    ],
)
def test_a_text_that_is_not_a_datetime_says_why(text: str, qualifier: Qualifier, sqlcode: int) -> None:
    assert error_of(datetimes.parse_datetime, text, qualifier, kinds.settings()) == sqlcode


@given(st.text(alphabet="0123456789-: .x", max_size=26), st.sampled_from(DATETIME_TYPES))
def test_any_text_is_a_datetime_or_an_error(text: str, sql_type: SqlType) -> None:
    qualifier, settings = qualifier_of(sql_type), kinds.settings()
    try:
        stored = datetimes.parse_datetime(text, qualifier, settings)
    except SqlError as error:
        assert error.sqlcode in (-1261, -1262, -1263, -1264)
    else:
        assert datetimes.parse_datetime(stored, qualifier, settings) == stored


@pytest.mark.parametrize(
    ("text", "source", "target", "result"),
    [
        ("2026-05-04", DAY, SECOND, "2026-05-04 00:00:00"),
        ("2026-05", of(Unit.YEAR, Unit.MONTH), SECOND, "2026-05-01 00:00:00"),
        ("2026", of(Unit.YEAR, Unit.YEAR), FRACTION, "2026-01-01 00:00:00.000"),
        ("10:20", CLOCK, SECOND, "2026-05-04 10:20:00"),
        ("20", of(Unit.DAY, Unit.DAY), DAY, "2026-05-20"),
        ("10:20", CLOCK, of(Unit.MINUTE, Unit.MINUTE), "20"),
        ("2026-05-04 12:34:56.999", FRACTION, MINUTE, "2026-05-04 12:34"),
        ("2026-05-04 12:34:56.99", of(Unit.YEAR, Unit.FRACTION, 2), FRACTION, "2026-05-04 12:34:56.990"),
        ("2026-05-04 12:34:56", SECOND, of(Unit.FRACTION, Unit.FRACTION, 2), ".00"),
        (".25", of(Unit.FRACTION, Unit.FRACTION, 2), SECOND, "2026-05-04 12:34:56"),
    ],
)
def test_extending_takes_now_on_the_left_and_the_beginning_on_the_right(
    text: str, source: Qualifier, target: Qualifier, result: str
) -> None:
    assert datetimes.requalified(text, source, target, kinds.settings()) == result


def test_extending_into_a_month_without_that_day_is_out_of_range() -> None:
    settings = kinds.settings()
    settings.now = datetime(2026, 2, 1)
    assert error_of(datetimes.requalified, "30", of(Unit.DAY, Unit.DAY), DAY, settings) == -1267
    assert error_of(datetimes.requalified, "02-29", of(Unit.MONTH, Unit.DAY), DAY, settings) == -1267


@given(st.datetimes(), st.sampled_from(DATETIME_TYPES), st.sampled_from(DATETIME_TYPES))
def test_cutting_twice_is_cutting_once(moment: datetime, first: SqlType, second: SqlType) -> None:
    settings = kinds.settings()
    settings.now = moment
    full = qualifier_of(kinds.YEAR_TO_FRACTION_5)
    text = datetimes.full_form(moment)
    once = datetimes.requalified(text, full, qualifier_of(first), settings)
    again = datetimes.requalified(once, qualifier_of(first), qualifier_of(second), settings)
    # What the first cut loses on the right comes back as zeros, what it loses on the left as now, which is the same
    lost = qualifier_of(first)
    if (lost.last, lost.scale) >= (qualifier_of(second).last, qualifier_of(second).scale):
        assert again == datetimes.requalified(text, full, qualifier_of(second), settings)
    assert (
        len(again) == datetimes.span(qualifier_of(second)).stop - datetimes.span(qualifier_of(second)).start
    )


@given(st.datetimes(), st.timedeltas())
def test_moving_by_ticks_is_timedelta_arithmetic(moment: datetime, distance: timedelta) -> None:
    qualifier = qualifier_of(kinds.YEAR_TO_FRACTION_5)
    moment = moment.replace(microsecond=moment.microsecond // 10 * 10)
    ticks = distance // datetimes.TICK
    try:
        expected = datetimes.full_form(moment + ticks * datetimes.TICK)
    except OverflowError:
        found = error_of(datetimes.add_ticks, datetimes.full_form(moment), qualifier, ticks, kinds.settings())
        assert found == -1267
    else:
        assert (
            datetimes.add_ticks(datetimes.full_form(moment), qualifier, ticks, kinds.settings()) == expected
        )


def test_months_are_moved_only_where_the_day_exists() -> None:
    settings = kinds.settings()
    assert datetimes.add_month_count("2024-01-31 10:00", MINUTE, 2, settings) == "2024-03-31 10:00"
    assert error_of(datetimes.add_month_count, "2024-01-31 10:00", MINUTE, 1, settings) == -1267
    assert datetimes.add_month_count("2024-01", of(Unit.YEAR, Unit.MONTH), -1, settings) == "2023-12"
    assert error_of(datetimes.add_month_count, "9999-12-01 00:00", MINUTE, 1, settings) == -1267


def test_a_time_of_day_does_not_wrap() -> None:
    hour = 360_000_000
    assert datetimes.add_ticks("10:30", CLOCK, 2 * hour, kinds.settings()) == "12:30"
    assert error_of(datetimes.add_ticks, "23:30", CLOCK, hour, kinds.settings()) == -1267
    assert error_of(datetimes.add_ticks, "00:30", CLOCK, -hour, kinds.settings()) == -1267


def test_an_interval_with_fields_that_the_datetime_lacks_is_refused() -> None:
    minutes = Qualifier(Unit.MINUTE, Unit.MINUTE, 3)
    assert error_of(datetimes.check_fields, DAY, minutes) == -1266
    assert error_of(datetimes.check_fields, CLOCK, Qualifier(Unit.DAY, Unit.DAY, 2)) == -1266
    assert error_of(datetimes.check_fields, CLOCK, Qualifier(Unit.YEAR, Unit.MONTH, 4)) == -1266
    assert error_of(datetimes.check_fields, MINUTE, minutes) is None


def test_differences_count_months_or_ticks() -> None:
    settings = kinds.settings()
    month = of(Unit.YEAR, Unit.MONTH)
    assert datetimes.subtract("2026-05", month, "2024-12", month, settings) == 17
    difference = datetimes.subtract("2026-05-04 12:00", MINUTE, "2026-05-01 06:30", MINUTE, settings)
    assert difference == timedelta(days=3, hours=5, minutes=30) // datetimes.TICK
    assert (
        datetimes.subtract("2026-05-01", DAY, "2026-04", month, settings) == timedelta(30) // datetimes.TICK
    )


def test_the_left_side_says_how_fine_a_difference_is() -> None:
    settings = kinds.settings()
    seconds = datetimes.subtract("2026-05-04 12:00:01", SECOND, "2026-05-04 12:00:00.750", FRACTION, settings)
    assert seconds == 100_000
    finer = datetimes.subtract("2026-05-04 12:00:00.750", FRACTION, "2026-05-04 12:00:00", SECOND, settings)
    assert finer == 75_000


def test_fields_that_the_left_side_lacks_do_not_count_in_a_difference() -> None:
    settings = kinds.settings()
    month, hour, tick = of(Unit.YEAR, Unit.MONTH), of(Unit.YEAR, Unit.HOUR), datetimes.TICK
    days = datetimes.subtract("2026-05-04", DAY, "2026-05-01 06:30", MINUTE, settings)
    assert days == timedelta(3) // tick
    assert datetimes.subtract("2026-05", month, "2025-01-15", DAY, settings) == 16
    clock = datetimes.subtract("12:30", CLOCK, "2026-01-01", DAY, settings)
    assert clock == timedelta(hours=12, minutes=30) // tick
    # The manual's own example
    filled = datetimes.subtract("2003-09-30 12:30", MINUTE, "2003-08-01 11", hour, settings)
    assert filled == timedelta(days=60, hours=1, minutes=30) // tick


def test_only_moments_have_a_datetime_qualifier() -> None:
    assert qualifier_of(kinds.DATE) == DAY
    assert error_of(qualifier_of, kinds.INTEGER) == -1266
    assert error_of(qualifier_of, kinds.interval(Unit.DAY, Unit.DAY)) == -1266


def test_dates_and_datetimes_turn_into_each_other() -> None:
    settings = kinds.settings()
    assert datetimes.datetime_of_days(0) == "1899-12-31"
    assert datetimes.days_of_datetime("1900-01-01 23:59", MINUTE, settings) == 1
    assert datetimes.days_of_datetime("10:20", CLOCK, settings) == days_of(settings.today)
