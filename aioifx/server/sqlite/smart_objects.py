"""BLOB and CLOB values in a database file: numbered objects in chunks, counts of references. Never: a descriptor.

Invariants:
1. A row has the number of an object. Triggers of its table count the references (`sqlite_ddl`), so they are undone
   with the statement or the transaction.
2. Chunks have the same size, except the last. A chunk that was never written is all zeros, and is not stored. So an
   object of any size is written and read in constant memory, and each write costs what it writes.
3. Numbers are random: a locator never refers to an object that was created later.
"""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from sqlite3 import Connection
from typing import Final

CHUNK: Final = 64 * 1024
"""Bytes of a chunk: twice the usual piece of a write, so few are stored more than twice."""

_NUMBER_BITS: Final = 38
_CHUNK_BITS: Final = 24
MAX_SIZE: Final = CHUNK << _CHUNK_BITS
"""One TiB."""


def create(connection: Connection) -> int:
    """A new, empty object without references."""
    number = 0
    while not number or size_of(connection, number) is not None:
        number = secrets.randbits(_NUMBER_BITS)
    connection.execute('INSERT INTO main."ifx_objects" VALUES (?, 0, 0)', (number,))
    return number


def size_of(connection: Connection, number: int) -> int | None:
    """The size of an object in bytes; None if there is no such object."""
    row = connection.execute('SELECT size FROM main."ifx_objects" WHERE id = ?', (number,)).fetchone()
    return None if row is None else int(row[0])


def read(connection: Connection, number: int, position: int, size: int) -> bytes:
    """At most *size* bytes from *position*; fewer only at the end."""
    whole = size_of(connection, number) or 0
    size = min(size, whole - position)
    if size <= 0:
        return b""
    found = bytearray(size)
    first, last = position // CHUNK, (position + size - 1) // CHUNK
    for chunk, data in _chunks(connection, number, first, last):
        start = chunk * CHUNK - position
        part = data[max(0, -start) : size - start]
        found[max(0, start) : max(0, start) + len(part)] = part
    return bytes(found)


def _chunks(connection: Connection, number: int, first: int, last: int) -> Iterator[tuple[int, bytes]]:
    """The stored chunks from *first* to *last*."""
    base = number << _CHUNK_BITS
    rows = connection.execute(
        'SELECT id - ?, data FROM main."ifx_chunks" WHERE id BETWEEN ? AND ? ORDER BY id',
        (base, base + first, base + last),
    )
    yield from rows


def write(connection: Connection, number: int, position: int, data: bytes) -> None:
    """Write *data* at *position*; bytes between the old end and *position* become zeros."""
    if not data:
        return
    view, start, stop = memoryview(data), position, position + len(data)
    rows: list[tuple[int, bytes]] = []
    while start < stop:
        chunk, offset = divmod(start, CHUNK)
        part = view[start - position : start - position + CHUNK - offset]
        rows.append(((number << _CHUNK_BITS) + chunk, _merged(connection, number, chunk, offset, part)))
        start += len(part)
    connection.executemany(
        'INSERT INTO main."ifx_chunks" VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data',
        rows,
    )
    connection.execute('UPDATE main."ifx_objects" SET size = max(size, ?) WHERE id = ?', (stop, number))


def _merged(connection: Connection, number: int, chunk: int, offset: int, part: memoryview) -> bytes:
    """A chunk with *part* at *offset*."""
    if len(part) == CHUNK:
        return bytes(part)
    old = next((data for _, data in _chunks(connection, number, chunk, chunk)), b"")
    merged = bytearray(old.ljust(offset, b"\0"))
    merged[offset : offset + len(part)] = part
    return bytes(merged)


def truncate(connection: Connection, number: int, size: int) -> None:
    """Set the size; bytes after the old end become zeros."""
    base = number << _CHUNK_BITS
    chunk, rest = divmod(size, CHUNK)
    connection.execute(
        'DELETE FROM main."ifx_chunks" WHERE id BETWEEN ? AND ?',
        (base + chunk + bool(rest), base + (1 << _CHUNK_BITS) - 1),
    )
    connection.execute(
        'UPDATE main."ifx_chunks" SET data = substr(data, 1, ?) WHERE id = ? AND length(data) > ?',
        (rest, base + chunk, rest),
    )
    connection.execute('UPDATE main."ifx_objects" SET size = ? WHERE id = ?', (size, number))


def copy(connection: Connection, number: int) -> int | None:
    """A new object with the same bytes; None if there is no such object."""
    size = size_of(connection, number)
    if size is None:
        return None
    made = create(connection)
    base = number << _CHUNK_BITS
    connection.execute(
        'INSERT INTO main."ifx_chunks" SELECT id - ? + ?, data FROM main."ifx_chunks" WHERE id BETWEEN ? AND ?',
        (base, made << _CHUNK_BITS, base, base + (1 << _CHUNK_BITS) - 1),
    )
    connection.execute('UPDATE main."ifx_objects" SET size = ? WHERE id = ?', (size, made))
    return made


def unreferenced(connection: Connection) -> list[int]:
    """The objects without references."""
    return [number for (number,) in connection.execute('SELECT id FROM main."ifx_objects" WHERE refs <= 0')]


def delete_unreferenced(connection: Connection, numbers: Sequence[int]) -> None:
    """Delete those of *numbers* that have no references."""
    for number in numbers:
        gone = 'DELETE FROM main."ifx_objects" WHERE id = ? AND refs <= 0'
        if connection.execute(gone, (number,)).rowcount:
            base = number << _CHUNK_BITS
            connection.execute(
                'DELETE FROM main."ifx_chunks" WHERE id BETWEEN ? AND ?',
                (base, base + (1 << _CHUNK_BITS) - 1),
            )


class ObjectsInUse:
    """The objects of one database that sessions use, and that must not be deleted; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uses: Counter[int] = Counter()

    def add(self, number: int) -> None:
        """Count one more use."""
        with self._lock:
            self._uses[number] += 1

    def remove(self, number: int) -> None:
        """Count one use less."""
        with self._lock:
            self._uses[number] -= 1
            if not self._uses[number]:
                del self._uses[number]

    def without(self, numbers: Iterable[int]) -> list[int]:
        """Those of *numbers* that are not used."""
        with self._lock:
            return [number for number in numbers if number not in self._uses]
