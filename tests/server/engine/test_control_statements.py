from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.engine.session_state import TransactionEvent
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan as plans
from aioifx.server.sql.model.plan import Isolation
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sqlite.databases import LogMode
from aioifx.server.sqlite.transaction_state import SessionDefaults
from tests.server.sql.trees import composed
from tests.server.talking import ServerCore, codes, error_from, query, run, run_all, server_core


def test_transaction_control_tells_its_events(engine: Engine) -> None:
    assert run(engine, "BEGIN WORK").event is TransactionEvent.BEGUN
    assert engine.is_in_transaction
    assert run(engine, "COMMIT WORK").event is TransactionEvent.COMMITTED
    assert not engine.is_in_transaction
    run(engine, "BEGIN WORK")
    assert run(engine, "ROLLBACK WORK").event is TransactionEvent.ROLLED_BACK


def test_a_commit_that_another_program_blocks_can_be_repeated(core: ServerCore) -> None:
    engine = core.engine()
    run(engine, "CREATE TABLE t (a INTEGER)")
    run(engine, "BEGIN WORK")
    run(engine, "INSERT INTO t VALUES (1)")
    with closing(sqlite3.connect(core.databases.find("demo").path, isolation_level=None)) as program:
        program.execute("BEGIN IMMEDIATE")
        error = error_from(engine, "COMMIT WORK")
    assert (error.sqlcode, error.isamcode) == (-346, -107)
    assert run(engine, "COMMIT WORK").event is TransactionEvent.COMMITTED
    assert query(core.engine(), "SELECT a FROM t") == [(1,)]


@pytest.mark.parametrize(
    ("text", "sqlcode"),
    [
        ("INSERT INTO t VALUES (1, 2)", -271),
        ("INSERT INTO t VALUES (3, 2)", -271),
        ("INSERT INTO t VALUES (9, 2)", -271),
        ("UPDATE t SET b = 3 WHERE a = 9", -243),
        ("UPDATE t SET a = 1 WHERE a = 2", -346),
        ("DELETE FROM t", -244),
    ],
)
def test_a_second_writer_meets_the_lock_of_a_row(one: Engine, two: Engine, text: str, sqlcode: int) -> None:
    run(one, "CREATE TABLE t (a INTEGER PRIMARY KEY, b INTEGER)")
    for key in (1, 2, 3):
        run(one, "INSERT INTO t VALUES (?, 1)", key)
    run_all(one, "BEGIN WORK", "UPDATE t SET a = 9 WHERE a = 1", "DELETE FROM t WHERE a = 3")
    assert codes(error_from(two, text)) == (sqlcode, -107, "t")
    run(two, "SET LOCK MODE TO WAIT 0")
    assert codes(error_from(two, text)) == (sqlcode, -107, "t")
    run_all(two, "UPDATE t SET b = 7 WHERE a = 2", "INSERT INTO t VALUES (4, 4)")
    run(one, "ROLLBACK WORK")
    assert query(two, "SELECT a, b FROM t ORDER BY a") == [(1, 1), (2, 7), (3, 1), (4, 4)]


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE child ADD CONSTRAINT FOREIGN KEY (a) REFERENCES t",
        "CREATE TABLE c (a INTEGER REFERENCES t)",
    ],
)
def test_a_new_foreign_key_needs_a_parent_without_a_writer(one: Engine, two: Engine, text: str) -> None:
    run_all(one, "CREATE TABLE t (a INTEGER PRIMARY KEY)", "CREATE TABLE child (a INTEGER)")
    run_all(one, "INSERT INTO child VALUES (1)", "BEGIN WORK", "INSERT INTO t VALUES (1)")
    assert codes(error_from(two, text))[:2] == (-211, -113)
    run(one, "COMMIT WORK")
    run(two, text)
    run_all(one, "BEGIN WORK", "INSERT INTO t VALUES (2)")
    run(two, "ALTER TABLE child ADD (b INTEGER)")  # its other constraints are as before


