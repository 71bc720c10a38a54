"""A request whose client has gone is cancelled: step by step, and under uvicorn with clients that hang up."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

import aioifx
from aioifx.asgi import CancelWhenGone
from aioifx.server import Server, ServerOptions, serve
from tests.injection import eventually
from tests.uvicorn_server import Uvicorn

DONE: Message = {"type": "http.response.body", "body": b"", "more_body": False}


class Peer:
    """The server's side of a request: the client hangs up when the test says so."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.sent: list[Message] = []

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)


async def test_a_request_is_cancelled_when_its_client_has_gone() -> None:
    peer, outcome = Peer(), asyncio.get_running_loop().create_future()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        peer.gone.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            outcome.set_result("cancelled")
            raise

    await CancelWhenGone(app)({"type": "http"}, peer.receive, peer.send)
    assert await outcome == "cancelled"


async def test_a_message_after_the_response_cancels_nothing() -> None:
    peer, steps = Peer(), 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal steps
        await send(DONE)
        peer.gone.set()
        for _ in range(10):
            await asyncio.sleep(0)
            steps += 1

    await CancelWhenGone(app)({"type": "http"}, peer.receive, peer.send)
    assert (peer.sent, steps) == ([DONE], 10)


async def test_a_request_reads_its_body_through_it_piece_by_piece() -> None:
    pieces = [{"type": "http.request", "body": bytes([n]), "more_body": n < 4} for n in range(5)]
    taken: list[Message] = []
    arrived = iter(pieces)

    async def receive() -> Message:
        return next(arrived, None) or await asyncio.get_running_loop().create_future()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        taken.extend([await receive() for _ in pieces])
        await send(DONE)

    await CancelWhenGone(app)({"type": "http"}, receive, Peer().send)
    assert taken == pieces


async def test_an_error_of_the_request_goes_through_it() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise LookupError("itself")

    with pytest.raises(LookupError, match="itself"):
        await CancelWhenGone(app)({"type": "http"}, Peer().receive, Peer().send)


async def test_a_cancellation_by_the_server_is_not_swallowed() -> None:
    begun = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await asyncio.get_running_loop().create_future()

    whole = asyncio.create_task(CancelWhenGone(app)({"type": "http"}, Peer().receive, Peer().send))
    await begun.wait()
    whole.cancel()
    with pytest.raises(asyncio.CancelledError):
        await whole


async def test_anything_but_a_request_passes_untouched() -> None:
    seen: list[object] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend((scope, receive, send))

    scope, peer = {"type": "lifespan"}, Peer()
    receive, send = peer.receive, peer.send
    await CancelWhenGone(app)(scope, receive, send)
    assert seen == [scope, receive, send]


# -- under uvicorn ----------------------------------------------------------------------------------------------------

ENDLESS = "select count(*) from " + ", ".join(f"systables t{number}" for number in range(12))


def starlette_app(pool: aioifx.Pool) -> Any:
    async def query(request: Request) -> JSONResponse:
        await request.body()
        return JSONResponse(await pool.fetchval(ENDLESS))

    async def ready(request: Request) -> JSONResponse:
        return JSONResponse(await pool.fetchval("select count(*) from systables where tabid = 1"))

    app = Starlette(routes=[Route("/", query, methods=["GET", "POST"]), Route("/ready", ready)])
    app.add_middleware(CancelWhenGone)
    return app


def fastapi_app(pool: aioifx.Pool) -> Any:
    app = FastAPI()
    app.add_middleware(CancelWhenGone)

    @app.api_route("/", methods=["GET", "POST"])
    async def query() -> Any:
        return await pool.fetchval(ENDLESS)

    @app.get("/ready")
    async def ready() -> Any:
        return await pool.fetchval("select count(*) from systables where tabid = 1")

    return app


@asynccontextmanager
async def answering(app: Any) -> AsyncIterator[int]:
    """The port on which *app* answers."""
    server = Uvicorn(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=5))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(server.serve([listener]))
        try:
            async with asyncio.timeout(10):
                await server.ready.wait()
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await serving


async def asked(port: int, request: bytes) -> asyncio.StreamWriter:
    """The connection on which *request* was sent."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    return writer


GET = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\nbody"


@pytest.fixture
async def shop() -> AsyncIterator[Server]:
    async with serve(ServerOptions(databases=("shop",))) as server:
        yield server


@pytest.mark.sampled
@pytest.mark.parametrize("make", [starlette_app, fastapi_app])
@pytest.mark.parametrize("request_bytes", [GET, POST], ids=["GET", "POST"])
@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
async def test_a_client_that_hangs_up_frees_its_connection(
    shop: Server, make: Callable[[aioifx.Pool], Any], request_bytes: bytes, reset: bool
) -> None:
    async with aioifx.create_pool(shop.dsn, max_size=1) as pool, answering(make(pool)) as port:
        running = await asked(port, request_bytes)
        await eventually(lambda: any(session.running for session in shop.stats.sessions))
        waiting = [await asked(port, request_bytes) for _ in range(3)]
        await eventually(lambda: pool.stats.waiting == 3)
        for writer in (*waiting, running):
            if reset:
                writer.transport.abort()
            else:
                writer.close()
        await eventually(lambda: (pool.stats.in_use, pool.stats.waiting) == (0, 0))
        await eventually(lambda: shop.stats.interrupts >= 1)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /ready HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"1")
        assert pool.stats.opened == 1
