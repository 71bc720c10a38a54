"""The server of a test session, and its databases. Never: a fixture."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

import pytest

import aioifx.server
from aioifx.testing.embedded_host import EmbeddedHost
from aioifx.testing.real_host import RealHost
from aioifx.testing.seeds import seed_of
from aioifx.testing.settings import Settings

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
    """The server of the tests in one process: the embedded one in a thread, or that of ``--informix-dsn``.

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
