"""The service on SQLAlchemy's async sessions, over sockets; nothing is left behind, whatever the clients do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from sqlalchemy import NullPool
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

import aioifx
from aioifx.server import Server, ServerOptions, serve
from examples import sqlalchemy_service
from tests.injection import eventually
from tests.system.services.conftest import Running, serving
from tests.system.services.programs import program
from tests.system.services.test_both_services import check_answers, storm, transfer

POOL = 5
MOVEMENTS = 2**12
"""Rows of the large result: far more than what fits into all buffers on the way."""


@dataclass
class Service:
    """It runs, in this event loop."""

    url: str
    engine: AsyncEngine
    pool: aioifx.Pool | None = None
    """What the engine has its connections from, if not from SQLAlchemy's pool."""

    def in_use(self) -> int:
        if self.pool is not None:
            return self.pool.stats.in_use
        pool: Any = self.engine.pool
        used: int = pool.checkedout()
        return used

    def client(self) -> httpx.AsyncClient:
        return Running(self.url, None, lambda: None).client()  # type: ignore[arg-type]


@asynccontextmanager
async def running(dsn: str, **options: Any) -> AsyncIterator[Service]:
    app = sqlalchemy_service.service(dsn, pool_size=POOL, **options)
    async with serving(app) as (url, _):
        yield Service(url, app.state.engine)


@pytest.fixture
async def shop() -> AsyncIterator[Server]:
    async with serve(ServerOptions(databases=("shop",))) as server:
        yield server


@asynccontextmanager
async def running_on_our_pool(dsn: str) -> AsyncIterator[Service]:
    """The service on an engine without a pool, which has its connections from aioifx's.

    What the service does with each new connection, the pool's `init` does: an engine without a pool would do it at each
    checkout, and aioifx's pool closes a connection with such settings.
    """

    async def keep_update_locks(conn: aioifx.Connection) -> None:
        await conn.execute("SET ENVIRONMENT RETAINUPDATELOCKS 'ALL'")

    def engine_for(dsn: str, **options: Any) -> AsyncEngine:
        return create_async_engine("informix+aioifx://", async_creator=pool.acquire, poolclass=NullPool)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlalchemy_service, "engine_for", engine_for)
        patch.setattr(sqlalchemy_service, "keep_update_locks", lambda *_: None)
        async with (
            aioifx.create_pool(
                dsn,
                max_size=POOL,
                acquire_timeout=20,
                autocommit=False,
                lock_wait=5,
                command_timeout=20,
                init=keep_update_locks,
            ) as pool,
            running(dsn) as service,
        ):
            service.pool = pool
            yield service


@pytest.fixture(params=[running, running_on_our_pool], ids=["sqlalchemy's pool", "our pool"])
async def service(shop: Server, request: pytest.FixtureRequest) -> AsyncIterator[Service]:
    """After the test, neither a task nor a session is left."""
    tasks = asyncio.all_tasks()
    async with request.param(shop.dsn) as service:
        yield service
    await eventually(lambda: not shop.stats.sessions)
    ours = {task for task in asyncio.all_tasks() - tasks if "serve" not in str(task.get_coro())}
    assert ours - {asyncio.current_task()} == set()


@pytest.fixture
async def client(service: Service) -> AsyncIterator[httpx.AsyncClient]:
    async with service.client() as client:
        yield client


@asynccontextmanager
async def beside(shop: Server) -> AsyncIterator[aioifx.Connection]:
    """A connection beside the service's."""
    async with aioifx.connect(shop.dsn) as conn:
        yield conn


async def fill(shop: Server) -> None:
    """MOVEMENTS rows into the table movement."""
    insert = (
        "INSERT INTO movement (item_id, source, target, pieces, at) VALUES (1, 'depot', 'shop', 0, CURRENT)"
    )
    double = (
        "INSERT INTO movement (item_id, source, target, pieces, at) "
        "SELECT item_id, source, target, pieces, at FROM movement"
    )
    async with beside(shop) as conn:
        await conn.execute(insert)
        while await conn.fetchval("SELECT COUNT(*) FROM movement") < MOVEMENTS:
            await conn.execute(double)


async def stock_of(conn: aioifx.Connection) -> dict[str, int]:
    return dict(await conn.fetch("SELECT place, pieces FROM stock WHERE item_id = 1"))


def is_at_rest(service: Service, shop: Server) -> bool:
    """Whether no connection is checked out, and nothing is open at the server."""
    return not service.in_use() and not any(
        session.cursors or session.in_transaction or session.running for session in shop.stats.sessions
    )


async def test_items_are_read_and_added(client: httpx.AsyncClient) -> None:
    lamp = (await client.get("/items/2")).json()
    assert lamp == {
        "id": 2,
        "sku": "LAMP-1",
        "name": "Desk lamp",
        "price": "35.25",
        "stock": [{"place": "depot", "pieces": 20}, {"place": "shop", "pieces": 3}],
    }
    assert (await client.get("/items/99")).status_code == 404
    new = {"sku": "PEN-2", "name": "Fountain pen", "price": "12.50"}
    assert (await client.post("/items", json=new)).json() == {"id": 3, **new, "stock": []}
    assert (await client.post("/items", json=new)).status_code == 409
    assert (await client.post("/items", json={**new, "sku": "ペン"})).status_code == 422
    found = (await client.get("/items", params={"name": "PEN", "after": 1, "limit": 1})).json()
    assert [item["sku"] for item in found] == ["PEN-2"]


