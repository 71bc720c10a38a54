"""A TCP proxy on the loopback interface that injects faults at an exact byte, in either direction.

What a fault does depends on bytes alone, never on the clock: the nth byte since it was armed is the last that passes,
or the one that is changed. TLS goes through as it is; the proxy sees records.

A byte of urgent data is passed on as one, in its place in the stream: between the bytes before and after it. So it can
meet a statement, its answer or the next request at the server, as it does on a network. It counts in no fault's place.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import fcntl
import select
import socket
import termios
from collections import deque
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
    """What happens after the nth byte; with the last three, all bytes pass."""

    CUT = "cut"
    """Both connections are closed in order."""
    RESET = "reset"
    """Both connections are reset."""
    HALF = "half-close"
    """This direction ends; the other one goes on."""
    STALL = "stall"
    """Nothing passes in this direction any more, and nothing is read, until the link is ended."""
    CORRUPT = "corrupt"
    """The byte at that place is another one."""
    SPLIT = "split"
    """Every byte comes by itself, in a turn of the event loop of its own."""
    DELAY = "delay"
    """Every chunk comes a little later."""


class Urgent(Enum):
    """What becomes of urgent data."""

    IN_PLACE = "in place"
    LOST = "lost"


class Fault(NamedTuple):
    kind: Kind
    way: Way
    after: int = 0
    """Bytes in that direction, since it was armed, that pass untouched."""
    mask: int = 0xFF
    """Bits that are turned over in a corrupted byte."""

    def __str__(self) -> str:
        return f"{self.kind.value} {self.way.value} behind {self.after} bytes (mask {self.mask:02x})"


class _Over(Exception):
    """A fault, or one of the two ends, has ended the link."""

    def __init__(self, *, reset: bool) -> None:
        super().__init__()
        self.reset = reset


class _Lane:
    """One direction of one link."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source = source
        self.target = target
        self.passed = bytearray()
        """What came since the link was armed, before anything was done to it."""
        self.urgent = 0
        """Urgent bytes that came since then."""
        self.ended = False

    async def read(self) -> tuple[bytes, bool]:
        """The next bytes, none at the end; and whether they are an urgent one."""
        watch = select.poll()
        watch.register(self.source, select.POLLIN)
        while not watch.poll(0):
            await _readable(self.source)
        # SO_OOBINLINE leaves urgent data in the stream. A read ends before it, or begins with it.
        at_mark = array.array("i", [0])
        fcntl.ioctl(self.source, _SIOCATMARK, at_mark)
        return self.source.recv(1 if at_mark[0] else 1 << 16), bool(at_mark[0])

    async def write(self, data: bytes) -> None:
        """Send on, unless whom it is for has gone."""
        if data and not self.ended:
            try:
                await asyncio.get_running_loop().sock_sendall(self.target, data)
            except OSError:
                self.ended = True

    def write_urgent(self, byte: bytes) -> None:
        if not self.ended:
            with contextlib.suppress(OSError):
                self.target.send(byte, socket.MSG_OOB)

    def write_eof(self) -> None:
        if not self.ended:
            with contextlib.suppress(OSError):
                self.target.shutdown(socket.SHUT_WR)


_SIOCATMARK = getattr(termios, "SIOCATMARK", 0x8905)  # CPython does not name it on Linux


