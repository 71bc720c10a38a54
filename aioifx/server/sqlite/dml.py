"""INSERT, UPDATE and DELETE on SQLite, interruptible. Never: what an error means.

SQLite ends an interrupted statement that writes by rolling back its whole transaction (documented for
sqlite3_interrupt; measured on 3.40: savepoints do not help). That is only the statement, unless the session's
transaction is exclusive (`transactions`). Then the statement runs to its end, and the interrupt ends the next one.
"""

from __future__ import annotations

import sqlite3
from typing import Final, Protocol

from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.sqlite.render import Composed
from aioifx.server.sqlite.interrupts import Interrupts
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
