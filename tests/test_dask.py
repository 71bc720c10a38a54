"""A table as a Dask bag or data frame: on a local cluster of processes, and without one."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import aioifx
from aioifx.server import Server, ServerOptions, serve

pytest.importorskip("dask.bag")
distributed = pytest.importorskip("distributed")

from aioifx.dask import read_bag, read_dataframe  # noqa: E402 - Dask may not be installed

COUNT = 500
PASSWORD = "geheim+7"
Row = tuple[Any, ...]


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """An embedded server with a table."""
    async with serve(ServerOptions(user="reader", password=PASSWORD)) as server:
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute(
                "CREATE TABLE item (id INTEGER, name VARCHAR(20), price DECIMAL(8,2), added DATE)"
            )
            rows = (
                (None if key % 50 == 0 else key * 3, f"name {key}", f"{key}.50", None) for key in range(COUNT)
            )
            await conn.executemany("INSERT INTO item VALUES (?, ?, ?, ?)", rows)
        yield server


@pytest.fixture
async def rows(server: Server) -> list[Row]:
    """What is in the table."""
    async with aioifx.connect(server.dsn, row_factory=aioifx.rows.tuple_row) as conn:
        return [tuple(row) for row in await conn.fetch("SELECT * FROM item")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers, each a process, spawned."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", memory_limit=0
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(params=["here", pytest.param("workers", marks=pytest.mark.exhaustive)])
def client(request: pytest.FixtureRequest) -> Any:
    """The client of the cluster, or None: the work is done here, with tasks that were pickled as well."""
    return request.getfixturevalue("cluster") if request.param == "workers" else None


async def computed(collection: Any, client: Any = None) -> Any:
    """Compute beside the event loop, which serves the workers."""

    def compute() -> Any:
        if client is None:
            return pickle.loads(pickle.dumps(collection)).compute(scheduler="synchronous")
        return client.compute(collection).result(timeout=40)

    return await asyncio.to_thread(compute)


async def bag_of(server: Server, relation: str = "item", column: str = "id", **rest: Any) -> Any:
    return await asyncio.to_thread(lambda: read_bag(server.dsn, relation, column, **rest))


@pytest.mark.exhaustive
async def test_workers_read_every_row_once(server: Server, rows: list[Row], cluster: Any) -> None:
    bag = await bag_of(server, partitions=7, row_factory=aioifx.rows.tuple_row)
    assert bag.npartitions == 7
    before = server.stats.logins
    assert sorted(await computed(bag, cluster), key=str) == sorted(rows, key=str)
    assert server.stats.logins == before + 7


async def test_workers_read_a_query_with_parameters(server: Server, rows: list[Row], client: Any) -> None:
    query = "SELECT id, name FROM item WHERE name LIKE ?"
    bag = await bag_of(server, query, bounds=[300, 900], params=["name 1%"])
    assert bag.npartitions == 3
    expected = [{"id": row[0], "name": row[1]} for row in rows if row[1].startswith("name 1")]
    assert sorted(await computed(bag, client), key=str) == sorted(expected, key=str)


@pytest.mark.exhaustive
async def test_dasks_other_methods_work_on_the_result(server: Server, rows: list[Row], cluster: Any) -> None:
    bag = await bag_of(server, partitions=4, columns=["id", "price"])
    total = bag.pluck("price").sum()
    assert await computed(total, cluster) == sum(row[2] for row in rows)


@pytest.fixture
def frames() -> None:
    """Skips where data frames cannot be had."""
    for module in ("pandas", "pyarrow", "dask.dataframe"):
        pytest.importorskip(module)


@pytest.mark.usefixtures("frames")
async def test_workers_read_a_data_frame_of_arrow_types(server: Server, rows: list[Row], client: Any) -> None:
    frame = await asyncio.to_thread(lambda: read_dataframe(server.dsn, "item", "id", partitions=5))
    assert frame.npartitions == 5
    types = {"id": "int32[pyarrow]", "price": "decimal128(8, 2)[pyarrow]", "added": "date32[day][pyarrow]"}
    assert {name: str(frame.dtypes[name]) for name in types} == types
    table = (await computed(frame, client)).astype(object)
    missing = table.isna().to_numpy()
    values = table.to_numpy()
    found = [
        tuple(None if gone else value for value, gone in zip(*both, strict=True))
        for both in zip(values, missing, strict=True)
    ]
    assert sorted(found, key=str) == sorted(rows, key=str)


@pytest.mark.usefixtures("frames")
async def test_partitions_without_rows_have_the_types_of_the_others(server: Server, client: Any) -> None:
    query = "SELECT id, price, name FROM item WHERE id >= ?"
    frame = await asyncio.to_thread(
        lambda: read_dataframe(
            server.dsn, query, "id", bounds=[10, 900, 5000], columns=["price", "id"], params=[900]
        )
    )
    total = frame.id.sum()
    expected = sum(key * 3 for key in range(300, COUNT) if key % 50)
    assert await computed(total, client) == expected
    assert "geheim" not in f"{frame.dask!r} {dict(frame.__dask_graph__())!r} {frame!r}"


async def test_a_failure_comes_back_with_its_class_and_numbers(server: Server, client: Any) -> None:
    bag = await bag_of(server, bounds=[100], columns=["nothing"])
    with pytest.raises(aioifx.UndefinedColumn) as caught:
        await computed(bag, client)
    assert caught.value.sqlcode == -217
    assert PASSWORD not in str(caught.value)


async def test_a_server_that_went_away_is_a_connect_error(client: Any) -> None:
    async with serve() as server:
        gone = server.dsn
    bag = read_bag(gone, "item", "id", bounds=[100], connect_timeout=5)
    with pytest.raises(aioifx.ConnectError):
        await computed(bag, client)
    with pytest.raises(aioifx.ConnectError):
        await asyncio.to_thread(lambda: read_bag(gone, "item", "id", partitions=2, connect_timeout=5))


@pytest.mark.parametrize("way", ["dsn", "option"])
async def test_no_repr_and_no_key_contains_a_password(server: Server, way: str) -> None:
    address = server.dsn if way == "dsn" else server.dsn.replace(":geheim%2B7@", "@")
    secret = {"password": PASSWORD} if way == "option" else {}
    bag = await asyncio.to_thread(lambda: read_bag(address, "item", "id", partitions=3, **secret))  # type: ignore[arg-type]
    graph = dict(bag.__dask_graph__())
    shown = f"{bag!r} {bag.dask!r} {graph!r} {[*graph.values()]} {[*graph]}"
    assert "item" in shown and "geheim" not in shown
    assert b"geheim" in pickle.dumps(bag), "rule 1: the task carries it"


def password_from_the_environment() -> str:
    return PASSWORD


async def test_a_callable_keeps_the_password_out_of_tasks(server: Server, rows: list[Row]) -> None:
    bag = await asyncio.to_thread(
        lambda: read_bag(
            server.dsn.replace(":geheim%2B7@", "@"),
            "item",
            "id",
            partitions=3,
            password=password_from_the_environment,
        )
    )
    assert b"geheim" not in pickle.dumps(bag)
    assert len(await computed(bag)) == len(rows)


async def test_two_bags_of_one_table_share_no_task(server: Server) -> None:
    one, other = [await bag_of(server, bounds=[100]) for _ in range(2)]
    reads = [{key for key in bag.__dask_graph__() if "read" in str(key).lower()} for bag in (one, other)]
    assert reads[0] and reads[0].isdisjoint(reads[1])


@pytest.mark.exhaustive
async def test_it_works_where_an_event_loop_runs_already(server: Server, rows: list[Row]) -> None:
    # As in a notebook: called in the loop's own thread, which it blocks; so the server is in another one.
    program = (
        "import asyncio, sys; from aioifx.dask import read_bag\n"
        "async def main():\n"
        "    print(read_bag(sys.argv[1], 'item', 'id', partitions=2).count().compute(scheduler='synchronous'))\n"
        "asyncio.run(main())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, server.dsn, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(40):
            printed, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert printed.split() == [str(len(rows)).encode()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "partitions: expected either"),
        ({"partitions": 2, "bounds": [3]}, "partitions: expected either"),
        ({"partitions": 0}, "count: expected a whole number from 1 to 10000, got 0"),
        ({"bounds": [3, 2]}, "bounds: expected ascending"),
        ({"partitions": 2, "params": [1]}, "params: "),
        ({"partitions": 2, "columns": ["id, name"]}, "columns: "),
        ({"partitions": 2, "columns": 7}, "columns: expected a sequence"),
        ({"partitions": 2, "params": 7}, "params: expected a sequence"),
        ({"bounds": 7}, "bounds: expected a sequence of whole numbers, got int"),
        ({"partitions": 2, "fetch_size": 1}, "fetch_size: "),
    ],
)
async def test_nonsensical_arguments_are_rejected_at_once(
    server: Server, arguments: dict[str, Any], message: str
) -> None:
    before = server.stats.logins
    with pytest.raises(aioifx.InterfaceError, match=message):
        await bag_of(server, **arguments)
    assert server.stats.logins - before <= 1


@pytest.mark.exhaustive
def test_without_dask_the_message_names_the_extra() -> None:
    program = "import sys; sys.modules['dask'] = None; import aioifx.dask"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert "pip install 'aioifx[dask]'" in done.stderr


@pytest.mark.exhaustive
def test_importing_aioifx_does_not_load_it() -> None:
    program = "import sys, aioifx; print({'dask', 'aioifx.dask', 'aioifx.partitions'} & {*sys.modules})"
    assert subprocess.check_output([sys.executable, "-c", program], text=True, timeout=30).strip() == "set()"
