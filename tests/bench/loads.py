"""Rows into a table: our load and executemany, informix-driver's executemany; one embedded server, one interleaved run.

    python -m tests.bench.loads [--rows 100000] [--rounds 5] [--blocks]

The server is a process of its own. Times are wall-clock and this process's CPU; what counts is the ratio of each pair
of neighbouring runs. With --blocks it is our load alone that is measured, with blocks of several sizes.
"""

from __future__ import annotations

import argparse
import asyncio
import platform
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import informix_db

import aioifx
from aioifx.client import blocks
from tests.bench.peers import Sample, compare, rows_of, server_process, timed

TABLE = "CREATE TABLE {} (id INTEGER, big BIGINT, name VARCHAR(20), ratio FLOAT, day DATE)"
INSERT = "INSERT INTO {} VALUES (?, ?, ?, ?, ?)"
SIZES = (16, 32, 64, 128, 256, 512)
"""Kilobytes of a block."""

Run = Callable[[], Any]


def neighbours(name: str, ours: Run, theirs: Run, between: Run, rounds: int, count: int) -> None:
    """Both in turn, each on an empty table, and a line that compares them."""
    mine: list[Sample] = []
    yours: list[Sample] = []
    for _ in range(rounds):
        for samples, run in ((mine, ours), (yours, theirs)):
            between()
            samples.append(timed(run)[0])
    compare(name, mine, yours, count)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--blocks", action="store_true")
    options = arguments.parse_args()
    loop = asyncio.new_event_loop()
    run = loop.run_until_complete
    with server_process() as dsn:
        conn = run(_connected(dsn))
        many = list(rows_of(options.rows))
        print(
            f"{platform.machine()}, Python {platform.python_version()}, {options.rounds} rounds, times per row"
        )
        if options.blocks:
            _block_sizes(run, conn, many, options.rounds)
        else:
            _peers(run, conn, dsn, many, options.rounds)
        run(conn.close())
    loop.close()


def _block_sizes(
    run: Callable[[Any], Any], conn: aioifx.Connection, many: Sequence[Any], rounds: int
) -> None:
    times: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(rounds):
        for size in SIZES:
            blocks.BLOCK = size * 1024  # type: ignore[misc]  # which is what is to be found out
            run(conn.execute("TRUNCATE TABLE ours"))
            times[size].append(timed(lambda: run(conn.load("ours", many)))[0].wall)
    for size, taken in times.items():
        print(f"blocks of {size:>3} KB {statistics.median(taken) / len(many) * 1e9:>7,.0f} ns")


def _peers(
    run: Callable[[Any], Any], conn: aioifx.Connection, dsn: str, many: Sequence[Any], rounds: int
) -> None:
    parsed = aioifx.parse_dsn(dsn)
    peer = informix_db.connect(
        parsed.host,
        parsed.port,
        user=parsed.user,
        password="x",
        database=parsed.database,
        server=parsed.server,
        autocommit=True,
    )

    def between() -> None:
        for table in ("ours", "theirs"):
            run(conn.execute(f"TRUNCATE TABLE {table}"))

    def theirs(rows: Sequence[Any]) -> Run:
        return lambda: peer.cursor().executemany(INSERT.format("theirs"), rows)

    def inserted(rows: Sequence[Any]) -> Run:
        return lambda: run(conn.executemany(INSERT.format("ours"), rows))

    def loaded(rows: Sequence[Any]) -> Run:
        return lambda: run(conn.load("ours", rows))

    for rows in (many[:1000], many):
        count = f"{len(rows):,}"
        neighbours(f"executemany({count})", inserted(rows), theirs(rows), between, rounds, len(rows))
        neighbours(f"load({count})", loaded(rows), theirs(rows), between, rounds, len(rows))
    peer.close()


async def _connected(dsn: str) -> aioifx.Connection:
    conn = await aioifx.connect(dsn)
    for table in ("ours", "theirs"):
        await conn.execute(TABLE.format(table))
    return conn


if __name__ == "__main__":
    main()
