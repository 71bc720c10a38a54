"""What the messages of session and transaction do. Never: a statement, a cursor."""

from __future__ import annotations

from typing import Final

from aioifx.server.protocol.context import Handler, SessionContext
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.databases import Database
from aioifx.wire import replies, requests
from aioifx.wire.capabilities import Capabilities


def agree(desk: SessionContext, message: requests.Protocols) -> None:
    """SQ_PROTOCOLS: the server answers with all that it can; in force is what both said."""
    mask = desk.identity.mask
    desk.capabilities = Capabilities.agreed(message.mask, mask, desk.code_set.codec)
    requests.put_protocols(desk.outbox, mask)


def note(desk: SessionContext, message: requests.Info) -> None:
    """SQ_INFO."""
    for name, value in message.environment:
        desk.environment[name.decode("latin-1")] = value.decode("latin-1")


def tell_version(desk: SessionContext, message: requests.Version) -> None:
    """SQ_VERSION."""
    replies.put_version(desk.outbox, desk.capabilities, desk.identity.version)


def leave(desk: SessionContext, message: requests.Exit) -> None:
    """SQ_EXIT: rolled back and unlocked before it is acknowledged; no SQ_EOT behind it (observed: JDBC)."""
    desk.engine.close()
    desk.ended = True
    requests.put_exit(desk.outbox)


# -- databases ---------------------------------------------------------------------------------------------------------


def open_database(desk: SessionContext, name: str) -> Database:
    """Open *name*, which may be followed by ``@server``.

    Raises:   SqlFault: -329, there is none; -23197, it has another code set than the client's DB_LOCALE.
    """
    name, _, server = name.partition("@")
    if server and server != desk.identity.name:
        raise SqlError(-908, token=server)
    desk.close_all()
    return desk.engine.open_database(name)


def choose_database(desk: SessionContext, message: requests.DbOpen) -> None:
    """SQ_DBOPEN."""
    if desk.has_fixed_database:
        raise SqlError(-759)
    desk.put_opened(open_database(desk, desk.text(message.name)))


def close_database(desk: SessionContext, message: requests.DbClose) -> None:
    """SQ_DBCLOSE."""
    desk.close_all()
    desk.engine.close_database()


def list_databases(desk: SessionContext, message: requests.DbList) -> None:
    """SQ_DBLIST."""
    replies.put_dblist(desk.outbox, desk.capabilities, desk.engine.database_names)


# -- transactions ------------------------------------------------------------------------------------------------------


def begin(desk: SessionContext, message: requests.Begin) -> None:
    """SQ_BEGIN."""
    desk.put_outcome(desk.engine.begin())


def commit(desk: SessionContext, message: requests.Commit) -> None:
    """SQ_CMMTWORK."""
    desk.put_outcome(desk.engine.commit())


def rollback(desk: SessionContext, message: requests.Rollback) -> None:
    """SQ_RBWORK."""
    desk.put_outcome(desk.engine.rollback())


def set_savepoint(desk: SessionContext, message: requests.SetSavepoint) -> None:
    """The name is folded as an identifier is in SQL."""
    desk.put_outcome(desk.engine.set_savepoint(desk.text(message.name).lower(), message.unique))


def release_savepoint(desk: SessionContext, message: requests.ReleaseSavepoint) -> None:
    """Forget it and all later ones."""
    desk.put_outcome(desk.engine.release_savepoint(desk.text(message.name).lower()))


def rollback_to_savepoint(desk: SessionContext, message: requests.RollbackSavepoint) -> None:
    """Undo what came behind it."""
    desk.put_outcome(desk.engine.rollback_to(desk.text(message.name).lower()))


HANDLERS: Final[dict[type, Handler]] = {
    requests.Protocols: agree,
    requests.Info: note,
    requests.Version: tell_version,
    requests.Exit: leave,
    requests.DbOpen: choose_database,
    requests.DbClose: close_database,
    requests.DbList: list_databases,
    requests.Begin: begin,
    requests.Commit: commit,
    requests.Rollback: rollback,
    requests.SetSavepoint: set_savepoint,
    requests.ReleaseSavepoint: release_savepoint,
    requests.RollbackSavepoint: rollback_to_savepoint,
}
