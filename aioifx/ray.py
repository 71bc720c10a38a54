"""A table or query as a Ray dataset, its partitions read by the workers. Never: loaded by `import aioifx`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

if TYPE_CHECKING:  # type checkers have no Ray, which is large
    ray_data: Any
    BlockMetadata: Any
    Datasource = object
else:
    try:
        import ray.data as ray_data
        from ray.data import Datasource
        from ray.data.block import BlockMetadata
    except ImportError as error:
        raise ImportError("aioifx.ray needs Ray: pip install 'aioifx[ray]'", name="ray") from error

from aioifx.arrow import fetch_arrow, fetch_batches, pa
from aioifx.client.config.options import AllOptionFields
from aioifx.client.connect.connect import connect
from aioifx.partition_tasks import PartitionReader, planned
from aioifx.partitions import Partition, Source
from aioifx.sqltypes import Value

Dataset: TypeAlias = Any
Table: TypeAlias = Any


def read_dataset(
    dsn: str | None,
    relation: str,
    column: str,
    *,
    partitions: int | None = None,
    bounds: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
    params: Sequence[Value] = (),
    concurrency: int | None = None,
    **options: Unpack[AllOptionFields],
) -> Dataset:
    """The rows of a table or query as a `ray.data.Dataset` of Arrow blocks, one read task for each range of *column*.

    The types are the same as from `aioifx.arrow.fetch_arrow`. A task yields its rows in batches, so it needs memory
    for one batch. Before the dataset is consumed, only the schema and the least and greatest key are read.

    Args:
        dsn: as for `connect`.
        relation: a table's name, or a complete SELECT.
        column: holds whole numbers, and should have an index.
        partitions: number of partitions.
        bounds: instead, the keys at which a new partition begins.
        columns: names of the columns to read; None: all.
        params: the query's own parameters.
        concurrency: tasks, and so connections, at a time; None: as many as Ray has processors.
        options: as for `connect`; all must be picklable.

    Raises:
        InterfaceError: invalid argument or option. Errors of connecting, and of the query for the keys.
    """
    read = _ReadBatches(dsn, Source(relation, column, columns, params), options)
    parts, schema = planned(read, partitions, bounds)
    source = _PartitionSource(read, parts, schema)
    return ray_data.read_datasource(source, override_num_blocks=len(parts), concurrency=concurrency)


@dataclass(frozen=True, slots=True)
class _ReadBatches(PartitionReader):
    async def shape(self, conn: Any) -> Any:
        return (await fetch_arrow(conn, self.source.nothing(), *self.source.params)).schema

    def tables(self, part: Partition) -> Iterator[Table]:
        """The rows of *part*, batch by batch; Ray runs this in a thread without an event loop."""
        with asyncio.Runner() as runner:
            batches = self._batches(part)
            try:
                while (batch := runner.run(_next(batches))) is not None:
                    yield pa.Table.from_batches([batch])
            finally:
                runner.run(_close(batches))

    async def _batches(self, part: Partition) -> AsyncIterator[Any]:
        sql, params = self.source.query(part)
        async with (
            connect(self.dsn, **self.options) as conn,
            aclosing(fetch_batches(conn, sql, *params)) as batches,
        ):
            async for batch in batches:
                yield batch


async def _next(batches: AsyncIterator[Any]) -> Any:
    return await anext(batches, None)


async def _close(batches: Any) -> None:
    await batches.aclose()


class _PartitionSource(Datasource):
    """What Ray asks for its tasks."""

    def __init__(self, read: _ReadBatches, parts: Sequence[Partition], schema: Any) -> None:
        super().__init__()
        self._read = read
        self._parts = parts
        self._schema = schema

    def get_name(self) -> str:
        return "aioifx"

    def estimate_inmemory_data_size(self) -> int | None:
        return None

    def get_read_tasks(self, parallelism: int, *_args: Any, **_kwargs: Any) -> list[Any]:
        """One task for each partition: the number that Ray proposes is that of `read_dataset`."""
        return [self._task(part) for part in self._parts]

    def _task(self, part: Partition) -> Any:
        read, schema = self._read, self._schema
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return ray_data.ReadTask(lambda: read.tables(part), unknown, schema=schema)
