from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sqlite.insert_runs import insert_each
from aioifx.server.sqlite.interrupts import Interrupts

INSERT = "INSERT INTO t VALUES (?1)"


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

    try:
        insert_each(connection, INSERT, rows, Interrupts(), again)
        assert first_twice == len(rows)
    except SqlError as error:
        assert error.sqlcode == -268
    assert [(number,) for number in numbers(connection)] == rows[:first_twice]
    connection.close()


def test_a_row_that_is_corrected_does_not_end_the_others(connection: sqlite3.Connection) -> None:
    def again(row: tuple[Stored, ...]) -> None:
        connection.execute("INSERT INTO t VALUES (?)", (100,))

    insert_each(connection, INSERT, [(1,), (1,), (2,)], Interrupts(), again)
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

    with pytest.raises(SqlError) as caught:
        insert_each(connection, INSERT, Rows(), interrupts, again)
    assert caught.value.sqlcode == -213
    assert numbers(connection) == [1, 2]
