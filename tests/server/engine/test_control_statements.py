from __future__ import annotations

from typing import Any, cast

import pytest

from aioifx.server.engine.control_statements import StatementResult, TransactionEvent, control
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan as plans
from aioifx.server.sql.model.plan import Isolation, Logging
from aioifx.server.sql.model.schema import Table
from aioifx.server.sqlite.databases import LogMode
from aioifx.server.sqlite.transactions import SessionDefaults

TABLE = Table(100, "t", "anna")


class Recorder:
    """An engine that writes down what is asked of it."""

    def __init__(self) -> None:
        self.defaults = SessionDefaults()
        self.in_transaction = False
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **keywords: Any) -> StatementResult:
            self.calls.append((name, *arguments, *keywords.values()))
            return StatementResult(
                event=TransactionEvent.COMMITTED if name == "commit" else TransactionEvent.NONE
            )

        return call


@pytest.mark.parametrize(
    ("action", "calls"),
    [
        (plans.BeginWork(), [("begin",)]),
        (plans.CommitWork(), [("commit",)]),
        (plans.RollbackWork(), [("rollback",)]),
        (plans.RollbackWork("s"), [("rollback_to", "s")]),
        (plans.RollbackWork(""), [("rollback_to", "")]),
        (plans.SetSavepoint("s", True), [("set_savepoint", "s", True)]),
        (plans.ReleaseSavepoint("s"), [("release_savepoint", "s")]),
        (plans.SetTransaction(Isolation.DIRTY_READ, True), [("set_terms", Isolation.DIRTY_READ, True)]),
        (plans.SetOption("PDQPRIORITY", "5"), [("set_option", "PDQPRIORITY", "5")]),
        (plans.LockTable(TABLE, True), [("lock_table", TABLE, True)]),
        (plans.UnlockTable(TABLE), []),
        (plans.Nothing(), []),
        (plans.OpenDatabase("d"), [("need_no_transaction",), ("open_database", "d")]),
        (plans.CloseDatabase(), [("need_no_transaction",), ("close_database",)]),
        (
            plans.CreateDatabase("d", Logging.BUFFERED, True),
            [("need_no_transaction",), ("create_database", "d", LogMode.LOGGED, True)],
        ),
        (
            plans.CreateDatabase("d"),
            [("need_no_transaction",), ("create_database", "d", LogMode.UNLOGGED, False)],
        ),
        (plans.DropDatabase("d", True), [("drop_database", "d", True)]),
    ],
)
def test_every_action_has_its_way(action: plans.Action, calls: list[tuple[Any, ...]]) -> None:
    engine: Any = Recorder()
    control(engine, action)
    assert engine.calls == calls


def test_defaults_are_set_for_the_session() -> None:
    engine: Any = Recorder()
    control(engine, plans.SetLockMode(5))
    control(engine, plans.SetIsolation(Isolation.REPEATABLE_READ))
    assert engine.defaults == SessionDefaults(5, Isolation.REPEATABLE_READ)
    control(engine, plans.SetLockMode(None))
    assert engine.defaults.lock_wait is None


def test_a_table_is_not_unlocked_inside_a_transaction() -> None:
    engine: Any = Recorder()
    engine.in_transaction = True
    with pytest.raises(SqlError) as raised:
        control(engine, plans.UnlockTable(TABLE))
    assert raised.value.sqlcode == -327


def test_the_event_of_a_transaction_is_handed_on() -> None:
    assert control(cast(Any, Recorder()), plans.CommitWork()).event is TransactionEvent.COMMITTED
