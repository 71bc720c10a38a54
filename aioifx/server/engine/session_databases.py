"""Opening, closing, creating and dropping databases in a session. Never: the files of a database."""

from __future__ import annotations

import sqlite3

from aioifx.server.catalog import catalog
from aioifx.server.catalog.cdc_tables import SYSCDC
from aioifx.server.engine.dml import register_functions
from aioifx.server.engine.session_state import SessionState
from aioifx.server.engine.workspace import Workspace
from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite import undo_log
from aioifx.server.sqlite.connection import connect
from aioifx.server.sqlite.databases import Database, LogMode, have_one_code_set
from aioifx.server.sqlite.error_mapping import sql_error_of


def open_database(state: SessionState, name: str) -> Database:
    """Make *name* the current database; the previous one is rolled back and closed.

    A client without DB_LOCALE gets the server's. syscdcv1 can be opened with any: its texts are ASCII, and rows have
    the locale of their own database (documented: DB_LOCALE must be that one's; observed: JDBC).

    Source: documented: GLS guide, locale information for the database; observed: a client whose code set differs is
    rejected with -23197 (a JDBC client without DB_LOCALE, a database in cp1250).

    Raises:
        SqlError: -329, not found; -23197, its code set differs from that of the client's DB_LOCALE.
    """
    database = state.databases.open(name.strip().lower())
    try:
        if database.name != SYSCDC and not have_one_code_set(
            state.database_locale or state.databases.locale, database.locale
        ):
            raise SqlError(-23197)
        close_database(state)
        connection = _connect(state, database)
        state.workspace = Workspace(database, connection, state.defaults, state.interrupts.consume)
        state.workspace.transactions.recover()
        if database.users == 1:
            state.workspace.objects.sweep_all()
    except BaseException:
        state.databases.on_closed(database)
        raise
    state.settings.database = state.entry.database = database.name
    state.settings.code_set = database.codec
    return database


def _connect(state: SessionState, database: Database) -> sqlite3.Connection:
    try:
        connection = connect(database.path, state.settings, state.note_error, state.databases.sort_memory)
    except sqlite3.OperationalError as error:
        raise (sql_error_of(error, None) or error) from None
    try:
        register_functions(state, connection)
        undo_log.create(connection, "temp")
        for step in catalog.session_steps():
            connection.execute(step.sql, step.values)
    except BaseException:
        connection.close()
        raise
    return connection


def close_database(state: SessionState) -> None:
    """Roll back and close the current database, if any."""
    current = state.workspace
    if current is None:
        return
    current.connection.set_progress_handler(None, 0)  # the cleanup must not be interrupted
    try:
        current.close()
    finally:
        state.workspace = None
        for database in (current.database, *current.attached.values()):
            state.databases.on_closed(database)
        state.settings.database = state.entry.database = ""


def create_database(state: SessionState, name: str, log_mode: LogMode, *, if_not_exists: bool) -> Database:
    """CREATE DATABASE: the new database has the client's DB_LOCALE (documented: GLS guide), and is opened."""
    if not (if_not_exists and name in state.databases.names):
        state.databases.create(name, log_mode, state.settings.user, state.database_locale)
    return open_database(state, name)


def drop_database(state: SessionState, name: str, *, if_exists: bool) -> None:
    """DROP DATABASE.

    Raises:
        SqlError: -359, it is the current database; others as `Databases.drop`.
    """
    if state.workspace is not None and state.workspace.database.name == name:
        raise SqlError(-359)
    if not (if_exists and name not in state.databases.names):
        state.databases.drop(name)


def check_no_transaction(state: SessionState) -> None:
    """Raise SqlError -377 if the current database cannot be left before its transaction ends."""
    if state.workspace is not None and state.workspace.transactions.is_used:
        raise SqlError(-377)
