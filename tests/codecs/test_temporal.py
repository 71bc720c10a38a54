from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.base import Codec
from aioifx.codecs.registry import codec_for
from aioifx.codecs.temporal import DATE
from aioifx.errors import DataError, NotSupportedError
from aioifx.sqltypes import Datetime, IntervalYM, Qualifier, SqlType, TypeCode, Unit, datetime_qualifier
from tests.codecs.samples import DATETIME_QUALIFIERS, INTERVAL_QUALIFIERS, LATIN1, moments, spans
from tests.sampling import examples


def moment_codec(qualifier: Qualifier) -> Codec:
    return codec_for(SqlType(TypeCode.DATETIME, qualifier.encoded), LATIN1)


def span_codec(qualifier: Qualifier) -> Codec:
    return codec_for(SqlType(TypeCode.INTERVAL, qualifier.encoded), LATIN1)


YEAR_TO_SECOND = datetime_qualifier(Unit.YEAR, Unit.SECOND)
HOUR_TO_SECOND = datetime_qualifier(Unit.HOUR, Unit.SECOND)
HOUR_TO_MINUTE = datetime_qualifier(Unit.HOUR, Unit.MINUTE)
YEAR_TO_FRACTION3 = datetime_qualifier(Unit.YEAR, Unit.FRACTION, 3)
DAY_TO_SECOND = Qualifier(Unit.DAY, Unit.SECOND, 2)


# --- DATE -----------------------------------------------------------------------------------------------------------


@given(st.dates())
def test_dates_come_back(value: dt.date) -> None:
    assert DATE.decode(DATE.encode(value)) == value


@pytest.mark.parametrize("day", ["fff56aa5", "002d2481", "7fffffff", "80000001"])
def test_a_day_outside_the_calendar_is_refused(day: str) -> None:
    with pytest.raises(DataError, match="years 1 to 9999"):
        DATE.decode(bytes.fromhex(day))


def test_a_datetime_is_a_date_at_midnight_and_at_no_other_time() -> None:
    assert DATE.encode(dt.datetime(2024, 2, 29)) == DATE.encode(dt.date(2024, 2, 29))
    for other in (dt.datetime(2024, 2, 29, 0, 0, 0, 1), dt.datetime(2024, 2, 29, tzinfo=dt.UTC)):
        with pytest.raises(DataError, match="datetime with a time of day or zone does not fit DATE"):
            DATE.encode(other)


# --- DATETIME -------------------------------------------------------------------------------------------------------


def test_there_are_56_datetime_and_302_interval_qualifiers() -> None:
    assert len({qualifier.encoded for qualifier in DATETIME_QUALIFIERS}) == 56
    assert len({qualifier.encoded for qualifier in INTERVAL_QUALIFIERS}) == 302


@pytest.mark.parametrize("qualifier", DATETIME_QUALIFIERS, ids=Qualifier.datetime_text)
@examples(15)
@given(data=st.data())
def test_a_datetime_of_every_qualifier_comes_back(qualifier: Qualifier, data: st.DataObject) -> None:
    value = data.draw(moments(qualifier))
    codec = moment_codec(qualifier)
    field = codec.encode(value)
    assert len(field) == codec.width == 1 + ((qualifier.encoded >> 8) + 1) // 2
    decoded = codec.decode(field)
    assert decoded == value
    assert type(decoded) is type(value)
    if isinstance(decoded, Datetime):
        assert decoded.scale == value.scale


@pytest.mark.parametrize(
    "codec",
    [*map(moment_codec, DATETIME_QUALIFIERS), *map(span_codec, INTERVAL_QUALIFIERS)],
    ids=lambda codec: f"{codec.kind.name}-{codec.detail:#06x}",
)
def test_null_of_every_qualifier_comes_back(codec: Codec) -> None:
    assert codec.encode(None) == bytes(codec.width)
    assert codec.decode(codec.encode(None)) is None


