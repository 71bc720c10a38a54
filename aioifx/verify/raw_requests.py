"""Single requests for checks of the wire: prepare, open, fetch, groups in one write. Never: what replies must be."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.execution.prepare import prepare
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_requests import statement_request
from aioifx.client.session.failures import raise_for
from aioifx.wire import requests
from aioifx.wire.inbox import Reader
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply, ReplyReader

REPLY_LIMIT = 64 * 1024 * 1024


async def exchange(conn: Connection[Any], outbox: Outbox, reader: Reader[Reply] | None = None) -> Reply:
    """Send one group and return its reply.

    Raises:
        DatabaseError: the error in it.
    """
    async with statements_of(conn).session as session:
        reply = await session.conversation.exchange(outbox, reader)
    raise_for(reply)
    return reply


async def exchange_all(conn: Connection[Any], outboxes: Sequence[Outbox]) -> list[Reply]:
    """Send several groups in one write, and return their replies, whatever is in them."""
    async with statements_of(conn).session as session:
        for outbox in outboxes:
            requests.put_eot(outbox)
        in_flight = [session.conversation.send(outbox.data) for outbox in outboxes]
        return [await session.dispatcher.reply(each) for each in in_flight]


@asynccontextmanager
async def prepared(conn: Connection[Any], sql: str) -> AsyncGenerator[Statement, None]:
    """A statement of its own, outside the statement cache; released afterwards."""
    async with statements_of(conn).session as session:
        statement = await prepare(session, sql)
    try:
        yield statement
    finally:
        if statements_of(conn).session.is_open:
            statement.release_later()


def reader_of(conn: Connection[Any], statement: Statement) -> ReplyReader:
    """A reader of replies with the statement's rows."""
    rows = statement.plans.reader()
    return statements_of(conn).session.conversation.reader(rows, REPLY_LIMIT)


async def open_and_fetch(
    conn: Connection[Any], statement: Statement, size: int, *, autofree: bool = False, ret_types: bool = True
) -> Reply:
    """Open the cursor, and fetch the first block of at most *size* bytes."""
    outbox = statement_request(statement.statement_id)
    requests.put_curname(outbox, statement.cursor.name())
    if autofree:
        requests.put_autofree(outbox)
    requests.put_open(outbox)
    requests.put_id(outbox, statement.statement_id)
    if ret_types and statement.cursor.ret_types:
        capabilities = statements_of(conn).session.conversation.capabilities
        requests.put_ret_type(outbox, capabilities, statement.cursor.ret_types)
    requests.put_fetch(outbox, size)
    return await exchange(conn, outbox, reader_of(conn, statement))


async def fetch_next(conn: Connection[Any], statement: Statement, size: int) -> Reply:
    """Fetch the next block of at most *size* bytes."""
    outbox = statement_request(statement.statement_id)
    requests.put_fetch(outbox, size)
    return await exchange(conn, outbox, reader_of(conn, statement))


async def scroll_to(conn: Connection[Any], statement: Statement, kind: int, row: int) -> Reply:
    """Fetch one row of a scroll cursor."""
    outbox = statement_request(statement.statement_id)
    requests.put_scroll_fetch(outbox, kind, row, 4096)
    return await exchange(conn, outbox, reader_of(conn, statement))


async def open_scrolling(conn: Connection[Any], statement: Statement) -> None:
    """Open a scroll cursor."""
    outbox = statement_request(statement.statement_id)
    requests.put_curname(outbox, statement.cursor.name())
    requests.put_scroll(outbox)
    requests.put_open(outbox)
    await exchange(conn, outbox)


async def close_cursor(conn: Connection[Any], statement: Statement) -> None:
    """Close the statement's cursor."""
    outbox = statement_request(statement.statement_id)
    requests.put_close(outbox)
    await exchange(conn, outbox)
