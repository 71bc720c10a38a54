from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.runtime import date_parts
from aioifx.server.sql.runtime.dates import days_of
from aioifx.server.sql.runtime.datetimes import TICK
from aioifx.sqltypes import Unit
from tests.server.sql import kinds
from tests.server.sql.kinds import DATE, error_of, interval, n

SETTINGS = kinds.settings()
SECONDS = n(kinds.YEAR_TO_SECOND)
FOURTH = days_of(date(2026, 5, 4))  # a Monday


def test_parts_of_a_date() -> None:
    assert date_parts.year(SETTINGS, FOURTH, n(DATE)) == 2026
    assert date_parts.month(SETTINGS, FOURTH, n(DATE)) == 5
    assert date_parts.day(SETTINGS, FOURTH, n(DATE)) == 4
    assert date_parts.weekday(SETTINGS, FOURTH, n(DATE)) == 1
    assert date_parts.weekday(SETTINGS, FOURTH - 1, n(DATE)) == 0
    assert date_parts.quarter(SETTINGS, FOURTH, n(DATE)) == 2
    assert date_parts.year(SETTINGS, None, n(DATE)) is None
    assert date_parts.quarter(SETTINGS, None, n(DATE)) is None


def test_parts_of_a_datetime_need_the_field() -> None:
    text = "2026-05-04 12:34:56"
    assert date_parts.month(SETTINGS, text, SECONDS) == 5
    assert date_parts.day(SETTINGS, "04 12", n(kinds.datetime_type(Unit.DAY, Unit.HOUR))) == 4
    assert error_of(date_parts.year, SETTINGS, "12:34", n(kinds.HOUR_TO_MINUTE)) == -1266
    assert error_of(date_parts.weekday, SETTINGS, "12:34", n(kinds.HOUR_TO_MINUTE)) == -1266
    assert error_of(date_parts.year, SETTINGS, 5, n(kinds.INTEGER)) == -1266


def test_mdy_names_the_number_that_is_wrong() -> None:
    assert date_parts.mdy(2, 29, 2024) == days_of(date(2024, 2, 29))
    assert date_parts.mdy("5", "4.9", 2026) == FOURTH
    assert date_parts.mdy(None, 1, 2024) is None
    assert error_of(date_parts.mdy, 1, 1, 0) == -1204
    assert error_of(date_parts.mdy, 13, 1, 2024) == -1205
    assert error_of(date_parts.mdy, 2, 30, 2024) == -1206


def test_adding_months_keeps_last_days_and_the_time() -> None:
    assert date_parts.add_months(SETTINGS, "2024-01-31 10:00:00", SECONDS, 1) == "2024-02-29 10:00:00"
    assert date_parts.add_months(SETTINGS, days_of(date(2024, 2, 29)), n(DATE), "12") == days_of(
        date(2025, 2, 28)
    )
    assert date_parts.add_months(SETTINGS, None, n(DATE), 1) is None
    assert error_of(date_parts.add_months, SETTINGS, FOURTH, n(DATE), 10**12) == -1267
    assert error_of(date_parts.add_months, SETTINGS, "12:34", n(kinds.HOUR_TO_MINUTE), 1) == -1266


def test_last_and_next_days() -> None:
    assert date_parts.last_day(SETTINGS, FOURTH, n(DATE)) == FOURTH + 27
    assert date_parts.next_day(SETTINGS, FOURTH, n(DATE), "Mon") == FOURTH + 7
    assert date_parts.next_day(SETTINGS, FOURTH, n(DATE), "tuesday") == FOURTH + 1
    assert date_parts.next_day(SETTINGS, FOURTH, n(DATE), "SUN") == FOURTH + 6
    assert date_parts.next_day(SETTINGS, FOURTH, n(DATE), None) is None
    assert error_of(date_parts.next_day, SETTINGS, FOURTH, n(DATE), "x") == -1277
    assert error_of(date_parts.next_day, SETTINGS, days_of(date.max), n(DATE), "Mon") == -1267


