from __future__ import annotations

import asyncio
import os
import select
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager

import pytest

from aioifx.server.protocol.oob import Watch
from tests.injection import eventually
from tests.scripted import MemoryTransport

uvloop = pytest.importorskip("uvloop")

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


class Heard(asyncio.Protocol):
    """The server's end of a connection: what came in the stream, and beside it."""

    def __init__(self) -> None:
        self.data = b""
        self.urgent = 0
        self.lost = asyncio.Event()
        self.watch: Watch | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.watch = Watch(transport, self._count)

    def _count(self) -> None:
        self.urgent += 1

    def has_heard(self, count: int) -> Callable[[], bool]:
        return lambda: self.urgent == count

    def data_received(self, data: bytes) -> None:
        self.data += data

    def connection_lost(self, exc: Exception | None) -> None:
        assert self.watch is not None
        self.watch.close()
        self.lost.set()


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[socket.socket, Heard]]:
    """A client's socket, and what is heard at the other end."""
    heard = Heard()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: heard, "127.0.0.1", 0)
    with socket.create_connection(server.sockets[0].getsockname()) as client:
        await eventually(lambda: heard.watch)
        yield client, heard
    await asyncio.wait_for(heard.lost.wait(), 10)
    server.close()
    await server.wait_closed()


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))


async def hear_a_byte_beside_the_stream() -> None:
    async with connected() as (client, heard):
        client.send(b"before ")
        client.send(b"B", socket.MSG_OOB)
        client.send(b"behind")
        await eventually(lambda: heard.data == b"before behind" and heard.urgent)
        assert heard.urgent == 1


async def hear_each_of_several_bytes() -> None:
    async with connected() as (client, heard):
        for count in range(1, 4):
            client.send(b"B", socket.MSG_OOB)
            await eventually(heard.has_heard(count))
        client.send(b"end")
        await eventually(lambda: heard.data == b"end")


async def be_deaf_for_other_bytes() -> None:
    real_read, seen = Watch._read, list[bytes]()

    def read(watch: Watch) -> bytes:
        seen.append(real_read(watch))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Watch, "_read", read)
        async with connected() as (client, heard):
            client.send(b"C", socket.MSG_OOB)
            await eventually(lambda: seen == [b"C"])
            client.send(b"B", socket.MSG_OOB)
            await eventually(lambda: heard.urgent)
            assert heard.urgent == 1


async def hear_a_byte_that_the_stream_was_read_past() -> None:
    async with connected() as (client, heard):
        client.send(b"B", socket.MSG_OOB)
        client.send(b"behind")
        assert heard.watch is not None and heard.watch._socket is not None
        waiting = select.poll()
        waiting.register(heard.watch._socket, select.POLLIN)
        assert waiting.poll(10_000)  # in this turn of the loop, which has both to handle
        assert heard.watch._socket.recv(100) == b"behind"
        heard.watch._look()
        assert heard.urgent == 1


async def be_quiet_when_the_client_resets_the_connection() -> None:
    async with connected() as (client, heard):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
        await asyncio.wait_for(heard.lost.wait(), 10)
    assert heard.urgent == 0


async def leave_no_descriptor() -> None:
    async with connected():  # what a loop opens for itself
        pass
    before = descriptors()
    for _ in range(5):
        async with connected() as (client, heard):
            client.send(b"B", socket.MSG_OOB)
            await eventually(heard.has_heard(1))
            assert heard.watch is not None
            heard.watch.close()
    assert descriptors() == before


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    "scene",
    [
        hear_a_byte_beside_the_stream,
        hear_each_of_several_bytes,
        hear_a_byte_that_the_stream_was_read_past,
        be_deaf_for_other_bytes,
        be_quiet_when_the_client_resets_the_connection,
        leave_no_descriptor,
    ],
    ids=lambda scene: scene.__name__,
)
def test_a_watch_can(scene: Callable[[], Coroutine[None, None, None]], loop: str) -> None:
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(scene())


async def test_where_there_is_no_socket_nothing_can_come() -> None:
    watch = Watch(MemoryTransport(asyncio.Protocol()), lambda: None)
    watch.close()
    watch.close()
