from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.temporal import FIRST_DAY, LAST_DAY
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime import dates
from tests.server.sql import kinds
from tests.server.sql.kinds import error_of

FORMATS = ["MDY4/", "MDY4-", "DMY4.", "Y4MD-", "Y4MD0", "DMY40", "Y4DM/"]


@pytest.mark.parametrize(
    ("day", "days"),
    [
        # observed: the same numbers travelled from a real server
        (date(1899, 12, 31), 0),
        (date(1899, 12, 30), -1),
        (date(1970, 1, 1), 25568),
        (date(1, 1, 1), -693594),
        (date(9999, 12, 31), 2958464),
        (date(2000, 2, 29), 36584),
    ],
)
def test_day_zero_is_the_last_of_1899(day: date, days: int) -> None:
    assert dates.days_of(day) == days
    assert dates.date_of(days) == day


def test_days_beyond_the_calendar_are_refused() -> None:
    for call in (dates.date_of, dates.checked_days):
        assert error_of(call, FIRST_DAY - 1) == -1210
        assert error_of(call, LAST_DAY + 1) == -1210


@pytest.mark.parametrize(
    ("dbdate", "text"),
    [
        ("MDY4/", "05/04/2026"),
        ("Y4MD-", "2026-05-04"),
        ("DMY4.", "04.05.2026"),
        ("DMY2-", "04-05-26"),
        ("MDY40", "05042026"),
        ("mdy4", "05/04/2026"),
    ],
)
def test_dbdate_says_how_a_date_is_shown(dbdate: str, text: str) -> None:
    settings = kinds.settings()
    settings.dbdate = dbdate
    days = dates.days_of(date(2026, 5, 4))
    assert dates.format_date(days, settings) == text
    assert dates.parse_date(text, settings) == days


@pytest.mark.parametrize("dbdate", ["", "MDY", "MMY4/", "MDY3/", "MDY4//", "Y4M/"])
def test_a_bad_dbdate_is_refused(dbdate: str) -> None:
    assert error_of(dates.date_format, dbdate) == -1212


@pytest.mark.parametrize("text", ["5/4/2026", " 05-04-2026 ", "5.4.26", "05042026", "050426", "5 4 2026"])
def test_any_separator_will_do(text: str) -> None:
    assert dates.date_of(dates.parse_date(text, kinds.settings())) == date(2026, 5, 4)


@pytest.mark.parametrize(
    ("text", "sqlcode"),
    [
        ("", -1218), ("x", -1218), ("5/4", -1218), ("5/4/2026/1", -1218), ("a/4/2026", -1218),
        ("5//2026", -1218), ("5/4/20260", -1218), ("\u0665/4/2026", -1218), ("5/4/0000", -1204),
        ("13/4/2026", -1205), ("0/4/2026", -1205), ("2/29/2026", -1206), ("4/31/2026", -1206),
        ("4/0/2026", -1206),
    ],
)  # fmt: skip
def test_a_text_that_is_not_a_date_says_why(text: str, sqlcode: int) -> None:
    assert error_of(dates.parse_date, text, kinds.settings()) == sqlcode


@given(st.dates(), st.sampled_from(FORMATS))
def test_what_is_shown_is_read_again(day: date, dbdate: str) -> None:
    settings = kinds.settings()
    settings.dbdate = dbdate
    days = dates.days_of(day)
    assert dates.parse_date(dates.format_date(days, settings), settings) == days


@given(st.text(alphabet="0123456789/-. x", max_size=12))
def test_any_text_is_a_date_or_an_error(text: str) -> None:
    try:
        days = dates.parse_date(text, kinds.settings())
    except SqlError as error:
        assert error.sqlcode in (-1204, -1205, -1206, -1218)
    else:
        assert FIRST_DAY <= days <= LAST_DAY


@pytest.mark.parametrize(
    ("century", "digits", "year"),
    [
        ("R", "99", 2099), ("R", "26", 2026), ("P", "99", 1999), ("P", "27", 1927), ("P", "25", 2025),
        ("F", "99", 2099), ("F", "25", 2125), ("C", "99", 1999), ("C", "30", 2030), ("R", "099", 99),
        ("R", "1999", 1999),
    ],
)  # fmt: skip
def test_dbcentury_completes_years_of_two_digits(century: str, digits: str, year: int) -> None:
    settings = kinds.settings()  # it is May 2026
    settings.century = century
    assert dates.full_year(digits, 1, 1, settings) == year


def test_past_and_future_turn_at_today() -> None:
    settings = kinds.settings()
    settings.century = "P"
    assert dates.full_year("26", 5, 3, settings) == 2026
    assert dates.full_year("26", 5, 5, settings) == 1926
    settings.century = "F"
    assert dates.full_year("26", 5, 5, settings) == 2026
    assert dates.full_year("26", 5, 3, settings) == 2126


def test_months_are_added_only_where_the_day_exists() -> None:
    assert dates.shift_months(date(2024, 1, 31), 2) == date(2024, 3, 31)
    assert dates.shift_months(date(2024, 1, 31), 1) is None
    assert dates.shift_months(date(2024, 1, 1), -1) == date(2023, 12, 1)
    assert dates.shift_months(date(9999, 12, 1), 1) is None
    assert dates.shift_months(date(1, 1, 1), -1) is None


def test_a_clipped_month_keeps_last_days() -> None:
    assert dates.add_months_clipped(date(2024, 1, 31), 1) == date(2024, 2, 29)
    assert dates.add_months_clipped(date(2024, 2, 29), 1) == date(2024, 3, 31)
    assert dates.add_months_clipped(date(2024, 1, 30), 1) == date(2024, 2, 29)
    assert dates.add_months_clipped(date(2024, 1, 28), 1) == date(2024, 2, 28)
    assert dates.add_months_clipped(date(9999, 12, 1), 1) is None
