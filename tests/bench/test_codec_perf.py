"""Codecs and the reply reader by themselves, no server: ns per row is the mean divided by ROWS."""

from __future__ import annotations

from typing import Final

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from aioifx.codecs.params import ParamEncoder
from aioifx.codecs.rows import RowDecoder, RowEncoder
from aioifx.codecs.text import code_set_of
from aioifx.rows import record_row
from aioifx.sqltypes import Column, Row, SqlType, TypeCode
from aioifx.wire.dialect import Dialect
from aioifx.wire.replies import in_runs, read_reply
from tests.bench.peers import rows_of
from tests.feeding import feed

ROWS: Final = 10_000
LATIN1: Final = code_set_of("en_US.8859-1")
NARROW: Final = (
    Column("id", SqlType(TypeCode.INTEGER, 4)),
    Column("big", SqlType(TypeCode.BIGINT, 8)),
    Column("name", SqlType(TypeCode.VARCHAR, 20)),
    Column("ratio", SqlType(TypeCode.FLOAT, 8)),
    Column("day", SqlType(TypeCode.DATE, 4)),
)


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return list(rows_of(ROWS))


@pytest.fixture(scope="module")
def tuples(rows: list[Row]) -> bytearray:
    return bytearray(RowEncoder(NARROW, LATIN1).encode(rows))


def test_decode_rows(benchmark: BenchmarkFixture, rows: list[Row], tuples: bytearray) -> None:
    decoder = RowDecoder(NARROW, LATIN1)

    def decode() -> list[Row]:
        decoded: list[Row] = []
        decoder(tuples, 0, len(tuples), decoded)
        return decoded

    assert benchmark(decode) == rows


def test_read_a_reply(benchmark: BenchmarkFixture, rows: list[Row], tuples: bytearray) -> None:
    decoder = RowDecoder(NARROW, LATIN1)
    data = bytes(tuples) + b"\0\x0c"

    def read() -> list[Row]:
        reply, _ = feed(lambda inbox: read_reply(inbox, Dialect(), in_runs(decoder)), [data])
        return reply.rows

    assert benchmark(read) == rows


def test_encode_rows(benchmark: BenchmarkFixture, rows: list[Row], tuples: bytearray) -> None:
    encoder = RowEncoder(NARROW, LATIN1)
    assert benchmark(encoder.encode, rows) == tuples


def test_encode_parameters(benchmark: BenchmarkFixture, rows: list[Row]) -> None:
    encoder = ParamEncoder([column.type for column in NARROW], LATIN1)
    bodies = benchmark(lambda: [encoder.encode(row) for row in rows])
    assert len(bodies) == ROWS


def test_make_records(benchmark: BenchmarkFixture, rows: list[Row]) -> None:
    make = record_row(NARROW)
    assert benchmark(lambda: list(map(make, rows))) == rows
