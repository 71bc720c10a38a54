from __future__ import annotations

import pytest

from aioifx.server.sql.model import plan
from aioifx.server.sql.model.plan import Isolation, Logging
from tests.server.sql.workbench import Workbench


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("BEGIN", plan.BeginWork()),
        ("BEGIN WORK", plan.BeginWork()),
        ("COMMIT", plan.CommitWork()),
        ("ROLLBACK WORK", plan.RollbackWork()),
        ("ROLLBACK TO SAVEPOINT", plan.RollbackWork("")),
        ("ROLLBACK WORK TO SAVEPOINT s", plan.RollbackWork("s")),
        ("SAVEPOINT s", plan.SetSavepoint("s")),
        ("SAVEPOINT s UNIQUE", plan.SetSavepoint("s", is_unique=True)),
        ("RELEASE SAVEPOINT s", plan.ReleaseSavepoint("s")),
        ("SET LOCK MODE TO NOT WAIT", plan.SetLockMode(0)),
        ("SET LOCK MODE TO WAIT", plan.SetLockMode(None)),
        ("SET LOCK MODE TO WAIT 17", plan.SetLockMode(17)),
        ("SET ISOLATION TO DIRTY READ", plan.SetIsolation(Isolation.DIRTY_READ)),
        ("SET ISOLATION COMMITTED READ", plan.SetIsolation(Isolation.COMMITTED_READ)),
        ("SET ISOLATION TO COMMITTED READ LAST COMMITTED", plan.SetIsolation(Isolation.LAST_COMMITTED)),
        ("SET ISOLATION TO CURSOR STABILITY", plan.SetIsolation(Isolation.CURSOR_STABILITY)),
        ("SET ISOLATION TO REPEATABLE READ", plan.SetIsolation(Isolation.REPEATABLE_READ)),
        ("SET TRANSACTION READ ONLY", plan.SetTransaction(is_read_only=True)),
        ("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", plan.SetTransaction(Isolation.REPEATABLE_READ)),
        ("DATABASE stores", plan.OpenDatabase("stores")),
        ("DATABASE stores EXCLUSIVE", plan.OpenDatabase("stores", is_exclusive=True)),
        ("CLOSE DATABASE", plan.CloseDatabase()),
        ("CREATE DATABASE d", plan.CreateDatabase("d")),
        ("CREATE DATABASE d WITH LOG", plan.CreateDatabase("d", Logging.UNBUFFERED)),
        ("CREATE DATABASE d IN rootdbs WITH BUFFERED LOG", plan.CreateDatabase("d", Logging.BUFFERED)),
        ("DROP DATABASE d", plan.DropDatabase("d")),
        ("DROP DATABASE IF EXISTS d", plan.DropDatabase("d", if_exists=True)),
        ("SET ENVIRONMENT STRING_TRUNCATE_ERROR 'error'", plan.SetOption("STRING_TRUNCATE_ERROR", "error")),
        ("SET PDQPRIORITY 30", plan.SetOption("PDQPRIORITY", "30")),
        ("SET ROLE boss", plan.SetOption("ROLE", "boss")),
        ("SET CONSTRAINTS ALL IMMEDIATE", plan.SetConstraints(None, is_deferred=False)),
        ("SET CONSTRAINTS ALL DEFERRED", plan.SetConstraints(None, is_deferred=True)),
        ("SET CONSTRAINTS u, ann.u DEFERRED", plan.SetConstraints((1, 1), is_deferred=True)),
        ("UPDATE STATISTICS", plan.Nothing()),
        ("UPDATE STATISTICS HIGH FOR TABLE t", plan.Nothing()),
        ("GRANT DBA TO bob", plan.Nothing()),
        ("GRANT SELECT ON t TO PUBLIC", plan.Nothing()),
        ("REVOKE ALL ON t FROM PUBLIC", plan.Nothing()),
        ("GRANT EXECUTE ON f TO PUBLIC", plan.Nothing()),
        ("CREATE ROLE r", plan.Nothing()),
    ],
)
def test_each_statement_is_its_action(text: str, action: plan.Action) -> None:
    made = Workbench("CREATE TABLE t (k INT UNIQUE CONSTRAINT u)").plan(text)
    assert made.action == action
    assert (made.columns, made.parameters) == ((), ())


def test_lock_table_names_its_table() -> None:
    bench = Workbench("CREATE TABLE t (k INT)")
    assert bench.plan("LOCK TABLE t IN EXCLUSIVE MODE").action == plan.LockTable(bench.table("t"), True)
    assert bench.plan("UNLOCK TABLE t").action == plan.UnlockTable(bench.table("t"))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("EXECUTE PROCEDURE p(1)", (-674, "p", 19)),
        ("EXECUTE FUNCTION f()", (-674, "f", 18)),
        ("RENAME DATABASE a TO b", (-999, "RENAME DATABASE", 1)),
        ("SET CONSTRAINTS nowhere DEFERRED", (-623, "nowhere", 17)),
        ("SET CONSTRAINTS u DEFERRED", (-999, "DEFERRED DISABLED", 17)),
        ("LOCK TABLE nowhere IN SHARE MODE", (-206, "nowhere", 12)),
        ("LOCK TABLE systables IN SHARE MODE", (-511, "systables", 12)),
        ("UPDATE STATISTICS FOR TABLE nowhere", (-206, "nowhere", 29)),
        ("GRANT SELECT ON nowhere TO PUBLIC", (-206, "nowhere", 17)),
    ],
)
def test_unsupported_statements_are_refused(text: str, error: tuple[int, str, int]) -> None:
    stores = Workbench("CREATE TABLE t (k INT UNIQUE CONSTRAINT u DISABLED)")
    assert stores.error(text) == error
