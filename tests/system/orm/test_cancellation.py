"""A session cancelled at each of its awaits: no connection stays checked out, and no transaction open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
import pytest_asyncio
import sqlalchemy
from sqlalchemy import NullPool, func, insert, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from aioifx.server import Server
from tests.injection import Manner, eventually, is_cancelled
from tests.system.orm.models import Item, Tag

pytestmark = pytest.mark.asyncio(loop_scope="module")

COUNT = 40


@pytest_asyncio.fixture(loop_scope="module")
async def stored(engine: AsyncEngine) -> AsyncIterator[AsyncEngine]:
    """An engine on a table with rows."""
    async with AsyncSession(engine) as session, session.begin():
        rows = [{"sku": f"SKU-{n}", "name": "x" * 60, "price": n} for n in range(COUNT)]
        await session.execute(insert(Item), rows)
    yield engine


async def read(engine: AsyncEngine) -> None:
    async with AsyncSession(engine) as session:
        assert len((await session.scalars(select(Item))).all()) == COUNT


async def write(engine: AsyncEngine) -> None:
    async with AsyncSession(engine) as session, session.begin():
        session.add_all([Tag(name="a"), Tag(name="b")])
        await session.flush()
        async with session.begin_nested():
            session.add(Tag(name="c"))


async def stream(engine: AsyncEngine) -> None:
    async with AsyncSession(engine) as session:
        result = await session.stream_scalars(select(Item), execution_options={"yield_per": 10})
        try:
            async for _ in result.partitions():
                pass
        finally:
            await result.close()


async def connect(engine: AsyncEngine) -> None:
    """On a connection of its own, which is closed at the end."""
    other = create_async_engine(engine.url, poolclass=NullPool)
    async with other.connect() as conn:
        await conn.scalar(select(func.count()).select_from(Item))


IS_2_0 = sqlalchemy.__version__.startswith("2.0.")
CALLS = [
    read,
    write,
    stream,
    pytest.param(
        connect,
        marks=pytest.mark.skipif(
            IS_2_0,
            reason="SQLAlchemy 2.0 leaves an engine's cancelled first connection to the garbage collector",
        ),
    ),
]


@pytest.mark.sampled
@pytest.mark.parametrize("manner", Manner)
@pytest.mark.parametrize("call", CALLS)
async def test_a_session_is_cancelled_at_each_of_its_awaits(
    stored: AsyncEngine,
    shop: Server,
    call: Callable[[AsyncEngine], Coroutine[Any, Any, None]],
    manner: Manner,
) -> None:
    pool: Any = stored.pool
    point = 1
    while await is_cancelled(lambda: call(stored), manner, point):
        await eventually(lambda: pool.checkedout() == 0)
        await eventually(lambda: not any(one.in_transaction or one.cursors for one in shop.stats.sessions))
        await eventually(lambda: len(shop.stats.sessions) <= 1)
        async with AsyncSession(stored) as session:
            assert await session.scalar(select(func.count(Item.id))) == COUNT
            tags = await session.scalar(select(func.count(Tag.id)))
            assert tags in (0, 3), "a part of a transaction was committed"
            if tags:  # the cancellation came after the commit
                await session.execute(Tag.__table__.delete())  # type: ignore[attr-defined]
                await session.commit()
        point += 1
    assert point > 3
