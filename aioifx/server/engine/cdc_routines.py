"""The routines of syscdcv1: opening, filling and closing capture sessions. Never: their records.

Source: names, arguments and results are documented (CDC API Programmer's Guide); the calls of JDBC are observed. Each
returns 0 or the number of an error. assumed: which error an argument of a wrong value has
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial, wraps
from time import time
from typing import Final

from aioifx.server.catalog.cdc_tables import ERRORS, NUMBERS
from aioifx.server.engine import cdc_quirks
from aioifx.server.engine.cdc_rows import CapturedTable, CdcError, found_table
from aioifx.server.engine.cdc_session import CdcSession
from aioifx.server.engine.session_state import SessionState
from aioifx.server.sql.builtin_types import SYSTEM_OWNER
from aioifx.server.sql.model.schema import Table
from aioifx.server.sql.model.spl import SystemRoutine
from aioifx.server.sqlite.databases import Database, LogMode
from aioifx.server.sqlite.lock_manager import Kind, LockMode, Resource

_LOCKED: Final = -244


def _routine(function: Callable[..., int]) -> Callable[..., int]:
    """A routine that returns the number of its error, and notes it in syscdcsess."""

    @wraps(function)
    def call(state: SessionState, *arguments: object) -> int:
        try:
            if None in arguments:
                raise CdcError("ARGNULL")
            return function(state, *arguments)
        except CdcError as error:
            session = state.streams.find(arguments[0]) if isinstance(arguments[0], int) else None
            if isinstance(session, CdcSession):
                session.error = error.number, int(time())
            return error.number

    return call


@_routine
def open_session(
    state: SessionState, server: str, session: int, timeout: int, max_records: int, major: int, minor: int
) -> int:
    """cdc_opensess: a session that captures nothing yet; returns its number."""
    registry = state.registry
    is_refused = cdc_quirks.INFORMIX_ONLY in registry.quirks and state.settings.user != SYSTEM_OWNER
    checks = (
        (is_refused, "NOSESS"),  # observed: another client, for a user without DBA
        (server != state.settings.server and not registry.accepts_any_name, "ARG1"),
        (session != 0, "ARG2"),
        (max_records < 1, "ARG4"),
        (major != 1 or minor not in (0, 1), "APIVERS"),
    )
    for is_wrong, name in checks:
        if is_wrong:
            raise CdcError(name)
    made = CdcSession(
        state.databases.changes, timeout, max_records, minor, registry.quirks, state.streams.wake
    )
    number = state.streams.add(made)
    registry.cdc_sessions[number] = made
    made.on_close = partial(registry.cdc_sessions.pop, number)
    return number


@_routine
def close_session(state: SessionState, number: int) -> int:
    """cdc_closesess."""
    _session(state, number, is_closing=True)
    state.streams.remove(number)
    return 0


@_routine
def set_full_row_logging(state: SessionState, name: str, is_on: int) -> int:
    """cdc_set_fullrowlogging: it lasts until it is turned off; not while a session captures the table (documented)."""
    database, table = _table(state, name)
    if is_on not in (0, 1):
        raise CdcError("ARG2")
    sessions = [*state.registry.cdc_sessions.values()]
    if not is_on and any((database.name, table.tabid) in session.tables for session in sessions):
        raise CdcError("TABCAPTURED")
    with latched(state, database):
        try:
            form = ", ".join(f"{column.name} {column.type}" for column in table.stored_columns)
            state.databases.capture(database, table.tabid, form, is_captured=bool(is_on))
        except OSError:
            raise CdcError("INTERNAL") from None
    return 0


@contextmanager
def latched(state: SessionState, database: Database) -> Generator[None, None, None]:
    """Context in which no statement writes to a database, so that all later ones are captured."""
    locks, owner, latch = state.databases.locks, object(), Resource(database.name, 0, Kind.LATCH)
    with state.mapped_errors(_LOCKED, database.name):
        locks.acquire(
            owner, latch, LockMode.X, wait=database.busy_timeout, interrupted=state.interrupts.consume
        )
    try:
        yield
    finally:
        locks.release_all(owner)


@_routine
def start_capture(state: SessionState, number: int, zero: int, name: str, columns: str, label: int) -> int:
    """cdc_startcapture: the table needs full-row logging (documented; assumed: the error without it)."""
    session = _session(state, number)
    if zero:
        raise CdcError("ARG2")
    database, table = _table(state, name)
    if table.tabid not in database.captured:
        raise CdcError("TABPROPERTIES")
    if (database.name, table.tabid) in session.tables:
        raise CdcError("TABCAPTURED")
    names = [each.strip().lower() for each in columns.split(",")]
    first = state.databases.first_captured(database, table.tabid)
    made = CapturedTable(database, table, names, label, first, state.registry.quirks)
    session.add_table(table.tabid, made)
    return 0


@_routine
def end_capture(state: SessionState, number: int, zero: int, name: str) -> int:
    """cdc_endcapture."""
    session = _session(state, number)
    if zero:
        raise CdcError("ARG2")
    database, table = _table(state, name)
    if session.tables.pop((database.name, table.tabid), None) is None:
        raise CdcError("TABNOTCAPTURED")
    return 0


@_routine
def activate(state: SessionState, number: int, position: int) -> int:
    """cdc_activatesess: 0 is now, another position the sequence of a record of an earlier session."""
    session = _session(state, number)
    if position < 0:
        raise CdcError("ARG2")
    session.activate(position)
    return 0


@_routine
def deactivate(state: SessionState, number: int) -> int:
    """cdc_deactivatesess."""
    _session(state, number).deactivate()
    return 0


@_routine
def record_boundary(state: SessionState, number: int) -> int:
    """cdc_recboundary: the next read begins with a whole record; returns how many were cut."""
    return _session(state, number).restart_record()


def error_text(state: SessionState, name: str | None) -> str | None:
    """cdc_errortext; NULL for a name that is not known (assumed)."""
    number = NUMBERS.get(name or "")
    return None if number is None else ERRORS[number][1]


def _session(state: SessionState, number: int, *, is_closing: bool = False) -> CdcSession:
    session = state.streams.find(number)
    if not isinstance(session, CdcSession) or (session.is_dead and not is_closing):
        raise CdcError("NOSESS")
    return session


def _table(state: SessionState, name: str) -> tuple[Database, Table]:
    """The table that ``database:owner.table`` names.

    Raises:
        CdcError: it cannot be captured, or does not exist.
    """
    place, _, owned = name.strip().rpartition(":")
    owner, _, table = owned.rpartition(".")
    wanted = place.strip().lower()
    if wanted not in state.databases.names:
        raise CdcError("NODB")
    database = state.databases.find(wanted)
    if database.log_mode is LogMode.UNLOGGED:
        raise CdcError("DBNOTLOGGED")
    schema = state.planner.schema(state.current).foreign(wanted)
    return database, found_table(schema, owner.strip("\"' "), table.strip("\"' ").lower())


_NAME: Final = "LVARCHAR(2048)"
_NUMBER: Final = (("session", "INTEGER"),)
_OF_TABLE: Final = (*_NUMBER, ("zero", "BIGINT"), ("name", _NAME))
_OPENING: Final = (
    ("server", _NAME),
    *((name, "INTEGER") for name in ("session", "timeout", "max_recs", "major", "minor")),
)
_LOGGING: Final = (("name", _NAME), ("logging", "INTEGER"))
_CAPTURE: Final = (*_OF_TABLE, ("columns", "LVARCHAR(32739)"), ("user_data", "INTEGER"))
_INTEGER: Final = ("INTEGER",)

ROUTINES: Final[dict[str, SystemRoutine]] = {
    "cdc_opensess": SystemRoutine(_OPENING, _INTEGER, open_session),
    "cdc_set_fullrowlogging": SystemRoutine(_LOGGING, _INTEGER, set_full_row_logging),
    "cdc_startcapture": SystemRoutine(_CAPTURE, _INTEGER, start_capture),
    "cdc_endcapture": SystemRoutine(_OF_TABLE, _INTEGER, end_capture),
    "cdc_activatesess": SystemRoutine((*_NUMBER, ("position", "BIGINT")), _INTEGER, activate),
    "cdc_deactivatesess": SystemRoutine(_NUMBER, _INTEGER, deactivate),
    "cdc_closesess": SystemRoutine(_NUMBER, _INTEGER, close_session),
    "cdc_recboundary": SystemRoutine(_NUMBER, _INTEGER, record_boundary),
    "cdc_errortext": SystemRoutine((("name", _NAME),), (_NAME,), error_text),
}
"""By name."""
