"""Statements that control transactions, the session and its database. Never: a row, a table's contents."""

from __future__ import annotations

from aioifx.server.engine.results import StatementResult, TransactionEvent
from aioifx.server.engine.session_databases import (
    check_no_transaction,
    close_database,
    create_database,
    drop_database,
    open_database,
)
from aioifx.server.engine.session_state import SessionState
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan as plans
from aioifx.server.sql.model.plan import Logging
from aioifx.server.sql.model.schema import Table
from aioifx.server.sqlite.databases import LogMode
from aioifx.server.sqlite.transactions import Transactions


def control(state: SessionState, action: plans.Action) -> StatementResult:
    """Run a control statement.

    Raises:   SqlError: it failed without any change.
    """
    match action:
        case plans.BeginWork():
            state.current.transactions.begin()
            return StatementResult(event=TransactionEvent.BEGUN)
        case plans.CommitWork():
            state.current.end_transaction(Transactions.commit)
            return StatementResult(event=TransactionEvent.COMMITTED)
        case plans.RollbackWork(savepoint=None):
            state.current.roll_back()
            return StatementResult(event=TransactionEvent.ROLLED_BACK)
        case plans.OpenDatabase(name=name):
            check_no_transaction(state)
            return StatementResult(opened=open_database(state, name))
        case plans.CreateDatabase(name=name, logging=logging, if_not_exists=if_not_exists):
            check_no_transaction(state)
            log_mode = LogMode.UNLOGGED if logging is Logging.NONE else LogMode.LOGGED
            return StatementResult(opened=create_database(state, name, log_mode, if_not_exists=if_not_exists))
        case plans.CloseDatabase():
            check_no_transaction(state)
            close_database(state)
        case plans.DropDatabase(name=name, if_exists=if_exists):
            drop_database(state, name, if_exists=if_exists)
        case _:
            _control_savepoint(state, action)
    return StatementResult()


def _control_savepoint(state: SessionState, action: plans.Action) -> None:
    match action:
        case plans.SetSavepoint(name=name, is_unique=unique):
            state.current.transactions.set_savepoint(name, unique)
        case plans.ReleaseSavepoint(name=name):
            state.current.transactions.release_savepoint(name)
        case plans.RollbackWork(savepoint=str(name)):
            current = state.current
            current.settle()
            current.transactions.rollback_to(name)
            current.on_schema_changed()
        case _:
            _control_session(state, action)


def _control_session(state: SessionState, action: plans.Action) -> None:
    match action:
        case plans.SetLockMode(seconds=seconds):
            state.defaults.lock_wait = seconds
        case plans.SetIsolation(level=level):
            state.defaults.isolation = level
        case plans.SetTransaction(level=level, is_read_only=read_only):
            state.current.transactions.set_terms(level, read_only)
        case plans.SetOption(name=name, value=value):
            state.options[name] = value
            if name == "STRING_TRUNCATE_ERROR":
                state.settings.string_truncate_error = (value or "").lower() == "error"
        case plans.LockTable(table=table, is_exclusive=exclusive):
            _lock_table(state, table, exclusive=exclusive)
        case plans.UnlockTable():
            if state.workspace is not None and state.workspace.transactions.is_open:
                raise SqlError(-327)
        case plans.DropRoutine(name=name):
            state.settings.routines.remove(name)
        case plans.Nothing():
            pass
        case _:
            raise AssertionError(f"not a control statement: {action!r}")


def _lock_table(state: SessionState, table: Table, *, exclusive: bool) -> None:
    """LOCK TABLE.

    Raises:   SqlError: -524, outside a transaction; -289, another session writes.
    """
    transactions = state.current.transactions
    if not transactions.is_open:
        raise SqlError(-524)
    if exclusive:
        with state.mapped_errors(-289, table.name, -113):
            transactions.lock(table.name)