@given(
    st.dates(max_value=date(9999, 12, 20)), st.sampled_from(["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"])
)
def test_the_next_day_is_at_most_a_week_ahead_and_has_that_name(day: date, name: str) -> None:
    found = date_parts.next_day(SETTINGS, days_of(day), n(DATE), name)
    assert isinstance(found, int)
    assert 1 <= found - days_of(day) <= 7
    assert date_parts.moment_of(found, n(DATE), SETTINGS).strftime("%a") == name


@pytest.mark.parametrize(
    ("left", "right", "months"),
    [
        (date(2024, 3, 15), date(2024, 1, 15), "2"),
        (date(2024, 2, 29), date(2024, 1, 31), "1"),
        (date(2024, 1, 1), date(2024, 3, 1), "-2"),
        (date(2025, 3, 1), date(2024, 1, 1), "14"),
        (date(2024, 2, 1), date(2024, 1, 31), "0.03225806451612903225806451612903"),
    ],
)
def test_months_between(left: date, right: date, months: str) -> None:
    found = date_parts.months_between(SETTINGS, days_of(left), n(DATE), days_of(right), n(DATE))
    assert isinstance(found, str)
    assert found[:30] == months[:30]


def test_months_between_counts_the_time_too() -> None:
    half = date_parts.months_between(
        SETTINGS, "2024-01-16 12:00:00", SECONDS, days_of(date(2024, 1, 1)), n(DATE)
    )
    assert half == "0.5"
    assert date_parts.months_between(SETTINGS, None, SECONDS, 1, n(DATE)) is None


@pytest.mark.parametrize(
    ("part", "truncated", "rounded"),
    [
        ("YEAR", "2026-01-01 00:00:00", "2027-01-01 00:00:00"),
        ("month", "2026-07-01 00:00:00", "2026-08-01 00:00:00"),
        ("DAY", "2026-07-12 00:00:00", "2026-07-19 00:00:00"),
        ("DD", "2026-07-16 00:00:00", "2026-07-17 00:00:00"),
        ("HH", "2026-07-16 12:00:00", "2026-07-16 13:00:00"),
        ("MI", "2026-07-16 12:30:00", "2026-07-16 12:31:00"),
    ],
)
def test_dates_are_cut_and_rounded_to_a_part(part: str, truncated: str, rounded: str) -> None:
    text = "2026-07-16 12:30:30"
    assert date_parts.truncate_date(SETTINGS, text, SECONDS, part) == truncated
    assert date_parts.round_date(SETTINGS, text, SECONDS, part) == rounded


def test_rounding_without_a_part_is_to_days() -> None:
    assert date_parts.round_date(SETTINGS, "2026-07-16 11:59:59", SECONDS) == "2026-07-16 00:00:00"
    assert date_parts.truncate_date(SETTINGS, FOURTH, n(DATE)) == FOURTH
    assert date_parts.round_date(SETTINGS, None, SECONDS) is None
    assert date_parts.truncate_date(SETTINGS, FOURTH, n(DATE), None) is None
    assert error_of(date_parts.truncate_date, SETTINGS, FOURTH, n(DATE), "QUARTER") == -1277
    assert error_of(date_parts.round_date, SETTINGS, days_of(date.max), n(DATE), "YEAR") == -1267
    assert error_of(date_parts.truncate_date, SETTINGS, days_of(date.min) + 1, n(DATE), "DAY") == -1267


def test_a_moment_is_extended_like_any_datetime() -> None:
    assert date_parts.moment_of("12:30", n(kinds.HOUR_TO_MINUTE), SETTINGS) == datetime(2026, 5, 4, 12, 30)


MINUTES = n(kinds.YEAR_TO_MINUTE)
MONTHS = n(interval(Unit.MONTH, Unit.MONTH))
SECOND = timedelta(seconds=1) // TICK


