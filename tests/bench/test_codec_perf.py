"""Codecs and the reply reader by themselves, no server: ns per row is the mean divided by ROWS.

Each has a native and a pure form, so one run compares them. The anchor is `marshal.loads` of the same rows, with dates
as day numbers and decimals and moments as text: the fastest way to rows that CPython has.
"""

from __future__ import annotations

import datetime as dt
import json
import marshal
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from aioifx.codecs import native
from aioifx.codecs.columns import ColumnDecoder
from aioifx.codecs.conversions import JSON, Conversions
from aioifx.codecs.native import NATIVE
from aioifx.codecs.params import ParamEncoder
from aioifx.codecs.rows import RowDecoder, RowEncoder
from aioifx.codecs.text import code_set_of
from aioifx.codecs.type_text import parse_type
from aioifx.rows import dict_row, record_row
from aioifx.sqltypes import Column, Row, SqlType, TypeCode
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.replies import read_reply
from aioifx.wire.tuples import read_in_runs
from tests.bench.conftest import FEW
from tests.bench.shapes import SHAPES, Shape
from tests.feeding import feed

ROWS: Final = 10_000
LATIN1: Final = code_set_of("en_US.8859-1")

needs_kernel: Final = pytest.mark.skipif(not NATIVE, reason="the kernel is not built")

both = pytest.mark.parametrize("form", [pytest.param("native", marks=needs_kernel), "pure"])


@pytest.fixture(params=list(SHAPES))
def shape(request: pytest.FixtureRequest) -> Shape:
    return SHAPES[request.param]


@pytest.fixture
def rows(shape: Shape, measuring: bool) -> list[Row]:
    return list(shape.rows(ROWS if measuring else FEW))


@pytest.fixture
def tuples(shape: Shape, rows: list[Row]) -> bytearray:
    return bytearray(RowEncoder(shape.columns, LATIN1).encode(rows))


def decoder_of(form: str, shape: Shape, monkeypatch: pytest.MonkeyPatch) -> RowDecoder:
    monkeypatch.setattr("aioifx.codecs.rows.make_decoder", getattr(native, f"{form}_decoder"))
    return RowDecoder(shape.columns, LATIN1)


@both
def test_decode_rows(
    benchmark: BenchmarkFixture,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    shape: Shape,
    rows: list[Row],
    tuples: bytearray,
) -> None:
    decoder = decoder_of(form, shape, monkeypatch)
    benchmark.group = f"decode {shape.name}"

    def decode() -> list[Row]:
        decoded: list[Row] = []
        decoder(tuples, 0, len(tuples), decoded)
        return decoded

    assert benchmark(decode) == rows


def test_load_marshalled_rows(benchmark: BenchmarkFixture, shape: Shape, rows: list[Row]) -> None:
    benchmark.group = f"decode {shape.name}"
    data = marshal.dumps([tuple(map(_simple, row)) for row in rows])
    assert len(benchmark(marshal.loads, data)) == len(rows)


def _simple(value: Any) -> Any:
    """*value* as marshal can have it."""
    if isinstance(value, dt.datetime | dt.time | Decimal):
        return str(value)
    return value.toordinal() if isinstance(value, dt.date) else value


# A number, a text, and one value that only Python decodes: the literal, and what becomes of it.
DOCUMENT: Final = {
    "name": "customer 17",
    "tags": ["a", "b"],
    "address": {"city": "Oslo", "zip": "0150"},
    "ok": True,
}
OBJECTS: Final[dict[str, tuple[SqlType | None, str, Any]]] = {
    "JSON": (SqlType(TypeCode.UDTVAR, 4096, 25, "informix", "json"), json.dumps(DOCUMENT), DOCUMENT),
    "SET": (parse_type("SET(integer not null)"), "SET{1,20,300,4000,50000}", {1, 20, 300, 4000, 50000}),
    "LIST": (parse_type("LIST(varchar(20) not null)"), "LIST{'one','two','three'}", ["one", "two", "three"]),
    "ROW": (parse_type("ROW(a integer,b varchar(20))"), "ROW(17         ,'hello')", (17, "hello")),
}


