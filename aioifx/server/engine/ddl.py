"""CREATE, ALTER, DROP, CREATE TABLE AS and SELECT INTO TEMP: run under the write lock. Never: their translation."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from aioifx.server.catalog import catalog
from aioifx.server.engine.dml import apply_change, is_shared, run_row
from aioifx.server.engine.filtering import VIOLATED, RowFilter
from aioifx.server.engine.planner import Statement
from aioifx.server.engine.session_state import SessionState, StatementResult
from aioifx.server.engine.write_refusals import check_definition
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Change, Definition, FilledTable, PutTable, Step, Verb, Verified
from aioifx.server.sql.model.schema import Schema, Table
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sql.sqlite.tree import EMPTY
from aioifx.server.sqlite.databases import LogMode
from aioifx.server.sqlite.lock_manager import LockMode
from aioifx.sqltypes import Value


def run_definition(state: SessionState, statement: Statement, definition: Definition) -> StatementResult:
    """Run a statement that changes the schema.

    Raises:
        SqlError: it failed without any change; -971, rows are filed.
    """
    check_definition(state, statement.plan, definition)
    for each in definition.verified:
        _verify(state, each)

    def attempt() -> StatementResult:
        action = state.plan_of(statement).action
        assert isinstance(action, Definition)
        with _defining(state, action):
            _define(state, action)
        return StatementResult()

    return _run(state, definition, attempt)


def _verify(state: SessionState, verified: Verified) -> None:
    """File the rows that violate what is to be enabled.

    Raises:
        SqlError: -971, there are any.
    """
    table, transactions = verified.table, state.current.transactions
    change = Change(Verb.UPDATE, Composed(EMPTY), table)

    def attempt() -> bool:
        with transactions.changing(table, state.planner.schema(state.current), LockMode.X):
            rows = RowFilter(state, change, verified.filtering, run_row)
            return rows.file_existing(verified.items)

    with state.mapped_errors(-211, table.name):
        is_violated = transactions.run(attempt)
    if is_violated:
        raise SqlError(VIOLATED)


def create_filled_table(
    state: SessionState, statement: Statement, action: FilledTable, values: Sequence[Value]
) -> StatementResult:
    """SELECT INTO TEMP, CREATE TABLE AS: create the table, then fill it."""
    check_definition(state, statement.plan, action.definition)

    def attempt() -> StatementResult:
        plan = state.plan_of(statement)
        assert isinstance(plan.action, FilledTable)
        with _defining(state, plan.action.definition):
            stored = state.bind(statement, values)
            _define(state, plan.action.definition)
            return StatementResult(rows=apply_change(state, plan.action.fill, stored).rows)

    return _run(state, action.definition, attempt)


def _run(
    state: SessionState, definition: Definition, attempt: Callable[[], StatementResult]
) -> StatementResult:
    shared = not definition.changes or any(is_shared(change.table) for change in definition.changes)
    token = definition.changes[0].table.name if definition.changes else ""
    current = state.current
    try:
        with state.mapped_errors(-211, token):
            result = current.transactions.run(attempt, shared=shared)
        current.objects.sweep()
        return result
    finally:
        current.on_schema_changed()


def _defining(state: SessionState, definition: Definition) -> AbstractContextManager[None]:
    tables = [change.table for change in definition.changes]
    creates_temps = all(table.is_temp for table in tables) and all(
        step.undo is not None for step in definition.steps
    )
    tables += _new_parents(definition, state.planner.schema(state.current))
    return state.current.transactions.defining(tables, in_place=bool(tables) and creates_temps)


def _new_parents(definition: Definition, schema: Schema) -> Iterator[Table]:
    """The tables that new referential constraints refer to, which are locked as well (documented)."""
    for change in definition.changes:
        if not isinstance(change, PutTable) or change.table.is_temp:
            continue
        before = schema.table_of(change.table.tabid)
        known = before.foreign_keys if before else ()
        for constraint in change.table.foreign_keys:
            parent = schema.table_of(constraint.parent)
            if constraint not in known and parent is not None:
                yield parent


def _define(state: SessionState, definition: Definition) -> None:
    current = state.current
    schema = state.planner.schema(current)
    for change in definition.changes:
        current.forget_serials(change.table, schema)
    is_ansi = current.database.log_mode is LogMode.ANSI
    for step in catalog.steps_of(definition, current.database.codec, is_ansi=is_ansi):
        if current.transactions.postpones(step):
            continue
        try:
            with _interruptible(state, step):
                current.connection.execute(step.sql, step.values)
        except sqlite3.IntegrityError:
            if step.duplicate is None:
                raise
            raise SqlError(*step.duplicate) from None
    current.on_schema_changed()


@contextmanager
def _interruptible(state: SessionState, step: Step) -> Generator[None, None, None]:
    """Context of a step: interruptible before it, and during a step that visits rows outside a transaction."""
    state.interrupts.check()
    if state.current.transactions.is_exclusive or not step.visits_rows:
        yield
        return
    with state.interrupts.stopping():
        yield
