"""The front door of the parser: whole statements, scripts, and what no text may do to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import MAX_HEIGHT, parse, parse_type_text, split_script, split_statements
from tests.server.sql.shapes import error_of, statement_shape

# --- Statements --------------------------------------------------------------

EXAMPLES = [
    "SELECT 7/2, 7/2::FLOAT, MOD(-7,3), ROUND(2.5), TRUNC(-2.7) FROM sysmaster:sysdual",
    "SELECT 1/0 FROM systables WHERE tabid = 1", "SELECT 'x'::INT FROM systables WHERE tabid = 1",
    "SELECT SKIP 1 FIRST 2 tabname FROM systables ORDER BY tabid",
    "SELECT tabname[1,3] FROM systables WHERE tabname MATCHES 's?s[t-v]a*' AND tabid = 1",
    "SELECT \"it's\", 'it''s' FROM sysmaster:sysdual",
    "SELECT MDY(2,29,2024) + 365, MDY(3,1,2024) - MDY(2,1,2024) FROM sysmaster:sysdual",
    "SELECT DATETIME(2024-01-31 10:00) YEAR TO MINUTE + 1 UNITS MONTH FROM sysmaster:sysdual",
    "SELECT EXTEND(MDY(5,4,2026), YEAR TO SECOND) - INTERVAL(1) SECOND TO SECOND FROM sysmaster:sysdual",
    "SELECT DATETIME(2026-05-04 12:00) YEAR TO MINUTE - DATETIME(2026-05-01 06:30) YEAR TO MINUTE FROM sysdual",
    "CREATE TEMP TABLE t (k SERIAL, c CHAR(5), v VARCHAR(5))", "SELECT k, c, v, LENGTH(c) FROM t ORDER BY k",
    "SELECT COUNT(*) FROM t WHERE c = 'ab'", "INSERT INTO t VALUES (0, 'a')",
    "SELECT a.k, b.x FROM a, OUTER b WHERE a.k = b.k AND b.x > 5",
    "SELECT NVL(NULL::INT, 5), DECODE(NULL::INT, NULL, 'n', 'x'), 'a' || NULL::CHAR(1) FROM sysmaster:sysdual",
    "BEGIN WORK", "COMMIT WORK", "UPDATE t SET v = 1 WHERE k = 1", "SET LOCK MODE TO WAIT 2",
    "SELECT * FROM nowhere", "INSERT INTO t (k) VALUES (?)",
    "CREATE TABLE t (k INT PRIMARY KEY CONSTRAINT pk_t)",
]  # fmt: skip


@pytest.mark.parametrize("text", EXAMPLES)
def test_a_statement_means_the_same_in_any_case_and_with_a_semicolon(text: str) -> None:
    first_word = text.split()[0]
    assert statement_shape(text.replace(first_word, first_word.lower())) == statement_shape(text + " ; ")


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_node_lies_inside_its_statement(text: str) -> None:
    for node in nodes.walk(parse(text)):
        assert 1 <= node.offset <= len(text)
        assert text[node.offset - 1] != " "


def test_an_old_outer_join_keeps_its_tables_apart() -> None:
    assert statement_shape("SELECT a.k, b.x FROM a, OUTER b WHERE a.k = b.k AND b.x > 5") == (
        "(Select([a.k, b.x], [a, OuterTables([b])], "
        "where=And([Comparison(=, a.k, b.k), Comparison(>, b.x, 5)])))"
    )


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("^", (-201, "")),
        ("^;", (-201, "")),
        ("^foo", (-201, "")),
        ("^1", (-201, "")),
        ("^?", (-201, "")),
        ("^'select'", (-201, "")),
        ("^values (1)", (-201, "")),
        ("^show tables", (-201, "")),
        ("^explain select 1 from t", (-201, "")),
        ("^load from 'x' insert into t", (-201, "")),
        ("^unload to 'x' select * from t", (-201, "")),
        ("^info tables", (-201, "")),
        ("^declare c cursor for select 1 from t", (-201, "")),
        ("^call p()", (-201, "")),
        ("^connect to 'd'", (-999, "CONNECT TO")),
        ("^disconnect current", (-999, "DISCONNECT")),
        ("^save external directives 'x' active for select 1 from t", (-999, "SAVE EXTERNAL DIRECTIVES")),
        ("begin work; ^commit work", (-201, "")),
        ("begin work;^;", (-201, "")),
        ("begin work ^)", (-201, "")),
        ("select a from t where b = ^'x", (-282, "")),
        ("select a from t ^{ open", (-283, "")),
        ("select a from t ^/* open", (-943, "")),
        ("select a from t where b = ^#", (-202, "")),
    ],
)
def test_what_is_not_a_statement_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error


def test_delimident_decides_what_double_quotes_are() -> None:
    quoted, delimited = parse('SELECT "A" FROM t'), parse('SELECT "A" FROM t', delimident=True)
    assert any(isinstance(node, nodes.String) for node in nodes.walk(quoted))
    assert [node.name for node in nodes.walk(delimited) if isinstance(node, nodes.Column)] == ["A"]
    with pytest.raises(SqlError):
        parse('"SELECT" a FROM t', delimident=True)


# --- Nesting -----------------------------------------------------------------

DEEP = {
    "parentheses": ("SELECT ", "("),
    "calls": ("SELECT ", "f("),
    "casts": ("SELECT ", "CAST("),
    "signs": ("SELECT ", "- "),
    "cases": ("SELECT ", "CASE WHEN "),
    "operands of CASE": ("SELECT ", "CASE "),
    "windows": ("SELECT ", "RANK() OVER (ORDER BY "),
    "conditions": ("SELECT a FROM t WHERE ", "("),
    "negations": ("SELECT a FROM t WHERE ", "NOT "),
    "IN": ("SELECT a FROM t WHERE ", "a IN (SELECT a FROM t WHERE "),
    "ANY": ("SELECT a FROM t WHERE ", "a = ANY (SELECT a FROM t WHERE "),
    "EXISTS": ("SELECT a FROM t WHERE ", "EXISTS (SELECT a FROM t WHERE "),
    "derived tables": ("", "SELECT a FROM ("),
    "outer tables": ("SELECT a FROM ", "OUTER ("),
    "joins": ("SELECT a FROM ", "a JOIN "),
    "conditions of joins": ("SELECT a FROM t JOIN t ON ", "EXISTS (SELECT a FROM t JOIN t ON "),
    "common tables": ("", "WITH a AS ("),
    "unions": ("SELECT ", "((SELECT a FROM t) UNION "),
    "checks": ("CREATE TABLE t (a INT CHECK (", "("),
}


def beneath(frames: int, text: str) -> SqlError:
    """The error that parsing raises when that much of the stack is taken."""
    if frames:
        return beneath(frames - 1, text)
    with pytest.raises(SqlError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize("kind", DEEP)
def test_a_text_of_any_depth_is_refused_with_half_the_stack_taken(kind: str) -> None:
    start, repeated = DEEP[kind]
    text = start + repeated * 5000
    error = beneath(350, text)
    assert (error.sqlcode, error.token) == (-999, "NESTING")
    assert 1 <= error.offset <= len(text)


@pytest.mark.exhaustive
def test_parentheses_around_one_expression_nest_without_limit() -> None:
    text = "SELECT " + "(" * 100_000 + "1" + ")" * 100_000 + " FROM t"
    assert statement_shape(text) == statement_shape("SELECT 1 FROM t")


def test_what_people_write_is_not_too_deep() -> None:
    parse("SELECT " + "(" * 40 + "1" + ")" * 40 + " FROM t")
    parse("SELECT 1 FROM t WHERE " + "(" * 40 + "a = 1" + ")" * 40)
    parse("SELECT 1 FROM t WHERE " + "a IN (SELECT a FROM t WHERE " * 12 + "a = 1" + ")" * 12)


@pytest.mark.parametrize("link", [" || a", " + 1", "::INT", " UNION SELECT a FROM t", " JOIN u ON 1 = 1"])
def test_a_chain_has_its_limit_too(link: str) -> None:
    start, end = ("SELECT a", " FROM t") if link[1] not in "UJ" else ("SELECT a FROM t", "")
    parse(start + link * (MAX_HEIGHT - 10) + end)
    with pytest.raises(SqlError) as caught:
        parse(start + link * (MAX_HEIGHT + 10) + end)
    assert (caught.value.sqlcode, caught.value.token) == (-999, "NESTING")


def test_a_list_may_be_as_long_as_it_likes() -> None:
    statement = parse(f"SELECT a FROM t WHERE a IN ({', '.join('?' * 20_000)})")
    assert len(nodes.parameters(statement)) == 20_000


# --- Laws --------------------------------------------------------------------


def parsed_or_refused(text: str, *, delimident: bool = False) -> nodes.Statement | None:
    """Law: any text gives a tree or a SqlError that points into it, nothing else."""
    try:
        return parse(text, delimident=delimident)
    except SqlError as error:
        assert error.sqlcode < 0
        assert 0 <= error.offset <= len(text) + 1
        return None


WORDS = sorted(
    set(
        "select from where group by having order skip first limit all distinct unique as union intersect minus except "
        "into temp with no log for update of read only outer left right full cross inner join on exists not in between "
        "like matches escape is null and or any some case when then else end cast extend trim leading substring units "
        "day year to second fraction month interval datetime current today sysdate user count sum over partition rows "
        "unbounded preceding row recursive insert values delete set merge using matched truncate table create drop "
        "alter rename index view synonym sequence database add modify constraint primary key foreign references check "
        "default int char decimal varchar serial lvarchar boolean date money in extent size lock mode fragment round "
        "robin expression remainder grant revoke public statistics begin work commit rollback savepoint release unlock "
        "share exclusive execute procedure function isolation dirty committed last transaction level environment "
        "explain role start increment cache cycle multiset list only lateral nulls asc desc a b t u".split()
    )
)
PIECES = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(
        [*"()(),=.?*+-[]{};:@", "||", "::", "<>", "1", "2.5", "1e3", "'x'", '"y"', "-- z\n", "0", "32"]
    ),
)


@given(st.text(), st.booleans())
def test_law_any_text_gives_a_tree_or_an_error(text: str, delimident: bool) -> None:
    parsed_or_refused(text, delimident=delimident)


@given(st.lists(PIECES, max_size=40), st.booleans())
def test_law_any_words_give_a_tree_or_an_error(pieces: list[str], delimident: bool) -> None:
    statement = parsed_or_refused(" ".join(pieces), delimident=delimident)
    if statement is not None:
        found = nodes.parameters(statement)
        assert [each.index for each in found] == list(range(len(found)))


@given(st.sampled_from(EXAMPLES), st.data())
def test_law_a_damaged_statement_gives_a_tree_or_an_error(text: str, data: Any) -> None:
    words = text.split(" ")
    place = data.draw(st.integers(0, len(words)))
    width = data.draw(st.integers(0, 2))
    pieces = data.draw(st.lists(PIECES, max_size=3))
    parsed_or_refused(" ".join([*words[:place], *pieces, *words[place + width :]]))


@given(st.sampled_from(EXAMPLES), st.integers(0, 120))
def test_law_a_cut_statement_gives_a_tree_or_an_error(text: str, size: int) -> None:
    parsed_or_refused(text[:size])


# --- Scripts -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "statements"),
    [
        ("", []),
        (" ;; -- nothing\n;{;}", []),
        ("a", ["a"]),
        ("a;b", ["a", "b"]),
        ("a 'x;y' \"z;\"; b -- c;\n d; /* e; */ f {g;}", ["a 'x;y' \"z;\"", "b -- c;\n d", "f"]),
        ("a;\n\n  b  ;\n", ["a", "b"]),
        ("CREATE PROCEDURE p() LET a = 1; RETURN; END PROCEDURE; b",
         ["CREATE PROCEDURE p() LET a = 1; RETURN; END PROCEDURE", "b"]),
        ("create dba function f() x; end function;b", ["create dba function f() x; end function", "b"]),
        ("create or replace procedure p() x; end procedure document 'a; b', \"c\" with listing in 'l.txt';\nb;",
         ["create or replace procedure p() x; end procedure document 'a; b', \"c\" with listing in 'l.txt'", "b"]),
        ("create function f(int) returning int external name 'a(b)' language c; b",
         ["create function f(int) returning int external name 'a(b)' language c", "b"]),
        ("create procedure p() define procedure int; let a = 'end procedure'; end procedure; b",
         ["create procedure p() define procedure int; let a = 'end procedure'; end procedure", "b"]),
        ("CREATE TABLE procedure (a INT); b", ["CREATE TABLE procedure (a INT)", "b"]),
        ("EXECUTE PROCEDURE p(); b", ["EXECUTE PROCEDURE p()", "b"]),
        ("\nDBSCHEMA Schema Utility       INFORMIX-SQL Version 14.10.FC7\n\n{ TABLE }\na;", ["a"]),
        ("DBSCHEMA Schema Utility  INFORMIX-SQL Version 7.31\nCopyright (C) 1998\n"
         "Software Serial Number AAA#E0\na; b", ["a", "b"]),
        ("a; DBSCHEMA Schema Utility", ["a", "DBSCHEMA Schema Utility"]),
        ("DBSCHEMA Schema Utility", []),
        ("DBDELIMITER='|'\na;\n  export DBDELIMITER=|\nb; setenv DBDELIMITER x;\nc",
         ["a", "b", "setenv DBDELIMITER x", "c"]),
        ("a\ndbdelimiter;", ["a\ndbdelimiter"]),
    ],
)  # fmt: skip
def test_a_script_is_cut_at_its_semicolons(script: str, statements: list[str]) -> None:
    assert [statement for statement, _ in split_script(script)] == statements
    for statement, start in split_script(script):
        assert script.startswith(statement, start)


def test_an_open_string_in_a_script_is_refused_with_its_place() -> None:
    statements = split_script("a; b 'c")
    assert next(statements) == ("a", 0)
    with pytest.raises(SqlError) as caught:
        next(statements)
    assert (caught.value.sqlcode, caught.value.offset) == (-282, 6)


@given(st.lists(st.sampled_from(EXAMPLES), max_size=6))
def test_law_statements_joined_by_semicolons_come_apart_again(statements: list[str]) -> None:
    assert [statement for statement, _ in split_script(";\n".join(statements))] == statements


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("int", "INTEGER"),
        (" VARCHAR( 20 ) ", "VARCHAR(20)"),
        ("Datetime Year To Second", "DATETIME YEAR TO SECOND"),
        ("SERIAL", "SERIAL"),
    ],
)
def test_a_type_stands_alone(text: str, type_: str) -> None:
    assert str(parse_type_text(text)) == type_


@pytest.mark.parametrize("text", ["", "INT INT", "INT NOT NULL", "INT)", "5", "NOTYPE"])
def test_what_is_not_just_a_type_is_refused(text: str) -> None:
    with pytest.raises(SqlError):
        parse_type_text(text)


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("select 1 from t", [("select 1 from t", 0)]),
        ("select 1 from t;", [("select 1 from t;", 0)]),
        ("delete from t; delete from u", [("delete from t", 0), ("delete from u", 15)]),
        (
            "insert into t values (';') ; delete from u;",
            [("insert into t values (';')", 0), ("delete from u", 29)],
        ),
        ("-- a; b\ndelete from t", [("delete from t", 8)]),
    ],
)
def test_a_text_for_prepare_is_split_at_its_semicolons(text: str, statements: list[tuple[str, int]]) -> None:
    assert split_statements(text) == statements
