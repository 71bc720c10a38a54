"""The statements of a connection, kept prepared between calls: the cache. Never: what a statement is used for.

House rules:
1. Whoever uses a statement has it alone; only idle ones are in the cache, the least recently used one goes first.
2. What is kept may go stale: then it is prepared again, once, and the caller does not notice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias, TypeVar

from aioifx.client.execution.result import DATABASE_TYPES
from aioifx.client.execution.statement import Statement, check_count, prepare
from aioifx.client.session.session import Session, note_sql
from aioifx.client.sql.scanner import scan
from aioifx.errors import DatabaseError, InterfaceError, QueryTimeout
from aioifx.sqltypes import Value

T = TypeVar("T")

Use: TypeAlias = Callable[[Statement, Sequence[Value]], Awaitable[T]]
"""What a call does with its statement and its parameters."""

MAX_CACHED_TEXT: Final = 16 * 1024
"""Longer texts are generated ones, and would not come again."""

_STALE: Final = frozenset(
    {
        -710,  # the table has changed since the statement was prepared (documented)
        -206,  # the table has gone; it may be back under another number (documented)
        -217,  # likewise a column
        -267,  # the cursor was released
        -410,  # the statement is not prepared
        -258,  # no such statement id
    }
)
"""Answers to a kept statement that say nothing about the same text prepared anew."""

_CHANGED: Final = -710
_EXECUTE_AGAIN: Final = (
    "its table has changed since it was prepared; execute it again, and it is prepared anew first"
)

_CHANGING: Final = frozenset({"alter", "drop", "rename"})
"""Behind these, nothing that is kept prepared can be trusted."""


class StatementCache:
    """One connection's statements. Whoever calls a method holds the session's turn.

    Args:     size: how many idle statements stay prepared at the server; 0: none.
    """

    def __init__(self, session: Session, size: int) -> None:
        self.size = size
        self._session = session
        self._idle: dict[str, Statement] = {}
        self._taken: set[Statement] = set()
        self._generation = session.generation
        self._is_over = False

    @property
    def session(self) -> Session:
        """The session, for whoever may use it.

        Raises:   InterfaceError: the connection has been given back to its pool.
        """
        if self._is_over:
            raise InterfaceError("the connection was given back to its pool")
        return self._session

    @property
    def is_over(self) -> bool:
        """Whether the connection has been given back to its pool."""
        return self._is_over

    def renewed(self) -> StatementCache:
        """The same statements for the next borrower of the session."""
        statements = StatementCache(self._session, self.size)
        statements._idle, statements._generation = self._idle, self._generation
        return statements

    def end(self) -> None:
        """The borrower has no say any more: what it still uses is put down. Never waits."""
        self._is_over = True
        if self._taken:
            while self._taken:
                self._taken.pop().release_later()
            self._session.commit_later()  # behind the cursors' CLOSE

    def __len__(self) -> int:
        return len(self._idle)

    async def take(self, sql: str, params: Sequence[Value] | None = None) -> Statement:
        """A statement for the caller alone: a kept one, or one that is prepared now.

        Raises:   as `prepare`.
        """
        return self._kept(sql, params) or await self.prepare(sql, params)

    def _kept(self, sql: str, params: Sequence[Value] | None) -> Statement | None:
        """A kept statement for the caller alone."""
        if self._generation != self._session.generation:
            self.clear()
        kind: type[object] = type(sql)  # what is no text is refused when it is prepared
        statement = self._idle.pop(sql, None) if kind is str else None
        if statement is None:
            return None
        if params is not None and len(params) != len(statement.parameters):
            self._idle[sql] = statement
            check_count(sql, len(statement.parameters), params)
        statement.reused = True
        self._taken.add(statement)
        return statement

    async def prepare(self, sql: str, params: Sequence[Value] | None = None) -> Statement:
        """A statement that is prepared now, whatever is kept."""
        try:
            statement = await prepare(self._session, sql, params)
        except DatabaseError as error:
            note_sql(error, sql)
            raise
        is_short = self.size > 0 and len(sql) <= MAX_CACHED_TEXT
        statement.one_shot = not is_short
        statement.may_be_kept = is_short and statement.kind not in DATABASE_TYPES
        self._taken.add(statement)
        return statement

    def give_back(self, statement: Statement) -> None:
        """Keep a statement for the next call, or put it down."""
        idle, sql = self._idle, statement.sql
        self._taken.discard(statement)
        other = idle.get(sql)
        if other is statement:
            return  # its cursor was closed by one task while another fetched, and both give it back
        if statement.is_open:
            statement.close_cursor()
        if (
            other is not None
            or not statement.may_be_kept
            or statement.is_released
            or statement.generation != self._session.generation
        ):
            statement.release_later()
            return
        idle[sql] = statement
        if len(idle) > self.size:
            idle.pop(next(iter(idle))).release_later()

    def _drop(self, statement: Statement) -> None:
        self._taken.discard(statement)
        if self._idle.get(statement.sql) is statement:
            del self._idle[statement.sql]
        statement.release_later()

    def executed(self, statement: Statement) -> None:
        """A statement of ours has succeeded: what is kept may name what it has changed."""
        if not statement.returns_rows and statement.verb in _CHANGING:
            self.clear()

    def executed_text(self, sql: str) -> None:
        """`executed`, where nothing but the text is known."""
        if scan(sql).verb in _CHANGING:
            self.clear()

    def renew(self) -> None:
        """Prepare every text anew: what becomes of values has changed. Those in use go on as they are."""
        self.clear()
        for statement in self._taken:
            statement.may_be_kept = False

    def clear(self) -> None:
        """Put down every idle statement: what they name may have changed."""
        idle = [*self._idle.values()]
        self._idle.clear()
        for statement in idle:
            statement.release_later()
        self._generation = self._session.generation

    # -- using one ----------------------------------------------------------------------------------------------------

    async def run(
        self,
        sql: str,
        params: Sequence[Value] | None,
        use: Use[T],
        timeout: float | None = None,
        once: bool = False,
    ) -> T:
        """A whole call: the turn, a statement, its use; then it is given back.

        Args:     params: None where they are *use*'s own matter. timeout: seconds; None: command_timeout.
                  once: *use* cannot be repeated, so a stale statement is not prepared again.
        """
        session = self._session if not self._is_over else self.session
        # What `async with` does, without awaiting where nothing is to be awaited.
        line = session.line
        if timeout is not None or session.manners.due or not line.try_acquire():
            try:
                await session.acquire_turn(timeout)
            except DatabaseError as error:
                note_sql(error, sql)
                raise
        try:
            may_repeat = not (once or session.in_transaction)
            statement = self._kept(sql, params) or await self.prepare(sql, params)
            try:
                result = await use(statement, () if params is None else params)
            except BaseException as error:
                statement, result = await self._again(statement, error, may_repeat, params, use)
            if not statement.returns_rows and statement.verb in _CHANGING:
                self.clear()
            self.give_back(statement)
            if session.is_ansi:
                if statement.returns_rows:
                    session.commit_later()  # behind the cursor's CLOSE
                else:
                    await session.autocommit()
            return result
        finally:
            line.release_turn()

    def apply(self, use: Callable[[StatementCache], Awaitable[T]]) -> Awaitable[T]:
        """What *use* makes of these statements; who has them only for one call does more here."""
        return use(self)

    async def begin(self, sql: str, params: Sequence[Value], use: Use[T]) -> tuple[Statement, T]:
        """The first half of `run`: take a statement and use it. The caller has the turn, and gives both back."""
        may_repeat = not self._session.in_transaction
        statement = self._kept(sql, params) or await self.prepare(sql, params)
        try:
            result = await use(statement, params)
        except BaseException as error:
            statement, result = await self._again(statement, error, may_repeat, params, use)
        self.executed(statement)
        return statement, result

    async def _again(
        self,
        statement: Statement,
        error: BaseException,
        may_repeat: bool,
        params: Sequence[Value] | None,
        use: Use[T],
    ) -> tuple[Statement, T]:
        """Behind a failure: use the same text prepared anew, if that was the matter; one that fails is put away."""
        self.failed(statement, error)
        if not may_repeat or not self._is_stale(statement, error):
            note_stale(error)
            raise error
        statement = await self.prepare(statement.sql, params)
        try:
            return statement, await use(statement, () if params is None else params)
        except BaseException as error:
            self.failed(statement, error)
            raise

    async def anew(self, statement: Statement, error: BaseException) -> Statement | None:
        """The user's own statement prepared anew, in place of one that *error* says has gone stale; else None."""
        if not self._is_stale(statement, error):
            return None
        fresh = await self.prepare(statement.sql)
        fresh.one_shot, fresh.reused = False, True
        self._drop(statement)
        return fresh

    def failed(self, statement: Statement, error: BaseException) -> None:
        """Put away a statement whose use has failed: kept after an ordinary error, put down after any other."""
        note_sql(error, statement.sql)
        if isinstance(error, Exception) and not isinstance(error, QueryTimeout):
            if self._is_stale(statement, error):
                self._drop(statement)
            else:
                self.give_back(statement)
        else:
            self._drop(statement)
        self._session.commit_later()

    def _is_stale(self, statement: Statement, error: BaseException) -> bool:
        return (
            statement.reused
            and isinstance(error, DatabaseError)
            and error.sqlcode in _STALE
            and self._session.is_open
        )


def note_stale(error: BaseException) -> None:
    """Tell what to do, if *error* says that the statement has gone stale."""
    if isinstance(error, DatabaseError) and error.sqlcode == _CHANGED:
        error.add_note(_EXECUTE_AGAIN)
