"""Where a check runs: a connection, unique names, cleanup of what it creates. Never: what is expected of servers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple, TypeAlias

from aioifx.client.api.connection import Connection, statements_of
from aioifx.errors import ConnectError, ConnectionLost, DatabaseError, LockError, PermissionDenied
from aioifx.sqltypes import Value

Connect: TypeAlias = Callable[..., Awaitable[Connection[Any]]]

_OWN: Final = re.compile(r"\bvfy_")
_CREATES: Final = re.compile(
    r"\s*CREATE\s+(?:TEMP\s+)?(TABLE|VIEW|SYNONYM|SEQUENCE|ROW\s+TYPE|DISTINCT\s+TYPE|FUNCTION|PROCEDURE)\s+(\w+)",
    re.IGNORECASE,
)
_INTO_TEMP: Final = re.compile(r"\bINTO\s+TEMP\s+(\w+)", re.IGNORECASE)
_DROPS: Final = {"ROW TYPE": "DROP ROW TYPE {} RESTRICT", "DISTINCT TYPE": "DROP TYPE {} RESTRICT"}
_IN_ALL_MULTI_BYTE: Final = "\u3042"
"""A character that each code set with characters of several bytes has: HIRAGANA LETTER A."""
_ABANDON_TIMEOUT: Final = 5.0
_GONE: Final = frozenset({-206, -218, -319, -329, -634, -674, -9628, -8300})
"""SQLCODEs of DROP for what does not exist: it was rolled back, or dropped with something else."""
_UNABLE: Final = frozenset({-229, -242, -261, -271, -312, -388, -12053, -12054, -9810, -9990})
"""SQLCODEs for a lack of disk space, of a dbspace or sbspace, or of RESOURCE."""


class Refuted(Exception):
    """The server does something else than is assumed."""


class CannotTry(Exception):
    """The check needs something that this server, database or user does not have."""


class Columns(NamedTuple):
    """The description of a result."""

    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


def describe_error(error: DatabaseError) -> str:
    """The codes of an error, without the names and values that its message may contain."""
    codes = f"SQLCODE {error.sqlcode}" if error.sqlcode else ""
    if error.isamcode:
        codes += f" (ISAM {error.isamcode})"
    if isinstance(error, ConnectionLost):  # its message has the server's address
        return codes or "a lost connection"
    return codes or f"{type(error).__name__}: {error}"


class Lab:
    """The surroundings of one run of all checks.

    Args:
        connect: opens a connection, with the options of the run and others that a check needs.
        prefix: precedes the names of all that checks create.
        forget: called when a check has prepared its data, of which its trace need not have every row.
    """

    def __init__(self, connect: Connect, prefix: str, *, forget: Callable[[], None] = lambda: None) -> None:
        self._connect = connect
        self.forget = forget
        self._prefix = prefix
        self._created: list[str] = []
        self.left_behind: list[str] = []
        """Statements of cleanup that failed, with their errors."""
        self.connection: Connection[Any] | None = None

    @property
    def conn(self) -> Connection[Any]:
        """The connection of the current check."""
        assert self.connection is not None
        return self.connection

    @property
    def is_connected(self) -> bool:
        """Whether the connection of the current check is open."""
        return self.connection is not None and not self.connection.is_closed()

    async def open(self) -> Connection[Any]:
        """Open the connection, unless it is open; drop what a check before a lost connection has left."""
        if self.connection is None or self.connection.is_closed():
            self.connection = await self._connect()
            await self.clean()
        return self.connection

    async def start(self, *, in_transaction: bool) -> None:
        """Prepare the connection for the next check.

        Raises:
            CannotTry: no transaction can be started.
        """
        conn = await self.open()
        if in_transaction and conn.log_mode == "logged":
            await self.prepare("BEGIN WORK")
        elif in_transaction and conn.is_ansi:
            conn.autocommit = False

    async def close(self) -> None:
        """Close the connection, after a last cleanup."""
        conn = await self.open()
        self._leave_behind()
        await conn.close()

    async def abandon(self) -> None:
        """Drop what the check has created, if that takes a few seconds at most, and the connection."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_ABANDON_TIMEOUT):
                    await self.clean()
        finally:
            self._leave_behind()
            self.terminate()

    def terminate(self) -> None:
        """Drop the connection without waiting."""
        if self.connection is not None:
            self.connection.terminate()

    @asynccontextmanager
    async def another(self, **options: Any) -> AsyncGenerator[Connection[Any], None]:
        """A connection of its own, with other options.

        Raises:
            CannotTry: the server refuses it.
        """
        try:
            conn = await self._connect(**options)
        except ConnectError as error:
            raise CannotTry(f"another connection failed with SQLCODE {error.sqlcode}") from error
        async with conn:
            yield conn

    def named(self, sql: str) -> str:
        """*sql* with this run's names in place of those that start with ``vfy_``."""
        return _OWN.sub(self._prefix, sql)

    def require_database(
        self, *, ansi: bool | None = None, logged: bool | None = None, single_byte: bool = False
    ) -> None:
        """Raise `CannotTry` unless the database has this kind; None: any.

        Args:
            single_byte: whether each character must be one byte.
        """
        codec = statements_of(self.conn).session.code_set.codec
        if single_byte and len(_IN_ALL_MULTI_BYTE.encode(codec, "ignore")) > 1:
            raise CannotTry("it needs a database in which each character is one byte")
        if ansi is not None and ansi is not self.conn.is_ansi:
            raise CannotTry(f"it needs {'an ANSI database' if ansi else 'a database that is not ANSI'}")
        if logged is not None and logged is not (self.conn.log_mode != "unlogged"):
            raise CannotTry(f"it needs a database {'with' if logged else 'without'} a log")

    def is_unable(self, error: DatabaseError) -> bool:
        """Whether *error* says that something is missing here, rather than that something is assumed wrongly."""
        return isinstance(error, LockError | PermissionDenied) or error.sqlcode in _UNABLE

    async def prepare(self, *statements: str, conn: Connection[Any] | None = None) -> None:
        """Run statements that the check needs, but does not check.

        Args:
            conn: where to run them; None: on the check's connection. Others may only create temporary objects.

        Raises:
            CannotTry: one of them failed.
        """
        for statement in statements:
            try:
                if conn is None:
                    await self.run(statement)
                else:
                    await conn.execute(self.named(statement))
            except DatabaseError as error:
                if not error.connection_usable:
                    raise
                raise CannotTry(f"the preparation failed: {describe_error(error)}") from error

    async def run(self, sql: str, *params: Value) -> Sequence[Any]:
        """Run a statement, and note what it creates.

        Returns:
            Its rows.
        """
        return (await self.query(sql, *params))[0]

    async def query(self, sql: str, *params: Value) -> tuple[Sequence[Any], Columns]:
        """As `run`, with the description of the columns."""
        sql = self.named(sql)
        self.note_created(sql)
        async with self.conn.cursor() as cursor:
            await cursor.execute(sql, params)
            if not cursor.description:
                return [], Columns()
            columns = [(column[0], str(column[1])) for column in cursor.description]
            names, types = zip(*columns, strict=True)
            return await cursor.fetchall(), Columns(names, types)

    def note_created(self, sql: str) -> None:
        """Remember to drop what a statement creates, unless a failed repetition of one tries to create it again."""
        if found := _CREATES.match(sql):
            kind = " ".join(found[1].upper().split())
            statement = _DROPS.get(kind, f"DROP {kind} {{}}").format(found[2])
        elif found := _INTO_TEMP.search(sql):
            statement = f"DROP TABLE {found[1]}"
        else:
            return
        if statement not in self._created:
            self._created.append(statement)

    async def clean(self) -> None:
        """End the transaction, and drop what the check has created. If the connection is lost, the next one does it."""
        try:
            await self._clean()
        except DatabaseError:
            self.terminate()

    async def _clean(self) -> None:
        conn = self.conn
        if conn.is_in_transaction() or conn.is_ansi:
            await conn.rollback()
            conn.autocommit = True
        while self._created:
            statement = self._created[-1]
            try:
                await conn.execute(statement)
            except DatabaseError as error:
                if not error.connection_usable:
                    raise
                if error.sqlcode not in _GONE:
                    self.left_behind.append(f"{statement}: SQLCODE {error.sqlcode}")
            self._created.pop()

    def _leave_behind(self) -> None:
        """Note what could not be dropped, because connections were lost."""
        self.left_behind += [f"{statement}: not run" for statement in self._created]
