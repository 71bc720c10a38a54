"""Which tables have full-row logging, kept beside the log of changes. Never: their changes."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from aioifx.server.sqlite.private_files import private


class CapturedTables:
    """The tables of all databases of a server with full-row logging, by tabid; thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        try:
            written: dict[str, list[int]] = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            written = {}
        self._tabids = {name: frozenset(tabids) for name, tabids in written.items()}

    def of(self, database: str) -> frozenset[int]:
        """Those of one database."""
        return self._tabids.get(database, frozenset())

    def set(self, database: str, tabids: frozenset[int]) -> None:
        """Replace those of one database.

        Raises:
            OSError: they cannot be written.
        """
        with self._lock:
            tables = {**self._tabids, database: tabids}
            known = {name: sorted(each) for name, each in tables.items() if each}
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
            written = self._path.with_suffix(".new")  # a killed server leaves the old file or the new one
            with open(written, "w", encoding="utf-8", opener=private) as file:
                json.dump(known, file)
            written.replace(self._path)
            self._tabids = {name: frozenset(each) for name, each in known.items()}
