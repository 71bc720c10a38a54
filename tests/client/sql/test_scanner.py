"""What a client must know about a statement before it is sent."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aioifx.client.sql.scanner import Scan, first_words, named_database, placeholder_values, scan
from aioifx.errors import InterfaceError, ProgrammingError


@pytest.mark.parametrize(
    ("sql", "placeholders", "verb"),
    [
        ("SELECT 1 FROM t", 0, "select"),
        ("select * from t where a = ? and b in (?,?)", 3, "select"),
        ("insert into t values (?, ?::INT)", 2, "insert"),
        ("select '?' from t where a = 'it''s ?' and b = ?", 1, "select"),
        ('select "?" from t where a = "say ""?""" and b = ?', 1, "select"),
        ("select 'a \"?\" b', ? from t", 1, "select"),
        ("select a -- is it ?\nfrom t where b = ? -- ?", 1, "select"),
        ("select a /* ?\n'?' */ from t where b = ? /**/", 1, "select"),
        ("select a { ? } from t where b = ?", 1, "select"),
        ("select a /* { */ , ? /* } */ from t", 1, "select"),
        ("select a - ? from t where b - - ? > 0", 2, "select"),
        ("select a / ? from t", 1, "select"),
        ("insert into t values (SET{?, ?}, multiset {?}, LIST\n{?})", 4, "insert"),
        ("insert into t values (set /* of what? */ -- ?\n {?})", 1, "insert"),
        ("select offset{?} from t where my_set{?} = 1 and set$set{?} = ?", 1, "select"),
        ("update t set {the column?} a = ?", 2, "update"),  # as the server reads it: SET opens a collection
    ],
)
def test_placeholders_are_counted_outside_strings_and_comments(
    sql: str, placeholders: int, verb: str
) -> None:
    assert scan(sql)[:2] == (placeholders, verb)


@pytest.mark.parametrize(
    ("sql", "verb"),
    [
        ("  Begin Work", "begin"),
        ("((select 1 from t))", "select"),
        ("( /* x */ ( {y} -- z\n select 1 from t) union (select 2 from t))", "select"),
        ("{+ ordered}\nSELECT 1 FROM t", "select"),
        ("--+ ordered\nselect 1 from t", "select"),
        ("/* (insert */delete from t", "delete"),
        ("{ call f(?) } execute procedure f(?)", "execute"),
        ("_odd", "_odd"),
        ("'select'", ""),
        ("? = 1", ""),
        ("; select 1", ""),
        ("{comment}{another}({third}(with x as (select 1)", "with"),
    ],
)
def test_the_verb_is_the_first_word_after_comments_and_parentheses(sql: str, verb: str) -> None:
    assert scan(sql).verb == verb


def test_what_is_left_open_reaches_to_the_end() -> None:
    assert scan("select ? from t where a = 'b ?").placeholders == 1
    assert scan("select ? from t /* ? 'c").placeholders == 1
    assert scan("select ? from t { ?").placeholders == 1
    assert scan("select ? from t where set /* {?").placeholders == 1


@pytest.mark.parametrize(
    "sql", ["", " \t\r\n", "-- only this", "/* only this */ {and this}", "{ open", "/* open"]
)
def test_a_statement_without_a_word_is_refused(sql: str) -> None:
    with pytest.raises(ProgrammingError, match="the statement is empty") as caught:
        scan(sql)
    assert caught.value.sql == sql


def test_an_escape_of_jdbc_alone_is_refused_with_the_reason() -> None:
    with pytest.raises(ProgrammingError, match="JDBC's escapes are not resolved"):
        scan("{? = call f(?)}")


def test_a_nul_is_refused_with_its_place() -> None:
    with pytest.raises(ProgrammingError, match="NUL, character 8") as caught:
        scan("select \0 from t")
    assert caught.value.offset == 8


@pytest.mark.parametrize("sql", [None, b"select 1", 7, ["select 1"]])
def test_only_a_str_is_sql(sql: object) -> None:
    with pytest.raises(InterfaceError, match="sql: expected a str"):
        scan(sql)  # type: ignore[arg-type] # the error is what is tested


def test_a_long_statement_is_scanned_like_a_short_one() -> None:
    sql = "insert into t values (" + ", ".join(["?", "'?'"] * 5000) + ")"
    assert scan(sql) == Scan(5000, "insert", 5000)


