"""The server of a test session, embedded or real, and its databases. Never: a fixture."""

from __future__ import annotations

import re
import warnings
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, Final

import pytest

import aioifx.server
from aioifx.client.api.connection import Connection
from aioifx.client.connect.connect import connect
from aioifx.dbapi.loop_thread import LoopThread
from aioifx.errors import DatabaseError, InterfaceError
from aioifx.server.sqlite.databases import DEFAULT_LOCALE, LogMode
from aioifx.testing.seeds import Seed, run_seed, seed_of
from aioifx.testing.settings import Settings

_URL: Final = re.compile(r"(informix://[^/?#]*)(?:/[^?#]*)?(?:\?([^#]*))?")
_LOCALES: Final = ("locale=", "client_locale=", "db_locale=")
_LOGGING: Final = {LogMode.UNLOGGED: "", LogMode.LOGGED: " WITH LOG", LogMode.ANSI: " WITH LOG MODE ANSI"}
_NOT_FOUND: Final = -329
"""There is no such database."""


class RealHost:
    """Creates databases by CREATE DATABASE, and runs every seed in each."""

    def __init__(self, settings: Settings) -> None:
        """Raise InterfaceError if the address is not a URL."""
        url = _URL.fullmatch(settings.dsn or "")
        if url is None:
            raise InterfaceError(
                "informix_dsn: expected a URL, informix://user:password@host:port?server=name"
            )
        self._address = url[1]
        query = (url[2] or "").split("&")
        if settings.locale:
            query = [option for option in query if not option.startswith(_LOCALES)]
            query += [f"client_locale={settings.locale}", f"db_locale={settings.locale}"]
        self._query = "&".join(filter(None, query))
        self._logging = _LOGGING[settings.log_mode]
        self._present: set[str] = set()
        """Databases that may exist: added before they are created, removed after they are dropped."""
        self._thread = LoopThread(callers_drive=False)

    def dsn_of(self, name: str) -> str:
        """The address with another database."""
        return f"{self._address}/{name}" + (f"?{self._query}" if self._query else "")

    def create(self, name: str, seeds: tuple[Seed, ...]) -> None:
        """Create a database, and run *seeds* in it.

        Raises:
            ConnectError: the server cannot be reached.
            DatabaseError: a statement failed, and the database was dropped again.
        """
        try:
            self._thread.run(lambda: self._create(name, seeds))
        except DatabaseError:
            if name in self._present:
                self.drop(name)
            raise

    async def _create(self, name: str, seeds: tuple[Seed, ...]) -> None:
        async with connect(self.dsn_of("")) as conn:
            self._present.add(name)
            await conn.execute(f"CREATE DATABASE {name}{self._logging}")
            for seed in seeds:
                await run_seed(conn, seed)

    def drop(self, name: str) -> None:
        """Drop a database. One that is still in use is dropped by `close`."""
        self._thread.run(lambda: self._drop([name]))

    async def _drop(self, names: list[str]) -> list[str]:
        """Return the error of each database that was not dropped."""
        try:
            async with connect(self.dsn_of("")) as conn:
                errors = [await self._drop_one(conn, name) for name in names]
        except DatabaseError as error:  # the server cannot be reached, or the connection was lost
            return [f"{name}: {error}" for name in names]
        return [error for error in errors if error]

    async def _drop_one(self, conn: Connection[Any], name: str) -> str:
        try:
            await conn.execute(f"DROP DATABASE {name}")
        except DatabaseError as error:
            if error.sqlcode != _NOT_FOUND:
                return f"{name}: {error}"
        self._present.discard(name)
        return ""

    def close(self) -> None:
        """Drop the databases that are left; a warning names those that cannot be dropped."""
        try:
            if self._present:
                kept = self._thread.run(lambda: self._drop(sorted(self._present)))
                if kept:
                    warnings.warn("databases of tests were not dropped:\n" + "\n".join(kept), stacklevel=2)
        finally:
            self._thread.end()


class EmbeddedHost:
    """Creates databases by copying templates.

    There is a template for the seeds of the options, and for each combination of seeds that is used again.
    """

    def __init__(self, settings: Settings) -> None:
        """Start the server.

        Raises:
            Error: as `aioifx.server.Server.start`.
        """
        self._prefix = settings.database
        self._lock = Lock()
        self._templates: dict[tuple[Seed, ...], str] = {}
        self._used = {settings.seeds}
        self._failed: dict[tuple[Seed, ...], DatabaseError] = {}
        locale = settings.locale or DEFAULT_LOCALE
        self.server = aioifx.server.Server(
            aioifx.server.ServerOptions((), log_mode=settings.log_mode, db_locale=locale)
        )
        self._thread = LoopThread(callers_drive=False)
        try:
            self._thread.run(self.server.start)
        except BaseException:
            self._thread.end()
            raise

    def create(self, name: str, seeds: tuple[Seed, ...]) -> None:
        """Create a database, seeded in the order of *seeds*.

        Raises:
            DatabaseError: a statement of a seed failed.
        """
        with self._lock:
            if error := self._failed.get(seeds):
                raise error.with_traceback(None)  # seeds that fail are not run for each test again
            try:
                if seeds in self._used and seeds not in self._templates:
                    template = f"{self._prefix}_template_{len(self._templates)}"
                    self._build(template, seeds)
                    self._templates[seeds] = template
                self._build(name, seeds)
            except DatabaseError as error:
                self._failed[seeds] = error
                raise
            self._used.add(seeds)

    def _build(self, name: str, seeds: tuple[Seed, ...]) -> None:
        """Create a database from the template with the most of *seeds*, and run the others."""
        known = next((n for n in range(len(seeds), 0, -1) if seeds[:n] in self._templates), 0)
        template = self._templates.get(seeds[:known])
        self.server.create_database(name, copy_of=template, seeds=seeds[known:])

    def drop(self, name: str) -> None:
        """Drop a database, if the test has not dropped it; its sessions are ended."""
        try:
            self._thread.run(lambda: self.server.drop_database(name))
        except DatabaseError as error:
            if error.sqlcode != _NOT_FOUND:
                raise

    def dsn_of(self, name: str) -> str:
        return self.server.dsn_of(name)

    def close(self) -> None:
        """Close the server."""
        try:
            self._thread.run(self.server.close)
        finally:
            self._thread.end()


