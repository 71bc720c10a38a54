from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import ColumnDef, Table
from aioifx.server.sqlite.serials import Serials
from aioifx.sqltypes import SqlType, TypeCode


def table(start: int = 1, code: TypeCode = TypeCode.SERIAL) -> Table:
    return Table(100, "t", "anna", (ColumnDef("k", SqlType(code, 4), is_nullable=False, serial_start=start),))


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE t100 (k INTEGER)")
    yield connection
    connection.close()


@given(st.lists(st.one_of(st.just(0), st.integers(-5, 50)), max_size=30))
def test_each_number_for_zero_is_greater_than_all_before(values: list[int]) -> None:
    serials = Serials()
    given_out = [0]
    for value in values:
        number = serials.next_value(table(), "k", value)
        assert number == value if value else number == max(given_out) + 1
        given_out.append(number)


def test_counting_begins_where_the_table_says(connection: sqlite3.Connection) -> None:
    serials = Serials()
    serials.prime(connection, table(start=40))
    assert serials.next_value(table(), "k", 0) == 40


def test_counting_continues_after_the_greatest_row(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO t100 VALUES (7), (3)")
    serials = Serials()
    serials.prime(connection, table())
    assert serials.next_value(table(), "k", 0) == 8


def test_saved_counters_are_read_again(connection: sqlite3.Connection) -> None:
    first = Serials()
    first.prime(connection, table())
    assert not first.has_unsaved
    first.next_value(table(), "k", 20)
    assert first.has_unsaved
    first.save(connection)
    assert not first.has_unsaved
    second = Serials()
    second.prime(connection, table())
    assert second.next_value(table(), "k", 0) == 21


def test_null_takes_no_number() -> None:
    with pytest.raises(SqlError) as raised:
        Serials().next_value(table(), "k", None)
    assert (raised.value.sqlcode, raised.value.token) == (-391, "k")


@pytest.mark.parametrize(
    ("code", "last", "sqlcode"),
    [
        (TypeCode.SERIAL, 2**31 - 1, -1215),
        (TypeCode.SERIAL8, 2**63 - 1, -1284),
        (TypeCode.BIGSERIAL, 2**63 - 1, -1284),
    ],
)
def test_there_is_a_last_number(code: TypeCode, last: int, sqlcode: int) -> None:
    serials = Serials()
    assert serials.next_value(table(code=code), "k", last) == last
    with pytest.raises(SqlError) as raised:
        serials.next_value(table(code=code), "k", 0)
    assert raised.value.sqlcode == sqlcode


def test_a_later_start_counts_and_an_earlier_one_does_not(connection: sqlite3.Connection) -> None:
    serials = Serials()
    serials.prime(connection, table())
    serials.next_value(table(), "k", 9)
    for start, expected in ((100, 100), (5, 101)):
        serials.on_altered(table(start))
        serials.prime(connection, table(start))
        assert serials.next_value(table(start), "k", 0) == expected


def test_a_new_table_with_an_old_number_starts_from_the_beginning(connection: sqlite3.Connection) -> None:
    serials = Serials()
    serials.prime(connection, table())
    serials.next_value(table(), "k", 9)
    serials.on_created(100)
    serials.prime(connection, table())
    assert serials.next_value(table(), "k", 0) == 1
