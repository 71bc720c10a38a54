"""Arrow's columns as Python values: each type, NULLs, slices, and values that Python cannot hold."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.arrow_c_data import ArrowSource
from aioifx.codecs.arrow_rows import ArrowColumn, ArrowField
from aioifx.codecs.arrow_values import reader_for
from aioifx.errors import InterfaceError, NotSupportedError
from tests.sampling import examples


def read(array: Any, first: int = 0, last: int | None = None) -> list[Any]:
    """The values of an array, read as a column of a batch."""
    source = ArrowSource(pa.record_batch([array], ["c"]))
    batch = source.next()
    if batch is None:
        return []
    (field,), (column,) = source.fields, batch.columns
    return reader_for(field)(column, first, len(array) if last is None else last)


def whole(bits: int, signed: bool = True) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1) if signed else st.integers(0, (1 << bits) - 1)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    limit = 10**precision - 1
    return st.integers(-limit, limit).map(lambda number: Decimal(f"{number}E{-scale}"))


TIMES = st.times().map(lambda one: one.replace(microsecond=one.microsecond // 1000 * 1000))
MOMENTS = st.datetimes()
TYPES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    **{f"int{bits}": (getattr(pa, f"int{bits}")(), whole(bits)) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (getattr(pa, f"uint{bits}")(), whole(bits, signed=False)) for bits in (8, 16, 32, 64)},
    "float16": (pa.float16(), st.floats(width=16, allow_nan=False)),
    "float32": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "float64": (pa.float64(), st.floats(allow_nan=False)),
    "bool": (pa.bool_(), st.booleans()),
    "utf8": (pa.utf8(), st.text(max_size=20)),
    "large_utf8": (pa.large_utf8(), st.text(max_size=20)),
    "string_view": (pa.string_view(), st.text(max_size=20)),
    "binary": (pa.binary(), st.binary(max_size=20)),
    "large_binary": (pa.large_binary(), st.binary(max_size=20)),
    "binary_view": (pa.binary_view(), st.binary(max_size=20)),
    "fixed": (pa.binary(3), st.binary(min_size=3, max_size=3)),
    "decimal32": (pa.decimal32(9, 2), decimals(9, 2)),
    "decimal64": (pa.decimal64(18, 4), decimals(18, 4)),
    "decimal128": (pa.decimal128(38, 10), decimals(38, 10)),
    "decimal128 of tens": (pa.decimal128(5, -2), decimals(5, -2)),
    "decimal256": (pa.decimal256(76, 30), decimals(76, 30)),
    "date32": (pa.date32(), st.dates()),
    "date64": (pa.date64(), st.dates()),
    "time32 s": (pa.time32("s"), st.times().map(lambda one: one.replace(microsecond=0))),
    "time32 ms": (pa.time32("ms"), TIMES),
    "time64 us": (pa.time64("us"), st.times()),
    "timestamp s": (pa.timestamp("s"), MOMENTS.map(lambda one: one.replace(microsecond=0))),
    "timestamp ms": (pa.timestamp("ms"), MOMENTS.map(lambda one: one.replace(microsecond=1000))),
    "timestamp us": (pa.timestamp("us"), MOMENTS),
    "duration s": (pa.duration("s"), st.timedeltas().map(lambda one: dt.timedelta(one.days, one.seconds))),
    "duration us": (pa.duration("us"), st.timedeltas(dt.timedelta(days=-(10**8)), dt.timedelta(days=10**8))),
    "null": (pa.null(), st.none()),
}


@pytest.mark.parametrize("name", TYPES)
@examples(20)
@given(st.data())
def test_values_are_those_that_pyarrow_reads(name: str, data: st.DataObject) -> None:
    kind, values = TYPES[name]
    given_values = data.draw(st.lists(st.none() | values, min_size=1, max_size=40))
    first = data.draw(st.integers(0, len(given_values) - 1))
    array = pa.array(given_values, kind)
    assert read(array) == given_values
    assert read(array.slice(first)) == given_values[first:]
    assert read(array, first) == given_values[first:]
    if name not in ("null", "float16", "decimal32", "decimal64"):  # pyarrow makes no dictionaries of these
        encoded = array.dictionary_encode()
        assert read(encoded) == given_values
        assert read(encoded.slice(first)) == given_values[first:]


def test_a_class_of_values_is_that_of_fetch() -> None:
    assert type(read(pa.array([1], pa.uint64()))[0]) is int
    assert type(read(pa.array([True]))[0]) is bool
    assert type(read(pa.array([1.5], pa.float32()))[0]) is float
    assert read(pa.array([Decimal("1.50")], pa.decimal128(5, 2)))[0].as_tuple().exponent == -2


def test_nan_is_a_value_and_null_becomes_none() -> None:
    nan, null = read(pa.array([math.nan, None], pa.float64()))
    assert math.isnan(nan)
    assert null is None


def test_nanoseconds_are_cut() -> None:
    assert read(pa.array([1_999, -1], pa.timestamp("ns"))) == [
        dt.datetime(1970, 1, 1, 0, 0, 0, 1),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
    ]
    assert read(pa.array([1_999], pa.time64("ns"))) == [dt.time(0, 0, 0, 1)]


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (pa.array([1 << 30], pa.int32()).cast(pa.date32()), "time outside the years 1 to 9999"),
        (pa.array([-(1 << 60)], pa.timestamp("s")), "time outside the years 1 to 9999"),
        (pa.array([1 << 60], pa.duration("s")), "time outside the years 1 to 9999"),
        (pa.array([1], pa.duration("ns")), "duration finer than microseconds"),
        (pa.array([86_400], pa.int32()).view(pa.time32("s")), "time outside of a day"),
        (pa.array([b"\xff"]).view(pa.utf8()), "text that is not UTF-8"),
    ],
)
def test_a_value_without_an_equivalent_is_an_object_whose_class_says_why(array: Any, reason: str) -> None:
    (value,) = read(array)
    assert type(value).__name__ == reason


def test_the_view_of_a_null_may_hold_anything() -> None:
    array = pa.array(["longer than twelve bytes", "short"], pa.string_view())
    wild = b"\xff" * 16
    views = pa.py_buffer(array.buffers()[1].to_pybytes()[16:] + wild)
    broken = pa.Array.from_buffers(pa.string_view(), 2, [pa.py_buffer(b"\1"), views], null_count=1)
    assert read(broken) == ["short", None]


NESTED = {
    "list": pa.list_(pa.int8()),
    "struct": pa.struct([("a", pa.int8())]),
    "map": pa.map_(pa.utf8(), pa.int8()),
    "union": pa.dense_union([pa.field("a", pa.int8())]),
    "interval": pa.month_day_nano_interval(),
    "run-end encoded": pa.run_end_encoded(pa.int32(), pa.int8()),
}


@pytest.mark.parametrize("name", NESTED)
def test_other_types_are_refused_by_name(name: str) -> None:
    source = ArrowSource(pa.RecordBatchReader.from_batches(pa.schema({"c": NESTED[name]}), []))
    with pytest.raises(
        NotSupportedError, match=f"^column 'c': Arrow's type {name} is not supported$"
    ) as error:
        reader_for(source.fields[0])
    assert error.value.column == "c"


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_a_time_zone_are_in_utc(unit: str) -> None:
    moment = dt.datetime(2026, 3, 29, 3, tzinfo=ZoneInfo("Europe/Berlin"))
    array = pa.array([moment, None], pa.timestamp(unit, "Europe/Berlin"))
    source = ArrowSource(pa.record_batch([array], ["seen"]))
    batch = source.next()
    assert batch is not None
    found = reader_for(source.fields[0])(batch.columns[0], 0, 2)
    assert found == [moment, None] and found[0].tzinfo is dt.UTC


@pytest.mark.parametrize("form", ["i", "u", "b", "vu", "d:5,2", "tdD"])
@pytest.mark.parametrize("buffers", [(), (0,), (0, 0, 0)])
def test_an_absent_buffer_is_not_read(form: str, buffers: tuple[int, ...]) -> None:
    column = ArrowColumn(length=1, offset=0, has_nulls=False, buffers=buffers)
    with pytest.raises(InterfaceError, match=r"^Arrow data: expected buffer 1 of a column, got none$"):
        reader_for(ArrowField("c", form))(column, 0, 1)


@pytest.mark.parametrize("form", ["", "d:", "d:5", "d:a,b", "d:5,2,99", "w:", "w:-1", "\ufffd"])
def test_a_type_that_cannot_be_read_is_refused(form: str) -> None:
    with pytest.raises(NotSupportedError, match=r"^column 'c': Arrow's type .* is not supported$"):
        reader_for(ArrowField("c", form))


@pytest.mark.parametrize("form", ["u", "g", "f", "", "d:5,2"])
def test_indices_of_a_dictionary_are_integers(form: str) -> None:
    message = f"^Arrow data: expected indices of a dictionary, got the type '{form}'$"
    with pytest.raises(InterfaceError, match=message):
        reader_for(ArrowField("c", form, ArrowField("", "u")))
