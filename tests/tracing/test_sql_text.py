from __future__ import annotations

import pytest
from hypothesis import given, settings
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
        ("insert into t values (SET{'a}b', 'secret'}, 'x')", "insert into t values (SET{?}?"),
        ("update t set { don't } a = 'x'", "update t set {?}?"),
        ("select {it's a \" } b } from t", "select {?}?"),
        ("select {'a', \"b\"} a from t", "select {?} a from t"),
        ("select größe from tür", "select größe from tür"),
    ],
)
def test_literals_and_comments_are_hidden(sql: str, hidden: str) -> None:
    assert hide_literals(sql) == hidden


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="'"), min_size=1))
def test_nothing_of_a_quoted_literal_is_left(secret: str) -> None:
    assert hide_literals(f"select '{secret}', a") == "select ?, a"


SECRET = "QXZJ"
PIECES = (
    "select", "a.b", ",", "(", ")", "?", "SET", "\n", " ", "{}", "{ don't }", '{ 6" }',
    "-- it's\n", "/* don't */", "'it''s'",
    f"'{SECRET}'", f'"{SECRET}"', f"'}} {SECRET}'", f"'{{ {SECRET}'", f"'-- {SECRET}'",
    f"'/* {SECRET}'", f"{{{SECRET}}}",
    f"-- {SECRET}\n", f"/* {SECRET} */", f"SET{{'{SECRET}', 1}}", f"LIST{{'}}{SECRET}', '{SECRET}'}}", f"7{SECRET}",
    f"MULTISET{{ROW('it''s }} {SECRET}')}}", f"{{+ {SECRET} }}",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=12))
@settings(max_examples=300)
def test_no_secret_is_left_however_quotes_comments_and_braces_are_mixed(pieces: list[str]) -> None:
    assert SECRET not in hide_literals(" ".join(pieces))


@given(st.text(alphabet="a1'\"{}-/*.$ ?\n", max_size=40))
def test_the_text_after_a_number_is_part_of_it(sql: str) -> None:
    assert hide_literals("1" + sql)[0] == "?"
