"""PEP 249, blocking: a shell around the asyncio client, for tools and scripts. Never: a second implementation."""

from __future__ import annotations

from typing import Final

from aioifx.dbapi.connect import connect
from aioifx.dbapi.connection import Connection, Cursor
from aioifx.dbapi.type_objects import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)
from aioifx.errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
)

__all__ = [
    "BINARY",
    "DATETIME",
    "NUMBER",
    "ROWID",
    "STRING",
    "Binary",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel: Final = "2.0"
threadsafety: Final = 2
"""Threads may share the module and connections."""
paramstyle: Final = "qmark"
"""A statement may have names, too: its parameters are then a mapping."""

for _definition in (Connection, Cursor, connect, DateFromTicks, TimeFromTicks, TimestampFromTicks):
    _definition.__module__ = __name__
