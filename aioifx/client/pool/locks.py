"""`diagnose_locks`: the locks that caused an error, for a connection or a pool. Never: a query."""

from __future__ import annotations

from typing import Any

from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.config.checks import check_seconds
from aioifx.client.connect.locks import LockDiagnosis, diagnose
from aioifx.client.observation.operation import Operation
from aioifx.client.pool.pool import Pool
from aioifx.errors import DatabaseError, InterfaceError


async def diagnose_locks(
    conn_or_pool: Connection[Any] | Pool[Any], error: DatabaseError, *, timeout: float = 5.0
) -> LockDiagnosis:
    """The sessions whose locks may have caused *error*, usually a `LockError`, from the server's sysmaster database.

    The queries run on a connection of their own to sysmaster, with the same user and password, as dirty reads.
    *conn_or_pool* sends nothing, so its transaction does not change. It may be closed. Of a pool, the server of one of
    its connections is asked.

    The session's own locks are distinguished if its number is known: with ``lock_diagnosis=True``, or after
    `Connection.session_id`.

    Args:
        timeout: seconds for all of it.

    Returns:
        The locks and their sessions; if they cannot be queried in time, why.

    Raises:
        InterfaceError: an argument has the wrong type.
    """
    if not isinstance(error, DatabaseError):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise InterfaceError(f"error: expected a DatabaseError, got {type(error).__name__}")
    check_seconds("timeout", timeout)
    if isinstance(conn_or_pool, Pool):
        session = conn_or_pool._manager.any_session()  # pyright: ignore[reportPrivateUsage]
        if session is None:
            return LockDiagnosis("", failure="the pool has no connection")
    elif isinstance(conn_or_pool, Connection):  # pyright: ignore[reportUnnecessaryIsInstance]
        session = statements_of(conn_or_pool).base_session
    else:
        raise InterfaceError(
            f"conn_or_pool: expected a Connection or a Pool, got {type(conn_or_pool).__name__}"
        )
    target = Operation("execute")
    target.set_identity(session.identity())
    return await diagnose(
        session.options, target, target.database or session.options.database, error, timeout
    )
