"""A table or query as a Dask bag or data frame, its partitions read by the workers. Never: loaded by `import aioifx`.

Invariant:
1. Each call creates its own tasks: the rows may have changed since an earlier call, so its results are not reused.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

if TYPE_CHECKING:
    bags: Any  # Dask's own annotations are not complete
else:
    try:
        import dask.bag as bags
    except ImportError as error:
        raise ImportError("aioifx.dask needs Dask: pip install 'aioifx[dask]'", name="dask") from error

from aioifx.client.config.options import AllOptionFields
from aioifx.client.connect.connect import connect
from aioifx.partition_tasks import PartitionReader, planned, run
from aioifx.partitions import Partition, Source
from aioifx.rows import dict_row
from aioifx.sqltypes import Value

Bag: TypeAlias = Any
DataFrame: TypeAlias = Any


def read_bag(
    dsn: str | None,
    relation: str,
    column: str,
    *,
    partitions: int | None = None,
    bounds: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
    params: Sequence[Value] = (),
    **options: Unpack[AllOptionFields],
) -> Bag:
    """The rows of a table or query as a `dask.bag.Bag`, with one task for each range of *column*.

    Before the bag is computed, only the least and the greatest key are read, and nothing if *bounds* are given.

    Args:
        dsn: as for `connect`.
        relation: a table's name, or a complete SELECT.
        column: holds whole numbers, and should have an index.
        partitions: number of partitions.
        bounds: instead, the keys at which a new partition begins.
        columns: names of the columns to read; None: all.
        params: the query's own parameters.
        options: as for `connect`; all must be picklable. Without a row_factory, rows are dicts.

    Raises:
        InterfaceError: invalid argument or option. Errors of connecting, and of the query for the keys.
    """
    options.setdefault("row_factory", dict_row)
    read = _ReadRows(dsn, Source(relation, column, columns, params), options)
    parts, _ = planned(read, partitions, bounds)
    return bags.from_sequence(parts, npartitions=len(parts)).map_partitions(read)


def read_dataframe(
    dsn: str | None,
    relation: str,
    column: str,
    *,
    partitions: int | None = None,
    bounds: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
    params: Sequence[Value] = (),
    **options: Unpack[AllOptionFields],
) -> DataFrame:
    """The rows of a table or query as a `dask.dataframe.DataFrame` of Arrow types, one task for each range of *column*.

    The types are the same as from `aioifx.arrow.fetch_arrow`; a query without rows determines them when this is
    called. The frame has no known divisions. Arguments and exceptions are the same as for `read_bag`.

    Raises:
        ImportError: pandas or pyarrow is missing.
    """
    frames: Any = import_module("dask.dataframe")  # it needs pandas and pyarrow
    read = _ReadFrame(dsn, Source(relation, column, columns, params), options)
    parts, meta = planned(read, partitions, bounds)
    return frames.from_map(read, parts, meta=meta, label="aioifx-read")


@dataclass(frozen=True, slots=True)
class _Read(PartitionReader):
    """The work of a task, with a name of its own for Dask."""

    token: str = field(default_factory=lambda: uuid.uuid4().hex, repr=False)

    def __dask_tokenize__(self) -> str:
        return self.token


class _ReadRows(_Read):
    __slots__ = ()

    def __call__(self, parts: Sequence[Partition]) -> list[Any]:
        return run(self._rows(parts))

    async def _rows(self, parts: Sequence[Partition]) -> list[Any]:
        rows: list[Any] = []
        async with connect(self.dsn, **self.options) as conn:
            for part in parts:
                sql, params = self.source.query(part)
                rows += await conn.fetch(sql, *params)
        return rows


class _ReadFrame(_Read):
    __slots__ = ()

    def __call__(self, part: Partition) -> Any:
        return run(self._frame(part))

    async def _frame(self, part: Partition) -> Any:
        async with connect(self.dsn, **self.options) as conn:
            return await _frame_of(conn, *self.source.query(part))

    async def shape(self, conn: Any) -> Any:
        return await _frame_of(conn, self.source.nothing(), self.source.params)


async def _frame_of(conn: Any, sql: str, params: Sequence[Value]) -> Any:
    from aioifx.arrow import fetch_arrow

    pandas: Any = import_module("pandas")  # it has no annotations of its own
    return (await fetch_arrow(conn, sql, *params)).to_pandas(types_mapper=pandas.ArrowDtype)
