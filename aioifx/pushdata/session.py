"""One push-data session at the server: opened or joined, its queries registered, read, deleted. Never: a document.

The session belongs to a connection to the database sysadmin. It is read as if its descriptor were that of an open
smart large object (documented).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self

from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.config.options import ConnectOptions
from aioifx.client.connect.connect import open_connection
from aioifx.client.lobs.smart_object import read_stream
from aioifx.errors import ConnectionLost, Error, PushDataError, QueryTimeout, visible
from aioifx.pushdata.documents import attributes
from aioifx.rows import tuple_row

logger: Final = logging.getLogger("aioifx.events")

DATABASE: Final = "sysadmin"
"""Push data is a task of this database (documented)."""

BUFFER: Final = 256_000
"""Bytes of one read, unless the caller says otherwise. A document that is larger is an error of the server."""

_MOST_SECONDS: Final = 5
"""For deleting a session that was not set up."""

_REGISTERED: Final = "ok"
"""The result of a registration, in upper or lower case (observed: JDBC takes everything else for an error)."""


class PushSession:
    """A push-data session and its connection.

    Args:
        descriptor: of the session at the server.
    """

    def __init__(self, conn: Connection[Any], descriptor: int) -> None:
        self._conn = conn
        self._descriptor = descriptor

    @classmethod
    async def open(
        cls, options: ConnectOptions, session_id: str | None = None, pauses: Sequence[float] = ()
    ) -> Self:
        """A new session on a connection of its own, or the one of *session_id*, which no other connection reads.

        Args:
            options: of the connection.
            session_id: of a detached session.
            pauses: seconds before each further attempt to join, since a server may take a lost connection for open.

        Raises:
            PushDataError: the server refuses it.
            DatabaseError: the connection failed, or the user may not call ``task``.
        """
        conn = await open_connection(options)
        try:
            if session_id is None:
                answer = await _task(conn, "'pushdata open'")
            else:
                # Single quotes around double ones are one string, also with DELIMIDENT.
                join = f"'pushdata join', '{attributes({'session_id': session_id})}'"
                answer = await _task(conn, join)
                for pause in pauses:
                    if _is_positive(answer):
                        break
                    await asyncio.sleep(pause)
                    answer = await _task(conn, join)
            return cls(conn, _positive(answer, "open" if session_id is None else "join"))
        except BaseException:
            conn.terminate()
            raise

    async def detachable(self) -> str:
        """Have the session stay at the server without a connection; returns its id.

        Source: documented: pushdata setdetach; observed: JDBC calls it before it registers
        """
        return str(_positive(await _task(self._conn, "'pushdata setdetach'"), "setdetach"))

    async def register(self, registrations: Iterable[Mapping[str, object]]) -> None:
        """Register attributes of the session, and queries.

        Raises:
            PushDataError: the server refuses one.
        """
        for values in registrations:
            answer = await _task(self._conn, "'pushdata register', ?", attributes(values))
            if answer.lower() != _REGISTERED:
                raise PushDataError(f"pushdata register: {visible(answer)}")

    async def read(self, size: int, seconds: float) -> str:
        """The next documents, which the server waits for.

        Args:
            size: bytes at most.
            seconds: until the connection is given up, longer than the server's time limit.

        Raises:
            ConnectionLost: the connection has ended, or the server has not answered in time.
            PushDataError: it answered without a document.
        """
        session = statements_of(self._conn).session
        try:
            async with session.turn(seconds):
                data = await read_stream(session, self._descriptor, size)
        except QueryTimeout as error:
            self.terminate()
            raise ConnectionLost(f"no answer to a read of push data within {seconds:g} s") from error
        if data.size <= 0:
            raise PushDataError(f"a read of push data returned {data.size}")
        return session.code_set.decode(bytes(data.data))

    async def delete(self) -> None:
        """Delete the session at the server (documented: needed for detachable ones only)."""
        await _task(self._conn, "'pushdata delete'")

    async def close(self) -> None:
        """Close the connection; a session that is not detachable ends with it (documented)."""
        await self._conn.close()

    async def abandon(self, *, is_detached: bool, session_id: str | None) -> None:
        """Drop the connection of a session that was not set up.

        Args:
            is_detached: it would stay at the server, so it is deleted first.
            session_id: its id, if that is known.
        """
        try:
            if is_detached:
                async with asyncio.timeout(_MOST_SECONDS):
                    await self.delete()
        except (Error, TimeoutError) as error:
            known = session_id or "(its id is not known)"
            logger.warning("the session %s may have stayed detached at the server: %s", known, error)
        finally:
            self.terminate()

    def terminate(self) -> None:
        """Drop the connection, also during a read."""
        self._conn.terminate()


async def _task(conn: Connection[Any], arguments: str, *values: str) -> str:
    """The result of ``task``, a text.

    Source: documented: the commands; observed: JDBC 15, which texts are in the SQL and which are parameters
    """
    sql = f"EXECUTE FUNCTION informix.task({arguments})"
    row = await conn.fetchrow(sql, *values, row_factory=tuple_row)
    return "" if row is None or row[0] is None else str(row[0]).strip()


def _positive(answer: str, command: str) -> int:
    """A descriptor or id. Zero and negative numbers are errors (observed: JDBC), and so is other text (assumed)."""
    if not _is_positive(answer):
        raise PushDataError(f"pushdata {command}: {visible(answer)}")
    return int(answer)


def _is_positive(answer: str) -> bool:
    return answer.isascii() and answer.isdecimal() and int(answer) > 0
