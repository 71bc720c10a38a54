"""The status of a session's transaction, and every change of it in one table. Never: a request, SQL."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final


class TransactionStatus(Enum):
    """In an ANSI database, only a transaction of the user's own is open."""

    NONE = "none", False
    OPEN = "open", True
    READ_ONLY = "read only", True
    """The server rejects changes."""
    ABORTED = "aborted", False
    """The server has ended and undone the transaction, and no ROLLBACK was sent since."""
    ROLLBACK_PENDING = "rollback pending", False
    """Abandoned; its BEGIN may be in flight, and its ROLLBACK is."""

    def __init__(self, _: str, is_open: bool) -> None:
        self.is_open: bool = is_open


class TransactionEvent(Enum):
    BEGINNING = auto()
    """A transaction is about to be started; requests of earlier ones have been sent."""
    BEGUN = auto()
    MADE_READ_ONLY = auto()
    ENDED = auto()
    """By COMMIT or ROLLBACK, or the server reported that none is open."""
    ENDED_BY_ERROR = auto()
    ABANDONED = auto()
    """A ROLLBACK was queued."""
    ROLLED_BACK = auto()
    """The reply to that ROLLBACK arrived."""


_NONE: Final = TransactionStatus.NONE
_OPEN: Final = TransactionStatus.OPEN
_READ_ONLY: Final = TransactionStatus.READ_ONLY
_ABORTED: Final = TransactionStatus.ABORTED
_PENDING: Final = TransactionStatus.ROLLBACK_PENDING

NEXT: Final[dict[TransactionStatus, dict[TransactionEvent, TransactionStatus]]] = {
    _NONE: {
        TransactionEvent.BEGUN: _OPEN,
        TransactionEvent.ABANDONED: _PENDING,
    },
    _OPEN: {
        TransactionEvent.MADE_READ_ONLY: _READ_ONLY,
        TransactionEvent.ENDED: _NONE,
        TransactionEvent.ENDED_BY_ERROR: _ABORTED,
        TransactionEvent.ABANDONED: _PENDING,
    },
    _READ_ONLY: {
        TransactionEvent.BEGUN: _OPEN,
        TransactionEvent.ENDED: _NONE,
        TransactionEvent.ENDED_BY_ERROR: _ABORTED,
        TransactionEvent.ABANDONED: _PENDING,
    },
    _ABORTED: {
        TransactionEvent.ENDED: _NONE,
        TransactionEvent.ABANDONED: _PENDING,
    },
    # The BEGIN of the abandoned transaction may succeed after it was abandoned: BEGUN changes nothing.
    _PENDING: {
        TransactionEvent.BEGINNING: _NONE,
        TransactionEvent.ROLLED_BACK: _NONE,
    },
}
"""Status by status and event; an event that is not listed changes nothing."""
