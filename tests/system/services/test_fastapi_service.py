"""The parts of the FastAPI service that are specific to it: lifespan, dependencies, cancelled requests."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message, Scope

import aioifx
from aioifx.server import Server
from examples.fastapi_service import service
from tests.injection import eventually
from tests.system.services.programs import program


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
    for path, in_use in (("/items", 0), ("/movements", 1)):
        seen: set[int] = set()

        async def receive() -> Message:
            await asyncio.get_running_loop().create_future()
            return {}

        async def send(_: Message, seen: set[int] = seen) -> None:
            seen.add(pool.stats.in_use)

        await app(request_for(path), receive, send)
        assert seen == {in_use}, path
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


# -- the cache ---------------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
async def test_a_cached_item_is_forgotten_when_it_changes(shop: Server) -> None:
    app = service(shop.dsn, cached=True)
    async with app.router.lifespan_context(app):
        cache = app.state.cache
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop") as client:
            assert (await client.get("/items/1")).json()["price"] == "1.50"
            cache.items[1].name = "known"
            assert (await client.get("/items/1")).json()["name"] == "known"
            async with aioifx.connect(shop.dsn) as conn:
                await conn.execute("UPDATE item SET price = 2 WHERE id = 1")
            await eventually(lambda: 1 not in cache.items)
            assert (await client.get("/items/1")).json()["price"] == "2.00"


@pytest.mark.exhaustive
async def test_the_cache_ends_with_the_application(shop: Server) -> None:
    app = service(shop.dsn, cached=True)
    async with app.router.lifespan_context(app):
        assert app.state.cache is not None
    assert app.state.cache is None


# -- as a program -----------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
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
