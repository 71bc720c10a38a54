"""Statements without rows: transactions, settings, databases; the result of a statement. Never: a row."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan as plans
from aioifx.server.sql.model.plan import Isolation, Logging
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sqlite.databases import Database, LogMode
from aioifx.server.sqlite.transactions import SessionDefaults


class TransactionEvent(IntEnum):
    """The effect of a statement on the transaction."""

    NONE = 0
    BEGUN = 1
    COMMITTED = 2
    ROLLED_BACK = 3


@dataclass(slots=True)
class StatementResult:
    """The result of a statement without rows."""

    rows: int = 0
    rowid: int = 0
    serial: int = 0
    serial8: int = 0
    bigserial: int = 0
    opened: Database | None = None
    """The database that the statement opened."""
    event: TransactionEvent = TransactionEvent.NONE


class Controlled(Protocol):
    """The part of an engine that control statements use."""

    defaults: SessionDefaults
    settings: Settings

    @property
    def in_transaction(self) -> bool: ...

    def begin(self) -> StatementResult: ...

    def commit(self) -> StatementResult: ...

    def rollback(self) -> StatementResult: ...

    def set_savepoint(self, name: str, unique: bool) -> StatementResult: ...

    def release_savepoint(self, name: str) -> StatementResult: ...

    def rollback_to(self, name: str) -> StatementResult: ...

    def set_terms(self, isolation: Isolation | None, read_only: bool | None) -> None: ...

    def set_option(self, name: str, value: str | None) -> None: ...

    def lock_table(self, table: Table, *, exclusive: bool) -> None: ...

    def need_no_transaction(self) -> None: ...

    def open_database(self, name: str) -> Database: ...

    def close_database(self) -> None: ...

    def create_database(self, name: str, log_mode: LogMode, *, if_not_exists: bool) -> Database: ...

    def drop_database(self, name: str, *, if_exists: bool) -> None: ...


def control(engine: Controlled, action: plans.Action) -> StatementResult:
    """Execute a control statement."""
    match action:
        case plans.BeginWork():
            return engine.begin()
        case plans.CommitWork():
            return engine.commit()
        case plans.RollbackWork(savepoint=None):
            return engine.rollback()
        case plans.RollbackWork(savepoint=str(name)):
            return engine.rollback_to(name)
        case plans.SetSavepoint(name=name, unique=unique):
            return engine.set_savepoint(name, unique)
        case plans.ReleaseSavepoint(name=name):
            return engine.release_savepoint(name)
        case _:
            return _control_database(engine, action) or _control_session(engine, action)


def _control_session(engine: Controlled, action: plans.Action) -> StatementResult:
    match action:
        case plans.SetLockMode(seconds=seconds):
            engine.defaults.lock_wait = seconds
        case plans.SetIsolation(level=level):
            engine.defaults.isolation = level
        case plans.SetTransaction(level=level, read_only=read_only):
            engine.set_terms(level, read_only)
        case plans.SetOption(name=name, value=value):
            engine.set_option(name, value)
        case plans.LockTable(table=table, exclusive=exclusive):
            engine.lock_table(table, exclusive=exclusive)
        case plans.UnlockTable():
            if engine.in_transaction:
                raise SqlError(-327)
        case plans.DropRoutine(name=name):
            engine.settings.routines.remove(name)
        case plans.Nothing():
            pass
        case _:
            raise AssertionError(f"no way to run {action!r}")
    return StatementResult()


def _control_database(engine: Controlled, action: plans.Action) -> StatementResult | None:
    """None if the action does not concern a database."""
    match action:
        case plans.OpenDatabase(name=name):
            engine.need_no_transaction()
            return StatementResult(opened=engine.open_database(name))
        case plans.CloseDatabase():
            engine.need_no_transaction()
            engine.close_database()
            return StatementResult()
        case plans.CreateDatabase(name=name, logging=logging, if_not_exists=if_not_exists):
            engine.need_no_transaction()
            log_mode = LogMode.UNLOGGED if logging is Logging.NONE else LogMode.LOGGED
            return StatementResult(opened=engine.create_database(name, log_mode, if_not_exists=if_not_exists))
        case plans.DropDatabase(name=name, if_exists=if_exists):
            engine.drop_database(name, if_exists=if_exists)
            return StatementResult()
        case _:
            return None
