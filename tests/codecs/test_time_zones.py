"""The laws of the option timezone, at the codecs: instants come back, native and pure alike."""

from __future__ import annotations

import datetime as dt
import importlib.util
from typing import Any
from unittest.mock import patch
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs import columns as columns_module
from aioifx.codecs import native, rows
from aioifx.codecs.arrow_layout import Layout
from aioifx.codecs.bind_values import binder_for
from aioifx.codecs.columns import ColumnDecoder
from aioifx.codecs.conversions import JSON, Conversions, TypeCodec
from aioifx.codecs.literal_reader import literal_reader
from aioifx.codecs.literal_writer import literal_writer
from aioifx.codecs.objects import adapters_for
from aioifx.codecs.params import ParamEncoder
from aioifx.codecs.rows import RowDecoder, RowEncoder
from aioifx.codecs.time_zones import arrow_zone, in_zone, time_zone
from aioifx.codecs.type_text import parse_type
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import Column, Row, SqlType
from tests.codecs.samples import LATIN1, columns_of
from tests.sampling import examples

NATIVE = importlib.util.find_spec("aioifx._speedups.row_decoder") is not None
kernels = pytest.mark.parametrize(
    "kernel", [pytest.param("native", marks=pytest.mark.skipif(not NATIVE, reason="not built")), "pure"]
)

BERLIN = ZoneInfo("Europe/Berlin")
EAST = dt.timezone(dt.timedelta(hours=5, minutes=30))


def type_of(text: str) -> SqlType:
    found = parse_type(text)
    assert found is not None
    return found


FRACTION = type_of("DATETIME YEAR TO FRACTION(5)")
MINUTE = type_of("DATETIME YEAR TO MINUTE")
OTHERS = tuple(map(type_of, ("DATE", "DATETIME YEAR TO DAY", "DATETIME HOUR TO SECOND", "INTEGER")))


def stored_row(types: tuple[SqlType, ...], row: Row, zone: dt.tzinfo, code: str = "native") -> bytearray:
    """The SQ_TUPLE of a row of parameters."""
    adapters = adapters_for(Conversions(zone=zone), types, LATIN1)
    with patch.object(rows, "make_row_encoder", getattr(native, f"{code}_row_encoder")):
        return bytearray(RowEncoder(columns_of(*types), LATIN1, adapters=adapters).encode([row]))


def read_row(kernel: str, types: tuple[SqlType, ...], data: bytearray, zone: dt.tzinfo | None) -> Row:
    found: list[Row] = []
    with patch.object(rows, "make_decoder", getattr(native, f"{kernel}_decoder")):
        decoder = RowDecoder(columns_of(*types), LATIN1, conversions=Conversions(zone=zone))
        assert decoder(data, 0, len(data), found) == len(data)
    return found[0]


offsets = st.integers(-1439, 1439).map(lambda minutes: dt.timedelta(minutes=minutes))
zones = st.one_of(st.just(dt.UTC), st.builds(dt.timezone, offsets), st.timezones())
instants = st.datetimes(
    dt.datetime(2, 1, 1), dt.datetime(9998, 12, 31), timezones=zones, allow_imaginary=False
)


