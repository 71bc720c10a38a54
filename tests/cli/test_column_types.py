"""Columns of a new table, by the values of a file."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import Any

import pytest

from aioifx import CsvFormat
from aioifx.cli.column_types import arrow_columns, column_names, create_table, csv_columns
from aioifx.errors import DataError, InterfaceError


def type_of(*texts: str, dbdate: str = "Y4MD-", codec: str = "utf-8") -> str:
    file = io.BytesIO("".join(f'"{text}"\n' for text in ("name", *texts)).encode())
    ((name, found),) = csv_columns(file, CsvFormat(header=True), None, dbdate, codec)
    assert name == "name"
    return found


@pytest.mark.parametrize(
    ("texts", "sql_type"),
    [
        (["1", "-2147483647"], "INTEGER"),
        (["2147483648"], "BIGINT"),
        (["9223372036854775808"], "DECIMAL(19,0)"),
        (["9" * 33], "VARCHAR(40)"),
        (["1", "20.5", "-.125"], "DECIMAL(5,3)"),
        (["1", "2.5e10"], "FLOAT"),
        (["1", "2.5e400"], "VARCHAR(20)"),
        (["007"], "VARCHAR(20)"),
        (["1", "007"], "VARCHAR(20)"),
        (["t", "F"], "BOOLEAN"),
        (["t", "1"], "VARCHAR(20)"),
        (["2026-01-31"], "DATE"),
        (["2026-02-31"], "VARCHAR(20)"),
        (["2026-01-31 10:00:00", "2026-01-31T10:00:00.123"], "DATETIME YEAR TO FRACTION(3)"),
        (["2026-01-31 10:00:00"], "DATETIME YEAR TO SECOND"),
        (["2026-02-31 10:00:00"], "VARCHAR(20)"),
        (["2026-01-31 24:00:00"], "VARCHAR(20)"),
        (["2026-01-31", "2026-01-31 10:00:00"], "VARCHAR(20)"),
        (["x" * 21], "VARCHAR(40)"),
        (["x" * 256], "LVARCHAR(256)"),
        (["x" * 257], "LVARCHAR(512)"),
        (["x" * 32_739], "LVARCHAR(32739)"),
        (["x" * 32_740], "TEXT"),
        (["1_0"], "VARCHAR(20)"),
        (["\u0661"], "VARCHAR(20)"),
    ],
)
def test_types_of_texts(texts: list[str], sql_type: str) -> None:
    assert type_of(*texts) == sql_type
    if sql_type != "VARCHAR(20)":
        assert type_of(*reversed(texts)) == sql_type


def test_dates_are_read_as_the_load_reads_them() -> None:
    assert type_of("01/31/2026", dbdate="MDY4/") == "DATE"
    assert type_of("01/31/2026") == "VARCHAR(20)"


def test_lengths_are_bytes_of_the_table() -> None:
    assert type_of("\xe4" * 20, codec="utf-8") == "VARCHAR(40)"
    assert type_of("\xe4" * 20, codec="latin-1") == "VARCHAR(20)"


def test_a_column_without_values_is_text() -> None:
    columns = csv_columns(io.BytesIO(b"a,b\n1,\n2\n"), CsvFormat(header=True), None, "Y4MD-", "utf-8")
    assert columns == [("a", "INTEGER"), ("b", "VARCHAR(20)")]


def test_names_are_needed() -> None:
    with pytest.raises(InterfaceError, match=r"^--create: expected a header in FILE, or --columns$"):
        csv_columns(io.BytesIO(b"1,2\n"), CsvFormat(), None, "Y4MD-", "utf-8")
    with pytest.raises(DataError, match="twice"):
        csv_columns(io.BytesIO(b"a,a\n"), CsvFormat(header=True), None, "Y4MD-", "utf-8")
    assert csv_columns(io.BytesIO(b"1\n"), CsvFormat(), ["a"], "Y4MD-", "utf-8") == [("a", "INTEGER")]


def test_names_are_identifiers_and_occur_once() -> None:
    found = column_names(["Id", "First Name", "first-name", "2nd", "\xe4", "a" * 200, "a; DROP TABLE t"])
    assert found == [
        "id",
        "first_name",
        "first_name_2",
        "column_2nd",
        "column_5",
        "a" * 128,
        "a_drop_table_t",
    ]


def test_the_statement() -> None:
    assert (
        create_table("t", [("a", "INTEGER"), ("b", "DATE")])
        == "CREATE TABLE t (\n    a INTEGER,\n    b DATE\n)"
    )


def test_types_of_arrow() -> None:
    pa: Any = pytest.importorskip("pyarrow")
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    fields: dict[str, tuple[Any, Any, str]] = {
        "small": (pa.int16(), 1, "SMALLINT"),
        "whole": (pa.int32(), 1, "INTEGER"),
        "big": (pa.int64(), 1, "BIGINT"),
        "unsigned": (pa.uint64(), 1, "DECIMAL(20,0)"),
        "single": (pa.float32(), 1.0, "SMALLFLOAT"),
        "double": (pa.float64(), 1.0, "FLOAT"),
        "price": (pa.decimal128(8, 2), Decimal("1.50"), "DECIMAL(8,2)"),
        "flag": (pa.bool_(), True, "BOOLEAN"),
        "day": (pa.date32(), dt.date(2026, 1, 31), "DATE"),
        "at": (pa.timestamp("us"), dt.datetime(2026, 1, 31), "DATETIME YEAR TO FRACTION(5)"),
        "milli": (pa.timestamp("ms"), dt.datetime(2026, 1, 31), "DATETIME YEAR TO FRACTION(3)"),
        "data": (pa.binary(), b"x", "BYTE"),
        "text": (pa.string(), "\xe4" * 15, "VARCHAR(40)"),
        "word": (pa.dictionary(pa.int32(), pa.string()), "x" * 41, "VARCHAR(80)"),
        "nothing": (pa.null(), None, "VARCHAR(20)"),
    }
    schema = pa.schema([(name, kind) for name, (kind, _, _) in fields.items()])
    table = pa.table({name: [value, None] for name, (_, value, _) in fields.items()}, schema)
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    sink.seek(0)
    assert arrow_columns("parquet", sink, None) == [(name, found) for name, (_, _, found) in fields.items()]


@pytest.mark.parametrize(
    ("text", "sql_type"),
    [
        ("DECIMAL(8,2)", "DECIMAL(8,2)"),
        ("INTERVAL DAY(9) TO FRACTION(5)", "INTERVAL DAY(9) TO FRACTION(5)"),
        ("LIST(ROW(a DECIMAL(8,2)) NOT NULL)", "LIST(ROW(a DECIMAL(8,2)) NOT NULL)"),
        ("INTEGER, b INTEGER", "BIGINT"),
        ("INTEGER) IN (other", "BIGINT"),
        ("INTEGER DEFAULT 'x'", "BIGINT"),
        ("INTEGER; DROP TABLE t", "BIGINT"),
        ("INTEGER -- ", "BIGINT"),
        ("", "BIGINT"),
    ],
)
def test_a_type_in_a_file_can_be_nothing_else(text: str, sql_type: str) -> None:
    pa: Any = pytest.importorskip("pyarrow")
    sink = io.BytesIO()
    schema = pa.schema([pa.field("a", pa.int64(), metadata={"sql_type": text})])
    with pa.ipc.new_stream(sink, schema):
        pass
    sink.seek(0)
    assert arrow_columns("arrow", sink, None) == [("a", sql_type)]


def test_a_type_of_arrow_without_an_equivalent_is_named() -> None:
    pa: Any = pytest.importorskip("pyarrow")
    sink = io.BytesIO()
    table = pa.table({"nested": [[1, 2]]})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    sink.seek(0)
    with pytest.raises(InterfaceError, match=r"^--create: the field 'nested' has the type list<"):
        arrow_columns("arrow", sink, None)
