"""Cache of a connection's prepared statements. Never: what a statement is used for.

Invariants:
1. A statement in use has one user. The cache holds only idle statements and drops the least recently used one.
2. A cached statement may be stale. It is then prepared again, once, without the caller noticing.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import Final, Protocol

from aioifx.client.execution.parameters import check_count
from aioifx.client.execution.prepare import prepare
from aioifx.client.execution.result import DATABASE_TYPES
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_state import PREPARED
from aioifx.client.session.failures import note_sql
from aioifx.client.session.session import Session
from aioifx.client.sql.statement_rules import alters_tables
from aioifx.client.sql.templates import note_place
from aioifx.errors import DatabaseError, InterfaceError, QueryTimeout
from aioifx.sqltypes import Value


class StatementSource(Protocol):
    """Provides the statement of a call: the cache, or a statement that the user has prepared.

    Callers of its methods hold the session's lock.
    """

    @property
    def base_session(self) -> Session:
        """The session, also after the connection was released to its pool."""
        ...

    @property
    def is_closed(self) -> bool:
        """Whether the connection was released to its pool."""
        ...

    @property
    def session(self) -> Session:
        """The session. Raises InterfaceError if the connection was released to its pool."""
        ...

    def lookup(self, sql: str, params: Sequence[Value] | None) -> Statement | None:
        """A prepared statement for the caller alone, if there is one."""
        ...

    async def prepare(self, sql: str, params: Sequence[Value] | None = None) -> Statement:
        """A statement for the caller alone, prepared now."""
        ...

    def release(self, statement: Statement) -> None:
        """Called when the caller no longer uses the statement."""
        ...

    def on_failure(self, statement: Statement, error: BaseException) -> None:
        """Called instead of `release` after a failure."""
        ...

    async def recover(
        self, statement: Statement, error: BaseException, params: Sequence[Value] | None, may_repeat: bool
    ) -> Statement | None:
        """`on_failure`; returns another statement to try again with if the failed one was stale."""
        ...

    def clear(self) -> None:
        """Called after a statement that may have made the cached ones stale."""
        ...


MAX_CACHED_TEXT: Final = 16 * 1024
"""Longer texts are usually generated and not repeated."""

STALE: Final = frozenset(
    {
        -710,  # the table has changed since the statement was prepared (documented)
        -206,  # the table was dropped, or created again under another number (documented)
        -217,  # likewise a column
        -267,  # the cursor was released
        -410,  # the statement is not prepared
        -258,  # no such statement id
    }
)
"""Errors of a cached statement that may not occur if its text is prepared again."""

_CHANGED: Final = -710
_EXECUTE_AGAIN: Final = "its table has changed since it was prepared; execute it again to prepare it again"


class StatementCache:
    """Prepared statements of one connection. Callers hold the session's lock.

    Args:
        size: number of idle statements that stay prepared at the server; 0: none.
    """

    def __init__(self, session: Session, size: int) -> None:
        self.size = size
        self.base_session = session
        self._idle: dict[str, Statement] = {}
        self._in_use: set[Statement] = set()
        self.in_use: Collection[Statement] = self._in_use
        """Statements that have a user."""
        self._generation = session.generation
        self.is_closed = False
        """Whether the connection was released to its pool."""

    @property
    def session(self) -> Session:
        """The session, while the connection may use it.

        Raises:
            InterfaceError: the connection was released to its pool.
        """
        if self.is_closed:
            raise _released()
        return self.base_session

    def for_user(self) -> StatementCache:
        """The same cache for the next user of the session."""
        statements = StatementCache(self.base_session, self.size)
        statements._idle, statements._generation = self._idle, self._generation
        return statements

    def close(self) -> None:
        """Invalidate the current user's access and release statements in use. Never waits."""
        self.is_closed = True
        self.release_used()

    def release_used(self) -> None:
        """Release statements in use."""
        if self._in_use:
            while self._in_use:
                self._in_use.pop().release_later()
            self.base_session.transactions.commit_later()  # after the cursors' CLOSE

    def __len__(self) -> int:
        return len(self._idle)

    async def acquire(self, sql: str, params: Sequence[Value] | None = None) -> Statement:
        """A statement for the caller alone: from the cache, or prepared now.

        Raises:
            Error: as `prepare`.
        """
        return self.lookup(sql, params) or await self.prepare(sql, params)

    def lookup(self, sql: str, params: Sequence[Value] | None) -> Statement | None:
        """A cached statement for the caller alone."""
        if self._generation != self.base_session.generation:
            self.clear()
        try:
            statement = self._idle.pop(sql)
        except (KeyError, TypeError):  # a value of another type is rejected when prepared
            return None
        if params is not None and len(params) != len(statement.parameters):
            self._idle[sql] = statement
            check_count(sql, len(statement.parameters), params)
        statement.is_from_cache = True
        self._in_use.add(statement)
        return statement

    async def prepare(self, sql: str, params: Sequence[Value] | None = None) -> Statement:
        """Prepare a statement, bypassing the cache."""
        try:
            statement = await prepare(self.base_session, sql, params)
        except DatabaseError as error:
            note_sql(error, sql)
            note_place(error, params)
            raise
        is_short = self.size > 0 and len(sql) <= MAX_CACHED_TEXT
        statement.is_one_shot = not is_short
        statement.is_cacheable = is_short and statement.kind not in DATABASE_TYPES
        self._in_use.add(statement)
        return statement

    def release(self, statement: Statement) -> None:
        """Put a statement into the cache, or release it at the server."""
        self._in_use.discard(statement)
        if statement.state is not PREPARED:
            statement.close_cursor()
        if (
            statement.is_cacheable
            and statement.state is PREPARED
            and statement.generation == self.base_session.generation
        ):
            idle = self._idle
            # It is already there if one task closed its cursor while another was fetching.
            if idle.setdefault(statement.sql, statement) is statement:
                if len(idle) > self.size:
                    idle.pop(next(iter(idle))).release_later()
                return
        statement.release_later()

    def drop(self, statement: Statement) -> None:
        """Release a statement at the server."""
        self._in_use.discard(statement)
        if self._idle.get(statement.sql) is statement:
            del self._idle[statement.sql]
        statement.release_later()

    def invalidate_after_text(self, sql: str) -> None:
        """Release every idle statement after *sql*, if that may have changed what they name."""
        if alters_tables(sql):
            self.clear()

    def invalidate(self) -> None:
        """Prepare every text again after a change of conversions; statements in use are unaffected."""
        self.clear()
        for statement in self._in_use:
            statement.is_cacheable = False

    def clear(self) -> None:
        """Release every idle statement, since what they name may have changed."""
        idle = [*self._idle.values()]
        self._idle.clear()
        for statement in idle:
            statement.release_later()
        self._generation = self.base_session.generation

    # -- failures -----------------------------------------------------------------------------------------------------

    async def recover(
        self, statement: Statement, error: BaseException, params: Sequence[Value] | None, may_repeat: bool
    ) -> Statement | None:
        """Clean up after a failure. Returns the statement to try again with, newly prepared, if it was stale."""
        is_stale = self.is_stale(statement, error)
        note_place(error, params)
        self.on_failure(statement, error)
        if is_stale and may_repeat:
            return await self.prepare(statement.sql, params)
        note_stale(error)
        return None

    def on_failure(self, statement: Statement, error: BaseException) -> None:
        """Release a statement after a failure: to the cache after an ordinary error, at the server after others."""
        note_sql(error, statement.sql)
        if isinstance(error, Exception) and not isinstance(error, QueryTimeout):
            if self.is_stale(statement, error):
                self.drop(statement)
            else:
                self.release(statement)
        else:
            self.drop(statement)
        self.base_session.transactions.commit_later()

    def is_stale(self, statement: Statement, error: BaseException) -> bool:
        """Whether *error* may not occur if the statement is prepared again."""
        return (
            statement.is_from_cache
            and isinstance(error, DatabaseError)
            and error.sqlcode in STALE
            and self.base_session.is_open
        )


def note_stale(error: BaseException) -> None:
    """Add a note of what to do if *error* shows that the statement is stale."""
    if isinstance(error, DatabaseError) and error.sqlcode == _CHANGED:
        error.add_note(_EXECUTE_AGAIN)


def _released() -> InterfaceError:
    error = InterfaceError("the connection was released to its pool")
    if "fastapi" in sys.modules:
        error.add_note(
            'a StreamingResponse of FastAPI that reads from it needs Depends(..., scope="request")'
        )
    return error
