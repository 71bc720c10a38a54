"""Documents of any size, up and down: constant memory, clients that hang up."""

from __future__ import annotations

import asyncio
import hashlib
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

import aioifx
from aioifx.server import Server, ServerOptions, serve
from examples.documents_service import DATABASE, SCHEMA, service
from tests.injection import eventually
from tests.system.services.conftest import Running, serving

CHUNK = "Grüße an alle, die hier lesen: ü€\n".encode() * 3000
MEMORY = 24 * 1024 * 1024
"""Bytes that service and embedded server may have alive at a time, whatever the size of a document."""


@pytest.fixture
async def documents() -> AsyncIterator[Server]:
    options = ServerOptions(databases=(DATABASE,), seed=SCHEMA)
    async with serve(options) as server:
        yield server


@asynccontextmanager
async def running(dsn: str) -> AsyncIterator[Running]:
    app = service(dsn, max_size=2)
    async with serving(app, patience=5) as (url, stop):
        yield Running(url, app.state.pool, stop)


@pytest.fixture
async def web(documents: Server) -> AsyncIterator[Running]:
    async with running(documents.dsn) as started:
        yield started


async def body(chunks: int, digest: hashlib._Hash | None = None) -> AsyncIterator[bytes]:
    for _ in range(chunks):
        if digest is not None:
            digest.update(CHUNK)
        yield CHUNK


async def until_idle(pool: aioifx.Pool) -> None:
    await eventually(lambda: not pool.stats.in_use)


async def count_of(server: Server, query: str) -> int:
    async with aioifx.connect(server.dsn) as conn:
        found: int = await conn.fetchval(query)
        return found


@pytest.mark.parametrize(
    "megabytes", [8, pytest.param(64, marks=[pytest.mark.exhaustive, pytest.mark.timeout(300)])]
)
async def test_a_document_goes_up_and_down_in_constant_memory(web: Running, megabytes: int) -> None:
    chunks = megabytes * 1024 * 1024 // len(CHUNK) + 1
    sent, received = hashlib.sha256(), hashlib.sha256()
    async with web.client() as client:
        await client.put("/documents/first", content=b"small")  # what is made once is made now
        assert (await client.get("/documents/first")).text == "small"
        tracemalloc.start()
        try:
            timeout = httpx.Timeout(120)
            done = await client.put("/documents/long", content=body(chunks, sent), timeout=timeout)
            assert done.status_code == 201
            async with client.stream("GET", "/documents/long", timeout=timeout) as response:
                assert response.headers["content-type"] == "text/plain; charset=utf-8"
                async for chunk in response.aiter_raw():
                    received.update(chunk)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert received.digest() == sent.digest()
    assert peak < MEMORY


async def test_a_client_that_hangs_up_in_the_middle_of_an_upload(web: Running, documents: Server) -> None:
    reached = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield CHUNK
        reached.set()
        await asyncio.Event().wait()

    async with web.client() as client:
        uploading = asyncio.create_task(client.put("/documents/half", content=endless()))
        await reached.wait()
        uploading.cancel()
        await asyncio.gather(uploading, return_exceptions=True)
        await until_idle(web.pool)
        assert (await client.get("/documents/half")).status_code == 404
        assert (await client.put("/documents/half", content=b"whole")).status_code == 201
        assert (await client.get("/documents/half")).text == "whole"
    assert await count_of(documents, "select count(*) from document") == 1


async def test_a_client_that_hangs_up_in_the_middle_of_a_download(web: Running) -> None:
    async with web.client() as client:
        assert (await client.put("/documents/long", content=body(60))).status_code == 201
        async with client.stream("GET", "/documents/long") as response:
            async for chunk in response.aiter_raw():
                assert chunk
                break
        await until_idle(web.pool)
        assert (await client.get("/documents/long")).content == CHUNK * 60
        assert web.pool.stats.size == 1


async def test_a_name_that_is_taken_or_missing(web: Running) -> None:
    async with web.client() as client:
        assert (await client.get("/documents/none")).status_code == 404
        for status in (201, 409):
            assert (await client.put("/documents/one", content=b"text")).status_code == status
        assert (await client.get("/documents/one")).text == "text"