async def _readable(source: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(source, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(source)


class Link:
    """One client's connection to the server."""

    def __init__(
        self, client: socket.socket, server: socket.socket, fault: Fault | None, urgent: Urgent
    ) -> None:
        self._lanes = {Way.TO_SERVER: _Lane(client, server), Way.TO_CLIENT: _Lane(server, client)}
        self._fault = fault
        self._reset = False
        self.urgent = urgent
        self.struck = False
        """Whether the fault has come about; one that changes bytes, whether it has changed any."""
        self.task = asyncio.get_running_loop().create_task(self._run())
        self.task.add_done_callback(self._close)

    def arm(self, fault: Fault | None) -> None:
        """Begin to count, and to record; *fault* is in force from now on."""
        self._fault = fault
        for lane in self._lanes.values():
            lane.passed.clear()
            lane.urgent = 0

    def recorded(self, way: Way) -> bytes:
        """What has been sent in that direction since the link was armed, without urgent data."""
        return bytes(self._lanes[way].passed)

    def urgent_bytes(self, way: Way) -> int:
        """How many urgent bytes have been sent in that direction since the link was armed."""
        return self._lanes[way].urgent

    async def _run(self) -> None:
        pumps = [asyncio.get_running_loop().create_task(self._pump(way)) for way in Way]
        try:
            done, _ = await asyncio.wait(pumps, return_when=asyncio.FIRST_EXCEPTION)
            for pump in done:
                if isinstance(over := pump.exception(), _Over):
                    self._reset |= over.reset
                elif over is not None:
                    raise over
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    def _close(self, _: object) -> None:
        for lane in self._lanes.values():
            if self._reset:
                lane.source.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))
            lane.source.close()

    async def _pump(self, way: Way) -> None:
        """Carry one direction until it ends."""
        lane = self._lanes[way]
        while True:
            try:
                data, is_urgent = await lane.read()
            except OSError:
                raise _Over(reset=True) from None
            if not data:
                break
            if is_urgent:
                lane.urgent += 1
                await self._carry_urgent(way, lane, data)
                continue
            begin = len(lane.passed)
            lane.passed += data
            if not lane.ended:
                await self._carry(way, lane, data, begin)
        lane.write_eof()

    async def _carry_urgent(self, way: Way, lane: _Lane, byte: bytes) -> None:
        fault = self._fault
        if fault is not None and fault.way is way and fault.kind is Kind.DELAY:
            await asyncio.sleep(PAUSE)
        if self.urgent is Urgent.IN_PLACE:
            lane.write_urgent(byte)

    async def _carry(self, way: Way, lane: _Lane, data: bytes, begin: int) -> None:
        fault = self._fault
        if fault is None or fault.way is not way:
            await lane.write(data)
        elif fault.kind is Kind.SPLIT:
            self.struck = True
            for at in range(len(data)):
                await lane.write(data[at : at + 1])
                await asyncio.sleep(0)
        elif fault.kind is Kind.DELAY:
            self.struck = True
            await asyncio.sleep(PAUSE)
            await lane.write(data)
        elif fault.kind is Kind.CORRUPT:
            at = fault.after - begin
            if 0 <= at < len(data):
                self.struck = True
                data = data[:at] + bytes([data[at] ^ fault.mask]) + data[at + 1 :]
            await lane.write(data)
        elif begin + len(data) < fault.after:
            await lane.write(data)
        else:
            await lane.write(data[: fault.after - begin])
            self.struck = True
            await self._strike(fault.kind, lane)

    async def _strike(self, kind: Kind, lane: _Lane) -> None:
        if kind is Kind.STALL:
            await asyncio.get_running_loop().create_future()
        elif kind is Kind.HALF:
            lane.write_eof()
            lane.ended = True
        else:
            raise _Over(reset=kind is Kind.RESET)

    def end(self) -> None:
        """Drop both connections, whatever is on its way."""
        self.task.cancel()


class Proxy:
    """Listens on a port of its own; every connection to it is a link to the server's port."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.links: list[Link] = []
        self.fault: Fault | None = None
        """Of links that are still to come; None is a proxy in good health."""
        self.faults: deque[Fault | None] = deque()
        """Of the next links, one for each; the links after them have `fault`."""
        self.urgent = Urgent.IN_PLACE
        """What they do with urgent data."""

    @property
    def port(self) -> int:
        assert self._listener is not None
        port: int = self._listener.getsockname()[1]
        return port

    async def start(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self._listener.setblocking(False)
        self._follow(asyncio.get_running_loop().create_task(self._accept(self._listener)))

    def _follow(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            client, _ = await loop.sock_accept(listener)
            self._follow(loop.create_task(self._connect(client)))

    async def _connect(self, client: socket.socket) -> None:
        server = socket.socket()
        server.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(server, ("127.0.0.1", self._target))
        except BaseException as error:
            client.close()
            server.close()
            if isinstance(error, OSError):
                return
            raise
        for each in (client, server):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            each.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        link = Link(client, server, self.faults.popleft() if self.faults else self.fault, self.urgent)
        self.links.append(link)
        self._follow(link.task)

    def drop_links(self) -> None:
        """End every link there is, stalled ones too."""
        for link in self.links:
            link.end()
        self.links.clear()

    async def close(self) -> None:
        """Stop listening and leave nothing behind."""
        assert self._listener is not None
        self.links.clear()
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(list(self._tasks))
        self._listener.close()


@contextlib.asynccontextmanager
async def proxied(target: int) -> AsyncGenerator[Proxy, None]:
    """A proxy for the server's port."""
    proxy = Proxy(target)
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.close()
