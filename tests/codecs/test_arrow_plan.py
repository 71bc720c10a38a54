"""The law of Arrow's columns: their bytes are those of the same values as rows, in tables and as parameters."""

from __future__ import annotations

import datetime as dt
import math
import struct
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs import native, rows
from aioifx.codecs.arrow_c_data import (  # pyright: ignore[reportPrivateUsage]
    ArrowSource,
    _address,
)
from aioifx.codecs.arrow_plan import Source, WireForm, field_plan, param_plan
from aioifx.codecs.arrow_rows import ArrowField, ArrowRows
from aioifx.codecs.arrow_structs import ArrayStruct
from aioifx.codecs.arrow_values import row_column
from aioifx.codecs.conversions import STANDARD, Adapter
from aioifx.codecs.native import NATIVE, arrow_params, leave_all, native_arrow_encoder, pure_arrow_encoder
from aioifx.codecs.param_plan import rules_for
from aioifx.codecs.params import ParamEncoder
from aioifx.codecs.registry import codec_for
from aioifx.codecs.rows import RowEncoder
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.codecs.tuple_frames import TUPLE_FRAME, Frame
from aioifx.codecs.type_text import parse_type
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import Column, SqlType
from tests.codecs.test_arrow_values import TYPES, decimals
from tests.sampling import examples


def type_of(text: str) -> SqlType:
    found = parse_type(text)
    assert found is not None
    return found


UTF8, LATIN1 = code_set_of("en_US.utf8"), code_set_of("en_US.8859-1")

makers = pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            native_arrow_encoder, marks=pytest.mark.skipif(not NATIVE, reason="not built"), id="native"
        ),
        pytest.param(pure_arrow_encoder, id="pure"),
    ],
)
code_sets = pytest.mark.parametrize("code_set", [UTF8, LATIN1], ids=["utf8", "latin1"])

TARGETS = [
    *("SMALLINT", "INTEGER", "BIGINT", "INT8", "SMALLFLOAT", "FLOAT", "DATE", "BOOLEAN"),
    *("DECIMAL(10,2)", "DECIMAL(16,3)", "DECIMAL(32,0)", "DECIMAL(8)", "DECIMAL(32)", "MONEY(16,2)"),
    *("DATETIME YEAR TO SECOND", "DATETIME YEAR TO FRACTION(3)", "DATETIME YEAR TO FRACTION(5)"),
    *("DATETIME YEAR TO DAY", "DATETIME HOUR TO SECOND", "INTERVAL DAY(9) TO FRACTION(5)"),
    *("CHAR(7)", "VARCHAR(12)", "NVARCHAR(12)", "LVARCHAR(15)"),
]
FRAMES = {"bare": None, "put": Frame(b"\0\4", b"\0\1"), "tuple": TUPLE_FRAME}


def exported(*arrays: Any) -> ArrowRows:
    """All rows of these columns."""
    source = ArrowSource(pa.record_batch(list(arrays), [f"c{index}" for index in range(len(arrays))]))
    batch = source.next()
    assert batch is not None
    row = tuple(row_column(index, field) for index, field in enumerate(source.fields))
    return ArrowRows(batch, row, 0, batch.rows)


def outcome(encode: Any) -> bytes | str:
    try:
        return bytes(encode())
    except DataError as error:
        return f"{type(error).__name__}: {error}"


def as_params(types: list[SqlType | None], code_set: CodeSet, values: Any) -> bytes:
    encoder = ParamEncoder(types, code_set)
    return b"".join(b"HEAD" + encoder.encode(row) + b"TL" for row in values)


def params_by_columns(types: list[SqlType | None], code_set: CodeSet, data: ArrowRows) -> bytes:
    """As a pipeline encodes them: rows that are left by the encoder of tuples."""
    out, start = bytearray(), 0
    head = b"HEAD" + len(types).to_bytes(2, "big")
    encode = arrow_params(types, code_set, head, b"TL", (), data.row)
    while start < len(data):
        before, start = start, encode(data, start, out, len(out) + 40)
        if start == before:
            out += as_params(types, code_set, [data[start]])
            start += 1
    return bytes(out)


