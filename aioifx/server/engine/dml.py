"""INSERT, UPDATE and DELETE: single changes, runs of an INSERT, serial numbers. Never: a cursor."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from aioifx.server.engine.filtering import VIOLATED
from aioifx.server.engine.object_files import PIECE, unique_name
from aioifx.server.engine.planner import Statement
from aioifx.server.engine.session_state import SessionState, StatementResult
from aioifx.server.engine.triggers import fire
from aioifx.server.engine.write_refusals import check_change, check_sequence
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Change, Query, Verb
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.model.type_rules import Family, family_of
from aioifx.server.sql.runtime.sqlite_functions import guarded
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.translate.spl_program import NOT_GIVEN
from aioifx.server.sqlite.dml import Written, insert_each, make_interruptible, write
from aioifx.server.sqlite.error_mapping import (
    broken_reference,
    is_disk_full,
    is_duplicate,
    is_foreign_key,
    sql_error_of,
    updated_as_a_whole,
)
from aioifx.server.sqlite.lock_manager import Kind, LockMode, LockRefused
from aioifx.server.sqlite.row_changes import LockConflict
from aioifx.sqltypes import Row, TypeCode, Value
from aioifx.wire.opcodes import StatementType

T = TypeVar("T")

_LOCKED_ROW: Final = (-244, -107)
_LOCKED_CHANGE: Final = {Verb.INSERT: -271, Verb.UPDATE: -244, Verb.DELETE: -244}
"""The error of a statement that finds a lock (documented: -244 while reading, -271 while inserting)."""
_LOCKED_KEY: Final = {Verb.INSERT: -271, Verb.UPDATE: -346, Verb.DELETE: -240}
"""The same if it can read the row, but a key that the row gets or has is locked (documented: -346, -240)."""


def run_change(
    state: SessionState, statement: Statement, change: Change, values: Sequence[Value]
) -> StatementResult:
    """Run an INSERT, UPDATE or DELETE.

    Raises:
        SqlError: it failed without any change; -971, it has filed rows that violate constraints.
    """
    check_change(state, change)
    current = state.current

    def attempt() -> StatementResult:
        change = _change_of(state, statement)  # the schema may have changed before the lock was acquired
        state.function_error = None
        # TRUNCATE locks the table (documented)
        is_truncation = statement.plan.type is StatementType.TRUNCATE
        mode = LockMode.X if is_truncation else LockMode.IX
        schema, inserts = state.planner.schema(current), _is_plain_insert(change)
        with current.transactions.changing(change.table, schema, mode, only_inserts=inserts):
            stored = state.bind(statement, values)
            if is_truncation:
                current.transactions.note_truncation(change.table)
            if change.cursor:
                stored = (*stored, current.current_rowid(change))
            return apply_change(state, change, stored)

    result = _run(state, change, attempt)
    current.objects.sweep()
    if result.has_violations:
        raise SqlError(VIOLATED)
    return result


def fire_selection(state: SessionState, statement: Statement, values: Sequence[Value]) -> None:
    """Run the actions of the SELECT triggers that a query activates, outside actions of others (documented).

    Raises:
        SqlError: an action failed; what the others have changed is undone.
    """
    current = state.current

    def attempt() -> StatementResult:
        action = state.plan_of(statement).action
        assert isinstance(action, Query) and action.fires
        state.function_error = None
        result, schema = StatementResult(), state.planner.schema(current)
        with current.transactions.changing(action.fires[0].table, schema):
            for change in action.fires:
                result = apply_change(state, change, state.bind(statement, values))
        return result

    action = state.plan_of(statement).action
    assert isinstance(action, Query)
    if action.fires and not state.firing.is_active:
        for change in action.fires:
            check_change(state, change)
        _run(state, action.fires[0], attempt)


def insert_rows(state: SessionState, statement: Statement, rows: Sequence[Row]) -> StatementResult:
    """Run an INSERT for each of *rows*, in order; if one fails, the rows before it are kept.

    Raises:
        SqlError: the error of the first row that failed.
    """
    current = state.current
    change = _change_of(state, statement)
    check_change(state, change)
    stored, bind_error = statement.binders.bind_rows(rows, state.settings)
    inserted = 0

    def attempt() -> None:
        nonlocal inserted
        change = _change_of(state, statement)
        state.function_error = None
        schema, inserts = state.planner.schema(current), _is_plain_insert(change)
        with current.transactions.changing(change.table, schema, only_inserts=inserts):
            current.prime_serials(change.table)
            count, error = _insert_each(state, change, stored[inserted:])
        inserted += count
        if error is not None:
            raise error

    _run(state, change, attempt)
    if bind_error is not None:
        raise bind_error
    result = StatementResult(rows=len(stored))
    _note_serials(state, result)
    state.settings.affected = result.rows
    return result


def _insert_each(
    state: SessionState, change: Change, rows: Sequence[tuple[Stored, ...]]
) -> tuple[int, Exception | None]:
    current = state.current
    transactions = current.transactions

    def again(row: tuple[Stored, ...]) -> StatementResult:
        state.function_error = None
        return apply_change(state, change, row)

    current.deferred.on_change(change)
    if change.by_row is None:
        sql = transactions.with_new_rowids(change.sql, change.table)
        return insert_each(current.connection, sql, rows, state.interrupts, transactions, again)
    for number, row in enumerate(rows):
        try:
            state.interrupts.check()
            with transactions.undone_alone():
                result = again(row)
            if result.has_violations:
                return number, SqlError(VIOLATED)
        except (SqlError, LockConflict, sqlite3.Error) as error:
            return number, error
    return len(rows), None


def _run(state: SessionState, change: Change, attempt: Callable[[], T]) -> T:
    """Run a statement in the transaction; a refused lock becomes the statement's SQLCODE."""
    with state.mapped_errors(_LOCKED_CHANGE[change.verb], change.table.name):
        try:
            return state.current.transactions.run(
                attempt, shared=is_shared(change.table), brief=_is_plain_insert(change)
            )
        except LockRefused as refused:
            if refused.resource is not None and refused.resource.kind is Kind.KEY:
                raise SqlError(_LOCKED_KEY[change.verb], refused.isamcode, change.table.name) from None
            raise
        except sqlite3.Error as error:
            raise ((is_disk_full(error) and sql_error_of(error, change)) or error) from None


