"""INSERT, UPDATE and DELETE on SQLite, interruptible; one INSERT for many rows. Never: what an error means.

SQLite ends an interrupted statement that writes by rolling back its whole transaction (documented for
sqlite3_interrupt; measured on 3.40: savepoints do not help). That is only the statement, unless the session's
transaction is exclusive (`transactions`). Then the statement runs to its end, and the interrupt ends the next one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.sqlite.render import Bound, Composed
from aioifx.server.sqlite.interrupts import Interrupts
from aioifx.server.sqlite.row_changes import LockConflict
from aioifx.server.sqlite.transactions import Transactions

STEPS: Final = 4000
"""SQLite VM steps between two checks for an interrupt: less than a millisecond, at little cost (measured)."""


class Written(Protocol):
    """The result of a change."""

    @property
    def rowcount(self) -> int: ...

    @property
    def lastrowid(self) -> int | None: ...


def make_interruptible(connection: sqlite3.Connection, interrupts: Interrupts) -> None:
    """Make statements on *connection* check *interrupts*."""
    connection.set_progress_handler(interrupts.stops, STEPS)


def write(
    connection: sqlite3.Connection,
    sql: Composed,
    values: tuple[Stored, ...],
    transactions: Transactions,
    interrupts: Interrupts,
) -> Written:
    """Run a change.

    Raises:
        SqlError: -213, interrupted.
        sqlite3.Error: it failed. Neither leaves any change.
    """
    interruptible = interrupts.stopping_permanently if transactions.is_inside else interrupts.stopping
    mark = transactions.mark()
    with interruptible():
        try:
            return connection.execute(sql.text, sql.bound(values))
        except BaseException:
            transactions.back_to(mark)
            raise


class Steps(Protocol):
    """What `Transactions` knows of the rows that a statement has changed."""

    def mark(self) -> tuple[int, int, int]: ...

    def back_to(self, mark: tuple[int, int, int], /) -> None: ...


def insert_each(
    connection: sqlite3.Connection,
    sql: Composed,
    rows: Sequence[tuple[Stored, ...]],
    interrupts: Interrupts,
    steps: Steps,
    again: Callable[[tuple[Stored, ...]], object],
) -> tuple[int, Exception | None]:
    """Run *sql* for each of *rows*, in order, up to the first failure.

    Args:
        steps: the running statement.
        again: called with a row that SQLite refused; inserts it, or raises its error.

    Returns:
        The number of inserted rows and, unless they are all, the error: that of *again*, a lock of another transaction,
        or -213, interrupted.
    """
    taken = 0
    mark = steps.mark()

    def feed() -> Iterator[Bound]:
        nonlocal taken, mark
        for row in rows:
            interrupts.check()
            taken += 1
            mark = steps.mark()
            yield sql.bound(row)

    feeder = feed()
    while True:
        try:
            connection.executemany(sql.text, feeder)
            return taken, None
        except sqlite3.Error:
            try:
                steps.back_to(mark)
                again(rows[taken - 1])  # executemany has taken no row after the one that failed
            except (SqlError, LockConflict, sqlite3.Error) as error:
                return taken - 1, error
        except SqlError as error:
            return taken, error
