"""Transactions, locks, SET, databases, rights -> Plans. Never: tables' rows or columns."""

from __future__ import annotations

from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan
from aioifx.server.sql.model.plan import Action, Plan
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.builtins import require_extra
from aioifx.server.sql.translate.dml import writable
from aioifx.server.sql.translate.scopes import Context
from aioifx.wire.opcodes import StatementType

_LEVELS: Final = {
    "dirty read": plan.Isolation.DIRTY_READ,
    "committed read": plan.Isolation.COMMITTED_READ,
    "last committed": plan.Isolation.LAST_COMMITTED,
    "cursor stability": plan.Isolation.CURSOR_STABILITY,
    "repeatable read": plan.Isolation.REPEATABLE_READ,
}

_LOGGING: Final = {
    "none": plan.Logging.NONE,
    "unbuffered": plan.Logging.UNBUFFERED,
    "buffered": plan.Logging.BUFFERED,
}

_OPTIONS: Final = {
    "explain": StatementType.SET_EXPLAIN,
    "explain file": StatementType.SET_EXPLAIN,
    "optimization": StatementType.SET_OPTIMIZATION,
    **{
        f"optimization {name}": StatementType.SET_OPTIMIZATION
        for name in ("star_join", "fact", "avoid_fact", "non_dim")
    },
    "pdqpriority": StatementType.SET_PDQPRIORITY,
    "log": StatementType.SET_LOG,
    "buffered log": StatementType.SET_LOG,
    "debug file": StatementType.SET_DEBUG_FILE,
    "dataskip": StatementType.SET_DATASKIP,
    "session authorization": StatementType.SET_SESSION_AUTHORIZATION,
    "statement cache": StatementType.SET_STATEMENT_CACHE,
}


def control_plan(statement: nodes.Statement, context: Context) -> Plan:
    """The plan of a statement that neither reads nor changes rows.

    Raises:
        SqlError: -999, it is not supported; -206, -349 for tables.
    """
    found = (
        _transaction(statement)
        or _database(statement)
        or _setting(statement)
        or _constraints(statement, context)
        or _lock(statement, context)
        or _without_effect(statement, context)
    )
    if found is None:
        raise SqlError(-999, token=_KEYWORDS.get(type(statement), ""), offset=statement.offset)
    type_, action = found
    return Plan(type_, action)


_KEYWORDS: Final[dict[type[nodes.Node], str]] = {
    nodes.RenameDatabase: "RENAME DATABASE",
}

_Found = tuple[StatementType, Action] | None


def _transaction(statement: nodes.Statement) -> _Found:
    match statement:
        case nodes.BeginWork():
            return StatementType.BEGIN_WORK, plan.BeginWork()
        case nodes.CommitWork():
            return StatementType.COMMIT_WORK, plan.CommitWork()
        case nodes.RollbackWork():
            return StatementType.ROLLBACK_WORK, plan.RollbackWork()
        case nodes.RollbackToSavepoint():
            name = statement.savepoint.text if statement.savepoint else ""
            return StatementType.SAVEPOINT, plan.RollbackWork(name)
        case nodes.Savepoint():
            return StatementType.SAVEPOINT, plan.SetSavepoint(statement.savepoint.text, statement.is_unique)
        case nodes.ReleaseSavepoint():
            return StatementType.SAVEPOINT, plan.ReleaseSavepoint(statement.savepoint.text)
        case _:
            return None


def _database(statement: nodes.Statement) -> _Found:
    match statement:
        case nodes.OpenDatabase():
            return StatementType.DATABASE, plan.OpenDatabase(statement.database.name, statement.is_exclusive)
        case nodes.CloseDatabase():
            return StatementType.CLOSE_DATABASE, plan.CloseDatabase()
        case nodes.CreateDatabase():
            logging = _LOGGING[statement.log]
            action = plan.CreateDatabase(statement.database.name, logging, statement.if_not_exists)
            return StatementType.CREATE_DATABASE, action
        case nodes.DropDatabase():
            return StatementType.DROP_DATABASE, plan.DropDatabase(
                statement.database.name, statement.if_exists
            )
        case _:
            return None


