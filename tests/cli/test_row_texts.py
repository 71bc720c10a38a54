"""Tables: widths, wide characters, NULL, long values, pages."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest

from aioifx.cli.row_texts import LONGEST, Table, json_lines, text_writer
from aioifx.errors import cell_width
from aioifx.sqltypes import EXTENDED_BLOB, EXTENDED_CLOB, Column, IntervalYM, SqlType, TypeCode


def table(width: int | None, **types: TypeCode) -> Table:
    """A table with these columns."""
    return Table([Column(name, SqlType(code, 4)) for name, code in types.items()], width)


def lines(found: Table, *rows: tuple[Any, ...]) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in found.page(rows)]


def test_numbers_stand_right_and_others_left() -> None:
    found = table(None, n=TypeCode.INTEGER, name=TypeCode.VARCHAR, f=TypeCode.FLOAT)
    assert lines(found, (1, "a", 0.5), (-100, "long", 10.25)) == [
        "   n | name |     f",
        "-----+------+------",
        "   1 | a    |   0.5",
        "-100 | long | 10.25",
    ]


def test_null_is_distinct_from_text_and_is_dim() -> None:
    found = table(None, name=TypeCode.VARCHAR)
    page = list(found.page([(None,), ("",), ("NULL",)]))
    assert page[2:] == [
        [("", "dim"), ("<null>", "dim")],
        [("", "dim"), ("      ", "")],
        [("", "dim"), ("NULL  ", "")],
    ]


def test_wide_characters_and_combining_marks_take_their_cells() -> None:
    found = lines(
        table(None, a=TypeCode.VARCHAR, b=TypeCode.VARCHAR), ("机器", "x"), ("e\u0301", "y"), ("abcd", "z")
    )
    assert {cell_width(line) for line in found[1:]} == {8}
    assert [line[-1] for line in found[2:]] == ["x", "y", "z"]


def test_no_value_controls_the_terminal_or_ends_a_line() -> None:
    found = table(None, **{"na\x1bme": TypeCode.VARCHAR})
    assert lines(found, ("a\nb\x1b[31m\u202e\t.",)) == [
        "na\\x1bme", "-" * 23, "a\\nb\\x1b[31m\\u202e    .",
    ]  # fmt: skip


@pytest.mark.parametrize("value", ["x" * 10_000, b"\xab" * 10_000])
def test_long_values_are_cut(value: Any) -> None:
    code = TypeCode.BYTE if isinstance(value, bytes) else TypeCode.TEXT
    assert cell_width(lines(table(None, a=code), (value,))[-1]) == LONGEST
    found = lines(table(20, n=TypeCode.INTEGER, a=code), (1, value))
    assert {cell_width(line) for line in found[1:]} == {20} and found[-1].endswith("…")


@pytest.mark.parametrize("width", range(20, 140, 7))
def test_every_line_fits(width: int) -> None:
    codes = dict.fromkeys(("a", "name", "c", "d" * 30), TypeCode.VARCHAR)
    rows = [("机" * 30, "b" * 12, "x", None), ("y", "z" * 100, "机", "e")]
    found = lines(table(width, **codes), *rows)
    assert max(map(cell_width, found)) <= width
    assert (
        width < 40 or max(map(cell_width, found)) > width - 3
    )  # the width is used, but for half a wide character


def test_too_many_columns_become_a_list_for_each_row() -> None:
    codes = {f"column{number}": TypeCode.VARCHAR for number in range(9)}
    found = table(40, **codes)
    first = lines(found, (*["x" * 50] * 8, None))
    assert first[0].startswith("-- row 1 ---") and len(first) == 10
    assert first[1] == "column0 | " + "x" * 29 + "…" and first[-1] == "column8 | <null>"
    assert max(map(len, first)) == 40
    assert lines(found, ("",) * 9)[0].startswith("-- row 2 ---")


def test_pages_share_a_header_until_a_column_grows() -> None:
    found = table(None, a=TypeCode.VARCHAR)
    assert lines(found, ("xx",)) == ["a", "--", "xx"]
    assert lines(found, ("y",)) == ["y"]
    assert lines(found, ("xxx",)) == ["", "a", "---", "xxx"]
    assert lines(found, ("y",)) == ["y"]


def test_no_rows_have_a_header() -> None:
    assert lines(table(80, a=TypeCode.VARCHAR, b=TypeCode.INTEGER)) == ["a | b", "--+--"]


DECIMAL = SqlType(TypeCode.DECIMAL, 0x1002)
LIST = SqlType(TypeCode.LIST)


@pytest.mark.parametrize(
    ("sql_type", "value", "text"),
    [
        (SqlType(TypeCode.BIGINT), 2**60 + 1, "1152921504606846977"),
        (SqlType(TypeCode.FLOAT), 0.1, "0.1"),
        (SqlType(TypeCode.FLOAT), float("inf"), '"inf"'),
        (SqlType(TypeCode.BOOLEAN), True, "true"),
        (DECIMAL, Decimal("1.50"), '"1.50"'),
        (SqlType(TypeCode.DECIMAL, 0x1000), 7, "7"),
        (SqlType(TypeCode.VARCHAR), 'ä"\n', '"ä\\"\\n"'),
        (SqlType(TypeCode.VARCHAR), None, "null"),
        (SqlType(TypeCode.DATE), dt.date(2026, 1, 31), '"2026-01-31"'),
        (SqlType(TypeCode.BYTE), b"\0\xff", '"00ff"'),
        (SqlType(TypeCode.INTERVAL, 0x0602), IntervalYM(1, 2), '"1-02"'),
        (LIST, [Decimal("1.50"), None, [2]], '["1.50", null, [2]]'),
        (LIST, {3}, "[3]"),
        (SqlType(TypeCode.ROW), {"a": dt.datetime(2026, 1, 31, 10), "b": dt.time(1, 2)},
         '{"a": "2026-01-31 10:00:00", "b": "01:02:00"}'),
        (SqlType(999), uuid.UUID(int=0), '"00000000-0000-0000-0000-000000000000"'),
    ],
)  # fmt: skip
def test_values(sql_type: SqlType, value: Any, text: str) -> None:
    line = json_lines([Column("a", sql_type)])([(value,)])
    assert line == f'{{"a": {text}}}\n'
    json.loads(line)


def test_each_row_is_a_line_and_each_name_is_there_once() -> None:
    number = SqlType(TypeCode.INTEGER)
    write = json_lines([Column("a", number), Column("a", number), Column('"', number)])
    assert write([(1, 2, 3), (4, 5, 6)]) == '{"a": 1, "a_2": 2, "\\"": 3}\n{"a": 4, "a_2": 5, "\\"": 6}\n'


def test_values_are_written_as_unload_writes_them() -> None:
    assert text_writer(SqlType(TypeCode.DECIMAL, 0x0802))(Decimal("1.50")) == "1.50"
    assert text_writer(SqlType(TypeCode.DATE))(dt.date(2026, 1, 31)) == "2026-01-31"
    assert text_writer(SqlType(TypeCode.CHAR, 5))("a    ") == "a"
    assert text_writer(SqlType(TypeCode.BYTE))(b"\0\xff") == "00ff"


def test_types_without_a_form_in_files_have_one_here() -> None:
    assert text_writer(SqlType(TypeCode.UDTFIXED, 72, EXTENDED_BLOB))(b"\0\xff") == "00ff"
    assert text_writer(SqlType(TypeCode.UDTFIXED, 72, EXTENDED_CLOB))("text") == "text"
    assert text_writer(SqlType(999))(7) == "7"
    assert text_writer(SqlType(TypeCode.LVARCHAR))(7) == "7"
