from __future__ import annotations

from aioifx.server.engine.engine import Engine
from aioifx.server.engine.workspace import Workspace
from aioifx.server.sqlite.transactions import Transactions
from tests.server.talking import ServerCore, run, run_all


def workspace_of(engine: Engine) -> Workspace:
    assert engine._state.workspace is not None
    return engine._state.workspace


def test_the_stamp_moves_with_every_change_of_the_schema(one: Engine, two: Engine) -> None:
    before = workspace_of(two).stamp
    assert workspace_of(two).stamp == before
    run(one, "CREATE TABLE t (a INTEGER)")
    assert workspace_of(two).stamp != before


def test_the_stamp_moves_when_a_change_is_committed_or_undone(one: Engine, two: Engine) -> None:
    for end in (Transactions.commit, Transactions.rollback):
        run(one, "BEGIN WORK")
        run(one, "CREATE TABLE t (a INTEGER)" if end is Transactions.commit else "DROP TABLE t")
        before = workspace_of(two).stamp
        workspace_of(one).end_transaction(end)
        assert workspace_of(two).stamp != before


def test_a_committed_transaction_leaves_nothing_in_the_log_of_temporary_tables(core: ServerCore) -> None:
    one = core.engine()
    log = workspace_of(one).transactions._temp_log
    run_all(one, "CREATE TEMP TABLE t (a INTEGER)", "BEGIN WORK", "INSERT INTO t VALUES (1)")
    assert not log.is_empty
    run(one, "COMMIT WORK")
    assert log.is_empty


def test_other_databases_are_attached_once(engine: Engine, core: ServerCore) -> None:
    for _ in range(3):
        engine.prepare("SELECT * FROM sysmaster:systables")
    run_all(engine, "CREATE DATABASE shop WITH LOG", "CREATE TABLE t (a INTEGER)", "DATABASE demo")
    for _ in range(3):
        engine.prepare("SELECT a FROM shop:t")
    assert [database.name for database in workspace_of(engine).attached.values()].count("shop") == 1
    assert core.databases.find("shop").users == 1
    engine.close()
    assert core.databases.find("shop").users == 0
