"""The state of a transaction: number, savepoints, options; and the defaults of its session. Never: SQLite."""

from __future__ import annotations

from dataclasses import dataclass, field

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.plan import Isolation


@dataclass(slots=True)
class SessionDefaults:
    """Number, isolation level and lock mode of a session; they outlive the DATABASE statement, not the session."""

    lock_wait: float | None = 0
    """Seconds; 0 for NOT WAIT, None for WAIT without a limit."""
    isolation: Isolation | None = None
    """None for the database's default: COMMITTED READ; DIRTY READ if unlogged, REPEATABLE READ in ANSI mode."""
    last_committed: frozenset[Isolation] = frozenset()
    """Levels that read last committed versions: SET ENVIRONMENT USELASTCOMMITTED."""
    retains_update_locks: bool = False
    """Whether update locks last until the end of the transaction: SET ISOLATION .. RETAIN UPDATE LOCKS."""
    retaining: frozenset[Isolation] = frozenset()
    """Levels that do so anyway: SET ENVIRONMENT RETAINUPDATELOCKS."""
    session_id: int = field(default=0, compare=False)


@dataclass(slots=True)
class Savepoint:
    """A savepoint, and how much the transaction had done before it."""

    name: str
    is_unique: bool
    mark: int
    """Entries of the undo log before it."""
    temp_mark: int
    made: int
    """Temporary objects created before it."""
    dropped: int
    """Temporary tables dropped before it."""
    sqlite_name: str
    """The savepoint in SQLite, if the transaction is exclusive; or empty."""


@dataclass(slots=True)
class TransactionOptions:
    """Options that SET TRANSACTION gave the open transaction."""

    isolation: Isolation | None = None
    is_read_only: bool = False


@dataclass(slots=True)
class Transaction:
    """An open transaction."""

    number: int
    """Identifies it in the undo log."""
    savepoints: list[Savepoint] = field(default_factory=list[Savepoint])
    terms: TransactionOptions | None = None
    is_used: bool = False
    """Whether a statement has run in it."""
    is_exclusive: bool = False
    mark: int = 0
    """Its entries in the undo log."""
    temp_mark: int = 0
    """Its entries in the log of temporary tables."""
    made: list[str] = field(default_factory=list[str])
    """SQLite statements that drop the temporary objects that it has created."""
    dropped: list[str] = field(default_factory=list[str])
    """SQLite statements that drop the temporary tables that it has dropped, for COMMIT."""
    started: float = 0.0
    """When it began, in seconds since the epoch; 0 if no table is captured."""

    def find(self, name: str) -> int:
        """The index of a savepoint; "" for the latest.

        Raises:
            SqlError: -278, no such savepoint (assumed: the SQLCODE).
        """
        for index in range(len(self.savepoints) - 1, -1, -1):
            if name in ("", self.savepoints[index].name):
                return index
        raise SqlError(-278, token=name)
