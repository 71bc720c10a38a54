from __future__ import annotations

from datetime import date, timedelta

from aioifx.server.sql.runtime import datetime_arithmetic
from aioifx.server.sql.runtime.dates import days_of
from aioifx.server.sql.runtime.datetimes import TICK
from aioifx.sqltypes import Unit
from tests.server.sql import kinds
from tests.server.sql.kinds import DATE, error_of, interval, n

SETTINGS = kinds.settings()
FOURTH = days_of(date(2026, 5, 4))
SECONDS = n(kinds.YEAR_TO_SECOND)
MINUTES = n(kinds.YEAR_TO_MINUTE)
MONTHS = n(interval(Unit.MONTH, Unit.MONTH))
SECOND = timedelta(seconds=1) // TICK


def test_now_is_what_the_settings_say() -> None:
    assert datetime_arithmetic.today(SETTINGS) == FOURTH
    assert datetime_arithmetic.current(SETTINGS, n(kinds.YEAR_TO_FRACTION_3)) == "2026-05-04 12:34:56.789"
    assert datetime_arithmetic.current(SETTINGS, n(kinds.YEAR_TO_FRACTION_5)) == "2026-05-04 12:34:56.78901"
    assert datetime_arithmetic.current(SETTINGS, n(kinds.HOUR_TO_MINUTE)) == "12:34"


def test_days_are_added_to_a_date() -> None:
    assert datetime_arithmetic.add_days(FOURTH, 7) == FOURTH + 7
    assert datetime_arithmetic.subtract_days(FOURTH, "1.9") == FOURTH - 1
    assert datetime_arithmetic.add_days(None, 7) is None
    assert error_of(datetime_arithmetic.add_days, FOURTH, 10**9) == -1210


def test_an_interval_is_added_to_a_datetime() -> None:
    second = n(interval(Unit.SECOND, Unit.SECOND))
    found = datetime_arithmetic.subtract_interval(SETTINGS, "2026-05-04 00:00:00", SECONDS, SECOND, second)
    assert found == "2026-05-03 23:59:59"
    result = datetime_arithmetic.add_interval(SETTINGS, "2024-02-29 10:00", MINUTES, 48, MONTHS)
    assert result == "2028-02-29 10:00"
    assert (
        datetime_arithmetic.add_interval(SETTINGS, "2024-02-29 10:00", MINUTES, -1, MONTHS)
        == "2024-01-29 10:00"
    )


def test_a_month_that_lacks_the_day_is_out_of_range() -> None:
    assert (
        error_of(datetime_arithmetic.add_interval, SETTINGS, "2024-01-31 10:00", MINUTES, 1, MONTHS) == -1267
    )


def test_a_date_plus_an_interval_is_a_datetime_year_to_day() -> None:
    assert datetime_arithmetic.add_interval(SETTINGS, FOURTH, n(DATE), 1, MONTHS) == "2026-06-04"
    hours = n(interval(Unit.HOUR, Unit.HOUR))
    assert (
        error_of(datetime_arithmetic.add_interval, SETTINGS, FOURTH, n(DATE), 3600 * SECOND, hours) == -1266
    )


def test_only_intervals_are_added() -> None:
    assert error_of(datetime_arithmetic.add_interval, SETTINGS, FOURTH, n(DATE), 1, n(kinds.INTEGER)) == -1266
    assert datetime_arithmetic.add_interval(SETTINGS, None, n(DATE), 1, MONTHS) is None


def test_the_difference_of_a_date_and_a_datetime() -> None:
    found = datetime_arithmetic.difference(SETTINGS, "2026-05-05 12:00:00", SECONDS, FOURTH, n(DATE))
    assert found == 36 * 3600 * SECOND
    result = datetime_arithmetic.difference(SETTINGS, FOURTH, n(DATE), "2026-05-03", n(kinds.YEAR_TO_DAY))
    assert result == 24 * 3600 * SECOND
    assert datetime_arithmetic.difference(SETTINGS, None, n(DATE), FOURTH, n(DATE)) is None


def test_to_char_formats_days_and_times_but_no_numbers() -> None:
    assert datetime_arithmetic.to_char(SETTINGS, FOURTH, n(DATE), "%d.%m.%Y %H:%M") == "04.05.2026 00:00"
    assert datetime_arithmetic.to_char(SETTINGS, "2026-05-04 12:34:56", SECONDS, "%H%M") == "1234"
    assert datetime_arithmetic.to_char(SETTINGS, None, SECONDS, "%H%M") is None
    assert datetime_arithmetic.to_char(SETTINGS, FOURTH, n(DATE), None) is None
    assert error_of(datetime_arithmetic.to_char, SETTINGS, 5, n(kinds.INTEGER), "999") == -999


def test_to_date_gives_the_type_that_is_wanted() -> None:
    assert datetime_arithmetic.to_date(SETTINGS, "04.05.2026 12", "%d.%m.%Y %H", n(DATE)) == FOURTH
    found = datetime_arithmetic.to_date(SETTINGS, "04.05.2026 12", "%d.%m.%Y %H", SECONDS)
    assert found == "2026-05-04 12:00:00"
    assert datetime_arithmetic.to_date(SETTINGS, None, "%d", SECONDS) is None
    assert datetime_arithmetic.to_date(SETTINGS, "1", None, SECONDS) is None
    assert error_of(datetime_arithmetic.to_date, SETTINGS, "x", "%d", SECONDS) == -1277
