"""Named and numbered parameters, turned into placeholders."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aioifx.client.sql.placeholders import ByName, bind_named, named_statement
from aioifx.client.sql.scanner import scan
from aioifx.errors import InterfaceError


@pytest.mark.parametrize(
    ("sql", "names", "placed"),
    [
        ("select * from t where a = :a", ("a",), "select * from t where a = ?"),
        (":a", ("a",), "?"),
        ("f(:a,:b, :a)", ("a", "b", "a"), "f(?,?, ?)"),
        ("a=:a and b<:b||:c+:d-:e*:f/:g", tuple("abcdefg"), "a=? and b<?||?+?-?*?/?"),
        ("x = :größe_2 and y = :_y$z", ("größe_2", "_y$z"), "x = ? and y = ?"),
        ("values (:1, :2, :02, :10)", ("1", "2", "2", "10"), "values (?, ?, ?, ?)"),
        ("select :a::INT, (:b)::db:typ from t", ("a", "b"), "select ?::INT, (?)::db:typ from t"),
        ("insert into db@ol_x:o.t values (:t)", ("t",), "insert into db@ol_x:o.t values (?)"),
        ("select a from shop:item where b = :b", ("b",), "select a from shop:item where b = ?"),
        ('select a from "shop":item where b = :b', ("b",), 'select a from "shop":item where b = ?'),
        ("values (SET{:a, :b}, LIST {:c})", ("a", "b", "c"), "values (SET{?, ?}, LIST {?})"),
        ("execute procedure p(\n:a\t,\n:b)", ("a", "b"), "execute procedure p(\n?\t,\n?)"),
        ("a = 'x' or b = :b", ("b",), "a = 'x' or b = ?"),
        ("a /* c */:b", ("b",), "a /* c */?"),
        ("INTERVAL (:1) DAY TO DAY", ("1",), "INTERVAL (?) DAY TO DAY"),
        ("c[:from,:to]", ("from", "to"), "c[?,?]"),
    ],
)  # fmt: skip
def test_each_parameter_becomes_a_placeholder(sql: str, names: tuple[str, ...], placed: str) -> None:
    assert named_statement(sql) == (placed, names)


@pytest.mark.parametrize(
    "sql",
    [
        "select 1 from t",
        "select ':a' from t where b = 'it'':s :c'",
        'select ":a" from t where b = ":c"":d"',
        "select a -- :a\n from t --:b",
        "select a /* :a\n':b */ from t",
        "select {:a} b from t { :c",
        "select a::INT, b :: integer, '1'::lvarchar, f()::x from t",
        "select a from db:t, db@server:o.t",
        "select a from 'db':t, \"db\":t",
        "DATETIME (2026-01-01 12:30:00) YEAR TO SECOND",
        "INTERVAL (12:30) HOUR TO MINUTE + INTERVAL(5 12:30:15.25) DAY TO FRACTION(2)",
        "a : b :: c :",
        "select :1a, :2$ from t",
        "select 'open :a",
        "select /* open :a",
    ],
)
def test_a_colon_with_another_meaning_is_left_alone(sql: str) -> None:
    assert bind_named(sql, {}) == (sql, ())


def test_values_come_in_the_order_of_the_placeholders() -> None:
    sql = "update t set a = :a, b = :b where a = :a"
    assert bind_named(sql, {"b": None, "a": 1}) == ("update t set a = ?, b = ? where a = ?", (1, None, 1))


@pytest.mark.parametrize(
    "values", [("x", "y"), ["x", "y"], {1: "x", 2: "y"}, {"1": "x", 2: "y"}, {"01": "x", "2": "y"}]
)
def test_numbers_take_a_sequence_or_a_mapping(values: Any) -> None:
    assert bind_named("f(:2, :1, :2)", values) == ("f(?, ?, ?)", ("y", "x", "y"))


def test_names_and_numbers_go_together_in_a_mapping() -> None:
    values: dict[str | int, str] = {"a": "A", 1: "one"}
    assert bind_named("f(:1, :a)", values) == ("f(?, ?)", ("one", "A"))


@pytest.mark.parametrize(
    ("sql", "values", "message"),
    [
        ("f(:name)", {}, r"^no value for parameter :name$"),
        ("f(:name)", {"nmae": 1}, r"^no value for parameter :name; did you mean 'nmae'\?$"),
        ("f(:a, :b, :a, :c)", {"b": 1}, r"^no value for parameters :a, :c$"),
        ("f(:name)", {"name": 1, "nam": 2}, r"^the statement has no parameter :nam; did you mean 'name'\?$"),
        ("f(:name)", {"name": 1, "no name": 2}, r"^the statement has no parameter 'no name'"),
        ("f()", {"a": 1, "b": 2}, r"^the statement has no parameters :a, :b$"),
        ("f()", dict.fromkeys(map(str, range(1, 31)), 0), r":9, :10 and 20 more$"),
        ("f(:1, :3)", ("x", "y", "z"), r"^the statement has no parameter :2"),
        ("f(:1, :3)", ("x",), r"^no value for parameter :3$"),
        ("f(:1, :0)", ("x",), r"parameter :0; numbers count from 1"),
        ("f(:1, :a)", ("x", "y"), r"parameter :a: expected its value in a mapping, got a sequence"),
        ("f(:1)", {1: "x", "1": "y"}, r"given twice, as int and as str"),
        ("f(:1)", {1.0: "x"}, r"keys: expected names or numbers, got float"),
        ("f(:1)", {True: "x"}, r"keys: expected names or numbers, got bool"),
        ("f(:1)", "x", r"expected a mapping or a sequence, got str"),
        ("f(:1)", b"x", r"expected a mapping or a sequence, got bytes"),
        ("f(:1)", 7, r"expected a mapping or a sequence, got int"),
        ("f(:1)", {"x"}, r"expected a mapping or a sequence, got set"),
        ("f(:a, ?)", {"a": 1}, r"has a \?, character 7: names and \? cannot be combined"),
        ("f(?)", {}, r"has a \?, character 3"),
        (b"f(:1)", ("x",), r"sql: expected a str, got bytes"),
    ],
)  # fmt: skip
def test_values_that_do_not_match_the_names_are_rejected_by_name(sql: Any, values: Any, message: str) -> None:
    with pytest.raises(InterfaceError, match=message):
        bind_named(sql, values)


def test_no_message_shows_a_value() -> None:
    cases: list[tuple[str, Any]] = [
        ("f(:a)", {"b": "secret"}),
        ("f(:a)", {"a": 1, "b": "secret"}),
        ("f()", ["secret"]),
    ]
    for sql, values in cases:
        with pytest.raises(InterfaceError) as caught:
            bind_named(sql, values)
        assert "secret" not in str(caught.value)


def test_a_statement_is_read_once_unless_it_is_a_long_one() -> None:
    short, long = "f(:a)", "f(:a" + " " * 9000 + ")"
    assert named_statement(short) is named_statement(short)
    assert named_statement(long) is not named_statement(long)
    assert named_statement(long).names == ("a",)


def test_each_value_keeps_the_name_that_it_was_given_by() -> None:
    _, values = bind_named("a in (:l) and b = :b", {"l": [1, 2], "b": 3})
    assert values == (1, 2, 3)
    assert isinstance(values, ByName) and values.names == ("l", "l", "b")


# --- laws -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "expanded"),
    [
        ("a in (:l)", "a in (?, ?)"),
        ("a NOT IN\n( :b , :l )", "a NOT IN\n( ? , ?, ? )"),
        ("values (:l)", None),
        ("a = :l", None),
        (":l", None),
        ("begin (:l)", None),
        ("a in (f(:l))", None),
        ("a in (:b) and c = :l", None),
        (":l in (tags)", None),
    ],
)
def test_a_list_expands_within_in_and_is_a_value_elsewhere(sql: str, expanded: str | None) -> None:
    values = {"l": [1, 2]} | ({"b": 0} if ":b" in sql else {})
    placed, found = bind_named(sql, values)
    if expanded is not None:
        assert placed == expanded
        assert found[-2:] == (1, 2)
    else:
        assert placed == sql.replace(":l", "?").replace(":b", "?")
        assert [1, 2] in found


PIECES = st.sampled_from(
    [":a", ":b", ":1", ":", "::", "'", '"', "{", "}", "/*", "*/", "--", "\n", " ", "(", "set", "list", "x", "$", "7"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=40).map("".join)


# Law: what is put in is what the server finds, wherever strings, comments and collections are.
@given(TEXTS)
@example("set:a{:b}")
@example("'':a")
@example("-:a-")
def test_there_are_as_many_placeholders_as_parameters(sql: str) -> None:
    placed, names = named_statement("x " + sql)
    assert scan(placed).placeholders == len(names) == placed.count("?")
    assert len(placed) == len("x " + sql) - sum(len(name) for name in names)


# Law: the two modules agree on what a string, a comment and a collection is.
@given(st.lists(PIECES.filter(lambda piece: piece[0] != ":") | st.just("?"), max_size=40).map("".join))
def test_a_placeholder_is_seen_where_the_scan_sees_one(sql: str) -> None:
    if scan("x " + sql).placeholders:
        with pytest.raises(InterfaceError, match="cannot be combined"):
            named_statement("x " + sql)
    else:
        assert named_statement("x " + sql) == ("x " + sql, ())


# Law: text without parameters is unchanged.
@given(st.text(st.characters(exclude_characters=":?")) | TEXTS.map(lambda sql: sql.replace(":", "")))
def test_text_without_a_colon_is_unchanged(sql: str) -> None:
    assert bind_named(sql, {}) == (sql, ())


QUIET = st.one_of(
    st.text(st.characters(exclude_characters="'")).map(lambda text: f"'{text}'"),
    st.text(st.characters(exclude_characters='"')).map(lambda text: f'"{text}"'),
    st.text(st.characters(exclude_characters="\n")).map(lambda text: f"--{text}\n"),
    st.text(st.characters(exclude_characters="*")).map(lambda text: f"/*{text}*/"),
    st.text(st.characters(exclude_characters="}")).map(lambda text: f"{{{text}}}"),
    st.sampled_from(["select", "db:t", "12:30", "a::int", "db@server:o.t", ","]),
)


# Law: strings, identifiers and comments are not touched, and every parameter between them is found.
@given(st.lists(QUIET | st.sampled_from([("a", ":a"), ("1", ":1")]), max_size=12))
def test_strings_and_comments_are_not_changed(parts: list[str | tuple[str, str]]) -> None:
    sql = " ".join(part if isinstance(part, str) else part[1] for part in parts)
    placed = " ".join(part if isinstance(part, str) else "?" for part in parts)
    assert named_statement(sql) == (placed, tuple(part[0] for part in parts if not isinstance(part, str)))


# Law: linear. A backtracking pattern would need minutes for each of these; the suite's time limit shows it.
@pytest.mark.parametrize(
    "sql",
    [
        "'" * 300_001,
        ":" * 300_000,
        ":a" * 150_000,
        " :a" * 100_000,
        ":1" * 150_000,
        ":" + "1" * 300_000 + "x",
        ":" + "1" * 300_000,
        "{" * 300_000,
        "set/*" * 60_000 + ":a",
        "set " * 60_000 + ":a",
        "set" + "/**/" * 60_000 + ":a",
        "/*" * 150_000,
        "x set --\n" * 30_000 + ":a",
    ],
    ids=lambda sql: sql[:8],
)
def test_hostile_texts_are_read_in_linear_time(sql: str) -> None:
    assert len(named_statement(sql).names) <= 100_000
