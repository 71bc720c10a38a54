"""A stream is read as rows or as record batches. test_block_reader.py has the tests of rows and blocks."""

from __future__ import annotations

from decimal import Decimal

import pytest

import aioifx
from aioifx.rows import tuple_row

QUERY = "SELECT tabid, tabname FROM systables"


async def test_rows_and_batches_exclude_each_other(dsn: str) -> None:
    refusal = "arrow: expected a stream that was not read"
    async with aioifx.connect(dsn, fetch_size=4096) as conn:
        async with conn.stream(QUERY) as stream:
            await anext(stream)
            with pytest.raises(aioifx.InterfaceError, match=refusal):
                stream.arrow()
        async with conn.stream(QUERY) as stream:
            stream.arrow()
            with pytest.raises(aioifx.InterfaceError, match="cannot be read as rows, too"):
                await anext(stream)
            with pytest.raises(aioifx.InterfaceError, match=refusal):
                stream.arrow()


async def test_a_stream_given_to_load_is_rows_which_lose_nothing(dsn: str) -> None:
    query = "SELECT * FROM months"
    async with aioifx.connect(dsn, row_factory=tuple_row) as conn, aioifx.connect(dsn) as source:
        await conn.execute("CREATE TABLE months (d DECIMAL(30), m INTERVAL YEAR(4) TO MONTH)")
        rows = [(Decimal("1234567890.12345678901"), aioifx.IntervalYM(2, 3))]
        await conn.executemany("INSERT INTO months VALUES (?, ?)", rows)
        await conn.load("months", source.stream(query, row_factory=tuple_row))
        assert await conn.fetch(query) == rows * 2
