"""Counters of one database that ROLLBACK does not reset: of SERIAL columns and sequences. Never: a statement.

A counter is kept in memory, shared by all sessions of a database. It is written to the database's file when a session
closes the database.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from sqlite3 import Connection
from typing import Final, Generic, TypeVar

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import ColumnDef, Table
from aioifx.sqltypes import TypeCode

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


_LIMITS: Final[dict[int, tuple[int, int]]] = {
    TypeCode.SERIAL: (2**31 - 1, -1215),
    TypeCode.SERIAL8: (2**63 - 1, -1284),
    TypeCode.BIGSERIAL: (2**63 - 1, -1284),
}
"""The greatest number, and the SQLCODE of exceeding it (assumed: those of INTEGER and BIGINT)."""


class Serials(Counters[str]):
    """The counters of one database, or of one session's temporary tables."""

    def __init__(self) -> None:
        super().__init__("ifx_serials", "name TEXT")
        self._primed: set[tuple[int, str]] = set()

    def prime(self, connection: Connection, table: Table) -> None:
        """Load the counters of *table* unless they are loaded already."""
        for column in table.serials:
            key = table.tabid, column.name
            if key in self._primed:
                continue
            begin = max(_greatest(connection, table, column), self._stored(connection, table, column))
            with self._lock:
                self._last[key] = max(self._last.get(key, 0), begin, column.serial_start - 1)
                self._primed.add(key)

    def next_value(self, table: Table, name: str, value: int | None) -> int:
        """The number to store for *value*: 0 means the next one; a new greatest value advances the counter.

        Raises:
            SqlError: -391, NULL; -1215 or -1284, no numbers are left.
        """
        if value is None:
            raise SqlError(-391, token=table.path_of(name))
        key = table.tabid, name
        column = table.column(name)
        limit, sqlcode = _LIMITS[column.type.code if column else TypeCode.SERIAL]
        with self._lock:
            last = self._last.get(key, 0)
            number = value or last + 1
            if number > limit:
                raise SqlError(sqlcode)
            if number > last:
                self._last[key] = number
                self._unsaved.add(key)
        return number

    def noted(self) -> dict[tuple[int, str], int]:
        """The counters, for `back_to`; only under the database's latch."""
        with self._lock:
            return dict(self._last)

    def back_to(self, noted: dict[tuple[int, str], int]) -> None:
        """Take back the numbers of a statement that will run again; under the same latch as `noted`."""
        with self._lock:
            self._primed &= noted.keys()
            self._last = dict(noted)

    def on_altered(self, table: Table) -> None:
        """Called when *table* has a new definition: its start value applies only if it is greater than the counter."""
        with self._lock:
            self._primed = {key for key in self._primed if key[0] != table.tabid}

    def on_created(self, tabid: int) -> None:
        super().on_created(tabid)
        with self._lock:
            self._primed = {key for key in self._primed if key[0] != tabid}

    def _stored(self, connection: Connection, table: Table, column: ColumnDef) -> int:
        if table.is_temp:
            return 0
        key = table.tabid, column.name
        return next((last for tabid, name, last in self._read(connection) if (tabid, name) == key), 0)


def _greatest(connection: Connection, table: Table, column: ColumnDef) -> int:
    (value,) = connection.execute(f'SELECT MAX("{column.name}") FROM {table.source}').fetchone()
    return int(value or 0)


_PAST_MAXIMUM: Final = -8313
_PAST_MINIMUM: Final = -8314


class Sequences(Counters[int]):
    """The counters of one database; thread-safe."""

    def __init__(self) -> None:
        super().__init__("ifx_sequences", "epoch INTEGER")
        self._is_loaded = False

    def load(self, connection: Connection) -> None:
        """Load the counters from the file; later calls have no effect."""
        with self._lock:
            if self._is_loaded:
                return
            self._is_loaded = True
            for tabid, epoch, last in self._read(connection):
                self._last[tabid, epoch] = last

    def next_value(self, table: Table) -> int:
        """The next number of a sequence.

        Raises:
            SqlError: -8313 or -8314, the sequence is exhausted and does not cycle.
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
