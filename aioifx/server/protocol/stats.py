"""Counters of a server, and the state of its sessions, as plain numbers. Never: the code that counts.

The counts are independent of the client, so a test can measure the load that a client causes.

A *turn* begins when bytes arrive from the client after every byte that it sent before has been answered. A client
that awaits each reply makes one turn per group. A client that writes many groups at once makes one turn for all of
them. A client that writes without awaiting replies can make more turns than it waits, if the server is faster than
the network. So the number of turns is an upper bound of the round trips. It is exact for clients that send each
request in one piece. The login is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """Running counters."""

    groups: int = 0
    turns: int = 0
    interrupts: int = 0

    def add(self, other: Counts) -> None:
        """Add the counters of *other*."""
        self.groups += other.groups
        self.turns += other.turns
        self.interrupts += other.interrupts


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStats:
    """A snapshot of one logged-in session."""

    session_id: int
    """The value of DBINFO('sessionid')."""
    user: str
    """The user of the login."""
    database: str
    """The current database; empty if none is open."""
    in_transaction: bool
    """Whether a transaction is open."""
    isolation: str
    """The level by Informix's name, ``COMMITTED READ``; inside a transaction the level of SET TRANSACTION, if given."""
    read_only: bool
    """Whether SET TRANSACTION READ ONLY is in effect."""
    lock_wait: float | None
    """Seconds of SET LOCK MODE: 0 for NOT WAIT, None for WAIT without a limit."""
    groups: int
    """Groups of messages answered."""
    turns: int
    """Times that the client sent bytes after every earlier request had been answered."""
    interrupts: int
    """Urgent bytes received, whether or not they ended a statement."""
    statements: int
    """Statements prepared and not released."""
    cursors: int
    """Cursors opened and not closed by the client; the end of a transaction closes read cursors as well."""
    running: bool
    """Whether a statement is being executed, opened or fetched from, or waits."""
    waiting: bool
    """Whether that statement waits for the end of another session's transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStats:
    """A snapshot of a server: totals since it started, including sessions that have ended."""

    logins: int
    """Sessions started."""
    groups: int
    """Groups of messages answered."""
    turns: int
    """Times that a client sent bytes after every earlier request had been answered. It is an upper bound of its round
    trips, and exact if each request is sent in one piece. The login is not counted."""
    interrupts: int
    """Interrupts received, whether or not they ended a statement."""
    sessions: tuple[SessionStats, ...]
    """Logged-in sessions, oldest first."""
