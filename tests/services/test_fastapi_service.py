"""What is FastAPI's own about its service: lifespan, dependencies, and the request that ends with its client."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

import aioifx
from aioifx.server import Server
from examples.fastapi_service import CancelWhenGone, service
from tests.services.programs import program


@pytest.fixture
async def app(shop: Server) -> AsyncIterator[FastAPI]:
    app = service(shop.dsn, max_size=3)
    async with app.router.lifespan_context(app):
        yield app


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client:
        yield client


async def test_the_pool_lives_as_long_as_the_application(shop: Server) -> None:
    app = service(shop.dsn)
    async with app.router.lifespan_context(app):
        pool: aioifx.Pool = app.state.pool
        assert pool.stats.idle == len(shop.stats.sessions) == 1
    assert pool.stats.size == 0
    with pytest.raises(aioifx.PoolClosed):
        await pool.acquire()


async def test_without_an_address_it_brings_its_own_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIOIFX_DSN", raising=False)
    app = service()
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client,
    ):
        assert [item["sku"] for item in (await client.get("/items")).json()] == ["PEN-1", "LAMP-1"]


async def test_the_address_comes_from_the_environment(shop: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIOIFX_DSN", shop.dsn)
    app = service()
    async with app.router.lifespan_context(app):
        assert len(shop.stats.sessions) == 1


async def test_the_application_does_not_start_without_its_server() -> None:
    app = service("informix://127.0.0.1:1/shop?server=nobody")
    with pytest.raises(aioifx.ConnectError):
        async with app.router.lifespan_context(app):
            pass


async def test_the_service_describes_itself(client: httpx.AsyncClient) -> None:
    described = (await client.get("/openapi.json")).json()
    assert set(described["paths"]) == {"/health", "/items", "/items/{item_id}", "/transfers", "/movements"}
    assert set(described["components"]["schemas"]) >= {"Item", "NewItem", "Transfer"}


async def test_health_is_what_the_pool_says(app: FastAPI, client: httpx.AsyncClient) -> None:
    await asyncio.gather(*(client.get("/items/1") for _ in range(9)))
    health = (await client.get("/health")).json()
    assert (health["max_size"], health["acquired"], health["in_use"], health["waiting"]) == (3, 9, 0, 0)


async def test_only_a_stream_holds_its_connection_while_it_is_sent(app: FastAPI) -> None:
    pool: aioifx.Pool = app.state.pool
    for path, lent in (("/items", 0), ("/movements", 1)):
        peer = Peer(while_sending=lambda: pool.stats.in_use)
        await app(request_for(path), peer.receive, peer.send)
        assert set(peer.seen) == {lent}, path
    assert pool.stats.in_use == 0


def request_for(path: str) -> Scope:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "query_string": b"",
        "headers": [],
    }


# -- CancelWhenGone ---------------------------------------------------------------------------------------------------

DONE: Message = {"type": "http.response.body", "body": b"", "more_body": False}


class Peer:
    """The server's side of a request: the client hangs up when the test says so."""

    def __init__(self, while_sending: Callable[[], object] = lambda: None) -> None:
        self.gone = asyncio.Event()
        self.sent: list[Message] = []
        self.seen: list[object] = []
        self._look = while_sending

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        self.seen.append(self._look())


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


async def test_what_comes_behind_an_answer_cancels_nothing() -> None:
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


async def test_what_is_no_request_passes_untouched() -> None:
    seen: list[object] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend((scope, receive, send))

    scope, peer = {"type": "lifespan"}, Peer()
    receive, send = peer.receive, peer.send
    await CancelWhenGone(app)(scope, receive, send)
    assert seen == [scope, receive, send]


# -- as a program -----------------------------------------------------------------------------------------------------


async def test_it_runs_as_a_program_and_ends_at_sigterm() -> None:
    async with program("fastapi_service.py", PORT="0") as service:
        address = await service.prints(r"http://127\.0\.0\.1:\d+")
        async with httpx.AsyncClient(base_url=address[0]) as client:
            assert (await client.get("/items/1")).json()["sku"] == "PEN-1"
        service.signal()
        # uvicorn, when all is done, ends by the signal that it got
        assert await service.exit_code() in (0, -signal.SIGTERM)
    assert "Application shutdown complete" in service.output
    assert not re.search("Traceback|Warning", service.output)
