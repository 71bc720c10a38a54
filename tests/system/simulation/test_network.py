"""Simulated connections: which methods of protocols are called, and in which order."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.system.simulation.loop import SimulatedLoop
from tests.system.simulation.network import Accepting, Network, Urgent, UrgentSockets, Weather

IP, PORT = "10.0.0.1", 9088


class Seen(asyncio.Protocol):
    """Notes its calls."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.chunks = 0
        self.events: list[str] = []
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.events.append("made")

    def data_received(self, data: bytes) -> None:
        self.data += data
        self.chunks += 1

    def eof_received(self) -> bool:
        self.events.append("eof")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.events.append(f"lost {type(exc).__name__ if exc else 'in order'}")

    def pause_writing(self) -> None:
        self.events.append("pause")

    def resume_writing(self) -> None:
        self.events.append("resume")

    def urgent_received(self, byte: bytes) -> None:
        self.events.append(f"urgent after {len(self.data)}")


def simulated(body: Callable[[Network, Seen], Awaitable[None]], seed: int = 1, **weather: Any) -> Seen:
    """Run *body* with a network and a listening server; returns the server's protocol."""
    loop = SimulatedLoop()
    network, server = Network(loop, seed, Weather(**weather)), Seen()
    network.names["db1"] = [IP]
    network.listeners[IP, PORT] = lambda: server
    loop.run_until_complete(body(network, server))
    loop.close()
    assert not loop.errors
    return server


async def connected(network: Network) -> tuple[Any, Seen]:
    transport, protocol = await network.loop.create_connection(Seen, IP, PORT)
    return transport, protocol


@pytest.mark.parametrize("seed", range(20))
def test_bytes_arrive_in_order_however_they_are_cut(seed: int) -> None:
    data = bytes(number % 251 for number in range(200_000))

    async def body(network: Network, server: Seen) -> None:
        transport, _ = await connected(network)
        transport.write(data)
        transport.close()
        await asyncio.sleep(60)

    server = simulated(body, seed, cut=0.9, jitter=0.01, window=8192)
    assert bytes(server.data) == data and server.chunks > 25
    assert server.events == ["made", "eof", "lost in order"]


def test_a_receiver_that_pauses_stops_the_sender() -> None:
    async def body(network: Network, server: Seen) -> None:
        transport, client = await connected(network)
        await asyncio.sleep(1)
        server.transport.pause_reading()
        transport.write(bytes(500_000))
        await asyncio.sleep(1)
        assert client.events == ["made", "pause"] and not server.data
        server.transport.resume_reading()
        await asyncio.sleep(10)
        assert client.events == ["made", "pause", "resume"] and len(server.data) == 500_000
        transport.abort()
        await asyncio.sleep(1)

    simulated(body)


@pytest.mark.parametrize(
    ("accepting", "error"),
    [
        (Accepting.REFUSE, ConnectionRefusedError),
        (Accepting.UNREACHABLE, OSError),
        (Accepting.SILENT, TimeoutError),
    ],
)
def test_a_host_that_does_not_accept(accepting: Accepting, error: type[Exception]) -> None:
    async def body(network: Network, server: Seen) -> None:
        network.accepting[IP] = accepting
        with pytest.raises(error):
            async with asyncio.timeout(10):
                await connected(network)
        assert not network.open_connections

    assert simulated(body).events == []


def test_a_host_that_accepts_and_drops() -> None:
    async def body(network: Network, server: Seen) -> None:
        network.accepting[IP] = Accepting.DROP
        _, client = await connected(network)
        await asyncio.sleep(1)
        assert client.events == ["made", "lost ConnectionResetError"]
        assert not network.open_connections

    simulated(body)


def test_a_reset_loses_what_is_on_the_way() -> None:
    async def body(network: Network, server: Seen) -> None:
        transport, client = await connected(network)
        await asyncio.sleep(1)
        transport.write(b"never there")
        network.connections[0].reset()
        await asyncio.sleep(1)
        assert client.events[-1] == "lost ConnectionResetError" and not server.data

    assert simulated(body).events[-1] == "lost ConnectionResetError"


