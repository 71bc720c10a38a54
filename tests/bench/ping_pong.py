"""No client at all: a request from a bare Protocol, and its reply. Time beyond that is the client's own."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

from tests.bench.peers import Missing, Order, Peer, Work
from tests.bench.shapes import Shape


class PingPong(Peer):
    """The bytes of a SELECT 1, to a server and back."""

    ENDING: ClassVar[bytes] = b""
    """What the last piece of every answer ends with."""

    def address(self) -> tuple[str, int]:
        """Host and port."""
        raise NotImplementedError

    def spoken(self) -> list[bytes]:
        """Requests: those of the login, one that prepares, and the one that is repeated."""
        raise NotImplementedError

    async def open(self) -> None:
        *first, self.request = self.spoken()
        self.conn = await self._opened(first)

    async def _opened(self, requests: list[bytes]) -> _Waiting:
        loop = asyncio.get_running_loop()
        _, conn = await loop.create_connection(lambda: _Waiting(loop, self.ENDING), *self.address())
        for request in requests:
            await conn.exchange(request)
        return conn

    async def close(self) -> None:
        self.conn.transport.close()

    async def rows(self, shape: Shape, count: int) -> list[Any]:
        raise Missing("no rows")

    async def fetch(self, order: Order) -> Work:
        raise Missing(order.workload)

    concurrent = few_rows = fetch

    async def connect(self, order: Order) -> Work:
        *login, _, _ = self.spoken()

        async def work() -> int:
            conn = await self._opened(login)
            conn.transport.close()
            await conn.closed
            return 1

        return work

    async def select_1(self, order: Order) -> Work:
        async def work() -> int:
            await self.conn.exchange(self.request)
            return 1

        return work


class _Waiting(asyncio.Protocol):
    """One answer at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ending: bytes) -> None:
        self._loop = loop
        self._ending = ending
        self._answered: asyncio.Future[None] | None = None
        self.closed: asyncio.Future[None] = loop.create_future()
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set_result(None)

    async def exchange(self, request: bytes) -> None:
        answered = self._answered = self._loop.create_future()
        self.transport.write(request)
        await answered

    def data_received(self, data: bytes) -> None:
        if self._answered is not None and data.endswith(self._ending) and not self._answered.done():
            self._answered.set_result(None)
