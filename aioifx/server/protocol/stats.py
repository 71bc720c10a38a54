"""What a server has done, and what its sessions are doing, as plain numbers. Never: who counts them.

They are counted at the server's end, so a test can measure with them what a client costs, whatever the client says.

A *turn* begins when something comes from the client after all that it had sent before was answered, to the last byte.
A client that waits for each answer makes one turn per group; one that writes many groups at once makes one turn with
them. Where a client writes on without waiting, but the server is faster than the network, there are more turns than
times that the client waited: the number is an upper bound of those, and exact for clients that send in one piece
what they have to say. The login is none.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """What is counted while it happens."""

    groups: int = 0
    turns: int = 0
    interrupts: int = 0

    def add(self, other: Counts) -> None:
        """Count what another one has counted."""
        self.groups += other.groups
        self.turns += other.turns
        self.interrupts += other.interrupts


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStats:
    """One session that is logged in, at one moment."""

    session_id: int
    """As DBINFO('sessionid') gives it."""
    user: str
    """The user of the login."""
    database: str
    """The current one; empty for none."""
    in_transaction: bool
    """Whether a transaction is open."""
    isolation: str
    """The level by Informix's name, ``COMMITTED READ``; that of SET TRANSACTION while its transaction is open."""
    read_only: bool
    """Whether SET TRANSACTION READ ONLY holds."""
    lock_wait: float | None
    """Seconds of SET LOCK MODE: 0 for NOT WAIT, None for WAIT without end."""
    groups: int
    """Groups of messages answered."""
    turns: int
    """How often the client sent something after all before was answered."""
    interrupts: int
    """Urgent bytes received, whether a statement ended by them or not."""
    statements: int
    """Prepared and not released."""
    cursors: int
    """Opened and not closed by the client; a read cursor is closed by the end of a transaction as well."""
    running: bool
    """Whether a statement is being executed, opened or fetched from; also while it waits."""
    waiting: bool
    """Whether that statement waits until another session has ended its transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStats:
    """A server at one moment: totals since it started, sessions that have ended included."""

    logins: int
    """Sessions that have begun."""
    groups: int
    """Groups of messages answered."""
    turns: int
    """How often a client sent something after all that it had sent before was answered: its round trips, if it sends in
    one piece what it has to say; never fewer. The login does not count."""
    interrupts: int
    """Interrupts received, whether a statement ended by them or not."""
    sessions: tuple[SessionStats, ...]
    """Those that are logged in, oldest first."""