def _is_plain_insert(change: Change) -> bool:
    """Whether it inserts given values, reads nothing and activates no trigger."""
    return change.verb is Verb.INSERT and not change.search and change.by_row is None


def is_shared(table: Table) -> bool:
    """Whether its changes are seen by other sessions, as references to smart large objects are."""
    return not table.is_temp or any(family_of(column.type) is Family.SMART_LARGE for column in table.columns)


def _change_of(state: SessionState, statement: Statement) -> Change:
    action = state.plan_of(statement).action
    assert isinstance(action, Change)
    return action


def apply_change(state: SessionState, change: Change, stored: tuple[Stored, ...]) -> StatementResult:
    """Run *change* in the open transaction, if any, with the triggers that it activates.

    Raises:
        SqlError: -747, it is an action of a trigger, which may not change these rows.
    """
    state.firing.check(change)
    with state.current.reads.changing(change, stored) as change:
        if state.current.deferred.is_any:
            result = _apply_deferred(state, change, stored)
        else:
            result = _apply_all(state, change, stored)
    if change.verb is Verb.INSERT and not state.firing.is_active:
        _note_serials(state, result)
    return result


def _apply_deferred(state: SessionState, change: Change, stored: tuple[Stored, ...]) -> StatementResult:
    """Run *change*, again after each violation of a deferred constraint."""
    deferred = state.current.deferred
    deferred.on_change(change)
    for _ in change.table.constraints:
        try:
            return _apply_all(state, change, stored)
        except (SqlError, sqlite3.Error) as error:
            violation = error if isinstance(error, SqlError) else state.function_error
            if violation is None:
                raise
            change = deferred.tolerated(change, violation, state.planner.schema(state.current))
            state.function_error = None
    return _apply_all(state, change, stored)


def _apply_all(state: SessionState, change: Change, stored: tuple[Stored, ...]) -> StatementResult:
    """Run *change* with the triggers that it activates."""
    if change.by_row is not None:
        return fire(state, change, stored, apply_change, run_row)
    return _apply(state, change, stored)


