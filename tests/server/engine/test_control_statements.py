from __future__ import annotations

import threading

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.engine.results import TransactionEvent
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan as plans
from aioifx.server.sql.model.plan import Isolation
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sqlite.transactions import SessionDefaults
from tests.server.talking import ServerCore, codes, error_from, query, run


def test_transaction_control_tells_its_events(engine: Engine) -> None:
    assert run(engine, "BEGIN WORK").event is TransactionEvent.BEGUN
    assert engine.is_in_transaction
    assert run(engine, "COMMIT WORK").event is TransactionEvent.COMMITTED
    assert not engine.is_in_transaction
    run(engine, "BEGIN WORK")
    assert run(engine, "ROLLBACK WORK").event is TransactionEvent.ROLLED_BACK


@pytest.mark.parametrize(
    ("text", "sqlcode"),
    [
        ("INSERT INTO t VALUES (2, 2)", -271),
        ("UPDATE t SET b = 3 WHERE a = 1", -244),
        ("DELETE FROM t", -244),
        ("CREATE TABLE u (a INTEGER)", -211),
    ],
)
def test_a_second_writer_meets_the_lock(core: ServerCore, text: str, sqlcode: int) -> None:
    one, two = core.engine(), core.engine()
    run(one, "CREATE TABLE t (a INTEGER, b INTEGER)")
    run(one, "INSERT INTO t VALUES (1, 1)")
    run(one, "BEGIN WORK")
    run(one, "UPDATE t SET b = 2 WHERE a = 1")
    assert codes(error_from(two, text))[:2] == (sqlcode, -107)
    run(two, "SET LOCK MODE TO WAIT 0")
    assert codes(error_from(two, text))[:2] == (sqlcode, -107)
    assert query(two, "SELECT b FROM t") == [(1,)]
    run(one, "COMMIT WORK")
    run(two, text)


def test_select_for_update_and_lock_table_meet_the_lock(core: ServerCore) -> None:
    one, two = core.engine(), core.engine()
    run(one, "CREATE TABLE t (a INTEGER)")
    for each in (one, two):
        run(each, "BEGIN WORK")
    run(one, "LOCK TABLE t IN EXCLUSIVE MODE")
    assert codes(error_from(two, "SELECT a FROM t FOR UPDATE")) == (-244, -107, "t")
    assert codes(error_from(two, "LOCK TABLE t IN EXCLUSIVE MODE")) == (-289, -113, "t")
    run(one, "ROLLBACK WORK")
    run(two, "LOCK TABLE t IN EXCLUSIVE MODE")
    assert error_from(two, "UNLOCK TABLE t").sqlcode == -327
    run(two, "COMMIT WORK")
    assert error_from(two, "LOCK TABLE t IN EXCLUSIVE MODE").sqlcode == -524


def test_wait_waits_until_the_other_is_done(core: ServerCore) -> None:
    one = core.engine()
    run(one, "CREATE TABLE t (a INTEGER)")
    run(one, "BEGIN WORK")
    run(one, "INSERT INTO t VALUES (1)")
    ready: list[Engine] = []
    seen: list[object] = []

    def write() -> None:
        two = Engine(core.databases, core.registry, core.registry.register("bert"), Settings())
        two.open_database("demo")
        run(two, "SET LOCK MODE TO WAIT")
        ready.append(two)
        seen.append(run(two, "INSERT INTO t VALUES (2)").rows)
        two.close()

    thread = threading.Thread(target=write)
    thread.start()
    while not (ready and ready[0].is_waiting):
        pass
    run(one, "COMMIT WORK")
    thread.join()
    assert seen == [1]
    assert query(one, "SELECT a FROM t ORDER BY a") == [(1,), (2,)]


def test_a_session_that_waits_can_be_interrupted(core: ServerCore) -> None:
    one = core.engine()
    run(one, "CREATE TABLE t (a INTEGER)")
    run(one, "BEGIN WORK")
    run(one, "INSERT INTO t VALUES (1)")
    ready: list[Engine] = []
    seen: list[SqlError] = []

    def write() -> None:
        two = Engine(core.databases, core.registry, SessionRegistry().register("bert"), Settings())
        two.open_database("demo")
        run(two, "SET LOCK MODE TO WAIT")
        ready.append(two)
        with pytest.raises(SqlError) as raised:
            run(two, "INSERT INTO t VALUES (2)")
        seen.append(raised.value)
        seen.extend([] if query(two, "SELECT a FROM t") else [SqlError(0)])
        two.close()

    thread = threading.Thread(target=write)
    thread.start()
    while not (ready and ready[0].is_waiting):
        pass
    ready[0].interrupt()
    thread.join()
    assert [codes(error) for error in seen] == [(-213, -157, ""), (0, 0, "")]


def test_session_settings_survive_a_change_of_database(core: ServerCore) -> None:
    engine = core.engine()
    run(engine, "SET LOCK MODE TO WAIT 7")
    run(engine, "SET ISOLATION TO REPEATABLE READ")
    run(engine, "DATABASE sysmaster")
    assert (engine.defaults.lock_wait, engine.defaults.isolation) == (7, Isolation.REPEATABLE_READ)


def test_repeatable_read_keeps_its_snapshot(core: ServerCore) -> None:
    one, two = core.engine(), core.engine()
    run(one, "CREATE TABLE t (a INTEGER)")
    run(one, "SET ISOLATION TO REPEATABLE READ")
    run(one, "BEGIN WORK")
    assert query(one, "SELECT a FROM t") == []
    run(two, "INSERT INTO t VALUES (1)")
    assert query(one, "SELECT a FROM t") == []
    assert codes(error_from(one, "INSERT INTO t VALUES (2)"))[:2] == (-271, -107)
    run(one, "COMMIT WORK")
    assert query(one, "SELECT a FROM t") == [(1,)]


def test_an_environment_setting_can_turn_cut_strings_into_errors(engine: Engine) -> None:
    run(engine, "CREATE TABLE t (a CHAR(3))")
    run(engine, "INSERT INTO t VALUES ('abcdef')")
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
    run(filled, "UNLOCK TABLE t")
    run(filled, "BEGIN WORK")
    assert error_from(filled, "UNLOCK TABLE t").sqlcode == -327


def test_set_lock_mode_and_set_isolation_change_the_defaults(engine: Engine) -> None:
    run(engine, "SET LOCK MODE TO WAIT 5")
    run(engine, "SET ISOLATION TO REPEATABLE READ")
    assert engine.defaults == SessionDefaults(5, Isolation.REPEATABLE_READ)
    run(engine, "SET LOCK MODE TO WAIT")
    assert engine.defaults.lock_wait is None


def test_options_are_kept(engine: Engine) -> None:
    run(engine, "SET PDQPRIORITY 5")
    assert engine.options == {"PDQPRIORITY": "5"}


def test_an_action_of_another_kind_is_a_defect(engine: Engine) -> None:
    with pytest.raises(AssertionError, match="not a control statement"):
        engine.control(plans.Query("SELECT 1"))
