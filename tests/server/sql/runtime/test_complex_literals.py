from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime.complex_literals import Literal, Part, is_literal, quoted, split_literal

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
