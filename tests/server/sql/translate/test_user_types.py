from __future__ import annotations

from collections.abc import Iterator

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.wire.opcodes import StatementType
from tests.server.talking import error_from, query, run, run_all, server_core


@pytest.fixture
def engine() -> Iterator[Engine]:
    with server_core() as core:
        made = core.engine()
        run(made, "CREATE ROW TYPE person_t (name VARCHAR(20) NOT NULL, age INT)")
        run_all(made, "CREATE DISTINCT TYPE dollar AS INTEGER", "CREATE DISTINCT TYPE title AS VARCHAR(30)")
        run(made, "CREATE DISTINCT TYPE num_type AS NUMERIC")
        yield made


def test_types_of_columns_are_described_by_name(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (p person_t, d dollar NOT NULL, r ROW(q person_t), l LIST(title NOT NULL))")
    columns = engine.prepare("SELECT * FROM t").plan.columns
    assert [
        (c.type.code | c.type.flags, c.type.extended_id, c.type.owner, c.type.extended_name) for c in columns
    ] == [
        (0x1016, 2048, "anna", "person_t"),
        (0x0802, 2049, "anna", "dollar"),
        (22, 2052, "", "ROW(q person_t)"),
        (21, 2053, "", "LIST(title not null)"),
    ]


def test_a_type_of_columns_is_registered_once(engine: Engine) -> None:
    run(engine, "CREATE TABLE a (s SET(INT NOT NULL))")
    run(engine, "CREATE TABLE b (s SET(INT NOT NULL), x SET(DATE NOT NULL), y SET(DATE NOT NULL))")
    run(engine, "ALTER TABLE a ADD (l LIST(INT NOT NULL))")
    run(engine, "CREATE TEMP TABLE c (m MULTISET(INT NOT NULL))")
    found = query(
        engine, "SELECT extended_id, mode, type FROM sysxtdtypes WHERE extended_id > 2051 ORDER BY 1"
    )
    assert found == [(2052, "C", 19), (2053, "C", 19), (2054, "C", 21)]
    numbers = query(
        engine,
        "SELECT c.extended_id FROM syscolumns c, systables t WHERE c.tabid = t.tabid AND t.tabid > 99"
        " ORDER BY t.tabname, c.colno",
    )
    assert numbers == [(2052,), (2054,), (2052,), (2053,), (2053,)]


def test_the_catalog_has_types_their_fields_and_their_casts(engine: Engine) -> None:
    run(engine, "CREATE ROW TYPE employee_t (salary DECIMAL(8,2)) UNDER person_t")
    assert query(
        engine,
        "SELECT extended_id, mode, owner, name, type, source FROM sysxtdtypes WHERE name = 'employee_t'",
    ) == [(2052, "R", "anna".ljust(32), "employee_t", 0x1016, 0)]
    assert query(
        engine,
        "SELECT seqno, levelno, parent_no, fieldname, fieldno, type, length, xtd_type_id FROM sysattrtypes"
        " WHERE extended_id = 2052 ORDER BY seqno",
    ) == [
        (1, 0, 0, None, 0, 0x1016, 0, 0),
        (2, 1, 1, "name", 1, 13 + 0x100, 20, 0),
        (3, 1, 1, "age", 2, 2, 4, 0),
        (4, 1, 1, "salary", 3, 5, 8 * 256 + 2, 0),
    ]
    assert query(engine, "SELECT child, parent FROM sysinherits") == [(2052, 2048)]
    assert query(
        engine, "SELECT argument_type, argument_xid, result_type, result_xid, class FROM syscasts"
        " WHERE 2049 IN (argument_xid, result_xid) ORDER BY argument_xid"
    ) == [(2, 0, 0x0802, 2049, "E"), (0x0802, 2049, 2, 0, "E")]  # fmt: skip
    run(engine, "DROP ROW TYPE employee_t RESTRICT")
    for table, column in (
        ("sysxtdtypes", "extended_id"),
        ("sysattrtypes", "extended_id"),
        ("sysinherits", "child"),
    ):
        assert query(engine, f"SELECT 1 FROM {table} WHERE {column} = 2052") == []


def test_the_members_of_unnamed_types_are_listed_with_their_levels(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (l LIST(ROW(p person_t, s SET(INT NOT NULL), d DATE) NOT NULL))")
    assert query(
        engine,
        "SELECT seqno, levelno, parent_no, fieldname, type, xtd_type_id FROM sysattrtypes"
        " WHERE extended_id = 2052 ORDER BY seqno",
    ) == [
        (1, 0, 0, None, 21, 0),
        (2, 1, 1, None, 22 + 0x100, 0),
        (3, 2, 2, "p", 0x1016, 2048),
        (4, 2, 2, "s", 19, 0),
        (5, 3, 4, None, 2 + 0x100, 0),
        (6, 2, 2, "d", 7, 0),
    ]


def test_a_subtype_begins_with_the_fields_of_its_supertype(engine: Engine) -> None:
    run(engine, "CREATE ROW TYPE student_t (school VARCHAR(9)) UNDER person_t")
    run_all(engine, "CREATE TABLE t (s student_t)", "INSERT INTO t VALUES (ROW('Eve', 20, 'MIT'))")
    assert query(engine, "SELECT s.name, s.school FROM t") == [("Eve", "MIT")]
    assert error_from(engine, "CREATE ROW TYPE x_t (name INT) UNDER person_t").sqlcode == -328


def test_a_field_that_is_not_null(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (p person_t)")
    assert error_from(engine, "INSERT INTO t VALUES (ROW(NULL, 1))").sqlcode == -391


def test_distinct_types_need_casts(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (d dollar, i INT, v title, n num_type)")
    run(engine, "INSERT INTO t VALUES (35::dollar, 35, 'Brazil'::title, 3.5::NUMERIC::num_type)")
    run(engine, "INSERT INTO t VALUES (?, 7, ?, NULL)", 36, "Alien")
    assert query(engine, "SELECT d, v FROM t WHERE d > 35::dollar") == [(36, "Alien")]
    assert query(engine, "SELECT i FROM t WHERE d::INT = i") == [(35,)]
    assert query(engine, "SELECT i FROM t WHERE i::dollar = d") == [(35,)]
    assert query(engine, "SELECT d + 1::dollar FROM t WHERE d = ?", 35) == [(36,)]
    assert query(engine, "SELECT LENGTH(v), UPPER(v) FROM t ORDER BY v") == [(5, "ALIEN"), (6, "BRAZIL")]
    assert query(engine, "SELECT d FROM t ORDER BY d DESC") == [(36,), (35,)]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("INSERT INTO t (d) VALUES (35)", (-9634, "")),
        ("INSERT INTO t (i) SELECT d FROM t", (-9634, "")),
        ("UPDATE t SET d = i", (-9634, "")),
        ("SELECT 70::num_type FROM t", (-9634, "")),
        ("SELECT 'x'::dollar FROM t", (-9634, "")),
        ("SELECT d::title FROM t", (-9634, "")),
        ("SELECT 1 FROM t WHERE d = i", (-674, "equal")),
        ("SELECT 1 FROM t WHERE d > 1", (-674, "greaterthan")),
        ("SELECT d + 1 FROM t", (-674, "plus")),
        ("SELECT CASE WHEN i = 1 THEN d ELSE i END FROM t", (-800, "")),
        ("SELECT d FROM t UNION ALL SELECT i FROM t", (-308, "")),
    ],
)
def test_distinct_types_do_not_mix(engine: Engine, text: str, error: tuple[int, str]) -> None:
    run(engine, "CREATE TABLE t (d dollar, i INT, v title)")
    raised = error_from(engine, text)
    assert (raised.sqlcode, raised.token) == error


@pytest.mark.parametrize("large", ["BLOB", "CLOB", "BYTE", "TEXT"])
def test_types_of_large_objects_are_refused_where_they_are_defined(engine: Engine, large: str) -> None:
    error = error_from(engine, f"CREATE DISTINCT TYPE x AS {large}")
    assert (error.sqlcode, error.token) == (-999, f"CREATE DISTINCT TYPE AS {large}")
    error = error_from(engine, f"CREATE ROW TYPE x (a INT, b ROW(c {large}))")
    assert error.sqlcode == -999 and error.token.startswith("ROW(C ")
    assert error_from(engine, "CREATE TABLE t (a x)").sqlcode == -9628


def test_names_of_types(engine: Engine) -> None:
    assert error_from(engine, "CREATE ROW TYPE person_t (a INT)").sqlcode == -9631
    assert error_from(engine, "CREATE DISTINCT TYPE person_t AS INT").sqlcode == -9631
    run(engine, "CREATE ROW TYPE IF NOT EXISTS person_t (a INT)")
    run(engine, "CREATE DISTINCT TYPE IF NOT EXISTS dollar AS INT")
    assert error_from(engine, "CREATE TABLE t (a nowhere_t)").token == "nowhere_t"
    assert error_from(engine, "CREATE DISTINCT TYPE x AS SERIAL").sqlcode == -201
    assert error_from(engine, "CREATE DISTINCT TYPE x AS SET(INT NOT NULL)").sqlcode == -201
    assert error_from(engine, "CREATE ROW TYPE x UNDER dollar").sqlcode == -9628
    assert error_from(engine, "DROP TYPE person_t RESTRICT").sqlcode == -9628
    assert error_from(engine, "DROP ROW TYPE nowhere_t RESTRICT").sqlcode == -9628
    run_all(engine, "DROP TYPE IF EXISTS nowhere_t RESTRICT", "DROP TYPE dollar RESTRICT")
    assert error_from(engine, "CREATE TABLE t (a dollar)").sqlcode == -9628


@pytest.mark.parametrize(
    "user",
    [
        "CREATE TABLE t (p person_t)",
        "CREATE TABLE t (p LIST(ROW(a person_t) NOT NULL))",
        "CREATE TEMP TABLE t (p person_t)",
        "CREATE TABLE t OF TYPE person_t",
        "CREATE ROW TYPE x_t (a INT) UNDER person_t",
        "CREATE ROW TYPE x_t (a person_t)",
    ],
)
def test_a_type_in_use_is_not_dropped(engine: Engine, user: str) -> None:
    run(engine, user)
    raised = error_from(engine, "DROP ROW TYPE person_t RESTRICT")
    assert (raised.sqlcode, raised.token) == (-9630, "person_t")


def test_a_typed_table_has_the_fields_of_its_type_as_columns(engine: Engine) -> None:
    run(engine, "CREATE TABLE t OF TYPE person_t (PRIMARY KEY (name)) LOCK MODE ROW")
    run(engine, "INSERT INTO t VALUES ('Eve', NULL)")
    assert query(engine, "SELECT t.name, age FROM t") == [("Eve", None)]
    assert error_from(engine, "INSERT INTO t VALUES (NULL, 1)").sqlcode == -391
    assert error_from(engine, "INSERT INTO t VALUES ('Eve', 1)").sqlcode == -268
    assert query(engine, "SELECT type_xid FROM systables WHERE tabname = 't'") == [(2048,)]
    assert error_from(engine, "CREATE TABLE u OF TYPE dollar").sqlcode == -9628
    assert error_from(engine, "CREATE TABLE u OF TYPE nowhere_t").sqlcode == -9628
    assert error_from(engine, "CREATE TABLE u OF TYPE person_t (a INT)").sqlcode == -201


def test_a_check_of_a_field(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (k INT, p person_t, CHECK (p.age > 0 AND t.p.name <> 'x') CONSTRAINT old)")
    run(engine, "INSERT INTO t VALUES (1, ROW('Eve', 20))")
    assert error_from(engine, "INSERT INTO t VALUES (1, ROW('Eve', 0))").token == "anna.old"
    assert query(engine, "SELECT colno FROM syscoldepend") == [(2,)]


def test_a_rollback_undoes_a_type(engine: Engine) -> None:
    run(engine, "BEGIN WORK")
    statement = engine.prepare("CREATE DISTINCT TYPE euro AS INT")
    assert statement.plan.type is StatementType.CREATE_DISTINCT_TYPE
    engine.execute(statement, ())
    run_all(engine, "CREATE TABLE t (e euro)", "ROLLBACK WORK")
    assert error_from(engine, "CREATE TABLE t (e euro)").sqlcode == -9628


def test_the_id_of_a_dropped_type_is_not_given_again(engine: Engine) -> None:
    find = "SELECT extended_id FROM sysxtdtypes WHERE name = 'first_t'"
    for expected in (2052, 2053):
        run(engine, "CREATE ROW TYPE first_t (a INTEGER)")
        assert query(engine, find) == [(expected,)]
        run(engine, "DROP ROW TYPE first_t RESTRICT")
