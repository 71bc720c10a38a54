"""One INSERT for many rows: those in front of the first that fails stay. Never: who sent them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence

from aioifx.server.sql.model.storage import Stored
from aioifx.server.sqlite.dml import numbered
from aioifx.server.sqlite.interrupts import Interrupts


def insert_each(
    connection: sqlite3.Connection,
    sql: str,
    rows: Sequence[tuple[Stored, ...]],
    interrupts: Interrupts,
    again: Callable[[tuple[Stored, ...]], object],
) -> None:
    """Run *sql* for each of *rows*, in order, up to the first that fails.

    Args:     again: runs it once more for a row that SQLite refused, and says what is wrong, if anything is.
    Raises:   SqlFault: -213, interrupted; or what *again* raises.
    """
    taken = 0

    def feed() -> Iterator[tuple[Stored, ...] | dict[str, Stored]]:
        nonlocal taken
        for row in rows:
            interrupts.check()
            taken += 1
            yield numbered(sql, row)

    feeder = feed()
    while True:
        try:
            connection.executemany(sql, feeder)
            return
        except sqlite3.Error:
            again(rows[taken - 1])  # executemany has asked for no row behind the one that failed
