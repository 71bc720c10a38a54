from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from aioifx.server.sql.model.plan import Change, Verb
from aioifx.server.sql.model.schema import (
    ColumnDef,
    Constraint,
    ConstraintKind,
    Index,
    IndexPart,
    Reference,
    Table,
)
from aioifx.server.sql.translate.sqlite_ddl import creation_steps
from aioifx.server.sqlite import error_mapping
from aioifx.sqltypes import SqlType, TypeCode
from tests.server.sql.trees import composed

INTEGER = SqlType(TypeCode.INTEGER, 4)


def index(name: str, *columns: str) -> Index:
    return Index(name, "anna", tuple(IndexPart(column) for column in columns), is_unique=True)


PARENT = Table(
    100,
    "parent",
    "anna",
    (ColumnDef("k", INTEGER, is_nullable=False), ColumnDef("a", INTEGER), ColumnDef("b", INTEGER)),
    constraints=(
        Constraint(1, "pk_parent", "anna", ConstraintKind.PRIMARY, ("k",), index=" 100_1"),
        Constraint(2, "positive", "anna", ConstraintKind.CHECK, ("a",), check_sql=("(", "a", " > 0)")),
    ),
    indexes=(index(" 100_1", "k"), index("ix_ab", "a", "b")),
)
CHILD = Table(
    101,
    "child",
    "anna",
    (ColumnDef("p", INTEGER),),
    constraints=(
        Constraint(
            3, "fk_child", "anna", ConstraintKind.REFERENCES, ("p",), parent=100, parent_columns=("k",)
        ),
    ),
)


class Schema:
    """Two tables, as far as the search for a broken reference looks."""

    def references_to(self, tabid: int) -> list[Reference]:
        return [Reference(CHILD, CHILD.constraints[0])] if tabid == 100 else []


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.create_collation("ifx_decimal", lambda a, b: (a > b) - (a < b))
    connection.create_function("ifx_undoing", 0, lambda: False)
    connection.execute("PRAGMA foreign_keys=ON")
    for table in (PARENT, CHILD):
        for step in creation_steps(table, lambda tabid: PARENT):
            connection.execute(step.sql, step.values)
    connection.execute("INSERT INTO t100 VALUES (1, 2, 3), (2, NULL, 3)")
    connection.execute("INSERT INTO t101 VALUES (1)")
    yield connection
    connection.close()


def failed(connection: sqlite3.Connection, sql: str) -> sqlite3.Error:
    with pytest.raises(sqlite3.Error) as raised:
        connection.execute(sql)
    return raised.value


@pytest.mark.parametrize(
    ("verb", "sql", "codes"),
    [
        (Verb.INSERT, "INSERT INTO t100 VALUES (1, 5, 5)", (-268, -100, "anna.pk_parent")),
        (Verb.UPDATE, "UPDATE t100 SET k = 1 WHERE k = 2", (-268, -100, "anna.pk_parent")),
        (Verb.INSERT, "INSERT INTO t100 VALUES (3, 2, 3)", (-239, -100, "ix_ab")),
        (Verb.UPDATE, "UPDATE t100 SET a = 2 WHERE k = 2", (-346, -100, "ix_ab")),
        (Verb.INSERT, "INSERT INTO t100 VALUES (3, NULL, 3)", (-239, -100, "ix_ab")),
        (Verb.INSERT, "INSERT INTO t100 VALUES (3, -1, 3)", (-530, 0, "anna.positive")),
    ],
)
def test_constraints_are_reported_by_their_names(
    connection: sqlite3.Connection, verb: Verb, sql: str, codes: tuple[int, int, str]
) -> None:
    error = error_mapping.sql_error_of(failed(connection, sql), Change(verb, composed(sql), PARENT))
    assert error is not None
    assert (error.sqlcode, error.isamcode, error.token) == codes


