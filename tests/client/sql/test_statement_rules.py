"""What a statement's text and type show before it runs."""

from __future__ import annotations

import pytest

from aioifx.client.sql.statement_rules import (
    calls_routine,
    check_read_only_text,
    check_read_only_type,
    needs_transaction,
)
from aioifx.errors import ProgrammingError
from aioifx.wire.opcodes import StatementType


@pytest.mark.parametrize(
    ("sql", "belongs"),
    [
        ("insert into t values (1)", True),
        ("select a from t", True),
        ("(select a from t)", True),
        ("create table database_log (a int)", True),
        ("savepoint a", True),
        ("lock table t in share mode", True),
        ("BEGIN WORK", False),
        ("commit", False),
        ("ROLLBACK TO SAVEPOINT a", False),
        ("{ a } set isolation to dirty read", False),
        ("database shop", False),
        ("close database", False),
        ("CREATE /* a */ DATABASE shop", False),
        ("drop database shop", False),
        ("rename database a to b", False),
        ("rename table a to b", True),
    ],
)
def test_statements_that_end_or_begin_a_transaction_or_need_none_do_not_begin_one(
    sql: str, belongs: bool
) -> None:
    assert needs_transaction(sql) is belongs


READING = [
    ("select a from t", StatementType.SELECT),
    ("with x as (select 1 from t) select * from x", StatementType.SELECT),
    ("(select a from t)", StatementType.SELECT),
    ("BEGIN", StatementType.BEGIN_WORK),
    ("commit work", StatementType.COMMIT_WORK),
    ("rollback", StatementType.ROLLBACK_WORK),
    ("rollback to savepoint a", 90),
    ("savepoint a", 91),
    ("release savepoint a", 92),
    ("database shop", StatementType.DATABASE),
    ("close database", StatementType.CLOSE_DATABASE),
    ("set isolation to dirty read", 15),
    ("SET LOCK MODE TO WAIT", 16),
    ("set explain on", 17),
]
CHANGING = [
    ("insert into t values (1)", StatementType.INSERT),
    ("update t set a = 1", StatementType.UPDATE_ALL),
    ("create temp table t (a int)", 10),
    ("set constraints all disabled", 18),
    ("set transaction read write", 19),
    ("set", 20),
    ("execute procedure p()", StatementType.EXECUTE_ROUTINE),
    ("create database d", StatementType.CREATE_DATABASE),
    ("grant select on t to public", 30),
]


@pytest.mark.parametrize(("sql", "kind"), READING)
def test_queries_and_what_changes_the_session_alone_pass(sql: str, kind: int) -> None:
    check_read_only_text(sql)
    check_read_only_type(kind, sql)


@pytest.mark.parametrize(("sql", "kind"), CHANGING)
def test_everything_else_is_refused_by_text_and_by_type(sql: str, kind: int) -> None:
    for check in (lambda: check_read_only_text(sql), lambda: check_read_only_type(kind, sql)):
        with pytest.raises(ProgrammingError, match="the connection is read-only") as caught:
            check()
        assert (caught.value.sqlcode, caught.value.sql) == (-878, sql)


def test_a_statement_of_another_type_is_rejected_even_if_its_text_looks_like_a_query() -> None:
    check_read_only_text("select a from t into temp x")
    with pytest.raises(ProgrammingError):
        check_read_only_type(StatementType.SELECT_INTO_TEMP, "select a from t into temp x")


def test_a_text_without_a_verb_is_left_to_the_server() -> None:
    check_read_only_text("?")
    with pytest.raises(ProgrammingError):
        check_read_only_type(StatementType.INSERT, "?")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, COUNT(*) FROM t WHERE b IN (1, 2) AND EXISTS (SELECT 1 FROM u) GROUP BY (a)",
        "SELECT NVL(UPPER(TRIM(a)), 'f(x)') {f(1)} FROM t -- f(2)\nWHERE a = /* f(3) */ ('x')",
        "SELECT a::DECIMAL(8, 2), EXTEND(d, YEAR TO DAY) FROM t, (SELECT 1 FROM u)",
        "SELECT FIRST 3 a FROM TABLE(SET{1, 2})",
        "SELECT 1 FROM t WHERE a > (b)",
    ],
)
def test_a_query_that_calls_no_routine_is_known(sql: str) -> None:
    assert not calls_routine(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT f(a) FROM t",
        "SELECT a FROM t WHERE f (a) = 1",
        "SELECT f--\n(a) FROM t",
        "SELECT owner.upper(a) FROM t",
        'SELECT "f"(a) FROM t',
        "SELECT * FROM TABLE(FUNCTION f(1))",
        "SELECT s.NEXTVAL FROM t",
        "SELECT s.CURRVAL FROM t",
        "SELECT b FROM t WHERE id = DBINFO('sqlca.sqlerrd1')",
    ],
)
def test_what_may_call_a_routine_is_known_too(sql: str) -> None:
    assert calls_routine(sql)
