"""Text of DATE, DATETIME and INTERVAL."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.temporal_text import (
    date_formatter,
    date_parser,
    datetime_formatter,
    datetime_parser,
    interval_formatter,
    interval_parser,
)
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import Datetime, IntervalYM, Qualifier, SqlType, TypeCode, Unit, datetime_qualifier
from tests.codecs.samples import DATETIME_QUALIFIERS, INTERVAL_QUALIFIERS, moments, spans
from tests.sampling import examples

DATE = SqlType(TypeCode.DATE, 4)
DBDATES = ["Y4MD-", "Y4MD/", "Y4DM.", "MDY4/", "DMY4.", "DMY4-", "MDY40", "Y4MD0", "MDY4"]


def moment(first: Unit, last: Unit, scale: int = 0) -> SqlType:
    return SqlType(TypeCode.DATETIME, datetime_qualifier(first, last, scale).encoded)


def span(first: Unit, last: Unit, leading: int = 2, scale: int = 0) -> SqlType:
    return SqlType(TypeCode.INTERVAL, Qualifier(first, last, leading, scale).encoded)


YEAR_TO_SECOND = moment(Unit.YEAR, Unit.SECOND)
YEAR_TO_FRACTION3 = moment(Unit.YEAR, Unit.FRACTION, 3)
HOUR_TO_SECOND = moment(Unit.HOUR, Unit.SECOND)
DAY_TO_SECOND = span(Unit.DAY, Unit.SECOND)


# --- DATE -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dbdate", "text"),
    [
        ("Y4MD-", "2026-01-31"),
        ("Y4MD/", "2026/01/31"),
        ("Y4DM.", "2026.31.01"),
        ("MDY4/", "01/31/2026"),
        ("DMY4.", "31.01.2026"),
        ("DMY4-", "31-01-2026"),
        ("MDY40", "01312026"),
        ("Y4MD0", "20260131"),
        ("MDY4", "01/31/2026"),
        ("y4md-", "2026-01-31"),
    ],
)
def test_a_date_is_written_and_read_as_dbdate_says(dbdate: str, text: str) -> None:
    assert date_formatter(DATE, dbdate)(dt.date(2026, 1, 31)) == text
    assert date_parser(DATE, dbdate)(text) == dt.date(2026, 1, 31)


@pytest.mark.parametrize("text", ["2026-1-3", " 2026-01-03", "2026-01-03 "])
def test_a_date_with_blanks_or_one_digit_is_read(text: str) -> None:
    assert date_parser(DATE, "Y4MD-")(text) == dt.date(2026, 1, 3)


@pytest.mark.parametrize(
    "text",
    ["", "2026", "2026-02-30", "20260131", "2026-W05-1", "26-01-31", "01/31/2026", "0000-01-01", "2026-01-31x",
     "2026-01-31 00:00", "2026-01-3\u0661", "tomorrow"],
)  # fmt: skip
def test_text_that_is_not_a_date_is_rejected(text: str) -> None:
    with pytest.raises(DataError, match=r"^not a valid DATE$"):
        date_parser(DATE, "Y4MD-")(text)


@pytest.mark.parametrize("dbdate", ["", "Y2MD-", "DMY2.", "YMD", "Y4MDY4", "MD-", "MY4D/", "Y4MD*", "Y4MD--"])
def test_a_dbdate_that_is_invalid_or_has_no_century_is_rejected(dbdate: str) -> None:
    for make in (date_parser, date_formatter):
        with pytest.raises(InterfaceError, match="dbdate: expected a form like"):
            make(DATE, dbdate)


@pytest.mark.parametrize("value", [dt.datetime(2026, 1, 31), "2026-01-31", 7])
def test_anything_but_a_date_is_not_written_as_one(value: Any) -> None:
    with pytest.raises(DataError, match="DATE does not accept"):
        date_formatter(DATE, "Y4MD-")(value)


@given(st.dates(), st.sampled_from(DBDATES))
def test_dates_come_back(value: dt.date, dbdate: str) -> None:
    assert date_parser(DATE, dbdate)(date_formatter(DATE, dbdate)(value)) == value


# --- DATETIME -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql_type", "value", "text"),
    [
        (YEAR_TO_SECOND, dt.datetime(2026, 1, 31, 12, 30, 5), "2026-01-31 12:30:05"),
        (YEAR_TO_SECOND, dt.datetime(7, 1, 31), "0007-01-31 00:00:00"),
        (YEAR_TO_FRACTION3, dt.datetime(2026, 1, 31, 12, 30, 5, 250_000), "2026-01-31 12:30:05.250"),
        (moment(Unit.YEAR, Unit.DAY), dt.date(2026, 1, 31), "2026-01-31"),
        (HOUR_TO_SECOND, dt.time(1, 2, 3), "01:02:03"),
        (moment(Unit.HOUR, Unit.FRACTION, 1), dt.time(1, 2, 3, 400_000), "01:02:03.4"),
        (moment(Unit.HOUR, Unit.MINUTE), dt.time(1, 2), "01:02"),
        (moment(Unit.YEAR, Unit.MONTH), Datetime(year=2026, month=1), "2026-01"),
        (moment(Unit.DAY, Unit.HOUR), Datetime(day=31, hour=1), "31 01"),
        (
            moment(Unit.MINUTE, Unit.FRACTION, 2),
            Datetime(minute=1, second=2, microsecond=340_000),
            "01:02.34",
        ),
        (moment(Unit.FRACTION, Unit.FRACTION, 5), Datetime(microsecond=123_450), ".12345"),
    ],
)
def test_a_datetime_is_written_without_keywords_and_read(sql_type: SqlType, value: Any, text: str) -> None:
    assert datetime_formatter(sql_type)(value) == text
    read = datetime_parser(sql_type)(text)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize("qualifier", DATETIME_QUALIFIERS, ids=Qualifier.datetime_text)
@examples(20)
@given(data=st.data())
def test_a_datetime_of_every_qualifier_comes_back(qualifier: Qualifier, data: st.DataObject) -> None:
    sql_type, value = SqlType(TypeCode.DATETIME, qualifier.encoded), data.draw(moments(qualifier))
    text = datetime_formatter(sql_type)(value)
    read = datetime_parser(sql_type)(text)
    assert read == value
    assert type(read) is type(value)
    if isinstance(value, Datetime):
        assert str(value) == f"DATETIME({text}) {qualifier.datetime_text()}"
        assert read.scale == value.scale


@pytest.mark.parametrize(
    ("sql_type", "text", "expected"),
    [
        (YEAR_TO_SECOND, "2026-01-31T12:30:05", dt.datetime(2026, 1, 31, 12, 30, 5)),
        (YEAR_TO_SECOND, " 2026-1-3 4:5:6 ", dt.datetime(2026, 1, 3, 4, 5, 6)),
        (YEAR_TO_SECOND, "2026-01-31 12:30:05.000", dt.datetime(2026, 1, 31, 12, 30, 5)),
        (YEAR_TO_FRACTION3, "2026-01-31 12:30:05", dt.datetime(2026, 1, 31, 12, 30, 5)),
        (YEAR_TO_FRACTION3, "2026-01-31 12:30:05.25", dt.datetime(2026, 1, 31, 12, 30, 5, 250_000)),
        (YEAR_TO_FRACTION3, "2026-01-31 12:30:05.250000", dt.datetime(2026, 1, 31, 12, 30, 5, 250_000)),
        (YEAR_TO_FRACTION3, "2026-1-31 12:30:05.25", dt.datetime(2026, 1, 31, 12, 30, 5, 250_000)),
        (HOUR_TO_SECOND, "1:2:3", dt.time(1, 2, 3)),
        (moment(Unit.FRACTION, Unit.FRACTION, 3), "0.5", Datetime(microsecond=500_000)),
    ],
)
def test_a_datetime_is_read_in_other_spellings(sql_type: SqlType, text: str, expected: Any) -> None:
    assert datetime_parser(sql_type)(text) == expected


@pytest.mark.parametrize(
    ("sql_type", "text"),
    [
        (YEAR_TO_SECOND, "2026-01-31"),
        (YEAR_TO_SECOND, "2026-01-31 12:30"),
        (YEAR_TO_SECOND, "2026-02-30 12:30:05"),
        (YEAR_TO_SECOND, "2026-2-30 12:30:05"),
        (YEAR_TO_SECOND, "2026-01-31 24:00:00"),
        (YEAR_TO_SECOND, "2026-01-31 12:60:00"),
        (YEAR_TO_SECOND, "2026-01-31 12:30:05.001"),
        (YEAR_TO_SECOND, "2026-01-31 12:30:05Z"),
        (YEAR_TO_SECOND, "2026-01-31 12:30:05+01:00"),
        (YEAR_TO_SECOND, "20260131 123005"),
        (YEAR_TO_SECOND, "2026-W05-6 12:30:05"),
        (YEAR_TO_SECOND, "-2026-01-31 12:30:05"),
        (YEAR_TO_SECOND, "0000-01-31 12:30:05"),
        (YEAR_TO_FRACTION3, "2026-01-31 12:30:05.0001"),
        (moment(Unit.YEAR, Unit.DAY), "2026-01-31 12:30:05"),
        (HOUR_TO_SECOND, "24:00:00"),
        (HOUR_TO_SECOND, "12:30"),
        (moment(Unit.HOUR, Unit.MINUTE), "12:61"),
        (moment(Unit.MONTH, Unit.DAY), "13-01"),
        (moment(Unit.FRACTION, Unit.FRACTION, 3), "500"),
        (YEAR_TO_SECOND, ""),
    ],
)
def test_a_datetime_that_would_lose_or_invent_something_is_refused(sql_type: SqlType, text: str) -> None:
    with pytest.raises(DataError, match=r"^not a valid DATETIME"):
        datetime_parser(sql_type)(text)


@pytest.mark.parametrize(
    ("sql_type", "value"),
    [
        (YEAR_TO_SECOND, dt.datetime(2026, 1, 31, tzinfo=dt.UTC)),
        (HOUR_TO_SECOND, dt.time(1, tzinfo=dt.UTC)),
        (YEAR_TO_SECOND, dt.time(1)),
        (YEAR_TO_SECOND, "2026-01-31 12:30:05"),
        (moment(Unit.HOUR, Unit.MINUTE), dt.date(2026, 1, 31)),
    ],
)
def test_a_value_that_does_not_fit_its_datetime_is_not_written(sql_type: SqlType, value: Any) -> None:
    with pytest.raises(DataError):
        datetime_formatter(sql_type)(value)


def test_digits_that_a_fraction_has_not_are_cut_as_the_codec_cuts_them() -> None:
    value = dt.datetime(2026, 1, 31, 12, 30, 5, 999_999)
    assert datetime_formatter(YEAR_TO_SECOND)(value) == "2026-01-31 12:30:05"
    assert datetime_formatter(YEAR_TO_FRACTION3)(value) == "2026-01-31 12:30:05.999"
    assert datetime_formatter(HOUR_TO_SECOND)(value.time()) == "12:30:05"


# --- INTERVAL -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql_type", "value", "text"),
    [
        (DAY_TO_SECOND, dt.timedelta(3, hours=4, minutes=5, seconds=6), "3 04:05:06"),
        (DAY_TO_SECOND, dt.timedelta(0), "0 00:00:00"),
        (DAY_TO_SECOND, -dt.timedelta(hours=4), "-0 04:00:00"),
        (span(Unit.DAY, Unit.DAY, 9), dt.timedelta(-123_456_789), "-123456789"),
        (span(Unit.HOUR, Unit.MINUTE, 4), dt.timedelta(days=3, minutes=7), "72:07"),
        (span(Unit.SECOND, Unit.FRACTION, 2, 3), dt.timedelta(seconds=1, milliseconds=50), "1.050"),
        (span(Unit.FRACTION, Unit.FRACTION, 5, 5), dt.timedelta(microseconds=-123_450), "-.12345"),
        (span(Unit.YEAR, Unit.MONTH, 4), IntervalYM(-5, -3), "-5-03"),
        (span(Unit.MONTH, Unit.MONTH, 3), IntervalYM(months=100), "100"),
        (span(Unit.YEAR, Unit.YEAR, 4), IntervalYM(years=0), "0"),
    ],
)
def test_an_interval_is_written_without_keywords_and_read(sql_type: SqlType, value: Any, text: str) -> None:
    assert interval_formatter(sql_type)(value) == text
    assert interval_parser(sql_type)(text) == value


@pytest.mark.parametrize("qualifier", INTERVAL_QUALIFIERS, ids=Qualifier.interval_text)
@examples(5)
@given(data=st.data())
def test_an_interval_of_every_qualifier_comes_back(qualifier: Qualifier, data: st.DataObject) -> None:
    sql_type, value = SqlType(TypeCode.INTERVAL, qualifier.encoded), data.draw(spans(qualifier))
    assert interval_parser(sql_type)(interval_formatter(sql_type)(value)) == value


@pytest.mark.parametrize(
    ("sql_type", "text", "expected"),
    [
        (DAY_TO_SECOND, "  03  4:5:6 ", dt.timedelta(3, hours=4, minutes=5, seconds=6)),
        (DAY_TO_SECOND, "+3 04:05:06.00", dt.timedelta(3, hours=4, minutes=5, seconds=6)),
        (span(Unit.YEAR, Unit.MONTH), "5-3", IntervalYM(5, 3)),
        (span(Unit.SECOND, Unit.FRACTION, 2, 3), "1", dt.timedelta(seconds=1)),
        (span(Unit.SECOND, Unit.FRACTION, 2, 3), "1.5", dt.timedelta(seconds=1.5)),
    ],
)
def test_an_interval_is_read_in_other_spellings(sql_type: SqlType, text: str, expected: Any) -> None:
    assert interval_parser(sql_type)(text) == expected


@pytest.mark.parametrize(
    ("sql_type", "text"),
    [
        (DAY_TO_SECOND, ""),
        (DAY_TO_SECOND, "3"),
        (DAY_TO_SECOND, "3 04:05"),
        (DAY_TO_SECOND, "3 24:05:06"),
        (DAY_TO_SECOND, "3 04:60:06"),
        (DAY_TO_SECOND, "3 04:05:60"),
        (DAY_TO_SECOND, "3 -04:05:06"),
        (DAY_TO_SECOND, "3 04:05:06.5"),
        (DAY_TO_SECOND, "3 days"),
        (span(Unit.DAY, Unit.HOUR, 9), "-999999999 01"),
        (span(Unit.YEAR, Unit.MONTH), "5-12"),
        (span(Unit.SECOND, Unit.FRACTION, 2, 3), "1.0005"),
    ],
)
def test_text_that_is_not_an_interval_is_rejected(sql_type: SqlType, text: str) -> None:
    with pytest.raises(DataError, match=r"^not a valid INTERVAL"):
        interval_parser(sql_type)(text)


@pytest.mark.parametrize(
    ("sql_type", "value"),
    [
        (DAY_TO_SECOND, IntervalYM(1)),
        (DAY_TO_SECOND, dt.timedelta(100)),
        (span(Unit.YEAR, Unit.MONTH), dt.timedelta(1)),
        (span(Unit.DAY, Unit.HOUR), dt.timedelta(minutes=1)),
    ],
)
def test_a_value_that_does_not_fit_its_interval_is_not_written(sql_type: SqlType, value: Any) -> None:
    with pytest.raises(DataError):
        interval_formatter(sql_type)(value)


# Law: any text is read or refused.
@given(
    st.one_of(
        st.sampled_from(DATETIME_QUALIFIERS).map(lambda qualifier: (TypeCode.DATETIME, qualifier)),
        st.sampled_from(INTERVAL_QUALIFIERS).map(lambda qualifier: (TypeCode.INTERVAL, qualifier)),
    ),
    st.text(st.sampled_from("0123456789-: .T+"), max_size=28) | st.text(),
)
def test_any_text_is_read_or_refused(case: tuple[TypeCode, Qualifier], text: str) -> None:
    code, qualifier = case
    sql_type = SqlType(code, qualifier.encoded)
    make, write = (
        (datetime_parser, datetime_formatter)
        if code == TypeCode.DATETIME
        else (interval_parser, interval_formatter)
    )
    try:
        value = make(sql_type)(text)
    except DataError:
        return
    try:
        written = write(sql_type)(value)
    except DataError as error:
        assert "does not fit" in str(error)  # too many digits in front: its encoder's to say
    else:
        assert make(sql_type)(written) == value
