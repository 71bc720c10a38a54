from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import ColumnDef, SequenceDef, Table, TableKind
from aioifx.server.sqlite.counters import Counters, Sequences, Serials
from aioifx.sqltypes import SqlType, TypeCode


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:", isolation_level=None)
    made.execute("CREATE TABLE t100 (k INTEGER)")
    yield made
    made.close()


def counters(**last: int) -> Counters[str]:
    made: Counters[str] = Counters("ifx_counters", "name TEXT")
    made._last = {(7, name): number for name, number in last.items()}
    made._unsaved = set(made._last)
    return made


def test_changed_counters_are_saved_once(connection: sqlite3.Connection) -> None:
    one = counters(a=5, b=6)
    assert list(one._read(connection)) == []
    assert one.has_unsaved
    one.save(connection)
    assert not one.has_unsaved
    assert sorted(one._read(connection)) == [(7, "a", 5), (7, "b", 6)]
    other = counters(a=9)
    other.save(connection)
    assert sorted(other._read(connection)) == [(7, "a", 9), (7, "b", 6)]


def test_nothing_is_written_without_a_change(connection: sqlite3.Connection) -> None:
    counters().save(connection)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("t100",)]


def test_a_tabid_that_is_used_again_starts_from_the_beginning(connection: sqlite3.Connection) -> None:
    one = counters(a=5)
    one.on_created(8)
    assert one.has_unsaved
    one.on_created(7)
    assert not one.has_unsaved
    one.save(connection)
    assert list(one._read(connection)) == []


def table(start: int = 1, code: TypeCode = TypeCode.SERIAL) -> Table:
    return Table(100, "t", "anna", (ColumnDef("k", SqlType(code, 4), is_nullable=False, serial_start=start),))


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
    assert (raised.value.sqlcode, raised.value.token) == (-391, "t.k")


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


def sequence(
    increment: int = 1, *, start: int = 1, maximum: int = 3, cycles: bool = False, epoch: int = 0
) -> Table:
    definition = SequenceDef(start, increment, 1, maximum, cycles, 20, True, epoch=epoch)
    return Table(100, "s", "anna", kind=TableKind.SEQUENCE, sequence=definition)


def test_numbers_go_up_or_down_to_the_limit() -> None:
    up = Sequences()
    assert [up.next_value(sequence()) for _ in range(3)] == [1, 2, 3]
    with pytest.raises(SqlError) as raised:
        up.next_value(sequence())
    assert (raised.value.sqlcode, raised.value.token) == (-8313, "s")
    down = Sequences()
    assert [down.next_value(sequence(-2, start=3)) for _ in range(2)] == [3, 1]
    with pytest.raises(SqlError) as raised:
        down.next_value(sequence(-2, start=3))
    assert raised.value.sqlcode == -8314


def test_a_cycle_begins_at_its_other_end() -> None:
    up, down = Sequences(), Sequences()
    assert [up.next_value(sequence(2, start=2, cycles=True)) for _ in range(4)] == [2, 1, 3, 1]
    assert [down.next_value(sequence(-1, start=2, cycles=True)) for _ in range(4)] == [2, 1, 3, 2]


def test_each_epoch_has_its_own_numbers() -> None:
    counters = Sequences()
    assert counters.next_value(sequence()) == 1
    assert counters.next_value(sequence(epoch=1, start=3)) == 3
    assert counters.next_value(sequence()) == 2  # RESTART was rolled back


def test_counters_are_found_again_in_the_file() -> None:
    with closing(sqlite3.connect(":memory:")) as file:
        counters = Sequences()
        counters.load(file)
        counters.next_value(sequence())
        assert counters.has_unsaved
        counters.save(file)
        assert not counters.has_unsaved
        counters.save(file)
        again = Sequences()
        again.load(file)
        assert again.next_value(sequence()) == 2
        again.load(file)
        assert again.next_value(sequence()) == 3
        again.on_created(100)
        assert again.next_value(sequence()) == 1
