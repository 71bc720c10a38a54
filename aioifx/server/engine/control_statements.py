"""Statements that control transactions, the session and its database. Never: a row, a table's contents."""

from __future__ import annotations

import sqlite3
from typing import Final

from aioifx.server.engine.session_databases import (
    check_no_transaction,
    close_database,
    create_database,
    drop_database,
    open_database,
)
from aioifx.server.engine.session_state import SessionState, StatementResult, TransactionEvent
from aioifx.server.engine.write_refusals import check_database
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan as plans
from aioifx.server.sql.model.plan import Isolation, Logging
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.runtime.encryption import checked_password
from aioifx.server.sqlite.databases import LogMode
from aioifx.server.sqlite.lock_manager import LockMode
from aioifx.server.sqlite.transactions import Transactions

_ILLEGAL_IN_TRIGGER: Final = -744
_NOT_IN_TRIGGERS: Final = (plans.BeginWork, plans.CommitWork, plans.RollbackWork, plans.SetConstraints)
"""What no routine that a trigger calls may run (documented: finderr, -744)."""


def control(state: SessionState, action: plans.Action) -> StatementResult:
    """Run a control statement.

    Raises:
        SqlError: it failed without any change.
    """
    if state.firing.is_active and isinstance(action, _NOT_IN_TRIGGERS):
        raise SqlError(_ILLEGAL_IN_TRIGGER)
    match action:
        case plans.BeginWork():
            state.current.transactions.begin()
            return StatementResult(event=TransactionEvent.BEGUN)
        case plans.CommitWork():
            with state.mapped_errors(-346, ""):
                _commit(state)
            return StatementResult(event=TransactionEvent.COMMITTED)
        case plans.RollbackWork(savepoint=None):
            with state.mapped_errors(-244, ""):
                state.current.roll_back()
            return StatementResult(event=TransactionEvent.ROLLED_BACK)
        case plans.OpenDatabase(name=name):
            check_no_transaction(state)
            return StatementResult(opened=open_database(state, name))
        case plans.CreateDatabase(name=name, logging=logging, if_not_exists=if_not_exists):
            check_no_transaction(state)
            check_database(state)
            log_mode = LogMode.UNLOGGED if logging is Logging.NONE else LogMode.LOGGED
            return StatementResult(opened=create_database(state, name, log_mode, if_not_exists=if_not_exists))
        case plans.CloseDatabase():
            check_no_transaction(state)
            close_database(state)
        case plans.DropDatabase(name=name, if_exists=if_exists):
            check_database(state)
            drop_database(state, name, if_exists=if_exists)
        case _:
            _control_savepoint(state, action)
    return StatementResult()


def _commit(state: SessionState) -> None:
    """COMMIT WORK; a violation of a deferred constraint rolls the transaction back.

    Raises:
        SqlError: -255, no transaction is open; -999, a violated one is gone; or the violation.
    """
    current = state.current
    deferred = current.deferred
    if not deferred.is_any:
        current.end_transaction(Transactions.commit)
        return
    state.settle(is_interruptible=False)
    schema = state.planner.schema(current)
    try:
        deferred.check(schema)
        try:
            current.end_transaction(Transactions.commit)
        except sqlite3.IntegrityError:
            broken = deferred.broken_reference(schema)
            if broken is not None:
                raise broken from None
            deferred.forget_disabled_references()
            current.end_transaction(Transactions.commit)
    except SqlError:
        current.roll_back()
        raise
    except sqlite3.IntegrityError:  # SQLite counts violations of a foreign key that was deferred by its name
        current.roll_back()
        raise SqlError(-999, token="DROP or DISABLED of a DEFERRED constraint") from None


def _set_constraints(state: SessionState, action: plans.SetConstraints) -> None:
    """SET CONSTRAINTS.

    Raises:
        SqlError: -255, outside a transaction, -256, in an unlogged database (documented; assumed: the codes); or the
            violation of a constraint that becomes IMMEDIATE.
    """
    current = state.current
    current.transactions.require_open()
    schema = state.planner.schema(current)
    if action.is_deferred:
        with state.mapped_errors(-244, ""):
            current.transactions.become_exclusive()
        current.deferred.defer(action.constrids, schema)
    elif current.deferred.is_any:
        with current.transactions.undone_alone():
            current.deferred.make_immediate(action.constrids, schema)


