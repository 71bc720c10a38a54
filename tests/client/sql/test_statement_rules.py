"""What a statement's text and type show before it runs."""

from __future__ import annotations

import pytest

from aioifx.client.sql.statement_rules import check_read_only_text, check_read_only_type, needs_transaction
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
