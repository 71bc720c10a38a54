from __future__ import annotations

import gc
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


class Stopped(Exception):
    pass


class Numbers:
    """A source of the rows 0 to *count* - 1."""

    def __init__(self, count: int) -> None:
        self._rows = iter([(number,) for number in range(count)])
        self.is_closed = False

    def fetchmany(self, size: int, /) -> list[tuple[int]]:
        assert not self.is_closed
        return list(islice(self._rows, size))

    def close(self) -> None:
        self.is_closed = True


@given(
    st.sampled_from([0, 1, 999, 1000, 1001, 2000, 2500]),
    st.lists(
        st.tuples(st.sampled_from(["fetch", "next row", "settle"]), st.sampled_from([1, 2, 3, 700])),
        max_size=12,
    ),
)
def test_a_settling_that_is_stopped_loses_no_row(count: int, steps: list[tuple[str, int]]) -> None:
    source = Numbers(count)
    cursor, rows = Cursor(source), list[tuple[int]]()
    for step, number in steps:
        if step == "fetch":
            more, is_last = cursor.fetch(number)
            rows += more
            assert is_last == (len(rows) == count)
        elif step == "next row":
            rows += cursor.next_row()
        else:
            checks = iter(range(number - 1))

            def check(checks: Iterator[int] = checks) -> None:
                if next(checks, None) is None:
                    raise Stopped

            with suppress(Stopped):
                cursor.settle(check)
    while len(rows) < count:
        rows += cursor.fetch(800)[0]
    assert rows == [(number,) for number in range(count)]
    assert cursor.fetch(1) == ([], True) and cursor.fetched == count and source.is_closed
    cursor.close()


def test_closing_twice_does_no_harm(connection: sqlite3.Connection) -> None:
    cursor = opened(connection)
    cursor.close()
    cursor.close()
    assert cursor.fetch(1) == ([], True)
