"""The table of the kinds of operations, and what they have in common. Never: a particular operation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import aioifx
from aioifx.client.api.connection import statements_of
from tests.system.simulation.model.database import WIDE, wide_text
from tests.system.simulation.model.differences import Difference
from tests.system.simulation.world import INTERRUPTED, Entry, World, Wrong

WIDE_ROWS: Final = "SELECT id, text FROM wide WHERE id >= ? AND id < ?"
INSERT: Final = "INSERT INTO note (tag, text) VALUES (?, ?)"
NOTES: Final = "SELECT id, tag, text FROM note WHERE tag = ?"
ACCOUNT: Final = "SELECT id, balance FROM account WHERE id = ?"
ADD: Final = "UPDATE account SET balance = balance + ? WHERE id = ?"

OPTIONS_OF_POOLS: Final = {
    "max_size", "min_size", "acquire_timeout", "max_lifetime", "max_idle", "check_after_idle", "max_waiting",
    "init", "setup", "reset",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of operation."""

    run: Callable[[World, Entry], Awaitable[None]]
    weight: int = 2
    """How often it is drawn; 0: only among the rarer things."""
    is_write: bool = False
    has_batch: bool = False
    """Whether it sends rows before the replies to others have arrived."""


KINDS: Final[dict[str, Kind]] = {}


def kind(
    name: str, weight: int = 2, *, writes: bool = False, batch: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register an operation."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        KINDS[name] = Kind(function, weight, writes, batch)
        return function

    return register


def range_of(entry: Entry) -> tuple[int, int]:
    """The numbers of the rows that an operation reads from the wide table; the second one is not among them."""
    start = entry.operation.number * 7 % (WIDE - 60)
    return start, start + entry.operation.size


def check_rows(rows: list[Any], start: int, stop: int) -> None:
    """Raise Wrong unless these are the rows of the wide table from `start` to before `stop`, in this order."""
    expected = [(number, wide_text(number)) for number in range(start, min(stop, WIDE))]
    if [tuple(row) for row in rows] != expected:
        raise Wrong(
            f"rows {start} to {stop} are {[row[0] for row in rows][:5]}.., {len(rows)} of {len(expected)}"
        )


async def fetch_after_interrupt(conn: aioifx.Connection) -> None:
    """Run a statement after one that was interrupted, and raise Wrong if the same interrupt ends this one too."""
    try:
        check_rows(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)
    except aioifx.DatabaseError as error:
        transport: Any = statements_of(conn).base_session.channel.transport
        is_late = Difference.LATE_INTERRUPTS in transport.peer.protocol.server.differs
        if error.sqlcode == INTERRUPTED and not is_late:
            raise Wrong("the interrupt of an earlier statement has reached a later one") from error
        raise


def check_settings(world: World, entry: Entry) -> None:
    """The settings of an earlier user are gone."""
    options, session = world.options[entry.pool], entry.transport.peer.protocol
    wait = 3 if "init" in options else options.get("lock_wait") or 0
    if (session.isolation, session.lock_wait) != ("committed read", wait):
        raise Wrong(f"isolation {session.isolation}, lock_wait {session.lock_wait}, expected {wait}")
