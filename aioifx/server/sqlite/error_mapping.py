"""SQLite errors mapped to Informix error codes. Never: SQLite's own messages.

Names are resolved and types checked before a statement reaches SQLite. The remaining errors are constraints,
interrupts and internal errors. A constraint is found by the code, the columns or index in the message, and the catalog.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Change, Verb
from aioifx.server.sql.model.schema import Constraint, Index, Reference, Schema, Table
from aioifx.server.sql.translate.sqlite_ddl import TWIN, drop_index_steps, index_steps, physical_index

T = TypeVar("T")

DUPLICATE: Final = -100
"""ISAM: duplicate key."""
TOO_MANY_FILES: Final = -104
"""ISAM: the process has no free file descriptor."""
NO_RECORD: Final = -111
"""ISAM: no such row."""

_COLUMN: Final = re.compile(r"[^.,: ]+\.([^,]+?)(?=, |$)")
_INDEX: Final = re.compile(r"index '(.*)'$")
_RAISED: Final = re.compile(r"ifx:(-\d+):(.*)", re.DOTALL)
_PROBE: Final = "ifx_probe"


def sql_error_of(error: sqlite3.Error, change: Change | None) -> SqlError | None:
    """The error for the client; None for an internal error, and for foreign keys.

    Args:
        change: the statement, if it was an INSERT, UPDATE or DELETE.
    """
    code: int = getattr(error, "sqlite_errorcode", 0) or 0
    if code & 0xFF == sqlite3.SQLITE_INTERRUPT:
        return SqlError(-213, -157)
    if code & 0xFF == sqlite3.SQLITE_CANTOPEN:
        return SqlError(-229, TOO_MANY_FILES)
    if is_disk_full(error):
        return SqlError(_FULL[change.verb if change else Verb.UPDATE], -131)
    if code & 0xFF in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_RANGE):
        return _limit(str(error))
    if code == sqlite3.SQLITE_CONSTRAINT_TRIGGER and (raised := _RAISED.fullmatch(str(error))):
        return SqlError(int(raised[1]), token=raised[2])
    if change is not None and code == sqlite3.SQLITE_CONSTRAINT_UNIQUE:
        return _duplicate(change, str(error).partition(": ")[2])
    return None


_FULL: Final = {Verb.INSERT: -271, Verb.UPDATE: -346, Verb.DELETE: -240}
"""What could not be written on a full disk (documented)."""


def is_disk_full(error: sqlite3.Error) -> bool:
    """Whether SQLite found no space; it may find that at the end of a statement."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL


_LIMITS: Final = {
    "at most 64 tables": (-999, "more than 64 tables in a join"),
    "too many FROM clause terms": (-999, "more than 64 tables in a join"),
    "too many columns": (-999, "more than 2000 columns"),
    "too many arguments": (-999, "too many arguments"),
    "too many terms": (-999, "too many parts or keys of a query"),
    "too many SQL variables": (-999, "too many parameters"),
    "Expression tree is too large": (-999, "NESTING"),
    "parser stack overflow": (-999, "NESTING"),
    "Recursion limit": (-999, "NESTING"),
    "too big": (-881, ""),
}
"""SQLite limits, by their messages (measured on 3.40 and 3.53); Informix has other limits."""


def _limit(message: str) -> SqlError | None:
    for words, (sqlcode, token) in _LIMITS.items():
        if words in message:
            return SqlError(sqlcode, token=token)
    return None


def is_foreign_key(error: sqlite3.Error) -> bool:
    """Whether a referential constraint failed; SQLite does not report which."""
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY


def _duplicate(change: Change, about: str) -> SqlError:
    """-268 for a constraint's index, -239 or -346 for another; *about* names columns, or an index with expressions."""
    table = change.table
    index = _broken_index(table, about)
    constraint = table.key_of_index(index.name) if index else None
    if constraint is not None:
        return SqlError(-268, DUPLICATE, constraint.full_name)
    sqlcode = -346 if change.verb is Verb.UPDATE else -239
    return SqlError(sqlcode, DUPLICATE, index.name if index else table.name)


def _broken_index(table: Table, about: str) -> Index | None:
    named = _INDEX.match(about)
    columns = tuple(_COLUMN.findall(about))
    for index in table.indexes:
        if index.is_unique and (
            named[1].removesuffix(TWIN) == physical_index(table, index)
            if named
            else index.columns == columns and not index.is_functional
        ):
            return index
    return None


