"""A connection under the limits, and a partition read through one, block by block."""

from __future__ import annotations

import aioifx
from aioifx.client.connect.connect import ConnectContext
from aioifx.partitions import Partition, Source
from aioifx.rows import tuple_row
from aioifx.sqltypes import Row
from examples.bulk_read_lab.limits import Limits
from examples.bulk_read_lab.table import Tally


def connect(dsn: str, limits: Limits) -> ConnectContext[Row]:
    """One connection."""
    return aioifx.connect(dsn, fetch_size=limits.fetch_size, row_factory=tuple_row)


async def read_streaming(dsn: str, source: Source, partition: Partition, limits: Limits) -> Tally:
    """Read *partition* on a connection of its own."""
    async with connect(dsn, limits) as conn:
        return await streamed(conn, source, partition)


async def streamed(conn: aioifx.Connection[Row], source: Source, partition: Partition) -> Tally:
    """Read *partition*: one block is looked at while the next one is on its way."""
    tally = Tally()
    sql, params = source.query(partition)
    async with conn.stream(sql, *params, row_factory=tuple_row) as rows:
        async for block in rows.blocks():
            tally.add(block)
    return tally
