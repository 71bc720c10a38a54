"""The public names, imported when the first of them is used. Never: logic; the server; sqlite3."""

from __future__ import annotations

import typing as _typing

if _typing.TYPE_CHECKING:
    from aioifx import rows
    from aioifx.cdc.position import Position
    from aioifx.cdc.records import Capture, Change, CommittedTransaction
    from aioifx.cdc.stream import Changes, changes
    from aioifx.client.api.connection import Connection
    from aioifx.client.api.cursor import Cursor
    from aioifx.client.api.prepared import PreparedStatement
    from aioifx.client.api.retry import Retry
    from aioifx.client.api.transaction import Transaction
    from aioifx.client.bulk.arguments import Reject
    from aioifx.client.bulk.text_formats import CsvFormat, UnloadFormat
    from aioifx.client.config.options import ConnectOptions
    from aioifx.client.config.resolve import parse_dsn
    from aioifx.client.connect.connect import connect
    from aioifx.client.execution.arrow_stream import RecordBatches
    from aioifx.client.execution.result import ExecuteResult
    from aioifx.client.execution.stream import Stream
    from aioifx.client.lobs.lob import Lob
    from aioifx.client.observation.operation import Observer, Operation, Stats
    from aioifx.client.pool.leases import Holder
    from aioifx.client.pool.pool import Pool, create_pool
    from aioifx.client.pool.stats import Histogram, PoolStats
    from aioifx.codecs.conversions import TypeCodec
    from aioifx.codecs.native import speedups
    from aioifx.codecs.record_batches import ArrowResult, RecordBatch
    from aioifx.errors import (
        AuthenticationError,
        CdcError,
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
        PushDataError,
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
    from aioifx.pushdata.events import Events, events
    from aioifx.pushdata.watch import Watch
    from aioifx.rows import Record
    from aioifx.sqltypes import Column, Datetime, IntervalYM, Qualifier, SqlType, TypeCode, Unit
    from aioifx.tracing.events import TraceEvent
    from aioifx.wire.opcodes import PamStyle

    __version__: str
    """The version of the installed distribution."""

__all__ = [
    "ArrowResult",
    "AuthenticationError",
    "Capture",
    "CdcError",
    "Change",
    "Changes",
    "CheckViolation",
    "Column",
    "CommittedTransaction",
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
    "Error",
    "Events",
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
    "LockError",
    "LockTimeout",
    "NotNullViolation",
    "NotSupportedError",
    "Observer",
    "Operation",
    "OperationalError",
    "PamStyle",
    "PermissionDenied",
    "Pool",
    "PoolClosed",
    "PoolStats",
    "PoolTimeout",
    "Position",
    "PreparedStatement",
    "ProgrammingError",
    "ProtocolError",
    "PushDataError",
    "Qualifier",
    "QueryCanceled",
    "QueryTimeout",
    "Record",
    "RecordBatch",
    "RecordBatches",
    "Reject",
    "Retry",
    "RowLocked",
    "SQLSyntaxError",
    "SqlType",
    "Stats",
    "Stream",
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
    "Watch",
    "changes",
    "connect",
    "create_pool",
    "events",
    "parse_dsn",
    "rows",
    "speedups",
]

_SOURCES = {
    "aioifx.cdc.position": "Position",
    "aioifx.cdc.records": "Capture Change CommittedTransaction",
    "aioifx.cdc.stream": "Changes changes",
    "aioifx.client.api.connection": "Connection",
    "aioifx.client.api.cursor": "Cursor",
    "aioifx.client.api.prepared": "PreparedStatement",
    "aioifx.client.api.retry": "Retry",
    "aioifx.client.api.transaction": "Transaction",
    "aioifx.client.bulk.arguments": "Reject",
    "aioifx.client.bulk.text_formats": "CsvFormat UnloadFormat",
    "aioifx.client.config.options": "ConnectOptions",
    "aioifx.client.config.resolve": "parse_dsn",
    "aioifx.client.connect.connect": "connect",
    "aioifx.client.execution.arrow_stream": "RecordBatches",
    "aioifx.client.execution.result": "ExecuteResult",
    "aioifx.client.execution.stream": "Stream",
    "aioifx.client.lobs.lob": "Lob",
    "aioifx.client.observation.operation": "Observer Operation Stats",
    "aioifx.client.pool.leases": "Holder",
    "aioifx.client.pool.pool": "Pool create_pool",
    "aioifx.client.pool.stats": "Histogram PoolStats",
    "aioifx.codecs.conversions": "TypeCodec",
    "aioifx.codecs.native": "speedups",
    "aioifx.codecs.record_batches": "ArrowResult RecordBatch",
    "aioifx.errors": """
        AuthenticationError CdcError CheckViolation ConnectError ConnectionLost DataError DatabaseError Deadlock
        Error ForeignKeyViolation IntegrityError InterfaceError InternalError LocaleError LockError
        LockTimeout NotNullViolation NotSupportedError OperationalError PermissionDenied PoolClosed
        PoolTimeout ProgrammingError ProtocolError PushDataError QueryCanceled QueryTimeout RowLocked
        SQLSyntaxError UndefinedColumn UndefinedRoutine UndefinedTable UniqueViolation Warning
    """,
    "aioifx.pushdata.events": "Events events",
    "aioifx.pushdata.watch": "Watch",
    "aioifx.rows": "Record",
    "aioifx.sqltypes": "Column Datetime IntervalYM Qualifier SqlType TypeCode Unit",
    "aioifx.tracing.events": "TraceEvent",
    "aioifx.wire.opcodes": "PamStyle",
}
"""Modules, and the public names that each defines.

`import aioifx` imports none of them, because pytest loads the plugin in `aioifx.testing` also for projects that do not
use it. The first use of a name imports its module.
"""

if not _typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        import sys
        from importlib import import_module

        if name == "__version__":
            from importlib.metadata import version  # loads a parser of e-mail

            return version(__name__)
        if name == "rows":
            return import_module("aioifx.rows")
        source = next((module for module, names in _SOURCES.items() if name in names.split()), "")
        if not source:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import_module(source)
        for module, names in _SOURCES.items():
            imported = sys.modules.get(module)
            for public in names.split() if imported is not None else ():
                definition = globals()[public] = getattr(imported, public)
                # Tracebacks, reprs and pickles name the public path, so the modules underneath may move.
                if hasattr(definition, "__module__"):  # speedups is a string
                    definition.__module__ = __name__
        return globals()[name]

    def __dir__() -> list[str]:
        return sorted([*__all__, *(name for name in globals() if name.startswith("__")), "__version__"])
