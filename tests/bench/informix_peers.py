"""Clients of Informix: ours, informix-driver, and none at all. Never: a clock, what is compared."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import aioifx
from aioifx import dbapi
from aioifx.rows import tuple_row
from aioifx.wire import requests, session_requests
from aioifx.wire.capabilities import OFFERED, SERVER_MASK, Capabilities
from aioifx.wire.handshake import LoginRequest, login_frame, put_login
from aioifx.wire.outbox import Outbox
from tests.bench.peers import (
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
from tests.bench.shapes import NARROW, SELECT_ONE, Shape


class Aioifx(Peer):
    """Ours."""

    async def connected(self) -> aioifx.Connection:
        return await aioifx.connect(self.dsn)

    async def rows(self, shape: Shape, count: int) -> list[Any]:
        rows: list[Any] = await self.conn.fetch(shape.select(count))
        return rows

    async def ask(self, conn: Any) -> Any:
        return await conn.fetchval(SELECT_ONE)

    async def stream(self, order: Order) -> Work:
        async def work() -> int:
            count = 0
            async for block in self.conn.stream(order.table.select(order.rows)).blocks():
                count += len(block)
            return count

        return work

    async def insert(self, order: Order) -> Work:
        sql, row = NARROW.insert(), NARROW.row(1)

        async def work() -> int:
            await self.conn.execute(sql, *row)
            return 1

        return work

    async def many(self, order: Order) -> Work:
        rows = list(NARROW.rows(order.rows))

        async def work() -> int:
            result: aioifx.ExecuteResult = await self.conn.executemany(NARROW.insert(), rows)
            return result.rowcount

        return work

    async def many_tx(self, order: Order) -> Work:
        work = await self.many(order)

        async def inside() -> int:
            async with self.conn.transaction():
                return await work()

        return inside

    async def load(self, order: Order) -> Work:
        rows = list(NARROW.rows(order.rows))

        async def work() -> int:
            result: aioifx.ExecuteResult = await self.conn.load(NARROW.name, rows)
            return result.rowcount

        return work

    async def pool(self, order: Order) -> Work:
        pool = await self.opened.enter_async_context(self._pool_of(POOL))

        async def call() -> None:
            async with pool.acquire() as conn:
                await conn.fetchval(SELECT_ONE)

        return lambda: in_turns([call] * WORKERS)

    async def pool_fetch(self, order: Order) -> Work:
        pool = await self.opened.enter_async_context(self._pool_of(1))

        async def work() -> int:
            await pool.fetchval(SELECT_ONE)
            return 1

        return work

    def _pool_of(self, size: int) -> aioifx.Pool[Any]:
        return aioifx.create_pool(self.dsn, min_size=size, max_size=size)

    async def gather(self, order: Order) -> Work:
        """Calls of many tasks on one connection."""
        return lambda: at_once(lambda: self.ask(self.conn), TASKS)

    async def crowd(self, order: Order) -> Work:
        """Calls of many tasks through a pool."""
        pool = await self.opened.enter_async_context(self._pool_of(CROWDED))
        await pool.wait_ready()
        return lambda: at_once(lambda: pool.fetchval(SELECT_ONE), CROWD)

    async def columns(self, order: Order) -> Work:
        arrow: Any = importlib.import_module("aioifx.arrow")

        async def work() -> int:
            table = await arrow.fetch_arrow(self.conn, order.table.select(order.rows))
            return int(table.num_rows)

        return work


class AioifxTuples(Aioifx):
    """Ours, with plain tuples for rows, as informix-driver and psycopg give them."""

    async def rows(self, shape: Shape, count: int) -> list[Any]:
        rows: list[Any] = await self.conn.fetch(shape.select(count), row_factory=tuple_row)
        return rows


class Unmoved:
    """An observer that does nothing."""

    def on_start(self, operation: aioifx.Operation) -> None:
        pass

    def on_end(self, operation: aioifx.Operation) -> None:
        pass


class AioifxObserved(Aioifx):
    """Ours, with one observer."""

    async def connected(self) -> aioifx.Connection:
        return await aioifx.connect(self.dsn, observer=Unmoved())

    def _pool_of(self, size: int) -> aioifx.Pool[Any]:
        return aioifx.create_pool(self.dsn, min_size=size, max_size=size, observer=Unmoved())


class AioifxTables(Aioifx):
    """Ours, without a columnar fetch: rows first, then a table of them."""

    async def columns(self, order: Order) -> Work:
        pa: Any = importlib.import_module("pyarrow")
        names = [column.name for column in order.table.columns]

        async def work() -> int:
            rows = await self.rows(order.table, order.rows)
            columns = map(pa.array, zip(*rows, strict=True))
            return int(pa.table(dict(zip(names, columns, strict=True))).num_rows)

        return work


class InformixDriver(Peer):
    """informix-driver's DB-API interface; it blocks, and is alone in its process."""

    blocks = True

    def parameters(self) -> dict[str, Any]:
        options = aioifx.parse_dsn(self.dsn)
        return {
            "host": options.host,
            "port": options.port,
            "user": options.user,
            "password": "x",
            "database": options.database,
            "server": options.server,
            "autocommit": True,
        }

    async def open(self) -> None:
        self.conn = self._connected()

    async def close(self) -> None:
        self.conn.close()

    def _connected(self, **parameters: Any) -> Any:
        import informix_db

        return informix_db.connect(**self.parameters() | parameters)

    async def rows(self, shape: Shape, count: int) -> list[Any]:
        cursor = self.conn.cursor()
        cursor.execute(shape.select(count))
        rows: list[Any] = cursor.fetchall()
        return rows

    async def connect(self, order: Order) -> Work:
        async def work() -> int:
            self._connected().close()
            return 1

        return work

    async def ask(self, conn: Any) -> Any:
        cursor = conn.cursor()
        cursor.execute(SELECT_ONE)
        return cursor.fetchone()[0]

    async def concurrent(self, order: Order) -> Work:
        raise Missing("it blocks")

    async def stream(self, order: Order) -> Work:
        async def work() -> int:
            cursor = self.conn.cursor()
            cursor.execute(order.table.select(order.rows))
            return sum(1 for _ in cursor)

        return work

    async def insert(self, order: Order) -> Work:
        sql, row = NARROW.insert(), NARROW.row(1)

        async def work() -> int:
            self.conn.cursor().execute(sql, row)
            return 1

        return work

    async def many(self, order: Order) -> Work:
        rows = list(NARROW.rows(order.rows))

        async def work() -> int:
            self.conn.cursor().executemany(NARROW.insert(), rows)
            return len(rows)

        return work

    load = many  # the nearest that it has

    async def many_tx(self, order: Order) -> Work:
        rows = list(NARROW.rows(order.rows))
        conn = self._connected(autocommit=False)
        self.opened.callback(conn.close)

        async def work() -> int:
            conn.cursor().executemany(NARROW.insert(), rows)
            conn.commit()
            return len(rows)

        return work


