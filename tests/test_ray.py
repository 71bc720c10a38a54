"""A table as a Ray dataset, read by Ray's own workers. Skipped where Ray is not installed: it is in no extra of ours
but `ray`, because it is large."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import aioifx
from aioifx.server import Server, ServerOptions, serve

ray: Any = pytest.importorskip("ray", reason="Ray is not installed: pip install 'aioifx[ray]'")
pytest.importorskip("ray.data", reason="ray[data] is not installed: pip install 'aioifx[ray]'")

from aioifx.ray import read_dataset  # noqa: E402 - Ray may not be installed

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.filterwarnings("default"),  # Ray has some of its own
]

COUNT = 500
PASSWORD = "geheim+7"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """An embedded server with a table; some of its keys are NULL."""
    async with serve(ServerOptions(user="reader", password=PASSWORD)) as server:
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute("CREATE TABLE item (id INTEGER, name VARCHAR(20), price DECIMAL(8,2))")
            rows = ((None if key % 50 == 0 else key * 3, f"name {key}", f"{key}.50") for key in range(COUNT))
            await conn.executemany("INSERT INTO item VALUES (?, ?, ?)", rows)
        yield server


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Ray with two workers, each a process."""
    options: dict[str, Any] = {"num_cpus": 2, "include_dashboard": False, "logging_level": logging.ERROR}
    ray.init(object_store_memory=80_000_000, log_to_driver=False, **options)
    logging.getLogger("ray").setLevel(logging.ERROR)
    yield
    ray.shutdown()


async def beside(call: Callable[[], Any]) -> Any:
    """Run *call* beside the event loop, which serves the workers."""
    return await asyncio.to_thread(call)


async def dataset_of(server: Server, relation: str = "item", column: str = "id", **rest: Any) -> Any:
    return await beside(lambda: read_dataset(server.dsn, relation, column, **rest))


@pytest.mark.usefixtures("cluster")
async def test_workers_read_every_row_once(server: Server) -> None:
    dataset = await dataset_of(server, partitions=7, fetch_size=4096)
    before = server.stats.logins
    assert dataset.schema().names == ["id", "name", "price"]
    assert server.stats.logins == before, "the schema is known without a task"
    rows = await beside(dataset.take_all)
    assert server.stats.logins == before + 7
    expected = {f"name {key}": None if key % 50 == 0 else key * 3 for key in range(COUNT)}
    assert {row["name"]: row["id"] for row in rows} == expected
    assert len(rows) == COUNT
    assert str(sum(row["price"] for row in rows)) == "125000.00"
    assert server.stats.sessions == ()


@pytest.mark.usefixtures("cluster")
async def test_workers_read_a_query_with_parameters(server: Server) -> None:
    query = "SELECT id, name FROM item WHERE name LIKE ?"
    dataset = await dataset_of(server, query, bounds=[300, 900], params=["name 1%"], concurrency=1)
    rows = await beside(dataset.sort("name").take_all)
    assert [row["name"] for row in rows] == sorted(f"name {n}" for n in range(COUNT) if str(n)[0] == "1")


@pytest.mark.usefixtures("cluster")
async def test_a_result_without_rows_has_columns(server: Server) -> None:
    dataset = await dataset_of(server, "SELECT * FROM item WHERE name = 'none'", partitions=3)
    assert await beside(dataset.count) == 0
    assert dataset.schema().names == ["id", "name", "price"]


@pytest.mark.usefixtures("cluster")
async def test_the_error_of_a_task_is_ours(server: Server) -> None:
    dataset = await dataset_of(server, "item", "id", bounds=[300])
    async with aioifx.connect(server.dsn) as conn:
        await conn.execute("DROP TABLE item")
    with pytest.raises(aioifx.ProgrammingError, match="item") as caught:
        await beside(dataset.take_all)
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "partitions: expected either"),
        ({"bounds": 7}, "bounds: expected a sequence"),
        ({"partitions": 2, "columns": ["id, name"]}, "columns: "),
        ({"partitions": 2, "fetch_size": 1}, "fetch_size: "),
    ],
)
async def test_nonsensical_arguments_are_rejected_at_once(
    server: Server, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(aioifx.InterfaceError, match=message):
        await dataset_of(server, **arguments)
