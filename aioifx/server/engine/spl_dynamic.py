"""Dynamic SQL of routines: the prepared statements and cursors of one call, and rows for variables. Never: FOREACH.

Source: what may be prepared is documented (Guide to SQL: Syntax, PREPARE statement, Restrictions; EXECUTE IMMEDIATE and
Restricted Statements). The codes from -26051 on are documented by the text of their messages.
assumed: PREPARE and DECLARE replace what has the name, unless its cursor is open; cursors outlive FREE of a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from aioifx.server.engine.cursors import Cursor
from aioifx.server.engine.planner import Statement
from aioifx.server.engine.session_state import SessionState
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan as plans
from aioifx.server.sql.model.plan import CallRoutine, CallSpl, Plan, Query
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Stored, type_number
from aioifx.server.sql.runtime.casts import assigner
from aioifx.server.sql.runtime.client_values import load
from aioifx.server.sql.translate.spl_dynamic import IN_USE
from aioifx.server.sql.translate.spl_program import Host, StoredValues
from aioifx.server.sqlite.spool import StoredRow
from aioifx.sqltypes import SqlType, Value

TOO_MANY: Final = -684
TOO_FEW: Final = -685
WRONG_COUNT: Final = -661
ILLEGAL: Final = -675
"""The statement is not valid in a routine (documented); assumed for texts that PREPARE does not take."""
NO_ROW: Final = 100
NO_TEXT: Final = -26051
ALREADY_OPEN: Final = -26052
NOT_OPEN: Final = -26053
FREE_OPEN: Final = -26054
UNKNOWN: Final = -26055
HELD_FUNCTION: Final = -26056
_DATABASES: Final = (plans.OpenDatabase, plans.CloseDatabase, plans.CreateDatabase, plans.DropDatabase)


def prepared(text: Stored, state: SessionState) -> Statement:
    """The statement of a text that a routine has computed.

    Raises:
        SqlError: -26051, it is NULL; -675, it is of a database (assumed); others as `Planner.prepare_single`.
    """
    if text is None:
        raise SqlError(NO_TEXT)
    statement = state.planner.prepare_single(str(text), state.current)
    if isinstance(statement.plan.action, _DATABASES):
        raise SqlError(ILLEGAL)
    return statement


@dataclass(slots=True)
class _DynamicCursor:
    """A cursor that DECLARE has made."""

    statement: Statement
    identifier: str
    """The name of the prepared statement."""
    hold: bool
    opened: Cursor | None = None

    @property
    def is_open(self) -> bool:
        return self.opened is not None and not self.opened.is_released


class DynamicSql:
    """The prepared statements and cursors of one call of a routine, whose names are local to it (documented)."""

    def __init__(
        self,
        host: Host,
        state: SessionState,
        open_cursor: Callable[[Statement, Sequence[Value], str, bool], Cursor],
        close_cursor: Callable[[Cursor], None],
    ) -> None:
        self._host = host
        self._state = state
        self._open = open_cursor
        self._close = close_cursor
        self._statements: dict[str, Statement] = {}
        self._cursors: dict[str, _DynamicCursor] = {}

    def prepare(self, name: str, text: Stored) -> None:
        """PREPARE of a query, or of a call.

        Raises:
            SqlError: -26057, the name is that of a cursor, or of an open cursor's statement; -675, another kind of
                statement; others as `prepared`.
        """
        is_busy = any(each.is_open and each.identifier == name for each in self._cursors.values())
        if name in self._cursors or is_busy:
            raise SqlError(IN_USE, token=name)
        statement = prepared(text, self._state)
        action = statement.plan.action
        is_query = isinstance(action, Query) and not action.for_update
        if not (is_query or isinstance(action, CallRoutine | CallSpl)):
            raise SqlError(ILLEGAL)
        self._statements[name] = statement
        self._host.sqlcode = 0

    def declare(self, name: str, identifier: str, hold: bool) -> None:
        """DECLARE of a cursor for a prepared statement.

        Raises:
            SqlError: -26055, no such statement; -26056, a held cursor of a call; -26057, the name is in use.
        """
        statement = self._statements.get(identifier)
        if statement is None:
            raise SqlError(UNKNOWN, token=identifier)
        if name in self._statements or (name in self._cursors and self._cursors[name].is_open):
            raise SqlError(IN_USE, token=name)
        if hold and not isinstance(statement.plan.action, Query):
            raise SqlError(HELD_FUNCTION, token=name)
        self._cursors[name] = _DynamicCursor(statement, identifier, hold)
        self._host.sqlcode = 0

    def open(self, name: str, types: tuple[SqlType, ...], values: StoredValues) -> None:
        """OPEN, with the variables of USING.

        Raises:
            SqlError: -26052, it is open; -26055, no such cursor; -254, more or fewer values than ``?``; others as the
                statement.
        """
        cursor = self._declared(name)
        if cursor.is_open:
            raise SqlError(ALREADY_OPEN, token=name)
        given = [load(value, type_) for value, type_ in zip(values, types, strict=True)]
        cursor.opened = self._open(cursor.statement, given, "", cursor.hold)
        self._host.sqlcode = 0

    def fetch(self, name: str, targets: tuple[SqlType, ...]) -> StoredValues | None:
        """FETCH: the next row as variables store it; None after the last, when SQLCODE is 100 (documented).

        Raises:
            SqlError: -26053, it is not open; -26055, no such cursor; others as `row_assigned`.
        """
        cursor = self._open_one(name)
        rows = cursor.opened.next_row() if cursor.opened is not None else []
        self._host.sqlcode = 0 if rows else NO_ROW
        return row_assigned(rows[0], cursor.statement.plan, targets, self._state.settings) if rows else None

    def close(self, name: str) -> None:
        """CLOSE.

        Raises:
            SqlError: -26053, it is not open; -26055, no such cursor.
        """
        self._shut(self._open_one(name))
        self._host.sqlcode = 0

    def free(self, name: str) -> None:
        """FREE of a cursor or statement.

        Raises:
            SqlError: -26054, the cursor is open; -26055, no such cursor or statement.
        """
        if self._statements.pop(name, None) is None:
            if self._declared(name).is_open:
                raise SqlError(FREE_OPEN, token=name)
            del self._cursors[name]
        self._host.sqlcode = 0

    def end(self) -> None:
        """Close what the call has left open."""
        for cursor in self._cursors.values():
            self._shut(cursor)

    def _shut(self, cursor: _DynamicCursor) -> None:
        opened, cursor.opened = cursor.opened, None
        if opened is not None:
            self._close(opened)

    def _declared(self, name: str) -> _DynamicCursor:
        cursor = self._cursors.get(name)
        if cursor is None:
            raise SqlError(UNKNOWN, token=name)
        return cursor

    def _open_one(self, name: str) -> _DynamicCursor:
        cursor = self._declared(name)
        if not cursor.is_open:
            raise SqlError(NOT_OPEN, token=name)
        return cursor


def called_name(plan: Plan) -> str:
    """The name of the routine that a plan calls; empty if the plan is not a call."""
    action = plan.action
    return action.routine.name if isinstance(action, CallSpl | CallRoutine) else ""


def row_assigned(
    row: StoredRow, plan: Plan, targets: tuple[SqlType, ...], settings: Settings
) -> StoredValues:
    """A row as the variables of INTO store it.

    Raises:
        SqlError: -661, a query, -684 and -685, a routine with more or fewer values than variables.
    """
    columns = plan.columns
    if len(columns) != len(targets):
        name = called_name(plan)
        if not name:
            raise SqlError(WRONG_COUNT)
        raise SqlError(TOO_FEW if len(columns) < len(targets) else TOO_MANY, token=name)
    return tuple(
        None if value is None else assigner(type_number(column.type), type_number(target))(value, settings)
        for value, column, target in zip(row, columns, targets, strict=True)
    )
