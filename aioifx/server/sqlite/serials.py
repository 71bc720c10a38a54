"""The numbers that serial columns generate. Never: the statement that needs one; the message that carries it.

A counter starts from the table's rows and the database's file.
"""

from __future__ import annotations

from sqlite3 import Connection
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import ColumnDef, Table
from aioifx.server.sqlite.counters import Counters
from aioifx.sqltypes import TypeCode

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