@pytest.mark.parametrize(
    ("qualifier", "expected"),
    [
        (datetime_qualifier(Unit.YEAR, Unit.DAY), dt.date),
        (YEAR_TO_SECOND, dt.datetime),
        (YEAR_TO_FRACTION3, dt.datetime),
        (HOUR_TO_SECOND, dt.time),
        (datetime_qualifier(Unit.HOUR, Unit.FRACTION, 1), dt.time),
        (HOUR_TO_MINUTE, dt.time),
        (datetime_qualifier(Unit.YEAR, Unit.MINUTE), dt.datetime),
        (datetime_qualifier(Unit.YEAR, Unit.HOUR), dt.datetime),
        (datetime_qualifier(Unit.YEAR, Unit.MONTH), Datetime),
        (datetime_qualifier(Unit.HOUR, Unit.HOUR), Datetime),
        (datetime_qualifier(Unit.MONTH, Unit.DAY), Datetime),
        (datetime_qualifier(Unit.FRACTION, Unit.FRACTION, 5), Datetime),
    ],
)
def test_no_field_is_invented(qualifier: Qualifier, expected: type) -> None:
    moment = dt.datetime(2024, 2, 29, 12, 34, 56)
    names = ("year", "month", "day", "hour", "minute", "second", "microsecond")
    whole = zip(names, (*moment.timetuple()[:6], 0), Unit, strict=True)
    fields = {name: value for name, value, unit in whole if unit in qualifier.units}
    codec = moment_codec(qualifier)
    assert type(codec.decode(codec.encode(Datetime(**fields)))) is expected


