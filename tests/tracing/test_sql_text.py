from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.tracing.sql_text import hide_literals


@pytest.mark.parametrize(
    ("sql", "hidden"),
    [
        ("select * from t", "select * from t"),
        ("select a, 'it''s' from t where n = 12", "select a, ?? from t where n = ?"),
        ("select -1.5e-3, .5, 7x", "select -?-?, .?, ?"),
        ('select "quoted" from t', "select ? from t"),
        ("select t1.a2 from t$1 where b = $5.00", "select t1.a2 from t$1 where b = ?"),
        ("select 1 -- the key is 42\nfrom t /* 'x' */", "select ? /*?*/\nfrom t /*?*/"),
        ("select {+ full(t)} a from t", "select {?} a from t"),
        ("insert into t values (SET{1, 2}, ?)", "insert into t values (SET{?}, ?)"),
        ("select 'open", "select ?"),
        ("select /* open", "select /*?*/"),
        ("select { open", "select {?}"),
        ("DATETIME (2026-01-01 10:00) YEAR TO MINUTE", "DATETIME (?-?-? ?:?) YEAR TO MINUTE"),
        ("select größe from tür", "select größe from tür"),
    ],
)
def test_literals_and_comments_are_hidden(sql: str, hidden: str) -> None:
    assert hide_literals(sql) == hidden


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="'"), min_size=1))
def test_nothing_of_a_quoted_literal_is_left(secret: str) -> None:
    assert hide_literals(f"select '{secret}', a") == "select ?, a"


@given(st.text(alphabet="a1'\"{}-/*.$ ?\n", max_size=40))
def test_no_digit_that_begins_a_word_is_left(sql: str) -> None:
    hidden = hide_literals(sql)
    assert "1" not in hidden.replace("a1", "").replace("a", "") or "a" in sql
    assert hide_literals("1" + sql)[0] == "?"
