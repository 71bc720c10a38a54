"""The transaction around a test that is rolled back. Never: a fixture, a database."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from aioifx.client.api.connection import Connection
from aioifx.client.api.transaction import Transaction
from aioifx.errors import DatabaseError, InterfaceError
from aioifx.testing.seeds import Seed, run_seed

_SAVEPOINT: Final = "ifx_rollback"


async def begin(conn: Connection[Any], seeds: Iterable[Seed]) -> Transaction:
    """Begin a transaction, and run *seeds* in it.

    Raises:
        NotSupportedError: the database has no log.
        DatabaseError: a statement of a seed failed.
    """
    transaction = conn.transaction()
    await transaction.start()
    for seed in seeds:
        await run_seed(conn, seed)
    await conn.execute(f"SAVEPOINT {_SAVEPOINT}")
    return transaction


async def roll_back(conn: Connection[Any], transaction: Transaction) -> bool:
    """Roll back the transaction; if its connection is closed, the server does it.

    Returns:
        False if the test has ended the transaction itself, and may have committed changes.
    """
    if conn.is_closed():
        return True
    try:
        await conn.execute(f"ROLLBACK WORK TO SAVEPOINT {_SAVEPOINT}")
    except (DatabaseError, InterfaceError):
        is_whole = conn.is_closed()  # the connection was lost
    else:
        is_whole = True
    with suppress(DatabaseError, InterfaceError):  # there is no transaction
        await transaction.rollback()
    return is_whole
