"""What users get: captures, changes, committed transactions. Never: a session, how a transaction is assembled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple, TypeAlias, cast

from aioifx.cdc.position import Position
from aioifx.codecs.cdc_rows import RowLayout
from aioifx.errors import InterfaceError
from aioifx.rows import Record
from aioifx.sqltypes import Row

ChangeKind: TypeAlias = Literal["insert", "update", "delete", "truncate", "read"]
"""What happened to a row or table; "read" is a row of a snapshot."""

Incomplete: TypeAlias = Literal["error", "skip", "deliver"]
"""What becomes of a transaction that began before the start, so that its first changes may be missing."""

_TABLE: Final = re.compile(r"(?:([A-Za-z_]\w*):)?([A-Za-z_]\w*)\.([A-Za-z_]\w*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Capture:
    """A table to capture, with its columns.

    Args:
        table: ``database:owner.table``; without a database, that of the address.
        columns: their names; None: all that can be captured.

    Raises:
        InterfaceError: not such a name, or no columns.
    """

    table: str
    columns: Sequence[str] | None = field(default=None)

    def __post_init__(self) -> None:
        name = cast(object, self.table)  # callers may be untyped
        if not isinstance(name, str) or _TABLE.fullmatch(name) is None:
            raise InterfaceError(f"table: expected database:owner.table in ASCII, got {name!r:.80}")
        given = self.columns
        if given is None:
            return
        if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InterfaceError(f"columns: expected a sequence of names, got {type(given).__name__}")
        names = [str(name).lower() for name in self.columns or ()]
        if not names or not all(names) or len(set(names)) < len(names):
            raise InterfaceError("columns: expected different names, and at least one")
        object.__setattr__(self, "columns", tuple(names))

    def parts(self, database: str) -> tuple[str, str, str]:
        """Database, owner and table.

        Raises:
            InterfaceError: neither the name nor the address has a database.
        """
        found = _TABLE.fullmatch(self.table)
        assert found is not None
        if not (found[1] or database):
            raise InterfaceError(f"table: expected database:owner.table, got {self.table}")
        return (found[1] or database).lower(), found[2], found[3].lower()


class Table(NamedTuple):
    """A captured table, as its records are decoded."""

    name: str
    """``database:owner.table``."""
    layout: RowLayout
    make: Callable[[Row], Record]


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a transaction."""

    kind: ChangeKind
    """"insert", "update", "delete" or "truncate"; in a snapshot also "read"."""
    table: str
    """``database:owner.table``."""
    before: Record | None
    """The row before an update or delete; else None."""
    after: Record | None
    """The row after an insert, an update or a read; else None."""
    sequence: int
    """Its number in the logical log; ascending within a transaction. 0 for a read."""


class CommittedTransaction:
    """The changes of one committed transaction, in order; iterate it, also several times.

    Changes beyond *max_transaction_changes* are in a temporary file, which is closed when the next transaction is asked
    for.
    """

    __slots__ = ("_changes", "_count", "_further", "position", "time", "transaction", "user")

    def __init__(
        self,
        position: Position | None,
        time: datetime | None,
        changes: Sequence[Change],
        *,
        transaction: int = 0,
        user: int = 0,
        count: int | None = None,
        further: Callable[[], Iterator[Change]] | None = None,
    ) -> None:
        self.position = position
        """Continue from here once all changes are processed; None during a snapshot, which cannot be continued."""
        self.time = time
        """When it was committed, in UTC and whole seconds, by the server's clock; None for rows of a snapshot."""
        self.transaction = transaction
        """The server's number of it, which later ones may have, too; 0 for rows of a snapshot."""
        self.user = user
        """The number of the user in the operating system."""
        self._changes = changes
        self._count = len(changes) if count is None else count
        self._further = further

    def __iter__(self) -> Iterator[Change]:
        yield from self._changes
        if self._further is not None:
            yield from self._further()

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"<CommittedTransaction {len(self)} changes, {self.position}>"


def utc(seconds: int) -> datetime:
    """Seconds since 1970 as a datetime; the first or last one that there is if it is out of range."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return (datetime.min if seconds < 0 else datetime.max).replace(tzinfo=UTC)
