"""Which tables have full-row logging, kept beside the log of changes. Never: their changes."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from aioifx.server.sqlite.private_files import private


class Logging(NamedTuple):
    """The full-row logging of one table."""

    is_on: bool
    form: str
    """Its columns, when it was last turned on."""
    first: int
    """The position from which on the log has rows of that form."""


class CapturedTables:
    """The tables of all databases of a server that have or had full-row logging, by tabid; thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            written: dict[str, dict[str, tuple[bool, str, int]]] = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            written = {}
        self._tables: dict[str, Mapping[int, Logging]] = {
            name: {int(tabid): Logging(*facts) for tabid, facts in tables.items()}
            for name, tables in written.items()
        }

    def of(self, database: str) -> frozenset[int]:
        """Those of one database that have it."""
        return frozenset(tabid for tabid, each in self._tables.get(database, {}).items() if each.is_on)

    def first(self, database: str, tabid: int) -> int:
        """See `Logging.first`."""
        return self._tables[database][tabid].first

    def set(self, database: str, tabid: int, form: str, end: int, *, is_on: bool) -> None:
        """Turn it on or off for a table.

        Args:
            form: its columns.
            end: that of the log.

        Raises:
            OSError: it cannot be written.
        """
        with self._lock:
            tables = self._tables.get(database, {})
            known = tables.get(tabid)
            first = end if known is None or known.form != form else known.first
            self._write({**self._tables, database: {**tables, tabid: Logging(is_on, form, first)}})

    def forget(self, database: str) -> None:
        """Forget the tables of a database.

        Raises:
            OSError: it cannot be written.
        """
        with self._lock:
            if database in self._tables:
                self._write({name: each for name, each in self._tables.items() if name != database})

    def _write(self, tables: dict[str, Mapping[int, Logging]]) -> None:
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        written = self._path.with_suffix(".new")  # a killed server leaves the old file or the new one
        with open(written, "w", encoding="utf-8", opener=private) as file:
            json.dump(tables, file)
        written.replace(self._path)
        self._tables = tables
