"""The transaction around a test that is rolled back. Never: a fixture, a database."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from aioifx.client.api.connection import Connection
from aioifx.client.api.transaction import Transaction
from aioifx.client.connect.connect import connect
from aioifx.errors import DatabaseError, InterfaceError
from aioifx.testing.seeds import Seed, run_seed

_SAVEPOINT: Final = "ifx_rollback"
_SESSIONS: Final = "SELECT COUNT(*) FROM sysmaster:syssessions WHERE sid = ?"
_INTERVAL: Final = 0.01
"""Seconds between two looks at the sessions of the server, which reports no end of another one."""
_LIMIT: Final = 10.0
"""Seconds that the server has to end the session of a lost connection."""


async def begin(conn: Connection[Any], seeds: Iterable[Seed]) -> Transaction:
    """Begin a transaction, and run *seeds* in it.

    Raises:
        NotSupportedError: the database has no log.
        DatabaseError: a statement of a seed failed.
    """
    await conn.session_id()  # which `roll_back` needs if the connection is lost
    transaction = conn.transaction()
    await transaction.start()
    for seed in seeds:
        await run_seed(conn, seed)
    await conn.execute(f"SAVEPOINT {_SAVEPOINT}")
    return transaction


async def roll_back(conn: Connection[Any], transaction: Transaction, dsn: str) -> bool:
    """Roll back the transaction; if its connection is closed, wait until the server has done it.

    Args:
        dsn: the address of *conn*.

    Returns:
        False if the test has ended the transaction itself, and may have committed changes.

    Raises:
        TimeoutError: the server still has the session of the lost connection, and its locks, after 10 seconds.
    """
    is_whole = True
    if not conn.is_closed():
        try:
            await conn.execute(f"ROLLBACK WORK TO SAVEPOINT {_SAVEPOINT}")
        except (DatabaseError, InterfaceError):
            is_whole = conn.is_closed()  # the connection was lost
        with suppress(DatabaseError, InterfaceError):  # there is no transaction
            await transaction.rollback()
    if conn.is_closed():
        with suppress(DatabaseError):  # the server is gone, too
            await _wait_for_end(await conn.session_id(), dsn)
    return is_whole


async def _wait_for_end(session_id: int, dsn: str) -> None:
    """Return when the server has ended a session, and so has rolled back its transaction."""
    try:
        async with asyncio.timeout(_LIMIT), connect(dsn) as conn:
            while await conn.fetchval(_SESSIONS, session_id):  # noqa: ASYNC110 - the server sends no event
                await asyncio.sleep(_INTERVAL)
    except TimeoutError:
        raise TimeoutError(
            f"ifx_rollback: expected the server to end session {session_id}, whose connection was lost, within"
            f" {_LIMIT:g} s"
        ) from None
