from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.builtin_types import TEXT
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.runtime.casts import assigner
from aioifx.server.sql.runtime.client_values import load, loader, natural, store, storer
from aioifx.server.sql.runtime.datetimes import TICK
from aioifx.server.sql.runtime.large_objects import locator_of
from aioifx.sqltypes import Datetime, IntervalYM, SqlType, TypeCode, Unit
from tests.server.sql import kinds
from tests.server.sql.kinds import (
    BIGINT,
    BOOLEAN,
    DATE,
    DATETIME_TYPES,
    FLOAT,
    INTEGER,
    SMALLFLOAT,
    SMALLINT,
    YEAR_TO_DAY,
    YEAR_TO_FRACTION_3,
    YEAR_TO_FRACTION_5,
    YEAR_TO_MINUTE,
    YEAR_TO_SECOND,
    char,
    datetime_type,
    decimal,
    error_of,
    interval,
    lvarchar,
    money,
    varchar,
)

UNKNOWN = SqlType(TypeCode.ROWREF)

SETTINGS = kinds.settings()


def through(value: object, sql_type: SqlType) -> object:
    """A value stored in a column and read from it again."""
    return load(store(value, sql_type, SETTINGS), sql_type)


# --- the round trip law: what a column can hold comes back as it went in ------------------------------------------


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_integers_come_back(number: int) -> None:
    assert through(number, BIGINT) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back(number: float) -> None:
    assert through(number, FLOAT) == number


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_smallfloats_come_back(number: float) -> None:
    assert through(number, SMALLFLOAT) == number


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-9999, max_value=9999, places=3))
def test_decimals_come_back_with_their_scale(number: Decimal) -> None:
    loaded = through(number, decimal(7, 3))
    assert isinstance(loaded, Decimal)
    assert loaded == number
    assert loaded.as_tuple().exponent == -3


@given(st.integers(-(10**32) + 1, 10**32 - 1), st.integers(-100, 60))
def test_floating_decimals_come_back(digits: int, exponent: int) -> None:
    number = Decimal(digits).scaleb(exponent, Context(prec=40))
    assert through(number, decimal()) == number


@given(st.text(alphabet=st.characters(max_codepoint=255), max_size=255))
def test_varchars_come_back(text: str) -> None:
    assert through(text, varchar(255)) == text
    assert through(text, lvarchar(300)) == text


@given(st.text(alphabet=st.characters(max_codepoint=255), max_size=10))
def test_chars_come_back_with_blanks(text: str) -> None:
    assert through(text, char(10)) == text.ljust(10)


@given(
    st.one_of(
        st.integers(-(2**40), 2**40),
        st.floats(),
        st.datetimes(),
        st.dates(),
        st.text(max_size=12),
        st.booleans(),
    ),
    st.sampled_from([INTEGER, FLOAT, DATE, char(5), varchar(5), YEAR_TO_SECOND, *DATETIME_TYPES]),
)
def test_what_is_stored_without_detours_is_what_detours_would_store(value: object, sql_type: SqlType) -> None:
    def by_detours() -> object:
        stored, own = natural(value, SETTINGS)
        try:
            return assigner(type_number(own), type_number(sql_type))(stored, SETTINGS)
        except SqlError as error:
            raise SqlError(-415 if error.sqlcode == -1260 else error.sqlcode) from None

    assert outcome(lambda: store(value, sql_type, SETTINGS)) == outcome(by_detours)


def outcome(work: Callable[[], object]) -> object:
    """What it gives, or the SQLCODE of its error."""
    try:
        return work()
    except SqlError as error:
        return "error", error.sqlcode


@given(st.dates())
def test_dates_come_back(day: date) -> None:
    assert through(day, DATE) == day
    assert through(day, YEAR_TO_DAY) == day