# -- unique keys -------------------------------------------------------------------------------------------------------


def is_duplicate(error: sqlite3.Error) -> bool:
    """Whether a unique key already exists."""
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CONSTRAINT_UNIQUE


def updated_as_a_whole(connection: sqlite3.Connection, table: Table, run: Callable[[], T]) -> T | None:
    """Run an UPDATE that SQLite refused, checking its unique keys at the end, as Informix does.

    During ``SET k = k + 1`` two rows may briefly have the same key, which SQLite refuses because it checks each row.

    Returns:
        None, without any change, if the keys are not unique at the end either.
    """
    indexes = [index for index in table.indexes if index.is_unique]
    connection.execute(f"SAVEPOINT {_PROBE}")
    try:
        for index in indexes:
            for step in drop_index_steps(table, index):
                connection.execute(step.sql, step.values)
        done = run()
        for index in indexes:
            for step in index_steps(table, index):
                connection.execute(step.sql, step.values)
    except sqlite3.Error:
        connection.execute(f"ROLLBACK TO {_PROBE}")
        connection.execute(f"RELEASE {_PROBE}")
        return None
    connection.execute(f"RELEASE {_PROBE}")
    return done


# -- foreign keys ------------------------------------------------------------------------------------------------------


def broken_reference(
    connection: sqlite3.Connection, change: Change, schema: Schema, again: Callable[[], object]
) -> SqlError:
    """The violated referential constraint: the statement runs again with deferred constraints, and is undone.

    Args:
        again: runs the statement.
    """
    connection.execute(f"SAVEPOINT {_PROBE}")
    try:
        connection.execute("PRAGMA defer_foreign_keys=ON")
        try:
            again()
        except sqlite3.Error as error:
            return sql_error_of(error, change) or SqlError(-691, NO_RECORD)
        return _first_broken(connection, change, schema)
    finally:
        connection.execute(f"ROLLBACK TO {_PROBE}")
        connection.execute(f"RELEASE {_PROBE}")
        connection.execute("PRAGMA defer_foreign_keys=OFF")


def _first_broken(connection: sqlite3.Connection, change: Change, schema: Schema) -> SqlError:
    table = change.table
    # After a DELETE, a row without its parent had one before, even if both are in the same table.
    own = () if change.verb is Verb.DELETE else table.foreign_keys
    for constraint in broken_keys(connection, table, own):
        return SqlError(-691, NO_RECORD, constraint.full_name)
    for reference in _references(table, schema):
        for constraint in broken_keys(connection, reference.child, (reference.constraint,)):
            return SqlError(-692, token=constraint.full_name)
    return SqlError(-691, NO_RECORD)


def _references(table: Table, schema: Schema) -> Iterator[Reference]:
    """The foreign keys that a DELETE may break: of the table's children, and of children that it cascades to."""
    tables = [table]
    for parent in tables:
        for reference in schema.references_to(parent.tabid):
            yield reference
            if reference.constraint.cascades and reference.child not in tables:
                tables.append(reference.child)


def broken_references(
    connection: sqlite3.Connection, changed: Iterable[Table], written: Iterable[Table], schema: Schema
) -> Iterator[SqlError]:
    """The errors of violated referential constraints, which were deferred until now.

    Args:
        changed: the tables whose rows have changed.
        written: those with new or updated rows.
    """
    for table in written:
        for constraint in broken_keys(connection, table, table.foreign_keys):
            yield SqlError(-691, NO_RECORD, constraint.full_name)
    for table in changed:
        for reference in _references(table, schema):
            for constraint in broken_keys(connection, reference.child, (reference.constraint,)):
                yield SqlError(-692, token=constraint.full_name)


def broken_keys(
    connection: sqlite3.Connection, child: Table, constraints: tuple[Constraint, ...]
) -> list[Constraint]:
    """Those of *constraints* that rows of *child* violate now, except disabled ones."""
    keys: dict[int, list[str]] = {}
    for key, _, _, column, *_ in connection.execute(f"PRAGMA foreign_key_list({child.physical})"):
        keys.setdefault(key, []).append(column)
    broken = {row[3] for row in connection.execute(f"PRAGMA foreign_key_check({child.physical})")}
    return [
        constraint
        for constraint in constraints
        if not constraint.is_disabled and any(keys.get(key) == list(constraint.columns) for key in broken)
    ]
