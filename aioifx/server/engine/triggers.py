"""Statements that activate triggers: BEFORE actions, each row with its actions, AFTER actions. Never: their rules.

The triggering statement runs row by row, so that an action sees the rows that have been changed so far. All of it is
undone together. A referential constraint that it violates is checked again after the last action, in a second run.

Source: documented (Guide to SQL: Syntax, CREATE TRIGGER, "Action Clause", "Actions of Multiple Triggers", "Constraint
Checking", "Logging and Recovery").
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

from aioifx.server.engine.filtering import VIOLATED, RowFilter, RunRow
from aioifx.server.engine.firing import ReferencedRow
from aioifx.server.engine.session_state import SessionState, StatementResult
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import (
    CallRoutine,
    CallSpl,
    Change,
    Event,
    TriggerBranch,
    TriggeredAction,
    TriggerPlan,
    Verb,
)
from aioifx.server.sql.model.schema import Table, Trigger, TriggerEvent
from aioifx.server.sql.sqlite.render import Composed, identifier
from aioifx.server.sql.translate.triggers import stored_row, trigger_plan
from aioifx.server.sqlite.dml import Written
from aioifx.server.sqlite.error_mapping import (
    broken_references,
    is_duplicate,
    sql_error_of,
    updated_as_a_whole,
)
from aioifx.server.sqlite.routine_calls import RoutineRows, called
from aioifx.server.sqlite.row_changes import LockConflict
from aioifx.server.sqlite.spool import Spool, StoredRow
from aioifx.server.sqlite.write_statements import NotExclusive

Apply: TypeAlias = Callable[[SessionState, Change, StoredRow], StatementResult]
"""Runs an action that changes rows."""

_BROKEN: Final = (-691, -692)
_BLOCK: Final = 1000
_SEVERAL_ROWS: Final = -686


def fire(
    state: SessionState, change: Change, stored: StoredRow, apply: Apply, run_row: RunRow
) -> StatementResult:
    """Run *change* with the triggers that it activates; if one fails, all of it is undone.

    Raises:
        SqlError: the statement or an action failed; -748.
    """
    statement = _Statement(state, change, stored, apply, run_row)
    if state.firing.is_active:
        return statement.run()
    serials = state.current.database.serials
    noted = serials.noted()
    try:
        return statement.run()
    except SqlError as error:
        if error.sqlcode not in _BROKEN:
            raise
        serials.back_to(noted)
    except (LockConflict, NotExclusive):  # it runs again
        serials.back_to(noted)
        raise
    state.function_error = None
    return statement.run(deferring=True)


@dataclass(slots=True)
class _Row:
    """A row of the triggering statement, with its values before and after."""

    kind: TriggerEvent
    rowid: int
    old: StoredRow
    new: StoredRow

    @property
    def values(self) -> StoredRow:
        """What is bound to the texts of actions."""
        return (*self.old, *self.new)


_OPERATORS: Final = {
    TriggerEvent.INSERT: "inserting",
    TriggerEvent.UPDATE: "updating",
    TriggerEvent.DELETE: "deleting",
    TriggerEvent.SELECT: "selecting",
}
_NO_ROW: Final = _Row(TriggerEvent.UPDATE, 0, (), ())
"""BEFORE and AFTER actions have no row."""


@dataclass(slots=True)
class _Statement:
    """One run of a triggering statement."""

    state: SessionState
    change: Change
    stored: StoredRow
    apply: Apply
    run_row: RunRow
    image: str = ""
    """The query of a row's values, once it is needed."""
    filter: RowFilter | None = None

    def run(self, *, deferring: bool = False) -> StatementResult:
        """Run the change; with *deferring*, check referential constraints after the last action."""
        current, table = self.state.current, self.change.table
        with current.transactions.undone_alone(), self.state.firing.frame(table, self.change.events):
            if not deferring:
                return self._run_uniquely()
            current.connection.execute("PRAGMA defer_foreign_keys=ON")
            try:
                result = self._run_uniquely()
                schema = self.state.planner.schema(current)
                changed, written = (
                    [found for tabid in tabids if (found := schema.table_of(tabid)) and not found.view]
                    for tabids in (self.state.firing.changed, self.state.firing.written)
                )
                for error in broken_references(current.connection, changed, written, schema):
                    raise error
                return result
            finally:
                current.connection.execute("PRAGMA defer_foreign_keys=OFF")
                if current.deferred.is_any:
                    current.deferred.resume(self.state.planner.schema(current))

    def _run_uniquely(self) -> StatementResult:
        """Run it; if an UPDATE meets a duplicate key, again with the keys checked after the last row."""
        current = self.state.current
        try:
            with current.transactions.undone_alone():
                return self._run_sections()
        except sqlite3.IntegrityError as error:
            if not is_duplicate(error):
                raise
            result = updated_as_a_whole(current.connection, self.change.table, self._run_sections)
            if result is None:
                raise (sql_error_of(error, self.change) or error) from None
            return result

    def _run_sections(self) -> StatementResult:
        state, table = self.state, self.change.table
        plans = [(each, plan_of(state, table, each)) for each in activated(table, self.change.events)]
        for _, plan in plans:
            self._run_branches(plan.before, _NO_ROW)
        by_row = self.change.by_row
        if by_row is not None and by_row.filtering is not None:
            self.filter = RowFilter(state, self.change, by_row.filtering, self.run_row, by_row.is_merge)
        serials = state.current.assigned_serials
        serials.clear()  # of the statement before, or of BEFORE actions
        result, assigned = StatementResult(), dict[int, int]()
        for row in self._changed_rows():
            result.rows += 1
            result.rowid = row.rowid if self.change.verb is Verb.INSERT else 0
            assigned |= serials
            for trigger, plan in plans:
                if trigger.event is row.kind:
                    self._run_branches(plan.each_row, row)
            serials.clear()
        for _, plan in plans:
            self._run_branches(plan.after, _NO_ROW)
        serials.clear()
        serials.update(assigned)
        result.has_violations = self.filter is not None and self.filter.has_error
        return result

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _changed_rows(self) -> Iterator[_Row]:
        """Change the rows one by one; yields each after its change."""
        change, by_row = self.change, self.change.by_row
        assert by_row is not None
        current = self.state.current
        if by_row.is_instead and by_row.search is not None:
            yield from self._rows_of_view(by_row.search)
            return
        if change.verb is Verb.INSERT:
            current.prime_serials(change.table)
        current.begin_rows()
        if change.cursor:
            yield from self._changed_row(change.sql, self.stored, int(str(self.stored[-1])))
            return
        if by_row.search is None:
            yield from self._inserted_row(by_row.each, self.stored)
            return
        with closing(Spool()) as rows:
            self._read(by_row.search, rows)
            for start in range(0, len(rows), _BLOCK):
                for row in rows.rows(start, _BLOCK):
                    self.state.interrupts.check()
                    current.begin_rows()
                    if change.verb is not Verb.INSERT:
                        values = (*self.stored[: by_row.width], row[0])
                        yield from self._changed_row(by_row.each, values, int(str(row[0])))
                    elif by_row.is_merge and row[0] is not None:
                        yield from self._changed_row(by_row.each, row, int(str(row[0])), TriggerEvent.UPDATE)
                    else:
                        yield from self._inserted_row(by_row.each, row)

    def _rows_of_view(self, search: Composed) -> Iterator[_Row]:
        self.state.current.begin_rows()
        width = len(self.change.table.columns)
        with closing(Spool()) as rows:
            self._read(search, rows)
            for start in range(0, len(rows), _BLOCK):
                for row in rows.rows(start, _BLOCK):
                    self.state.interrupts.check()
                    yield _Row(self.change.events[0].kind, 0, row[:width], row[width:])

    def _read(self, search: Composed, into: Spool) -> None:
        connection = self.state.current.connection
        with closing(connection.execute(search.text, search.bound(self.stored))) as found:
            while block := found.fetchmany(_BLOCK):
                self.state.interrupts.check()
                into.append(block)

    def _write(self, kind: TriggerEvent, sql: Composed, values: StoredRow, rowid: int = 0) -> Written | None:
        """Write a row; None if it has been filed in the violations table instead."""
        if self.filter is not None:
            return self.filter.write(kind, sql, values, rowid)
        return self.run_row(self.state, self.change, sql, values)

    def _inserted_row(self, sql: Composed, values: StoredRow) -> Iterator[_Row]:
        done = self._write(TriggerEvent.INSERT, sql, values)
        if done is None:
            return
        rowid = done.lastrowid or 0
        old = (None,) * len(self.change.table.columns)
        yield _Row(TriggerEvent.INSERT, rowid, old, self._image(rowid) or old)

    def _changed_row(
        self, sql: Composed, values: StoredRow, rowid: int, kind: TriggerEvent | None = None
    ) -> Iterator[_Row]:
        """Update or delete a row, unless an action has deleted it."""
        kind = kind or self.change.events[0].kind
        old = self._image(rowid)
        if old is None:
            return
        if self._write(kind, sql, values, rowid) is None:
            return
        new = self._image(rowid) if kind is TriggerEvent.UPDATE else None
        yield _Row(kind, rowid, old, new or (None,) * len(old))

    def _image(self, rowid: int) -> StoredRow | None:
        if not self.image:
            table = self.change.table
            names = ", ".join(identifier(column.name) for column in table.columns)
            self.image = f"SELECT {names} FROM {table.source} WHERE rowid = ?"
        row: StoredRow | None = self.state.current.connection.execute(self.image, (rowid,)).fetchone()
        return row

    # -- actions -------------------------------------------------------------------------------------------------------

    def _run_branches(self, branches: Iterable[TriggerBranch], row: _Row) -> None:
        connection = self.state.current.connection
        for branch in branches:
            condition = branch.condition
            if condition is not None:
                (holds,) = connection.execute(condition.text, condition.bound(row.values)).fetchone()
                if not holds:
                    continue
            for action in branch.actions:
                self._run_action(action, row)

    def _run_action(self, action: TriggeredAction, row: _Row) -> None:
        self.state.interrupts.check()
        if isinstance(action.action, Change):
            if self.apply(self.state, action.action, row.values).has_violations:
                raise SqlError(VIOLATED)
            return
        if action.has_references:
            with self._referenced(row):
                results = self._call(action.action, row)
        else:
            results = self._call(action.action, row)
        if action.into is not None:
            self._set_columns(action.into, action.columns, results, row)

    @contextmanager
    def _referenced(self, row: _Row) -> Generator[None, None, None]:
        """Context of a trigger routine; the new values that it sets are stored.

        Raises:
            SqlError: -391, -703 and -232, a value that its column does not accept.
        """
        host, table = self.state.spl, self.change.table
        assert host is not None
        names = [column.name for column in table.columns]
        old, new = (dict(zip(names, values, strict=True)) for values in (row.old, row.new))
        outer, host.trigger = host.trigger, ReferencedRow(_OPERATORS[row.kind], old, new)
        try:
            yield
        finally:
            host.trigger = outer
        numbers = [
            number for number, name in enumerate(names) if new[name] != row.new[number] and not table.view
        ]
        if numbers:
            update = stored_row(table, numbers, 2 * len(names) + 1)
            changed = tuple(names[number] for number in numbers)
            self._set_columns(update, changed, tuple(new[name] for name in changed), row)

    def _call(self, call: CallRoutine | CallSpl | None, row: _Row) -> StoredRow:
        """Call a routine; returns its row of results, NULLs if it has none or is built in.

        Raises:
            SqlError: -686, it has more than one.
        """
        if call is None:
            return (None,)
        arguments: StoredRow = ()
        if (query := call.arguments) is not None:
            connection = self.state.current.connection
            arguments = connection.execute(query.text, query.bound(row.values)).fetchone()
        state = self.state
        if isinstance(call, CallSpl):
            assert state.spl is not None
            results, count = RoutineRows(state.spl.rows_given(call, arguments)), len(call.routine.results)
        else:
            results = called(call.routine, arguments, state.settings, state.interrupts.check)
            count = len(call.routine.returns)
        with closing(results) as rows:
            found = rows.fetchmany(2)
        if len(found) > 1:
            raise SqlError(_SEVERAL_ROWS)
        return found[0] if found else (None,) * count

    def _set_columns(self, update: Composed, columns: Sequence[str], results: StoredRow, row: _Row) -> None:
        """INTO: update the row, and run the UPDATE triggers on columns that no statement has changed so far.

        Args:
            update: see `TriggeredAction.into`.
        """
        table = self.change.table
        bound = (*row.values, *results, row.rowid)
        before = self._image(row.rowid)
        self.run_row(self.state, Change(Verb.UPDATE, update, table), update, bound)
        after = self._image(row.rowid)
        if before is None or after is None:
            return
        numbers = [table.column_number(name) - 1 for name in columns]
        row.new = tuple(after[number] if number in numbers else value for number, value in enumerate(row.new))
        event = Event(TriggerEvent.UPDATE, tuple(columns))
        firing = self.state.firing
        triggers = [each for each in activated(table, (event,)) if firing.is_untouched(table, each)]
        if not triggers:
            return
        plans = [plan_of(self.state, table, each) for each in triggers]
        with firing.frame(table, (event,)):
            for plan in plans:
                self._run_branches(plan.before, _NO_ROW)
            for plan in plans:
                self._run_branches(plan.each_row, _Row(TriggerEvent.UPDATE, row.rowid, before, after))
            for plan in plans:
                self._run_branches(plan.after, _NO_ROW)