@given(st.datetimes())
def test_datetimes_come_back(moment: datetime) -> None:
    exact = moment.replace(microsecond=moment.microsecond // 10 * 10)
    assert through(exact, YEAR_TO_FRACTION_5) == exact
    assert through(exact, YEAR_TO_SECOND) == exact.replace(microsecond=0)


@given(st.times())
def test_times_come_back(moment: time) -> None:
    exact = moment.replace(microsecond=moment.microsecond // 10 * 10)
    assert through(exact, datetime_type(Unit.HOUR, Unit.FRACTION, 5)) == exact


@given(st.datetimes(), st.sampled_from(DATETIME_TYPES))
def test_every_qualifier_comes_back(moment: datetime, sql_type: SqlType) -> None:
    loaded = through(moment, sql_type)
    # Stored with the same present time, what was loaded is the same again
    settings = kinds.settings()
    settings.now = moment
    again = load(store(loaded, sql_type, settings), sql_type)
    assert again == loaded
    assert sql_type.qualifier is not None
    if isinstance(loaded, Datetime):
        assert loaded.qualifier == sql_type.qualifier


@given(st.timedeltas(min_value=timedelta(-900_000_000), max_value=timedelta(900_000_000)))
def test_timedeltas_come_back(distance: timedelta) -> None:
    exact = distance // TICK * TICK
    assert through(exact, interval(Unit.DAY, Unit.FRACTION, 9, 5)) == exact


@given(st.integers(-(10**9), 10**9))
def test_months_come_back(months: int) -> None:
    value = IntervalYM(months=months)
    assert through(value, interval(Unit.YEAR, Unit.MONTH, 9)) == value


@pytest.mark.parametrize("value", [True, False])
def test_booleans_come_back(value: bool) -> None:
    assert through(value, BOOLEAN) is value


@pytest.mark.parametrize(
    "sql_type", [INTEGER, FLOAT, decimal(), char(3), varchar(3), DATE, BOOLEAN, YEAR_TO_DAY]
)
def test_null_comes_back(sql_type: SqlType) -> None:
    assert store(None, sql_type, SETTINGS) is None
    assert load(None, sql_type) is None


# --- what assigning changes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "sql_type", "stored"),
    [
        ("ab", char(5), "ab"),
        ("ab ", varchar(5), "ab "),
        ("abcdefg", char(5), "abcde"),
        ("  ", char(5), ""),
        ("12", INTEGER, 12),
        ("12", decimal(5, 2), "12"),
        (Decimal("0.495"), decimal(5, 2), "0.5"),
        (Decimal("-0.005"), money(), "-0.01"),
        (Decimal("12.9"), INTEGER, 12),
        (2.5, decimal(5, 1), "2.5"),
        (7, FLOAT, 7.0),
        (7, varchar(5), "7"),
        (10**25, decimal(), "1" + "0" * 25),
        ("t", BOOLEAN, "t"),
        ("5/4/2026", DATE, 46_145),
        (46_145, DATE, 46_145),
        (date(2026, 5, 4), YEAR_TO_SECOND, "2026-05-04 00:00:00"),
        (datetime(2026, 5, 4, 12, 34, 56, 999_999), YEAR_TO_FRACTION_3, "2026-05-04 12:34:56.999"),
        (datetime(2026, 5, 4, 12, 34, 56), DATE, 46_145),
        (time(12, 5), YEAR_TO_MINUTE, "2026-05-04 12:05"),
        (Datetime(hour=7), YEAR_TO_SECOND, "2026-05-04 07:00:00"),
        (Datetime(microsecond=120_000, scale=2), datetime_type(Unit.FRACTION, Unit.FRACTION, 3), ".120"),
        ("2026-5-4 7:8", YEAR_TO_MINUTE, "2026-05-04 07:08"),
        (timedelta(days=3, hours=5, seconds=59), interval(Unit.DAY, Unit.MINUTE, 2), (3 * 24 + 5) * 360_000_000),
        (timedelta(microseconds=-19), interval(Unit.DAY, Unit.FRACTION, 2, 5), -1),
        (IntervalYM(5, 3), interval(Unit.YEAR, Unit.YEAR, 2), 60),
        ("-5-3", interval(Unit.YEAR, Unit.MONTH, 4), -63),
        (date(2026, 5, 4), varchar(10), "05/04/2026"),
        (True, varchar(5), "t"),
    ],
    ids=str,
)  # fmt: skip
def test_assigning_fits_the_value_to_the_column(value: object, sql_type: SqlType, stored: object) -> None:
    result = store(value, sql_type, SETTINGS)
    assert result == stored
    assert type(result) is type(stored)


@pytest.mark.parametrize(
    ("value", "sql_type", "sqlcode"),
    [
        (32_768, SMALLINT, -1214),
        (-32_768, SMALLINT, -1214),
        (2**31, INTEGER, -1215),
        (2**63, BIGINT, -1284),
        (10**130, BIGINT, -1226),
        (Decimal("1000"), decimal(5, 2), -1226),
        (Decimal("1e999999"), decimal(), -1226),
        ("x", INTEGER, -1213),
        ("", INTEGER, -1213),
        ("x", DATE, -1218),
        ("13/1/2026", DATE, -1205),
        ("12:34:56.7", YEAR_TO_DAY, -1262),
        (Datetime(year=2026, month=2, day=30), YEAR_TO_DAY, -1263),
        (timedelta(days=100), interval(Unit.DAY, Unit.DAY, 2), -1265),
        (timedelta(1), interval(Unit.YEAR, Unit.MONTH), -1266),
        (IntervalYM(1), interval(Unit.DAY, Unit.DAY), -1266),
        (123_456, char(5), -1207),
        (date(2026, 5, 4), interval(Unit.DAY, Unit.DAY), -415),
        (True, INTEGER, -415),
        (5, BOOLEAN, -415),
        (5, YEAR_TO_DAY, -415),
        (b"bytes", char(5), -608),
        (locator_of(1), INTEGER, -608),
        ("text", TEXT, -608),
        ([1], INTEGER, -415),
        (float("nan"), FLOAT, -415),
        (float("inf"), decimal(), -415),
        (Decimal("NaN"), decimal(), -415),
        (datetime(2026, 5, 4, tzinfo=UTC), YEAR_TO_DAY, -415),
        (time(12, tzinfo=UTC), YEAR_TO_DAY, -415),
        ("€", char(5), -23103),
        (5, kinds.BLOB, -608),
        (5, UNKNOWN, -1260),
    ],
    ids=str,
)
def test_what_cannot_be_assigned_says_why(value: object, sql_type: SqlType, sqlcode: int) -> None:
    assert error_of(store, value, sql_type, SETTINGS) == sqlcode


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.text(max_size=30),
    st.binary(max_size=5),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
    st.builds(IntervalYM, st.integers(-(10**12), 10**12)),
)
TYPES = [
    SMALLINT, BIGINT, SMALLFLOAT, decimal(5, 2), decimal(), money(), char(7), varchar(7), lvarchar(30), DATE,
    BOOLEAN,
]  # fmt: skip
TYPES += DATETIME_TYPES + kinds.INTERVAL_TYPES


