from __future__ import annotations

import sqlite3

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.engine.session_state import SessionState, StatementResult, TransactionEvent
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.lock_manager import ROW_LOCKED as LOCKED
from aioifx.server.sqlite.lock_manager import LockRefused
from aioifx.server.sqlite.spool import Spool, StoredRow
from tests.server.talking import ServerCore, codes, error_from, query, run


@pytest.fixture
def state(engine: Engine) -> SessionState:
    return engine._state


def test_without_a_database_there_is_no_workspace(core: ServerCore) -> None:
    state = core.engine("")._state
    assert state.workspace is None
    with pytest.raises(SqlError) as raised:
        _ = state.current
    assert raised.value.sqlcode == -349


def test_a_refused_lock_has_the_code_of_the_statement(state: SessionState) -> None:
    with pytest.raises(SqlError) as raised, state.mapped_errors(-271, "t"):
        raise LockRefused(LOCKED)
    assert codes(raised.value) == (-271, LOCKED, "t")
    with pytest.raises(SqlError) as raised, state.mapped_errors(-289, "t", -113):
        raise LockRefused(LOCKED)
    assert codes(raised.value) == (-289, -113, "t")


def test_the_error_of_a_function_replaces_sqlites(state: SessionState) -> None:
    state.note_error(SqlError(-1202))
    with pytest.raises(SqlError) as raised, state.mapped_errors(-244, "t"):
        raise sqlite3.OperationalError("user-defined function raised exception")
    assert raised.value.sqlcode == -1202


def test_an_internal_error_of_sqlite_stays_one(state: SessionState) -> None:
    with pytest.raises(sqlite3.ProgrammingError, match="closed"), state.mapped_errors(-244, "t"):
        raise sqlite3.ProgrammingError("closed")


def test_an_interrupt_ends_the_next_statement_but_not_the_end_of_a_transaction(engine: Engine) -> None:
    run(engine, "BEGIN WORK")
    engine.interrupt()
    run(engine, "COMMIT WORK")
    assert codes(error_from(engine, "SELECT 1 FROM systables")) == (-213, -157, "")
    run(engine, "SET LOCK MODE TO WAIT")


_MANY = "SELECT a.tabid FROM systables a, systables b, systables c"
"""So many rows that reading them all takes minutes."""


@pytest.mark.parametrize("is_interrupted_later", [False, True])
def test_an_interrupt_also_ends_the_reading_of_rows_for_other_cursors(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, is_interrupted_later: bool
) -> None:
    alone = engine.open(engine.prepare(_MANY))
    expected = engine.fetch(alone, 5000)[0]
    engine.close_cursor(alone)
    cursor = engine.open(engine.prepare(_MANY))
    rows = engine.fetch(cursor, 100)[0]
    if is_interrupted_later:
        append = Spool.append

        def append_and_interrupt(spool: Spool, block: list[StoredRow]) -> None:
            append(spool, block)
            if len(spool) > 2000:
                engine.interrupt()

        monkeypatch.setattr(Spool, "append", append_and_interrupt)
    else:
        engine.interrupt()
    assert codes(error_from(engine, "SELECT 1 FROM systables")) == (-213, -157, "")
    monkeypatch.undo()
    while len(rows) < 5000:
        rows += engine.fetch(cursor, 300)[0]
    assert rows[:5000] == expected
    engine.close_cursor(cursor)
    assert query(engine, "SELECT FIRST 1 1 FROM systables") == [(1,)]


def test_an_interrupt_also_ends_a_preparation_that_reads_such_rows(core: ServerCore) -> None:
    engine, other = core.engine(), core.engine()
    cursor = engine.open(engine.prepare(_MANY))
    first = engine.fetch(cursor, 10)[0]
    run(other, "CREATE TABLE changed (a INTEGER)")
    engine.interrupt()
    with pytest.raises(SqlError) as raised:
        engine.prepare("SELECT a FROM changed")
    assert codes(raised.value) == (-213, -157, "")
    assert len(first) == len(engine.fetch(cursor, 10)[0]) == 10
    engine.close_cursor(cursor)
    assert query(engine, "SELECT a FROM changed") == []


@pytest.mark.parametrize("end", ["COMMIT WORK", "ROLLBACK WORK"])
def test_the_end_of_a_transaction_reads_no_rows_of_cursors_that_it_closes(engine: Engine, end: str) -> None:
    run(engine, "BEGIN WORK")
    cursor = engine.open(engine.prepare(_MANY))
    assert len(engine.fetch(cursor, 10)[0]) == 10
    held = engine.open(engine.prepare("SELECT tabid FROM systables ORDER BY tabid"), hold=True)
    first = engine.fetch(held, 3)[0]
    run(engine, end)
    assert cursor.is_released and not cursor.is_live
    assert not held.is_live and len({*first, *engine.fetch(held, 3)[0]}) == 6
    engine.close_cursor(held)


def test_a_result_counts_nothing_by_default() -> None:
    result = StatementResult()
    assert (result.rows, result.rowid, result.serial, result.serial8, result.bigserial) == (0, 0, 0, 0, 0)
    assert result.opened is None
    assert result.event is TransactionEvent.NONE
