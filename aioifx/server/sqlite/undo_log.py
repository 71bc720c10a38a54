"""The undo log: versions of rows before a transaction changed them, in the database's file. Never: locks, SQLCODEs.

Invariants:
1. A statement's changes and their versions are written in one SQLite transaction. So the log is complete whenever the
   file is, also after the server was killed.
2. ``seq`` consists of the number of the transaction and a number that increases within it. So the versions of one
   transaction, and those after a savepoint, are a range.
3. Rows are restored in two phases: all present versions are deleted, then the old ones are inserted. So a unique key
   that two rows have exchanged is never a duplicate.
4. Triggers and foreign keys have no effect on restored rows. Each trigger of a table has ``NOT ifx_undoing()`` in its
   condition, or calls a function that does nothing while `UndoLog.is_undoing`.
"""

from __future__ import annotations

import marshal
import sqlite3
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.sqlite.render import identifier
from aioifx.server.sqlite.connection import transaction

_CREATE: Final = (
    'CREATE TABLE IF NOT EXISTS {catalog}."ifx_undo" (seq INTEGER PRIMARY KEY, tabid INTEGER NOT NULL,'
    " row INTEGER NOT NULL, op TEXT NOT NULL, image BLOB, txn INTEGER AS (seq >> 32))"
)
_SHIFT: Final = 32
_ENTRIES: Final = (1 << _SHIFT) - 1

OBJECTS, CHUNKS, TEMP_TABLES, TEMP_STATE = -1, -2, -3, -4
"""Numbers of the server's own tables in the log."""

TRUNCATION: Final = "T"
"""`Version.op` of an entry that no row has: what is deleted after it is deleted by a TRUNCATE."""

_OWN_TABLES: Final = {
    OBJECTS: "ifx_objects",
    CHUNKS: "ifx_chunks",
    TEMP_TABLES: "ifx_tables",
    TEMP_STATE: "ifx_state",
}
_KEYED_BY_ROWID: Final = (OBJECTS, CHUNKS, TEMP_TABLES)
"""Their first column is the rowid."""


class Version(NamedTuple):
    """A row before a transaction changed it."""

    tabid: int
    row: int
    """Its rowid."""
    op: str
    """What changed it: ``I``, ``U`` or ``D``."""
    image: bytes | None
    """`packed` values of its columns, in SQLite's order; None for ``I``."""


class Change(NamedTuple):
    """A change of a row, with both of its versions."""

    entry: int
    """Its number within the transaction."""
    tabid: int
    op: str
    before: bytes | None
    """`packed` values, as in `Version`."""
    after: bytes | None
    """The same; None for ``D``."""


def packed(values: Sequence[Stored]) -> bytes:
    """The values of a row's columns as stored in the log."""
    return marshal.dumps(list(values))


def unpacked(image: bytes) -> Sequence[Stored]:
    """The values that `packed` was given."""
    values: Sequence[Stored] = marshal.loads(image)
    return values


def create(connection: sqlite3.Connection, catalog: str = "main") -> None:
    """Create the log of a database file or, with *catalog* temp, of a session's temporary tables."""
    connection.execute(_CREATE.format(catalog=catalog))


