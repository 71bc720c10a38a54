"""States of a prepared statement and its cursor, and their transitions. Never: a request, a reply."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class StatementState(IntEnum):
    """What the server holds of a statement, as far as the client knows."""

    PREPARED = 0
    """Prepared, without an open cursor."""
    OPEN = 1
    """The cursor may be open, and may have more rows."""
    EXHAUSTED = 2
    """The cursor is open, and all rows were fetched."""
    RELEASED = 3
    """Released. Its id may belong to another statement by now."""
    RELEASED_EARLY = 4
    """Released while a task was fetching; rows may be outstanding."""


class StatementEvent(IntEnum):
    """What changes the state."""

    OPEN = 0
    """OPEN is sent; from here on the server may have a cursor, whatever the reply."""
    LAST_ROWS = 1
    """A reply brought the last rows, or an error."""
    CLOSE = 2
    """The cursor was closed: by the server, by the end of a transaction, or by a CLOSE that is queued."""
    RELEASE = 3
    """The release is queued, or the database was closed."""


TRANSITIONS: Final[Mapping[StatementEvent, Mapping[StatementState, StatementState]]] = {
    StatementEvent.OPEN: {
        StatementState.PREPARED: StatementState.OPEN,
        StatementState.OPEN: StatementState.OPEN,
        StatementState.EXHAUSTED: StatementState.OPEN,
        StatementState.RELEASED: StatementState.RELEASED_EARLY,
        StatementState.RELEASED_EARLY: StatementState.RELEASED_EARLY,
    },
    StatementEvent.LAST_ROWS: {
        StatementState.PREPARED: StatementState.PREPARED,
        StatementState.OPEN: StatementState.EXHAUSTED,
        StatementState.EXHAUSTED: StatementState.EXHAUSTED,
        StatementState.RELEASED: StatementState.RELEASED,
        StatementState.RELEASED_EARLY: StatementState.RELEASED,
    },
    StatementEvent.CLOSE: {
        StatementState.PREPARED: StatementState.PREPARED,
        StatementState.OPEN: StatementState.PREPARED,
        StatementState.EXHAUSTED: StatementState.PREPARED,
        StatementState.RELEASED: StatementState.RELEASED,
        StatementState.RELEASED_EARLY: StatementState.RELEASED,
    },
    StatementEvent.RELEASE: {
        StatementState.PREPARED: StatementState.RELEASED,
        StatementState.OPEN: StatementState.RELEASED_EARLY,
        StatementState.EXHAUSTED: StatementState.RELEASED,
        StatementState.RELEASED: StatementState.RELEASED,
        StatementState.RELEASED_EARLY: StatementState.RELEASED_EARLY,
    },
}

ON_OPEN: Final = TRANSITIONS[StatementEvent.OPEN]
ON_LAST_ROWS: Final = TRANSITIONS[StatementEvent.LAST_ROWS]
ON_CLOSE: Final = TRANSITIONS[StatementEvent.CLOSE]
ON_RELEASE: Final = TRANSITIONS[StatementEvent.RELEASE]

PREPARED: Final = StatementState.PREPARED
WITH_CURSOR: Final = (StatementState.OPEN, StatementState.EXHAUSTED)
"""The server may have an open cursor, which must be closed."""
WITH_ROWS: Final = (StatementState.OPEN, StatementState.RELEASED_EARLY)
"""More rows may come."""
GONE: Final = (StatementState.RELEASED, StatementState.RELEASED_EARLY)
"""Nothing may be sent for the statement."""