@given(VALUES, st.sampled_from(TYPES))
def test_any_value_is_stored_and_loaded_or_is_an_error(value: object, sql_type: SqlType) -> None:
    try:
        stored = store(value, sql_type, SETTINGS)
    except SqlError as error:
        assert error.sqlcode < 0
        return
    loaded = load(stored, sql_type)
    assert (loaded is None) == (value is None)
    settings = kinds.settings()
    assert store(loaded, sql_type, settings) == stored


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**8), max_value=10**8))
def test_a_scale_rounds_half_away_from_zero(number: Decimal) -> None:
    context = Context(prec=400, rounding=ROUND_HALF_UP)
    assert through(number, decimal(16, 2)) == number.quantize(Decimal("0.01"), context=context)


def test_a_fixed_scale_is_kept_when_loading() -> None:
    assert str(load("0.5", decimal(5, 2))) == "0.50"
    assert str(load("5", money())) == "5.00"
    assert str(load("-7", decimal(5, 0))) == "-7"
    assert str(load("0.5", decimal())) == "0.5"


def test_char_is_padded_by_bytes_of_the_code_set() -> None:
    assert load("ä", char(4)) == "ä   "
    assert load("ä", char(4), "utf-8") == "ä  "
    settings = kinds.settings()
    settings.code_set = "utf-8"
    assert store("äöü", char(5), settings) == "äö"
    assert store("äöü", varchar(6), settings) == "äöü"


def test_what_needs_no_loading_has_no_loader() -> None:
    assert loader(INTEGER) is None
    assert loader(FLOAT) is None
    assert loader(varchar(5)) is None
    assert loader(SqlType(TypeCode.NULL)) is None
    assert error_of(loader, UNKNOWN) == -1260


def test_makers_look_at_a_type_once() -> None:
    assert storer(varchar(9)) is storer(varchar(9))
    assert loader(char(9)) is loader(char(9))


def test_cut_strings_are_an_error_where_the_session_wants_it() -> None:
    settings = kinds.settings()
    settings.string_truncate_error = True
    assert error_of(store, "abcd", char(3), settings) == -1279
    assert store("abc  ", char(3), settings) == "abc"


@pytest.mark.parametrize(
    ("value", "stored", "sql_type"),
    [
        (None, None, SqlType(TypeCode.NULL)),
        (True, "t", SqlType(TypeCode.BOOLEAN, 1)),
        (7, 7, INTEGER),
        (2**40, 2**40, BIGINT),
        (2**70, str(2**70), decimal()),
        (1.5, 1.5, FLOAT),
        (Decimal("1.50"), "1.5", decimal()),
        ("ab ", "ab ", SqlType(TypeCode.LVARCHAR, 3)),
        (date(1900, 1, 1), 1, DATE),
        (datetime(2026, 5, 4, 1, 2, 3, 4), "2026-05-04 01:02:03.00000", YEAR_TO_FRACTION_5),
        (time(1, 2, 3), "01:02:03.00000", datetime_type(Unit.HOUR, Unit.FRACTION, 5)),
        (Datetime(month=5, day=4), "05-04", datetime_type(Unit.MONTH, Unit.DAY)),
        (timedelta(seconds=1), 100_000, interval(Unit.DAY, Unit.FRACTION, 9, 5)),
        (IntervalYM(1, 1), 13, interval(Unit.YEAR, Unit.MONTH, 9)),
    ],
    ids=str,
)
def test_python_values_have_types_of_their_own(value: object, stored: object, sql_type: SqlType) -> None:
    assert natural(value, SETTINGS) == (stored, sql_type)


def test_subclasses_are_taken_for_what_they_extend() -> None:
    class Name(str):
        __slots__ = ()

    assert natural(Name("x"), SETTINGS)[0] == "x"
