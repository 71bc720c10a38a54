"""Round trips and waits of operations, on a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

import aioifx
from aioifx.client.api.connection import statements_of
from aioifx.client.observation import observation
from aioifx.client.session.metered_dispatcher import MeteredDispatcher
from aioifx.server import Server, serve
from tests.client.observing import Recorder
from tests.injection import eventually

QUERY = "select tabname from systables where tabid < ?"


@pytest.fixture
async def server(tidy: None) -> AsyncIterator[Server]:
    async with asyncio.timeout(50), serve() as server:
        yield server


@pytest.mark.parametrize("pipelining", [False, True])
async def test_cleanup_belongs_to_no_operation(server: Server, pipelining: bool) -> None:
    recorder = Recorder()
    async with aioifx.connect(
        server.dsn, observer=recorder, pipelining=pipelining, statement_cache_size=0
    ) as conn:
        assert isinstance(statements_of(conn).session.dispatcher, MeteredDispatcher)
        for _ in range(3):
            async with conn.cursor() as cursor:  # leaves a cursor and a statement to release
                await cursor.execute("select tabname from systables")
        recorder.clear()
        channel = statements_of(conn).session.channel
        await conn.ping()
        before = channel.bytes_out
        for _ in range(3):
            await conn.fetch(QUERY, 4)
        sent = [operation.bytes_out for operation in recorder.ended]
        assert len({*sent}) == 1
        assert sum(sent) <= channel.bytes_out - before
        assert [operation.round_trips for operation in recorder.ended] == [3, 3, 3]
    recorder.check()


async def test_requests_from_within_a_reply_count(server: Server) -> None:
    recorder = Recorder()
    async with aioifx.connect(server.dsn, observer=recorder) as conn:
        await conn.execute("create table long (n int, t char(3000))")
        await conn.load("long", [(n, "x") for n in range(100)])
        before = conn.stats.round_trips
        await conn.fetch("select * from long")
        assert recorder.last.round_trips == conn.stats.round_trips - before > 5
        assert recorder.last.bytes_in > 300_000
    recorder.check()


async def test_a_call_after_another_waits_in_the_queue(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    seconds = 0.0
    monkeypatch.setattr(observation, "_now", lambda: seconds)
    async with aioifx.connect(server.dsn, observer=recorder) as conn:
        await conn.fetch(QUERY, 4)
        async with statements_of(conn).session:
            task = asyncio.create_task(conn.fetch(QUERY, 5))
            await eventually(lambda: len(recorder.started) > len(recorder.ended))
            seconds = 5.0
        assert len(await task) == 4
        assert recorder.last.queue_time == recorder.last.duration == 5
    recorder.check()
