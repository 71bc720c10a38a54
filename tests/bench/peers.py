"""aioifx and informix-driver side by side, on the same embedded server, in one interleaved run.

    python -m tests.bench.peers [--rows 100000] [--rounds 7]

The server is a process of its own. Times are wall-clock and this process's CPU; what counts is the ratio of each pair
of neighbouring runs. The embedded server is slow beside a real one, so the wall-clock ratio is a lower bound.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import informix_db

import aioifx

QUERY = "SELECT id, big, name, ratio, day FROM narrow"


class Sample(NamedTuple):
    wall: float
    cpu: float


@contextlib.contextmanager
def server_process() -> Iterator[str]:
    """An embedded server in a process of its own; its DSN."""
    command = [sys.executable, "-m", "aioifx.server", "--port", "0", "--database", "bench"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield next(word for word in line.split() if word.startswith("informix://"))
        finally:
            process.terminate()


def rows_of(count: int) -> Iterator[tuple[Any, ...]]:
    """INTEGER, BIGINT, VARCHAR(20), FLOAT, DATE; 5 % NULLs in every nullable column."""
    start = datetime.date(2020, 1, 1)
    for i in range(count):
        yield (
            i,
            None if i % 20 == 3 else i * 1_000_003,
            None if i % 20 == 7 else f"customer {i % 9973}",
            None if i % 20 == 11 else i / 7,
            None if i % 20 == 17 else start + datetime.timedelta(days=i % 2000),
        )


def timed(work: Callable[[], Any]) -> tuple[Sample, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return Sample(time.perf_counter() - wall, time.process_time() - cpu), result


def compare(name: str, ours: list[Sample], theirs: list[Sample], count: int) -> None:
    """One line: medians, and the ratio of neighbours as median [min-max]."""
    for kind in Sample._fields:
        mine = [getattr(sample, kind) for sample in ours]
        yours = [getattr(sample, kind) for sample in theirs]
        ratios = sorted(b / a for a, b in zip(mine, yours, strict=True))
        per = [statistics.median(values) / count * 1e9 for values in (mine, yours)]
        print(
            f"{name:<28} {kind:<5} aioifx {per[0]:>9,.0f} ns  informix-driver {per[1]:>9,.0f} ns"
            f"  x {statistics.median(ratios):.2f} [{ratios[0]:.2f}-{ratios[-1]:.2f}]"
        )


async def round_trips(dsn: str) -> None:
    """What each action costs in round trips, by the connection's own count."""
    async with aioifx.connect(dsn) as conn:
        stats = conn.stats
        seen = stats.round_trips
        print(f"\nround trips (TCP's own not counted)\n  connect                                {seen}")

        def line(what: str) -> None:
            nonlocal seen
            print(f"  {what:<38} {stats.round_trips - seen}")
            seen = stats.round_trips

        await conn.fetch("SELECT FIRST 1 id FROM narrow")
        line("first SELECT, no parameters, 1 block")
        await conn.fetch("SELECT FIRST 1 name FROM narrow WHERE id = ?", 1)
        line("first SELECT with parameters, 1 block")
        statement = await conn.prepare("SELECT name FROM narrow WHERE id = ?")
        line("prepare")
        await statement.fetch(2)
        line("prepared SELECT, first time")
        await statement.fetch(3)
        line("prepared SELECT, repeated")
        await statement.close()
        line("close the prepared statement")
        await conn.execute("CREATE TEMP TABLE trips (k INTEGER, v VARCHAR(20))")
        line("CREATE TEMP TABLE")
        await conn.execute("INSERT INTO trips VALUES (1, 'literal')")
        line("INSERT of literals")
        await conn.execute("INSERT INTO trips VALUES (?, ?)", 2, "bound")
        line("INSERT with parameters")
        await conn.executemany("INSERT INTO trips VALUES (?, ?)", [(k, f"v{k}") for k in range(1000)])
        line("executemany(1000), its own transaction")
        transaction = conn.transaction()
        await transaction.start()
        line("BEGIN")
        await transaction.commit()
        line("COMMIT")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rows", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=7)
    options = arguments.parse_args()
    loop = asyncio.new_event_loop()
    with server_process() as dsn:
        parsed = aioifx.parse_dsn(dsn)
        conn = loop.run_until_complete(_connected(dsn, options.rows))
        peer = informix_db.connect(
            parsed.host,
            parsed.port,
            user=parsed.user,
            password="x",
            database=parsed.database,
            server=parsed.server,
            autocommit=True,
        )

        def ours() -> Any:
            return loop.run_until_complete(conn.fetch(QUERY))

        def theirs() -> Any:
            cursor = peer.cursor()
            cursor.execute(QUERY)
            return cursor.fetchall()

        assert [tuple(row) for row in ours()] == [tuple(row) for row in theirs()], "the clients disagree"
        mine: list[Sample] = []
        yours: list[Sample] = []
        for _ in range(options.rounds):
            mine.append(timed(ours)[0])
            yours.append(timed(theirs)[0])
        print(
            f"{platform.machine()}, Python {platform.python_version()}, {options.rounds} rounds,"
            f" times per row, fetches of {options.rows:,} rows"
        )
        compare("fetch, narrow", mine, yours, options.rows)
        bulk = list(rows_of(1000))
        loop.run_until_complete(
            conn.execute(
                "CREATE TEMP TABLE copy (id INTEGER, big BIGINT, name VARCHAR(20), ratio FLOAT, day DATE)"
            )
        )
        cursor = peer.cursor()
        cursor.execute(
            "CREATE TEMP TABLE copy (id INTEGER, big BIGINT, name VARCHAR(20), ratio FLOAT, day DATE)"
        )
        insert = "INSERT INTO copy VALUES (?, ?, ?, ?, ?)"
        mine, yours = [], []
        for _ in range(options.rounds):
            mine.append(timed(lambda: loop.run_until_complete(conn.executemany(insert, bulk)))[0])
            yours.append(timed(lambda: peer.cursor().executemany(insert, bulk))[0])
        compare("executemany(1000)", mine, yours, 1000)
        peer.close()
        loop.run_until_complete(conn.close())
        loop.run_until_complete(round_trips(dsn))
    loop.close()


async def _connected(dsn: str, rows: int) -> aioifx.Connection:
    conn = await aioifx.connect(dsn)
    await conn.execute(
        "CREATE TABLE narrow (id INTEGER, big BIGINT, name VARCHAR(20), ratio FLOAT, day DATE)"
    )
    await conn.executemany("INSERT INTO narrow VALUES (?, ?, ?, ?, ?)", rows_of(rows))
    return conn


if __name__ == "__main__":
    main()
