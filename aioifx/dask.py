"""A table or query as a Dask bag or data frame, its partitions read by the workers. Never: loaded by `import aioifx`.

Invariants:
1. A task carries what its worker needs to connect, so a password in it travels with the task, and wherever tasks are
   stored. It is in no repr, key or message. A callable that returns the password keeps it out of tasks.
2. A task opens a connection, reads its partition, and closes it. Nothing is kept between tasks: Dask may run them on
   any worker, and more than once.
3. Each call creates its own tasks: the rows may have changed since an earlier call, so its results are not reused.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Unpack

if TYPE_CHECKING:
    bags: Any  # Dask's own annotations are not complete
else:
    try:
        import dask.bag as bags
    except ImportError as error:
        raise ImportError("aioifx.dask needs Dask: pip install 'aioifx[dask]'", name="dask") from error

from aioifx.client.config.options import AllOptionFields
from aioifx.client.config.resolve import resolve
from aioifx.client.connect.connect import connect
from aioifx.errors import InterfaceError
from aioifx.partitions import Partition, Source, cut_at, plan
from aioifx.rows import dict_row
from aioifx.sqltypes import Value

T = TypeVar("T")

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

    Args:     dsn: as for `connect`.
              relation: a table's name, or a complete SELECT.
              column: holds whole numbers, and should have an index.
              partitions: number of partitions. bounds: instead, the keys at which a new partition begins.
              columns: names of the columns to read; None: all.
              params: the query's own parameters.
              options: as for `connect`; all must be picklable. Without a row_factory, rows are dicts.
    Raises:   InterfaceError: invalid argument or option. Errors of connecting, and of the query for the keys.
    """
    options.setdefault("row_factory", dict_row)
    read = _ReadRows(dsn, Source(relation, column, columns, params), options)
    parts, _ = _planned(read, partitions, bounds)
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

    The types are those of `aioifx.arrow.fetch_arrow`; a query without rows determines them when this is called. The
    frame has no known divisions. Arguments and exceptions are those of `read_bag`.

    Raises:   ImportError: pandas or pyarrow is missing.
    """
    frames: Any = import_module("dask.dataframe")  # it needs pandas and pyarrow
    read = _ReadFrame(dsn, Source(relation, column, columns, params), options)
    parts, meta = _planned(read, partitions, bounds)
    return frames.from_map(read, parts, meta=meta, label="aioifx-read")


@dataclass(frozen=True, slots=True)
class _Read:
    """The work of a task: read a partition, on a connection of its own."""

    dsn: str | None = field(repr=False)
    source: Source
    options: AllOptionFields = field(repr=False)
    token: str = field(default_factory=lambda: uuid.uuid4().hex, repr=False)

    def __dask_tokenize__(self) -> str:
        return self.token

    async def shape(self, conn: Any) -> Any:
        """What Dask needs to know of the results in advance."""
        return None


class _ReadRows(_Read):
    __slots__ = ()

    def __call__(self, parts: Sequence[Partition]) -> list[Any]:
        return _run(self._rows(parts))

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
        return _run(self._frame(part))

    async def _frame(self, part: Partition) -> Any:
        async with connect(self.dsn, **self.options) as conn:
            return await _frame_of(conn, *self.source.query(part))

    async def shape(self, conn: Any) -> Any:
        return await _frame_of(conn, self.source.nothing(), self.source.params)


async def _frame_of(conn: Any, sql: str, params: Sequence[Value]) -> Any:
    from aioifx.arrow import fetch_arrow

    pandas: Any = import_module("pandas")  # it has no annotations of its own
    return (await fetch_arrow(conn, sql, *params)).to_pandas(types_mapper=pandas.ArrowDtype)


def _planned(
    read: _Read, count: int | None, bounds: Sequence[int] | None
) -> tuple[tuple[Partition, ...], Any]:
    """The partitions and the shape, queried on one connection; without a connection if neither needs a query."""
    resolve(read.dsn, read.options)  # what is wrong with the options is found here, not by a worker
    if (count is None) == (bounds is None):
        found = "neither" if count is None else "both"
        raise InterfaceError(f"partitions: expected either partitions or bounds, got {found}")
    given = None if bounds is None else cut_at(bounds)
    if given is not None and type(read).shape is _Read.shape:
        return given, None

    async def ask() -> tuple[tuple[Partition, ...], Any]:
        async with connect(read.dsn, **read.options) as conn:
            return given or await plan(conn, read.source, count or 0), await read.shape(conn)

    return _run(ask())


def _run(call: Coroutine[Any, Any, T]) -> T:
    """Run *call* in a separate thread: the caller's may have a running event loop, as in a notebook."""
    run: Callable[[Coroutine[Any, Any, T]], T] = asyncio.run
    with ThreadPoolExecutor(1, "aioifx.dask") as thread:
        return thread.submit(run, call).result()
