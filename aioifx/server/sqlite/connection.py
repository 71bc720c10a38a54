"""SQLite connections for translated SQL: pragmas and functions. Never: which database, which session."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.runtime import sqlite_functions
from aioifx.server.sql.runtime.sqlite_extras import register_extras
from aioifx.server.sqlite.routine_calls import register_calls

CACHED_STATEMENTS: Final = 256
"""Compiled statements that one SQLite connection caches."""

SORT_MEMORY: Final = 16 * 1024 * 1024
"""The default of the option *sort_memory*: two million rows are sorted as fast as in memory (measured)."""

MIN_SORT_MEMORY: Final = 1024 * 1024
"""SQLite sorts as much in memory in any case."""

_PRAGMAS: Final = (
    "PRAGMA synchronous=OFF",  # a test double need not survive a power failure
    "PRAGMA temp_store=FILE",  # opened when temporary tables and sorted rows need more than their memory
    "PRAGMA temp.journal_mode=MEMORY",
    "PRAGMA foreign_keys=ON",
    # SQLite 3.40's automatic indexes lose joined rows whose keys differ in trailing blanks under RTRIM (measured).
    "PRAGMA automatic_index=OFF",
)

_LOCK_MAIN: Final = 'DELETE FROM main."ifx_undo" WHERE 0'
"""A statement that writes to the main database, and changes nothing."""


def connect(
    path: Path,
    settings: Settings,
    on_error: Callable[[SqlError], None],
    sort_memory: int = SORT_MEMORY,
) -> sqlite3.Connection:
    """Open *path* for the calling thread.

    Args:
        sort_memory: bytes for sorting, and again for pages of the database; SQLite has one limit for both.
        settings: read by the functions when they run.
        on_error: called with the error that a function raised, because SQLite only reports that it failed.
    """
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=CACHED_STATEMENTS)
    try:
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        connection.execute(f"PRAGMA cache_size=-{sort_memory // 1024}")
        # Waits for other writers happen in `LockManager`; from here on SQLite returns BUSY at once.
        connection.execute("PRAGMA busy_timeout=0")
        sqlite_functions.register(connection, settings, on_error)
        register_extras(connection, on_error)
        register_calls(connection, settings, on_error)
    except BaseException:
        connection.close()
        raise
    return connection


def begin_writing(connection: sqlite3.Connection) -> None:
    """Begin a transaction of SQLite that locks the main database for writing.

    BEGIN IMMEDIATE would lock each attached database as well (measured on 3.40). Sessions only read those.
    """
    connection.execute("BEGIN")
    try:
        connection.execute(_LOCK_MAIN)
    except BaseException:
        connection.execute("ROLLBACK")
        raise


@contextmanager
def transaction(connection: sqlite3.Connection, *, is_shared: bool = True) -> Generator[None, None, None]:
    """Context of a transaction of SQLite; if it fails, it is rolled back.

    Args:
        is_shared: it writes what other sessions see; False for temporary tables.
    """
    if is_shared:
        begin_writing(connection)
    else:
        connection.execute("BEGIN")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def savepoint(connection: sqlite3.Connection, name: str) -> Generator[None, None, None]:
    """Context of a savepoint of SQLite; if it fails, its changes are undone."""
    connection.execute(f"SAVEPOINT {name}")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute(f"ROLLBACK TO {name}")
            connection.execute(f"RELEASE {name}")
        raise
    connection.execute(f"RELEASE {name}")
