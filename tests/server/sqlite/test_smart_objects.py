from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from aioifx.server.sql.translate.sqlite_ddl import object_table_steps
from aioifx.server.sqlite import smart_objects
from aioifx.server.sqlite.smart_objects import CHUNK, MAX_SIZE, ObjectsInUse


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for step in object_table_steps():
            connection.execute(step.sql)
        yield connection


def chunks(db: sqlite3.Connection) -> int:
    (count,) = db.execute("SELECT count(*) FROM ifx_chunks").fetchone()
    return int(count)


def test_an_object_is_a_file_of_bytes(db: sqlite3.Connection) -> None:
    """Random writes, cuts and reads against a bytearray."""
    source = random.Random(5)
    number, other, model = smart_objects.create(db), smart_objects.create(db), bytearray()
    smart_objects.write(db, other, 0, b"other" * 40_000)
    for _ in range(150):
        position = source.choice((0, CHUNK - 1, CHUNK, source.randrange(4 * CHUNK)))
        if source.random() < 0.15:
            size = source.choice((0, CHUNK, source.randrange(5 * CHUNK)))
            smart_objects.truncate(db, number, size)
            model[:] = model[:size].ljust(size, b"\0")
        else:
            data = source.randbytes(source.choice((0, 1, CHUNK, CHUNK + 1, source.randrange(2 * CHUNK))))
            smart_objects.write(db, number, position, data)
            if data:
                model[:] = model.ljust(position, b"\0")
                model[position : position + len(data)] = data
        assert smart_objects.size_of(db, number) == len(model)
        size = source.choice((1, CHUNK, 6 * CHUNK))
        assert smart_objects.read(db, number, position, size) == model[position : position + size]
    assert smart_objects.read(db, number, 0, 10 * CHUNK) == model
    assert smart_objects.read(db, other, 0, 10 * CHUNK) == b"other" * 40_000


def test_what_was_never_written_takes_no_room(db: sqlite3.Connection) -> None:
    number = smart_objects.create(db)
    smart_objects.write(db, number, MAX_SIZE - 1, b"x")
    assert smart_objects.size_of(db, number) == MAX_SIZE
    assert chunks(db) == 1
    assert smart_objects.read(db, number, 5 * CHUNK, 3) == bytes(3)
    assert smart_objects.read(db, number, MAX_SIZE - 3, 100) == b"\0\0x"
    smart_objects.truncate(db, number, 10)
    assert chunks(db) == 0
    assert smart_objects.read(db, number, 0, 100) == bytes(10)


def test_a_copy_is_independent(db: sqlite3.Connection) -> None:
    number = smart_objects.create(db)
    smart_objects.write(db, number, CHUNK - 2, b"four")
    copy = smart_objects.copy(db, number)
    assert copy is not None and copy != number
    smart_objects.write(db, number, CHUNK, b"XX")
    assert smart_objects.read(db, copy, CHUNK - 3, 99) == b"\0four"
    assert smart_objects.copy(db, 1) is None
    assert smart_objects.size_of(db, 1) is None
    assert smart_objects.read(db, 1, 0, 1) == b""


def test_only_objects_without_references_are_deleted(db: sqlite3.Connection) -> None:
    kept, gone = smart_objects.create(db), smart_objects.create(db)
    for number in (kept, gone):
        smart_objects.write(db, number, 0, bytes(2 * CHUNK))
    db.execute("UPDATE ifx_objects SET refs = 1 WHERE id = ?", (kept,))
    assert smart_objects.unreferenced(db) == [gone]
    smart_objects.delete_unreferenced(db, [kept, gone, 77])
    assert smart_objects.size_of(db, gone) is None
    assert chunks(db) == 2


def test_a_use_lasts_until_each_user_has_ended_it() -> None:
    uses = ObjectsInUse()
    uses.add(1)
    uses.add(1)
    uses.add(2)
    uses.remove(1)
    assert uses.without([1, 2, 3]) == [3]
    uses.remove(1)
    assert uses.without([1, 2, 3]) == [1, 3]
