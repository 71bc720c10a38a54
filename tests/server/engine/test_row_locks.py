from __future__ import annotations

import pytest

from aioifx.server.engine.cursors import Cursor
from aioifx.server.engine.engine import Engine
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.lock_manager import Kind, LockManager, LockMode, Owner, Resource
from tests.server.talking import run, run_all

OTHER = "other"
"""The owner of the locks of another transaction."""


class Table:
    """The locks of the table t of a session."""

    def __init__(self, engine: Engine) -> None:
        assert engine.database is not None
        self.locks: LockManager = engine.database.locks
        (table,) = engine.prepare("UPDATE t SET b = 0").plan.action.locked_tables  # type: ignore[union-attr]
        self._name = engine.database.name, table.tabid

    def row(self, number: int) -> Resource:
        return Resource(*self._name, Kind.ROW, number)

    @property
    def modes(self) -> dict[object, LockMode]:
        """The locks on rows by their numbers, and on the table as "t"."""
        return {
            "t" if held.resource.kind is Kind.TABLE else held.resource.key: held.mode
            for held in self.locks.locks()
            if held.owner != OTHER and held.resource.tabid == self._name[1]
        }

    def lock(self, number: int, mode: LockMode = LockMode.X, owner: Owner = OTHER) -> None:
        assert self.locks.try_acquire(owner, Resource(*self._name, Kind.TABLE), LockMode.IX)
        assert self.locks.try_acquire(owner, self.row(number), mode)


@pytest.fixture
def table(filled: Engine) -> Table:
    return Table(filled)


def opened(engine: Engine, text: str, **options: object) -> Cursor:
    return engine.open(engine.prepare(text), **options)  # type: ignore[arg-type]


def next_row(engine: Engine, cursor: Cursor) -> tuple[object, ...]:
    (row,), _ = engine.fetch(cursor, 1)
    return row


def code(engine: Engine, cursor: Cursor) -> tuple[int, int]:
    with pytest.raises(SqlError) as caught:
        engine.fetch(cursor, 1)
    return caught.value.sqlcode, caught.value.isamcode


# -- FOR UPDATE --------------------------------------------------------------------------------------------------------


def test_for_update_locks_the_row_that_was_fetched_last(filled: Engine, table: Table) -> None:
    run(filled, "BEGIN WORK")
    cursor = opened(filled, "SELECT a FROM t WHERE a > 3 FOR UPDATE")
    assert next_row(filled, cursor) == (4,)
    assert table.modes == {"t": LockMode.IX, 4: LockMode.U}
    assert next_row(filled, cursor) == (5,)
    assert table.modes == {"t": LockMode.IX, 5: LockMode.U}
    filled.close_cursor(cursor)
    assert 5 not in table.modes


@pytest.mark.parametrize(
    "setting",
    [
        "SET ISOLATION TO COMMITTED READ RETAIN UPDATE LOCKS",
        "SET ENVIRONMENT RETAINUPDATELOCKS 'COMMITTED READ'",
        "SET ENVIRONMENT RETAINUPDATELOCKS 'ALL'",
    ],
)
def test_retained_update_locks_last_until_the_end_of_the_transaction(
    filled: Engine, table: Table, setting: str
) -> None:
    run(filled, setting)
    run(filled, "BEGIN WORK")
    cursor = opened(filled, "SELECT a FROM t FOR UPDATE")
    for number in (1, 2):
        assert next_row(filled, cursor) == (number,)
    filled.close_cursor(cursor)
    assert table.modes == {"t": LockMode.IX, 1: LockMode.U, 2: LockMode.U}