@both
@pytest.mark.parametrize("name", OBJECTS)
def test_decode_objects(
    benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch, measuring: bool, form: str, name: str
) -> None:
    monkeypatch.setattr("aioifx.codecs.rows.make_decoder", getattr(native, f"{form}_decoder"))
    benchmark.group = f"decode {name}"
    sql_type, literal, value = OBJECTS[name]
    assert sql_type is not None
    types = SqlType(TypeCode.INTEGER, 4), SqlType(TypeCode.VARCHAR, 40), sql_type
    columns = [Column(f"c{index}", one) for index, one in enumerate(types)]
    count = ROWS if measuring else FEW
    tuples = bytearray(RowEncoder(columns, LATIN1).encode([(7, "seven", literal)] * count))
    decoder = RowDecoder(columns, LATIN1, conversions=Conversions(json=JSON, integral_decimals=True))

    def decode() -> list[Row]:
        decoded: list[Row] = []
        decoder(tuples, 0, len(tuples), decoded)
        return decoded

    assert benchmark(decode) == [(7, "seven", value)] * count


def test_load_json(benchmark: BenchmarkFixture, measuring: bool) -> None:
    benchmark.group = "decode JSON"
    texts = [json.dumps(DOCUMENT)] * (ROWS if measuring else FEW)
    assert benchmark(lambda: list(map(json.loads, texts)))[-1] == DOCUMENT


@both
def test_read_a_reply(
    benchmark: BenchmarkFixture,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    shape: Shape,
    rows: list[Row],
    tuples: bytearray,
) -> None:
    decoder = decoder_of(form, shape, monkeypatch)
    data = bytes(tuples) + b"\0\x0c"
    benchmark.group = f"reply {shape.name}"

    def read() -> list[Row]:
        reply, _ = feed(lambda inbox: read_reply(inbox, Capabilities(), read_in_runs(decoder)), [data])
        return reply.rows

    assert benchmark(read) == rows


@both
def test_decode_columns(
    benchmark: BenchmarkFixture,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    shape: Shape,
    rows: list[Row],
    tuples: bytearray,
) -> None:
    monkeypatch.setattr("aioifx.codecs.columns.make_columns", getattr(native, f"{form}_columns"))
    benchmark.group = f"columns {shape.name}"

    def decode() -> int:
        decoder = ColumnDecoder(shape.columns, LATIN1)
        decoder(tuples, 0, len(tuples), [])
        return decoder.rows

    assert benchmark(decode) == len(rows)


def test_encode_rows(benchmark: BenchmarkFixture, shape: Shape, rows: list[Row], tuples: bytearray) -> None:
    benchmark.group = f"encode {shape.name}"
    encoder = RowEncoder(shape.columns, LATIN1)
    assert benchmark(encoder.encode, rows) == tuples


@both
def test_encode_parameters(benchmark: BenchmarkFixture, form: str, shape: Shape, rows: list[Row]) -> None:
    benchmark.group = f"parameters {shape.name}"
    types = [column.type for column in shape.columns]
    encode = getattr(native, f"{form}_encoder")(types, LATIN1, len(types).to_bytes(2, "big"), b"")
    reference = ParamEncoder(types, LATIN1)

    def encode_all() -> bytearray:
        left, out = iter(rows), bytearray()
        while (rejected := encode(left, out, sys.maxsize)[1]) is not None:
            out += reference.encode(rejected[0])
        return out

    encoded = b"".join(map(reference.encode, rows))
    assert benchmark(encode_all) == encoded, "otherwise than the reference encodes them"


@pytest.mark.parametrize("factory", [record_row, dict_row])
def test_make_records(
    benchmark: BenchmarkFixture, factory: Callable[..., Any], shape: Shape, rows: list[Row]
) -> None:
    benchmark.group = f"records {shape.name}"
    make = factory(shape.columns)
    made = benchmark(lambda: list(map(make, rows)))
    assert made[-1]["id"] == rows[-1][0]