def test_the_keys_of_a_functional_index_are_locked(one: Engine, two: Engine) -> None:
    run(
        one,
        "CREATE FUNCTION folded(t VARCHAR(10)) RETURNING VARCHAR(10) WITH (NOT VARIANT); RETURN UPPER(t);"
        " END FUNCTION",
    )
    run_all(one, "CREATE TABLE t (a VARCHAR(10), b INTEGER)", "CREATE UNIQUE INDEX i ON t (folded(a), b)")
    run_all(one, "INSERT INTO t VALUES ('gone', 1)", "BEGIN WORK", "DELETE FROM t")
    run(one, "INSERT INTO t VALUES ('new', 1)")
    for value in ("Gone", "New"):
        assert codes(error_from(two, "INSERT INTO t VALUES (?, 1)", value))[:2] == (-271, -107)
    run(two, "INSERT INTO t VALUES ('Gone', 2)")
    run(one, "ROLLBACK WORK")
    assert query(two, "SELECT a, b FROM t ORDER BY b") == [("gone", 1), ("Gone", 2)]
    run(two, "INSERT INTO t VALUES ('New', 1)")


@pytest.mark.parametrize("text", ["DROP TABLE t", "CREATE INDEX i ON t (a)", "ALTER TABLE t ADD (c INTEGER)"])
def test_the_table_of_a_writer_is_not_altered(one: Engine, two: Engine, text: str) -> None:
    run_all(one, "CREATE TABLE t (a INTEGER)", "BEGIN WORK", "INSERT INTO t VALUES (1)")
    assert codes(error_from(two, text)) == (-211, -113, "t")
    run(two, "CREATE TABLE u (a INTEGER)")
    run(one, "COMMIT WORK")
    run(two, text)


