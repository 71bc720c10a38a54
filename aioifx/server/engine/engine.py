"""One session's statements on SQLite: prepare, execute, open, fetch. Never: bytes of SQLI.

Invariants:
1. An `Engine` belongs to one session. All of it runs in that session's thread, with the exceptions named in docstrings.
2. Only one cursor at a time reads from SQLite; every statement settles it first (see cursors.py).
3. SQLite's messages do not leave the engine: an error is a `SqlError`, or an internal error that the session logs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from datetime import datetime
from functools import partial
from typing import Final

from aioifx.server.engine import external_tables, session_databases, system_routines
from aioifx.server.engine.control_statements import control
from aioifx.server.engine.cursors import Cursor, NoRows
from aioifx.server.engine.ddl import create_filled_table, run_definition
from aioifx.server.engine.dml import fire_selection, insert_rows, run_change
from aioifx.server.engine.object_files import Files
from aioifx.server.engine.open_objects import OpenObjects
from aioifx.server.engine.planner import Statement
from aioifx.server.engine.reads import LOCK_ERRORS
from aioifx.server.engine.session_registry import SessionEntry, SessionRegistry
from aioifx.server.engine.session_state import SessionState, StatementResult
from aioifx.server.engine.spl import SplHost
from aioifx.server.engine.streams import Streams
from aioifx.server.engine.write_refusals import check_other
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import (
    Action,
    CallRoutine,
    CallSpl,
    Change,
    Definition,
    FilledTable,
    Isolation,
    Plan,
    Query,
    Unload,
)
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.spl import SplRoutine
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.model.type_rules import Family, family_of
from aioifx.server.sql.translate.spl_program import EmbeddedExpression
from aioifx.server.sqlite.databases import Database, Databases, WriteRefusal
from aioifx.server.sqlite.routine_calls import RoutineRows, called
from aioifx.server.sqlite.spool import StoredRow
from aioifx.server.sqlite.transaction_state import SessionDefaults
from aioifx.sqltypes import Column, Row, Value
from aioifx.wire.opcodes import StatementType

_NO_VALUE: Final = -602
"""Cannot open a BYTE or TEXT value (documented)."""
_ALWAYS_EXECUTED: Final = (StatementType.TRUNCATE, StatementType.CREATE_TABLE)


class Engine:
    """The statements of one session, executed on SQLite.

    Args:
        database_locale: DB_LOCALE of the client; empty if not given.
    """

    def __init__(
        self,
        databases: Databases,
        registry: SessionRegistry,
        entry: SessionEntry,
        settings: Settings,
        *,
        delimident: bool = False,
        database_locale: str = "",
        clock: Callable[[], datetime] = datetime.now,
    ) -> None:
        self.settings = settings
        self._state = SessionState(
            databases,
            registry,
            entry,
            settings,
            delimident=delimident,
            database_locale=database_locale,
            clock=clock,
        )
        self._running = _Flag()
        self._spl = SplHost(self._state, self._execute_embedded, self._open_embedded, self.close_cursor)
        self._state.spl = self._spl
        settings.system_routine = partial(system_routines.found, self._state)
        self._state.load_external = partial(external_tables.load, self._state)

    # -- the session ---------------------------------------------------------------------------------------------------

    @property
    def database(self) -> Database | None:
        """The current database."""
        return self._state.workspace.database if self._state.workspace else None

    @property
    def is_secondary(self) -> bool:
        """Whether the server answers as a secondary one."""
        return self._state.databases.refusal is WriteRefusal.SECONDARY

    def uses(self, name: str) -> bool:
        """Whether the session has opened a database, as its current one or in a query; callable in any thread."""
        current = self._state.workspace
        return current is not None and name in (
            current.database.name,
            *[database.name for database in [*current.attached.values()]],
        )

    @property
    def database_names(self) -> list[str]:
        """All databases of the server."""
        return self._state.databases.names

    @property
    def defaults(self) -> SessionDefaults:
        """Isolation level and lock mode of the session."""
        return self._state.defaults

    @property
    def options(self) -> dict[str, str | None]:
        """Values of SET ENVIRONMENT and similar statements."""
        return self._state.options

    @property
    def is_in_transaction(self) -> bool:
        """Whether COMMIT and ROLLBACK have a transaction to end."""
        current = self._state.workspace
        return current is not None and current.transactions.is_open

    @property
    def isolation(self) -> Isolation:
        """The level in effect; safe to call from other threads."""
        current = self._state.workspace
        return current.transactions.isolation if current else self.defaults.isolation or Isolation.DIRTY_READ

    @property
    def is_read_only(self) -> bool:
        """Whether the open transaction is read-only; safe to call from other threads."""
        current = self._state.workspace
        return current is not None and current.transactions.is_read_only

    def open_database(self, name: str) -> Database:
        """See `session_databases.open_database`."""
        return session_databases.open_database(self._state, name)

    def close_database(self) -> None:
        """Roll back and close the current database, if any."""
        session_databases.close_database(self._state)

    def close(self) -> None:
        """End the session."""
        self._state.streams.close_all()
        self.close_database()
        self._state.registry.unregister(self._state.entry)

    def interrupt(self, *, permanent: bool = False) -> None:
        """End the running or waiting statement with -213, or else the next one; safe to call from any thread.

        Args:
            permanent: the client has disconnected; later statements are not run either.
        """
        self._state.interrupts.request(permanent=permanent)
        self._state.streams.wake()
        if (current := self._state.workspace) is not None:
            current.transactions.wake()

    def check_interrupt(self) -> None:
        """Raise SqlError -213 if the client has sent an interrupt that has not ended a statement yet."""
        self._state.interrupts.check()

    @property
    def is_abandoned(self) -> bool:
        """Whether the session has been interrupted permanently."""
        return self._state.interrupts.is_permanent

    @property
    def is_running(self) -> bool:
        """Whether a statement is running; safe to call from other threads."""
        return self._running.is_set

    @property
    def is_waiting(self) -> bool:
        """Whether the statement waits for the end of another session's transaction; safe to call from other threads."""
        current = self._state.workspace
        return current is not None and current.transactions.is_waiting

    # -- statements ----------------------------------------------------------------------------------------------------

    def prepare(self, text: str) -> Statement:
        """Translate *text*; nothing is executed.

        Raises:
            SqlError: the statement is invalid, or an object in it does not exist.
        """
        return self._state.prepare(text)

    def check(self, statement: Statement) -> None:
        """Raise SqlError if the statement's plan is no longer valid: -710 and -206, or -349 without a database."""
        self._state.plan_of(statement)

    def execute(self, statement: Statement, values: Sequence[Value] = ()) -> StatementResult:
        """Run a statement that returns no rows, or several of one text; the result is that of the last (assumed).

        Raises:
            SqlError: it failed without any change, and those after it in the text are not run; -260, it returns rows.
        """
        with self._running:
            if not statement.parts:
                return self._execute_one(statement, values)
            result, rest = StatementResult(), list(values)
            for part in statement.parts:
                count = len(part.plan.parameters)
                own, rest = rest[:count], rest[count:]
                result = self._execute_one(part, own)
            return result

    def _execute_one(self, statement: Statement, values: Sequence[Value]) -> StatementResult:
        self._state.begin_statement(statement.plan)
        result = self._execute(statement, values)
        self.settings.affected = result.rows
        return result

    def _execute(self, statement: Statement, values: Sequence[Value]) -> StatementResult:
        plan = self._state.plan_of(statement)
        if plan.returns_rows:
            raise SqlError(-260)
        match plan.action:
            case CallRoutine() | CallSpl():
                self._call_routine(statement, plan.action, values)
                return StatementResult()
            case Change():
                if self._is_avoided(plan):
                    return StatementResult()
                return run_change(self._state, statement, plan.action, values)
            case Unload():
                if self._is_avoided(plan):
                    return StatementResult()
                return external_tables.unload(self._state, statement, plan.action, values)
            case FilledTable():
                if self._is_avoided(plan):
                    return StatementResult()
                return create_filled_table(self._state, statement, plan.action, values)
            case Definition():
                return run_definition(self._state, statement, plan.action)
            case _:
                check_other(self._state, plan.type)
                return control(self._state, plan.action)

    def _is_avoided(self, plan: Plan) -> bool:
        """Whether SET EXPLAIN ON AVOID_EXECUTE prevents a query or a change.

        Source: documented: SELECT, INSERT, MERGE, UPDATE and DELETE are not executed; definitions and routines are.
        assumed: SELECT .. INTO a table is not; TRUNCATE and CREATE TABLE .. AS are definitions
        """
        return self._state.avoids_execution and plan.type not in _ALWAYS_EXECUTED

    def _execute_embedded(self, statement: Statement, values: StoredRow) -> StatementResult:
        """Run a statement of a routine."""
        self._state.begin_embedded(settle=not self._spl.is_in_query)
        return self._execute(statement, values)

    def _open_embedded(self, statement: Statement, values: Sequence[Value], name: str, hold: bool) -> Cursor:
        """Open a cursor of a routine, and read its rows."""
        self._state.begin_embedded(settle=not self._spl.is_in_query)
        cursor = self._cursor_on(statement, values, name=name, hold=hold, scroll=False)
        with self._state.mapped_errors(-244, ""), self._state.interrupts.stopping():
            if not cursor.is_independent:
                cursor.settle()
        return cursor

    def control(self, action: Action) -> StatementResult:
        """Run a control statement that has no text, such as the message SQ_BEGIN.

        Raises:
            SqlError: it failed without any change.
        """
        return control(self._state, action)

    def batch(self) -> AbstractContextManager[None]:
        """Context of statements that the client has sent together; see `Transactions.batch`."""
        current = self._state.workspace
        return nullcontext() if current is None else current.transactions.batch()

    def insert_rows(self, statement: Statement, rows: Sequence[Row]) -> StatementResult:
        """Run an INSERT for each of *rows*, in order; if one fails, the rows before it are kept.

        Raises:
            SqlError: the error of the first row that failed.
        """
        with self._running:
            self._state.begin_statement(statement.plan)
            if self._is_avoided(statement.plan):
                return StatementResult()
            return insert_rows(self._state, statement, rows)

    # -- cursors -------------------------------------------------------------------------------------------------------

    def open(
        self,
        statement: Statement,
        values: Sequence[Value] = (),
        *,
        name: str = "",
        hold: bool = False,
        scroll: bool = False,
    ) -> Cursor:
        """Open a cursor on a statement that returns rows.

        Raises:
            SqlError: it failed; -526, -611 and -9605, it cannot be a scroll cursor.
        """
        with self._running:
            self._state.begin_statement(statement.plan)
            return self._cursor_on(statement, values, name=name, hold=hold, scroll=scroll)

    def _cursor_on(
        self, statement: Statement, values: Sequence[Value], *, name: str, hold: bool, scroll: bool
    ) -> Cursor:
        state = self._state
        plan = state.plan_of(statement)
        query = plan.action
        if isinstance(query, CallRoutine | CallSpl):
            results = self._call_routine(statement, query, values)
            return self._register(Cursor(results, name=name, hold=hold, scroll=scroll, independent=True))
        assert isinstance(query, Query)
        if scroll:
            _refuse_scroll(query, plan.columns)
        if self._is_avoided(plan) and not isinstance(statement.embedded, EmbeddedExpression):
            return self._register(Cursor(NoRows(), name=name, hold=hold, scroll=scroll, independent=True))
        current = state.current
        stored, on_close = state.bind(statement, values), None
        if query.keeps:
            stored, on_close = self._keeping(stored)
        token = query.tables[0].name if query.tables else ""
        try:
            with state.mapped_errors(-244, token):
                current.transactions.on_query()
                with state.interrupts.stopping():
                    opened = current.reads.opened(query, stored, is_scroll=scroll)
            cursor = self._register(
                Cursor(
                    opened.rows,
                    name=name,
                    hold=hold,
                    scroll=scroll,
                    has_rowid=opened.has_rowid,
                    update_columns=query.update_columns if query.for_update else None,
                    independent=opened.is_done is not None,
                    on_close=on_close,
                    current=opened.current,
                    is_done=opened.is_done,
                ),
                token,
            )
            if query.fires and not scroll:
                self._fire_selection(cursor, statement, values)
            return cursor
        except BaseException:
            if on_close is not None:
                on_close()
            raise

    def _fire_selection(self, cursor: Cursor, statement: Statement, values: Sequence[Value]) -> None:
        """Run the SELECT triggers of a query whose rows are complete; assumed: they run when its cursor opens.

        Raises:
            SqlError: -999, a routine that a query calls has selected the rows; others of the actions.
        """
        if self._spl.is_in_query:
            raise SqlError(-999, token="SELECT TRIGGER")
        try:
            if not cursor.is_independent:
                cursor.settle(self._state.interrupts.check)
            fire_selection(self._state, statement, values)
        except BaseException:
            self.close_cursor(cursor)
            raise

    def _keeping(self, stored: tuple[Stored, ...]) -> tuple[tuple[Stored, ...], Callable[[], None]]:
        """The parameters of a query with BYTE or TEXT values, and what to call when its cursor is closed."""
        kept = self._state.current.kept
        number = kept.open()
        return (*stored, number), partial(kept.close, number)

    def _register(self, cursor: Cursor, token: str = "") -> Cursor:
        """Register an opened cursor; a scroll cursor is settled at once."""
        current = self._state.current
        current.cursors.append(cursor)
        try:
            if cursor.needs_settling:
                with self._state.mapped_errors(-244, token), self._state.interrupts.stopping():
                    cursor.settle()
        except SqlError:
            self.close_cursor(cursor)
            raise
        return cursor

    def _call_routine(
        self, statement: Statement, action: CallRoutine | CallSpl, values: Sequence[Value]
    ) -> RoutineRows:
        """Call a routine, up to its first row."""
        state = self._state
        current = state.current
        arguments: StoredRow = ()
        with state.mapped_errors(-244, ""), state.interrupts.stopping():
            current.transactions.on_query()
            if action.arguments is not None:
                query = Query(action.arguments, locked_tables=action.locked_tables)
                rows = current.reads.opened(query, state.bind(statement, values), is_scroll=True).rows
                with closing(rows):
                    (arguments,) = rows.fetchmany(1)
        if isinstance(action, CallRoutine):
            return called(action.routine, arguments, state.settings, state.interrupts.check)
        return RoutineRows(self._spl.rows_given(action, arguments))

    def fetch(self, cursor: Cursor, count: int) -> tuple[list[StoredRow], bool]:
        """The next rows of *cursor* in storage form, at most *count*, and whether they are the last.

        Raises:
            SqlError: a row could not be computed; the cursor is closed.
        """
        if not (cursor.is_live or cursor.locks_rows):
            return cursor.fetch(count)
        self._state.function_error = None
        try:
            with self._running, self._state.mapped_errors(-244, ""), self._state.interrupts.stopping():
                return cursor.fetch(count)
        except SqlError as error:
            if not (cursor.locks_rows and error.isamcode in LOCK_ERRORS):
                self.close_cursor(cursor)
                cursor.is_released = True  # a later fetch must fail, not report the end of the rows
            raise

    def kept_value(self, reference: int, size: int) -> Iterator[bytes]:
        """A BYTE or TEXT value of a row of an open cursor, at most *size* bytes at a time; interruptible between them.

        Raises:
            SqlError: -602, no such value, or its cursor is closed; -213, interrupted.
        """
        try:
            for piece in self._state.current.kept.pieces(reference, size):
                self._state.interrupts.check()
                yield piece
        except LookupError:
            raise SqlError(_NO_VALUE) from None

    def use_client_files(self, files: Files) -> None:
        """Make files at the client available to FILETOBLOB, FILETOCLOB and LOTOFILE."""
        self._state.client_files = files

    @property
    def objects(self) -> OpenObjects:
        """The smart large objects of the session.

        Raises:
            SqlError: -349, no database is open.
        """
        return self._state.current.objects

    @property
    def streams(self) -> Streams:
        """What SQ_LODATA reads instead of smart large objects; no database need be open."""
        return self._state.streams

    def routine(self, procid: int) -> SplRoutine | None:
        """The routine of the current database with that number."""
        schema = self._state.planner.schema(self._state.current)
        return next((each for each in schema.routines if each.procid == procid), None)

    def prepare_call(self, routine: SplRoutine, arguments: int) -> Statement:
        """EXECUTE of a routine with so many arguments, as `prepare`."""
        return self._state.prepare(self._state.planner.call_text(routine, arguments))

    @contextmanager
    def routine_call(self) -> Generator[None, None, None]:
        """Context of a call by the fast path, or of SQ_LODATA.

        Raises:
            SqlError: -213, interrupted; -244, another session writes.
        """
        self._state.interrupts.check()
        with self._running, self._state.mapped_errors(-244, ""):
            self._state.current.transactions.on_query()
            yield

    def close_cursor(self, cursor: Cursor) -> None:
        """Close a cursor; idempotent."""
        cursor.close()
        if self._state.workspace is not None and cursor in self._state.workspace.cursors:
            self._state.workspace.cursors.remove(cursor)


class _Flag:
    """Set inside its context; safe to read from other threads."""

    __slots__ = ("is_set",)

    def __init__(self) -> None:
        self.is_set = False

    def __enter__(self) -> None:
        self.is_set = True

    def __exit__(self, *raised: object) -> None:
        self.is_set = False


def _refuse_scroll(query: Query, columns: Sequence[Column]) -> None:
    """Refuse a query that a scroll cursor does not allow.

    Source: documented; assumed: a collection in a ROW is allowed

    Raises:
        SqlError: -526: it is FOR UPDATE. -611: it has BYTE or TEXT columns. -9605: it has collections.
    """
    if query.for_update:
        raise SqlError(-526)
    if query.keeps:
        raise SqlError(-611)
    if any(family_of(column.type) is Family.COLLECTION for column in columns):
        raise SqlError(-9605)
