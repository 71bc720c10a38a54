"""What is read, within which limits, and what is kept of it: a number of rows and their checksum."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Literal

import aioifx
from aioifx.partitions import Source
from aioifx.rows import tuple_row

Row = tuple[Any, ...]

_COLUMNS = """
    id INTEGER NOT NULL PRIMARY KEY, amount BIGINT NOT NULL, name VARCHAR(20) NOT NULL,
    ratio FLOAT NOT NULL, day DATE NOT NULL
"""
_DAYS = [date(2020, 1, 1) + timedelta(days) for days in range(1000)]


def _option(default: object, help: str, **more: object) -> Any:
    return field(default=default, metadata={"help": f"{help} (default %(default)s)", **more})


@dataclass(frozen=True, slots=True)
class Job:
    """A table, and the limits within which it is read: the same for every strategy, so that they can be compared."""

    dsn: str = field(repr=False)
    rows: int
    policy: Literal["strict", "tolerant"] = _option(
        "strict", "for partitions that fail", choices=["strict", "tolerant"]
    )
    memory_mib: int = _option(4096, "MiB of address space that each process may have (Linux); 0 for no limit")
    seconds: float = _option(120.0, "seconds that a run may take")
    connections: int = _option(4, "connections of the pool")
    processes: int = _option(2, "processes, each with a connection and a partition of its own")
    partitions: int = _option(8, "partitions that the pool reads")
    page: int = _option(10_000, "rows of a page")
    fetch_size: int = _option(32_767, "bytes of a block of rows on the wire")
    retries: int = _option(2, "further attempts at a partition, if failures are tolerated")

    @property
    def source(self) -> Source:
        """The table, divided by its key."""
        return Source(f"bulk_read_lab_{self.rows}", "id")

    def pool(self, size: int) -> aioifx.Pool[Row]:
        """Up to *size* connections, opened when they are used."""
        return aioifx.create_pool(
            self.dsn, min_size=0, max_size=size, fetch_size=self.fetch_size, row_factory=tuple_row
        )


def rows_of(count: int) -> Iterator[Row]:
    """The rows of the table, the same on every call; keys have gaps."""
    for key in range(1, 2 * count, 2):
        yield key, key * 104_729, f"customer {key % 9973}", key / 8, _DAYS[key % 1000]


@asynccontextmanager
async def filled_table(job: Job) -> AsyncGenerator[None, None]:
    """The table of *job*, dropped at the end."""
    name = job.source.relation
    try:
        async with aioifx.connect(job.dsn) as conn:
            await conn.execute(f"DROP TABLE IF EXISTS {name}")
            await conn.execute(f"CREATE TABLE {name} ({_COLUMNS})")
            await conn.load(name, rows_of(job.rows))
        yield
    finally:
        async with aioifx.connect(job.dsn) as conn:
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