def _control_savepoint(state: SessionState, action: plans.Action) -> None:
    match action:
        case plans.SetSavepoint(name=name, is_unique=unique):
            state.current.transactions.set_savepoint(name, unique)
        case plans.ReleaseSavepoint(name=name):
            state.current.transactions.release_savepoint(name)
        case plans.RollbackWork(savepoint=str(name)):
            current = state.current
            state.settle(is_interruptible=False)
            with state.mapped_errors(-244, ""):
                current.transactions.rollback_to(name)
            current.on_schema_changed()
            if current.deferred.is_any:
                current.transactions.become_exclusive()
                current.deferred.resume(state.planner.schema(current))
        case _:
            _control_session(state, action)


def _control_session(state: SessionState, action: plans.Action) -> None:
    match action:
        case plans.SetLockMode(seconds=seconds):
            state.defaults.lock_wait = seconds
        case plans.SetIsolation(level=level, retains_update_locks=retains):
            state.defaults.isolation = level
            state.defaults.retains_update_locks = retains
        case plans.SetTransaction(level=level, is_read_only=read_only):
            state.current.transactions.set_terms(level, read_only)
        case plans.SetConstraints():
            _set_constraints(state, action)
        case plans.SetEncryption(password=password, hint=hint):
            settings = state.settings
            settings.encryption = checked_password(password, hint, settings.code_set)
        case plans.SetOption(name=name, value=value):
            _set_lock_option(state, name, value)
            state.options[name] = value
            if name == "EXPLAIN":
                state.avoids_execution = value == "on avoid_execute"
            if name == "STRING_TRUNCATE_ERROR":
                state.settings.string_truncate_error = (value or "").lower() == "error"
        case plans.LockTable(table=table, is_exclusive=exclusive):
            _lock_table(state, table, exclusive=exclusive)
        case plans.UnlockTable(table=table):
            if state.current.transactions.is_open:
                raise SqlError(-327)
            state.current.transactions.unlock_table(table)
        case plans.DropRoutine(name=name):
            state.settings.routines.remove(name)
        case plans.Nothing():
            pass
        case _:
            raise AssertionError(f"not a control statement: {action!r}")


_OPTION_LEVELS: Final = {
    "committed read": frozenset({Isolation.COMMITTED_READ}),
    "cursor stability": frozenset({Isolation.CURSOR_STABILITY}),
    "dirty read": frozenset({Isolation.DIRTY_READ}),
    "none": frozenset[Isolation](),
}
"""The values of USELASTCOMMITTED and RETAINUPDATELOCKS, except ALL (documented)."""


def _set_lock_option(state: SessionState, name: str, value: str | None) -> None:
    """SET ENVIRONMENT USELASTCOMMITTED and RETAINUPDATELOCKS.

    Raises:
        SqlError: -999, another value (assumed: the SQLCODE).
    """
    is_retaining = name == "RETAINUPDATELOCKS"
    if not is_retaining and name != "USELASTCOMMITTED":
        return
    choices = {
        key: levels for key, levels in _OPTION_LEVELS.items() if is_retaining or key != "cursor stability"
    }
    choices["all"] = frozenset[Isolation]().union(*choices.values())
    levels = choices.get((value or "").lower())
    if levels is None:
        raise SqlError(-999, token=f"{name} {value}")
    if is_retaining:
        state.defaults.retaining = levels
        state.defaults.retains_update_locks = state.defaults.retains_update_locks and bool(levels)
    else:
        state.defaults.last_committed = levels


def _lock_table(state: SessionState, table: Table, *, exclusive: bool) -> None:
    """LOCK TABLE; in a database without transactions it lasts until UNLOCK TABLE (documented).

    Raises:
        SqlError: -524, outside a transaction; -289, another session has a conflicting lock.
    """
    transactions = state.current.transactions
    if not transactions.is_open and state.current.database.log_mode is not LogMode.UNLOGGED:
        raise SqlError(-524)
    if table.is_temp:  # no other session has it
        return
    with state.mapped_errors(-289, table.name):
        transactions.lock_table(table, LockMode.X if exclusive else LockMode.S)