def check(target: str, code_set: CodeSet, frame: Frame | None, data: Any) -> None:
    """The same bytes, or the same error, by columns and by rows."""
    sql_type = type_of(target)
    columns = [Column("c0", sql_type), Column("c1", type_of("INTEGER"))]
    numbers = pa.array(range(len(data)), pa.int32())
    found = exported(data, numbers)
    tuples = [*found]
    by_rows = outcome(lambda: RowEncoder(columns, code_set, frame=frame).encode(tuples))
    assert outcome(lambda: RowEncoder(columns, code_set, frame=frame).encode(found)) == by_rows
    for types in ([sql_type, None], [None, type_of("INTEGER")]):
        expected = outcome(lambda types=types: as_params(types, code_set, tuples))
        assert outcome(lambda types=types: params_by_columns(types, code_set, found)) == expected


def arrays(kind: str, strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Arrays, also slices and dictionaries."""

    def array(values: list[Any], first: int, encodes: bool) -> Any:
        made = pa.array(values, TYPES[kind][0])
        if encodes and kind not in ("null", "float16", "decimal32", "decimal64"):
            made = made.dictionary_encode()
        return made.slice(min(first, len(values) - 1))

    lists = st.lists(st.none() | strategy, min_size=1, max_size=12)
    return st.builds(array, lists, st.integers(0, 9), st.sampled_from([False, False, True]))


SMALL = {
    **{kind: st.integers(-100 if kind[0] == "i" else 0, 100) for kind in TYPES if "int" in kind},
    **{
        kind: st.sampled_from([0.0, -0.0, 1.5, -2.0, math.nan, math.inf]) for kind in TYPES if "float" in kind
    },
    **{kind: st.text("ab \0ü", max_size=9) for kind in ("utf8", "large_utf8", "string_view")},
    **{f"decimal{bits}": decimals(7, scale) for bits, scale in ((32, 2), (64, 4), (128, 10))},
}
"""Values that most types hold."""


@makers
@pytest.mark.parametrize("target", TARGETS)
@examples(60)
@given(data=st.data())
def test_columns_are_encoded_as_rows_are(make: Any, target: str, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([*TYPES]))
    strategy = TYPES[kind][1]
    if kind in SMALL:
        strategy = data.draw(st.sampled_from([strategy, SMALL[kind]]))
    array = data.draw(arrays(kind, strategy))
    code_set = data.draw(st.sampled_from([UTF8, LATIN1]))
    frame = FRAMES[data.draw(st.sampled_from([*FRAMES]))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "make_arrow_encoder", make)
        patch.setattr(native, "make_arrow_encoder", make)
        check(target, code_set, frame, array)


# --- what native code encodes by itself -----------------------------------------------------------------------------

DATE = dt.date(2024, 2, 29)
MOMENT = dt.datetime(2024, 2, 29, 23, 59, 58, 123_456)
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
TEXTS = ["utf8", "large_utf8", "string_view"]
SECOND = MOMENT.replace(microsecond=0)
NATIVE_PAIRS = [
    *product(["SMALLINT"], INTEGERS, [7]),
    *product(["INTEGER", "BIGINT", "INT8", "DECIMAL(10,2)"], ["int64"], [-7]),
    *product(["FLOAT", "SMALLFLOAT"], ["float32", "float64"], [1.5]),
    *product(["DECIMAL(10,4)", "MONEY(8,4)"], ["decimal32", "decimal64"], [Decimal("-1.50")]),
    ("DECIMAL(16)", "decimal128", Decimal("123456.78")),
    ("DECIMAL(20,10)", "decimal128", Decimal("0.0000000001")),
    ("DATE", "date32", DATE),
    ("BOOLEAN", "bool", True),
    *product(["DATETIME YEAR TO FRACTION(4)"], ["timestamp s", "timestamp ms", "timestamp us"], [SECOND]),
    *product(["DATETIME HOUR TO SECOND"], ["time32 s", "time32 ms", "time64 us"], [dt.time(0, 5, 6)]),
    *product(["CHAR(9)", "VARCHAR(9)", "LVARCHAR(9)"], TEXTS, ["t\xe8xt"]),
    ("VARCHAR(40)", "string_view", "longer than twelve bytes"),
]


@pytest.mark.skipif(not NATIVE, reason="not built")
@pytest.mark.parametrize(("target", "kind", "value"), NATIVE_PAIRS)
@code_sets
def test_common_types_leave_no_row_to_the_encoder_of_tuples(
    target: str, kind: str, value: Any, code_set: CodeSet
) -> None:
    data = exported(pa.array([value, None, value], TYPES[kind][0]))
    sql_type = type_of(target)
    encoder = RowEncoder([Column("c", sql_type)], code_set, frame=None)
    out = bytearray()
    assert encoder._arrow_encoder(data)(data, 0, out, 1 << 30) == 3
    assert out == encoder.encode([*data])
    plan = field_plan(data.row[0].field, codec_for(sql_type, code_set), STANDARD, code_set)
    assert plan.form != WireForm.BY_ENTRY
    assert param_plan(data.row[0].field, rules_for(sql_type, code_set), code_set).form != WireForm.BY_ENTRY
    params = bytearray()
    head = b"HEAD\0\1"
    assert arrow_params([sql_type], code_set, head, b"TL", (), data.row)(data, 0, params, 1 << 30) == 3
    assert params == as_params([sql_type], code_set, [*data])


@pytest.mark.skipif(not NATIVE, reason="not built")
@pytest.mark.parametrize("year", [1, 4, 99, 100, 400, 1582, 1899, 1900, 1969, 1970, 2000, 2100, 9999])
@pytest.mark.parametrize("day", [(1, 1), (2, 28), (3, 1), (12, 31)])
def test_moments_of_all_times(year: int, day: tuple[int, int]) -> None:
    moment = dt.datetime(year, *day, 23, 59, 59, 999_999)
    check("DATETIME YEAR TO FRACTION(5)", UTF8, None, pa.array([moment], pa.timestamp("us")))


@makers
@pytest.mark.parametrize(
    ("kind", "target", "values"),
    [
        ("int16", "SMALLINT", [1, -2]),
        ("uint32", "BIGINT", [1, 2]),
        ("int64", "BIGINT", [1, -(1 << 62)]),
        ("float32", "SMALLFLOAT", [0.5, -1.5]),
        ("float64", "FLOAT", [0.1, -1e300]),
        ("decimal128", "DECIMAL(32,10)", [Decimal("1.5"), Decimal("-2.5")]),
        ("timestamp us", "DATETIME YEAR TO FRACTION(5)", [MOMENT, dt.datetime(1, 1, 1)]),
        ("utf8", "VARCHAR(9)", ["one", "zwei"]),
        ("large_utf8", "VARCHAR(9)", ["one", "zwei"]),
        ("string_view", "VARCHAR(40)", ["one", "longer than twelve bytes"]),
    ],
)
def test_buffers_need_not_be_aligned(
    monkeypatch: pytest.MonkeyPatch, make: Any, kind: str, target: str, values: list[Any]
) -> None:
    monkeypatch.setattr(rows, "make_arrow_encoder", make)
    monkeypatch.setattr(native, "make_arrow_encoder", make)
    aligned = pa.array(values, TYPES[kind][0])
    buffers = [one and pa.py_buffer(b"x" + one.to_pybytes()).slice(1) for one in aligned.buffers()]
    array = pa.Array.from_buffers(aligned.type, len(values), buffers)
    check(target, UTF8, None, array)
    encoder = RowEncoder([Column("c", type_of(target))], UTF8, frame=None)
    assert encoder.encode(exported(array)) == encoder.encode([(value,) for value in values])


def test_numbers_and_times_at_the_limits_of_64_bits_are_left_to_rows() -> None:
    limits = [-(1 << 63), (1 << 63) - 1]
    for kind, target in (("int64", "DECIMAL(32,0)"), ("int64", "INT8"), ("uint64", "BIGINT")):
        check(target, UTF8, None, pa.array([limits[kind == "uint64"], 1], TYPES[kind][0]))
    for unit in ("s", "ms", "us", "ns"):
        for limit in limits:
            check(
                "DATETIME YEAR TO FRACTION(5)",
                UTF8,
                None,
                pa.array([limit], pa.int64()).cast(pa.timestamp(unit)),
            )


def test_a_value_of_a_dictionary_is_encoded_once() -> None:
    seen: list[Any] = []
    data = exported(pa.array(["b", "a", "b", None, "b"]).dictionary_encode())

    def upper(value: str) -> str:
        seen.append(value)
        return value.upper()

    adapter = Adapter({str: upper})
    encoder = RowEncoder([Column("c", type_of("VARCHAR(5)"))], UTF8, frame=None, adapters=(adapter,))
    plain = RowEncoder([Column("c", type_of("VARCHAR(5)"))], UTF8, frame=None)
    assert encoder.encode(data) == plain.encode([("B",), ("A",), ("B",), (None,), ("B",)])
    if NATIVE:
        assert seen == ["b", "a"]


def test_a_number_of_more_than_64_bits_is_left_to_rows() -> None:
    wide = Decimal(10**25)
    data = exported(pa.array([Decimal(1), wide, Decimal(-1)], pa.decimal128(38, 0)))
    encoder = RowEncoder([Column("c", type_of("DECIMAL(32,0)"))], UTF8, frame=None)
    if NATIVE:
        assert encoder._arrow_encoder(data)(data, 0, bytearray(), 1 << 30) == 1
    assert encoder.encode(data) == encoder.encode([(Decimal(1),), (wide,), (Decimal(-1),)])


def test_a_field_of_an_unknown_type_is_encoded_by_entries() -> None:
    plan = field_plan(ArrowField("c", "w:3"), codec_for(type_of("CHAR(3)"), UTF8), STANDARD, UTF8)
    assert (plan.form, plan.source) == (WireForm.BY_ENTRY, Source.ENTRY)


def test_a_wrong_number_of_columns_is_left_to_rows() -> None:
    data = exported(pa.array([1]))
    assert arrow_params([None, None], UTF8, b"", b"", (), data.row) is leave_all
    encoder = RowEncoder([Column("a", type_of("INTEGER"))] * 2, UTF8, frame=None)
    assert encoder._arrow_encoder(data) is leave_all


# --- data that breaks the layout ------------------------------------------------------------------------------------


def of_buffers(kind: Any, count: int, *buffers: bytes) -> Any:
    """An array that pyarrow has not checked: it checks the slice that has no rows."""
    made = pa.Array.from_buffers(kind, 0, [None, *map(pa.py_buffer, buffers)])
    return Longer(made, count)


class Longer:
    """A batch of one column that is longer than its exporter believes."""

    def __init__(self, array: Any, count: int) -> None:
        self.capsules = pa.record_batch([array], ["c0"]).__arrow_c_array__()
        found = ArrayStruct.from_address(_address(self.capsules[1], b"arrow_array"))
        found.length = found.children[0].contents.length = count

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self.capsules


def rows_of(data: Any) -> ArrowRows:
    source = ArrowSource(data)
    batch = source.next()
    assert batch is not None
    return ArrowRows(batch, (row_column(0, source.fields[0]),), 0, batch.rows)


def refusal(target: str, data: Any) -> str:
    """The error of a row."""
    sql_type = type_of(target)
    with pytest.raises((DataError, InterfaceError)) as field:
        RowEncoder([Column("c0", sql_type)], UTF8, frame=None).encode(rows_of(data))
    return str(field.value)


@makers
@pytest.mark.parametrize(
    "view", [(20, 0, 9, 0), (20, 0, -1, 0), (20, 0, 1, 0), (20, 0, 0, 35), (20, 0, 0, -1), (-20, 0, 0, 0)]
)
def test_a_view_outside_of_its_buffer_is_refused(
    monkeypatch: pytest.MonkeyPatch, make: Any, view: tuple[int, ...]
) -> None:
    monkeypatch.setattr(rows, "make_arrow_encoder", make)
    data = of_buffers(pa.string_view(), 1, struct.pack("=4i", *view), b"x" * 54)
    assert (
        refusal("VARCHAR(40)", data)
        == "column 'c0': VARCHAR(40) does not accept a view outside of its buffer"
    )


@makers
@pytest.mark.parametrize("index", [-1, 2])
@pytest.mark.parametrize("values", [[7, 8], ["a", "b"]])
def test_an_index_outside_of_its_dictionary_is_refused(
    monkeypatch: pytest.MonkeyPatch, make: Any, index: int, values: list[Any]
) -> None:
    monkeypatch.setattr(rows, "make_arrow_encoder", make)
    data = pa.DictionaryArray.from_arrays(pa.array([index], pa.int32()), pa.array(values), safe=False)
    message = "column 'c0': VARCHAR(40) does not accept an index outside of the dictionary"
    assert refusal("VARCHAR(40)", pa.record_batch([data], ["c0"])) == message


@makers
@pytest.mark.parametrize("offsets", [(4, 2), (-4, 2)])
def test_offsets_that_decrease_are_refused(
    monkeypatch: pytest.MonkeyPatch, make: Any, offsets: tuple[int, int]
) -> None:
    monkeypatch.setattr(rows, "make_arrow_encoder", make)
    for kind, letter in ((pa.string(), "i"), (pa.large_string(), "q")):
        data = of_buffers(kind, 1, struct.pack(f"=2{letter}", *offsets), b"abcdef")
        assert refusal("VARCHAR(40)", data) == "Arrow data: expected offsets from 0 on that do not decrease"
