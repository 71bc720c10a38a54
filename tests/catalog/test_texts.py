"""Texts and numbers of the catalog."""

from __future__ import annotations

from typing import Any

import pytest

from aioifx.catalog import texts
from aioifx.sqltypes import DISTINCT, SqlType, TypeCode, Unit, datetime_qualifier

YEAR_TO_SECOND = datetime_qualifier(Unit.YEAR, Unit.SECOND).encoded


@pytest.mark.parametrize(
    ("schema", "place", "catalog"),
    [
        (None, texts.Place("", None), "informix."),
        ("joe", texts.Place("", "joe"), "informix."),
        ("stores:joe", texts.Place("stores:", "joe"), "stores:informix."),
        ("stores@far:joe", texts.Place("stores@far:", "joe"), "stores@far:informix."),
        ("stores:", texts.Place("stores:", None), "stores:informix."),
    ],
)
def test_a_schema_names_an_owner_a_database_or_both(
    schema: str | None, place: texts.Place, catalog: str
) -> None:
    assert texts.Place.of(schema) == place
    assert place.catalog == catalog
    assert place.is_remote == ("@" in (schema or ""))


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("", []),
        ("1 [1]", [("a", "a", False)]),
        ("-2 [1], 1 [1]", [("b", "b", True), ("a", "a", False)]),
        ("<145>(2) [1]", [(None, "upper(b)", False)]),
        ("<145>(1, 2) [12], -3 [1]", [(None, "upper(a, b)", False, 12), ("c", "c", True)]),
        ("-<145>(1) [1], 2 [1]", [(None, "upper(a)", True), ("b", "b", False)]),
        ("<99>(1) [1]", [(None, "routine 99(a)", False)]),
        ("9 [1]", [("column 9", "column 9", False)]),
    ],
)
def test_index_keys_are_columns_and_functions(text: str, keys: list[tuple[Any, ...]]) -> None:
    found = [key.named({1: "a", 2: "b", 3: "c"}, {145: "upper"}) for key in texts.index_keys(text)]
    assert found == [texts.Key(*key, *([1] if len(key) == 3 else [])) for key in keys]


def test_names_in_functions_of_index_keys_are_sql() -> None:
    (key,) = texts.index_keys("<145>(1, 9) [1]")
    assert key.named({1: "a B"}, {145: "Up"}).expression == '"Up"("a B", column 9)'


@pytest.mark.parametrize(
    ("sql_type", "kind", "text", "expected"),
    [
        (SqlType(TypeCode.INTEGER, 4), "", "", None),
        (SqlType(TypeCode.INTEGER, 4), "N", "", None),
        (SqlType(TypeCode.INTEGER, 4), "L", "AAAAAF 5", "5"),
        (SqlType(TypeCode.DECIMAL, 0x0802), "L", "gAAAAAAA -0.50", "-0.50"),
        (SqlType(TypeCode.MONEY, 0x0802), "L", "gAAAAAAA $0.50", "0.50"),
        (SqlType(TypeCode.FLOAT, 8), "L", "AAAAAAAAAAA 1.5e10", "1.5e10"),
        (SqlType(TypeCode.CHAR, 20), "L", "it's here", "'it''s here'"),
        (SqlType(TypeCode.VARCHAR, 20), "L", "", "''"),
        (SqlType(TypeCode.UDTVAR, 20, 1), "L", "two words", "'two words'"),
        (SqlType(TypeCode.UDTFIXED, 1, 5), "L", "t", "'t'"),
        (SqlType(TypeCode.DATE, 4), "L", "AAAAAA 01/02/2026", "'01/02/2026'"),
        (SqlType(TypeCode.DATETIME, YEAR_TO_SECOND), "L", "AAAAAAA 2026-01-02 03:04:05",
         "DATETIME(2026-01-02 03:04:05) YEAR TO SECOND"),
        (SqlType(TypeCode.DATETIME, YEAR_TO_SECOND), "L", "AAAAAAA DATETIME(2026-01-02 03:04:05) YEAR TO SECOND",
         "DATETIME(2026-01-02 03:04:05) YEAR TO SECOND"),
        (SqlType(TypeCode.INTERVAL, 0x0466), "L", "AAAAAAA 12", "INTERVAL(12) HOUR(4) TO HOUR"),
        (SqlType(TypeCode.DATETIME, YEAR_TO_SECOND), "C", "", "CURRENT YEAR TO SECOND"),
        (SqlType(TypeCode.DATE, 4), "T", "", "TODAY"),
        (SqlType(TypeCode.CHAR, 32), "U", "", "USER"),
        (SqlType(TypeCode.CHAR, 128), "S", "", "DBSERVERNAME"),
    ],
)  # fmt: skip
def test_defaults_become_sql(sql_type: SqlType, kind: str, text: str, expected: str | None) -> None:
    assert texts.default_sql(sql_type, kind, text) == expected


def test_codes_and_lengths_of_columns_are_unsigned() -> None:
    negative = texts.column_type(13, 0xC8FF - 0x10000, 0, None, None, None)
    assert negative == SqlType(TypeCode.VARCHAR, 0xC8FF)
    distinct = texts.column_type(0x0100 | DISTINCT | 5, 0x0802, 2048, "ann       ", "price  ", 0)
    assert distinct == SqlType(TypeCode.DECIMAL, 0x0802, 2048, "ann", "price", 0, DISTINCT)


@pytest.mark.parametrize("strip", [False, True])
def test_text_over_several_rows_keeps_its_blanks(strip: bool) -> None:
    whole = "(a = 'one' OR a  = 'two' ) AND b > 1 "
    chunks = [whole[start : start + 8].ljust(8) for start in range(0, len(whole), 8)]
    stripped = [chunk.rstrip(" ") for chunk in chunks] if strip else chunks
    assert texts.joined(stripped, 8) == whole.strip(" ")
    assert texts.joined(["größer"], 8) == "größer"


@pytest.mark.parametrize(
    ("chunks", "whole"),
    [
        (["12345 ", "öäü"], "12345öäü"),  # UTF-8: the ö, two bytes, had no room
        (["1234  ", "öäö   "], "1234  öäö"),
        (["größe ", "rößer "], "größe rößer"),  # one byte for each character
    ],
)
def test_a_character_that_had_no_room_leaves_no_blanks(chunks: list[str], whole: str) -> None:
    assert texts.joined(chunks, 6) == whole


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a > 1", "a > 1"),
        ("(a > 1 )", "a > 1"),
        ("((a > 1) OR (b > 1))", "(a > 1) OR (b > 1)"),
        ("(a > 1) AND (b > 1)", "(a > 1) AND (b > 1)"),
        ("(a = ')' )", "a = ')'"),
        ("(a = 'it''s (' )", "a = 'it''s ('"),
        ("(a", "(a"),
    ],
)
def test_parentheses_around_a_whole_condition_are_dropped(condition: str, expected: str) -> None:
    assert texts.without_parentheses(condition) == expected
