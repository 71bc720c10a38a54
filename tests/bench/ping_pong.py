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
        """Requests: all that come before, and the one that is repeated."""
        raise NotImplementedError

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self.transport, self.protocol = await loop.create_connection(
            lambda: _Waiting(loop, self.ENDING), *self.address()
        )
        *first, self.request = self.spoken()
        for request in first:
            await self.exchange(request)

    async def close(self) -> None:
        self.transport.close()

    async def exchange(self, request: bytes) -> None:
        answered = self.protocol.expect()
        self.transport.write(request)
        await answered

    async def rows(self, shape: Shape, count: int) -> list[Any]:
        raise Missing("no rows")

    async def fetch(self, order: Order) -> Work:
        raise Missing("no rows")

    connect = concurrent = fetch

    async def select_1(self, order: Order) -> Work:
        async def work() -> int:
            await self.exchange(self.request)
            return 1

        return work


class _Waiting(asyncio.Protocol):
    """One answer at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ending: bytes) -> None:
        self._loop = loop
        self._ending = ending
        self.answered: asyncio.Future[None] | None = None

    def expect(self) -> asyncio.Future[None]:
        self.answered = self._loop.create_future()
        return self.answered

    def data_received(self, data: bytes) -> None:
        if self.answered is not None and data.endswith(self._ending) and not self.answered.done():
            self.answered.set_result(None)
