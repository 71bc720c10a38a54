from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest

from aioifx.server.sqlite.counters import Counters


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    made = sqlite3.connect(":memory:")
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
    assert connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone() == (0,)


def test_a_tabid_that_is_used_again_starts_from_the_beginning(connection: sqlite3.Connection) -> None:
    one = counters(a=5)
    one.on_created(8)
    assert one.has_unsaved
    one.on_created(7)
    assert not one.has_unsaved
    one.save(connection)
    assert list(one._read(connection)) == []