_SHOWN: Final = 20
"""Statements in the report of a test that fails."""


@dataclass(frozen=True, slots=True)
class Database:
    """A database for tests."""

    name: str
    """Unique on its server."""
    dsn: str
    """Its address, for any client; ``aioifx.connect(database.dsn)``."""


class Server:
    """The server of the tests in one process: the embedded one in a thread, or the one of ``--informix-dsn``.

    Its methods block, and may be called in any thread but the server's own.
    """

    def __init__(self, settings: Settings, root: Path) -> None:
        self._settings = settings
        self._root = root
        self._embedded = EmbeddedHost(settings) if settings.is_embedded else None
        self._host = self._embedded or RealHost(settings)
        self._numbers = count(1)
        self._shared: Database | None = None

    @property
    def is_embedded(self) -> bool:
        """Whether it is the embedded server."""
        return self._embedded is not None

    @property
    def embedded(self) -> aioifx.server.Server:
        """The embedded server; with ``--informix-dsn`` the test that asks for it is skipped.

        Its coroutine functions and `stats` are for its own event loop; everything else may be called in any thread.
        """
        if self._embedded is None:
            pytest.skip("needs the embedded server, and --informix-dsn names another")
        return self._embedded.server

    @property
    def faults(self) -> aioifx.server.Faults:
        """The faults of the embedded server; those that are still armed after a test are undone. As `embedded`.

        To lock a table: ``ifx_server.faults.lock("item", database=ifx_database.name)``.
        """
        return self.embedded.faults

    def statements(
        self, database: Database | str | None = None
    ) -> AbstractContextManager[aioifx.server.StatementLog]:
        """The statements that clients run in a block: ``with ifx_server.statements() as log:``. As `embedded`.

        Args:
            database: log the statements in this database only, or in the one of this name; None: in all.
        """
        return self.embedded.statements(database.name if isinstance(database, Database) else database)

    def last_statements(self, database: Database, after: aioifx.server.StatementRecord | None) -> str:
        """The last statements in *database*, a line for each; empty if the server is a real one.

        Args:
            after: `last_statement` at an earlier time; None: nothing had been run then.
        """
        log = aioifx.server.StatementLog()
        if self._embedded is not None:
            found = self.embedded.recent_statements
            start = found.index(after) + 1 if after in found else 0
            for record in [each for each in found[start:] if each.database == database.name][-_SHOWN:]:
                log.append(record)
        return str(log)

    @property
    def last_statement(self) -> aioifx.server.StatementRecord | None:
        """The last statement that was run; None if there is none, or the server is a real one."""
        found = () if self._embedded is None else self.embedded.recent_statements
        return found[-1] if found else None

    @property
    def database(self) -> Database:
        """The database that tests share, with the seeds of the options. It is created when it is first used."""
        if self._shared is None:
            self._shared = self._create(self._settings.database)
        return self._shared

    @property
    def dsn(self) -> str:
        """The address of `database`."""
        return self.database.dsn

    def create_database(self, *seeds: str | Path) -> Database:
        """Create a database with the seeds of the options, and then *seeds*.

        Args:
            seeds: SQL, each statement terminated by ``;``; or paths of scripts that end with ``.sql``, relative to
                pytest's rootdir.

        Raises:
            DatabaseError: a statement of a seed failed; the message has its number, its line and its script.
            InterfaceError: a script cannot be read.
        """
        return self._create(f"{self._settings.database}_{next(self._numbers)}", *seeds)

    def _create(self, name: str, *seeds: str | Path) -> Database:
        more = tuple(seed_of(seed, self._root, "informix_seed") for seed in seeds)
        self._host.create(name, (*self._settings.seeds, *more))
        return Database(name, self._host.dsn_of(name))

    def drop_database(self, database: Database) -> None:
        """Drop a database, if it exists, or forget `database`, so that the next use creates it again."""
        if database == self._shared:
            self._shared = None
        self._host.drop(database.name)

    def close(self) -> None:
        """Drop all databases; close the embedded server."""
        self._host.close()
