"""The proxy itself: it passes data on unchanged unless a fault says otherwise."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.injection import eventually
from tests.system.faults.proxy import Fault, Kind, Proxy, Urgent, Way, proxied


class Ends:
    """Both ends of one link; the one at the server's side leaves urgent data in the stream."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self.proxy = proxy
        self.client = client
        self.server = server

    async def read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = await asyncio.get_running_loop().sock_recv(self.server, count - len(data))
            assert more, data
            data += more
        return data


@asynccontextmanager
async def linked(urgent: Urgent = Urgent.IN_PLACE, fault: Fault | None = None) -> AsyncIterator[Ends]:
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        listener.setblocking(False)
        client.setblocking(False)
        async with proxied(listener.getsockname()[1]) as proxy:
            proxy.urgent, proxy.fault = urgent, fault
            await loop.sock_connect(client, ("127.0.0.1", proxy.port))
            server, _ = await loop.sock_accept(listener)
            with server:
                server.setblocking(False)
                server.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
                yield Ends(proxy, client, server)


@pytest.mark.parametrize("before", [0, 1, 7, 100_000])
async def test_an_urgent_byte_stays_between_its_neighbours(before: int) -> None:
    async with linked() as ends:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(ends.client, b"a" * before)
        ends.client.send(b"B", socket.MSG_OOB)
        await loop.sock_sendall(ends.client, b"cd")
        assert await ends.read(before + 3) == b"a" * before + b"Bcd"
        link = ends.proxy.links[0]
        assert link.recorded(Way.TO_SERVER) == b"a" * before + b"cd"
        assert link.urgent_bytes(Way.TO_SERVER) == 1


async def test_an_urgent_byte_arrives_as_one() -> None:
    async with linked() as ends:
        ends.server.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 0)
        ends.client.send(b"B", socket.MSG_OOB)
        await asyncio.get_running_loop().sock_sendall(ends.client, b"cd")
        assert await ends.read(2) == b"cd"  # the urgent byte is not part of the stream
        ends.client.send(b"B", socket.MSG_OOB)
        await eventually(lambda: _urgent(ends.server) == b"B")


def _urgent(end: socket.socket) -> bytes:
    try:
        return end.recv(1, socket.MSG_OOB)
    except OSError:
        return b""


async def test_an_urgent_byte_can_be_lost() -> None:
    loop = asyncio.get_running_loop()
    async with linked(Urgent.LOST) as ends:
        await loop.sock_sendall(ends.client, b"a")
        ends.client.send(b"B", socket.MSG_OOB)
        await loop.sock_sendall(ends.client, b"cd")
        assert await ends.read(3) == b"acd"


@pytest.mark.parametrize("kind", [Kind.CUT, Kind.RESET, Kind.HALF])
async def test_a_fault_happens_after_its_byte(kind: Kind) -> None:
    async with linked(fault=Fault(kind, Way.TO_SERVER, 3)) as ends:
        loop = asyncio.get_running_loop()
        ends.client.send(b"B", socket.MSG_OOB)  # which counts for nothing
        await loop.sock_sendall(ends.client, b"abcdef")
        if kind is Kind.RESET:
            with pytest.raises(ConnectionResetError):
                while await loop.sock_recv(ends.server, 10):
                    pass
        else:
            assert await ends.read(4) == b"Babc"
            assert await loop.sock_recv(ends.server, 1) == b""
        if kind is Kind.HALF:
            await loop.sock_sendall(ends.server, b"xyz")
            assert await loop.sock_recv(ends.client, 10) == b"xyz"
