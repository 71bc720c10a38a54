"""Counters of one connection. Never: the code that counts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Stats:
    """Counters of one connection."""

    round_trips: int = 0
    """Requests whose reply had to be awaited, by a call or, for deferred cleanup, by the next call. The login counts as
    four."""
    statements: int = 0
    """Statements prepared, or executed without preparation."""
    rows: int = 0
    """Rows received."""
