"""One session's statements on SQLite: prepare, execute, open, fetch. Never: bytes of SQLI.

Invariants:
1. An `Engine` belongs to one session. All of it runs in that session's thread, except where a docstring says otherwise.
2. Only one cursor at a time reads from SQLite; every statement settles it first (see cursors.py).
3. SQLite's messages do not leave the engine: an error is a `SqlError`, or an internal error that the session logs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Final

from aioifx.server.catalog import catalog
from aioifx.server.engine.control_statements import StatementResult, TransactionEvent, control
from aioifx.server.engine.cursors import Cursor
from aioifx.server.engine.planner import Planner, Statement
from aioifx.server.engine.session_registry import SessionEntry, SessionRegistry
from aioifx.server.engine.sysmaster import refresh
from aioifx.server.engine.workspace import Workspace
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import (
    BeginWork,
    CallRoutine,
    Change,
    CommitWork,
    Definition,
    IntoTemp,
    Isolation,
    Plan,
    Query,
    RollbackWork,
    Verb,
)
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.sqlite_functions import guarded
from aioifx.server.sqlite.connection import connect
from aioifx.server.sqlite.databases import Database, Databases, LogMode, have_one_code_set
from aioifx.server.sqlite.dml import Written, make_interruptible, write
from aioifx.server.sqlite.dml import numbered as numbered  # the form of values for `execute`
from aioifx.server.sqlite.error_mapping import (
    broken_reference,
    fault_of,
    is_duplicate,
    is_foreign_key,
    updated_as_a_whole,
)
from aioifx.server.sqlite.insert_runs import insert_each
from aioifx.server.sqlite.interrupts import Interrupts
from aioifx.server.sqlite.routine_calls import RoutineRows, called
from aioifx.server.sqlite.spool import StoredRow
from aioifx.server.sqlite.transactions import SessionDefaults, Transactions, is_busy, refused_by
from aioifx.server.sqlite.write_lock import LockRefused
from aioifx.sqltypes import Row, TypeCode, Value


class Engine:
    """The statements of one session, executed on SQLite."""

    def __init__(
        self,
        databases: Databases,
        roster: SessionRegistry,
        member: SessionEntry,
        settings: Settings,
        *,
        delimident: bool = False,
        database_locale: str = "",
        clock: Callable[[], datetime] = datetime.now,
    ) -> None:
        """Args:     database_locale: DB_LOCALE of the client; empty if not given."""
        self.settings = settings
        self.defaults = SessionDefaults()
        self.options: dict[str, str | None] = {}
        """Values of SET ENVIRONMENT and similar statements."""
        self._databases = databases
        self._roster = roster
        self._member = member
        self._clock = clock
        self._database_locale = database_locale
        self._workspace: Workspace | None = None
        self._planner = Planner(databases, settings, delimident=delimident)
        self._fault: SqlError | None = None
        self._interrupts = Interrupts()
        self._running = _Flag()

    # -- databases -----------------------------------------------------------------------------------------------------

    @property
    def database(self) -> Database | None:
        """The current database."""
        return self._workspace.database if self._workspace else None

    @property
    def database_names(self) -> list[str]:
        """All databases of the server."""
        return self._databases.names

    @property
    def in_transaction(self) -> bool:
        """Whether COMMIT and ROLLBACK have a transaction to end."""
        current = self._workspace
        return current is not None and current.transactions.open

    @property
    def isolation(self) -> Isolation:
        """The level in effect; safe to call from other threads."""
        current = self._workspace
        return current.transactions.isolation if current else self.defaults.isolation or Isolation.DIRTY_READ

    @property
    def read_only(self) -> bool:
        """Whether the open transaction must not write; safe to call from other threads."""
        current = self._workspace
        return current is not None and current.transactions.read_only

    def open_database(self, name: str) -> Database:
        """Make *name* the current database; the previous one is rolled back and closed.

        A client without DB_LOCALE gets the server's.
        Source:   documented: GLS guide, locale information for the database; observed: a client whose code set differs
                  is rejected with -23197 (a JDBC client without DB_LOCALE, a database in cp1250).

        Raises:   SqlError: -329, not found; -23197, its code set differs from that of the client's DB_LOCALE.
        """
        database = self._databases.open(name.strip().lower())
        try:
            if not have_one_code_set(self._database_locale or self._databases.locale, database.locale):
                raise SqlError(-23197)
            self.close_database()
            self._workspace = Workspace(
                database, self._connect(database), self.defaults, self._interrupts.take
            )
        except BaseException:
            self._databases.leave(database)
            raise
        self.settings.database = self._member.database = database.name
        self.settings.code_set = database.codec
        return database

    def _connect(self, database: Database) -> sqlite3.Connection:
        connection = connect(database.path, self.settings, self._note_fault)
        try:
            connection.create_function("ifx_serial", 2, self._take_serial)
            connection.create_function("ifx_nextval", 2, guarded(self._next_value, self._note_fault))
            connection.create_function("ifx_currval", 1, guarded(self._current_value, self._note_fault))
            make_interruptible(connection, self._interrupts, self._note_fault)
            for step in catalog.session_steps():
                connection.execute(step.sql, step.values)
        except BaseException:
            connection.close()
            raise
        return connection

    def _note_fault(self, fault: SqlError) -> None:
        """Record the error raised by an SQL function, because SQLite only reports that a function failed."""
        self._fault = fault

    def close_database(self) -> None:
        """Roll back and close the current database, if any."""
        current, self._workspace = self._workspace, None
        if current is None:
            return
        current.connection.set_progress_handler(None, 0)  # the cleanup must not be interrupted
        try:
            current.close()
        finally:
            for database in (current.database, *current.attached.values()):
                self._databases.leave(database)
            self.settings.database = self._member.database = ""

    def close(self) -> None:
        """End the session."""
        self.close_database()
        self._roster.leave(self._member)

    @property
    def _database(self) -> Workspace:
        if self._workspace is None:
            raise SqlError(-349)
        return self._workspace

    def interrupt(self, *, permanent: bool = False) -> None:
        """End the running or waiting statement with -213, or else the next one; safe to call from any thread.

        Args:     permanent: the client has disconnected; later statements are not run either.
        """
        self._interrupts.request(permanent=permanent)
        if (current := self._workspace) is not None:
            current.database.writer.wake()

    def check_interrupt(self) -> None:
        """Raises:   SqlError: -213, the client has sent an interrupt that has not ended a statement yet."""
        self._interrupts.check()

    @property
    def is_abandoned(self) -> bool:
        """Whether the session has been interrupted permanently."""
        return self._interrupts.permanent

    @property
    def running(self) -> bool:
        """Whether a statement is running; safe to call from other threads."""
        return self._running.up

    @property
    def waiting(self) -> bool:
        """Whether the statement waits for the end of another session's transaction; safe to call from other threads."""
        current = self._workspace
        return current is not None and current.transactions.waiting

    def prepare(self, text: str) -> Statement:
        """Translate *text*; nothing is executed.

        Raises:   SqlError: the statement is invalid, or an object in it does not exist.
        """
        self.settings.now = self._clock()
        return self._planner.prepare(text, self._workspace)

    def check(self, statement: Statement) -> None:
        """Raises:   SqlError: the statement's plan is no longer valid: -710 and -206, or -349 without a database."""
        self._current_plan(statement)

    def _current_plan(self, statement: Statement) -> Plan:
        return self._planner.current_plan(statement, self._workspace)

    # -- running -------------------------------------------------------------------------------------------------------

    def execute(self, statement: Statement, values: Sequence[Value] = ()) -> StatementResult:
        """Run a statement that returns no rows.

        Raises:   SqlError: it failed without any change; -260, it returns rows.
        """
        with self._running:
            self._begin_statement(statement.plan)
            outcome = self._execute(statement, values)
            self.settings.affected = outcome.rows
            return outcome

    def _execute(self, statement: Statement, values: Sequence[Value]) -> StatementResult:
        plan = self._current_plan(statement)
        match plan.action:
            case Query():
                raise SqlError(-260)
            case CallRoutine() if not plan.returns_rows:
                self._call_routine(statement, plan.action, values)
                return StatementResult()
            case CallRoutine():
                raise SqlError(-260)
            case Change():
                return self._change(statement, plan.action, values)
            case IntoTemp():
                return self._into_temp(statement, plan.action, values)
            case Definition():
                with self._defining(plan.action):
                    definition = self._current_plan(statement).action
                    assert isinstance(definition, Definition)
                    self._define(definition)
                return StatementResult()
            case _:
                return control(self, plan.action)

    def _begin_statement(self, plan: Plan) -> None:
        self._settle()
        if not isinstance(plan.action, _UNINTERRUPTED):
            self._interrupts.check()
        self._fault = None
        self.settings.now = self._clock()
        if self._workspace is not None:
            self._workspace.begin_rows()

    def _settle(self) -> None:
        """Settle all cursors; an interrupt must not end this."""
        if self._workspace is not None and self._workspace.cursors:
            with self._faults(-244, ""), self._interrupts.stopping_permanently():
                self._workspace.settle()

    @contextmanager
    def _faults(self, sqlcode: int, token: str, isamcode: int | None = None) -> Generator[None, None, None]:
        """Context of an operation that may wait for a lock: a refused lock becomes *sqlcode* for *token*."""
        try:
            yield
        except (LockRefused, sqlite3.Error) as error:
            raise self._fault_of(error, sqlcode, token, isamcode) from None

    def _fault_of(
        self, error: LockRefused | sqlite3.Error, sqlcode: int, token: str, isamcode: int | None = None
    ) -> Exception:
        if isinstance(error, LockRefused):
            return SqlError(sqlcode, isamcode or error.isamcode, token)
        if self._fault is not None:
            return self._fault
        if is_busy(error):
            return SqlError(sqlcode, refused_by(error).isamcode, token)
        return fault_of(error, None) or error

    def _change(self, statement: Statement, change: Change, values: Sequence[Value]) -> StatementResult:
        current = self._database
        try:
            with current.transactions.writing(alone=True, shared=not change.table.is_temp):
                now = self._current_plan(statement).action
                assert isinstance(now, Change)
                stored = self._bind(statement, values)
                if now.cursor:
                    stored = (*stored, current.current_rowid(now))
                return self._run_change(now, stored)
        except (LockRefused, sqlite3.Error) as error:
            raise self._fault_of(error, _LOCKED_CHANGE[change.verb], change.table.name) from None

    def _run_change(self, change: Change, stored: tuple[Stored, ...]) -> StatementResult:
        """Run the SQLite statement of *change* in the open transaction, if any."""
        current = self._database
        if change.verb is Verb.INSERT:
            current.prime_serials(change.table)
        try:
            done = write(current.connection, change, stored, current.transactions, self._interrupts)
        except sqlite3.Error as error:
            run = partial(current.connection.execute, change.sql, numbered(change.sql, stored))
            done = self._retry_refused(error, change, run)
        outcome = StatementResult(rows=max(done.rowcount, 0))
        if change.verb is Verb.INSERT:
            outcome.rowid = done.lastrowid or 0
            self._note_serials(current, outcome)
        return outcome

    def insert_rows(self, statement: Statement, rows: Sequence[Row]) -> StatementResult:
        """Run an INSERT for each of *rows*, in order; if one fails, the rows before it are kept.

        Raises:   SqlError: the error of the first row that failed.
        """
        with self._running:
            self._begin_statement(statement.plan)
            change = self._current_plan(statement).action
            assert isinstance(change, Change)
            with (
                self._faults(_LOCKED_CHANGE[change.verb], change.table.name),
                self._database.transactions.writing(alone=True, shared=not change.table.is_temp),
            ):
                return self._inserted(statement, rows)

    def _inserted(self, statement: Statement, rows: Sequence[Row]) -> StatementResult:
        current = self._database
        change = self._current_plan(statement).action
        assert isinstance(change, Change)
        stored, unbound = statement.binders.bind_rows(rows, self.settings)
        current.prime_serials(change.table)

        def again(row: tuple[Stored, ...]) -> None:
            self._fault = None
            self._run_change(change, row)

        insert_each(current.connection, change.sql, stored, self._interrupts, again)
        if unbound is not None:
            raise unbound
        outcome = StatementResult(rows=len(stored))
        self._note_serials(current, outcome)
        self.settings.affected = outcome.rows
        return outcome

    def _retry_refused(
        self, error: sqlite3.Error, change: Change, run: Callable[[], sqlite3.Cursor]
    ) -> Written:
        """Retry a change that SQLite refused and Informix would accept.

        Raises:   SqlError: Informix would refuse it as well. sqlite3.Error: an internal error.
        """
        current = self._database
        if self._fault is not None:
            raise self._fault from None
        if is_foreign_key(error):
            schema = self._planner.schema(current)
            raise broken_reference(current.connection, change, schema, run) from None
        if is_duplicate(error) and change.verb is Verb.UPDATE:
            done = updated_as_a_whole(current.connection, change.table, run)
            if done is not None:
                return done
        raise (fault_of(error, change) or error) from None

    def _take_serial(self, name: str, value: int | None) -> int | None:
        """ifx_serial: the serial number of one row that is being inserted."""
        current = self._database
        try:
            return current.take_serial(name, value)
        except SqlError as fault:
            self._fault = fault
            raise

    def _next_value(self, tabid: int, mark: int) -> int:
        """ifx_nextval."""
        return self._database.next_value(tabid, mark)

    def _current_value(self, tabid: int) -> int:
        """ifx_currval."""
        return self._database.current_value(tabid)

    def _note_serials(self, current: Workspace, outcome: StatementResult) -> None:
        for code, number in current.taken_serials.items():
            if code == TypeCode.SERIAL:
                outcome.serial = self.settings.last_serial = number
            elif code == TypeCode.SERIAL8:
                outcome.serial8 = self.settings.last_serial8 = number
            else:
                outcome.bigserial = self.settings.last_bigserial = number

    def _bind(self, statement: Statement, values: Sequence[Value]) -> tuple[Stored, ...]:
        return statement.binders.bind(values, self.settings)

    # -- definitions ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _defining(self, definition: Definition) -> Generator[None, None, None]:
        shared = any(not change.table.is_temp for change in definition.changes)
        token = definition.changes[0].table.name if definition.changes else ""
        current = self._database
        try:
            with (
                self._faults(-211, token),
                current.transactions.writing(alone=False, shared=shared),
            ):
                yield
        finally:
            current.schema_changed()

    def _define(self, definition: Definition) -> None:
        current = self._database
        schema = self._planner.schema(current)
        for change in definition.changes:
            current.forget_serials(change.table, schema)
        for step in catalog.steps_of(definition):
            try:
                with self._droppable(step.sql):
                    current.connection.execute(step.sql, step.values)
            except sqlite3.IntegrityError:
                if step.duplicate is None:
                    raise
                raise SqlError(*step.duplicate) from None
        current.schema_changed()

    @contextmanager
    def _droppable(self, step: str) -> Generator[None, None, None]:
        """Context of a step of a definition: interruptible before it, and during a long step outside a transaction."""
        self._interrupts.check()
        if self._database.transactions.open or not step.startswith(_LONG_STEPS):
            yield
            return
        with self._interrupts.stopping():
            yield

    def _into_temp(self, statement: Statement, action: IntoTemp, values: Sequence[Value]) -> StatementResult:
        with self._defining(action.definition):
            plan = self._current_plan(statement)
            assert isinstance(plan.action, IntoTemp)
            stored = self._bind(statement, values)
            self._define(plan.action.definition)
            filled = self._run_change(plan.action.fill, stored)
            return StatementResult(rows=filled.rows)

    # -- control -------------------------------------------------------------------------------------------------------

    def create_database(self, name: str, log_mode: LogMode, *, if_not_exists: bool) -> Database:
        """CREATE DATABASE: the new database has the client's DB_LOCALE (documented: GLS guide), and is opened."""
        if not (if_not_exists and name in self.database_names):
            self._databases.create(name, log_mode, self.settings.user, self._database_locale)
        return self.open_database(name)

    def drop_database(self, name: str, *, if_exists: bool) -> None:
        """DROP DATABASE.

        Raises:   SqlError: -359, it is the current database; others as `Databases.drop`.
        """
        if self.database is not None and self.database.name == name:
            raise SqlError(-359)
        if not (if_exists and name not in self.database_names):
            self._databases.drop(name)

    def need_no_transaction(self) -> None:
        """Raises:   SqlError: -377, the current database cannot be left before its transaction ends."""
        if self._workspace is not None and self._workspace.transactions.used:
            raise SqlError(-377)

    def set_option(self, name: str, value: str | None) -> None:
        """SET ENVIRONMENT and similar statements."""
        self.options[name] = value
        if name == "STRING_TRUNCATE_ERROR":
            self.settings.string_truncate_error = (value or "").lower() == "error"

    def set_terms(self, isolation: Isolation | None, read_only: bool | None) -> None:
        """SET TRANSACTION."""
        self._database.transactions.set_terms(isolation, read_only)

    def lock_table(self, table: Table, *, exclusive: bool) -> None:
        """LOCK TABLE.

        Raises:   SqlError: -524, outside a transaction; -289, another session writes.
        """
        transactions = self._database.transactions
        if not transactions.open:
            raise SqlError(-524)
        if exclusive:
            with self._faults(-289, table.name, -113):
                transactions.lock()

    # -- transactions --------------------------------------------------------------------------------------------------

    def begin(self) -> StatementResult:
        """BEGIN WORK."""
        self._database.transactions.begin()
        return StatementResult(event=TransactionEvent.BEGUN)

    def commit(self) -> StatementResult:
        """COMMIT WORK; closes all cursors except hold cursors."""
        self._database.end_transaction(Transactions.commit)
        return StatementResult(event=TransactionEvent.COMMITTED)

    def rollback(self) -> StatementResult:
        """ROLLBACK WORK; closes all cursors except hold cursors."""
        self._database.roll_back()
        return StatementResult(event=TransactionEvent.ROLLED_BACK)

    def set_savepoint(self, name: str, unique: bool = False) -> StatementResult:
        """SAVEPOINT."""
        self._database.transactions.set_savepoint(name, unique)
        return StatementResult()

    def release_savepoint(self, name: str) -> StatementResult:
        """RELEASE SAVEPOINT."""
        self._database.transactions.release_savepoint(name)
        return StatementResult()

    def rollback_to(self, name: str) -> StatementResult:
        """ROLLBACK TO SAVEPOINT."""
        current = self._database
        current.settle()
        current.transactions.rollback_to(name)
        current.schema_changed()
        return StatementResult()

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

        Raises:   SqlError: it failed; -526, it is a scroll cursor FOR UPDATE.
        """
        with self._running:
            self._begin_statement(statement.plan)
            return self._cursor_on(statement, values, name=name, hold=hold, scroll=scroll)

    def _cursor_on(
        self, statement: Statement, values: Sequence[Value], *, name: str, hold: bool, scroll: bool
    ) -> Cursor:
        plan = self._current_plan(statement)
        query = plan.action
        if isinstance(query, CallRoutine):
            results = self._call_routine(statement, query, values)
            return self._register(Cursor(results, name=name, hold=hold, scroll=scroll, independent=True))
        assert isinstance(query, Query)
        if scroll and query.for_update:
            raise SqlError(-526)
        current = self._database
        stored = numbered(query.sql, self._bind(statement, values))
        token = query.tables[0].name if query.tables else ""
        for shown in plan.refresh:
            refresh(shown, current.connection, self._databases, self._roster)
        with self._faults(-244, token):
            if query.for_update:
                current.transactions.lock()
            current.transactions.reading()
            with self._interrupts.stopping():
                rows = current.connection.execute(query.sql, stored)
        return self._register(
            Cursor(
                rows,
                name=name,
                hold=hold,
                scroll=scroll,
                has_rowid=query.rowid,
                update_columns=query.update_columns if query.for_update else None,
            ),
            token,
        )

    def _register(self, cursor: Cursor, token: str = "") -> Cursor:
        """Register an opened cursor; a scroll cursor is settled at once."""
        current = self._database
        current.cursors.append(cursor)
        try:
            if cursor.scroll:
                with self._faults(-244, token), self._interrupts.stopping():
                    cursor.settle()
        except SqlError:
            self.close_cursor(cursor)
            raise
        return cursor

    def _call_routine(
        self, statement: Statement, action: CallRoutine, values: Sequence[Value]
    ) -> RoutineRows:
        """Call a routine written in Python."""
        current = self._database
        arguments: StoredRow = ()
        with self._faults(-244, ""), self._interrupts.stopping():
            current.transactions.reading()
            if action.arguments:
                stored = numbered(action.arguments, self._bind(statement, values))
                arguments = current.connection.execute(action.arguments, stored).fetchone()
        return called(action.routine, arguments, self.settings, self._interrupts.check)

    def fetch(self, cursor: Cursor, count: int) -> tuple[list[StoredRow], bool]:
        """The next rows of *cursor* in storage form, at most *count*, and whether they are the last.

        Raises:   SqlError: a row could not be computed; the cursor is closed.
        """
        if not cursor.live:
            return cursor.fetch(count)
        self._fault = None
        try:
            with self._running, self._faults(-244, ""), self._interrupts.stopping():
                return cursor.fetch(count)
        except SqlError:
            self.close_cursor(cursor)
            cursor.released = True  # a later fetch must fail, not report the end of the rows
            raise

    def close_cursor(self, cursor: Cursor) -> None:
        """Close a cursor; idempotent."""
        cursor.close()
        if self._workspace is not None and cursor in self._workspace.cursors:
            self._workspace.cursors.remove(cursor)


_LOCKED_CHANGE: Final = {Verb.INSERT: -271, Verb.UPDATE: -244, Verb.DELETE: -244}
"""The error of a statement that meets a lock (documented: -244 while reading, -271 while inserting)."""

_UNINTERRUPTED: Final = (BeginWork, CommitWork, RollbackWork)
"""Statements that leave an interrupt to the next one (documented: sqlbreak lists what it ends, without these)."""

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


class _Flag:
    """Up inside its context; safe to read from other threads."""

    __slots__ = ("up",)

    def __init__(self) -> None:
        self.up = False

    def __enter__(self) -> None:
        self.up = True

    def __exit__(self, *raised: object) -> None:
        self.up = False