def test_now_is_what_the_settings_say() -> None:
    assert date_parts.today(SETTINGS) == FOURTH
    assert date_parts.current(SETTINGS, n(kinds.YEAR_TO_FRACTION_3)) == "2026-05-04 12:34:56.789"
    assert date_parts.current(SETTINGS, n(kinds.YEAR_TO_FRACTION_5)) == "2026-05-04 12:34:56.78901"
    assert date_parts.current(SETTINGS, n(kinds.HOUR_TO_MINUTE)) == "12:34"


def test_days_are_added_to_a_date() -> None:
    assert date_parts.add_days(FOURTH, 7) == FOURTH + 7
    assert date_parts.subtract_days(FOURTH, "1.9") == FOURTH - 1
    assert date_parts.add_days(None, 7) is None
    assert error_of(date_parts.add_days, FOURTH, 10**9) == -1210


def test_an_interval_is_added_to_a_datetime() -> None:
    second = n(interval(Unit.SECOND, Unit.SECOND))
    assert (
        date_parts.subtract_interval(SETTINGS, "2026-05-04 00:00:00", SECONDS, SECOND, second)
        == "2026-05-03 23:59:59"
    )
    assert date_parts.add_interval(SETTINGS, "2024-02-29 10:00", MINUTES, 48, MONTHS) == "2028-02-29 10:00"
    assert date_parts.add_interval(SETTINGS, "2024-02-29 10:00", MINUTES, -1, MONTHS) == "2024-01-29 10:00"


def test_a_month_that_lacks_the_day_is_out_of_range() -> None:
    assert error_of(date_parts.add_interval, SETTINGS, "2024-01-31 10:00", MINUTES, 1, MONTHS) == -1267


def test_a_date_plus_an_interval_is_a_datetime_year_to_day() -> None:
    assert date_parts.add_interval(SETTINGS, FOURTH, n(DATE), 1, MONTHS) == "2026-06-04"
    hours = n(interval(Unit.HOUR, Unit.HOUR))
    assert error_of(date_parts.add_interval, SETTINGS, FOURTH, n(DATE), 3600 * SECOND, hours) == -1266


def test_only_intervals_are_added() -> None:
    assert error_of(date_parts.add_interval, SETTINGS, FOURTH, n(DATE), 1, n(kinds.INTEGER)) == -1266
    assert date_parts.add_interval(SETTINGS, None, n(DATE), 1, MONTHS) is None


def test_the_difference_of_a_date_and_a_datetime() -> None:
    assert (
        date_parts.difference(SETTINGS, "2026-05-05 12:00:00", SECONDS, FOURTH, n(DATE)) == 36 * 3600 * SECOND
    )
    assert (
        date_parts.difference(SETTINGS, FOURTH, n(DATE), "2026-05-03", n(kinds.YEAR_TO_DAY))
        == 24 * 3600 * SECOND
    )
    assert date_parts.difference(SETTINGS, None, n(DATE), FOURTH, n(DATE)) is None


def test_to_char_formats_days_and_times_but_no_numbers() -> None:
    assert date_parts.to_char(SETTINGS, FOURTH, n(DATE), "%d.%m.%Y %H:%M") == "04.05.2026 00:00"
    assert date_parts.to_char(SETTINGS, "2026-05-04 12:34:56", SECONDS, "%H%M") == "1234"
    assert date_parts.to_char(SETTINGS, None, SECONDS, "%H%M") is None
    assert date_parts.to_char(SETTINGS, FOURTH, n(DATE), None) is None
    assert error_of(date_parts.to_char, SETTINGS, 5, n(kinds.INTEGER), "999") == -999


def test_to_date_gives_the_type_that_is_wanted() -> None:
    assert date_parts.to_date(SETTINGS, "04.05.2026 12", "%d.%m.%Y %H", n(DATE)) == FOURTH
    assert date_parts.to_date(SETTINGS, "04.05.2026 12", "%d.%m.%Y %H", SECONDS) == "2026-05-04 12:00:00"
    assert date_parts.to_date(SETTINGS, None, "%d", SECONDS) is None
    assert date_parts.to_date(SETTINGS, "1", None, SECONDS) is None
    assert error_of(date_parts.to_date, SETTINGS, "x", "%d", SECONDS) == -1277
