from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.schema import SequenceDef, Table, TableKind
from aioifx.server.sqlite.sequences import Sequences


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
