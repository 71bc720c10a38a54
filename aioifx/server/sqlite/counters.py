"""Counters of one database that ROLLBACK does not reset. Never: what a counter numbers.

A counter is kept in memory, shared by all sessions of a database. It is written to the database's file when a session
closes the database.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from sqlite3 import Connection
from typing import Generic, TypeVar

K = TypeVar("K", int, str)


class Counters(Generic[K]):
    """Counters by tabid and a second key; thread-safe.

    Args:
        table: the file's table of counters.
        second_key: its column after tabid, with its type.
    """

    def __init__(self, table: str, second_key: str) -> None:
        self._lock = threading.Lock()
        self._last: dict[tuple[int, K], int] = {}
        self._unsaved: set[tuple[int, K]] = set()
        self._table = table
        self._create = (
            f"CREATE TABLE IF NOT EXISTS main.{table} (tabid INTEGER, {second_key}, last INTEGER, "
            f"PRIMARY KEY (tabid, {second_key.split()[0]})) WITHOUT ROWID"
        )

    def on_created(self, tabid: int) -> None:
        """Called when a new table or sequence gets *tabid*, which a rolled back or dropped one may have used."""
        with self._lock:
            for key in [key for key in self._last if key[0] == tabid]:
                del self._last[key]
                self._unsaved.discard(key)

    @property
    def has_unsaved(self) -> bool:
        """Whether a counter has changed since it was saved."""
        return bool(self._unsaved)

    def save(self, connection: Connection) -> None:
        """Write the changed counters to the database's file."""
        with self._lock:
            unsaved = [(tabid, second, self._last[tabid, second]) for tabid, second in self._unsaved]
            self._unsaved.clear()
        if unsaved:
            connection.execute(self._create)
            connection.executemany(f"REPLACE INTO main.{self._table} VALUES (?, ?, ?)", unsaved)

    def _read(self, connection: Connection) -> Iterator[tuple[int, K, int]]:
        """The counters in the database's file."""
        known = "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?"
        if connection.execute(known, (self._table,)).fetchone():
            yield from connection.execute(f"SELECT * FROM main.{self._table}")
