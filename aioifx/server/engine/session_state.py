"""What the statements of one session share: settings, plans, the open database, errors. Never: running a statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final, Protocol

from aioifx.server.engine.firing import Firing
from aioifx.server.engine.object_files import Files, ServerFiles
from aioifx.server.engine.planner import Planner, Statement
from aioifx.server.engine.session_registry import SessionEntry, SessionRegistry
from aioifx.server.engine.streams import Streams
from aioifx.server.engine.sysmaster import refresh
from aioifx.server.engine.workspace import Workspace
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import BeginWork, CallSpl, CommitWork, Plan, RollbackWork
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.settings import Settings, no_check
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sqlite.databases import Database, Databases
from aioifx.server.sqlite.error_mapping import sql_error_of
from aioifx.server.sqlite.interrupts import Interrupts
from aioifx.server.sqlite.lock_manager import Kind, LockRefused
from aioifx.server.sqlite.spool import StoredRow
from aioifx.server.sqlite.transaction_state import SessionDefaults
from aioifx.server.sqlite.transactions import is_busy, refused_by
from aioifx.sqltypes import Value


class TransactionEvent(IntEnum):
    """The effect of a statement on the transaction."""

    NONE = 0
    BEGUN = 1
    COMMITTED = 2
    ROLLED_BACK = 3


@dataclass(slots=True)
class StatementResult:
    """The result of a statement without rows."""

    rows: int = 0
    rowid: int = 0
    serial: int = 0
    serial8: int = 0
    bigserial: int = 0
    opened: Database | None = None
    """The database that the statement opened."""
    event: TransactionEvent = TransactionEvent.NONE
    has_violations: bool = False
    """Whether it has filed rows, and is to end with -971."""


_CHANGED: Final = -710
"""A table has been altered, dropped or renamed (documented)."""
_LONG_TEXT: Final = 10_000
"""Characters of a statement whose translation can be interrupted; a COMMIT, which no interrupt ends, is shorter."""
_UNINTERRUPTED: Final = (BeginWork, CommitWork, RollbackWork)
"""Statements that an interrupt does not end; it ends the next one (documented: they are not in sqlbreak's list)."""


def _no_table(table: Table) -> None:
    raise AssertionError("the engine sets it")


class SplCalls(Protocol):
    """What statements need of `spl.SplHost`."""

    trigger: object

    def in_query(self, procid: int, *arguments: Stored, as_rows: bool = False) -> Stored:
        """A call in an expression that SQLite evaluates, or in FROM: its rows, for ``json_each``."""
        ...

    def rows_given(self, action: CallSpl, arguments: StoredRow) -> Generator[StoredRow, None, None]:
        """The rows of EXECUTE; *arguments* is the row of `CallSpl.arguments`."""
        ...


class SessionState:
    """The state of one session, used in its thread.

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
        delimident: bool,
        database_locale: str,
        clock: Callable[[], datetime],
    ) -> None:
        self.databases = databases
        self.registry = registry
        self.entry = entry
        self.settings = settings
        self.database_locale = database_locale
        self.defaults = SessionDefaults(session_id=entry.session_id)
        self.options: dict[str, str | None] = {}
        """Values of SET ENVIRONMENT and similar statements."""
        self.avoids_execution = False
        """Whether SET EXPLAIN ON AVOID_EXECUTE is in effect."""
        self.interrupts = Interrupts()
        self.streams = Streams(registry.stream_numbers, self.interrupts)
        self.planner = Planner(databases, settings, delimident=delimident)
        self.workspace: Workspace | None = None
        self.firing = Firing()
        self.client_files: Files | None = None
        """Files at the client; None if they cannot be reached."""
        self.function_error: SqlError | None = None
        """The error that an SQL function raised in the running statement."""
        self.load_external: Callable[[Table], None] = _no_table
        """Reads the files of an external table; the engine sets it."""
        self.spl: SplCalls | None = None
        """Runs routines written in SPL; the engine sets it."""
        self._clock = clock

    @property
    def current(self) -> Workspace:
        """The open database.

        Raises:
            SqlError: -349, no database is open.
        """
        if self.workspace is None:
            raise SqlError(-349)
        return self.workspace

    def prepare(self, text: str) -> Statement:
        """See `Planner.prepare`."""
        self.settings.now = self._clock()
        if len(text) < _LONG_TEXT:
            return self.planner.prepare(text, self.workspace)
        self.settings.check_interrupt = self.interrupts.check
        try:
            return self.planner.prepare(text, self.workspace)
        finally:
            self.settings.check_interrupt = no_check

    def plan_of(self, statement: Statement) -> Plan:
        """See `Planner.current_plan`; the tables of sysmaster that it reads are filled as of now."""
        plan = self.planner.current_plan(statement, self.workspace)
        for shown in plan.refresh:
            if isinstance(shown, str):
                refresh(shown, self.current.connection, self.databases, self.registry, self.entry)
            else:
                self.load_external(shown)
        return plan

    def bind(self, statement: Statement, values: Sequence[Value]) -> tuple[Stored, ...]:
        """The parameters of *statement* in storage form."""
        return statement.bind(values, self.settings)

    def begin_statement(self, plan: Plan) -> None:
        """Check for an interrupt, settle all cursors, and reset what belongs to one statement."""
        if not isinstance(plan.action, _UNINTERRUPTED):  # these settle the cursors that they leave open
            self.interrupts.check()
            self.settle()
        self.function_error = None
        self.settings.now = self._clock()
        if self.workspace is not None:
            self.workspace.begin_rows()

    def begin_embedded(self, *, settle: bool) -> None:
        """Start a statement of a routine: as `begin_statement`, with the time of the statement that calls it.

        Args:
            settle: no query is running that calls the routine, so that the cursors can be settled.
        """
        self.interrupts.check()
        if settle:
            self.settle()
        self.function_error = None
        if self.workspace is not None:
            self.workspace.begin_rows()

    def settle(self, *, is_interruptible: bool = True) -> None:
        """See `Workspace.settle`; a disconnection always ends it."""
        if self.workspace is not None and self.workspace.cursors:
            with self.mapped_errors(-244, ""), self.interrupts.stopping_permanently():
                self.workspace.settle(is_interruptible=is_interruptible)

    def files_at(self, place: str) -> Files:
        """Files at the client or at the server, by the word in FILETOBLOB and LOTOFILE.

        Raises:
            SqlError: -999, another word (assumed), or the client's files cannot be reached.
        """
        if place.strip().lower() == "server":
            return ServerFiles(self.databases.files)
        if place.strip().lower() == "client" and self.client_files is not None:
            return self.client_files
        raise SqlError(-999, token=f"files at {place.strip()!r}")

    # -- errors --------------------------------------------------------------------------------------------------------

    def note_error(self, error: SqlError) -> None:
        """Record the error raised by an SQL function, because SQLite only reports that a function failed."""
        self.function_error = error

    @contextmanager
    def mapped_errors(
        self, sqlcode: int, token: str, isamcode: int | None = None
    ) -> Generator[None, None, None]:
        """Context of an operation that may wait for a lock: a refused lock becomes *sqlcode* for *token*."""
        try:
            yield
        except LockRefused as error:
            if error.resource is not None and error.resource.kind is Kind.LATCH:
                token = f"{token}: another session writes longer than busy_timeout".removeprefix(": ")
            raise SqlError(sqlcode, isamcode or error.isamcode, token) from None
        except sqlite3.Error as error:
            if self.function_error is not None:
                raise self.function_error from None
            if is_busy(error):
                raise SqlError(sqlcode, refused_by(error).isamcode, token) from None
            if self._is_outdated(error):
                raise SqlError(_CHANGED, token=token) from None
            raise (sql_error_of(error, None) or error) from None

    def _is_outdated(self, error: sqlite3.Error) -> bool:
        """Whether another session has changed the schema between the translation of a statement and its execution."""
        current = self.workspace
        return "no such" in str(error) and current is not None and current.stamp != current.schema_stamp
