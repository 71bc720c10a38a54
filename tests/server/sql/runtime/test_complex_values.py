from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.runtime import complex_values
from aioifx.server.sql.runtime.casts import as_text, assigner, comparer, converter
from aioifx.server.sql.runtime.complex_values import Literal, Part, is_literal, quoted, split_literal
from aioifx.server.sql.runtime.dates import days_of
from aioifx.server.sql.syntax.parser import parse_type_text
from tests.server.sql import kinds
from tests.server.sql.kinds import error_of


def read(definition: str, text: str) -> Any:
    """The storage form of a literal."""
    stored = assigner(type_number(kinds.lvarchar(32739)), type_number(parse_type_text(definition)))(
        text, kinds.settings()
    )
    return None if stored is None else json.loads(str(stored))


def written(definition: str, parts: Sequence[Any]) -> str | None:
    stored = complex_values.stored_parts([_stored(part) for part in parts])
    return as_text(stored, parse_type_text(definition), kinds.settings())


def _stored(part: Any) -> Any:
    return complex_values.stored_parts([_stored(each) for each in part]) if isinstance(part, list) else part


@pytest.mark.parametrize(
    ("definition", "text", "parts"),
    [
        ("set(int not null)", "SET{1, '2', 3}", [1, 2, 3]),
        ("set(int not null)", "set{}", []),
        ("set(int not null)", "SET{2,1,2}", [2, 1]),
        ("set(varchar(5) not null)", "SET{'a','a ','b'}", ["a", "b"]),
        ("multiset(int not null)", "MULTISET{2,1,2}", [2, 1, 2]),
        ("list(char(3) not null)", "LIST{'abcd','x'}", ["abc", "x"]),
        ("list(decimal(5,2) not null)", "LIST{1.255,2}", ["1.26", "2"]),
        ("list(boolean not null)", "LIST{'t','f'}", ["t", "f"]),
        ("row(a varchar(20), b int)", "ROW('Alice',30)", ["Alice", 30]),
        ("row(a varchar(20), b int)", "ROW(NULL,NULL)", [None, None]),
        ("row(a varchar(20), b int)", "ROW('NULL',NULL)", ["NULL", None]),
        ("row(a date, b float)", "ROW('05/04/2026',1.5)", [days_of(date(2026, 5, 4)), 1.5]),
        ("row(a set(int not null))", "ROW(SET{1})", ["[1]"]),
        ("set(set(int not null) not null)", 'SET{"SET{34,56}"}', ["[34,56]"]),
        ("set(set(int not null) not null)", "SET{SET{1,2},SET{2,1}}", ["[1,2]"]),
        ("list(row(a int, b char(5)) not null)", "LIST{ROW(1,'abcde'),ROW(NULL,'x')}", ['[1,"abcde"]', '[null,"x"]']),
    ],
)  # fmt: skip
def test_literals_are_stored_by_their_parts(definition: str, text: str, parts: list[Any]) -> None:
    assert read(definition, text) == parts


@pytest.mark.parametrize(
    ("definition", "text", "sqlcode"),
    [
        ("set(int not null)", "SET{NULL}", -9978),
        ("list(set(int not null) not null)", "LIST{SET{NULL}}", -9978),
        ("row(a int not null)", "ROW(NULL)", -391),
        ("row(a int)", "ROW(1,2)", -9634),
        ("set(int not null)", "LIST{1}", -9634),
        ("set(int not null)", "1,2", -1260),
        ("set(int not null)", "SET{'x'}", -1213),
        ("set(smallint not null)", "SET{40000}", -1214),
        ("row(a set(int not null))", "ROW(1)", -1260),
    ],
)
def test_literals_that_are_not_values_of_a_type(definition: str, text: str, sqlcode: int) -> None:
    assert error_of(read, definition, text) == sqlcode


@pytest.mark.parametrize(
    ("definition", "parts", "text"),
    [
        # observed: informix-driver
        ("row(name varchar(20), age int)", ["Alice", 30], "ROW('Alice',30         )"),
        ("list(int not null)", [10, 20, 30], "LIST{10,20,30}"),
        # assumed
        ("set(varchar(9) not null)", ["it's", ""], "SET{'it''s',''}"),
        ("row(a char(3), b smallint, c bigint)", ["x", 1, 2], "ROW('x  ',1     ,2                   )"),
        ("row(a decimal(5,2), b float)", ["1.5", 1.5], "ROW(1.50,1.5)"),
        ("row(a int, b row(c set(int not null)))", [None, [[1]]], "ROW(NULL,ROW(SET{1}))"),
        ("row(a date, b boolean)", [days_of(date(2026, 5, 4)), "t"], "ROW('05/04/2026','t')"),
        ("row(a datetime hour to minute)", ["12:30"], "ROW('12:30')"),
        ("multiset(int not null)", [], "MULTISET{}"),
    ],
)
def test_values_as_text(definition: str, parts: list[Any], text: str) -> None:
    assert written(definition, parts) == text


@pytest.mark.parametrize(
    "definition", ["row(a varchar(20), b date, c list(interval day to second not null))"]
)
def test_the_text_is_read_back(definition: str) -> None:
    parts = ["it's {1}", days_of(date(1999, 12, 31)), json.dumps([123_00000])]
    text = written(definition, parts)
    assert text is not None and read(definition, text) == parts


def compare(definition: str, left: str, right: str) -> int | None:
    kind = type_number(parse_type_text(definition))
    text = type_number(kinds.lvarchar(32739))
    make = converter(text, kind)
    first = make(left, kinds.settings())
    assert comparer(text, kind)(right, first, kinds.settings()) == comparer(kind, text)(
        first, right, kinds.settings()
    )
    return comparer(kind, kind)(first, make(right, kinds.settings()), kinds.settings())


