"""Routines written in SPL, called in a session: compiled programs, their SQL statements, rows. Never: their meaning.

Invariants:
1. A program is compiled once per session and generation of the schema.
2. The rows of FOREACH are read when the loop begins, so no cursor of a routine is live while its statements run.
3. A routine that a query or a change calls in an expression changes nothing: -675 (documented).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from aioifx.server.engine.cursors import Cursor
from aioifx.server.engine.planner import Statement
from aioifx.server.engine.session_state import SessionState, StatementResult
from aioifx.server.engine.spl_dynamic import (
    NO_ROW,
    TOO_FEW,
    DynamicSql,
    called_name,
    prepared,
    row_assigned,
)
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model import plan as plans
from aioifx.server.sql.model.plan import CallSpl, Query
from aioifx.server.sql.model.spl import UNRESOLVED, SplRoutine
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.complex_values import stored_parts
from aioifx.server.sql.translate.spl_compiler import compiled
from aioifx.server.sql.translate.spl_program import (
    MISSING,
    NOT_GIVEN,
    Embedded,
    EmbeddedStatement,
    Program,
    StoredValues,
)
from aioifx.server.sqlite.spool import StoredRow
from aioifx.sqltypes import SqlType, Value

ILLEGAL_IN_QUERY: Final = -675
OUT_OF_STACK: Final = -722
SEVERAL_ROWS: Final = -284
SEVERAL_RESULTS: Final = -686
SYSTEM_FAILED: Final = -668
_DEEPEST: Final = 180
"""Routines in each other, of which one that is not called by an expression of a body counts as `_HEAVY`.

