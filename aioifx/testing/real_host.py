"""Databases of tests on a real server, created and dropped by a client. Never: a template, pytest."""

from __future__ import annotations

import re
import warnings
from typing import Any, Final

from aioifx.client.api.connection import Connection
from aioifx.client.connect.connect import connect
from aioifx.dbapi.loop_thread import LoopThread
from aioifx.errors import DatabaseError, InterfaceError
from aioifx.server.sqlite.databases import LogMode
from aioifx.testing.seeds import Seed, run_seed
from aioifx.testing.settings import Settings

_URL: Final = re.compile(r"(informix://[^/?#]*)(?:/[^?#]*)?(?:\?([^#]*))?")
_LOCALES: Final = ("locale=", "client_locale=", "db_locale=")
_LOGGING: Final = {LogMode.UNLOGGED: "", LogMode.LOGGED: " WITH LOG", LogMode.ANSI: " WITH LOG MODE ANSI"}
_NOT_FOUND: Final = -329


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
        self._thread = LoopThread()

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
