"""CREATE, ALTER, DROP, CREATE TABLE AS and SELECT INTO TEMP: run under the write lock. Never: their translation."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

from aioifx.server.catalog import catalog
from aioifx.server.engine.dml import apply_change, is_shared
from aioifx.server.engine.planner import Statement
from aioifx.server.engine.results import StatementResult
from aioifx.server.engine.session_state import SessionState
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Definition, FilledTable
from aioifx.sqltypes import Value

_LONG_STEPS: Final = (
    "ALTER TABLE",
    "DELETE FROM",
    "INSERT INTO",
    'UPDATE main."t',
    'UPDATE temp."t',
    "CREATE INDEX",
    "CREATE UNIQUE INDEX",
)
"""Prefixes of the steps of a definition that scan all rows of a table."""


def run_definition(state: SessionState, statement: Statement, definition: Definition) -> StatementResult:
    """Run a statement that changes the schema.

    Raises:   SqlError: it failed without any change.
    """
    with _defining(state, definition):
        action = state.plan_of(statement).action
        assert isinstance(action, Definition)
        _define(state, action)
    return StatementResult()


def create_filled_table(
    state: SessionState, statement: Statement, action: FilledTable, values: Sequence[Value]
) -> StatementResult:
    """SELECT INTO TEMP, CREATE TABLE AS: create the table, then fill it."""
    with _defining(state, action.definition):
        plan = state.plan_of(statement)
        assert isinstance(plan.action, FilledTable)
        stored = state.bind(statement, values)
        _define(state, plan.action.definition)
        return StatementResult(rows=apply_change(state, plan.action.fill, stored).rows)


@contextmanager
def _defining(state: SessionState, definition: Definition) -> Generator[None, None, None]:
    shared = any(is_shared(change.table) for change in definition.changes)
    token = definition.changes[0].table.name if definition.changes else ""
    current = state.current
    try:
        with (
            state.mapped_errors(-211, token),
            current.transactions.writing(token, alone=False, shared=shared),
        ):
            yield
        current.objects.sweep()
    finally:
        current.on_schema_changed()


def _define(state: SessionState, definition: Definition) -> None:
    current = state.current
    schema = state.planner.schema(current)
    for change in definition.changes:
        current.forget_serials(change.table, schema)
    for step in catalog.steps_of(definition):
        try:
            with _interruptible(state, step.sql):
                current.connection.execute(step.sql, step.values)
        except sqlite3.IntegrityError:
            if step.duplicate is None:
                raise
            raise SqlError(*step.duplicate) from None
    current.on_schema_changed()


@contextmanager
def _interruptible(state: SessionState, step: str) -> Generator[None, None, None]:
    """Context of a step: interruptible before it, and during a long step outside a transaction."""
    state.interrupts.check()
    if state.current.transactions.is_open or not step.startswith(_LONG_STEPS):
        yield
        return
    with state.interrupts.stopping():
        yield
