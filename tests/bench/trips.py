"""What each call costs in round trips: by the connection's own count, and by the embedded server's.

python -m tests.bench.trips [--environment OPTOFC=0] [--pipelining]
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import aioifx
from aioifx.server import Server, ServerOptions, serve

SEED = """
    create table thing (id serial primary key, name varchar(40));
    create table copy (id integer, name varchar(40));
    insert into thing values (0, 'one'); insert into thing values (0, 'two'); insert into thing values (0, 'three');
"""

SELECT = "select name from thing where id = ?"
INSERT = "insert into copy values (?, ?)"


class Trips(NamedTuple):
    """One call's cost."""

    call: str
    client: int
    """Times that something waited for the server, by ``conn.stats.round_trips``."""
    server: int
    """Times that the server had answered everything before more came, by its own stats."""
    groups: int
    """Groups that the server answered."""


class Meter:
    """Reads both counters around each call."""

    def __init__(self, server: Server, conn: aioifx.Connection) -> None:
        self.server = server
        self.conn = conn
        self.client_trips = conn.stats.round_trips
        self.server_stats = server.stats

    async def read(self, call: str) -> Trips:
        """The counts since the last reading, cleanup included."""
        async with self.conn._session:
            pass  # a turn begins when all cleanup is done
        now, before = self.server.stats, self.server_stats
        trips = Trips(
            call,
            self.conn.stats.round_trips - self.client_trips,
            now.turns - before.turns,
            now.groups - before.groups,
        )
        self.client_trips, self.server_stats = self.conn.stats.round_trips, now
        return trips


async def measured(**options: Any) -> AsyncIterator[Trips]:
    """Every kind of call, one after the other, on one connection."""
    async with (
        serve(ServerOptions(databases=("shop",), seed=SEED)) as server,
        aioifx.connect(server.dsn, **options) as conn,
    ):
        # The server does not count the login as a turn: it comes before the session.
        yield Trips("connect", conn.stats.round_trips, server.stats.turns + 1, server.stats.groups + 1)
        meter = Meter(server, conn)
        await conn.fetch("select count(*) from thing")
        yield await meter.read("SELECT, first time")
        await conn.fetch("select count(*) from thing")
        yield await meter.read("SELECT, again")
        await conn.fetchrow(SELECT, 1)
        yield await meter.read("SELECT with parameters, first time")
        await conn.fetchrow(SELECT, 2)
        yield await meter.read("SELECT with parameters, again")
        await conn.execute("insert into copy values (1, 'literal')")
        yield await meter.read("INSERT of literals")
        await conn.execute(INSERT, 1, "x")
        yield await meter.read("INSERT with parameters, first time")
        await conn.execute(INSERT, 2, "y")
        yield await meter.read("INSERT with parameters, again")
        await conn.executemany(INSERT, [(n, "z") for n in range(1000)])
        yield await meter.read("executemany(1000), its own transaction")
        async with conn.transaction():
            yield await meter.read("BEGIN")
            await conn.executemany(INSERT, [(n, "z") for n in range(1000)])
            yield await meter.read("executemany(1000), in a transaction")
        yield await meter.read("COMMIT")
        await conn.executemany(INSERT, [(n, "z") for n in range(10_000)])
        yield await meter.read("executemany(10000), its own transaction")
        statement = await conn.prepare("select id from thing where name = ?")
        yield await meter.read("prepare")
        await statement.fetch("one")
        yield await meter.read("prepared SELECT")
        await statement.close()
        yield await meter.read("close of the prepared statement")
        async for _ in conn.stream("select id, name from copy"):
            pass
        yield await meter.read("stream of 12,003 rows, first time")
        async with conn.stream("select id, name from copy") as stream:
            async for _ in stream:
                break
        yield await meter.read("stream left behind its first row")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--pipelining", action="store_true")
    parser.add_argument("--statement-cache-size", type=int, default=100)
    given = parser.parse_args()
    environment = dict(item.split("=", 1) for item in given.environment)
    print(f"{'call':<40} {'client':>7} {'server':>7} {'groups':>7}")
    async for trips in measured(
        environment=environment,
        pipelining=given.pipelining,
        statement_cache_size=given.statement_cache_size,
    ):
        print(f"{trips.call:<40} {trips.client:>7} {trips.server:>7} {trips.groups:>7}")


if __name__ == "__main__":
    asyncio.run(main())
