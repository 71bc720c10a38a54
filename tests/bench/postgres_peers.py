"""Clients of PostgreSQL: asyncpg and psycopg 3. Never: a clock, what is compared."""

from __future__ import annotations

import asyncio
import importlib
from struct import pack
from typing import Any
from urllib.parse import urlsplit

from tests.bench.peers import (
    BLOCK,
    CROWD,
    CROWDED,
    POOL,
    TASKS,
    WORKERS,
    Missing,
    Order,
    Peer,
    Work,
    at_once,
    in_turns,
)
from tests.bench.ping_pong import PingPong
from tests.bench.shapes import NARROW, Shape


class Asyncpg(Peer):
    """asyncpg on PostgreSQL."""

    SINK = "sink"

    async def connected(self) -> Any:
        asyncpg: Any = importlib.import_module("asyncpg")
        return await asyncpg.connect(self.dsn)

    async def open(self) -> None:
        await super().open()
        await self.conn.execute(NARROW.postgres_create(self.SINK).replace("TABLE", "TEMP TABLE", 1))

    async def _empty(self) -> None:
        await self.conn.execute(f"TRUNCATE {self.SINK}")

    async def rows(self, shape: Shape, count: int) -> list[Any]:
        rows: list[Any] = await self.conn.fetch(shape.postgres_select(count))
        return rows

    async def ask(self, conn: Any) -> Any:
        return await conn.fetchval("SELECT 1")

    async def stream(self, order: Order) -> Work:
        async def work() -> int:
            count = 0
            async with self.conn.transaction():
                async for _ in self.conn.cursor(order.table.postgres_select(order.rows), prefetch=BLOCK):
                    count += 1
            return count

        return work

    @property
    def _insert(self) -> str:
        return f"INSERT INTO {self.SINK} VALUES ($1, $2, $3, $4, $5)"

    async def insert(self, order: Order) -> Work:
        await self._empty()
        sql, row = self._insert, NARROW.row(1)

        async def work() -> int:
            await self.conn.execute(sql, *row)
            return 1

        return work

    async def many(self, order: Order) -> Work:
        await self._empty()
        rows = list(NARROW.rows(order.rows))

        async def work() -> int:
            await self.conn.executemany(self._insert, rows)
            return len(rows)

        return work

    many_tx = many  # its executemany is a transaction in any case

    async def load(self, order: Order) -> Work:
        await self._empty()
        rows = list(NARROW.rows(order.rows))

        async def work() -> int:
            await self.conn.copy_records_to_table(self.SINK, records=rows)
            return len(rows)

        return work

    async def pool(self, order: Order) -> Work:
        asyncpg: Any = importlib.import_module("asyncpg")
        pool = await self.opened.enter_async_context(
            asyncpg.create_pool(self.dsn, min_size=POOL, max_size=POOL)
        )

        async def call() -> None:
            async with pool.acquire() as conn:
                await conn.fetchval("SELECT 1")

        return lambda: in_turns([call] * WORKERS)

    async def pool_fetch(self, order: Order) -> Work:
        asyncpg: Any = importlib.import_module("asyncpg")
        pool = await self.opened.enter_async_context(asyncpg.create_pool(self.dsn, min_size=1, max_size=1))

        async def work() -> int:
            await pool.fetchval("SELECT 1")
            return 1

        return work

    async def gather(self, order: Order) -> Work:
        lock = asyncio.Lock()  # a second call at the same time is an error

        async def call() -> None:
            async with lock:
                await self.ask(self.conn)

        return lambda: at_once(call, TASKS)

    async def crowd(self, order: Order) -> Work:
        asyncpg: Any = importlib.import_module("asyncpg")
        pool = await self.opened.enter_async_context(
            asyncpg.create_pool(self.dsn, min_size=CROWDED, max_size=CROWDED)
        )
        return lambda: at_once(lambda: pool.fetchval("SELECT 1"), CROWD)


class Psycopg(Asyncpg):
    """psycopg 3, asyncio and binary, on PostgreSQL."""

    async def connected(self) -> Any:
        psycopg: Any = importlib.import_module("psycopg")
        return await psycopg.AsyncConnection.connect(self.dsn, autocommit=True)

    async def rows(self, shape: Shape, count: int) -> list[Any]:
        async with self.conn.cursor(binary=True) as cursor:
            await cursor.execute(shape.postgres_select(count), prepare=True)
            rows: list[Any] = await cursor.fetchall()
            return rows

    async def ask(self, conn: Any) -> Any:
        async with conn.cursor(binary=True) as cursor:
            await cursor.execute("SELECT 1", prepare=True)
            return (await cursor.fetchone())[0]

    async def stream(self, order: Order) -> Work:
        async def work() -> int:
            count = 0
            async with self.conn.cursor(binary=True) as cursor:
                async for _ in cursor.stream(order.table.postgres_select(order.rows)):
                    count += 1
            return count

        return work

    @property
    def _insert(self) -> str:
        return f"INSERT INTO {self.SINK} VALUES (%b, %b, %b, %b, %b)"

    async def insert(self, order: Order) -> Work:
        await self._empty()
        row = NARROW.row(1)

        async def work() -> int:
            async with self.conn.cursor(binary=True) as cursor:
                await cursor.execute(self._insert, row, prepare=True)
            return 1

        return work

    async def many(self, order: Order) -> Work:
        await self._empty()
        rows = list(NARROW.rows(order.rows))

        async def work() -> int:
            async with self.conn.cursor(binary=True) as cursor:
                await cursor.executemany(self._insert, rows)
            return len(rows)

        return work

    async def many_tx(self, order: Order) -> Work:
        work = await self.many(order)

        async def inside() -> int:
            async with self.conn.transaction():
                return await work()

        return inside

    async def load(self, order: Order) -> Work:
        await self._empty()
        rows = list(NARROW.rows(order.rows))

        async def work() -> int:
            async with self.conn.cursor() as cursor, cursor.copy(f"COPY {self.SINK} FROM STDIN") as copy:
                for row in rows:
                    await copy.write_row(row)
            return len(rows)

        return work

    async def pool(self, order: Order) -> Work:
        raise Missing("its pool is another package")

    pool_fetch = crowd = pool


class PostgresPingPong(PingPong):
    """What asyncpg sends for a cached SELECT 1: Bind, Execute and Sync, and a result in binary form.

    Source: PostgreSQL's manual, chapter "Frontend/Backend Protocol"; asyncpg 0.32's bytes, as a proxy saw them
    """

    ENDING = b"Z\0\0\0\5I"  # ReadyForQuery, outside of a transaction

    def address(self) -> tuple[str, int]:
        found = urlsplit(self.dsn)
        return found.hostname or "", found.port or 0

    def spoken(self) -> list[bytes]:
        found = urlsplit(self.dsn)
        who = f"user\0{found.username}\0database\0{found.path[1:]}\0\0".encode()
        sync = _message(b"S", b"")
        return [
            _message(b"", pack(">i", 3 << 16) + who),
            _message(b"P", b"one\0SELECT 1\0\0\0") + sync,
            _message(b"B", b"\0one\0" + pack(">5h", 1, 1, 0, 1, 1)) + _message(b"E", b"\0\0\0\0\0") + sync,
        ]


def _message(tag: bytes, body: bytes) -> bytes:
    return tag + pack(">i", len(body) + 4) + body
