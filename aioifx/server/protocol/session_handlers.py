"""Handlers of session and transaction messages. Never: a statement, a cursor."""

from __future__ import annotations

from typing import Final

from aioifx.server.protocol.context import Handler, SessionContext
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan
from aioifx.server.sqlite.databases import Database
from aioifx.wire import replies, session_requests
from aioifx.wire.capabilities import Capabilities


def negotiate(context: SessionContext, message: session_requests.Protocols) -> None:
    """SQ_PROTOCOLS: the reply has all capabilities of the server; those that both sides sent take effect."""
    mask = context.identity.mask
    context.capabilities = Capabilities.negotiated(message.mask, mask, context.code_set.codec)
    session_requests.put_protocols(context.outbox, mask)


def info(context: SessionContext, message: session_requests.Info) -> None:
    """SQ_INFO."""
    for name, value in message.environment:
        context.environment[name.decode("latin-1")] = value.decode("latin-1")


def version(context: SessionContext, message: session_requests.Version) -> None:
    """SQ_VERSION."""
    replies.put_version(context.outbox, context.capabilities, context.identity.version)


def exit_session(context: SessionContext, message: session_requests.Exit) -> None:
    """SQ_EXIT: rolls back and releases locks before the acknowledgement; no SQ_EOT follows it (observed: JDBC)."""
    context.engine.close()
    context.has_ended = True
    session_requests.put_exit(context.outbox)


# -- databases ---------------------------------------------------------------------------------------------------------


def open_database(context: SessionContext, name: str) -> Database:
    """Open *name*, which may be followed by ``@server``.

    Raises:
        SqlError: -329, not found; -23197, its code set differs from that of the client's DB_LOCALE.
    """
    name, _, server = name.partition("@")
    if server and server != context.identity.name:
        raise SqlError(-908, token=server)
    context.close_all()
    return context.engine.open_database(name)


def choose_database(context: SessionContext, message: session_requests.DbOpen) -> None:
    """SQ_DBOPEN."""
    if context.has_fixed_database:
        raise SqlError(-759)
    context.write_opened(open_database(context, context.text(message.name)))


def close_database(context: SessionContext, message: session_requests.DbClose) -> None:
    """SQ_DBCLOSE."""
    context.close_all()
    context.engine.close_database()


def list_databases(context: SessionContext, message: session_requests.DbList) -> None:
    """SQ_DBLIST."""
    replies.put_dblist(context.outbox, context.capabilities, context.engine.database_names)


# -- transactions ------------------------------------------------------------------------------------------------------


def begin(context: SessionContext, message: session_requests.Begin) -> None:
    """SQ_BEGIN."""
    _control(context, "BEGIN WORK", plan.BeginWork())


def commit(context: SessionContext, message: session_requests.Commit) -> None:
    """SQ_CMMTWORK."""
    _control(context, "COMMIT WORK", plan.CommitWork())


def rollback(context: SessionContext, message: session_requests.Rollback) -> None:
    """SQ_RBWORK."""
    _control(context, "ROLLBACK WORK", plan.RollbackWork())


def set_savepoint(context: SessionContext, message: session_requests.SetSavepoint) -> None:
    """SAVEPOINT: sets a savepoint; its name is folded like an SQL identifier."""
    name = context.text(message.name).lower()
    _control(context, f"SAVEPOINT {name}", plan.SetSavepoint(name, message.is_unique))


def release_savepoint(context: SessionContext, message: session_requests.ReleaseSavepoint) -> None:
    """RELEASE SAVEPOINT: removes it and all later ones."""
    name = context.text(message.name).lower()
    _control(context, f"RELEASE SAVEPOINT {name}", plan.ReleaseSavepoint(name))


def rollback_to_savepoint(context: SessionContext, message: session_requests.RollbackSavepoint) -> None:
    """ROLLBACK TO SAVEPOINT: undoes all changes after it."""
    name = context.text(message.name).lower()
    _control(context, f"ROLLBACK WORK TO SAVEPOINT {name}", plan.RollbackWork(name))


def _control(context: SessionContext, sql: str, action: plan.Action) -> None:
    """Run the statement *sql*, which the client sent as a message without text."""
    with context.executing_text(sql):
        result = context.engine.control(action)
    context.write_result(result)


HANDLERS: Final[dict[type, Handler]] = {
    session_requests.Protocols: negotiate,
    session_requests.Info: info,
    session_requests.Version: version,
    session_requests.Exit: exit_session,
    session_requests.DbOpen: choose_database,
    session_requests.DbClose: close_database,
    session_requests.DbList: list_databases,
    session_requests.Begin: begin,
    session_requests.Commit: commit,
    session_requests.Rollback: rollback,
    session_requests.SetSavepoint: set_savepoint,
    session_requests.ReleaseSavepoint: release_savepoint,
    session_requests.RollbackSavepoint: rollback_to_savepoint,
}
