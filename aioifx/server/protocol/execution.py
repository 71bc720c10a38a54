"""One execution of a statement: it is logged, and faults take effect. Never: what the statement does."""

from __future__ import annotations

from types import TracebackType
from typing import Final

from aioifx.server.protocol.fault_points import ConnectionDropped, FaultPoints
from aioifx.server.protocol.statement_log import StatementRecord
from aioifx.server.sql.errors import SqlError

INTERNAL: Final = -768
"""SQLCODE of an error inside the server."""


class Execution:
    """Context of an execution, or of a part of it: faults take effect, and the record gets the error.

    Args:
        points: None: faults do not take effect in this part.
    """

    __slots__ = ("_points", "_sql", "record")

    def __init__(self, record: StatementRecord, sql: str, points: FaultPoints | None) -> None:
        self.record = record
        self._sql = sql
        self._points = points

    def __enter__(self) -> StatementRecord:
        if self._points is not None and self._points.on_statements:
            try:
                self._points.before(self._sql)
            except SqlError as failure:
                self.record.fail(failure)
                raise
        return self.record

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            if self._points is not None and self._points.on_statements:
                self._points.after(self._sql)
        elif not isinstance(error, ConnectionDropped):
            self.record.fail(error if isinstance(error, SqlError) else SqlError(INTERNAL))