class UndoLog:
    """The log of one SQLite schema, as one connection uses it."""

    def __init__(self, connection: sqlite3.Connection, catalog: str = "main") -> None:
        self._connection = connection
        self._catalog = catalog
        self._table = f'{catalog}."ifx_undo"'
        self._insert = f"INSERT INTO {self._table} (seq, tabid, row, op, image) VALUES (?, ?, ?, ?, ?)"

    def append(self, transaction: int, mark: int, versions: Sequence[Version]) -> int:
        """Append *versions* to the entries of a transaction, in the running SQLite transaction.

        Args:
            mark: the number of its entries so far.

        Returns:
            Their number from now on.
        """
        first = (transaction << _SHIFT) + mark
        entries = ((seq, *version) for seq, version in enumerate(versions, first))
        if versions:
            self._connection.executemany(self._insert, entries)
        return mark + len(versions)

    def discard(self, transaction: int) -> None:
        """Delete the entries of a transaction, which has been committed."""
        self._connection.execute(f"DELETE FROM {self._table} WHERE seq BETWEEN ? AND ?", _range(transaction))

    def restore(self, transaction: int, mark: int = 0) -> None:
        """Restore the rows that a transaction has changed after *mark* entries, in the running SQLite transaction."""
        self._restore(_range(transaction, mark))

    def changes(self, transaction: int, tabids: Collection[int], mark: int = 0) -> Iterator[Change]:
        """What a transaction has changed in some tables of users after *mark* entries, in order.

        The version after a change is the one before the next change of the row, or the row itself.
        """
        wanted = ", ".join(map(str, tabids))
        query = (
            f"SELECT seq, tabid, row, op, image, lead(seq) OVER same, lead(image) OVER same FROM {self._table}"
            f" WHERE seq BETWEEN ? AND ? AND tabid IN ({wanted})"
            " WINDOW same AS (PARTITION BY tabid, row ORDER BY seq) ORDER BY seq"
        )
        for seq, tabid, row, op, image, later, after in self._connection.execute(
            query, _range(transaction, mark)
        ):
            if op not in ("I", "U"):
                after = None
            elif later is None:
                after = self._present(tabid, row)
            yield Change(seq & _ENTRIES, tabid, op, image, after)

    def _present(self, tabid: int, row: int) -> bytes | None:
        values = self._connection.execute(
            f"SELECT * FROM {self._source(tabid)} WHERE rowid = ?", (row,)
        ).fetchone()
        return None if values is None else packed(values)

    def transactions(self) -> list[int]:
        """The numbers of the transactions that have entries."""
        found = self._connection.execute(f"SELECT DISTINCT txn FROM {self._table} ORDER BY txn")
        return [number for (number,) in found]

    @property
    def is_empty(self) -> bool:
        """Whether there is no transaction that `restore_all` would roll back."""
        return self._connection.execute(f"SELECT 1 FROM {self._table} LIMIT 1").fetchone() is None

    def restore_all(self) -> None:
        """Restore what transactions of a killed server have changed."""
        self._restore((0, 2**63 - 1))

    def _restore(self, entries: tuple[int, int]) -> None:
        first: dict[int, dict[int, bytes | None]] = {}
        query = f"SELECT tabid, row, image FROM {self._table} WHERE seq BETWEEN ? AND ? ORDER BY seq DESC"
        for tabid, row, image in self._connection.execute(query, entries):
            first.setdefault(tabid, {})[row] = image  # the last one in this order is the first version
        for tabid, images in first.items():
            delete = f"DELETE FROM {self._source(tabid)} WHERE rowid = ?"
            self._connection.executemany(delete, ((row,) for row in images))
        for tabid, images in first.items():
            self._reinsert(tabid, images)
        self._connection.execute(f"DELETE FROM {self._table} WHERE seq BETWEEN ? AND ?", entries)

    def _reinsert(self, tabid: int, images: dict[int, bytes | None]) -> None:
        source = self._source(tabid)
        found = self._connection.execute(f"SELECT * FROM {source} LIMIT 0")
        names = [identifier(column[0]) for column in found.description]
        has_rowid = tabid not in _KEYED_BY_ROWID
        if has_rowid:
            names.insert(0, "rowid")
        marks = ", ".join("?" * len(names))
        rows = (
            (row, *unpacked(image)) if has_rowid else unpacked(image)
            for row, image in sorted(images.items())
            if image is not None
        )
        self._connection.executemany(f"INSERT INTO {source} ({', '.join(names)}) VALUES ({marks})", rows)

    def _source(self, tabid: int) -> str:
        return f'{self._catalog}."{_OWN_TABLES.get(tabid) or f"t{tabid}"}"'


def _range(transaction: int, mark: int = 0) -> tuple[int, int]:
    first = transaction << _SHIFT
    return first + mark, first + (1 << _SHIFT) - 1


@contextmanager
def without_foreign_keys(
    connection: sqlite3.Connection, *, is_shared: bool = True
) -> Generator[None, None, None]:
    """Context of one SQLite transaction that restores rows; if it fails, nothing is changed."""
    connection.execute("PRAGMA foreign_keys=OFF")
    try:
        with transaction(connection, is_shared=is_shared):
            yield
    finally:
        connection.execute("PRAGMA foreign_keys=ON")
