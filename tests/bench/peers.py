"""What a client has to offer to be compared: workloads, set up and ready to be timed. Never: a clock, how it does it.

A peer's method sets a workload up and returns what is to be timed; a workload that a client has no means for is
`Missing`. Everybody's rows are the tuples, or records, that its users get.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

from tests.bench.shapes import SHAPES, Shape

Work = Callable[[], Awaitable[int]]
"""Does it once; how many rows or calls that was."""

POOL: Final = 4
"""Connections of a pool."""
WORKERS: Final = 8
"""Tasks that use a pool, and connections of the workload `concurrent`."""
CALLS: Final = 25
"""Calls of each of them."""
TASKS: Final = 30
"""Tasks that use one connection at once."""
CROWD: Final = 200
"""Tasks that use CROWDED connections of a pool at once."""
CROWDED: Final = 10
BLOCK: Final = 1000
"""Rows that a cursor with a number fetches at a time."""


class Missing(Exception):
    """This client has no means for it."""


@dataclass(frozen=True, slots=True)
class Order:
    """One sample to be taken."""

    workload: str
    shape: str = "narrow"
    rows: int = 1
    repeat: int = 1

    @property
    def table(self) -> Shape:
        """The shape itself."""
        return SHAPES[self.shape]

    @property
    def name(self) -> str:
        """As it is called in reports."""
        parts = [self.workload]
        if self.workload in ("fetch", "stream", "columns"):
            parts.append(self.shape)
        return "/".join([*parts, str(self.rows)] if self.rows > 1 else parts)


async def in_turns(calls: Sequence[Callable[[], Awaitable[Any]]]) -> int:
    """Each of the workers calls its own, again and again."""

    async def worker(call: Callable[[], Awaitable[Any]]) -> None:
        for _ in range(CALLS):
            await call()

    await asyncio.gather(*map(worker, calls))
    return CALLS * len(calls)


async def at_once(call: Callable[[], Awaitable[Any]], tasks: int) -> int:
    """So many tasks, each of which calls once."""
    await asyncio.gather(*(call() for _ in range(tasks)))
    return tasks


class Peer:
    """A client. The connection of the object is open as long as the object is in use."""

    blocks = False
    """Whether it needs no event loop, and its methods never wait for one."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.conn: Any = None
        self.opened = AsyncExitStack()
        """What one workload needs open beside the connection."""

    async def open(self) -> None:
        self.conn = await self.connected()

    async def close(self) -> None:
        await self.conn.close()

    async def connected(self) -> Any:
        """A new connection."""
        raise NotImplementedError

    async def another(self) -> Any:
        """A new connection, for one workload."""
        conn = await self.connected()
        self.opened.push_async_callback(conn.close)
        return conn

    async def work(self, order: Order) -> Work:
        """Set *order* up.

        Raises:
            Missing: there is no such call here.
        """
        method = getattr(self, order.workload.replace("-", "_"), None)
        if method is None:
            raise Missing(order.workload)
        work: Work = await method(order)
        return work

    async def rows(self, shape: Shape, count: int) -> list[Any]:
        """The first rows of a table, to be compared with what they should be."""
        raise NotImplementedError

    async def fetch(self, order: Order) -> Work:
        async def work() -> int:
            return len(await self.rows(order.table, order.rows))

        return work

    async def connect(self, order: Order) -> Work:
        async def work() -> int:
            conn = await self.connected()
            await conn.close()
            return 1

        return work

    async def ask(self, conn: Any) -> Any:
        """SELECT 1 on a connection."""
        raise NotImplementedError

    async def select_1(self, order: Order) -> Work:
        async def work() -> int:
            await self.ask(self.conn)
            return 1

        return work

    async def few_rows(self, order: Order) -> Work:
        """Three narrow rows."""

        async def work() -> int:
            await self.rows(SHAPES["narrow"], 3)
            return 1

        return work

    async def concurrent(self, order: Order) -> Work:
        conns = [await self.another() for _ in range(WORKERS)]

        def asking(conn: Any) -> Callable[[], Awaitable[Any]]:
            return lambda: self.ask(conn)

        return lambda: in_turns([asking(conn) for conn in conns])