def test_a_stall_ends_and_loses_nothing() -> None:
    async def body(network: Network, server: Seen) -> None:
        transport, _ = await connected(network)
        network.connections[0].stall(network.connections[0].client, 5)
        transport.write(b"late")
        await asyncio.sleep(4)
        assert not server.data
        await asyncio.sleep(2)
        transport.abort()
        await asyncio.sleep(1)

    assert simulated(body).data == b"late"


def test_a_half_closed_connection_still_takes_data() -> None:
    async def body(network: Network, server: Seen) -> None:
        _, client = await connected(network)
        await asyncio.sleep(1)
        network.connections[0].half_close(network.connections[0].server)
        await asyncio.sleep(1)
        assert client.events == ["made", "eof", "lost in order"]

    assert simulated(body).events[-1] == "lost in order"


def test_a_forgotten_connection_is_reset_by_what_it_sends() -> None:
    async def body(network: Network, server: Seen) -> None:
        transport, client = await connected(network)
        await asyncio.sleep(1)
        network.connections[0].forget()
        server.transport.close()
        await asyncio.sleep(1)
        assert client.events == ["made"]
        transport.write(b"never there")
        await asyncio.sleep(1)
        assert client.events == ["made", "lost ConnectionResetError"] and not server.data

    simulated(body)


def test_data_for_an_end_that_has_closed_is_answered_by_a_reset() -> None:
    async def body(network: Network, server: Seen) -> None:
        transport, client = await connected(network)
        await asyncio.sleep(1)
        network.connections[0].stall(network.connections[0].server, None)
        server.transport.close()
        await asyncio.sleep(1)
        transport.write(b"too late")
        await asyncio.sleep(1)
        assert client.events == ["made", "lost ConnectionResetError"]

    simulated(body)


@pytest.mark.parametrize(
    ("urgent", "arrives"), [(Urgent.IN_PLACE, True), (Urgent.LATE, True), (Urgent.NEVER, False)]
)
def test_an_urgent_byte(urgent: Urgent, arrives: bool) -> None:
    async def body(network: Network, server: Seen) -> None:
        transport, _ = await connected(network)
        sockets = UrgentSockets(network)
        with sockets.socket(fileno=sockets.dup(transport.get_extra_info("socket").fileno())) as beside:
            assert beside.send(b"B", sockets.MSG_OOB) == 1
        await asyncio.sleep(1)
        transport.abort()
        await asyncio.sleep(1)

    assert any("urgent" in event for event in simulated(body, urgent=urgent).events) == arrives


def test_mixed_urgent_bytes_arrive_or_not() -> None:
    async def body(network: Network, server: Seen) -> None:
        transport, _ = await connected(network)
        await asyncio.sleep(1)
        for _ in range(20):
            transport.send_urgent(b"B")
            await asyncio.sleep(1)
        transport.abort()
        await asyncio.sleep(1)

    assert 0 < sum("urgent" in event for event in simulated(body, urgent=Urgent.MIXED).events) < 20


def test_an_early_urgent_byte_overtakes_the_data_before_it() -> None:
    async def body(network: Network, server: Seen) -> None:
        transport, _ = await connected(network)
        await asyncio.sleep(1)
        transport.write(b"data")
        transport.send_urgent(b"B")
        await asyncio.sleep(1)
        transport.abort()
        await asyncio.sleep(1)

    assert "urgent after 0" in simulated(body, urgent=Urgent.EARLY).events


def test_names() -> None:
    async def body(network: Network, server: Seen) -> None:
        found = await network.loop.getaddrinfo("db1", PORT)
        assert found[0][4] == (IP, PORT)
        with pytest.raises(socket.gaierror):
            await network.loop.getaddrinfo("db2", PORT)
        network.lookup_time, began = 3.0, network.loop.time()
        await network.loop.getaddrinfo("db1", PORT)
        assert 3 <= network.loop.time() - began < 3.1
        network.failing_names["db1"] = socket.EAI_AGAIN
        with pytest.raises(socket.gaierror):
            await network.loop.getaddrinfo("db1", PORT)

    simulated(body)
