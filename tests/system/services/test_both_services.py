"""The common behaviour of both services, over sockets; nothing is left behind, whatever the clients do."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Coroutine
from typing import Any

import httpx
import pytest

import aioifx
from aioifx.server import Server
from tests.injection import eventually
from tests.system.services.conftest import Running, Start

MOVEMENTS = 2**14
"""Rows of the large result: far more than what fits into all buffers on the way."""


async def fill(conn: aioifx.Connection) -> None:
    """MOVEMENTS rows into the table movement."""
    await conn.execute("INSERT INTO movement (item, source, target, pieces) VALUES (1, 'depot', 'shop', 0)")
    double = "INSERT INTO movement (item, source, target, pieces) SELECT item, source, target, pieces FROM movement"
    while await conn.fetchval("SELECT COUNT(*) FROM movement") < MOVEMENTS:
        await conn.execute(double)


def transfer(item: int, pieces: int, source: str = "depot", target: str = "shop") -> dict[str, Any]:
    return {"item": item, "source": source, "target": target, "pieces": pieces}


async def stock_of(conn: aioifx.Connection, item: int) -> dict[str, int]:
    return dict(await conn.fetch("SELECT place, pieces FROM stock WHERE item = ?", item))


def is_at_rest(service: Running, shop: Server) -> bool:
    """Whether no task holds or awaits a connection, and nothing is open at the server."""
    stats = service.pool.stats
    left = any(
        session.cursors or session.in_transaction or session.running for session in shop.stats.sessions
    )
    return not (stats.in_use or stats.waiting or stats.opening or left)


# -- requests and answers ---------------------------------------------------------------------------------------------


async def test_an_item_is_found_by_its_id(client: httpx.AsyncClient) -> None:
    answer = await client.get("/items/2")
    assert answer.status_code == 200
    assert answer.json() == {"id": 2, "sku": "LAMP-1", "name": "Desk lamp", "price": "35.25"}


async def test_an_item_that_is_not_there_is_not_found(client: httpx.AsyncClient) -> None:
    assert (await client.get("/items/99")).status_code == 404


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ({}, [1, 2]),
        ({"below": "10"}, [1]),
        ({"above": "10"}, [2]),
        ({"above": "1.5", "below": "35.25"}, []),
        ({"name": "*lamp"}, [2]),
        ({"name": "' OR 'x' = 'x"}, []),
        ({"limit": "1"}, [1]),
        ({"after": "1", "limit": "1"}, [2]),
    ],
)
async def test_items_are_filtered(client: httpx.AsyncClient, query: dict[str, str], ids: list[int]) -> None:
    answer = await client.get("/items", params=query)
    assert answer.status_code == 200
    assert [item["id"] for item in answer.json()] == ids


@pytest.mark.sampled
@pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": "many"}, {"below": "cheap"}, {"after": "x"}])
async def test_filters_that_make_no_sense_are_refused(
    client: httpx.AsyncClient, query: dict[str, str]
) -> None:
    assert (await client.get("/items", params=query)).status_code == 422


async def test_an_item_is_added_once(client: httpx.AsyncClient) -> None:
    new = {"sku": "PEN-2", "name": "Fountain pen", "price": "12.50"}
    answer = await client.post("/items", json=new)
    assert answer.status_code == 201
    assert answer.json() == {"id": 3, **new}
    assert (await client.get("/items/3")).json() == {"id": 3, **new}

    again = await client.post("/items", json=new)
    assert again.status_code == 409
    assert "u_item_sku" in again.json()["detail"]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "body",
    [
        b"no json",
        b"[]",
        b'{"sku": "X", "name": "no price"}',
        b'{"sku": "X", "name": "negative", "price": -1}',
        b'{"sku": "X", "name": "fractions of a cent", "price": "1.001"}',
        b'{"sku": "X", "name": "", "price": 1}',
        b'{"sku": "much too long", "name": "x", "price": 1}',
        '{"sku": "X", "name": "not in the database\'s code set: ペン", "price": 1}'.encode(),
    ],
)
async def test_an_item_that_makes_no_sense_is_refused(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await client.post("/items", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert len((await client.get("/items")).json()) == 2


async def test_a_transfer_is_all_or_nothing(client: httpx.AsyncClient, conn: aioifx.Connection) -> None:
    assert (await client.post("/transfers", json=transfer(1, 300))).status_code == 201
    too_many = await client.post("/transfers", json=transfer(1, 301, source="shop", target="depot"))
    assert too_many.status_code == 409
    assert "c_stock_pieces" in too_many.json()["detail"]
    assert (await client.post("/transfers", json=transfer(7, 1))).status_code == 404
    assert (await client.post("/transfers", json=transfer(1, 1, target="moon"))).status_code == 422
    assert (await client.post("/transfers", json=transfer(1, 0))).status_code == 422

    assert await stock_of(conn, 1) == {"shop": 300, "depot": 700}
    assert await conn.fetch("SELECT item, source, target, pieces FROM movement") == [
        (1, "depot", "shop", 300)
    ]


async def test_a_transfer_whose_second_half_fails_has_no_first_half(
    client: httpx.AsyncClient, conn: aioifx.Connection
) -> None:
    await conn.execute("DELETE FROM stock WHERE item = 2 AND place = 'shop'")
    assert (await client.post("/transfers", json=transfer(2, 5))).status_code == 404
    assert await stock_of(conn, 2) == {"depot": 20}


async def test_a_transfer_that_meets_a_lock_is_done_after_it(
    client: httpx.AsyncClient, conn: aioifx.Connection, shop: Server
) -> None:
    async with conn.transaction():
        await conn.execute("UPDATE stock SET pieces = pieces + 1 WHERE item = 1 AND place = 'depot'")
        request = asyncio.create_task(client.post("/transfers", json=transfer(1, 1000)))
        await eventually(lambda: any(session.waiting for session in shop.stats.sessions))
    assert (await request).status_code == 201
    assert await stock_of(conn, 1) == {"shop": 1000, "depot": 1}


async def test_a_read_that_meets_a_lock_is_answered_after_it(
    client: httpx.AsyncClient, conn: aioifx.Connection, shop: Server
) -> None:
    async with conn.transaction():
        await conn.execute("UPDATE item SET name = 'Mug' WHERE id = 1")
        request = asyncio.create_task(client.get("/items/1"))
        await eventually(lambda: any(session.waiting for session in shop.stats.sessions))
    answer = await request
    assert (answer.status_code, answer.json()["name"]) == (200, "Mug")


async def test_a_large_result_comes_whole_and_in_order(
    client: httpx.AsyncClient, conn: aioifx.Connection
) -> None:
    await fill(conn)
    async with client.stream("GET", "/movements", params={"after": 10}) as answer:
        assert answer.headers["content-type"] == "application/x-ndjson"
        ids = [json.loads(line)["id"] async for line in answer.aiter_lines()]
    assert ids == list(range(11, MOVEMENTS + 1))


async def test_a_result_without_rows_is_an_empty_answer(client: httpx.AsyncClient) -> None:
    answer = await client.get("/movements")
    assert (answer.status_code, answer.content) == (200, b"")


# -- the pool ---------------------------------------------------------------------------------------------------------


async def test_fifty_requests_at_once_share_five_connections(
    service: Running, client: httpx.AsyncClient, conn: aioifx.Connection, shop: Server
) -> None:
    requests = [client.post("/transfers", json=transfer(1, 7)) for _ in range(20)]
    requests += [client.get(f"/items/{1 + number % 2}") for number in range(20)]
    requests += [client.get("/movements") for _ in range(10)]
    answers = await asyncio.gather(*requests)

    assert [answer.status_code for answer in answers] == [201] * 20 + [200] * 30
    assert await stock_of(conn, 1) == {"shop": 140, "depot": 860}
    await eventually(lambda: is_at_rest(service, shop))
    stats = service.pool.stats
    assert 1 <= stats.idle == stats.size <= 5
    assert (stats.acquired, stats.failed, stats.rejected, stats.timed_out) == (50, 0, 0, 0)


async def test_a_request_that_waits_too_long_for_a_connection_gets_retry_after(
    start: Start, shop: Server
) -> None:
    async with start(shop.dsn, max_size=1, acquire_timeout=0.05) as service, service.client() as client:
        async with service.pool.acquire():
            answer = await client.get("/items/1")
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            health = await client.get("/health")
            assert (health.status_code, health.json()["in_use"]) == (200, 1)
        await eventually(lambda: is_at_rest(service, shop))
        assert (await client.get("/items/1")).status_code == 200


async def test_errors_do_not_cost_connections(
    service: Running, client: httpx.AsyncClient, shop: Server
) -> None:
    for body in (transfer(1, 5000), transfer(9, 1)) * 5:
        assert (await client.post("/transfers", json=body)).status_code in (404, 409)
    await eventually(lambda: is_at_rest(service, shop))
    assert (service.pool.stats.opened, service.pool.stats.size) == (1, 1)


# -- clients that hang up ---------------------------------------------------------------------------------------------


async def test_a_stream_whose_client_hangs_up_gives_its_connection_back(
    service: Running, client: httpx.AsyncClient, conn: aioifx.Connection, shop: Server
) -> None:
    await fill(conn)
    for _ in range(3):
        async with client.stream("GET", "/movements") as answer:
            async for _chunk in answer.aiter_raw():
                break
            assert service.pool.stats.in_use == 1
            assert sum(session.cursors for session in shop.stats.sessions) == 1, (
                "the result is not at its end"
            )
        await eventually(lambda: is_at_rest(service, shop))
    assert service.pool.stats.opened == 1, "it is the same connection all the time"
    assert (await client.get("/items/1")).status_code == 200


async def test_a_statement_whose_client_hangs_up_is_interrupted(
    service: Running, client: httpx.AsyncClient, conn: aioifx.Connection, shop: Server
) -> None:
    async with conn.transaction():
        await conn.execute("UPDATE stock SET pieces = pieces WHERE item = 1")
        request = asyncio.create_task(client.post("/transfers", json=transfer(1, 10)))
        await eventually(lambda: any(session.waiting for session in shop.stats.sessions))
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        await eventually(lambda: shop.stats.interrupts == 1)
        await eventually(lambda: service.pool.stats.in_use == 0)
    assert await stock_of(conn, 1) == {"shop": 0, "depot": 1000}
    assert (await client.post("/transfers", json=transfer(1, 10))).status_code == 201


async def test_a_client_that_hangs_up_while_waiting_for_a_connection_leaves_the_queue(
    service: Running, client: httpx.AsyncClient
) -> None:
    held = [await service.pool.acquire() for _ in range(5)]
    requests = [asyncio.create_task(client.get("/items/1")) for _ in range(10)]
    await eventually(lambda: service.pool.stats.waiting == 10)
    for request in requests[1:]:
        request.cancel()
    await eventually(lambda: service.pool.stats.waiting == 1)
    for conn in held:
        await service.pool.release(conn)
    assert (await requests[0]).status_code == 200
    await asyncio.gather(*requests[1:], return_exceptions=True)
    assert (service.pool.stats.in_use, service.pool.stats.idle) == (0, 5)


async def cancelled_after(turns: int, request: Coroutine[Any, Any, Any]) -> bool:
    """Let the event loop turn so often, then hang up; whether the answer was there before."""
    task = asyncio.create_task(request)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    return not task.cancelled() and task.exception() is None


async def storm(client: httpx.AsyncClient, seed: int, rounds: int) -> None:
    """Rounds of 20 clients that hang up at any moment."""
    chance = random.Random(seed)

    async def drain(path: str) -> None:
        async with client.stream("GET", path) as answer:
            async for _ in answer.aiter_raw():
                pass

    def request() -> Coroutine[Any, Any, Any]:
        kinds = (
            lambda: client.get("/items"),
            lambda: client.post("/transfers", json=transfer(1, 1)),
            lambda: drain("/movements"),
        )
        return chance.choice(kinds)()

    for _ in range(rounds):
        await asyncio.gather(*(cancelled_after(chance.randrange(200), request()) for _ in range(20)))


async def check_answers(client: httpx.AsyncClient) -> None:
    """Each of 20 requests at a time has its own answer."""
    answers = await asyncio.gather(*(client.get(f"/items/{1 + n % 2}") for n in range(20)))
    assert [answer.json()["id"] for answer in answers] == [1, 2] * 10


@pytest.mark.exhaustive
async def test_a_storm_of_clients_that_hang_up_leaves_nothing_behind(
    service: Running, client: httpx.AsyncClient, conn: aioifx.Connection, shop: Server
) -> None:
    await fill(conn)
    await storm(client, 1, 5)
    await eventually(lambda: is_at_rest(service, shop))

    stats = service.pool.stats
    assert stats.idle == stats.size <= 5
    assert stats.timed_out == 0
    stock = await stock_of(conn, 1)
    moved = await conn.fetchval("SELECT SUM(pieces) FROM movement")
    assert (stock["shop"], stock["depot"]) == (moved, 1000 - stock["shop"]), (
        "each was booked whole or not at all"
    )
    await check_answers(client)


# -- the end ----------------------------------------------------------------------------------------------------------


async def test_shutting_down_waits_for_requests_in_flight(
    start: Start, shop: Server, conn: aioifx.Connection
) -> None:
    await fill(conn)
    async with start(shop.dsn, max_size=5) as service, service.client() as client:
        async with client.stream("GET", "/movements") as answer:
            lines = answer.aiter_lines()
            first = await anext(lines)
            stopping = asyncio.create_task(service.stop())
            rest = [line async for line in lines]
        await stopping
    assert len([first, *rest]) == MOVEMENTS
    assert service.pool.stats.size == 0
    await eventually(lambda: len(shop.stats.sessions) == 1)  # the test's own


async def test_shutting_down_without_grace_cancels_requests_in_flight(
    start: Start, shop: Server, conn: aioifx.Connection
) -> None:
    await conn.execute("BEGIN WORK")
    await conn.execute("UPDATE stock SET pieces = pieces WHERE item = 1")
    async with start(shop.dsn, max_size=5, patience=0) as service, service.client() as client:
        request = asyncio.create_task(client.post("/transfers", json=transfer(1, 10)))
        await eventually(lambda: any(session.waiting for session in shop.stats.sessions))
        await service.stop()
        with pytest.raises(httpx.HTTPError):  # uvicorn answers with 500, aiohttp hangs up
            (await request).raise_for_status()
    assert service.pool.stats.size == 0
    await eventually(lambda: len(shop.stats.sessions) == 1)
    await conn.execute("COMMIT WORK")
    assert await stock_of(conn, 1) == {"shop": 0, "depot": 1000}