async def test_a_transfer_is_all_or_nothing(client: httpx.AsyncClient, shop: Server) -> None:
    assert (await client.post("/transfers", json=transfer(1, 300))).status_code == 201
    back = transfer(1, 301, source="shop", target="depot")
    assert (await client.post("/transfers", json=back)).status_code == 409
    assert (await client.post("/transfers", json=transfer(7, 1))).status_code == 404
    async with beside(shop) as conn:
        assert await stock_of(conn) == {"shop": 300, "depot": 700}
        assert await conn.fetchval("SELECT COUNT(*) FROM movement") == 1


async def test_many_requests_at_once_share_the_pool(
    service: Service, client: httpx.AsyncClient, shop: Server
) -> None:
    requests = [client.post("/transfers", json=transfer(1, 7)) for _ in range(20)]
    requests += [client.get(f"/items/{1 + number % 2}") for number in range(20)]
    requests += [client.get("/movements") for _ in range(10)]
    answers = await asyncio.gather(*requests)
    assert [answer.status_code for answer in answers] == [201] * 20 + [200] * 30
    # An attempt to connect that was cancelled may still be logging in, or ending.
    await eventually(lambda: is_at_rest(service, shop) and len(shop.stats.sessions) <= POOL)
    async with beside(shop) as conn:
        assert await stock_of(conn) == {"shop": 140, "depot": 860}


async def test_a_large_result_comes_whole_and_in_order(
    service: Service, client: httpx.AsyncClient, shop: Server
) -> None:
    await fill(shop)
    async with client.stream("GET", "/movements", params={"after": 10}) as answer:
        ids = [json.loads(line)["id"] async for line in answer.aiter_lines()]
    assert ids == list(range(11, MOVEMENTS + 1))
    await eventually(lambda: is_at_rest(service, shop))


async def test_a_request_that_waits_too_long_for_a_connection_gets_retry_after(shop: Server) -> None:
    async with running(shop.dsn, pool_timeout=0.05) as service, service.client() as client:
        held = [await service.engine.connect() for _ in range(POOL)]
        answer = await client.get("/items/1")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert (await client.get("/health")).json()["in_use"] == POOL
        for conn in held:
            await conn.close()
        assert (await client.get("/items/1")).status_code == 200


# -- clients that hang up ---------------------------------------------------------------------------------------------


async def test_a_stream_whose_client_hangs_up_gives_its_connection_back(
    service: Service, client: httpx.AsyncClient, shop: Server
) -> None:
    await fill(shop)
    before = shop.stats.logins
    for _ in range(3):
        async with client.stream("GET", "/movements") as answer:
            async for _chunk in answer.aiter_raw():
                break
            assert service.in_use() == 1
        await eventually(lambda: is_at_rest(service, shop))
    assert (await client.get("/items/1")).status_code == 200
    assert shop.stats.logins - before <= 3  # an interrupt may cost its connection


async def test_a_statement_whose_client_hangs_up_is_interrupted(
    service: Service, client: httpx.AsyncClient, shop: Server
) -> None:
    async with beside(shop) as conn:
        async with conn.transaction():
            await conn.execute("UPDATE stock SET pieces = pieces WHERE item_id = 1")
            request = asyncio.create_task(client.post("/transfers", json=transfer(1, 10)))
            await eventually(lambda: any(session.waiting for session in shop.stats.sessions))
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
            await eventually(lambda: shop.stats.interrupts == 1)
            await eventually(lambda: not service.in_use())
        assert await stock_of(conn) == {"shop": 0, "depot": 1000}
    assert (await client.post("/transfers", json=transfer(1, 10))).status_code == 201


@pytest.mark.exhaustive
@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(3))
async def test_a_storm_of_clients_that_hang_up_leaves_nothing_behind(
    service: Service, client: httpx.AsyncClient, shop: Server, seed: int
) -> None:
    await fill(shop)
    await storm(client, seed, 2)
    # An attempt to connect that was cancelled may still be logging in, or ending.
    await eventually(lambda: is_at_rest(service, shop) and len(shop.stats.sessions) <= POOL)
    async with beside(shop) as conn:
        moved = await conn.fetchval("SELECT SUM(pieces) FROM movement")
        assert await stock_of(conn) == {"shop": moved, "depot": 1000 - moved}, (
            "each was booked whole or not at all"
        )
    await check_answers(client)


# -- as a program -----------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
async def test_it_runs_as_a_program() -> None:
    async with program("sqlalchemy_service.py", PORT="0") as service:
        address = await service.prints(r"http://127\.0\.0\.1:\d+")
        async with httpx.AsyncClient(base_url=address[0]) as client:
            assert (await client.get("/items/1")).json()["sku"] == "PEN-1"
        service.signal()
        await service.exit_code()
    assert "Application shutdown complete" in service.output
    assert "Traceback" not in service.output and "Warning" not in service.output
