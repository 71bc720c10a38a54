"""A task that reads a partition elsewhere: what it carries, and how its partitions are planned. Never: Dask, Ray.

Invariants:
1. A task carries what its worker needs to connect, so a password in it travels with the task, and wherever tasks are
   stored. It is in no repr, key or message. A callable that returns the password keeps it out of tasks.
2. A task opens a connection, reads its partition, and closes it. Nothing is kept between tasks: they may run on any
   worker, and more than once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aioifx.client.config.options import AllOptionFields
from aioifx.client.config.resolve import resolve
from aioifx.client.connect.connect import connect
from aioifx.errors import InterfaceError
from aioifx.partitions import Partition, Source, cut_at, plan

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PartitionReader:
    """Reads partitions, each on a connection of its own. Frameworks pickle it."""

    dsn: str | None = field(repr=False)
    source: Source
    options: AllOptionFields = field(repr=False)

    async def shape(self, conn: Any) -> Any:
        """What the framework needs to know of the results in advance; None: nothing."""
        return None


def planned(
    reader: PartitionReader, count: int | None, bounds: Sequence[int] | None
) -> tuple[tuple[Partition, ...], Any]:
    """The partitions and the shape, queried on one connection; without a connection if neither needs a query.

    Args:
        count: number of partitions.
        bounds: instead, the keys at which a new partition begins.

    Raises:
        InterfaceError: invalid argument or option. Errors of connecting, and of the query for the keys.
    """
    resolve(reader.dsn, reader.options)  # what is wrong with the options is found here, not by a worker
    if (count is None) == (bounds is None):
        found = "neither" if count is None else "both"
        raise InterfaceError(f"partitions: expected either partitions or bounds, got {found}")
    given = None if bounds is None else cut_at(bounds)
    if given is not None and type(reader).shape is PartitionReader.shape:
        return given, None

    async def ask() -> tuple[tuple[Partition, ...], Any]:
        async with connect(reader.dsn, **reader.options) as conn:
            return given or await plan(conn, reader.source, count or 0), await reader.shape(conn)

    return run(ask())


def run(call: Coroutine[Any, Any, T]) -> T:
    """Run *call* in a separate thread: the caller's may have a running event loop, as in a notebook."""
    run_in_loop: Callable[[Coroutine[Any, Any, T]], T] = asyncio.run
    with ThreadPoolExecutor(1, "aioifx.partitions") as thread:
        return thread.submit(run_in_loop, call).result()
