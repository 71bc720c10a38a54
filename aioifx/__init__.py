"""The public names: connect, errors, records, types. Never: logic; the server; sqlite3."""

from __future__ import annotations

import typing as _typing

from aioifx import rows
from aioifx.client.api.connection import Connection
from aioifx.client.api.cursor import Cursor
from aioifx.client.api.prepared import PreparedStatement
from aioifx.client.api.retry import Retry
from aioifx.client.api.transaction import Transaction
from aioifx.client.bulk.text_formats import CsvFormat, UnloadFormat
from aioifx.client.config.options import ConnectOptions
from aioifx.client.config.resolve import parse_dsn
from aioifx.client.connect.connect import connect
from aioifx.client.connect.locks import LockDiagnosis, LockSession, TableLock
from aioifx.client.execution.result import ExecuteResult
from aioifx.client.execution.stream import Stream
from aioifx.client.lobs.lob import Lob
from aioifx.client.observation.operation import Observer, Operation
from aioifx.client.pool.leases import Holder
from aioifx.client.pool.locks import diagnose_locks
from aioifx.client.pool.pool import Pool, create_pool
from aioifx.client.pool.stats import Histogram, PoolStats
from aioifx.client.session.stats import Stats
from aioifx.codecs.bson import BsonKind, BsonValue, ObjectId
from aioifx.codecs.conversions import TypeCodec
from aioifx.codecs.native import speedups
from aioifx.errors import (
    AuthenticationError,
    CheckViolation,
    ConnectError,
    ConnectionLost,
    DatabaseError,
    DataError,
    Deadlock,
    Error,
    ForeignKeyViolation,
    IntegrityError,
    InterfaceError,
    InternalError,
    LocaleError,
    LockError,
    LockTimeout,
    NotNullViolation,
    NotSupportedError,
    OperationalError,
    PermissionDenied,
    PoolClosed,
    PoolTimeout,
    ProgrammingError,
    ProtocolError,
    QueryCanceled,
    QueryTimeout,
    RowLocked,
    SQLSyntaxError,
    UndefinedColumn,
    UndefinedRoutine,
    UndefinedTable,
    UniqueViolation,
    Warning,
)
from aioifx.rows import Record
from aioifx.sqltypes import Column, Datetime, IntervalYM, Qualifier, SqlType, TypeCode, Unit
from aioifx.tracing.events import TraceEvent
from aioifx.wire.opcodes import PamStyle

__all__ = [
    "AuthenticationError",
    "BsonKind",
    "BsonValue",
    "CheckViolation",
    "Column",
    "ConnectError",
    "ConnectOptions",
    "Connection",
    "ConnectionLost",
    "CsvFormat",
    "Cursor",
    "DataError",
    "DatabaseError",
    "Datetime",
    "Deadlock",
    "DiagnosisChange",
    "DiagnosisReport",
    "DiagnosisStep",
    "Error",
    "ExecuteResult",
    "ForeignKeyViolation",
    "Histogram",
    "Holder",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "IntervalYM",
    "Lob",
    "LocaleError",
    "LockDiagnosis",
    "LockError",
    "LockSession",
    "LockTimeout",
    "NotNullViolation",
    "NotSupportedError",
    "ObjectId",
    "Observer",
    "Operation",
    "OperationalError",
    "PamStyle",
    "PermissionDenied",
    "Pool",
    "PoolClosed",
    "PoolStats",
    "PoolTimeout",
    "PreparedStatement",
    "ProgrammingError",
    "ProtocolError",
    "Qualifier",
    "QueryCanceled",
    "QueryTimeout",
    "Record",
    "Retry",
    "RowLocked",
    "SQLSyntaxError",
    "SqlType",
    "Stats",
    "Stream",
    "TableLock",
    "TraceEvent",
    "Transaction",
    "TypeCode",
    "TypeCodec",
    "UndefinedColumn",
    "UndefinedRoutine",
    "UndefinedTable",
    "UniqueViolation",
    "Unit",
    "UnloadFormat",
    "Warning",
    "connect",
    "create_pool",
    "diagnose",
    "diagnose_locks",
    "parse_dsn",
    "rows",
    "speedups",
]

_LAZY = {
    "DiagnosisChange": "aioifx.diagnosis.report",
    "DiagnosisReport": "aioifx.diagnosis.report",
    "DiagnosisStep": "aioifx.diagnosis.report",
    "diagnose": "aioifx.diagnosis.diagnose",
}
"""Names whose modules are imported when they are first used, because most programs never use them."""

if _typing.TYPE_CHECKING:
    from aioifx.diagnosis.diagnose import diagnose
    from aioifx.diagnosis.report import DiagnosisChange, DiagnosisReport, DiagnosisStep
else:

    def __getattr__(name: str) -> object:
        if name not in _LAZY:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        definition = getattr(import_module(_LAZY[name]), name)
        definition.__module__ = __name__
        globals()[name] = definition
        return definition

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


# Tracebacks, reprs and pickles name the public path, so the modules underneath may move.
for _name in __all__:
    # Not those to come, the module rows, nor speedups, a string.
    if _name not in _LAZY and hasattr(globals()[_name], "__module__"):
        globals()[_name].__module__ = __name__