Informix's own limit is its stack, whose error this one is; here it is Python's, which has 1,000 frames.
"""
_HEAVY: Final = 5
_BLOCK: Final = 500
_NO_STAMP: Final = (-1, -1)
_ALLOWED_IN_QUERIES: Final = (
    Query, CallSpl, plans.CallRoutine, plans.Nothing, plans.SetOption, plans.SetIsolation, plans.SetLockMode,
)  # fmt: skip


class SplHost:
    """Runs the routines of one session; see `spl_program.Host`."""

    def __init__(
        self,
        state: SessionState,
        execute: Callable[[Statement, StoredValues], StatementResult],
        open_cursor: Callable[[Statement, Sequence[Value], str, bool], Cursor],
        close_cursor: Callable[[Cursor], None],
    ) -> None:
        self._state = state
        self._execute = execute
        self._open = open_cursor
        self._close = close_cursor
        self._programs: dict[int, Program] = {}
        self._generation: tuple[str, int] = ("", 0)
        self._stamp: tuple[tuple[int, int], int] = (_NO_STAMP, 0)
        self._statements: dict[tuple[int, int], Statement] = {}
        self._depth = 0
        self._in_query = 0
        self.sqlcode = 0
        self.globals: dict[str, Stored] = {}
        self.global_types: dict[str, str] = {}
        self.check = state.interrupts.check
        self.trigger: object = None
        """The rows and the event of the trigger whose action runs."""

    # --- Calls --------------------------------------------------------------------------------------------------------

    def rows_of(self, routine: SplRoutine, arguments: Sequence[Any]) -> Generator[StoredRow, None, None]:
        """Call a routine: its rows, the first of which is computed when it is requested.

        Raises:
            SqlError: as the routine; -722, too many routines in each other.
        """
        program = self._program(routine.procid)
        with self._entered(_HEAVY):
            result = program.function(self, *arguments)
            if not program.is_iterator:
                if result is not None:
                    yield result
                elif routine.results:  # documented: RETURN without values returns NULLs
                    yield (None,) * len(routine.results)
                return
        while True:
            with self._entered(_HEAVY):
                row = next(result, None)
            if row is None:
                return
            yield row

    def rows_given(self, action: CallSpl, arguments: StoredRow) -> Generator[StoredRow, None, None]:
        """The rows of EXECUTE, whose arguments are those of some parameters."""
        values: list[Any] = [MISSING] * len(action.routine.parameters)
        for index, value in zip(action.given, arguments, strict=True):
            values[index] = value
        return self.rows_of(action.routine, values)

    @contextmanager
    def _entered(self, weight: int) -> Generator[None, None, None]:
        """Context of a routine that runs."""
        if self._depth + weight > _DEEPEST:
            raise SqlError(OUT_OF_STACK)
        self._depth += weight
        try:
            yield
        except SqlError as error:
            if error.offset:  # it is a position in the routine, not in the client's statement
                error.offset = 0
            raise
        except RecursionError:
            raise SqlError(OUT_OF_STACK) from None
        finally:
            self._depth -= weight

    def single(self, procid: int, arguments: Sequence[Any]) -> Stored:
        """The single result of a routine in an expression; NULL if it returns nothing, as `routines` assumes.

        Raises:
            SqlError: -686, several rows; others as the routine.
        """
        program = self._program(procid)
        if program.is_iterator:
            rows = list(self.rows_of(program.routine, arguments))
            if len(rows) > 1:
                raise SqlError(SEVERAL_RESULTS)
            return rows[0][0] if rows else None
        if self._depth >= _DEEPEST:
            raise SqlError(OUT_OF_STACK)
        self._depth += 1
        try:
            row = program.function(self, *arguments)
        finally:
            self._depth -= 1
        value: Stored = None if row is None else row[0]
        return value

    def in_query(self, procid: int, *arguments: Stored, as_rows: bool = False) -> Stored:
        """A call in an expression that SQLite evaluates.

        Args:
            as_rows: a JSON array of the rows, each another one: the results, then OUT and INOUT parameters.
        """
        state = self._state
        noted, given = state.function_error, [MISSING if each == NOT_GIVEN else each for each in arguments]
        self._in_query += 1
        try:
            with self._entered(_HEAVY):
                value = self._as_rows(procid, given) if as_rows else self.single(procid, given)
        finally:
            self._in_query -= 1
        state.function_error = noted  # that of a statement that a handler has dealt with is not the caller's
        return value

    def _as_rows(self, procid: int, arguments: Sequence[Any]) -> Stored:
        return stored_parts(
            [stored_parts(row) for row in self.rows_of(self._program(procid).routine, arguments)]
        )

    @property
    def is_in_query(self) -> bool:
        """Whether SQLite runs a statement that has called a routine."""
        return self._in_query > 0

    def _program(self, procid: int) -> Program:
        state = self._state
        stamp = state.current.stamp, state.settings.routines.version
        if stamp != self._stamp:
            self._forget_outdated()
            self._stamp = state.current.stamp, stamp[1]
        program = self._programs.get(procid)
        return self._compiled(procid) if program is None else program

    def _forget_outdated(self) -> None:
        """Forget the programs of another generation of the schema."""
        state = self._state
        generation = state.planner.schema(state.current).generation, state.settings.routines.version
        if generation != self._generation:
            self._programs.clear()
            self._statements.clear()
            self._generation = generation

    def _compiled(self, procid: int) -> Program:
        state = self._state
        schema = state.planner.schema(state.current)
        routine = next((each for each in schema.routines if each.procid == procid), None)
        if routine is None:
            raise SqlError(UNRESOLVED)
        program = self._programs[procid] = compiled(routine, schema, state.settings)
        return program

    # --- Statements of a body -----------------------------------------------------------------------------------------

    def _statement(self, program: Program, number: int) -> Statement:
        key = id(program), number
        statement = self._statements.get(key)
        if statement is None:
            statement = self._state.planner.prepare_embedded(program.embedded[number], self._state.current)
            self._statements[key] = statement
        return statement

    def value(self, program: Program, number: int, values: StoredValues) -> Stored:
        """The value of an expression on SQLite."""
        row = self._only_row(self._statement(program, number), values)
        return None if row is None else row[0]

    def select(self, program: Program, number: int, values: StoredValues) -> StoredValues:
        """The single row of a query or a called routine.

        assumed: a query without rows sets its variables to NULL.

        Raises:
            SqlError: -284, several rows; -684 and -685, more or fewer values than targets.
        """
        statement = self._statement(program, number)
        targets = _targets(program.embedded[number])
        if not isinstance(statement.plan.action, Query):
            return self._row_of_call(statement, values, targets)
        row = self._only_row(statement, values)
        self.sqlcode = NO_ROW if row is None else 0
        self._state.settings.affected = 0 if row is None else 1
        if row is None:
            return (None,) * len(targets)
        return row_assigned(row, statement.plan, targets, self._state.settings)

    def _row_of_call(
        self, statement: Statement, values: StoredValues, targets: tuple[SqlType, ...]
    ) -> StoredValues:
        row = next(self._rows_of_call(statement, values), None)
        self.sqlcode = 0
        if not targets:
            return ()
        if row is None:
            raise SqlError(TOO_FEW, token=called_name(statement.plan))
        return row_assigned(row, statement.plan, targets, self._state.settings)

    def _rows_of_call(self, statement: Statement, values: StoredValues) -> Iterator[StoredRow]:
        """The rows of EXECUTE in a body."""
        plan = self._state.plan_of(statement)
        if not plan.returns_rows:
            self._execute(statement, values)
            return
        cursor = self._open(statement, values, "", True)
        try:
            while rows := cursor.next_row():
                yield from rows
        finally:
            self._close(cursor)

    def _only_row(self, statement: Statement, values: StoredValues) -> StoredRow | None:
        cursor = self._open(statement, values, "", False)
        try:
            rows, _ = cursor.fetch(2)
        finally:
            self._close(cursor)
        if len(rows) > 1:
            raise SqlError(SEVERAL_ROWS)
        return rows[0] if rows else None

    def rows(
        self, program: Program, number: int, values: StoredValues
    ) -> Generator[StoredValues, None, None]:
        """The rows of FOREACH."""
        statement = self._statement(program, number)
        embedded = program.embedded[number]
        assert isinstance(embedded, EmbeddedStatement)
        if not isinstance(self._state.plan_of(statement).action, Query):
            for row in self._rows_of_call(statement, values):
                yield row_assigned(row, statement.plan, embedded.targets, self._state.settings)
            return
        cursor = self._open(statement, values, embedded.cursor, embedded.hold)
        size = 1 if embedded.cursor else _BLOCK
        try:
            is_last = False
            while not is_last:
                if cursor.is_released:
                    raise SqlError(_RELEASED)
                rows, is_last = cursor.fetch(size)
                for row in rows:
                    yield row_assigned(row, statement.plan, embedded.targets, self._state.settings)
        finally:
            self._close(cursor)

    def execute(self, program: Program, number: int, values: StoredValues) -> None:
        """Run a statement without rows.

        Raises:
            SqlError: -675, a change in a routine that a query calls.
        """
        self._run(self._statement(program, number), values)

    def _run(self, statement: Statement, values: StoredValues) -> None:
        if self._in_query and not isinstance(statement.plan.action, _ALLOWED_IN_QUERIES):
            raise SqlError(ILLEGAL_IN_QUERY)
        result = self._execute(statement, values)
        self._state.settings.affected = result.rows
        self.sqlcode = 0

    def immediate(self, text: Stored) -> None:
        """EXECUTE IMMEDIATE of a statement without rows.

        Raises:
            SqlError: -260, it returns rows; -201, it has ``?`` (assumed); others as `prepared` and the statement.
        """
        statement = prepared(text, self._state)
        if statement.plan.returns_rows:
            raise SqlError(-260)
        if statement.plan.parameters:
            raise SqlError(-201)
        self._run(statement, ())

    def system(self, command: Stored) -> None:
        """SYSTEM, which the owner of the server allows by an option.

        Raises:
            SqlError: -668, it is not allowed, or the function of the option raises (assumed for both); with the status
                of the command as ISAM code, if that is not 0 (documented: SYSTEM statement).
        """
        run = self._state.settings.routines.system
        if run is None:
            raise SqlError(SYSTEM_FAILED, token="the server does not allow SYSTEM")
        try:
            status = run(str(command or ""))
        except Exception as error:
            raise SqlError(SYSTEM_FAILED, token=str(error)) from error
        if isinstance(status, int) and status:
            raise SqlError(SYSTEM_FAILED, status, token=str(command))

    def dynamic(self) -> DynamicSql:
        """The prepared statements and cursors of one call of a routine."""
        return DynamicSql(self, self._state, self._open, self._close)


_RELEASED: Final = -400


def _targets(embedded: Embedded) -> tuple[SqlType, ...]:
    return embedded.targets if isinstance(embedded, EmbeddedStatement) else ()
