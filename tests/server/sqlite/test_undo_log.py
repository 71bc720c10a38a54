from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.model.storage import Stored
from aioifx.server.sqlite import undo_log


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE t100 (a, b)")
    connection.execute("CREATE TABLE ifx_objects (id INTEGER PRIMARY KEY, size, refs)")
    connection.executemany("INSERT INTO t100 VALUES (?, ?)", [(1, "x"), (2, "y"), (3, "z")])
    undo_log.create(connection)
    undo_log.create(connection)
    yield connection
    connection.close()


def rows(connection: sqlite3.Connection, table: str = "t100") -> list[tuple[object, ...]]:
    return connection.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid").fetchall()


VALUES = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text(), st.binary()
)


@given(st.lists(VALUES, max_size=20))
def test_values_survive_the_log(values: list[Stored]) -> None:
    assert list(undo_log.unpacked(undo_log.packed(values))) == values


def test_the_first_version_of_each_row_is_restored(connection: sqlite3.Connection) -> None:
    log = undo_log.UndoLog(connection)
    connection.execute("UPDATE t100 SET a = 10 WHERE rowid = 1")
    connection.execute("DELETE FROM t100 WHERE rowid = 2")
    connection.execute("INSERT INTO t100 VALUES (4, 'w')")
    versions = [
        undo_log.Version(100, 1, "U", undo_log.packed((1, "x"))),
        undo_log.Version(100, 1, "U", undo_log.packed((5, "later"))),
        undo_log.Version(100, 2, "D", undo_log.packed((2, "y"))),
        undo_log.Version(100, 4, "I", None),
    ]
    assert log.append(7, 0, versions) == 4
    found = connection.execute("SELECT seq, txn, tabid, row, op FROM ifx_undo").fetchall()
    result = [row[1:] for row in found]
    assert result == [(7, 100, 1, "U"), (7, 100, 1, "U"), (7, 100, 2, "D"), (7, 100, 4, "I")]
    assert {undo_log.transaction_of(row[0]) for row in found} == {7}
    with undo_log.without_foreign_keys(connection):
        log.restore(7)
    assert rows(connection) == [(1, 1, "x"), (2, 2, "y"), (3, 3, "z")]
    assert log.is_empty


def test_a_savepoint_and_other_transactions_keep_their_versions(connection: sqlite3.Connection) -> None:
    log = undo_log.UndoLog(connection)
    mark = log.append(1, 0, [undo_log.Version(100, 1, "U", undo_log.packed((0, "first")))])
    log.append(2, 0, [undo_log.Version(100, 3, "U", undo_log.packed((0, "other")))])
    log.append(1, mark, [undo_log.Version(100, 2, "U", undo_log.packed((0, "second")))])
    log.restore(1, mark)
    assert rows(connection) == [(1, 1, "x"), (2, 0, "second"), (3, 3, "z")]
    log.discard(1)
    assert not log.is_empty
    log.restore_all()
    assert log.is_empty
    assert rows(connection) == [(1, 1, "x"), (2, 0, "second"), (3, 0, "other")]


def test_smart_large_objects_have_their_number_as_rowid(connection: sqlite3.Connection) -> None:
    log = undo_log.UndoLog(connection)
    connection.execute("INSERT INTO ifx_objects VALUES (77, 5, 1)")
    log.append(1, 0, [undo_log.Version(undo_log.OBJECTS, 77, "U", undo_log.packed((77, 4, 0)))])
    log.restore(1)
    assert rows(connection, "ifx_objects") == [(77, 77, 4, 0)]


def test_a_restoration_that_fails_changes_nothing(connection: sqlite3.Connection) -> None:
    with pytest.raises(ZeroDivisionError), undo_log.without_foreign_keys(connection):
        connection.execute("DELETE FROM t100")
        raise ZeroDivisionError
    assert len(rows(connection)) == 3
    assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
