"""The numbers that serial columns generate. Never: the statement that needs one; the message that carries it.

A counter is kept in memory, shared by all sessions of a database, so that ROLLBACK does not reset it. It starts from
the table's rows and the database file, and is written to the file when the database is closed.
"""

from __future__ import annotations

import threading
from sqlite3 import Connection
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import ColumnDef, Table
from aioifx.sqltypes import TypeCode

_LIMITS: Final[dict[int, tuple[int, int]]] = {
    TypeCode.SERIAL: (2**31 - 1, -1215),
    TypeCode.SERIAL8: (2**63 - 1, -1284),
    TypeCode.BIGSERIAL: (2**63 - 1, -1284),
}
"""The greatest number, and the SQLCODE of exceeding it (assumed: those of INTEGER and BIGINT)."""

_CREATE: Final = (
    "CREATE TABLE IF NOT EXISTS main.ifx_serials "
    "(tabid INTEGER, name TEXT, last INTEGER, PRIMARY KEY (tabid, name)) WITHOUT ROWID"
)


class Serials:
    """The counters of one database, or of one session's temporary tables."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[tuple[int, str], int] = {}
        self._primed: set[tuple[int, str]] = set()
        self._unsaved: set[tuple[int, str]] = set()

    def prime(self, connection: Connection, table: Table) -> None:
        """Load the counters of *table* unless they are loaded already."""
        for column in table.serials:
            key = table.tabid, column.name
            if key in self._primed:
                continue
            begin = max(_greatest(connection, table, column), _stored(connection, table, column))
            with self._lock:
                self._last[key] = max(self._last.get(key, 0), begin, column.serial_start - 1)
                self._primed.add(key)

    def take(self, table: Table, name: str, value: int | None) -> int:
        """The number to store for *value*: 0 takes the next one; a new greatest value advances the counter.

        Raises:   SqlError: -391, NULL; -1215 or -1284, no numbers are left.
        """
        if value is None:
            raise SqlError(-391, token=name)
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

    def altered(self, table: Table) -> None:
        """Called when *table* has a new definition: its start value applies only if it is greater than the counter."""
        with self._lock:
            self._primed = {key for key in self._primed if key[0] != table.tabid}

    def created(self, tabid: int) -> None:
        """Called when a new table gets *tabid*, which a rolled back or dropped one may have used before."""
        with self._lock:
            for key in [key for key in self._last if key[0] == tabid]:
                del self._last[key]
                self._primed.discard(key)
                self._unsaved.discard(key)

    @property
    def unsaved(self) -> bool:
        """Whether a counter has changed since it was saved."""
        return bool(self._unsaved)

    def save(self, connection: Connection) -> None:
        """Write the changed counters to the database's file."""
        with self._lock:
            unsaved = [(tabid, name, self._last[tabid, name]) for tabid, name in self._unsaved]
            self._unsaved.clear()
        if unsaved:
            connection.execute(_CREATE)
            connection.executemany("REPLACE INTO main.ifx_serials VALUES (?, ?, ?)", unsaved)


def _greatest(connection: Connection, table: Table, column: ColumnDef) -> int:
    (value,) = connection.execute(f'SELECT MAX("{column.name}") FROM {table.source}').fetchone()
    return int(value or 0)


def _stored(connection: Connection, table: Table, column: ColumnDef) -> int:
    if table.is_temp:
        return 0
    known = connection.execute(
        "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = 'ifx_serials'"
    ).fetchone()
    if not known:
        return 0
    row = connection.execute(
        "SELECT last FROM main.ifx_serials WHERE tabid = ? AND name = ?", (table.tabid, column.name)
    ).fetchone()
    return int(row[0]) if row else 0