# -- triggers ----------------------------------------------------------------------------------------------------------


def activated(table: Table, events: Sequence[Event]) -> list[Trigger]:
    """The triggers that a statement activates, in the order of their actions.

    Source: documented: UPDATE triggers by the lowest number among their columns; assumed: others by trigid, and the
    UPDATE triggers of MERGE before its INSERT triggers.
    """
    found = [
        (number, _first_column(table, trigger), trigger.trigid, trigger)
        for number, event in enumerate(events)
        for trigger in table.triggers
        if trigger.is_fired_by(event.kind, event.columns)
    ]
    return [trigger for *_, trigger in sorted(found, key=lambda each: each[:3])]


def _first_column(table: Table, trigger: Trigger) -> int:
    return min((table.column_number(name) for name in trigger.columns), default=1)


def plan_of(state: SessionState, table: Table, trigger: Trigger) -> TriggerPlan:
    """The actions of a trigger, translated once for a state of the schema.

    Raises:
        SqlError: an object that an action names does not exist any longer.
    """
    firing, current = state.firing, state.current
    stamp = current, current.stamp, state.settings.routines.version
    if firing.stamp != stamp:
        firing.plans.clear()
        firing.stamp = stamp
    if trigger.trigid not in firing.plans:
        schema = state.planner.schema(current)
        try:
            firing.plans[trigger.trigid] = trigger_plan(trigger, table, schema, state.settings)
        except SqlError as error:
            raise SqlError(error.sqlcode, error.isamcode, error.token) from None
    return firing.plans[trigger.trigid]
