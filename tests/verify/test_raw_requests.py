"""Single requests: replies as they are, and statements that are released."""

from __future__ import annotations

import pytest

import aioifx
from aioifx.client.execution.statement_requests import statement_request
from aioifx.server import running
from aioifx.verify.raw_requests import close_cursor, exchange_all, fetch_next, open_and_fetch, prepared
from aioifx.wire import requests

_QUERY = "SELECT tabid FROM informix.systables ORDER BY tabid"


async def test_rows_are_fetched_block_by_block() -> None:
    async with running() as dsn, aioifx.connect(dsn) as conn, prepared(conn, _QUERY) as statement:
        rows = list((await open_and_fetch(conn, statement, 40)).rows)
        assert 1 < len(rows) <= 10
        rows += (await fetch_next(conn, statement, 40)).rows
        await close_cursor(conn, statement)
        everything = await conn.fetch(_QUERY)
    assert [row[0] for row in rows] == [row["tabid"] for row in everything[: len(rows)]]


async def test_an_error_is_raised_or_part_of_one_of_several_replies() -> None:
    async with running() as dsn, aioifx.connect(dsn) as conn, prepared(conn, _QUERY) as statement:
        with pytest.raises(aioifx.DatabaseError):
            await fetch_next(conn, statement, 40)  # it is not open
        outbox = statement_request(statement.statement_id)
        requests.put_fetch(outbox, 40)
        (reply,) = await exchange_all(conn, [outbox])
        assert reply.error is not None
        assert await conn.fetchval("SELECT COUNT(*) FROM informix.systables WHERE tabid = 1") == 1