def test_repeatable_read_retains_update_locks(filled: Engine, table: Table) -> None:
    run_all(filled, "BEGIN WORK", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    cursor = opened(filled, "SELECT a FROM t FOR UPDATE")
    for number in (1, 2):
        assert next_row(filled, cursor) == (number,)
    assert table.modes == {"t": LockMode.SIX, 1: LockMode.U, 2: LockMode.U}


def test_an_option_of_retained_locks_has_no_other_values(filled: Engine) -> None:
    for text in ("RETAINUPDATELOCKS 'SOME'", "USELASTCOMMITTED 'CURSOR STABILITY'"):
        with pytest.raises(SqlError) as caught:
            run(filled, f"SET ENVIRONMENT {text}")
        assert caught.value.sqlcode == -999


def test_a_locked_row_can_be_fetched_again_later(filled: Engine, table: Table) -> None:
    run(filled, "BEGIN WORK")
    cursor = opened(filled, "SELECT a FROM t FOR UPDATE")
    table.lock(2, LockMode.U)
    assert next_row(filled, cursor) == (1,)
    assert code(filled, cursor) == (-244, -107)
    table.locks.release_all(OTHER)
    assert next_row(filled, cursor) == (2,)


def test_rows_are_read_again_under_their_lock(filled: Engine, table: Table) -> None:
    run(filled, "BEGIN WORK")
    cursor = opened(filled, "SELECT a, b FROM t WHERE a < 5 FOR UPDATE", name="c")
    assert next_row(filled, cursor) == (1, 0)
    run_all(filled, "UPDATE t SET b = 7 WHERE a = 3", "DELETE FROM t WHERE a = 2")
    assert next_row(filled, cursor) == (3, 7)
    run_all(filled, "UPDATE t SET b = 8 WHERE CURRENT OF c", "UPDATE t SET a = 99 WHERE a = 4")
    assert filled.fetch(cursor, 1) == ([], True)
    assert [row for row in filled.fetch(opened(filled, "SELECT b FROM t WHERE a = 3"), 2)[0]] == [(8,)]


def test_for_update_outside_a_transaction_locks_nothing(filled: Engine, table: Table) -> None:
    cursor = opened(filled, "SELECT a FROM t FOR UPDATE")
    assert next_row(filled, cursor) == (1,)
    assert table.modes == {}


# -- CURSOR STABILITY --------------------------------------------------------------------------------------------------


def test_cursor_stability_locks_the_last_row_of_a_block(filled: Engine, table: Table) -> None:
    run(filled, "SET ISOLATION TO CURSOR STABILITY")
    cursor = opened(filled, "SELECT a FROM t")
    assert filled.fetch(cursor, 3) == ([(1,), (2,), (3,)], False)
    assert table.modes == {"t": LockMode.IS, 3: LockMode.S}
    assert filled.fetch(cursor, 2) == ([(4,), (5,)], False)
    assert table.modes == {"t": LockMode.IS, 5: LockMode.S}
    filled.close_cursor(cursor)
    assert 5 not in table.modes


def test_cursor_stability_reads_its_current_row_as_it_is(filled: Engine) -> None:
    run(filled, "SET ISOLATION TO CURSOR STABILITY")
    cursor = opened(filled, "SELECT a, b FROM t")
    run_all(filled, "UPDATE t SET b = 5 WHERE a = 2", "DELETE FROM t WHERE a IN (4, 5)")
    assert filled.fetch(cursor, 2) == ([(1, 0), (2, 5)], False)
    assert filled.fetch(cursor, 3) == ([(3, 0)], False)  # the rest of the block has been deleted
    assert filled.fetch(cursor, 9)[0][-1] == (10, 0)


def test_cursor_stability_meets_the_lock_of_its_row(filled: Engine, table: Table) -> None:
    run(filled, "SET ISOLATION TO CURSOR STABILITY")
    cursor = opened(filled, "SELECT a FROM t")
    table.lock(2)
    assert next_row(filled, cursor) == (1,)
    assert code(filled, cursor) == (-244, -107)
    table.locks.release_all(OTHER)
    assert next_row(filled, cursor) == (2,)


@pytest.mark.parametrize(
    "text", ["SELECT a FROM t ORDER BY a", "SELECT MAX(a) FROM t", "SELECT x.a FROM t x, t y"]
)
def test_results_that_are_not_rows_of_one_table_lock_no_row(filled: Engine, table: Table, text: str) -> None:
    run(filled, "SET ISOLATION TO CURSOR STABILITY")
    next_row(filled, opened(filled, text))
    assert table.modes == {}
