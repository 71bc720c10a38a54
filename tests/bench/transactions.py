"""Short transactions of several clients on rows of their own, against one embedded server in a process of its own.

    python -m tests.bench.transactions [--clients 1 2 4 8] [--transactions 40] [--rounds 3] [--singles]

Each client runs its transactions under NOT WAIT: BEGIN; SELECT, UPDATE and INSERT of its own rows; COMMIT. Printed for
each number of clients: how many of them succeeded, and how many succeeded in a second, the median of the rounds.
--singles measures one session as well: a query, a change in a transaction, executemany, and a seed.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

import aioifx
from aioifx.server import running
from tests.bench.embedded import server_process

TABLE = "CREATE TABLE account (id INTEGER PRIMARY KEY, owner INTEGER, balance INTEGER)"
ROWS = 10


async def client(dsn: str, number: int, transactions: int) -> int:
    """The number of transactions that succeeded."""
    done = 0
    async with aioifx.connect(dsn) as conn:
        for turn in range(transactions):
            key = number * 1000 + turn % ROWS
            try:
                async with conn.transaction():
                    balance = await conn.fetchval("SELECT balance FROM account WHERE id = ?", key)
                    await conn.execute("UPDATE account SET balance = ? WHERE id = ?", balance + 1, key)
                    new = number * 1000 + 100 + turn
                    await conn.execute("INSERT INTO account VALUES (?, ?, 0)", new, number)
                done += 1
            except aioifx.DatabaseError:
                pass
    return done


async def together(dsn: str, clients: int, transactions: int) -> tuple[int, float]:
    """How many transactions succeeded, and the seconds that all of them took."""
    async with aioifx.connect(dsn) as conn:
        await conn.execute("DROP TABLE IF EXISTS account")
        await conn.execute(TABLE)
        rows = [(number * 1000 + row, number, 0) for number in range(clients) for row in range(ROWS)]
        await conn.executemany("INSERT INTO account VALUES (?, ?, ?)", rows)
    start = time.perf_counter()
    done = await asyncio.gather(*(client(dsn, number, transactions) for number in range(clients)))
    return sum(done), time.perf_counter() - start


async def singles(dsn: str) -> None:
    """What one session costs."""
    async with aioifx.connect(dsn) as conn:
        await conn.execute("DROP TABLE IF EXISTS account")
        await conn.execute(TABLE)
        await conn.execute("INSERT INTO account VALUES (0, 0, 0)")

        async def change() -> None:
            async with conn.transaction():
                await conn.execute("UPDATE account SET balance = balance + 1 WHERE id = 0")

        async def many() -> None:
            async with conn.transaction():
                await conn.executemany(
                    "INSERT INTO account VALUES (?, 1, 0)", [(n,) for n in range(1, 10_001)]
                )
            await conn.execute("DELETE FROM account WHERE id > 0")

        await report("SELECT 1", 1000, lambda: conn.fetchval("SELECT 1 FROM sysmaster:sysdual"))
        await report("UPDATE in a transaction", 500, change)
        await report("executemany of 10,000 rows, and their DELETE", 3, many)
    seed = TABLE + ";" + "".join(f"INSERT INTO account VALUES ({n}, 0, 0);" for n in range(10_000))

    async def start() -> None:
        async with running("bench", seed=seed):
            pass

    await report("seed of 10,000 INSERTs", 2, start)


async def report(name: str, times: int, run: Callable[[], Awaitable[object]]) -> None:
    """Print the median of a run."""
    taken: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        await run()
        taken.append(time.perf_counter() - start)
    print(f"{name:48} {statistics.median(taken) * 1000:10.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--transactions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--singles", action="store_true")
    options = parser.parse_args()
    with server_process() as dsn:
        for clients in options.clients:
            rounds = [
                asyncio.run(together(dsn, clients, options.transactions)) for _ in range(options.rounds)
            ]
            succeeded = min(done for done, _ in rounds)
            rate = statistics.median(done / seconds for done, seconds in rounds)
            wanted = clients * options.transactions
            print(f"{clients} clients: {succeeded} of {wanted} succeeded, {rate:.0f} transactions a second")
        if options.singles:
            asyncio.run(singles(dsn))


if __name__ == "__main__":
    main()
