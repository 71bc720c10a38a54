"""The parts of the aiohttp service that are specific to aiohttp, with its own client."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
from aiohttp import ClientPayloadError, ClientSession
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application, AppRunner, Request

import aioifx
from aioifx.server import Server
from examples.aiohttp_service import POOL, service
from tests.injection import eventually
from tests.system.services.programs import program
from tests.system.services.test_both_services import fill

Client = TestClient[Request, Application]


@pytest.fixture
async def client(shop: Server) -> AsyncIterator[Client]:
    server = TestServer(service(shop.dsn, max_size=3))
    async with TestClient(server) as client:
        yield client


def pool_of(client: Client) -> aioifx.Pool:
    assert client.app is not None
    return client.app[POOL]


async def test_the_pool_lives_as_long_as_the_application(shop: Server) -> None:
    async with TestClient(TestServer(service(shop.dsn))) as client:
        pool = pool_of(client)
        assert pool.stats.idle == len(shop.stats.sessions) == 1
    assert pool.stats.size == 0
    with pytest.raises(aioifx.PoolClosed):
        await pool.acquire()


async def test_without_an_address_it_brings_its_own_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIOIFX_DSN", raising=False)
    async with TestClient(TestServer(service())) as client:
        items = await (await client.get("/items")).json()
    assert [item["sku"] for item in items] == ["PEN-1", "LAMP-1"]


async def test_the_application_does_not_start_without_its_server() -> None:
    runner = AppRunner(service("informix://127.0.0.1:1/shop?server=nobody"))
    with pytest.raises(aioifx.ConnectError):
        await runner.setup()
    await runner.cleanup()


async def test_health_is_what_the_pool_says(client: Client) -> None:
    await asyncio.gather(*(client.get("/items/1") for _ in range(9)))
    health = await (await client.get("/health")).json()
    assert (health["max_size"], health["acquired"], health["in_use"], health["waiting"]) == (3, 9, 0, 0)


async def test_an_error_in_the_middle_of_a_stream_breaks_the_response_off(
    client: Client, shop: Server
) -> None:
    async with aioifx.connect(shop.dsn) as conn:
        await fill(conn)
    answer = await client.get("/movements")
    assert answer.status == 200
    pool_of(client).terminate()
    with pytest.raises(ClientPayloadError):
        async for _ in answer.content.iter_any():
            pass


async def test_an_error_before_the_first_row_has_its_own_status(client: Client) -> None:
    pool_of(client).terminate()
    answer = await client.get("/movements")
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")


@pytest.mark.exhaustive
async def test_it_runs_as_a_program_and_ends_at_sigterm() -> None:
    async with program("aiohttp_service.py", PORT="0") as service:
        address = await service.prints(r"http://127\.0\.0\.1:\d+")
        async with ClientSession(address[0]) as client, client.get("/items/1") as answer:
            assert (await answer.json())["sku"] == "PEN-1"
        service.signal()
        assert await service.exit_code() == 0
    assert not re.search("Traceback|Warning", service.output)


@pytest.mark.exhaustive
async def test_as_a_program_it_cancels_requests_whose_client_has_gone(
    shop: Server, conn: aioifx.Connection
) -> None:
    transfer = {"item": 1, "source": "depot", "target": "shop", "pieces": 1}
    async with program("aiohttp_service.py", PORT="0", AIOIFX_DSN=shop.dsn) as service:
        address = await service.prints(r"http://127\.0\.0\.1:\d+")
        async with ClientSession(address[0]) as client, conn.transaction():
            await conn.execute("UPDATE stock SET pieces = pieces")
            request = asyncio.ensure_future(client.post("/transfers", json=transfer).__aenter__())
            await eventually(lambda: any(session.waiting for session in shop.stats.sessions))
            request.cancel()
            await eventually(lambda: shop.stats.interrupts == 1)
