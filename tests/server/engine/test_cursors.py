from __future__ import annotations

import gc
import sqlite3
from collections.abc import Iterator

import pytest

from aioifx.server.engine.cursors import Cursor


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE t (a INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(1, 11)])
    yield connection
    connection.close()


def opened(connection: sqlite3.Connection, **options: object) -> Cursor:
    text = "SELECT a, rowid FROM t ORDER BY a" if options.get("has_rowid") else "SELECT a FROM t ORDER BY a"
    return Cursor(connection.execute(text), **options)  # type: ignore[arg-type]


def test_the_last_block_is_known_as_the_last(connection: sqlite3.Connection) -> None:
    cursor = opened(connection)
    assert cursor.fetch(4) == ([(1,), (2,), (3,), (4,)], False)
    assert cursor.fetch(6) == ([(5,), (6,), (7,), (8,), (9,), (10,)], True)
    assert cursor.fetch(6) == ([], True)
    assert cursor.fetched == 10


def test_a_settled_cursor_continues_at_its_position(connection: sqlite3.Connection) -> None:
    cursor = opened(connection)
    cursor.fetch(3)
    cursor.settle()
    assert not cursor.is_live
    connection.execute("DELETE FROM t")
    assert cursor.fetch(6) == ([(4,), (5,), (6,), (7,), (8,), (9,)], False)
    assert cursor.fetch(6) == ([(10,)], True)
    assert cursor.fetch(6) == ([], True)
    assert cursor.fetched == 10
    cursor.close()


def test_an_interrupted_settling_leaves_no_open_file(connection: sqlite3.Connection) -> None:
    class Interrupted:
        def fetchmany(self, size: int, /) -> list[tuple[int]]:
            raise sqlite3.OperationalError("interrupted")

        def close(self) -> None: ...

    cursor = Cursor(Interrupted())
    with pytest.raises(sqlite3.OperationalError):
        cursor.settle()
    gc.collect()  # an unclosed file would warn, and warnings are errors
    cursor.close()


def test_settling_an_exhausted_cursor_changes_nothing(connection: sqlite3.Connection) -> None:
    cursor = opened(connection)
    cursor.fetch(20)
    cursor.settle()
    assert cursor.fetch(1) == ([], True)


def test_a_settled_cursor_knows_its_rows_by_number(connection: sqlite3.Connection) -> None:
    cursor = opened(connection)
    cursor.settle()
    assert cursor.count == 10
    assert [cursor.row(n) for n in (0, 1, 10, 11)] == [None, (1,), (10,), None]
    cursor.close()


def test_the_rowid_is_kept_aside_and_belongs_to_the_last_row_fetched(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM t WHERE a < 5")
    cursor = opened(connection, has_rowid=True)
    assert cursor.rowid is None
    assert cursor.fetch(2) == ([(5,), (6,)], False)
    assert cursor.rowid == 6
    cursor.settle()
    assert cursor.fetch(1) == ([(7,)], False)
    assert cursor.rowid == 7
    cursor.close()


def test_closing_twice_does_no_harm(connection: sqlite3.Connection) -> None:
    cursor = opened(connection)
    cursor.close()
    cursor.close()
    assert cursor.fetch(1) == ([], True)
