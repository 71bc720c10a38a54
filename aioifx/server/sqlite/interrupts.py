"""The pending interrupt of a session, and where statements check it. Never: how the interrupt arrived, SQLite.

Invariants:
1. At most one interrupt is pending: several unhandled ones count as one (assumed; the real server's urgent data are a
   signal, which is not counted either).
2. An interrupt stays pending until it ends a statement. If no statement is running, it ends the session's next one
   (observed: 14.10); so does an interrupt that the running statement did not check in time.
3. The check that finds an interrupt clears it and always ends its statement, so one interrupt never ends two.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from enum import Enum, auto
from typing import Final

from aioifx.server.sql.errors import SqlError

INTERRUPTED: Final = -213, -157
"""SQLCODE and ISAM code of an interrupted statement (observed: 14.10)."""


class _Scope(Enum):
    """Which interrupts end the running statement of SQLite."""

    NONE = auto()
    PERMANENT = auto()
    ANY = auto()


class _Stopping(AbstractContextManager[None]):
    """A class, because each statement enters it and a generator takes three times as long."""

    __slots__ = ("_before", "_interrupts", "_scope")

    def __init__(self, interrupts: Interrupts, scope: _Scope) -> None:
        self._interrupts = interrupts
        self._scope = self._before = scope

    def __enter__(self) -> None:
        self._before = self._interrupts.scope(self._scope)

    def __exit__(self, *raised: object) -> None:
        self._interrupts.scope(self._before)


class Interrupts:
    """The interrupt of one session; requested from any thread, checked in the session's thread."""

    __slots__ = ("_is_pending", "_is_permanent", "_scope")

    def __init__(self) -> None:
        self._is_pending = False
        self._is_permanent = False
        self._scope = _Scope.NONE

    def request(self, *, permanent: bool = False) -> None:
        """Request the end of the running statement.

        Args:
            permanent: later statements end as well, because the client has disconnected.
        """
        self._is_permanent = self._is_permanent or permanent
        self._is_pending = True

    @property
    def is_permanent(self) -> bool:
        """Whether every statement must end."""
        return self._is_permanent

    @property
    def is_pending(self) -> bool:
        """Whether a requested interrupt has not ended a statement yet."""
        return self._is_pending or self._is_permanent

    def consume(self) -> bool:
        """Whether to end now; a caller that gets True must end its statement."""
        if not self._is_pending:
            return self._is_permanent
        self._is_pending = False
        return True

    def check(self) -> None:
        """Raise SqlError -213 if the statement must end."""
        if self._is_pending or self._is_permanent:
            self._is_pending = False
            raise SqlError(*INTERRUPTED)

    def stopping(self) -> AbstractContextManager[None]:
        """Context of a statement that SQLite may abort: a read, or a write that is a whole transaction."""
        return _Stopping(self, _Scope.ANY)

    def stopping_permanently(self) -> AbstractContextManager[None]:
        """Context of a statement whose abort loses the transaction: only a permanent interrupt ends it."""
        return _Stopping(self, _Scope.PERMANENT)

    def scope(self, scope: _Scope) -> _Scope:
        """Set which interrupts end the running statement of SQLite; returns what it was before."""
        before, self._scope = self._scope, scope
        return before

    def stops(self) -> bool:
        """SQLite's progress handler: whether to abort the running statement."""
        return self._scope is not _Scope.NONE and (
            self._is_permanent or (self._scope is _Scope.ANY and self.consume())
        )
