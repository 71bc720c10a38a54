from __future__ import annotations

from aioifx.codecs.registry import codecs_for
from aioifx.codecs.row_codegen import FALLBACK_ERRORS, decode_run_for
from aioifx.codecs.rows import RowEncoder
from aioifx.errors import DataError
from aioifx.sqltypes import Row, SqlType, TypeCode
from tests.codecs.samples import BOOLEAN, INTEGER, LATIN1, LVARCHAR, UTF8, columns_of, decimal_type

TYPES = (INTEGER, SqlType(TypeCode.VARCHAR, 20), BOOLEAN, decimal_type(8, 2), LVARCHAR)
CODECS = codecs_for(columns_of(*TYPES), LATIN1)
SEVEN = bytes.fromhex("000e 0000 00000004 00000007")
INTEGERS = codecs_for(columns_of(INTEGER), LATIN1)


def test_the_same_shape_is_compiled_once() -> None:
    codecs, again = (codecs_for(columns_of(*TYPES), LATIN1) for _ in range(2))
    assert decode_run_for(codecs, LATIN1) is decode_run_for(again, LATIN1)


def test_names_of_columns_do_not_reach_the_source() -> None:
    from aioifx.sqltypes import Column

    hostile = codecs_for([Column("x'); import os; ('", INTEGER)], LATIN1)
    rows: list[Row] = []
    assert decode_run_for(hostile, LATIN1)(SEVEN, rows) == len(SEVEN)
    assert rows == [(7,)]


def test_another_code_set_is_another_function() -> None:
    varchar = codecs_for(columns_of(SqlType(TypeCode.VARCHAR, 20)), UTF8)
    data = bytes.fromhex("000e 0000 00000004 03e282ac")
    rows: list[Row] = []
    assert decode_run_for(varchar, UTF8)(data, rows) == len(data)
    assert rows == [("\u20ac",)]


def test_decoding_stops_silently_before_a_row_for_the_reference() -> None:
    rows: list[Row] = []
    broken = bytes.fromhex("000e 0000 00000003 00000007")
    assert decode_run_for(INTEGERS, LATIN1)(SEVEN + broken, rows) == len(SEVEN)
    assert rows == [(7,)]


def test_decoding_stops_before_a_message_that_is_not_whole() -> None:
    rows: list[Row] = []
    for cut in range(len(SEVEN)):
        assert decode_run_for(INTEGERS, LATIN1)(SEVEN[:cut], rows) == 0
    assert rows == []


def test_a_negative_size_stops_the_run_and_never_loops() -> None:
    rows: list[Row] = []
    assert decode_run_for(INTEGERS, LATIN1)(bytes.fromhex("000e 0000 fffffff0 00000007"), rows) == 0


def test_rows_of_one_size_end_before_one_of_another_and_before_an_incomplete_one() -> None:
    codecs = codecs_for(columns_of(SqlType(TypeCode.CHAR, 3)), LATIN1)
    row, longer = bytes.fromhex("000e 0000 00000003 61626300"), bytes.fromhex("000e 0000 00000004 61626364")
    for rest in (longer, row[:-1]):
        rows: list[Row] = []
        assert decode_run_for(codecs, LATIN1)(row * 2 + rest, rows) == 2 * len(row)
        assert rows == [("abc",)] * 2


def test_a_very_wide_row_is_compiled_and_decoded() -> None:
    columns = columns_of(*TYPES * 120)
    codecs = codecs_for(columns, LATIN1)
    row: Row = (7, "a", True, None, "b") * 120
    data = bytes(RowEncoder(columns, LATIN1).encode([row]))
    rows: list[Row] = []
    assert decode_run_for(codecs, LATIN1)(data, rows) == len(data)
    assert rows == [row]


def test_a_row_without_columns_is_an_empty_tuple() -> None:
    rows: list[Row] = []
    empty = bytes.fromhex("000e 0000 00000000")
    assert decode_run_for((), LATIN1)(empty * 2, rows) == 16
    assert rows == [(), ()]


def test_generated_code_leaves_a_refused_value_to_the_reference() -> None:
    assert issubclass(DataError, FALLBACK_ERRORS)
