"""Whether a session's client wants its statement ended, and who may notice. Never: how the wish arrived, SQLite.

House rules:
1. There is one wish at most: several that nobody has noticed count as one (assumed; the real server's urgent data are a
   signal, which does not count either).
2. A wish stays until a statement ends by it. One that comes while nothing runs hits the session's next statement
   (observed: 14.10), and so does one that the running statement did not notice.
3. What notices it takes it away in the same moment and is ended in any case, so that no wish ends two statements.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from aioifx.server.sql.errors import SqlError

INTERRUPTED: Final = -213, -157
"""SQLCODE and ISAM code of an interrupted statement (observed: 14.10)."""


class Interrupts:
    """One session's wish; made known from any thread, noticed in the session's own."""

    __slots__ = ("_for_good", "_pending", "_stops_for")

    def __init__(self) -> None:
        self._pending = False
        self._for_good = False
        self._stops_for = _NOBODY

    def request(self, *, for_good: bool = False) -> None:
        """The client wants what runs to end.

        Args:     for_good: and whatever comes later as well, for nobody is there any more.
        """
        self._for_good = self._for_good or for_good
        self._pending = True

    @property
    def for_good(self) -> bool:
        """Whether everything is to end."""
        return self._for_good

    @property
    def pending(self) -> bool:
        """Whether a statement is still to end."""
        return self._pending or self._for_good

    def take(self) -> bool:
        """Whether to end now; whoever asks does so when the answer is yes."""
        if not self._pending:
            return self._for_good
        self._pending = False
        return True

    def check(self) -> None:
        """Raises:   SqlFault: -213, the statement is to end."""
        if self._pending or self._for_good:
            self._pending = False
            raise SqlError(*INTERRUPTED)

    def stopping(self) -> AbstractContextManager[None]:
        """Around what SQLite may drop in the middle: reads, and writes that are a whole transaction."""
        return self._stopping(_ANYBODY)

    def stopping_for_good(self) -> AbstractContextManager[None]:
        """Around what SQLite may only drop with the transaction: when nobody is there any more."""
        return self._stopping(_THE_LOST)

    @contextmanager
    def _stopping(self, whom: int) -> Generator[None, None, None]:
        before, self._stops_for = self._stops_for, whom
        try:
            yield
        finally:
            self._stops_for = before

    def stops(self) -> bool:
        """What SQLite asks every now and then: whether it shall drop what it does."""
        return self._stops_for != _NOBODY and (
            self._for_good or (self._stops_for == _ANYBODY and self.take())
        )


_NOBODY: Final = 0
_THE_LOST: Final = 1
_ANYBODY: Final = 2
