"""The table that is read, and what is kept of its rows: their number, and a checksum that ignores their order."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import aioifx
from aioifx.partitions import Source

Row = tuple[Any, ...]

COLUMNS = """
    id INTEGER NOT NULL PRIMARY KEY, amount BIGINT NOT NULL, name VARCHAR(20) NOT NULL,
    ratio FLOAT NOT NULL, day DATE NOT NULL
"""
_DAYS = [date(2020, 1, 1) + timedelta(days) for days in range(1000)]


def source_of(rows: int) -> Source:
    """The table of so many rows, divided by its key."""
    return Source(f"bulk_read_lab_{rows}", "id")


def rows_of(count: int) -> Iterator[Row]:
    """The rows of the table, the same on every call; keys have gaps."""
    for key in range(1, 2 * count, 2):
        yield key, key * 104_729, f"customer {key % 9973}", key / 8, _DAYS[key % 1000]


@asynccontextmanager
async def filled_table(dsn: str, rows: int) -> AsyncGenerator[None, None]:
    """A table of so many rows, dropped at the end."""
    name = source_of(rows).relation
    try:
        async with aioifx.connect(dsn) as conn:
            await conn.execute(f"DROP TABLE IF EXISTS {name}")
            await conn.execute(f"CREATE TABLE {name} ({COLUMNS})")
            await conn.load(name, rows_of(rows))
        yield
    finally:
        async with aioifx.connect(dsn) as conn:
            await conn.execute(f"DROP TABLE IF EXISTS {name}")


@dataclass(slots=True)
class Tally:
    """Number and checksum of rows.

    Python's own hash is the cheapest look at every value. Processes with the same PYTHONHASHSEED compute the same hash,
    as long as no value is None.
    """

    rows: int = 0
    checksum: int = 0

    def add(self, block: Sequence[Row]) -> None:
        """Count the rows of *block*."""
        self.join(Tally(len(block), sum(map(hash, block))))

    def join(self, other: Tally) -> None:
        """Count the rows of *other*."""
        self.rows += other.rows
        self.checksum = (self.checksum + other.checksum) % 2**64


def expected(rows: int) -> Tally:
    """The tally of a table of so many rows, without a server."""
    return Tally(rows, sum(map(hash, rows_of(rows))) % 2**64)
