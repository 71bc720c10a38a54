"""A TCP proxy on the loopback interface that spoils what goes through it, at an exact byte, in either direction.

What a fault does depends on bytes alone, never on the clock: the nth byte since it was armed is the last that passes,
or the one that is changed. TLS goes through as it is; the proxy sees records.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator
from enum import Enum
from struct import pack
from typing import NamedTuple

PAUSE = 0.001
"""Seconds that a delayed chunk is held back."""


class Way(Enum):
    TO_SERVER = "to the server"
    TO_CLIENT = "to the client"


class Kind(Enum):
    """What happens behind the nth byte; the last three happen to bytes that all pass."""

    CUT = "cut"
    """Both connections are closed in order."""
    RESET = "reset"
    """Both connections are reset."""
    HALF = "half-close"
    """This direction ends; the other one goes on."""
    STALL = "stall"
    """Nothing passes in this direction any more, and nobody reads; until the link is ended."""
    CORRUPT = "corrupt"
    """The byte at that place is another one."""
    SPLIT = "split"
    """Every byte comes by itself, in a turn of the event loop of its own."""
    DELAY = "delay"
    """Every chunk comes a little later."""


class Fault(NamedTuple):
    kind: Kind
    way: Way
    after: int = 0
    """Bytes in that direction, since it was armed, that pass untouched."""
    mask: int = 0xFF
    """Bits that are turned over in a corrupted byte."""

    def __str__(self) -> str:
        return f"{self.kind.value} {self.way.value} behind {self.after} bytes (mask {self.mask:02x})"


class _Lane:
    """One direction of one link."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.passed = bytearray()
        """What came since the link was armed, before anything was done to it."""
        self.ended = False

    def write(self, data: bytes) -> None:
        """Send on, unless whom it is for has gone."""
        if not self.writer.transport.is_closing():
            self.writer.write(data)


class Link:
    """One client's connection to the server."""

    def __init__(self, lanes: dict[Way, _Lane], fault: Fault | None) -> None:
        self._lanes = lanes
        self._fault = fault
        self._released = asyncio.Event()
        self.struck = False
        """Whether the fault has come about; one that changes bytes, whether it has changed any."""

    def arm(self, fault: Fault | None) -> None:
        """Begin to count, and to record; *fault* is in force from now on."""
        self._fault = fault
        for lane in self._lanes.values():
            lane.passed.clear()

    def recorded(self, way: Way) -> bytes:
        """What has been sent in that direction since the link was armed."""
        return bytes(self._lanes[way].passed)

    async def pump(self, way: Way) -> None:
        """Carry one direction until it ends."""
        lane = self._lanes[way]
        with contextlib.suppress(OSError):  # to end a way whose other end has gone is no ConnectionError
            while data := await lane.reader.read(1 << 16):
                begin = len(lane.passed)
                lane.passed += data
                if not lane.ended:
                    await self._carry(way, lane, data, begin)
            if not (lane.ended or lane.writer.transport.is_closing()):
                lane.writer.write_eof()

    async def _carry(self, way: Way, lane: _Lane, data: bytes, begin: int) -> None:
        fault = self._fault
        if fault is None or fault.way is not way:
            lane.write(data)
        elif fault.kind is Kind.SPLIT:
            self.struck = True
            for at in range(len(data)):
                lane.write(data[at : at + 1])
                await asyncio.sleep(0)
        elif fault.kind is Kind.DELAY:
            self.struck = True
            await asyncio.sleep(PAUSE)
            lane.write(data)
        elif fault.kind is Kind.CORRUPT:
            at = fault.after - begin
            if 0 <= at < len(data):
                self.struck = True
                data = data[:at] + bytes([data[at] ^ fault.mask]) + data[at + 1 :]
            lane.write(data)
        elif begin + len(data) < fault.after:
            lane.write(data)
        else:
            lane.write(data[: fault.after - begin])
            self.struck = True
            await self._strike(fault.kind, lane)
        await lane.writer.drain()

    async def _strike(self, kind: Kind, lane: _Lane) -> None:
        lane.ended = True
        if kind is Kind.STALL:
            await self._released.wait()
        elif kind is Kind.HALF:
            lane.writer.write_eof()
        else:
            for each in self._lanes.values():
                each.ended = True
                if kind is Kind.RESET:
                    _reset(each.writer)
                else:
                    each.writer.close()

    def end(self) -> None:
        """Drop both connections, whatever is on its way."""
        self._released.set()
        for lane in self._lanes.values():
            lane.writer.transport.abort()


def _reset(writer: asyncio.StreamWriter) -> None:
    own = writer.get_extra_info("socket")
    if own is not None and not writer.transport.is_closing():
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))
    writer.transport.abort()


class Proxy:
    """Listens on a port of its own; every connection to it is a link to the server's port."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.links: list[Link] = []
        self.fault: Fault | None = None
        """Of links that are still to come; None is a proxy in good health."""

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            there = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        finally:
            self._tasks.discard(task)
        for each in (writer, there[1]):
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lanes = {Way.TO_SERVER: _Lane(reader, there[1]), Way.TO_CLIENT: _Lane(there[0], writer)}
        link = Link(lanes, self.fault)
        self.links.append(link)
        for way in Way:
            pumping = asyncio.get_running_loop().create_task(link.pump(way))
            self._tasks.add(pumping)
            pumping.add_done_callback(self._tasks.discard)

    def drop_links(self) -> None:
        """End every link there is, stalled ones too."""
        for link in self.links:
            link.end()
        self.links.clear()

    async def close(self) -> None:
        """Stop listening and leave nothing behind."""
        assert self._server is not None
        self._server.close()
        self.drop_links()
        while self._tasks:
            self.drop_links()
            await asyncio.wait(list(self._tasks))
        await self._server.wait_closed()


@contextlib.asynccontextmanager
async def proxied(target: int) -> AsyncGenerator[Proxy, None]:
    """A proxy in front of the server's port."""
    proxy = Proxy(target)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
