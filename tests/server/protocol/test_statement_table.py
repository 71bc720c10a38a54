from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from aioifx.server.engine.cursors import Cursor
from aioifx.server.engine.planner import Statement
from aioifx.server.protocol.insert_cursor import Insertion
from aioifx.server.protocol.statement_table import StatementTable
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Nothing, Plan, PlanKey, StatementType


def statement() -> Statement:
    text = "SET EXPLAIN ON"
    return Statement(text, PlanKey(text, "", "", "", False), Plan(StatementType.SET_EXPLAIN, Nothing()))


def test_ids_count_from_zero_and_the_lowest_free_one_comes_first() -> None:
    slots = StatementTable()
    made = [slots.add(statement()) for _ in range(4)]
    assert [slot.statement_id for slot in made] == [0, 1, 2, 3]
    slots.remove(made[2])
    slots.remove(made[0])
    assert [slots.add(statement()).statement_id for _ in range(3)] == [0, 2, 4]


def test_an_unknown_or_freed_id_is_minus_258() -> None:
    slots = StatementTable()
    slot = slots.add(statement())
    assert slots.find(0) is slot
    slots.remove(slot)
    for statement_id in (0, 1, -1):
        with pytest.raises(SqlError) as raised:
            slots.find(statement_id)
        assert raised.value.sqlcode == -258


def test_removing_a_statement_twice_frees_its_id_once() -> None:
    slots = StatementTable()
    slot = slots.add(statement())
    slots.remove(slot)
    slots.remove(slot)
    assert [slots.add(statement()).statement_id for _ in range(2)] == [0, 1]


def test_too_many_statements_are_minus_257() -> None:
    slots = StatementTable(limit=2)
    slots.add(statement())
    second = slots.add(statement())
    with pytest.raises(SqlError) as raised:
        slots.add(statement())
    assert raised.value.sqlcode == -257
    slots.remove(second)
    assert slots.add(statement()).statement_id == 1
    assert [slot.statement_id for slot in slots.all()] == [0, 1]
    assert len(slots) == 2


def test_open_cursors_are_counted() -> None:
    slots = StatementTable()
    for _ in range(4):
        slots.add(statement())
    assert slots.open_cursors == 0
    with closing(sqlite3.connect(":memory:")) as connection:
        reading, released = (Cursor(connection.execute("SELECT 1")) for _ in range(2))
        released.released = True
        slots.find(0).cursor = reading
        slots.find(1).cursor = released
        slots.find(2).insertion = Insertion(0, hold=False)
        assert slots.open_cursors == 2
        reading.close()
        released.close()
