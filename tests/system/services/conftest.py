"""The services of examples/, running on sockets of this machine against an embedded server."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import uvicorn
from aiohttp import web

import aioifx
from aioifx.server import Server, ServerOptions, serve
from examples import aiohttp_service, fastapi_service
from tests.uvicorn_server import Uvicorn

SMALL = 16 * 1024
"""Bytes of a socket's buffers: a client that does not read is felt soon."""


@dataclass
class Running:
    """A service that answers."""

    url: str
    pool: aioifx.Pool
    stop: Callable[[], Any]
    """Awaited, it ends the service as SIGTERM would."""

    def client(self) -> httpx.AsyncClient:
        options = [(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL), (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
        transport = httpx.AsyncHTTPTransport(
            socket_options=options, limits=httpx.Limits(max_connections=None)
        )
        return httpx.AsyncClient(transport=transport, base_url=self.url, timeout=20)


Start = Callable[..., AbstractAsyncContextManager[Running]]


def listening() -> tuple[socket.socket, str]:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL)  # connections inherit it
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


@asynccontextmanager
async def serving(app: Any, patience: int = 20) -> AsyncIterator[tuple[str, Callable[[], Any]]]:
    """An application in uvicorn, which answers; its URL, and what ends it as SIGTERM would."""
    server = Uvicorn(uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=patience))
    listener, url = listening()
    running = asyncio.create_task(server.serve([listener]))

    async def stop() -> None:
        server.should_exit = True
        await running

    try:
        async with asyncio.timeout(20):
            await server.ready.wait()
        yield url, stop
    finally:
        await stop()
        listener.close()


@asynccontextmanager
async def fastapi(dsn: str, *, patience: int = 20, **options: Any) -> AsyncIterator[Running]:
    app = fastapi_service.service(dsn, **options)
    async with serving(app, patience) as (url, stop):
        yield Running(url, app.state.pool, stop)


@asynccontextmanager
async def aiohttp(dsn: str, *, patience: int = 20, **options: Any) -> AsyncIterator[Running]:
    app = aiohttp_service.service(dsn, **options)
    # aiohttp reads a timeout of 0 as no limit.
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=patience or 0.01)
    listener, url = listening()
    await runner.setup()
    try:
        await web.SockSite(runner, listener).start()
        yield Running(url, app[aiohttp_service.POOL], runner.cleanup)
    finally:
        await runner.cleanup()
        listener.close()


@pytest.fixture(params=[fastapi, aiohttp], ids=["fastapi", "aiohttp"])
def start(request: pytest.FixtureRequest) -> Start:
    """Start one service or the other."""
    begin: Start = request.param
    return begin


@pytest.fixture
async def shop() -> AsyncIterator[Server]:
    """An embedded server with the services' tables."""
    assert fastapi_service.SCHEMA == aiohttp_service.SCHEMA
    async with serve(ServerOptions(databases=("shop",), seed=fastapi_service.SCHEMA)) as server:
        yield server


@pytest.fixture
async def service(start: Start, shop: Server) -> AsyncIterator[Running]:
    async with start(shop.dsn, max_size=5) as running:
        yield running


@pytest.fixture
async def client(service: Running) -> AsyncIterator[httpx.AsyncClient]:
    async with service.client() as client:
        yield client


@pytest.fixture
async def conn(shop: Server) -> AsyncIterator[aioifx.Connection]:
    """A connection beside the service's."""
    async with aioifx.connect(shop.dsn) as conn:
        yield conn
