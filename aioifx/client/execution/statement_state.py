"""States of a prepared statement and its cursor, and their transitions. Never: a request, a reply."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class State(IntEnum):
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


class Event(IntEnum):
    """What changes the state."""

    OPEN = 0
    """OPEN is sent; from here on the server may have a cursor, whatever the reply."""
    LAST_ROWS = 1
    """A reply brought the last rows, or an error."""
    CLOSE = 2
    """The cursor was closed: by the server, by the end of a transaction, or by a CLOSE that is queued."""
    RELEASE = 3
    """The release is queued, or the database was closed."""


TRANSITIONS: Final[Mapping[Event, Mapping[State, State]]] = {
    Event.OPEN: {
        State.PREPARED: State.OPEN,
        State.OPEN: State.OPEN,
        State.EXHAUSTED: State.OPEN,
        State.RELEASED: State.RELEASED_EARLY,
        State.RELEASED_EARLY: State.RELEASED_EARLY,
    },
    Event.LAST_ROWS: {
        State.PREPARED: State.PREPARED,
        State.OPEN: State.EXHAUSTED,
        State.EXHAUSTED: State.EXHAUSTED,
        State.RELEASED: State.RELEASED,
        State.RELEASED_EARLY: State.RELEASED,
    },
    Event.CLOSE: {
        State.PREPARED: State.PREPARED,
        State.OPEN: State.PREPARED,
        State.EXHAUSTED: State.PREPARED,
        State.RELEASED: State.RELEASED,
        State.RELEASED_EARLY: State.RELEASED,
    },
    Event.RELEASE: {
        State.PREPARED: State.RELEASED,
        State.OPEN: State.RELEASED_EARLY,
        State.EXHAUSTED: State.RELEASED,
        State.RELEASED: State.RELEASED,
        State.RELEASED_EARLY: State.RELEASED_EARLY,
    },
}

ON_OPEN: Final = TRANSITIONS[Event.OPEN]
ON_LAST_ROWS: Final = TRANSITIONS[Event.LAST_ROWS]
ON_CLOSE: Final = TRANSITIONS[Event.CLOSE]
ON_RELEASE: Final = TRANSITIONS[Event.RELEASE]

PREPARED: Final = State.PREPARED
WITH_CURSOR: Final = (State.OPEN, State.EXHAUSTED)
"""The server may have an open cursor, which must be closed."""
WITH_ROWS: Final = (State.OPEN, State.RELEASED_EARLY)
"""More rows may come."""
GONE: Final = (State.RELEASED, State.RELEASED_EARLY)
"""Nothing may be sent for the statement."""
