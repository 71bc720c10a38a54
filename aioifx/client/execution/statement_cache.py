"""Cache of a connection's prepared statements. Never: what a statement is used for.

Invariants:
1. A statement in use has one user. The cache holds only idle statements and drops the least recently used one.
2. A cached statement may be stale. It is then prepared again, once, without the caller noticing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias, TypeVar

from aioifx.client.execution.parameters import check_count
from aioifx.client.execution.prepare import prepare
from aioifx.client.execution.result import DATABASE_TYPES
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_state import GONE, WITH_CURSOR
from aioifx.client.session.session import Session, note_sql
from aioifx.client.sql.scanner import scan
from aioifx.errors import DatabaseError, InterfaceError, QueryTimeout
from aioifx.sqltypes import Value

T = TypeVar("T")

Action: TypeAlias = Callable[[Statement, Sequence[Value]], Awaitable[T]]
"""Action of a call on its statement and parameters."""

MAX_CACHED_TEXT: Final = 16 * 1024
"""Longer texts are usually generated and not repeated."""

_STALE: Final = frozenset(
    {
        -710,  # the table has changed since the statement was prepared (documented)
        -206,  # the table is gone, or was created again under another number (documented)
        -217,  # likewise a column
        -267,  # the cursor was released
        -410,  # the statement is not prepared
        -258,  # no such statement id
    }
)
"""Errors of a cached statement that may not occur if its text is prepared again."""

_CHANGED: Final = -710
_EXECUTE_AGAIN: Final = "its table has changed since it was prepared; execute it again to prepare it again"

_DDL_VERBS: Final = frozenset({"alter", "drop", "rename"})
"""After these, cached statements may be stale."""


class StatementCache:
    """Prepared statements of one connection. Callers hold the session's lock.

    Args:     size: number of idle statements that stay prepared at the server; 0: none.
    """

    def __init__(self, session: Session, size: int) -> None:
        self.size = size
        self._session = session
        self._idle: dict[str, Statement] = {}
        self._in_use: set[Statement] = set()
        self._generation = session.generation
        self._is_closed = False

    @property
    def session(self) -> Session:
        """The session, while the connection may use it.

        Raises:   InterfaceError: the connection was released to its pool.
        """
        if self._is_closed:
            raise InterfaceError("the connection was released to its pool")
        return self._session

    @property
    def is_closed(self) -> bool:
        """Whether the connection was released to its pool."""
        return self._is_closed

    def for_next_user(self) -> StatementCache:
        """The same cache for the next user of the session."""
        statements = StatementCache(self._session, self.size)
        statements._idle, statements._generation = self._idle, self._generation
        return statements

    def close(self) -> None:
        """Invalidate the current user's access and release statements in use. Never waits."""
        self._is_closed = True
        if self._in_use:
            while self._in_use:
                self._in_use.pop().release_later()
            self._session.commit_later()  # after the cursors' CLOSE

    def __len__(self) -> int:
        return len(self._idle)

    async def acquire(self, sql: str, params: Sequence[Value] | None = None) -> Statement:
        """A statement for the caller alone: from the cache, or prepared now.

        Raises:   as `prepare`.
        """
        return self._lookup(sql, params) or await self.prepare(sql, params)

    def _lookup(self, sql: str, params: Sequence[Value] | None) -> Statement | None:
        """A cached statement for the caller alone."""
        if self._generation != self._session.generation:
            self.clear()
        kind: type[object] = type(sql)  # a value of another type is rejected when prepared
        statement = self._idle.pop(sql, None) if kind is str else None
        if statement is None:
            return None
        if params is not None and len(params) != len(statement.parameters):
            self._idle[sql] = statement
            check_count(sql, len(statement.parameters), params)
        statement.from_cache = True
        self._in_use.add(statement)
        return statement

    async def prepare(self, sql: str, params: Sequence[Value] | None = None) -> Statement:
        """Prepare a statement, bypassing the cache."""
        try:
            statement = await prepare(self._session, sql, params)
        except DatabaseError as error:
            note_sql(error, sql)
            raise
        is_short = self.size > 0 and len(sql) <= MAX_CACHED_TEXT
        statement.one_shot = not is_short
        statement.cacheable = is_short and statement.kind not in DATABASE_TYPES
        self._in_use.add(statement)
        return statement

    def release(self, statement: Statement) -> None:
        """Put a statement into the cache, or release it at the server."""
        idle, sql = self._idle, statement.sql
        self._in_use.discard(statement)
        other = idle.get(sql)
        if other is statement:
            return  # released twice: one task closed its cursor while another was fetching
        if statement.state in WITH_CURSOR:
            statement.close_cursor()
        if (
            other is not None
            or not statement.cacheable
            or statement.state in GONE
            or statement.generation != self._session.generation
        ):
            statement.release_later()
            return
        idle[sql] = statement
        if len(idle) > self.size:
            idle.pop(next(iter(idle))).release_later()

    def _drop(self, statement: Statement) -> None:
        self._in_use.discard(statement)
        if self._idle.get(statement.sql) is statement:
            del self._idle[statement.sql]
        statement.release_later()

    def invalidate_after(self, statement: Statement) -> None:
        """Invalidate cached statements after a successful statement that may have changed what they name."""
        if not statement.returns_rows and statement.verb in _DDL_VERBS:
            self.clear()

    def invalidate_after_text(self, sql: str) -> None:
        """`invalidate_after` by the text alone."""
        if scan(sql).verb in _DDL_VERBS:
            self.clear()

    def invalidate(self) -> None:
        """Prepare every text again after a change of conversions; statements in use are unaffected."""
        self.clear()
        for statement in self._in_use:
            statement.cacheable = False

    def clear(self) -> None:
        """Release every idle statement, since what they name may have changed."""
        idle = [*self._idle.values()]
        self._idle.clear()
        for statement in idle:
            statement.release_later()
        self._generation = self._session.generation

    # -- use ----------------------------------------------------------------------------------------------------------

    async def run(
        self,
        sql: str,
        params: Sequence[Value] | None,
        action: Action[T],
        timeout: float | None = None,
        once: bool = False,
    ) -> T:
        """A complete call: acquire the lock and a statement, use it, release both.

        Args:     params: None if *action* supplies them itself. timeout: seconds; None: command_timeout.
                  once: *action* cannot be repeated, so a stale statement is not prepared again.
        """
        session = self._session if not self._is_closed else self.session
        # Inlined ``async with``, without awaiting if nothing has to be awaited.
        dispatcher = session.dispatcher
        if timeout is not None or session.settings.pending or not dispatcher.try_acquire():
            try:
                await session.acquire(timeout)
            except DatabaseError as error:
                note_sql(error, sql)
                raise
        try:
            may_repeat = not (once or session.in_transaction)
            statement = self._lookup(sql, params) or await self.prepare(sql, params)
            try:
                result = await action(statement, () if params is None else params)
            except BaseException as error:
                statement, result = await self._retry_if_stale(statement, error, may_repeat, params, action)
            if not statement.returns_rows and statement.verb in _DDL_VERBS:
                self.clear()
            self.release(statement)
            if session.is_ansi:
                if statement.returns_rows:
                    session.commit_later()  # after the cursor's CLOSE
                else:
                    await session.autocommit()
            return result
        finally:
            dispatcher.release()

    def apply(self, action: Callable[[StatementCache], Awaitable[T]]) -> Awaitable[T]:
        """Call *action* with these statements; a pool acquires a connection around it."""
        return action(self)

    async def begin(self, sql: str, params: Sequence[Value], action: Action[T]) -> tuple[Statement, T]:
        """The first half of `run`: acquire a statement and use it. The caller holds the lock and releases both."""
        may_repeat = not self._session.in_transaction
        statement = self._lookup(sql, params) or await self.prepare(sql, params)
        try:
            result = await action(statement, params)
        except BaseException as error:
            statement, result = await self._retry_if_stale(statement, error, may_repeat, params, action)
        self.invalidate_after(statement)
        return statement, result

    async def _retry_if_stale(
        self,
        statement: Statement,
        error: BaseException,
        may_repeat: bool,
        params: Sequence[Value] | None,
        action: Action[T],
    ) -> tuple[Statement, T]:
        """After a failure: prepare the text again and retry if the statement was stale; otherwise clean up."""
        self.on_failure(statement, error)
        if not may_repeat or not self._is_stale(statement, error):
            note_stale(error)
            raise error
        statement = await self.prepare(statement.sql, params)
        try:
            return statement, await action(statement, () if params is None else params)
        except BaseException as error:
            self.on_failure(statement, error)
            raise

    async def prepare_again(self, statement: Statement, error: BaseException) -> Statement | None:
        """The user's own statement prepared again, if *error* shows that it was stale; otherwise None."""
        if not self._is_stale(statement, error):
            return None
        fresh = await self.prepare(statement.sql)
        fresh.one_shot, fresh.from_cache = False, True
        self._drop(statement)
        return fresh

    def on_failure(self, statement: Statement, error: BaseException) -> None:
        """Release a statement after a failure: to the cache after an ordinary error, at the server after others."""
        note_sql(error, statement.sql)
        if isinstance(error, Exception) and not isinstance(error, QueryTimeout):
            if self._is_stale(statement, error):
                self._drop(statement)
            else:
                self.release(statement)
        else:
            self._drop(statement)
        self._session.commit_later()

    def _is_stale(self, statement: Statement, error: BaseException) -> bool:
        return (
            statement.from_cache
            and isinstance(error, DatabaseError)
            and error.sqlcode in _STALE
            and self._session.is_open
        )


def note_stale(error: BaseException) -> None:
    """Add a note of what to do if *error* shows that the statement is stale."""
    if isinstance(error, DatabaseError) and error.sqlcode == _CHANGED:
        error.add_note(_EXECUTE_AGAIN)
