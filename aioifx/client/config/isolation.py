"""Isolation levels and lock modes: option values, and the clauses of SET. Never: a session."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from aioifx.client.config.checks import got
from aioifx.errors import InterfaceError

Isolation: TypeAlias = Literal[
    "dirty_read",
    "committed_read",
    "committed_read_last_committed",
    "last_committed",
    "cursor_stability",
    "repeatable_read",
    "dirty read",
    "committed read",
    "committed read last committed",
    "last committed",
    "cursor stability",
    "repeatable read",
]
"""In any case."""

ISOLATIONS: Final[Mapping[str, str]] = {
    "dirty_read": "dirty read",
    "committed_read": "committed read",
    "committed_read_last_committed": "committed read last committed",
    "last_committed": "committed read last committed",
    "cursor_stability": "cursor stability",
    "repeatable_read": "repeatable read",
}
"""Isolation levels by name, with the words of SET ISOLATION (documented: Guide to SQL Syntax)."""

MAX_LOCK_WAIT: Final = 32767
"""Seconds, about nine hours: fits any server's field (assumed; the limit is not published)."""


def isolation_clause(name: object) -> str:
    """The clause of SET ISOLATION for a name; "" for None.

    Raises:
        InterfaceError: unknown isolation level.
    """
    if name is None:
        return ""
    clause = ISOLATIONS.get(name.lower().replace(" ", "_")) if isinstance(name, str) else None
    if clause is None:
        raise InterfaceError(f"isolation: expected one of {', '.join(ISOLATIONS)}{got(name)}")
    return clause


def lock_mode_clause(seconds: object) -> str:
    """The clause of SET LOCK MODE for a number of seconds; "" for None.

    Source: observed: JDBC, session.json opt_IFX_LOCK_MODE_WAIT_17 and __1; documented: NOT WAIT

    Raises:
        InterfaceError: invalid number of seconds.
    """
    if seconds is None:
        return ""
    if seconds == -1 or seconds == math.inf:
        return "wait"
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 0 <= seconds <= MAX_LOCK_WAIT:
        found = f"{seconds!r:.40}" if isinstance(seconds, (int, float)) else type(seconds).__name__
        raise InterfaceError(
            f"lock_wait: expected a whole number of seconds up to {MAX_LOCK_WAIT}, 0 not to wait, "
            f"or -1 (or math.inf) for no limit, got {found}"
        )
    return f"wait {seconds}" if seconds else "not wait"
