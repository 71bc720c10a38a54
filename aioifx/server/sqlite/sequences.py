"""The numbers that sequences generate. Never: the statement that needs one, the last number of a session.

A counter is kept in memory, shared by all sessions of a database, so that ROLLBACK does not reset it. It is written
to the database's file when a session closes the database.
"""

from __future__ import annotations

import threading
from sqlite3 import Connection
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import Table

_PAST_MAXIMUM: Final = -8313
_PAST_MINIMUM: Final = -8314

_CREATE: Final = (
    "CREATE TABLE IF NOT EXISTS main.ifx_sequences "
    "(tabid INTEGER, epoch INTEGER, last INTEGER, PRIMARY KEY (tabid, epoch)) WITHOUT ROWID"
)


class Sequences:
    """The counters of one database; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[tuple[int, int], int] = {}
        self._unsaved: set[tuple[int, int]] = set()
        self._is_loaded = False

    def load(self, connection: Connection) -> None:
        """Load the counters from the file; later calls have no effect."""
        with self._lock:
            if self._is_loaded:
                return
            self._is_loaded = True
            known = "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = 'ifx_sequences'"
            if connection.execute(known).fetchone():
                for tabid, epoch, last in connection.execute("SELECT * FROM main.ifx_sequences"):
                    self._last[tabid, epoch] = last

    def take(self, table: Table) -> int:
        """The next number of a sequence.

        Raises:   SqlError: -8313 or -8314, the sequence is exhausted and does not cycle.
        """
        sequence = table.sequence
        assert sequence is not None
        key = table.tabid, sequence.epoch
        with self._lock:
            last = self._last.get(key)
            number = sequence.first if last is None else last + sequence.increment
            if number > sequence.maximum:
                if not sequence.cycles:
                    raise SqlError(_PAST_MAXIMUM, token=table.name)
                number = sequence.minimum
            elif number < sequence.minimum:
                if not sequence.cycles:
                    raise SqlError(_PAST_MINIMUM, token=table.name)
                number = sequence.maximum
            self._last[key] = number
            self._unsaved.add(key)
        return number

    def created(self, tabid: int) -> None:
        """Called when a new sequence gets *tabid*, which a rolled back one may have used before."""
        with self._lock:
            for key in [key for key in self._last if key[0] == tabid]:
                del self._last[key]
                self._unsaved.discard(key)

    @property
    def unsaved(self) -> bool:
        """Whether a counter has changed since it was saved."""
        return bool(self._unsaved)

    def save(self, connection: Connection) -> None:
        """Write the changed counters to the database's file."""
        with self._lock:
            unsaved = [(*key, self._last[key]) for key in self._unsaved]
            self._unsaved.clear()
        if unsaved:
            connection.execute(_CREATE)
            connection.executemany("REPLACE INTO main.ifx_sequences VALUES (?, ?, ?)", unsaved)
