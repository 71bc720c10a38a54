from __future__ import annotations

import sqlite3
from contextlib import closing

from aioifx.server.engine.cursors import Cursor
from aioifx.server.engine.planner import Statement
from aioifx.server.protocol.incoming_values import Insertion
from aioifx.server.protocol.statement_table import RefusedCalls, StatementTable, procid_of
from aioifx.server.sql.model.plan import Nothing, Plan, PlanKey
from aioifx.wire.opcodes import StatementType
from tests.server.sql.kinds import error_of


def statement() -> Statement:
    text = "SET EXPLAIN ON"
    return Statement(text, PlanKey(text, "", "", "", False), Plan(StatementType.SET_EXPLAIN, Nothing()))


def test_ids_count_from_zero_and_the_lowest_free_one_comes_first() -> None:
    statements = StatementTable()
    made = [statements.add(statement()) for _ in range(4)]
    assert [prepared.statement_id for prepared in made] == [0, 1, 2, 3]
    statements.remove(made[2])
    statements.remove(made[0])
    assert [statements.add(statement()).statement_id for _ in range(3)] == [0, 2, 4]


def test_an_unknown_or_freed_id_is_minus_258() -> None:
    statements = StatementTable()
    prepared = statements.add(statement())
    assert statements.find(0) is prepared
    statements.remove(prepared)
    for statement_id in (0, 1, -1):
        assert error_of(statements.find, statement_id) == -258


def test_removing_a_statement_twice_frees_its_id_once() -> None:
    statements = StatementTable()
    prepared = statements.add(statement())
    statements.remove(prepared)
    statements.remove(prepared)
    assert [statements.add(statement()).statement_id for _ in range(2)] == [0, 1]


def test_too_many_statements_are_minus_257() -> None:
    statements = StatementTable(limit=2)
    statements.add(statement())
    second = statements.add(statement())
    assert error_of(statements.add, statement()) == -257
    statements.remove(second)
    assert statements.add(statement()).statement_id == 1
    assert [prepared.statement_id for prepared in statements.all()] == [0, 1]
    assert len(statements) == 2


def test_open_cursors_are_counted() -> None:
    statements = StatementTable()
    for _ in range(4):
        statements.add(statement())
    assert statements.open_cursors == 0
    with closing(sqlite3.connect(":memory:")) as connection:
        reading, released = (Cursor(connection.execute("SELECT 1")) for _ in range(2))
        released.is_released = True
        statements.find(0).cursor = reading
        statements.find(1).cursor = released
        statements.find(2).insertion = Insertion(0, hold=False)
        assert statements.open_cursors == 2
        reading.close()
        released.close()


def test_each_refused_statement_has_its_own_number_of_a_routine() -> None:
    refused = RefusedCalls()
    first, second = refused.take(500, "a"), refused.take(500, "b")
    assert first != second
    assert {procid_of(first), procid_of(second)} == {500}
    assert [refused.call(number) for number in (first, first, second, first)] == [True, False, True, False]
    assert [refused.text(number) for number in (first, second, 500)] == ["a", "b", ""]
    numbers = [refused.take(500, "c") for _ in range(2048)]
    assert len(set(numbers)) == 2048
    assert all(0 < number < 2**31 for number in numbers)
    assert refused.call(first)
