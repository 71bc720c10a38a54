from __future__ import annotations

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.databases import LogMode
from tests.server.talking import ServerCore, codes, error_from, query, run, run_all


def test_without_a_database_nothing_is_found(core: ServerCore) -> None:
    engine = core.engine(database="")
    assert error_from(engine, "SELECT tabid FROM systables").sqlcode in (-206, -349)
    with pytest.raises(SqlError) as raised:
        run(engine, "BEGIN WORK")
    assert raised.value.sqlcode == -349


def test_databases_are_made_opened_closed_and_dropped_by_statement(engine: Engine, core: ServerCore) -> None:
    opened = run(engine, "CREATE DATABASE shop WITH LOG").opened
    assert opened is not None
    assert (opened.name, opened.log_mode) == ("shop", LogMode.LOGGED)
    run(engine, "CREATE TABLE t (a INTEGER)")
    assert error_from(engine, "DROP DATABASE shop").sqlcode == -359
    assert error_from(engine, "CREATE DATABASE shop").sqlcode == -330
    run(engine, "CLOSE DATABASE")
    assert engine.database is None
    other = core.engine("shop")
    assert error_from(engine, "DROP DATABASE shop").sqlcode == -425
    other.close()
    run(engine, "DROP DATABASE shop")
    assert error_from(engine, "DATABASE shop").sqlcode == -329
    run(engine, "DATABASE demo")
    assert engine.database is not None
    assert engine.database.name == "demo"


def test_a_database_without_a_log_reports_it(engine: Engine) -> None:
    opened = run(engine, "CREATE DATABASE plain").opened
    assert opened is not None
    assert opened.log_mode is LogMode.UNLOGGED
    assert error_from(engine, "BEGIN WORK").sqlcode == -256


def test_no_database_is_left_with_a_transaction_open(engine: Engine) -> None:
    run(engine, "BEGIN WORK")
    for text in ("DATABASE sysmaster", "CLOSE DATABASE", "CREATE DATABASE x"):
        assert error_from(engine, text).sqlcode == -377


def test_the_end_of_a_session_rolls_back(engine: Engine, core: ServerCore) -> None:
    run_all(engine, "CREATE TABLE t (a INTEGER)", "BEGIN WORK", "INSERT INTO t VALUES (1)")
    engine.close()
    other = core.engine()
    assert query(other, "SELECT a FROM t") == []
    run(other, "INSERT INTO t VALUES (2)")


def test_writers_of_two_databases_that_have_read_each_other_do_not_wait(core: ServerCore) -> None:
    first = core.engine()
    run(first, "CREATE TABLE t (a INTEGER)")
    run(first, "CREATE DATABASE shop WITH LOG")
    run(first, "CREATE TABLE t (a INTEGER)")
    one, two = core.engine(), core.engine("shop")
    assert query(one, "SELECT a FROM shop:t") == query(two, "SELECT a FROM demo:t") == []
    run(one, "BEGIN WORK")
    run(one, "CREATE TABLE more (a INTEGER)")  # its transaction has SQLite's write lock from here to its end
    run(two, "INSERT INTO t VALUES (2)")
    run(two, "BEGIN WORK")
    run(two, "CREATE TABLE more (a INTEGER)")
    run(one, "INSERT INTO t VALUES (1)")
    run(two, "COMMIT WORK")
    run(one, "COMMIT WORK")
    assert query(one, "SELECT a FROM shop:t") == [(2,)]
    assert query(two, "SELECT a FROM demo:t") == [(1,)]
    assert query(one, "SELECT count(*) FROM more") == query(two, "SELECT count(*) FROM more") == [(0,)]


def test_the_last_session_to_leave_a_database_does_not_lock_it(core: ServerCore) -> None:
    engine = core.engine()
    run(engine, "CREATE TABLE t (a INTEGER)")
    path = core.databases.find("demo").path
    engine.close()
    # SQLite's last connection would remove the file, and refuse others meanwhile.
    assert path.with_name(f"{path.name}-wal").exists()
    run(core.engine("sysmaster"), "DROP DATABASE demo")
    assert list(path.parent.glob("demo*")) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("EXECUTE FUNCTION sysadmin:task('check extents')", -999),
        ("EXECUTE FUNCTION sysadmin:informix.admin('create dbspace', 'd', 'p', '20 MB')", -674),
        ("SELECT sysadmin:task('check extents') FROM systables", -674),
        ("SELECT * FROM sysadmin:ph_task", -206),
    ],
)
def test_the_database_of_the_administration_has_push_data_only(engine: Engine, text: str, code: int) -> None:
    assert codes(error_from(engine, text))[0] == code
