"""What a task that reads a partition carries, and how its partitions are planned."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator
from typing import Any

import pytest

import aioifx
from aioifx.partition_tasks import PartitionReader, planned, run
from aioifx.partitions import Source
from aioifx.server import Server, ServerOptions, serve

PASSWORD = "geheim+7"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serve(ServerOptions(user="reader", password=PASSWORD)) as server:
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute("CREATE TABLE item (id INTEGER)")
            await conn.executemany("INSERT INTO item VALUES (?)", ((number,) for number in range(40)))
        yield server


class Counting(PartitionReader):
    """One that asks the server for something more."""

    __slots__ = ()

    async def shape(self, conn: Any) -> Any:
        return await conn.fetchval("SELECT COUNT(*) FROM item")


async def plan_of(reader: PartitionReader, count: int | None, bounds: Any = None) -> tuple[list[str], Any]:
    """As `planned`, beside the event loop, which serves."""
    parts, shape = await asyncio.to_thread(planned, reader, count, bounds)
    return [str(part) for part in parts], shape


async def test_keys_and_shape_are_queried_on_one_connection(server: Server) -> None:
    before = server.stats.logins
    reader = Counting(server.dsn, Source("item", "id"), {})
    assert await plan_of(reader, 2) == (["keys below 20, and NULL", "keys from 20 on"], 40)
    assert server.stats.logins == before + 1


async def test_given_bounds_need_a_connection_only_for_the_shape(server: Server) -> None:
    before = server.stats.logins
    source = Source("item", "id")
    assert await plan_of(PartitionReader(server.dsn, source, {}), None, [7]) == (
        ["keys below 7, and NULL", "keys from 7 on"],
        None,
    )
    assert server.stats.logins == before
    assert (await plan_of(Counting(server.dsn, source, {}), None, []))[1] == 40
    assert server.stats.logins == before + 1


@pytest.mark.parametrize(("count", "bounds", "found"), [(None, None, "neither"), (2, [1], "both")])
def test_either_a_number_or_bounds_are_given(count: int | None, bounds: Any, found: str) -> None:
    reader = PartitionReader("informix://db1:9088/shop?server=s", Source("item", "id"), {})
    with pytest.raises(aioifx.InterfaceError, match=f"partitions: .*, got {found}"):
        planned(reader, count, bounds)


def test_a_wrong_option_is_found_before_anything_is_sent() -> None:
    reader = PartitionReader("informix://db1:9088/shop?server=s", Source("item", "id"), {"fetch_size": 1})
    with pytest.raises(aioifx.InterfaceError, match="fetch_size"):
        planned(reader, 2, None)


def test_a_reader_travels_and_shows_no_password() -> None:
    dsn = f"informix://reader:{PASSWORD}@db1:9088/shop?server=s"
    reader = PartitionReader(dsn, Source("item", "id"), {"password": PASSWORD})
    assert pickle.loads(pickle.dumps(reader)) == reader
    assert PASSWORD not in repr(reader)


async def test_a_call_runs_although_the_caller_has_an_event_loop() -> None:
    async def other_loop() -> bool:
        return asyncio.get_running_loop() is not here

    here = asyncio.get_running_loop()
    assert run(other_loop())