@given(st.datetimes().map(lambda moment: moment.replace(microsecond=moment.microsecond // 10 * 10)))
def test_the_short_way_of_a_datetime_and_a_time_agrees_with_the_way_by_fields(moment: dt.datetime) -> None:
    fields = dict(
        zip(("year", "month", "day", "hour", "minute", "second"), moment.timetuple()[:6], strict=True),
        microsecond=moment.microsecond,
    )
    whole = moment_codec(datetime_qualifier(Unit.YEAR, Unit.FRACTION, 5))
    assert whole.encode(moment) == whole.encode(Datetime(**fields))
    clock = moment_codec(datetime_qualifier(Unit.HOUR, Unit.FRACTION, 5))
    by_fields = Datetime(
        **{name: value for name, value in fields.items() if name not in ("year", "month", "day")}
    )
    assert clock.encode(moment.time()) == clock.encode(by_fields)


def test_leading_zero_pairs_may_be_left_out_or_kept() -> None:
    codec = moment_codec(HOUR_TO_SECOND)
    assert codec.decode(bytes.fromhex("c3000007")) == dt.time(0, 0, 7)
    assert codec.decode(bytes.fromhex("c1070000")) == dt.time(0, 0, 7)
    assert codec.encode(dt.time(0, 0, 7)) == bytes.fromhex("c1070000")  # as servers do (observed)


def test_midnight_is_not_null() -> None:
    codec = moment_codec(HOUR_TO_SECOND)
    assert codec.encode(dt.time(0)) == bytes.fromhex("80000000")
    assert codec.decode(bytes.fromhex("80000000")) == dt.time(0)


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ("c714180d01000000", "invalid DATETIME"),  # month 13
        ("c714180100000000", "invalid DATETIME"),  # day 0
        ("c714180101180000", "invalid DATETIME"),  # hour 24
        ("c80101010101010101"[:16], "more digits"),
        ("3814180101000000", "negative"),
        ("c7141864010c0000", "above 99"),
    ],
)
def test_an_invalid_datetime_is_refused(field: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        moment_codec(YEAR_TO_SECOND).decode(bytes.fromhex(field))


@pytest.mark.parametrize(
    ("qualifier", "value", "reason"),
    [
        (YEAR_TO_SECOND, dt.time(12), "time has no YEAR"),
        (HOUR_TO_SECOND, dt.date(2024, 2, 29), "YEAR of the date does not fit"),
        (HOUR_TO_MINUTE, Datetime(hour=12, minute=30, second=1), "SECOND of the Datetime does not fit"),
        (datetime_qualifier(Unit.YEAR, Unit.MONTH), dt.date(2024, 2, 29), "DAY of the date does not fit"),
        (YEAR_TO_SECOND, dt.datetime(2024, 2, 29, tzinfo=dt.UTC), "aware datetime"),
        (HOUR_TO_SECOND, dt.time(12, tzinfo=dt.UTC), "aware time"),
        (YEAR_TO_SECOND, "2024-02-29 12:00:00", "DATETIME does not accept str"),
    ],
)
def test_a_field_that_would_be_lost_or_invented_is_refused(
    qualifier: Qualifier, value: Any, reason: str
) -> None:
    with pytest.raises(DataError, match=reason):
        moment_codec(qualifier).encode(value)


def test_fields_at_their_least_are_no_loss() -> None:
    assert (
        moment_codec(datetime_qualifier(Unit.YEAR, Unit.YEAR)).encode(dt.date(2024, 1, 1)) == b"\xc7\x14\x18"
    )
    assert moment_codec(HOUR_TO_MINUTE).encode(dt.time(12, 30)) == b"\xc3\x0c\x1e"


@pytest.mark.parametrize(
    ("code", "encoded"),
    [
        (TypeCode.DATETIME, 0x0A0A),  # two digits of year
        (TypeCode.DATETIME, 0x0A31),  # no such unit
        (TypeCode.INTERVAL, 0x0000),  # no digits
        (TypeCode.INTERVAL, 0x0A4A),  # DAY(4): sound, the counterpart below
        (TypeCode.INTERVAL, 0x0804),  # YEAR TO DAY: two families in one
        (TypeCode.INTERVAL, 0x2044),  # 32 digits of DAY
    ],
)
def test_an_invalid_qualifier_is_refused(code: int, encoded: int) -> None:
    if encoded == 0x0A4A:
        assert codec_for(SqlType(code, encoded), LATIN1).width == 6
        return
    with pytest.raises(NotSupportedError, match=f"qualifier: expected one of .*, got {encoded:#06x}"):
        codec_for(SqlType(code, encoded), LATIN1)


# --- INTERVAL -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("qualifier", INTERVAL_QUALIFIERS, ids=Qualifier.interval_text)
@examples(10)
@given(data=st.data())
def test_an_interval_of_every_qualifier_comes_back(qualifier: Qualifier, data: st.DataObject) -> None:
    value = data.draw(spans(qualifier))
    codec = span_codec(qualifier)
    field = codec.encode(value)
    digits, odd = qualifier.encoded >> 8, qualifier.leading & 1
    assert len(field) == codec.width == 1 + (digits + odd + 1) // 2
    assert codec.decode(field) == value


def test_one_sign_holds_for_the_whole_interval() -> None:
    value = -dt.timedelta(hours=1)
    codec = span_codec(DAY_TO_SECOND)
    assert codec.encode(value).hex() == "3c63000000"
    assert codec.decode(bytes.fromhex("3b63626363")) == -dt.timedelta(
        hours=1, minutes=0, seconds=1
    ) - dt.timedelta(0)


@pytest.mark.parametrize(
    ("qualifier", "value", "reason"),
    [
        (DAY_TO_SECOND, dt.timedelta(days=100), r"timedelta does not fit INTERVAL DAY\(2\) TO SECOND"),
        (
            Qualifier(Unit.HOUR, Unit.MINUTE, 2),
            dt.timedelta(seconds=1),
            "timedelta is finer than INTERVAL HOUR",
        ),
        (Qualifier(Unit.FRACTION, Unit.FRACTION, 5, 5), dt.timedelta(seconds=1), "does not fit"),
        (DAY_TO_SECOND, IntervalYM(1), "INTERVAL DAY.* does not accept IntervalYM"),
        (Qualifier(Unit.YEAR, Unit.MONTH, 4), dt.timedelta(1), "INTERVAL YEAR.* does not accept timedelta"),
        (Qualifier(Unit.YEAR, Unit.YEAR, 4), IntervalYM(1, 1), "is finer than"),
        (Qualifier(Unit.YEAR, Unit.MONTH, 4), IntervalYM(10_000), "does not fit"),
    ],
)
def test_an_interval_that_does_not_fit_is_refused(qualifier: Qualifier, value: Any, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        span_codec(qualifier).encode(value)


class Never(dt.datetime):
    """Like pandas' NaT: a datetime that equals nothing, and whose fields are NaN."""

    __hash__ = None  # type: ignore[assignment]
    year = float("nan")  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return False

    def __ne__(self, other: object) -> bool:
        return True

    def time(self) -> dt.time:
        raise ValueError("NaT has no time")


@pytest.mark.parametrize(
    "qualifier", [YEAR_TO_SECOND, HOUR_TO_MINUTE, datetime_qualifier(Unit.YEAR, Unit.DAY)]
)
def test_a_datetime_without_a_point_in_time_is_refused(qualifier: Qualifier) -> None:
    never = Never(2024, 2, 29)
    with pytest.raises(DataError, match=r"^DATETIME does not accept Never$"):
        moment_codec(qualifier).encode(never)
    with pytest.raises(DataError, match=r"^DATE does not accept Never$"):
        DATE.encode(never)


@pytest.mark.parametrize(
    ("qualifier", "value", "cut"),
    [
        (YEAR_TO_SECOND, dt.datetime(2024, 2, 29, 12, 0, 0, 999_999), dt.datetime(2024, 2, 29, 12)),
        (
            YEAR_TO_FRACTION3,
            dt.datetime(2024, 2, 29, 12, 0, 0, 123_999),
            dt.datetime(2024, 2, 29, 12, 0, 0, 123_000),
        ),
        (HOUR_TO_SECOND, dt.time(23, 59, 59, 999_999), dt.time(23, 59, 59)),
        (HOUR_TO_MINUTE, dt.time(23, 59, 59, 999_999), dt.time(23, 59)),
        (HOUR_TO_SECOND, dt.datetime(2024, 2, 29, 12, 30, 5, 999_999), dt.time(12, 30, 5)),
        (datetime_qualifier(Unit.YEAR, Unit.DAY), dt.datetime(2024, 2, 29, 12), dt.date(2024, 2, 29)),
        (datetime_qualifier(Unit.YEAR, Unit.MONTH), dt.datetime(2024, 2, 29), Datetime(2024, 2)),
        (datetime_qualifier(Unit.MONTH, Unit.DAY), dt.datetime(2024, 2, 29, 12), Datetime(month=2, day=29)),
        (
            datetime_qualifier(Unit.SECOND, Unit.FRACTION, 2),
            Datetime(second=5, microsecond=129_999),
            Datetime(second=5, microsecond=120_000),
        ),
    ],
)
def test_what_a_datetime_column_has_no_place_for_is_cut(qualifier: Qualifier, value: Any, cut: Any) -> None:
    # datetime.now() has six digits, no Informix type more than five; the server cuts as well, and never rounds.
    codec = moment_codec(qualifier)
    assert codec.decode(codec.encode(value)) == cut


@pytest.mark.parametrize(
    ("qualifier", "value", "cut"),
    [
        (DAY_TO_SECOND, dt.timedelta(seconds=1, microseconds=999_999), dt.timedelta(seconds=1)),
        (DAY_TO_SECOND, -dt.timedelta(seconds=1, microseconds=999_999), -dt.timedelta(seconds=1)),
        (
            Qualifier(Unit.DAY, Unit.FRACTION, 9, 5),
            dt.timedelta(microseconds=19),
            dt.timedelta(microseconds=10),
        ),
    ],
)
def test_digits_of_a_fraction_that_an_interval_has_no_place_for_are_cut_towards_zero(
    qualifier: Qualifier, value: dt.timedelta, cut: dt.timedelta
) -> None:
    codec = span_codec(qualifier)
    assert codec.decode(codec.encode(value)) == cut


def test_the_longest_interval_is_a_timedelta() -> None:
    codec = span_codec(Qualifier(Unit.DAY, Unit.FRACTION, 9, 5))
    value = dt.timedelta(days=999_999_999, hours=23, minutes=59, seconds=59, microseconds=999_990)
    assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize("sign", ["positive", "negative"])
def test_an_interval_beyond_any_timedelta_is_refused(sign: str) -> None:
    codec = span_codec(Qualifier(Unit.DAY, Unit.SECOND, 9))
    field = (
        bytes.fromhex("c8 6363636363 173b3b") if sign == "positive" else bytes.fromhex("37 0000000000 4c2829")
    )
    with pytest.raises(DataError, match="outside the range of timedelta"):
        codec.decode(field)
