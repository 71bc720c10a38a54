"""What concurrent transactions did: their reads, writes and outcomes, as the clients saw them. Never: a connection.

Values are lists that only grow: a write appends one number, which no other write has. So a read tells which writes it
saw, and in which order they were made (Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental
Observations"). Groups are sets of members, each inserted once and deleted at most once: their reads use a predicate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Isolation(Enum):
    """Isolation levels, by the words of SET ISOLATION."""

    DIRTY_READ = "dirty read"
    COMMITTED_READ = "committed read"
    LAST_COMMITTED = "committed read last committed"
    CURSOR_STABILITY = "cursor stability"
    REPEATABLE_READ = "repeatable read"


@dataclass(frozen=True, slots=True)
class Read:
    """The elements of one list."""

    key: int
    elements: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Append:
    """One element was appended to a list."""

    key: int
    element: int


@dataclass(frozen=True, slots=True)
class Scan:
    """The members of one group."""

    group: int
    members: frozenset[int]


@dataclass(frozen=True, slots=True)
class Insert:
    """A member was inserted."""

    group: int
    member: int


@dataclass(frozen=True, slots=True)
class Delete:
    """A member was deleted."""

    group: int
    member: int


Operation = Read | Append | Scan | Insert | Delete


@dataclass(slots=True)
class Transaction:
    """The operations that succeeded, in order."""

    number: int
    operations: list[Operation] = field(default_factory=list[Operation])
    is_committed: bool = False

    def __str__(self) -> str:
        return f"T{self.number}"


@dataclass(slots=True)
class History:
    """The transactions of all clients, and the state of the database before and after them."""

    transactions: list[Transaction]
    lists: dict[int, tuple[int, ...]]
    """The elements of each list at the end; all lists were empty at first."""
    groups: dict[int, frozenset[int]]
    """The members of each group at the end."""
    first_groups: dict[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    """The members of each group at first."""
    has_rewrites: bool = False
    """Whether lists were also written as a whole: read by the client, and stored with one element more."""

    def __str__(self) -> str:
        lines = [
            f"{transaction} {'committed' if transaction.is_committed else 'rolled back'}: "
            + ", ".join(map(str, transaction.operations))
            for transaction in self.transactions
        ]
        return "\n".join([*lines, f"at the end {self.lists} {self.groups}"])
