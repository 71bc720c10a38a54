"""One INSERT for many rows: the rows before the first failure are kept. Never: where the rows come from."""

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
    """Run *sql* for each of *rows*, in order, up to the first failure.

    Args:     again: called with a row that SQLite refused; inserts it, or raises its error.
    Raises:   SqlError: -213, interrupted; or what *again* raises.
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
            again(rows[taken - 1])  # executemany has taken no row after the one that failed
