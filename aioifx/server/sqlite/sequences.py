"""The numbers that sequences hand out. Never: which statement asks, what a session got last.

A counter lives in memory, shared by all sessions of a database, so that ROLLBACK does not turn it back. It is written
to the database's file when a session closes it.
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
    """The counters of one database; used by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[tuple[int, int], int] = {}
        self._unsaved: set[tuple[int, int]] = set()
        self._is_loaded = False

    def load(self, connection: Connection) -> None:
        """Know where the counters stand in the file; only the first time does anything."""
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

        Raises:   SqlFault: -8313 or -8314, it is past its last one and does not cycle.
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
        """A new sequence took *tabid*; one that was rolled back may have had it before."""
        with self._lock:
            for key in [key for key in self._last if key[0] == tabid]:
                del self._last[key]
                self._unsaved.discard(key)

    @property
    def unsaved(self) -> bool:
        """Whether a counter has moved since it was written down."""
        return bool(self._unsaved)

    def save(self, connection: Connection) -> None:
        """Write the counters that moved into the database's file."""
        with self._lock:
            unsaved = [(*key, self._last[key]) for key in self._unsaved]
            self._unsaved.clear()
        if unsaved:
            connection.execute(_CREATE)
            connection.executemany("REPLACE INTO main.ifx_sequences VALUES (?, ?, ?)", unsaved)
