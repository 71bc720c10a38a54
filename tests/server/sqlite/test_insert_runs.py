from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.sqlite.tree import Parameter, sql
from aioifx.server.sqlite.insert_runs import insert_each
from aioifx.server.sqlite.interrupts import Interrupts
from aioifx.server.sqlite.lock_manager import Kind, LockMode, Resource
from aioifx.server.sqlite.row_changes import LockConflict


class _Steps:
    """No triggers, so nothing to forget."""

    def mark(self) -> tuple[int, int, int]:
        return 0, 0, 0

    def back_to(self, mark: tuple[int, int, int]) -> None: ...


INSERT = Composed(sql("INSERT INTO t VALUES ({})", Parameter(1)))


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE t (a INTEGER UNIQUE)")
    yield connection
    connection.close()


def numbers(connection: sqlite3.Connection) -> list[int]:
    return [a for (a,) in connection.execute("SELECT a FROM t ORDER BY rowid")]


@given(st.lists(st.tuples(st.integers(0, 9)), max_size=20))
def test_rows_before_the_first_that_fails_are_kept(rows: list[tuple[Stored, ...]]) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE t (a INTEGER UNIQUE)")
    first_twice = next((n for n, row in enumerate(rows) if row in rows[:n]), len(rows))

    def again(row: tuple[Stored, ...]) -> None:
        assert row == rows[first_twice]
        raise SqlError(-268)

    done, error = insert_each(connection, INSERT, rows, Interrupts(), _Steps(), again)
    assert done == first_twice
    assert (error is None) is (first_twice == len(rows))
    assert [(number,) for number in numbers(connection)] == rows[:first_twice]
    connection.close()


def test_a_row_that_is_corrected_does_not_end_the_others(connection: sqlite3.Connection) -> None:
    def again(row: tuple[Stored, ...]) -> None:
        connection.execute("INSERT INTO t VALUES (?)", (100,))

    insert_each(connection, INSERT, [(1,), (1,), (2,)], Interrupts(), _Steps(), again)
    assert numbers(connection) == [1, 100, 2]


def test_an_interrupt_ends_it_between_two_rows(connection: sqlite3.Connection) -> None:
    interrupts = Interrupts()

    class Rows(list[tuple[Stored, ...]]):
        def __iter__(self) -> Iterator[tuple[Stored, ...]]:
            for row in [(1,), (2,), (3,)]:
                if row == (3,):
                    interrupts.request()
                yield row

    def again(row: tuple[Stored, ...]) -> None:
        raise AssertionError(row)

    done, error = insert_each(connection, INSERT, Rows(), interrupts, _Steps(), again)
    assert isinstance(error, SqlError)
    assert (done, error.sqlcode) == (2, -213)
    assert numbers(connection) == [1, 2]


def test_a_lock_ends_it(connection: sqlite3.Connection) -> None:
    conflict = LockConflict(Resource("demo", 100, Kind.ROW, 1), LockMode.X)

    class Locked(_Steps):
        def back_to(self, mark: tuple[int, int, int]) -> None:
            raise conflict

    def again(row: tuple[Stored, ...]) -> None:
        raise AssertionError(row)

    assert insert_each(connection, INSERT, [(1,), (1,), (2,)], Interrupts(), Locked(), again) == (1, conflict)
