"""The asyncio client as a blocking module: cursors, streams, closing, cancelling."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool
from sqlalchemy.util.concurrency import greenlet_spawn

import aioifx
from aioifx.server import Server, ServerOptions, serve
from aioifx.sqlalchemy.adapters import AdaptedModule, await_
from tests.dbapi.conftest import Host
from tests.injection import eventually

TABLES = sa.text("SELECT tabid FROM systables ORDER BY tabid")


def test_the_module_has_the_names_of_pep_249() -> None:
    module: Any = AdaptedModule()
    assert (module.apilevel, module.threadsafety, module.paramstyle) == ("2.0", 2, "qmark")
    assert issubclass(module.IntegrityError, module.DatabaseError)
    assert module.Error is aioifx.Error
    assert module.Binary(b"x") == b"x"


async def test_a_stream_gives_the_rows_of_a_buffered_result(engine: AsyncEngine) -> None:
    async with engine.connect() as conn:
        expected = (await conn.execute(TABLES)).all()
        async with conn.stream(TABLES) as result:
            assert [row async for row in result] == expected
        async with conn.stream(TABLES) as result:
            assert await result.fetchmany(2) == expected[:2]
            assert await result.fetchone() == expected[2]
            assert await result.fetchall() == expected[3:]


async def test_a_stream_that_is_left_early_leaves_the_connection_usable(engine: AsyncEngine) -> None:
    async with engine.connect() as conn:
        async with conn.stream(TABLES) as result:
            await result.fetchone()
        assert await conn.scalar(TABLES) == 1


async def test_a_cancelled_statement_leaves_the_connection_usable(engine: AsyncEngine) -> None:
    waiting = sa.text("SELECT a.tabid FROM systables a, systables b, systables c, syscolumns d, syscolumns e")
    async with engine.connect() as conn:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await conn.execute(waiting)
    async with engine.connect() as conn:
        assert await conn.scalar(TABLES) == 1


async def test_dispose_ends_the_sessions() -> None:
    async with serve(ServerOptions()) as server:
        engine = create_async_engine(server.dsn.replace("informix://", "informix+aioifx://"))
        async with engine.connect() as one, engine.connect() as other:
            await one.scalar(TABLES)
            await other.scalar(TABLES)
            assert sessions(server) == 2
        await engine.dispose()
        await eventually(lambda: not sessions(server))


async def first_table(engine: AsyncEngine) -> Any:
    async with engine.connect() as conn:
        return await conn.scalar(TABLES)


def use_engines_in_several_loops(url: str) -> None:
    engine = create_async_engine(url, pool_pre_ping=True)
    assert [asyncio.run(first_table(engine)) for _ in range(2)] == [1, 1]
    asyncio.run(engine.dispose())
    assert asyncio.run(first_table(engine)) == 1
    asyncio.run(engine.dispose())

    engine = create_async_engine(url, pool_size=1, max_overflow=0)
    asyncio.run(first_table(engine))
    with pytest.raises(exc.InterfaceError, match="another event loop, which is closed") as caught:
        asyncio.run(first_table(engine))
    assert caught.value.connection_invalidated
    assert asyncio.run(first_table(engine)) == 1
    asyncio.run(engine.dispose())


@pytest.mark.filterwarnings(
    "ignore:unclosed:ResourceWarning"
)  # the loops were closed before their connections
def test_an_engine_outlives_the_event_loop_of_its_connections(caplog: pytest.LogCaptureFixture) -> None:
    with Host() as host:
        use_engines_in_several_loops(host.dsn.replace("informix://", "informix+aioifx://"))
        gc.collect()
    assert not caplog.records


def sessions(server: Server) -> int:
    return len(server.stats.sessions)


async def test_a_pool_of_aioifx_gets_its_connections_back(dsn: str) -> None:
    async with aioifx.create_pool(dsn, min_size=1, max_size=1) as pool:
        engine = create_async_engine("informix+aioifx://", async_creator=pool.acquire, poolclass=NullPool)
        for key in (1, 2):
            async with engine.begin() as conn:
                if key == 1:
                    await conn.execute(sa.text("CREATE TABLE t (k INTEGER)"))
                await conn.execute(sa.text("INSERT INTO t VALUES (:k)"), {"k": key})
                assert pool.stats.in_use == 1
            assert pool.stats.in_use == 0
        async with pool.acquire() as conn:
            assert conn.autocommit
            assert await conn.fetchval("SELECT SUM(k) FROM t") == 3
        assert pool.stats.size == 1


async def test_a_lost_connection_leaves_no_gap_in_a_pool_of_aioifx(dsn: str) -> None:
    async with aioifx.create_pool(dsn, min_size=1, max_size=1) as pool:
        engine = create_async_engine("informix+aioifx://", async_creator=pool.acquire, poolclass=NullPool)
        async with engine.connect() as conn:
            client = (await conn.get_raw_connection()).driver_connection
            assert client is not None
            client.terminate()
            with pytest.raises(exc.OperationalError):
                await conn.execute(TABLES)
            await conn.rollback()
            assert await conn.scalar(TABLES) == 1
            await conn.invalidate()
        async with engine.connect() as conn:
            assert await conn.scalar(TABLES) == 1
        assert pool.stats.in_use == 0


async def test_await_waits_in_the_event_loop_that_runs_the_greenlet() -> None:
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.call_soon(future.set_result, 7)
    assert await greenlet_spawn(await_, future) == 7