def _apply(state: SessionState, change: Change, stored: tuple[Stored, ...]) -> StatementResult:
    """Run the SQLite statement of *change*."""
    current = state.current
    transactions = current.transactions
    transactions.watch(change.table, state.planner.schema(current))
    sql = change.sql
    current.begin_rows()
    if change.verb is Verb.INSERT:
        current.prime_serials(change.table)
        sql = transactions.with_new_rowids(sql, change.table)
    run = partial(write, current.connection, sql, stored, transactions, state.interrupts)
    try:
        done = run()
    except sqlite3.Error as error:
        done = _retry_refused(state, error, change, run)
    result = StatementResult(rows=max(done.rowcount, 0))
    if change.verb is Verb.INSERT:
        result.rowid = done.lastrowid or 0
    return result


def run_row(state: SessionState, change: Change, sql: Composed, values: tuple[Stored, ...]) -> Written:
    """Run the statement of one row of *change*; a duplicate key of an UPDATE may be gone with the next row."""
    current = state.current
    current.transactions.watch(change.table, state.planner.schema(current))
    sql = current.transactions.with_new_rowids(sql, change.table)
    run = partial(write, current.connection, sql, values, current.transactions, state.interrupts)
    try:
        return run()
    except sqlite3.Error as error:
        if is_duplicate(error) and change.verb is Verb.UPDATE:
            raise
        return _retry_refused(state, error, change, run)


def _retry_refused(
    state: SessionState, error: sqlite3.Error, change: Change, run: Callable[[], Written]
) -> Written:
    """Retry a change that SQLite refused and Informix would accept.

    Raises:
        SqlError: Informix would refuse it as well.
        sqlite3.Error: an internal error.
    """
    current = state.current
    if state.function_error is not None:
        raise state.function_error from None
    if is_foreign_key(error):
        schema = state.planner.schema(current)
        raise broken_reference(current.connection, change, schema, run) from None
    if is_duplicate(error):
        with current.transactions.probing(change.table) as has_others, suppress(sqlite3.Error):
            if has_others:
                run()
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
        check_sequence(state)
        return state.current.next_value(tabid, mark)

    def current_value(tabid: int) -> int:
        return state.current.current_value(tabid)

    def keep(value: bytes | None, cursor: int) -> str | None:
        return state.current.kept.keep(value, cursor)

    connection.create_function("ifx_serial", 2, next_serial)

    def in_query(procid: int, *arguments: Stored, as_rows: bool = False) -> Stored:
        assert state.spl is not None, "the engine sets it"
        try:
            return state.spl.in_query(procid, *arguments, as_rows=as_rows)
        except LockConflict as conflict:  # the statement that writes waits, without the latch, and runs again
            state.current.transactions.note_conflict(conflict)
            raise SqlError(*_LOCKED_ROW) from None

    call_spl = guarded(in_query, state.note_error)
    for name, is_kept in (("ifx_spl", False), ("ifx_spl_not_variant", True)):
        connection.create_function(name, -1, call_spl, deterministic=is_kept)
    rows_of_call = guarded(partial(in_query, as_rows=True), state.note_error)
    connection.create_function("ifx_spl_rows", -1, rows_of_call)
    connection.create_function("ifx_default", 0, lambda: NOT_GIVEN)

    def object_of(value: bytes | None) -> int | None:
        return None if value is None else state.current.objects.stored([value])

    def copied(number: int | None) -> int | None:
        return state.current.objects.copied(number)

    def on_descriptor(name: str, *arguments: int | None) -> int | None:
        return state.current.objects.call(name, *arguments)

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
    connection.create_function("ifx_lo", -1, guarded(on_descriptor, state.note_error))
    connection.create_function("ifx_released", 1, released)
    connection.create_function("ifx_keep", 2, guarded(keep, state.note_error))
    connection.create_function("ifx_nextval", 2, guarded(next_value, state.note_error))
    connection.create_function("ifx_currval", 1, guarded(current_value, state.note_error))
    make_interruptible(connection, state.interrupts)