@kernels
@examples(60)
@given(moment=instants)
def test_with_utc_every_instant_comes_back(kernel: str, moment: dt.datetime) -> None:
    moment = moment.replace(microsecond=moment.microsecond // 10 * 10)
    data = stored_row((FRACTION,), (moment,), dt.UTC, kernel)
    (found,) = read_row(kernel, (FRACTION,), data, dt.UTC)
    assert found.tzinfo is dt.UTC
    assert found - moment == dt.timedelta()  # not ==, which is False in a repeated hour


@kernels
def test_all_datetimes_are_aware_and_nothing_else_is(kernel: str) -> None:
    types = (FRACTION, MINUTE, *OTHERS, FRACTION)
    naive = dt.datetime(2026, 7, 1, 12, 30)
    day, clock = dt.date(2026, 7, 1), dt.time(1, 2, 3)
    data = stored_row(types, (naive, naive, day, day, clock, 7, None), BERLIN)
    aware = naive.replace(tzinfo=BERLIN)
    found = read_row(kernel, types, data, BERLIN)
    assert found == (aware, aware, day, day, clock, 7, None)
    assert found[0].tzinfo is found[1].tzinfo is BERLIN
    assert read_row(kernel, types, data, None) == (naive, naive, day, day, clock, 7, None)


def half_past(month: int, day: int, hour: int, zone: dt.tzinfo | None = dt.UTC) -> dt.datetime:
    return dt.datetime(2026, month, day, hour, 30, tzinfo=zone)


@pytest.mark.parametrize(
    ("moment", "text", "read"),
    [
        # The clock goes back at 3:00, so 2:30 is twice; the second one is read as the first.
        (half_past(10, 25, 2, BERLIN), "2:30", half_past(10, 25, 0)),
        (half_past(10, 25, 1), "2:30", half_past(10, 25, 0)),
        # It goes forward at 2:00, so there is no 2:30: a naive one is stored as it is.
        (half_past(3, 29, 2, None), "2:30", half_past(3, 29, 1)),
        (half_past(3, 29, 2, BERLIN), "2:30", half_past(3, 29, 1)),
        (half_past(3, 29, 1), "3:30", half_past(3, 29, 1)),
    ],
)
@kernels
def test_repeated_and_skipped_hours(kernel: str, moment: dt.datetime, text: str, read: dt.datetime) -> None:
    data = stored_row((MINUTE,), (moment,), BERLIN)
    (found,) = read_row(kernel, (MINUTE,), data, BERLIN)
    assert f"{found.hour}:{found.minute}" == text
    assert found.astimezone(dt.UTC) == read


@pytest.mark.parametrize(
    "target", [None, FRACTION, MINUTE, type_of("DATETIME YEAR TO DAY"), type_of("CHAR(9)")]
)
def test_parameters_of_every_kind_are_converted(target: SqlType | None) -> None:
    """One of a CHAR is compared with it, and sent without its type."""
    aware = dt.datetime(2026, 7, 1, 22, 30, tzinfo=dt.timezone(dt.timedelta(hours=-5)))
    (adapter,) = adapters_for(Conversions(zone=dt.UTC), [target], LATIN1)
    if target is not None and target.kind == type_of("CHAR(9)").kind:
        target = None
    expected = binder_for(target, LATIN1)(dt.datetime(2026, 7, 2, 3, 30))
    assert binder_for(target, LATIN1, adapter)(aware) == expected
    utc = dt.datetime(2026, 7, 2, 3, 30, tzinfo=dt.UTC)
    for make in ("native_encoder", "pure_encoder") if NATIVE else ("pure_encoder",):
        out = bytearray()
        encode = getattr(native, make)([target], LATIN1, b"", b"", (adapter,))
        rows = [(aware,), (utc.replace(tzinfo=None),), (utc,), (utc.astimezone(BERLIN),)]
        assert encode(iter(rows), out, 1 << 20) == (4, None)
        assert out == expected * 4


def test_other_conversions_come_first() -> None:
    wanted = Conversions({"datetime": TypeCodec(lambda day: day.replace(tzinfo=EAST), str)}, zone=dt.UTC)
    naive = dt.datetime(2026, 7, 1, 12)
    assert wanted.adapter_for(FRACTION)(naive) == dt.datetime(2026, 7, 1, 6, 30)
    data = stored_row((FRACTION,), (naive,), dt.UTC)
    decoder = RowDecoder(columns_of(FRACTION), LATIN1, conversions=wanted.with_codec("date", TypeCodec(str)))
    assert decoder.decode_payload(bytes(data[8:-1])) == ("2026-07-01 12:00:00+00:00",)
    by_class = Conversions({}, {str: dt.datetime.fromisoformat}, zone=dt.UTC)
    assert by_class.adapter_for(FRACTION)("2026-07-01T12:00+05:30") == dt.datetime(2026, 7, 1, 6, 30)


def test_rows_and_collections_hold_times_of_the_zone() -> None:
    sql_type = type_of("ROW(at DATETIME YEAR TO SECOND, times LIST(DATETIME YEAR TO SECOND NOT NULL))")
    wanted = Conversions(json=JSON, dbdate="Y4MD-", zone=dt.UTC)
    first = dt.datetime(2026, 7, 1, 12, tzinfo=EAST)
    text = literal_writer(sql_type, wanted, LATIN1)({"at": first, "times": [first]})
    assert "2026-07-01 06:30:00" in text
    at, times = literal_reader(sql_type, wanted)(text)
    assert at == first and times == [first] and at.tzinfo is dt.UTC


@kernels
@examples(40)
@given(
    moment=instants,
    zone=st.sampled_from([dt.UTC, EAST, BERLIN]),
    sql_type=st.sampled_from([FRACTION, MINUTE]),
)
def test_arrow_counts_from_1970_in_utc(
    kernel: str, moment: dt.datetime, zone: dt.tzinfo, sql_type: SqlType
) -> None:
    data = stored_row((sql_type,), (moment,), zone)
    (found,) = read_row("pure", (sql_type,), data, zone)
    with patch.object(columns_module, "make_columns", getattr(native, f"{kernel}_columns")):
        decoder = ColumnDecoder(columns_of(sql_type), LATIN1, conversions=Conversions(zone=zone))
    assert decoder(data, 0, len(data), []) == len(data)
    ((field,), (block,)) = decoder.fields, decoder.finish()
    assert field.layout == Layout.TIMESTAMP and field.zone is zone
    number = int.from_bytes(bytes(block.chunks[0].values), "little", signed=True)
    unit = dt.timedelta(microseconds=10 ** (6 - field.scale))
    assert dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + number * unit - found == dt.timedelta()


@pytest.mark.parametrize(
    "moment", [dt.datetime.min.replace(tzinfo=EAST), dt.datetime.max.replace(tzinfo=EAST)]
)
def test_a_time_beyond_the_years_of_the_zone_is_refused(moment: dt.datetime) -> None:
    there = dt.UTC if moment.year == 1 else dt.timezone(dt.timedelta(hours=6))
    encoder = ParamEncoder([FRACTION], LATIN1, adapters_for(Conversions(zone=there), [FRACTION], LATIN1))
    with pytest.raises(DataError, match=r"^parameter 1: aware datetime: outside the years 1 to 9999"):
        encoder.encode([moment])


def test_a_zone_without_an_offset_is_no_time_zone() -> None:
    moment = dt.datetime(2026, 7, 1, tzinfo=_Unknown())
    assert in_zone(moment, dt.UTC) is moment
    (adapter,) = adapters_for(Conversions(zone=dt.UTC), [FRACTION], LATIN1)
    with pytest.raises(DataError, match="aware datetime"):
        binder_for(FRACTION, LATIN1, adapter)(moment)


# --- the option -----------------------------------------------------------------------------------------------------


def test_zones_of_the_option() -> None:
    assert time_zone(None) is None
    assert time_zone("UTC") is dt.UTC
    assert time_zone("Europe/Berlin") == BERLIN
    assert time_zone(EAST) is EAST


class _Unknown(dt.tzinfo):
    def utcoffset(self, when: dt.datetime | None) -> None:
        return None

    dst = tzname = utcoffset


class _LikePytz(_Unknown):
    def localize(self, when: dt.datetime) -> dt.datetime:
        return when


@pytest.mark.parametrize(
    "given", ["", "Berlin", "../etc", "/etc/localtime", "Europe", "UTC\0", "\u00fc", "x" * 300]
)
def test_an_unknown_name_is_refused(given: str) -> None:
    with pytest.raises(
        InterfaceError, match=r"^timezone: expected an IANA name such as Europe/Berlin, got '"
    ):
        time_zone(given)


@pytest.mark.parametrize("given", [2, b"UTC", dt.timedelta(), _LikePytz(), dt.timezone])
def test_another_object_is_refused(given: Any) -> None:
    with pytest.raises(
        InterfaceError, match=r"^timezone: expected an IANA name or a tzinfo such as ZoneInfo, got "
    ):
        time_zone(given)


@pytest.mark.parametrize(
    ("zone", "name"),
    [
        (dt.UTC, "UTC"),
        (BERLIN, "Europe/Berlin"),
        (EAST, "+05:30"),
        (dt.timezone(dt.timedelta(hours=-3)), "-03:00"),
        (dt.timezone(dt.timedelta(seconds=1)), "UTC"),
        (_LikePytz(), "UTC"),
    ],
)
def test_names_of_zones_in_arrow(zone: dt.tzinfo, name: str) -> None:
    assert arrow_zone(zone) == name


def test_columns_without_datetimes_need_no_adapter() -> None:
    (adapter,) = adapters_for(Conversions(zone=dt.UTC), [FRACTION], LATIN1)
    columns = [Column("n", type_of("INTEGER")), Column("at", FRACTION)]
    encoder = RowEncoder(columns, LATIN1, adapters=(adapter, adapter))
    assert [one.is_standard for one in encoder._adapters] == [True, False]
