"""The pending interrupt of a session, and where statements check it. Never: how the interrupt arrived, SQLite.

Invariants:
1. At most one interrupt is pending: several unhandled ones count as one (assumed; the real server's urgent data are a
   signal, which is not counted either).
2. An interrupt stays pending until it ends a statement. If no statement is running, it ends the session's next one
   (observed: 14.10); so does an interrupt that the running statement did not check in time.
3. The check that finds an interrupt clears it and always ends its statement, so one interrupt never ends two.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from aioifx.server.sql.errors import SqlError

INTERRUPTED: Final = -213, -157
"""SQLCODE and ISAM code of an interrupted statement (observed: 14.10)."""


class Interrupts:
    """The interrupt of one session; requested from any thread, checked in the session's thread."""

    __slots__ = ("_for_good", "_pending", "_stops_for")

    def __init__(self) -> None:
        self._pending = False
        self._for_good = False
        self._stops_for = _NOBODY

    def request(self, *, permanent: bool = False) -> None:
        """Request the end of the running statement.

        Args:     permanent: later statements end as well, because the client has disconnected.
        """
        self._for_good = self._for_good or permanent
        self._pending = True

    @property
    def permanent(self) -> bool:
        """Whether every statement must end."""
        return self._for_good

    @property
    def pending(self) -> bool:
        """Whether a requested interrupt has not ended a statement yet."""
        return self._pending or self._for_good

    def take(self) -> bool:
        """Whether to end now; a caller that gets True must end its statement."""
        if not self._pending:
            return self._for_good
        self._pending = False
        return True

    def check(self) -> None:
        """Raises:   SqlError: -213, the statement must end."""
        if self._pending or self._for_good:
            self._pending = False
            raise SqlError(*INTERRUPTED)

    def stopping(self) -> AbstractContextManager[None]:
        """Context of a statement that SQLite may abort: a read, or a write that is a whole transaction."""
        return self._stopping(_ANYBODY)

    def stopping_permanently(self) -> AbstractContextManager[None]:
        """Context of a statement whose abort loses the transaction: only a permanent interrupt ends it."""
        return self._stopping(_THE_LOST)

    @contextmanager
    def _stopping(self, whom: int) -> Generator[None, None, None]:
        before, self._stops_for = self._stops_for, whom
        try:
            yield
        finally:
            self._stops_for = before

    def stops(self) -> bool:
        """SQLite's progress handler: whether to abort the running statement."""
        return self._stops_for != _NOBODY and (
            self._for_good or (self._stops_for == _ANYBODY and self.take())
        )


_NOBODY: Final = 0
_THE_LOST: Final = 1
_ANYBODY: Final = 2