def _setting(statement: nodes.Statement) -> _Found:
    match statement:
        case nodes.SetLockMode():
            return StatementType.SET_LOCK_MODE, plan.SetLockMode(statement.seconds)
        case nodes.SetIsolation():
            action = plan.SetIsolation(_LEVELS[statement.level], statement.retain_update_locks)
            return StatementType.SET_ISOLATION, action
        case nodes.SetTransaction():
            level = _LEVELS[statement.level] if statement.level else None
            return StatementType.SET_ISOLATION, plan.SetTransaction(level, statement.is_read_only)
        case nodes.SetEnvironment():
            return StatementType.SET_ENVIRONMENT, plan.SetOption(statement.name.upper(), statement.value)
        case nodes.SetEncryption(password=password, hint=hint):
            require_extra("set encryption password")
            return StatementType.SET_ENVIRONMENT, plan.SetEncryption(password, hint)  # assumed: the type
        case nodes.SetOption():
            type_ = _OPTIONS.get(statement.name, StatementType.SET_ENVIRONMENT)
            return type_, plan.SetOption(statement.name.upper(), statement.value)
        case nodes.SetRole():
            return StatementType.SET_ROLE, plan.SetOption(
                "ROLE", statement.role.text if statement.role else None
            )
        case _:
            return None


def _constraints(statement: nodes.Statement, context: Context) -> _Found:
    """SET CONSTRAINTS .. DEFERRED and IMMEDIATE.

    Raises:
        SqlError: -349, no database is open; -623, no such constraint (assumed: the code); -999, it is disabled.
    """
    if not isinstance(statement, nodes.SetConstraints):
        return None
    if not context.schema.database:
        raise SqlError(-349)
    constrids: list[int] = []
    for name in statement.constraints:
        found = context.schema.constraint(name.name, name.owner)
        if found is None or name.owner not in ("", found[1].owner):
            raise SqlError(-623, token=name.name, offset=name.offset)
        if found[1].is_disabled:
            raise SqlError(-999, token="DEFERRED DISABLED", offset=name.offset)
        constrids.append(found[1].constrid)
    chosen = tuple(constrids) if statement.constraints else None
    return StatementType.SET_CONSTRAINTS, plan.SetConstraints(chosen, statement.is_deferred)


def _lock(statement: nodes.Statement, context: Context) -> _Found:
    match statement:
        case nodes.LockTable():
            table = writable(statement.table, context)
            return StatementType.LOCK_TABLE, plan.LockTable(table, statement.is_exclusive)
        case nodes.UnlockTable():
            return StatementType.UNLOCK_TABLE, plan.UnlockTable(writable(statement.table, context))
        case _:
            return None


def _without_effect(statement: nodes.Statement, context: Context) -> _Found:
    """Statements that are accepted without any visible effect."""
    match statement:
        case nodes.UpdateStatistics():
            if statement.table is not None:
                context.table(statement.table)
            return StatementType.UPDATE_STATISTICS, plan.Nothing()
        case nodes.CreateRole():
            return StatementType.CREATE_ROLE, plan.Nothing()
        case nodes.Grant() | nodes.Revoke():
            target = statement.target
            if target is not None and _names_table(statement) and context.sequence(target) is None:
                context.table(target)
            type_ = StatementType.GRANT if isinstance(statement, nodes.Grant) else StatementType.REVOKE
            return type_, plan.Nothing()
        case _:
            return None


_ROUTINE_RIGHTS: Final = frozenset({"execute", "usage"})


def _names_table(statement: nodes.Grant | nodes.Revoke) -> bool:
    return not any(privilege.name in _ROUTINE_RIGHTS for privilege in statement.privileges)
