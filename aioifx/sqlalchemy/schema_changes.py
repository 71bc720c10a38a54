"""Which connections of an engine must prepare their statements again after DDL. Never: a statement.

After another session's DDL, a cached statement of a client raises -710 in a transaction, and SQLAlchemy always has one.
DDL of other engines and processes is not seen here: its first statements raise -710, which is retryable.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.execution.statement_cache import DDL_VERBS
from aioifx.client.sql.scanner import scan


class SchemaChanges:
    """DDL of the connections of one engine. May be used by several threads."""

    def __init__(self) -> None:
        self._current = object()
        """Replaced by each change."""
        self._seen = WeakKeyDictionary[Any, object]()
        self._changed = WeakSet[Any]()
        """Connections whose open transaction has DDL."""

    def before_execute(self, connection: Any) -> None:
        """Make a connection forget its statements if there was DDL since it was last used."""
        current = self._current
        seen = self._seen.get(connection)
        if seen is not current:
            self._seen[connection] = current
            if seen is not None:
                connection.run(_forget_statements)

    def on_executed(self, connection: Any, sql: str) -> None:
        """Called after a statement without rows."""
        verb = scan(sql).verb
        if verb in DDL_VERBS:
            self._current = object()
        if verb in DDL_VERBS or verb == "create":
            self._changed.add(connection)

    def on_commit(self, connection: Any) -> None:
        """Called after COMMIT."""
        self._changed.discard(connection)

    def on_rollback(self, connection: Any) -> None:
        """Called after ROLLBACK, which undoes DDL."""
        if connection in self._changed:
            self._changed.discard(connection)
            self._current = object()


async def _forget_statements(connection: Connection[Any]) -> None:
    statements_of(connection).invalidate()
