"""Tables of sysmaster that show the server's own state: databases and sessions. Never: the contents of a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Final, TypeAlias

from aioifx.server.catalog import systables
from aioifx.server.engine.session_registry import SessionRegistry
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.dates import days_of
from aioifx.server.sqlite.databases import Databases, LogMode

_Rows: TypeAlias = list[tuple[Stored, ...]]

_FIRST_PARTNUM: Final = (
    0x100000  # a part number starts with the number of its dbspace; 1 is the root (documented)
)
_FLAGS: Final = {LogMode.UNLOGGED: 0, LogMode.LOGGED: 1, LogMode.ANSI: 5}
"""sysdatabases.flags: 1 logged, 4 ANSI (documented: sysmaster, sysdatabases)."""


def refresh(
    name: str, connection: sqlite3.Connection, databases: Databases, registry: SessionRegistry
) -> None:
    """Fill the session's copy of one of `systables.SESSION_TABLES`, as of now."""
    table = systables.session_table(name)
    connection.execute(f"DELETE FROM {table}")
    marks = ", ".join("?" * len(systables.SYSMASTER_TABLES[name].columns))
    connection.executemany(f"INSERT INTO {table} VALUES ({marks})", _MAKERS[name](databases, registry))


def _sysdatabases(databases: Databases, registry: SessionRegistry) -> _Rows:
    return [
        (
            database.name,
            _FIRST_PARTNUM + number,
            database.owner,
            days_of(database.created),
            int(database.log_mode is not LogMode.UNLOGGED),
            0,  # is_buff_log
            int(database.log_mode is LogMode.ANSI),
            0,  # is_nls
            0,  # is_case_insens
            _FLAGS[database.log_mode],
        )
        for number, database in enumerate(databases.all(), start=1)
    ]


def _sysdbslocale(databases: Databases, registry: SessionRegistry) -> _Rows:
    return [(database.name, database.locale) for database in databases.all()]


def _syssessions(databases: Databases, registry: SessionRegistry) -> _Rows:
    return [
        (
            entry.session_id,
            entry.user,
            0,  # uid
            entry.process_id,
            entry.host,
            "",  # tty
            int(entry.connected.timestamp()),
            "",  # feprogram
        )
        for entry in registry.entries()
    ]


_MAKERS: Final[dict[str, Callable[[Databases, SessionRegistry], _Rows]]] = {
    "sysdatabases": _sysdatabases,
    "sysdbslocale": _sysdbslocale,
    "syssessions": _syssessions,
}
