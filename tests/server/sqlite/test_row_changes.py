from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from aioifx.server.catalog import catalog
from aioifx.server.sql.model.schema import ColumnDef, Index, IndexPart, Table
from aioifx.server.sql.model.type_rules import INTEGER
from aioifx.server.sqlite.lock_manager import Kind, LockManager, LockMode, Resource
from aioifx.server.sqlite.row_changes import RowChanges
from aioifx.server.sqlite.undo_log import unpacked

WIDE = tuple(f"c{number}" for number in range(250))


def table(columns: tuple[str, ...], unique: tuple[str, ...] = ()) -> Table:
    indexes = (Index("i", "anna", tuple(map(IndexPart, unique)), is_unique=True),) if unique else ()
    return Table(100, "t", "anna", tuple(ColumnDef(name, INTEGER) for name in columns), indexes=indexes)


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def watching(connection: sqlite3.Connection, watched: Table, locks: LockManager) -> RowChanges:
    connection.execute(f"CREATE TABLE t100 ({', '.join(column.name for column in watched.columns)})")
    for index in watched.indexes:
        connection.execute(f"CREATE UNIQUE INDEX i ON t100 ({', '.join(index.columns)})")
    changes = RowChanges(connection, locks, "demo", "me", {})
    changes.watch(watched, catalog.empty_schema())
    changes.begin(is_kept=True)
    return changes


@pytest.mark.parametrize("columns", [("a", "b"), WIDE])
def test_versions_have_all_columns(connection: sqlite3.Connection, columns: tuple[str, ...]) -> None:
    changes = watching(connection, table(columns, columns[1:2]), LockManager())
    marks = ", ".join("?" * len(columns))
    connection.execute(f"INSERT INTO t100 VALUES ({marks})", range(len(columns)))
    connection.execute(f"UPDATE t100 SET {columns[-1]} = -1")
    connection.execute("DELETE FROM t100")
    images = [version.image and list(unpacked(version.image)) for version in changes.versions]
    first = list(range(len(columns)))
    assert images == [None, first, [*first[:-1], -1]]
    assert [version.op for version in changes.versions] == ["I", "U", "D"]
    changes.end()
    assert changes.versions == []


def test_the_row_and_the_keys_that_it_loses_are_locked(connection: sqlite3.Connection) -> None:
    locks = LockManager()
    changes = watching(connection, table(("a", "b"), ("a",)), locks)
    connection.execute("INSERT INTO t100 VALUES ('x  ', 1)")
    assert [held.resource.kind for held in locks.locks()] == [Kind.TABLE]  # no other session sees the row yet
    changes.lock_new_rows()
    connection.execute("UPDATE t100 SET b = 2")
    assert locks.mode_of("me", Resource("demo", 100, Kind.ROW, 1)) is LockMode.X
    key = Resource("demo", 100, Kind.KEY, (("a",), ("x",)))
    assert locks.mode_of("me", key) is None
    connection.execute("DELETE FROM t100")
    assert locks.mode_of("me", key) is LockMode.X


def test_a_lock_of_another_owner_ends_the_statement(connection: sqlite3.Connection) -> None:
    locks = LockManager()
    changes = watching(connection, table(("a",)), locks)
    connection.execute("INSERT INTO t100 VALUES (1), (2)")
    row = Resource("demo", 100, Kind.ROW, 2)
    locks.try_acquire("other", row, LockMode.S)
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute("UPDATE t100 SET a = a + 1")
    assert changes.conflict is not None
    assert (changes.conflict.resource, changes.conflict.mode) == (row, LockMode.X)
    assert connection.execute("SELECT a FROM t100").fetchall() == [(1,), (2,)]


def test_restored_rows_are_not_noted(connection: sqlite3.Connection) -> None:
    locks = LockManager()
    changes = watching(connection, table(("a",)), locks)
    changes.is_undoing = True
    connection.execute("INSERT INTO t100 VALUES (1)")
    assert changes.versions == [] == locks.locks()
    assert connection.execute("SELECT ifx_undoing()").fetchone() == (1,)


def test_a_table_is_watched_with_its_present_columns(connection: sqlite3.Connection) -> None:
    changes = watching(connection, table(("a",)), LockManager())
    changes.forget()
    connection.execute("ALTER TABLE t100 ADD COLUMN b")
    changes.watch(table(("a", "b")), catalog.empty_schema())
    connection.execute("INSERT INTO t100 VALUES (1, 2)")
    connection.execute("DELETE FROM t100")
    image = changes.versions[-1].image
    assert image is not None and list(unpacked(image)) == [1, 2]
