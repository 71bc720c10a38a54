"""Errors of a reply as exceptions, with the statement's text. Never: a connection, a transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, NoReturn

from aioifx.client.config.options import ConnectOptions
from aioifx.client.sql.hints import hint_for_text
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    NotSupportedError,
    ProgrammingError,
    ProtocolError,
    QueryTimeout,
    SQLSyntaxError,
    from_server,
)
from aioifx.wire.completion import ServerError
from aioifx.wire.inbox import Inbox
from aioifx.wire.replies import Reply
from aioifx.wire.routines import NEEDS_VARIABLE, routine_in

_DATES: Final = frozenset({-1204, -1205, -1206, -1209, -1210, -1212, -1218})
"""A text is not a date in the session's format (documented)."""
_OUTPUTS: Final = "call() of a connection, and callproc() of a cursor, call routines with OUT parameters"


def raise_for(reply: Reply, sql: str | None = None, options: ConnectOptions | None = None) -> None:
    """Raise the error in a reply: of a client's file, of the server, or of a value that could not be decoded.

    Args:
        options: of the session, for hints.
    """
    if reply.file_failure is not None:
        if sql is not None:
            note_sql(reply.file_failure, sql)
        raise reply.file_failure
    if reply.error is not None:
        raise failure_of(reply.error, sql, options=options)
    if reply.bad_value is not None:
        if sql is not None:
            note_sql(reply.bad_value, sql)
        raise reply.bad_value


def failure_of(
    error: ServerError,
    sql: str | None = None,
    row_index: int | None = None,
    options: ConnectOptions | None = None,
) -> DatabaseError:
    """The exception for an SQ_ERR, with a hint if there is one."""
    failure = from_server(
        error.sqlcode,
        error.isamcode,
        offset=error.offset,
        token=error.token,
        sql=sql,
        row_index=row_index,
        sqlstate=error.sqlstate,
        text=error.text,
    )
    if sql is not None and (hint := _hint_for(failure, sql, options)):
        failure.add_note(hint)
    return failure


def _hint_for(error: DatabaseError, sql: str, options: ConnectOptions | None) -> str:
    if error.sqlcode in _DATES:
        return options.date_hint if options is not None else ""
    if not isinstance(error, (ProgrammingError, NotSupportedError)):
        return ""
    if error.sqlcode == NEEDS_VARIABLE and routine_in(error.token):
        return _OUTPUTS
    from aioifx.client.sql.foreign_sql import hint_at  # here, because errors of SQL are rare

    placeholder = hint_for_text(sql) if isinstance(error, SQLSyntaxError) else ""
    return placeholder or hint_at(sql, error.sqlcode, error.offset, error.token)


def note_sql(error: BaseException, sql: str) -> None:
    """Add the statement's text to its error, unless it is there."""
    if isinstance(error, DatabaseError) and error.sql is None:
        error.sql = sql


def is_cancelled_or_timed_out(error: BaseException) -> bool:
    """Whether *error* is a cancellation or a timeout, after which cleanup is deferred instead of awaited."""
    return not isinstance(error, Exception) or isinstance(error, QueryTimeout)


def session_ended() -> ConnectionLost:
    """The error after SQ_EXIT."""
    return ConnectionLost("the server ended the session")


async def reject_unsolicited(
    read: Callable[[Inbox], Awaitable[Reply]], inbox: Inbox, on_reply: Callable[[Reply], object]
) -> NoReturn:
    """Read a message that no request asked for: SQ_EXIT, or one of a server that no longer speaks SQLI.

    Raises:
        ProtocolError: unless *on_reply* raises a better error for it.
    """
    on_reply(await read(inbox))
    raise ProtocolError("the server sent an unexpected message")
