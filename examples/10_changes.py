"""Changes of a table, whose keys stay, are applied to another once each: the position is stored with the data."""

from __future__ import annotations

import asyncio

import aioifx.server

SEED = """CREATE TABLE orders (id INTEGER PRIMARY KEY, qty INTEGER); CREATE TABLE copy (id INTEGER, qty INTEGER);
CREATE TABLE positions (place VARCHAR(200)); INSERT INTO positions VALUES (NULL)"""


async def follow(dsn: str, conn: aioifx.Connection) -> None:
    stored = await conn.fetchval("SELECT place FROM positions")
    start = stored and aioifx.Position.from_json(stored)
    async with aioifx.changes(dsn, ["informix.orders"], start=start, snapshot=start is None) as changes:
        transaction = await anext(changes)  # a service has `async for` here
    async with conn.transaction():
        for change in transaction:
            if change.before is not None:
                await conn.execute("DELETE FROM copy WHERE id = ?", change.before["id"])
            if change.after is not None:
                await conn.execute("INSERT INTO copy VALUES (?, ?)", *change.after)
        if transaction.position is not None:  # None within a snapshot
            await conn.execute("UPDATE positions SET place = ?", transaction.position.to_json())


async def main() -> None:
    async with aioifx.server.running(seed=SEED) as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("INSERT INTO orders VALUES (1, 5)")
        await follow(dsn, conn)
        await conn.execute("UPDATE orders SET qty = 6 WHERE id = 1")
        await follow(dsn, conn)  # as after a restart of the program
        print(await conn.fetch("SELECT * FROM copy"))


asyncio.run(main())

# [<Record id=1 qty=6>]
