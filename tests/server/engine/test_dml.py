from __future__ import annotations

from pathlib import Path

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from tests.server.talking import codes, error_from, query, run, run_all, server_core


def test_affected_rows_are_counted(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a INTEGER)")
    for n in range(4):
        run(engine, "INSERT INTO t VALUES (?)", n)
    assert run(engine, "UPDATE t SET a = a + 10 WHERE a < 2").rows == 2
    assert run(engine, "DELETE FROM t WHERE a = 99").rows == 0
    assert run(engine, "INSERT INTO t SELECT a FROM t").rows == 4
    assert engine.settings.affected == 4
    assert run(engine, "DELETE FROM t").rows == 8


def test_an_update_that_fails_at_its_second_row_leaves_the_first_alone(engine: Engine) -> None:
    run_all(engine, "CREATE TABLE t (a SMALLINT)", "BEGIN WORK")
    for n in (1, 2, 32767):
        run(engine, "INSERT INTO t VALUES (?)", n)
    assert error_from(engine, "UPDATE t SET a = a + 1").sqlcode in (-1214, -1215)
    run(engine, "COMMIT WORK")
    assert query(engine, "SELECT a FROM t") == [(1,), (2,), (32767,)]


@pytest.mark.parametrize("inside", [False, True])
def test_keys_are_checked_when_an_update_is_done(engine: Engine, inside: bool) -> None:
    run(engine, "CREATE TABLE t (k INTEGER PRIMARY KEY CONSTRAINT pk_t, u INTEGER UNIQUE CONSTRAINT u_t)")
    for n in (1, 2, 3):
        run(engine, "INSERT INTO t VALUES (?, ?)", n, n)
    if inside:
        run(engine, "BEGIN WORK")
    assert run(engine, "UPDATE t SET k = k + 1, u = 4 - u").rows == 3
    assert codes(error_from(engine, "UPDATE t SET k = 2")) == (-268, -100, "anna.pk_t")
    assert codes(error_from(engine, "UPDATE t SET k = k + 1, u = 1")) == (-268, -100, "anna.u_t")
    assert query(engine, "SELECT k, u FROM t ORDER BY k") == [(2, 3), (3, 2), (4, 1)]
    assert codes(error_from(engine, "INSERT INTO t VALUES (2, 9)")) == (-268, -100, "anna.pk_t")
    if inside:
        run(engine, "ROLLBACK WORK")
        assert query(engine, "SELECT k, u FROM t ORDER BY k") == [(1, 1), (2, 2), (3, 3)]


def test_serial_numbers_go_on_and_never_back(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (k SERIAL(5), s BIGSERIAL, v VARCHAR(9))")
    outcome = run(engine, "INSERT INTO t (v) VALUES ('a')")
    assert (outcome.serial, outcome.bigserial, outcome.serial8) == (5, 1, 0)
    assert run(engine, "INSERT INTO t (k, v) VALUES (10, 'b')").serial == 10
    assert run(engine, "INSERT INTO t (k, v) VALUES (3, 'c')").serial == 3
    run(engine, "BEGIN WORK")
    assert run(engine, "INSERT INTO t VALUES (0, 0, 'd')").serial == 11
    run(engine, "ROLLBACK WORK")
    assert run(engine, "INSERT INTO t VALUES (0, 0, 'e')").serial == 12
    run(engine, "DELETE FROM t")
    assert run(engine, "INSERT INTO t VALUES (0, 0, 'f')").serial == 13
    assert engine.settings.last_serial == 13
    assert query(engine, "SELECT DBINFO('sqlca.sqlerrd1') FROM systables WHERE tabid = 1") == [(13,)]
    assert error_from(engine, "INSERT INTO t VALUES (NULL, 0, 'g')").sqlcode == -391


def test_a_table_without_serial_columns_gives_no_number(engine: Engine) -> None:
    run_all(engine, "CREATE TABLE a (k SERIAL)", "CREATE TABLE b (k INTEGER)")
    assert run(engine, "INSERT INTO a VALUES (0)").serial == 1
    assert run(engine, "INSERT INTO b VALUES (7)").serial == 0
    assert engine.settings.last_serial == 1


def test_an_insert_of_several_rows_gives_the_last_number(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (k SERIAL, v INTEGER)")
    assert run(engine, "INSERT INTO t (v) SELECT tabid FROM systables WHERE tabid < 4").serial == 3
    assert query(engine, "SELECT k FROM t ORDER BY k") == [(1,), (2,), (3,)]


def test_a_new_table_counts_from_its_own_start(engine: Engine) -> None:
    run_all(engine, "BEGIN WORK", "CREATE TABLE a (k SERIAL)")
    for _ in range(3):
        run(engine, "INSERT INTO a VALUES (0)")
    run_all(engine, "ROLLBACK WORK", "CREATE TABLE b (k SERIAL)")
    assert run(engine, "INSERT INTO b VALUES (0)").serial == 1
    run(engine, "CREATE TEMP TABLE c (k SERIAL)")
    assert run(engine, "INSERT INTO c VALUES (0)").serial == 1


def test_counters_survive_the_server(tmp_path: Path) -> None:
    with server_core(directory=tmp_path) as core:
        engine = core.engine()
        run(engine, "CREATE TABLE t (k SERIAL, v INTEGER)")
        for _ in range(4):
            run(engine, "INSERT INTO t VALUES (0, 1)")
        run(engine, "DELETE FROM t WHERE k > 1")
    with server_core(directory=tmp_path) as core:
        assert run(core.engine(), "INSERT INTO t VALUES (0, 1)").serial == 5


def test_two_sessions_share_a_counter(one: Engine, two: Engine) -> None:
    run(one, "CREATE TABLE t (k SERIAL)")
    numbers = [run(each, "INSERT INTO t VALUES (0)").serial for each in (one, two, one, two)]
    assert numbers == [1, 2, 3, 4]


# -- a full disk -------------------------------------------------------------------------------------------------------


@pytest.fixture
def full(engine: Engine) -> Engine:
    """A session whose file cannot grow."""
    run_all(engine, "CREATE TABLE t (a INTEGER, b LVARCHAR(9000))")
    for number in range(40):
        run(engine, "INSERT INTO t VALUES (?, ?)", number, "x" * 3000)
    connection = engine._state.current.connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count={pages}")
    return engine


def test_an_error_of_a_full_disk_says_what_could_not_be_written(full: Engine) -> None:
    assert codes(error_from(full, "INSERT INTO t SELECT a, b FROM t")) == (-271, -131, "")
    with pytest.raises(SqlError) as raised:
        full.insert_rows(full.prepare("INSERT INTO t VALUES (?, ?)"), [(1, "x" * 3000)] * 40)
    assert codes(raised.value) == (-271, -131, "")
    assert codes(error_from(full, "UPDATE t SET b = b || b")) == (-346, -131, "")
    assert query(full, "SELECT COUNT(*) FROM t") == [(40,)]


def test_rows_are_deleted_where_that_needs_no_space(full: Engine) -> None:
    assert run(full, "DELETE FROM t WHERE a < 30").rows == 30
    assert run(full, "INSERT INTO t SELECT a, b FROM t").rows == 10
