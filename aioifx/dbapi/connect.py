"""PEP 249's connect: options with its defaults, and an open connection. Never: a socket, SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, Unpack

from aioifx.client.api.connection import Connection as AsyncConnection
from aioifx.client.config.options import AllOptionFields, ConnectOptions
from aioifx.client.config.resolve import resolve
from aioifx.client.connect.connect import open_connection
from aioifx.dbapi.connection import Connection
from aioifx.dbapi.loop_thread import loop_thread
from aioifx.errors import InterfaceError
from aioifx.rows import tuple_row

_DEFAULTS: Final[AllOptionFields] = {"autocommit": False, "lobs": "inline", "row_factory": tuple_row}
"""Defaults that differ from the asyncio client's: as PEP 249 and its users expect."""


async def open_transactional(options: ConnectOptions) -> AsyncConnection[Any]:
    """Open a connection. In a database without a log, autocommit is True whatever the options say."""
    opening = options if options.autocommit else replace(options, autocommit=True)
    connection: AsyncConnection[Any] = await open_connection(opening)
    if connection.log_mode != "unlogged":
        connection.autocommit = options.autocommit
    return connection


def connect(dsn: str | None = None, **options: Unpack[AllOptionFields]) -> Connection:
    """Open a connection, and block until it is open.

    Args:
        dsn: as for `aioifx.connect`.
        options: as for `aioifx.connect`, with other defaults: autocommit is False, rows are tuples, and large objects
            are values, as by ``lobs="inline"``. In a database without a log, autocommit is always True.

    Raises:
        InterfaceError: an option is invalid or missing, lobs is not "inline", or the interpreter is exiting.
        ConnectError, AuthenticationError: as for `aioifx.connect`.
    """
    resolved = resolve(dsn, options, defaults=_DEFAULTS)
    if resolved.lobs != "inline":
        raise InterfaceError(
            f'lobs: expected "inline", got {resolved.lobs!r}; others need the asyncio client'
        )
    thread = loop_thread()
    opened: list[AsyncConnection[Any]] = []

    async def work() -> None:
        connection = await open_transactional(resolved)
        thread.connections.add(connection)
        opened.append(connection)

    try:
        thread.run(work)
    except BaseException:
        for connection in opened:  # it was open when the exception came
            thread.loop.call_soon_threadsafe(connection.terminate)
        raise
    return Connection(thread, opened[0])