def test_lock_table_is_met_by_all_who_need_the_table(one: Engine, two: Engine) -> None:
    run_all(one, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
    for each in (one, two):
        run(each, "BEGIN WORK")
    run(one, "LOCK TABLE t IN SHARE MODE")
    run(two, "LOCK TABLE t IN SHARE MODE")
    assert codes(error_from(one, "LOCK TABLE t IN EXCLUSIVE MODE")) == (-289, -113, "t")
    assert codes(error_from(one, "INSERT INTO t VALUES (2)")) == (-271, -113, "t")
    assert codes(error_from(one, "UPDATE t SET a = 2")) == (-244, -113, "t")
    run(two, "COMMIT WORK")
    run(one, "LOCK TABLE t IN EXCLUSIVE MODE")
    assert codes(error_from(two, "DELETE FROM t")) == (-244, -113, "t")
    run(one, "ROLLBACK WORK")
    run_all(two, "BEGIN WORK", "LOCK TABLE t IN EXCLUSIVE MODE")
    assert error_from(two, "UNLOCK TABLE t").sqlcode == -327
    run(two, "COMMIT WORK")
    assert error_from(two, "LOCK TABLE t IN EXCLUSIVE MODE").sqlcode == -524


def test_without_transactions_a_table_is_locked_until_it_is_unlocked() -> None:
    with server_core(LogMode.UNLOGGED) as core:
        one, two = core.engine(), core.engine()
        run_all(one, "CREATE TABLE t (a INTEGER)", "LOCK TABLE t IN SHARE MODE", "INSERT INTO t VALUES (1)")
        run(two, "LOCK TABLE t IN SHARE MODE")
        assert codes(error_from(one, "INSERT INTO t VALUES (2)")) == (-271, -113, "t")
        run(two, "UNLOCK TABLE t")
        run(one, "UNLOCK TABLE t")
        run_all(two, "LOCK TABLE t IN EXCLUSIVE MODE", "INSERT INTO t VALUES (3)")
        assert codes(error_from(one, "DELETE FROM t")) == (-244, -113, "t")
        assert codes(error_from(one, "LOCK TABLE t IN SHARE MODE")) == (-289, -113, "t")
        two.close()
        run(one, "DELETE FROM t")
        assert core.databases.locks.is_idle


def test_locks_of_temporary_tables_conflict_with_no_other_session(core: ServerCore) -> None:
    for each in (core.engine(), core.engine()):
        run_all(each, "CREATE TEMP TABLE t (a INTEGER)", "BEGIN WORK", "LOCK TABLE t IN EXCLUSIVE MODE")
    assert core.databases.locks.locks() == []


def test_an_exclusive_transaction_bounds_the_waits_of_others(
    one: Engine, two: Engine, core: ServerCore
) -> None:
    core.databases.find("demo").busy_timeout = 0.01
    run(one, "CREATE TABLE t (a INTEGER)")
    run_all(two, "BEGIN WORK", "INSERT INTO t VALUES (1)", "SAVEPOINT s", "INSERT INTO t VALUES (2)")
    run_all(one, "BEGIN WORK", "CREATE TABLE u (a INTEGER)")
    busy = "another session writes longer than busy_timeout"
    assert codes(error_from(two, "INSERT INTO t VALUES (3)")) == (-271, -154, f"t: {busy}")
    for text in ("ROLLBACK WORK TO SAVEPOINT s", "ROLLBACK WORK"):
        assert codes(error_from(two, text)) == (-244, -154, busy)
    run(one, "COMMIT WORK")
    run_all(two, "ROLLBACK WORK TO SAVEPOINT s", "COMMIT WORK")
    assert query(one, "SELECT a FROM t") == [(1,)]


def test_truncate_locks_the_table(one: Engine, two: Engine) -> None:
    run_all(one, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)", "BEGIN WORK", "TRUNCATE TABLE t")
    assert codes(error_from(two, "INSERT INTO t VALUES (2)")) == (-271, -113, "t")
    run_all(one, "INSERT INTO t VALUES (3)", "ROLLBACK WORK")
    assert query(two, "SELECT a FROM t") == [(1,)]


def test_uncommitted_parents_and_children_meet_locks(one: Engine, two: Engine) -> None:
    run_all(one, "CREATE TABLE p (k INTEGER PRIMARY KEY)", "CREATE TABLE c (p INTEGER REFERENCES p (k))")
    for key in (1, 2, 3):
        run(one, "INSERT INTO p VALUES (?)", key)
    run_all(one, "INSERT INTO c VALUES (3)", "BEGIN WORK", "INSERT INTO c VALUES (1)")
    run_all(one, "INSERT INTO p VALUES (7)", "DELETE FROM c WHERE p = 3", "DELETE FROM p WHERE k = 2")
    for key in (1, 3):
        assert codes(error_from(two, "DELETE FROM p WHERE k = ?", key)) == (-240, -107, "p")
    for key in (2, 7):
        assert codes(error_from(two, "INSERT INTO c VALUES (?)", key)) == (-271, -107, "c")
    run(two, "INSERT INTO c VALUES (1)")
    run(one, "ROLLBACK WORK")
    run(two, "DELETE FROM p WHERE k = 2")
    assert codes(error_from(two, "INSERT INTO c VALUES (7)"))[0] == -691
    assert codes(error_from(two, "DELETE FROM p WHERE k = 3"))[0] == -692


def test_wait_waits_until_the_other_is_done(core: ServerCore) -> None:
    one = core.engine()
    run_all(one, "CREATE TABLE t (a INTEGER UNIQUE)", "BEGIN WORK", "INSERT INTO t VALUES (1)")
    ready: list[Engine] = []
    seen: list[object] = []

    def write() -> None:
        two = Engine(core.databases, core.registry, core.registry.register("bert"), Settings())
        two.open_database("demo")
        run(two, "SET LOCK MODE TO WAIT")
        ready.append(two)
        seen.append(run(two, "UPDATE t SET a = a + 1").rows)
        two.close()

    thread = threading.Thread(target=write)
    thread.start()
    while not (ready and ready[0].is_waiting):
        pass
    run(one, "COMMIT WORK")
    thread.join()
    assert seen == [1]
    assert query(one, "SELECT a FROM t") == [(2,)]


def test_a_session_that_waits_can_be_interrupted(core: ServerCore) -> None:
    one = core.engine()
    run_all(one, "CREATE TABLE t (a INTEGER UNIQUE)", "BEGIN WORK", "INSERT INTO t VALUES (1)")
    ready: list[Engine] = []
    seen: list[SqlError] = []

    def write() -> None:
        two = Engine(core.databases, core.registry, SessionRegistry().register("bert"), Settings())
        two.open_database("demo")
        run(two, "SET LOCK MODE TO WAIT")
        ready.append(two)
        with pytest.raises(SqlError) as raised:
            run(two, "INSERT INTO t VALUES (1)")
        seen.append(raised.value)
        seen.append(SqlError(run(two, "INSERT INTO t VALUES (2)").rows))
        two.close()

    thread = threading.Thread(target=write)
    thread.start()
    while not (ready and ready[0].is_waiting):
        pass
    ready[0].interrupt()
    thread.join()
    assert [codes(error) for error in seen] == [(-213, -157, ""), (1, 0, "")]


def test_session_settings_survive_a_change_of_database(engine: Engine) -> None:
    run_all(engine, "SET LOCK MODE TO WAIT 7", "SET ISOLATION TO REPEATABLE READ", "DATABASE sysmaster")
    assert (engine.defaults.lock_wait, engine.defaults.isolation) == (7, Isolation.REPEATABLE_READ)


def test_repeatable_read_can_write(one: Engine, two: Engine) -> None:
    run_all(one, "CREATE TABLE t (a INTEGER)", "SET ISOLATION TO REPEATABLE READ", "BEGIN WORK")
    assert query(one, "SELECT a FROM t") == []
    run_all(one, "INSERT INTO t VALUES (2)", "COMMIT WORK")
    run(two, "INSERT INTO t VALUES (1)")
    assert query(one, "SELECT a FROM t") == [(2,), (1,)]


def test_an_environment_setting_can_turn_cut_strings_into_errors(engine: Engine) -> None:
    run_all(engine, "CREATE TABLE t (a CHAR(3))", "INSERT INTO t VALUES ('abcdef')")
    run(engine, "SET ENVIRONMENT STRING_TRUNCATE_ERROR 'error'")
    assert error_from(engine, "INSERT INTO t VALUES ('abcdef')").sqlcode == -1279
    assert query(engine, "SELECT a FROM t") == [("abc",)]


# -- without a text ----------------------------------------------------------------------------------------------------


def test_messages_run_control_statements_too(filled: Engine) -> None:
    assert filled.control(plans.BeginWork()).event is TransactionEvent.BEGUN
    filled.control(plans.SetSavepoint("s", is_unique=True))
    run(filled, "DELETE FROM t")
    assert filled.control(plans.RollbackWork("s")).event is TransactionEvent.NONE
    filled.control(plans.ReleaseSavepoint("s"))
    assert query(filled, "SELECT COUNT(*) FROM t") == [(10,)]
    assert filled.control(plans.RollbackWork()).event is TransactionEvent.ROLLED_BACK


def test_a_table_is_not_unlocked_inside_a_transaction(filled: Engine) -> None:
    run_all(filled, "UNLOCK TABLE t", "BEGIN WORK")
    assert error_from(filled, "UNLOCK TABLE t").sqlcode == -327


def test_set_lock_mode_and_set_isolation_change_the_defaults(engine: Engine) -> None:
    run_all(engine, "SET LOCK MODE TO WAIT 5", "SET ISOLATION TO REPEATABLE READ")
    assert engine.defaults == SessionDefaults(5, Isolation.REPEATABLE_READ)
    run(engine, "SET LOCK MODE TO WAIT")
    assert engine.defaults.lock_wait is None


def test_options_are_kept(engine: Engine) -> None:
    run(engine, "SET PDQPRIORITY 5")
    assert engine.options == {"PDQPRIORITY": "5"}


def test_an_action_of_another_kind_is_a_defect(engine: Engine) -> None:
    with pytest.raises(AssertionError, match="not a control statement"):
        engine.control(plans.Query(composed("SELECT 1")))