@pytest.mark.parametrize(
    ("table", "verb", "sql", "codes"),
    [
        (CHILD, Verb.INSERT, "INSERT INTO t101 VALUES (7)", (-691, -111, "anna.fk_child")),
        (CHILD, Verb.UPDATE, "UPDATE t101 SET p = 7", (-691, -111, "anna.fk_child")),
        (PARENT, Verb.DELETE, "DELETE FROM t100", (-692, 0, "anna.fk_child")),
        (PARENT, Verb.UPDATE, "UPDATE t100 SET k = 9 WHERE k = 1", (-692, 0, "anna.fk_child")),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_a_broken_reference_is_found_and_nothing_is_changed(
    connection: sqlite3.Connection,
    table: Table,
    verb: Verb,
    sql: str,
    codes: tuple[int, int, str],
    inside: bool,
) -> None:
    if inside:
        connection.execute("BEGIN")
    assert error_mapping.is_foreign_key(failed(connection, sql))
    error = error_mapping.broken_reference(
        connection,
        Change(verb, composed(sql), table),
        Schema(),  # type: ignore[arg-type]
        lambda: connection.execute(sql),
    )
    assert (error.sqlcode, error.isamcode, error.token) == codes
    assert connection.in_transaction is inside
    assert connection.execute("SELECT COUNT(*) FROM t100").fetchone() == (2,)
    assert connection.execute("SELECT p FROM t101").fetchall() == [(1,)]
    # References are enforced at once again.
    assert error_mapping.is_foreign_key(failed(connection, sql))


def test_an_interrupted_query_is_minus_213(connection: sqlite3.Connection) -> None:
    connection.set_progress_handler(lambda: 1, 1)
    failure = failed(connection, "SELECT COUNT(*) FROM t100, t100, t100")
    error = error_mapping.sql_error_of(failure, None)
    assert error is not None
    assert (error.sqlcode, error.isamcode) == (-213, -157)


def test_what_must_not_happen_has_no_meaning(connection: sqlite3.Connection) -> None:
    assert error_mapping.sql_error_of(failed(connection, "SELECT nothing FROM t100"), None) is None


@pytest.mark.parametrize(
    ("statement", "reported"),
    [
        (
            f"SELECT 1 FROM {', '.join(f'(SELECT 1) t{number}' for number in range(65))}",
            (-999, "more than 64 tables in a join"),
        ),
        (f"SELECT {', '.join('1' for _ in range(2001))}", (-999, "more than 2000 columns")),
        (f"SELECT coalesce({', '.join('1' for _ in range(1001))})", (-999, "too many arguments")),
        (" UNION ALL ".join("SELECT 1" for _ in range(501)), (-999, "too many parts or keys of a query")),
        (f"SELECT {' + '.join('a' for _ in range(2000))} FROM (SELECT 1 AS a)", (-999, "NESTING")),
        (f"SELECT {'(' * 10_000}1{')' * 10_000}", (-999, "NESTING")),
        ("SELECT zeroblob(1000000001)", (-881, "")),
    ],
)
def test_limits_of_sqlite_are_reported_as_not_supported(
    connection: sqlite3.Connection, statement: str, reported: tuple[int, str]
) -> None:
    with pytest.raises(sqlite3.Error) as raised:
        connection.execute(statement).fetchall()
    error = error_mapping.sql_error_of(raised.value, None)
    assert error is not None
    assert (error.sqlcode, error.token) == reported


@pytest.mark.parametrize(
    ("verb", "sqlcode"), [(Verb.INSERT, -271), (Verb.UPDATE, -346), (Verb.DELETE, -240), (None, -346)]
)
def test_a_full_disk_is_an_error_of_the_change(verb: Verb | None, sqlcode: int) -> None:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    change = None if verb is None else Change(verb, composed(""), PARENT)
    found = error_mapping.sql_error_of(error, change)
    assert found is not None
    assert (found.sqlcode, found.isamcode) == (sqlcode, -131)
