"""INSERT, UPDATE and DELETE: single changes, runs of an INSERT, serial numbers. Never: a cursor."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from aioifx.server.engine.object_files import PIECE, unique_name
from aioifx.server.engine.planner import Statement
from aioifx.server.engine.results import StatementResult
from aioifx.server.engine.session_state import SessionState
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Change, Verb
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.model.type_rules import Family, family_of
from aioifx.server.sql.runtime.sqlite_functions import guarded
from aioifx.server.sqlite.dml import Written, make_interruptible, numbered, write
from aioifx.server.sqlite.error_mapping import (
    broken_reference,
    is_duplicate,
    is_foreign_key,
    sql_error_of,
    updated_as_a_whole,
)
from aioifx.server.sqlite.insert_runs import insert_each
from aioifx.sqltypes import Row, TypeCode, Value

_LOCKED_CHANGE: Final = {Verb.INSERT: -271, Verb.UPDATE: -244, Verb.DELETE: -244}
"""The error of a statement that finds a lock (documented: -244 while reading, -271 while inserting)."""


def run_change(
    state: SessionState, statement: Statement, change: Change, values: Sequence[Value]
) -> StatementResult:
    """Run an INSERT, UPDATE or DELETE.

    Raises:   SqlError: it failed without any change.
    """
    with (
        state.mapped_errors(_LOCKED_CHANGE[change.verb], change.table.name),
        state.current.transactions.writing(change.table.name, alone=True, shared=is_shared(change.table)),
    ):
        change = _change_of(state, statement)  # the schema may have changed before the lock was acquired
        stored = state.bind(statement, values)
        if change.cursor:
            stored = (*stored, state.current.current_rowid(change))
        result = apply_change(state, change, stored)
    state.current.objects.sweep()
    return result


def insert_rows(state: SessionState, statement: Statement, rows: Sequence[Row]) -> StatementResult:
    """Run an INSERT for each of *rows*, in order; if one fails, the rows before it are kept.

    Raises:   SqlError: the error of the first row that failed.
    """
    change = _change_of(state, statement)
    with (
        state.mapped_errors(_LOCKED_CHANGE[change.verb], change.table.name),
        state.current.transactions.writing(change.table.name, alone=True, shared=is_shared(change.table)),
    ):
        return _insert(state, statement, rows)


def is_shared(table: Table) -> bool:
    """Whether its changes are seen by other sessions, as references to smart large objects are."""
    return not table.is_temp or any(family_of(column.type) is Family.SMART_LARGE for column in table.columns)


def _change_of(state: SessionState, statement: Statement) -> Change:
    action = state.plan_of(statement).action
    assert isinstance(action, Change)
    return action


def apply_change(state: SessionState, change: Change, stored: tuple[Stored, ...]) -> StatementResult:
    """Run the SQLite statement of *change* in the open transaction, if any."""
    current = state.current
    if change.verb is Verb.INSERT:
        current.prime_serials(change.table)
    try:
        done = write(current.connection, change, stored, current.transactions, state.interrupts)
    except sqlite3.Error as error:
        run = partial(current.connection.execute, change.sql, numbered(change.sql, stored))
        done = _retry_refused(state, error, change, run)
    result = StatementResult(rows=max(done.rowcount, 0))
    if change.verb is Verb.INSERT:
        result.rowid = done.lastrowid or 0
        _note_serials(state, result)
    return result


def _insert(state: SessionState, statement: Statement, rows: Sequence[Row]) -> StatementResult:
    current = state.current
    change = _change_of(state, statement)
    stored, bind_error = statement.binders.bind_rows(rows, state.settings)
    current.prime_serials(change.table)

    def again(row: tuple[Stored, ...]) -> None:
        state.function_error = None
        apply_change(state, change, row)

    insert_each(current.connection, change.sql, stored, state.interrupts, again)
    if bind_error is not None:
        raise bind_error
    result = StatementResult(rows=len(stored))
    _note_serials(state, result)
    state.settings.affected = result.rows
    return result


def _retry_refused(
    state: SessionState, error: sqlite3.Error, change: Change, run: Callable[[], sqlite3.Cursor]
) -> Written:
    """Retry a change that SQLite refused and Informix would accept.

    Raises:   SqlError: Informix would refuse it as well. sqlite3.Error: an internal error.
    """
    current = state.current
    if state.function_error is not None:
        raise state.function_error from None
    if is_foreign_key(error):
        schema = state.planner.schema(current)
        raise broken_reference(current.connection, change, schema, run) from None
    if is_duplicate(error) and change.verb is Verb.UPDATE:
        done = updated_as_a_whole(current.connection, change.table, run)
        if done is not None:
            return done
    raise (sql_error_of(error, change) or error) from None


def _note_serials(state: SessionState, result: StatementResult) -> None:
    settings = state.settings
    for code, number in state.current.assigned_serials.items():
        if code == TypeCode.SERIAL:
            result.serial = settings.last_serial = number
        elif code == TypeCode.SERIAL8:
            result.serial8 = settings.last_serial8 = number
        else:
            result.bigserial = settings.last_bigserial = number


# -- functions that a change calls in SQLite ---------------------------------------------------------------------------


def register_functions(state: SessionState, connection: sqlite3.Connection) -> None:
    """Register the SQL functions for serial columns, sequences and interrupts on *connection*."""

    def next_serial(name: str, value: int | None) -> int:
        try:
            return state.current.next_serial(name, value)
        except SqlError as error:
            state.note_error(error)
            raise

    def next_value(tabid: int, mark: int) -> int:
        return state.current.next_value(tabid, mark)

    def current_value(tabid: int) -> int:
        return state.current.current_value(tabid)

    def keep(value: bytes | None, cursor: int) -> str | None:
        return state.current.kept.keep(value, cursor)

    connection.create_function("ifx_serial", 2, next_serial)

    def object_of(value: bytes | None) -> int | None:
        return None if value is None else state.current.objects.stored([value])

    def copied(number: int | None) -> int | None:
        return state.current.objects.copied(number)

    def released(number: int) -> None:
        state.current.objects.on_released(number)

    def object_from_file(name: str | None, place: str | None) -> int | None:
        if name is None or place is None:
            return None
        return state.current.objects.stored(state.files_at(place).read(name))

    def object_to_file(number: int | None, name: str | None, place: str | None) -> str | None:
        if number is None or name is None or place is None:
            return None
        name = unique_name(name)
        state.files_at(place).write(name, state.current.objects.pieces(number, PIECE))
        return name

    connection.create_function("ifx_filetoblob", 2, guarded(object_from_file, state.note_error))
    connection.create_function("ifx_lotofile", 3, guarded(object_to_file, state.note_error))
    connection.create_function("ifx_object_of", 1, guarded(object_of, state.note_error))
    connection.create_function("ifx_locopy", 1, guarded(copied, state.note_error))
    connection.create_function("ifx_released", 1, released)
    connection.create_function("ifx_keep", 2, guarded(keep, state.note_error))
    connection.create_function("ifx_nextval", 2, guarded(next_value, state.note_error))
    connection.create_function("ifx_currval", 1, guarded(current_value, state.note_error))
    make_interruptible(connection, state.interrupts, state.note_error)
