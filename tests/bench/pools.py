"""Acquire a connection, SELECT 1, give it back: aioifx, informix-driver's asyncio pool, asyncpg's on PostgreSQL.

    python -m tests.bench.pools [--calls 2000] [--rounds 7] [--workers 8] [--postgres DSN]

The two Informix clients use the same embedded server, in a process of its own; asyncpg has a server of its own kind, so
its figure tells where a well-made client stands, not which server is quicker. All runs are interleaved.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import platform
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import informix_db.aio

import aioifx
from tests.bench.peers import server_process

SIZE = 4
QUERY = "SELECT FIRST 1 1 FROM systables"

Call = Callable[[], Awaitable[Any]]


class Sample(NamedTuple):
    """Seconds per call."""

    wall: float
    cpu: float


async def run(call: Call, calls: int, workers: int) -> Sample:
    async def worker() -> None:
        for _ in range(calls // workers):
            await call()

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(workers)))
    done = calls // workers * workers
    return Sample((time.perf_counter() - wall) / done, (time.process_time() - cpu) / done)


async def ours(pool: aioifx.Pool) -> Any:
    async with pool.acquire() as conn:
        return await conn.fetchval(QUERY)


async def theirs(pool: Any) -> Any:
    async with pool.connection() as conn:
        cursor = await conn.cursor()
        await cursor.execute(QUERY)
        row = await cursor.fetchone()
        await cursor.close()
        return row[0]


async def postgres(pool: Any) -> Any:
    async with pool.acquire() as conn:
        return await conn.fetchval("SELECT 1")


async def compare(dsn: str, postgres_dsn: str | None, calls: int, rounds: int, workers: int) -> None:
    parsed = aioifx.parse_dsn(dsn)
    async with aioifx.create_pool(dsn, min_size=SIZE, max_size=SIZE) as pool:
        peer = await informix_db.aio.create_pool(
            host=parsed.host,
            port=parsed.port,
            user=parsed.user,
            password="x",
            database=parsed.database,
            server=parsed.server,
            min_size=SIZE,
            max_size=SIZE,
            autocommit=True,
        )
        runs: dict[str, Call] = {"aioifx": lambda: ours(pool), "informix-driver": lambda: theirs(peer)}
        other = None
        if postgres_dsn is not None:
            asyncpg: Any = importlib.import_module("asyncpg")  # no dependency of ours
            other = await asyncpg.create_pool(postgres_dsn, min_size=SIZE, max_size=SIZE)
            runs["asyncpg"] = lambda: postgres(other)
        assert await runs["aioifx"]() == await runs["informix-driver"]() == 1
        samples: dict[str, list[Sample]] = {name: [] for name in runs}
        for number in range(rounds + 1):
            for name, call in runs.items():
                sample = await run(call, calls, workers)
                if number:  # the first round warms up
                    samples[name].append(sample)
        print(
            f"{platform.machine()}, Python {platform.python_version()}, pools of {SIZE}, {workers} workers,"
            f" {rounds} rounds of {calls} calls"
        )
        for name, of_peer in samples.items():
            for kind in Sample._fields:
                mine = [getattr(sample, kind) for sample in samples["aioifx"]]
                values = [getattr(sample, kind) for sample in of_peer]
                ratios = sorted(value / own for value, own in zip(values, mine, strict=True))
                print(
                    f"{name:<16} {kind:<5} {statistics.median(values) * 1e6:>8.1f} µs"
                    f"  x {statistics.median(ratios):.2f} [{ratios[0]:.2f}-{ratios[-1]:.2f}]"
                )
        await peer.close()
        if other is not None:
            await other.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--postgres", help="a PostgreSQL to try asyncpg on")
    options = parser.parse_args()
    with server_process() as dsn:
        asyncio.run(compare(dsn, options.postgres, options.calls, options.rounds, options.workers))


if __name__ == "__main__":
    main()