PIECES = st.sampled_from(
    ["?", "'", '"', "{", "}", "/*", "*/", "--", "\n", " ", "(", "set", "list", "x", "$", "é", "\0", "-", "/"]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


# Law: any text gives a Scan, or the one error that empty and NUL-ridden texts have.
@given(TEXTS | st.text())
@example("\ud800")
def test_any_text_is_scanned_or_refused(sql: str) -> None:
    try:
        found = scan(sql)
    except ProgrammingError:
        return
    assert 0 <= found.placeholders <= sql.count("?")
    assert found.verb in sql.lower()


def plain_walk(sql: str) -> int:
    """The placeholders, found by the plainest means: one character after the other."""

    def behind(closing: str, start: int) -> int:
        found = sql.find(closing, start)
        return len(sql) if found < 0 else found + len(closing)

    count, pos, word, joined = 0, 0, "", False
    while pos < len(sql):
        if sql.startswith("--", pos):
            pos, joined = behind("\n", pos), False
        elif sql.startswith("/*", pos):
            pos, joined = behind("*/", pos + 2), False
        elif sql[pos] == "{" and word not in ("set", "list"):
            pos, joined = behind("}", pos), False
        elif sql[pos] in "'\"":
            pos, word = behind(sql[pos], pos + 1), ""
        else:
            if sql[pos].isalnum() or sql[pos] in "_$":
                word, joined = (word if joined else "") + sql[pos], True
            elif sql[pos].isspace():
                joined = False
            else:
                count, word = count + (sql[pos] == "?"), ""
            pos += 1
    return count


# Law: the patterns find what a walk over the characters finds.
@given(TEXTS.filter(lambda sql: "\0" not in sql))
def test_the_patterns_agree_with_a_plain_walk(sql: str) -> None:
    assert scan("x " + sql).placeholders == plain_walk("x " + sql)


# Law: linear. A backtracking pattern would need minutes for each of these; the suite's time limit shows it.
@pytest.mark.parametrize(
    "sql",
    [
        "'" * 300_001,
        "x" + "{" * 300_000,
        "set/*" * 60_000 + "?",
        "set " * 60_000 + "?",
        "set/**/" * 60_000 + "?",
        "set" + "/**/" * 60_000 + "?",
        "set" + " " * 300_000 + "?",
        "/*" * 150_000 + "?",
        "(" * 300_000 + "?",
        "{}" * 150_000 + "?",
        "x set --\n" * 30_000 + "?",
        "?" * 300_000,
    ],
    ids=lambda sql: sql[:8],
)
def test_hostile_texts_are_scanned_in_linear_time(sql: str) -> None:
    try:
        assert scan(sql).placeholders <= 300_000
    except ProgrammingError as error:
        assert "empty" in str(error)


@pytest.mark.parametrize(
    ("sql", "before"),
    [
        ("update t set a = ?, b = ? where c = ?", 2),
        ("update t set a = ?", 1),
        ("UPDATE t SET a = 1, b = ? WHERE c < ? AND d = ?", 1),
        ("update t set a = (select max(x) from u where y = ?), b = ? where c = ?", 2),
        ("update t set a = ' where ', b = ? -- where\n where c = ?", 1),
        ("update t set my_where = ?, where$ = ? where c = ?", 2),
        ("select a from t where b = ?", 0),
        ("select a from t", 0),
        (")) where ? ((", 1),
    ],
)
def test_placeholders_before_where_are_counted(sql: str, before: int) -> None:
    assert scan(sql).before_where == before


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("insert into t values (1, ?, 'a', ?)", [None, 0, None, 1]),
        ("INSERT INTO t (a, b) VALUES(?,now())", [0, None]),
        (
            "insert into t values (lower(?), ?, ? || 'a', ?::int, (?), ? -- the last\n)",
            [None, 1, None, None, None, 5],
        ),
        (
            "insert into t values ('?, (', \"x)\", {?} ?, set{1, 2}, f(?, (1)), ?, 1.5)",
            [None, None, 0, None, None, 2, None],
        ),
        ("insert into values (values, b) values (1, ? /* , */)", [None, 0]),
        ("insert into t (a) select ? from u where (a, ?) in (select b, c from v)", []),
        ("insert into t values (1, ?", []),
        ("insert into t values ()", [None]),
        ("insert into t values )(?", []),
        ("insert into t values (?))", [0]),
    ],
)
def test_values_that_are_placeholders_are_found(sql: str, values: list[int | None]) -> None:
    assert placeholder_values(sql) == values


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("DATABASE shop", "shop"),
        ("database 'shop@ol_1' exclusive", "shop@ol_1"),
        ("{ to the } Database\n shop;", "shop"),
        ("CREATE DATABASE IF NOT EXISTS shop WITH LOG", "shop"),
        ("create database shop in dbs with buffered log", "shop"),
        ("CLOSE DATABASE", ""),
        ("BEGIN WORK", ""),
    ],
)
def test_the_database_that_a_statement_opens_is_named(sql: str, name: str) -> None:
    assert named_database(sql) == name


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SET ISOLATION TO DIRTY READ", ["set", "isolation", "to", "dirty"]),
        ("{ a } Set -- b\n LOCK/* c */Mode", ["set", "lock", "mode"]),
        ("set lock mode to wait 17;", ["set", "lock", "mode", "to"]),
        ("  ", []),
        ("-- set", []),
        ("?;'", []),
    ],
)
def test_the_first_words_are_found_whatever_stands_between_them(sql: str, words: list[str]) -> None:
    assert first_words(sql, 4) == words