class AioifxDbapi(InformixDriver):
    """Our blocking module."""

    def _connected(self, **parameters: Any) -> Any:
        options: dict[str, Any] = {"autocommit": True, **parameters}
        return dbapi.connect(self.dsn, **options)


class InformixDriverAio(InformixDriver):
    """informix-driver's asyncio interface: the other one in threads."""

    blocks = False
    open = Peer.open
    close = Peer.close
    connect = Peer.connect
    concurrent = Peer.concurrent

    async def connected(self, **parameters: Any) -> Any:
        import informix_db.aio

        return await informix_db.aio.connect(**self.parameters() | parameters)

    async def rows(self, shape: Shape, count: int) -> list[Any]:
        cursor = await self.conn.cursor()
        await cursor.execute(shape.select(count))
        rows: list[Any] = await cursor.fetchall()
        return rows

    async def ask(self, conn: Any) -> Any:
        cursor = await conn.cursor()
        await cursor.execute(SELECT_ONE)
        row = await cursor.fetchone()
        await cursor.close()
        return row[0]

    async def stream(self, order: Order) -> Work:
        async def work() -> int:
            cursor = await self.conn.cursor()
            await cursor.execute(order.table.select(order.rows))
            count = 0
            async for _ in cursor:
                count += 1
            return count

        return work

    async def insert(self, order: Order) -> Work:
        sql, row = NARROW.insert(), NARROW.row(1)

        async def work() -> int:
            cursor = await self.conn.cursor()
            await cursor.execute(sql, row)
            return 1

        return work

    async def many(self, order: Order) -> Work:
        rows = list(NARROW.rows(order.rows))

        async def work() -> int:
            cursor = await self.conn.cursor()
            await cursor.executemany(NARROW.insert(), rows)
            return len(rows)

        return work

    load = many

    async def many_tx(self, order: Order) -> Work:
        rows = list(NARROW.rows(order.rows))
        conn = await self.connected(autocommit=False)
        self.opened.push_async_callback(conn.close)

        async def work() -> int:
            cursor = await conn.cursor()
            await cursor.executemany(NARROW.insert(), rows)
            await conn.commit()
            return len(rows)

        return work

    async def pool(self, order: Order) -> Work:
        import informix_db.aio

        pool = await informix_db.aio.create_pool(min_size=POOL, max_size=POOL, **self.parameters())
        self.opened.push_async_callback(pool.close)

        async def call() -> None:
            async with pool.connection() as conn:
                await self.ask(conn)

        return lambda: in_turns([call] * WORKERS)


class InformixPingPong(PingPong):
    """What aioifx sends for a cached SELECT 1."""

    def address(self) -> tuple[str, int]:
        options = aioifx.parse_dsn(self.dsn)
        return options.host, options.port

    def spoken(self) -> list[bytes]:
        return _spoken(aioifx.parse_dsn(self.dsn).server)


def _spoken(server: str) -> list[bytes]:
    """Login, agreement, environment, database, PREPARE; the execution."""
    capabilities, outbox, sent = Capabilities.negotiated(OFFERED, SERVER_MASK), Outbox(), list[bytes]()
    put_login(outbox, login_frame(LoginRequest(b"informix", b"", server.encode())), b"x")
    sent.append(outbox.detach())
    steps: tuple[Callable[[], None], ...] = (
        lambda: session_requests.put_protocols(outbox, OFFERED),
        lambda: session_requests.put_info(outbox, [(b"OPTOFC", b"1")]),
        lambda: session_requests.put_dbopen(outbox, b"bench"),
        lambda: requests.put_prepare(outbox, capabilities, SELECT_ONE.encode(), 0),
    )
    for put in steps:
        put()
        requests.put_eot(outbox)
        sent.append(outbox.detach())
    requests.put_id(outbox, 0)
    requests.put_curname(outbox, b"_ifxc0000000000001")
    requests.put_open(outbox)
    requests.put_id(outbox, 0)
    requests.put_fetch(outbox, 4096)
    requests.put_eot(outbox)
    return [*sent, outbox.detach()]
