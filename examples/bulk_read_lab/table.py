"""The table that is read, and what is kept of its rows: how many, and a checksum that knows no order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import aioifx
from aioifx.partitions import Source

Row = tuple[Any, ...]

KEY = "id"
CREATE = """
    CREATE TABLE {} (
        id INTEGER NOT NULL PRIMARY KEY, amount BIGINT NOT NULL, name VARCHAR(20) NOT NULL,
        ratio FLOAT NOT NULL, day DATE NOT NULL)
"""
BATCH = 10_000
_DAYS = [date(2020, 1, 1) + timedelta(days) for days in range(1000)]


def table_of(rows: int) -> str:
    """What the table of so many rows is called."""
    return f"bulk_read_lab_{rows}"


def source_of(rows: int) -> Source:
    """The table of so many rows, to be read in partitions."""
    return Source(table_of(rows), KEY)


def rows_of(count: int) -> Iterator[Row]:
    """The rows of the table, the same whenever they are asked for; keys have gaps."""
    for number in range(count):
        key = number * 2 + 1
        yield key, key * 104_729, f"customer {key % 9973}", key / 8, _DAYS[key % 1000]


async def fill(conn: aioifx.Connection, rows: int) -> None:
    """Make the table anew."""
    await drop(conn, rows)
    await conn.execute(CREATE.format(table_of(rows)))
    await conn.load(table_of(rows), rows_of(rows))


async def drop(conn: aioifx.Connection, rows: int) -> None:
    """Drop the table, if there is one."""
    await conn.execute(f"DROP TABLE IF EXISTS {table_of(rows)}")


@dataclass(slots=True)
class Tally:
    """What a reader keeps of the rows that went by.

    Python's own hash is the cheapest look at every value there is. Processes agree about it as long as they have the
    same PYTHONHASHSEED, and no value is None.
    """

    rows: int = 0
    checksum: int = 0

    def add(self, block: Sequence[Row]) -> None:
        """Count the rows of *block*."""
        self.rows += len(block)
        self.checksum = (self.checksum + sum(map(hash, block))) % 2**64

    def join(self, other: Tally) -> None:
        """Count what *other* has counted."""
        self.rows += other.rows
        self.checksum = (self.checksum + other.checksum) % 2**64


def tally_of(rows: Iterable[Row]) -> Tally:
    """Count rows that come from anywhere."""
    tally, block = Tally(), list[Row]()
    for row in rows:
        block.append(row)
        if len(block) == BATCH:
            tally.add(block)
            block.clear()
    tally.add(block)
    return tally
