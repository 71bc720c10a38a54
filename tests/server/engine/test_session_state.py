from __future__ import annotations

import sqlite3

import pytest

from aioifx.server.engine.engine import Engine
from aioifx.server.engine.session_state import SessionState
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.lock_manager import ROW_LOCKED as LOCKED
from aioifx.server.sqlite.lock_manager import LockRefused
from tests.server.talking import ServerCore, codes, error_from, run


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
