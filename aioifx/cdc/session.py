"""One capture session at the server: opened, filled, activated, read, closed. Never: what a record means.

The session belongs to a connection to syscdcv1, and is read as if its number were the descriptor of an open smart large
object.

Source: documented: the routines (CDC API Programmer's Guide); observed: JDBC 15, their calls and the reads
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, Self

from aioifx.cdc.codes import INSTALL, LSN, NAMES, PRIVILEGES, cdc_error
from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.config.options import ConnectOptions
from aioifx.client.connect.connect import open_connection
from aioifx.client.lobs.smart_object import read_stream
from aioifx.codecs.cdc_records import log_of, lsn_text, sequence_of
from aioifx.errors import CdcError, ConnectionLost, DatabaseError, ProtocolError, QueryTimeout

logger: Final = logging.getLogger("aioifx.cdc")

DATABASE: Final = "syscdcv1"

LOCALE: Final = "en_US.utf8"
"""Of syscdcv1 (documented)."""

BUFFER: Final = 65_536
"""Bytes of one read. Observed: other clients read 8,192 to 65,536; documented: 128 to 2 GB."""

_NO_DATABASE: Final = -329
_NO_PRIVILEGE: Final = -387

_SERVER_NAME: Final = "select env_value from sysmaster:sysenv where env_name = 'INFORMIXSERVER'"
OLDEST: Final = "select min(uniqid) from sysmaster:syslogs where uniqid > 0"
_CURRENT: Final = "select max(uniqid) from sysmaster:syslogs where is_current = 1"
_PRESENT: Final = "select uniqid, used from sysmaster:syslogs where is_current = 1"
_PAGE_BITS: Final = 12
_CODES: Final = "select errcode, errname, errdesc from informix.syscdcerrcodes"


class Captured(NamedTuple):
    """What is captured of one table."""

    name: str
    """``database:owner.table``."""
    columns: Sequence[str]
    label: int


class CdcSession:
    """A capture session and its connection; made by `open`.

    Args:
        number: of the session, as cdc_opensess returned it.
    """

    def __init__(self, conn: Connection[Any], number: int) -> None:
        self.conn = conn
        self.number = number
        self._captured: list[Captured] = []
        self._codes: dict[int, tuple[str, str]] | None = None

    @classmethod
    async def open(cls, options: ConnectOptions, *, seconds: int, max_records: int) -> Self:
        """Connect to syscdcv1, and open a session there.

        Args:
            options: *command_timeout* limits each call and read.
            seconds: after which a read without data ends.
            max_records: the most records of a read.

        Raises:
            CdcError: the server refuses it.
            DatabaseError: the connection failed.
        """
        try:
            conn = await open_connection(options)
        except DatabaseError as error:
            if error.sqlcode in (_NO_DATABASE, _NO_PRIVILEGE):
                error.add_note(INSTALL if error.sqlcode == _NO_DATABASE else PRIVILEGES)
            raise
        session = cls(conn, 0)
        try:
            server = await session._server_name()
            number = await session._call("opensess", server, 0, seconds, max_records, 1, 1)
        except BaseException:
            conn.terminate()
            raise
        return cls(conn, number)

    async def _server_name(self) -> str:
        """The DBSERVERNAME; the name of the login may be an alias of it (observed: JDBC asks the same)."""
        try:
            name = await self.conn.fetchval(_SERVER_NAME)
        except DatabaseError:
            name = None
        return str(name).strip() if name else self.conn.server_name

    async def start(self, tables: Iterable[Captured], position: int = 0) -> None:
        """Turn on full-row logging of *tables*, capture them, and activate the session.

        Args:
            position: the sequence number of an earlier record; 0: now.

        Raises:
            CdcError: the server refuses one.
        """
        for table in tables:
            await self._call("set_fullrowlogging", table.name, 1)
            await self._call("startcapture", self.number, 0, table.name, ",".join(table.columns), table.label)
            self._captured.append(table)
        if position:
            await self._check_logs(position)
        await self._call("activatesess", self.number, position)

    async def present(self) -> int:
        """The sequence number of what comes next.

        Source: observed: other clients start at it. Assumed: a page of the log has 4 KB
        """
        row = await self.conn.fetchrow(_PRESENT)
        if row is None:
            raise CdcError("sysmaster:syslogs has no current log")
        return sequence_of(int(row[0]), int(row[1]) << _PAGE_BITS)

    async def _check_logs(self, position: int) -> None:
        """Refuse a position in logs that are gone, from which a server may deliver rows of other tables (observed)."""
        try:
            oldest, current = await self.conn.fetchval(OLDEST), await self.conn.fetchval(_CURRENT)
        except ConnectionLost:
            raise
        except DatabaseError as error:
            logger.warning("the logs are not known, so that the position is not checked: %s", error)
            return
        if oldest is None or current is None or int(oldest) <= log_of(position) <= int(current):
            return
        found = NAMES[LSN], f"{lsn_text(position)} is outside of the logs {oldest} to {current}"
        raise cdc_error(LSN, found)

    # -- reading ------------------------------------------------------------------------------------------------------

    async def read(self) -> bytes:
        """The next bytes of records, which the server waits for.

        Raises:
            ConnectionLost: the connection has ended.
            CdcError: the server returned no data, or an error.
        """
        session = statements_of(self.conn).session
        try:
            async with session.turn(apply_settings=False):
                data = await read_stream(session, self.number, BUFFER)
        except QueryTimeout as error:
            raise self._silent() from error
        if data.size < 0:
            raise await self.error(data.size, "read")
        if data.size == 0:  # a failure, by IBM's sample; TIMEOUT is a record
            raise CdcError("a read of the capture session returned nothing")
        return bytes(data.data)

    async def error(self, code: int, during: str) -> CdcError:
        """The exception for a code, with the server's own name and text of it."""
        if self._codes is None:
            self._codes = {}
            with suppress(DatabaseError):
                for number, name, text in await self.conn.fetch(_CODES):
                    self._codes[int(number)] = str(name or "").strip(), str(text or "").strip()
        return cdc_error(code, self._codes.get(code), during=during)

    def _silent(self) -> ConnectionLost:
        """Drop the connection of a server that does not answer."""
        self.terminate()
        return ConnectionLost("the capture session did not answer within stall_timeout")

    async def _call(self, routine: str, *arguments: object) -> int:
        """The result of a routine.

        Raises:
            CdcError: it is negative.
        """
        sql = f"execute function informix.cdc_{routine}({', '.join('?' * len(arguments))})"
        try:
            result = await self.conn.fetchval(sql, *arguments)
        except QueryTimeout as error:
            raise self._silent() from error
        if not isinstance(result, int):
            raise ProtocolError(f"cdc_{routine}: expected a number, got {type(result).__name__}")
        if result < 0:
            raise await self.error(result, f"cdc_{routine}")
        return result

    # -- closing ------------------------------------------------------------------------------------------------------

    async def close(self, *, stop_logging: bool, is_dead: bool = False) -> None:
        """End the captures, close the session and the connection. What the server refuses is logged.

        Full-row logging is turned off last: not before the end of a table's capture (documented), which for a dead
        session is that of the session.

        Args:
            stop_logging: turn off full-row logging of the tables, so that later changes cannot be captured.
            is_dead: the server accepts cdc_closesess only.
        """
        names = [table.name for table in self._captured]
        calls: list[tuple[str, tuple[object, ...]]] = [
            *(("endcapture", (self.number, 0, name)) for name in ([] if is_dead else names)),
            ("closesess", (self.number,)),
            *(("set_fullrowlogging", (name, 0)) for name in names if stop_logging),
        ]
        for routine, given in calls:
            try:
                await self._call(routine, *given)
            except ConnectionLost:
                raise
            except DatabaseError as error:
                logger.warning("closing the capture session: %s", error)
        await self.conn.close()

    def terminate(self) -> None:
        """Drop the connection, also during a read."""
        self.conn.terminate()