@pytest.mark.parametrize(
    ("definition", "left", "right", "expected"),
    [
        ("set(int not null)", "SET{1,2}", "SET{2,1}", 0),
        ("set(int not null)", "SET{1,2}", "SET{1}", 1),
        ("multiset(int not null)", "MULTISET{1,2,1}", "MULTISET{1,1,2}", 0),
        ("multiset(int not null)", "MULTISET{1,2,1}", "MULTISET{1,2}", 1),
        ("list(int not null)", "LIST{1,2}", "LIST{2,1}", 1),
        ("list(varchar(5) not null)", "LIST{'a'}", "LIST{'a '}", 0),
        ("list(set(int not null) not null)", "LIST{SET{1,2}}", "LIST{SET{2,1}}", 0),
        ("row(a int, b varchar(5))", "ROW(1,'x')", "ROW(1,'x ')", 0),
        ("row(a int, b varchar(5))", "ROW(1,'x')", "ROW(1,'y')", 1),
        ("row(a int, b varchar(5))", "ROW(1,NULL)", "ROW(1,NULL)", None),
        ("row(a int, b varchar(5))", "ROW(1,NULL)", "ROW(2,NULL)", 1),
        ("list(row(a int) not null)", "LIST{ROW(NULL)}", "LIST{ROW(NULL)}", 0),
    ],
)
def test_equality(definition: str, left: str, right: str, expected: int | None) -> None:
    assert compare(definition, left, right) == expected


def test_a_row_becomes_another_row_field_by_field() -> None:
    source, target = (
        parse_type_text("row(a int, b varchar(5))"),
        parse_type_text("row(x char(3), y varchar(2))"),
    )
    stored = complex_values.stored_parts([12, "abc"])
    convert = converter(type_number(source), type_number(target))
    assert complex_values.parts_of(str(convert(stored, kinds.settings()))) == ["12", "ab"]
    assert error_of(converter, type_number(source), type_number(parse_type_text("row(x int)"))) == -9634
    with pytest.raises(SqlError) as raised:
        converter(type_number(source), type_number(parse_type_text("set(int not null)")))
    assert raised.value.sqlcode == -9634


def test_parts_for_sqlite() -> None:
    parts = complex_values.appended(complex_values.appended("[]", 1, "a"), None)
    assert parts is not None and complex_values.parts_of(parts) == [1, "a", None]
    assert complex_values.appended(None, 1) is None
    assert complex_values.field(parts, 1) == "a"
    assert complex_values.field(None, 1) is None
    assert complex_values.cardinality("[]") == 0
    assert complex_values.cardinality(None) is None


Q = True


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    [
        ("SET{1, 2}", "set", [Part("1"), Part("2")]),
        (" multiset { } ", "multiset", []),
        ("LIST{'a', \"b\", 'it''s'}", "list", [Part("a", Q), Part("b", Q), Part("it's", Q)]),
        ("row('Alice',30         )", "row", [Part("Alice", Q), Part("30")]),
        ("ROW(NULL, 'NULL')", "row", [Part("NULL"), Part("NULL", Q)]),
        ("ROW(-1.5e3, +2)", "row", [Part("-1.5e3"), Part("+2")]),
        # documented: nested quotation marks
        ("SET{\"SET{34, 56}\"}", "set", [Part("SET{34, 56}", Q)]),
        ("LIST{SET{'a}','b'}, SET{}}", "list", [Part("SET{'a}','b'}"), Part("SET{}")]),
        ("ROW(ROW(8,1,12.0))", "row", [Part("ROW(8,1,12.0)")]),
        ("ROW(DATETIME(2026-05-04 12:30) YEAR TO MINUTE, 1)", "row", [Part("2026-05-04 12:30", Q), Part("1")]),
        ("ROW(INTERVAL(3) DAY TO DAY)", "row", [Part("3", Q)]),
        ("ROW(INTERVAL(3 04:05) DAY(2) TO MINUTE)", "row", [Part("3 04:05", Q)]),
        ("ROW(DATETIME(1.5) SECOND TO FRACTION(1),1)", "row", [Part("1.5", Q), Part("1")]),
        ("ROW('')", "row", [Part("", Q)]),
    ],
)  # fmt: skip
def test_a_literal_is_split_into_its_parts(text: str, kind: str, parts: list[Part]) -> None:
    assert is_literal(text)
    assert split_literal(text) == Literal(kind, tuple(parts))


@pytest.mark.parametrize(
    "text",
    [
        "", "1", "SET", "SET(1)", "ROW{1}", "ROW()", "SET{1", "SET{1,}", "SET{,1}", "SET{1 2}", "SET{'a' 'b'}",
        "SET{'a}", "SET{1}}", "SET{1} x", "LIST{SET{1}", "LIST{SET{1)}", "LIST{SET{1} 2}", "SET{a(}",
        "LIST{" * 60 + "}" * 60,
    ],
)  # fmt: skip
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(SqlError) as raised:
        split_literal(text)
    assert raised.value.sqlcode == -1260


@given(st.lists(st.text(max_size=8), min_size=1, max_size=5))
def test_quoted_parts_are_read_back(texts: list[str]) -> None:
    literal = split_literal(f"LIST{{{','.join(map(quoted, texts))}}}")
    assert literal.parts == tuple(Part(text, Q) for text in texts)


@given(st.text(alphabet="SETROWLI{}(),'\" 1a", max_size=40))
def test_any_text_is_split_or_refused(text: str) -> None:
    try:
        split_literal(text)
    except SqlError as error:
        assert error.sqlcode == -1260
