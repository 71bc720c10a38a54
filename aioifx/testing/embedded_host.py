"""The embedded server in a thread, with templates of seeded databases. Never: pytest."""

from __future__ import annotations

from threading import Lock
from typing import Final

from aioifx.dbapi.loop_thread import LoopThread
from aioifx.errors import DatabaseError
from aioifx.server import Server, ServerOptions
from aioifx.server.sqlite.databases import DEFAULT_LOCALE
from aioifx.testing.seeds import Seed
from aioifx.testing.settings import Settings

_NOT_FOUND: Final = -329
"""There is no such database."""


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
        self.server = Server(ServerOptions((), log_mode=settings.log_mode, db_locale=locale))
        self._thread = LoopThread()
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
