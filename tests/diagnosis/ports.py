"""Ports where something else than SQLI listens, or nothing at all."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl as tls
from collections.abc import AsyncIterator, Callable, Iterator

Answer = Callable[[bytes], bytes | None]
"""From the first bytes of a client to what the server sends before it closes; None: it is silent."""


def http(request: bytes) -> bytes:
    return b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"


def patient_http(request: bytes) -> bytes | None:
    """Waits for the end of a line, as many servers do."""
    return http(request) if b"\n" in request else None


def drda(request: bytes) -> bytes:
    """A reply message with SYNTAXRM, as a DRDA server answers what is not DDM."""
    return bytes.fromhex("0010d0020001000a124c")


def silent(request: bytes) -> None:
    return None


def closing(request: bytes) -> bytes:
    return b""


@contextlib.asynccontextmanager
async def listening(
    answer: Answer, *, greeting: bytes = b"", ssl: tls.SSLContext | None = None
) -> AsyncIterator[tuple[int, bytearray]]:
    """A port, and everything that clients have sent to it."""
    received = bytearray()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(greeting)
        with contextlib.suppress(ConnectionError, tls.SSLError):
            request = await reader.read(4096)
            received.extend(request)
            if request and (reply := answer(request)) is not None:
                writer.write(reply)
                writer.close()
            else:
                await reader.read()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=ssl)
    try:
        yield server.sockets[0].getsockname()[1], received
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await server.wait_closed()


@contextlib.contextmanager
def closed() -> Iterator[int]:
    """A port where nothing listens, and nothing will: it is bound."""
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        yield own.getsockname()[1]


@contextlib.contextmanager
def dropping() -> Iterator[int]:
    """A port that leaves connections without an answer, as a firewall does: its queue is full."""
    with contextlib.ExitStack() as stack:
        own = stack.enter_context(socket.socket())
        own.bind(("127.0.0.1", 0))
        own.listen(0)
        for _ in range(4):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(own.getsockname())
        yield own.getsockname()[1]
