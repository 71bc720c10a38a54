"""A small web service: a shop's items and its stock, by FastAPI.

    python examples/fastapi_service.py
    uvicorn examples.fastapi_service:app

It runs on an embedded server of its own; with AIOIFX_DSN set, on that Informix instead, where the tables of SCHEMA
must exist. One request has one connection of the pool, for as long as it needs it. A client that hangs up takes its
request along: the statement is interrupted at the server, and the connection is free for the next one.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

import aioifx
import aioifx.server
from aioifx.asgi import CancelWhenGone
from aioifx.rows import class_row, dict_row

logger = logging.getLogger(__name__)

SCHEMA = """
CREATE TABLE item (
    id SERIAL NOT NULL PRIMARY KEY, sku VARCHAR(12) NOT NULL UNIQUE CONSTRAINT u_item_sku,
    name VARCHAR(40) NOT NULL, price DECIMAL(8,2) NOT NULL);
CREATE TABLE stock (
    item INTEGER NOT NULL REFERENCES item, place VARCHAR(12) NOT NULL,
    pieces INTEGER NOT NULL CHECK (pieces >= 0) CONSTRAINT c_stock_pieces, PRIMARY KEY (item, place));
CREATE TABLE movement (
    id SERIAL NOT NULL PRIMARY KEY, item INTEGER NOT NULL, source VARCHAR(12), target VARCHAR(12), pieces INTEGER,
    at DATETIME YEAR TO SECOND DEFAULT CURRENT YEAR TO SECOND);
INSERT INTO item (sku, name, price) VALUES ('PEN-1', 'Ballpoint pen', 1.50);
INSERT INTO item (sku, name, price) VALUES ('LAMP-1', 'Desk lamp', 35.25);
INSERT INTO stock VALUES (1, 'shop', 0);
INSERT INTO stock VALUES (1, 'depot', 1000);
INSERT INTO stock VALUES (2, 'shop', 3);
INSERT INTO stock VALUES (2, 'depot', 20)
"""


# -- bodies of requests and responses ---------------------------------------------------------------------------------


class NewItem(BaseModel):
    sku: Annotated[str, Field(min_length=1, max_length=12)]
    name: Annotated[str, Field(min_length=1, max_length=40)]
    price: Annotated[Decimal, Field(gt=0, max_digits=8, decimal_places=2)]


class Item(NewItem):
    id: int


class Transfer(BaseModel):
    item: int
    source: Literal["shop", "depot"]
    target: Literal["shop", "depot"]
    pieces: Annotated[int, Field(gt=0, le=100_000)]


# -- one request, one connection --------------------------------------------------------------------------------------


async def connection(request: Request) -> AsyncIterator[aioifx.Connection]:
    pool: aioifx.Pool = request.app.state.pool
    async with pool.acquire() as conn:
        yield conn


# Released before the response is sent, so a client that reads slowly holds no connection.
Connection = Annotated[aioifx.Connection, Depends(connection, scope="function")]
# Released after the response, whose rows come from it.
StreamingConnection = Annotated[aioifx.Connection, Depends(connection, scope="request")]

router = APIRouter()


@router.get("/health")
async def health(request: Request) -> dict[str, Any]:
    """Needs no connection, so that it answers when there is none."""
    return asdict(request.app.state.pool.stats)


class ItemCache:
    """Items by their id, forgotten when another transaction changes them; it needs change data capture."""

    def __init__(self) -> None:
        self.items: dict[int, Item] = {}
        self.changes = 0

    async def follow(self, changes: aioifx.Changes) -> None:
        """Forget changed items until *changes* end; then there is no cache."""
        async for transaction in changes:
            for change in transaction:
                if change.kind == "truncate":
                    self.items.clear()
                for row in (change.before, change.after):
                    if row is not None:
                        self.items.pop(row["id"], None)
            self.changes += 1

    async def get(self, item_id: int, read: Callable[[], Awaitable[Item]]) -> Item:
        """The item, read unless it is known. What is read while a change arrives is not kept."""
        if (known := self.items.get(item_id)) is not None:
            return known
        before = self.changes
        found = await read()
        if self.changes == before:
            self.items[item_id] = found
        return found


@router.get("/items/{item_id}")
async def item(item_id: int, request: Request, conn: Connection) -> Item:
    cache: ItemCache | None = request.app.state.cache
    return await (
        read_item(item_id, conn) if cache is None else cache.get(item_id, partial(read_item, item_id, conn))
    )


async def read_item(item_id: int, conn: aioifx.Connection) -> Item:
    query = "SELECT id, sku, name, price FROM item WHERE id = ?"
    found = await conn.fetchrow(query, item_id, row_factory=class_row(Item))
    if found is None:
        raise HTTPException(404, f"there is no item {item_id}")
    return found


@router.get("/items")
async def items(
    conn: Connection,
    above: Decimal | None = None,
    below: Decimal | None = None,
    name: str | None = None,
    after: int = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> list[Item]:
    """The matching items, page by page: the next page begins *after* the last id of this one."""
    wanted = {"id > ?": after, "price > ?": above, "price < ?": below, "name MATCHES ?": name}
    given = {condition: value for condition, value in wanted.items() if value is not None}
    query = f"SELECT FIRST {limit} id, sku, name, price FROM item WHERE {' AND '.join(given)} ORDER BY id"
    return await conn.fetch(query, *given.values(), row_factory=class_row(Item))


@router.post("/items", status_code=201)
async def add_item(new: NewItem, conn: Connection) -> Item:
    insert = "INSERT INTO item (sku, name, price) VALUES (?, ?, ?)"
    done = await conn.execute(insert, new.sku, new.name, new.price)
    return Item(id=done.serial or 0, **new.model_dump())


@router.post("/transfers", status_code=201)
async def transfer(wanted: Transfer, conn: Connection) -> dict[str, int]:
    """Move pieces from one place to another, all or nothing; retried after a lock error."""
    return {"id": await aioifx.Retry(attempts=4)(move, conn, wanted)}


async def move(conn: aioifx.Connection, wanted: Transfer) -> int:
    """The whole transaction, so that it can be retried from its beginning."""
    add = "UPDATE stock SET pieces = pieces + ? WHERE item = ? AND place = ?"
    async with conn.transaction():
        for place, pieces in ((wanted.source, -wanted.pieces), (wanted.target, wanted.pieces)):
            if not (await conn.execute(add, pieces, wanted.item, place)).rowcount:
                raise HTTPException(404, f"item {wanted.item} has no place in the {place}")
        done = await conn.execute(
            "INSERT INTO movement (item, source, target, pieces) VALUES (?, ?, ?, ?)",
            *(wanted.item, wanted.source, wanted.target, wanted.pieces),
        )
        return done.serial or 0


@router.get("/movements")
async def movements(conn: StreamingConnection, after: int = 0) -> StreamingResponse:
    """Every movement as a line of JSON, in constant memory however many there are."""
    query = "SELECT id, item, source, target, pieces, at FROM movement WHERE id > ? ORDER BY id"
    lines = json_lines(conn.stream(query, after, row_factory=dict_row))
    return StreamingResponse(lines, media_type="application/x-ndjson")


async def json_lines(stream: aioifx.Stream[dict[str, Any]]) -> AsyncIterator[str]:
    async with stream:
        async for block in stream.blocks():
            yield "".join(json.dumps(row, default=str) + "\n" for row in block)


# -- errors -----------------------------------------------------------------------------------------------------------

STATUS: dict[type[Exception], int] = {
    aioifx.UniqueViolation: 409,
    aioifx.CheckViolation: 409,
    aioifx.DataError: 422,
    aioifx.LockError: 503,
    aioifx.PoolTimeout: 503,  # too many requests wait for a connection, or one has waited too long
    aioifx.PoolClosed: 503,  # the service is being stopped
    aioifx.ConnectError: 503,
    aioifx.ConnectionLost: 503,
    aioifx.QueryTimeout: 504,
}


def answer_with(status: int) -> Callable[[Request, Exception], JSONResponse]:
    headers = {"Retry-After": "1"} if status == 503 else None
    return lambda _, error: JSONResponse({"detail": str(error)}, status, headers)


# -- the application --------------------------------------------------------------------------------------------------


def service(
    dsn: str | None = None, *, max_size: int = 10, acquire_timeout: float = 5, cached: bool = False
) -> FastAPI:
    """The service as an ASGI application, on *dsn*, AIOIFX_DSN, or a server of its own.

    Args:
        cached: items are kept in memory, and forgotten when they change; the user is informix, who owns the tables.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            address = dsn or os.environ.get("AIOIFX_DSN")
            if not address:
                address = await stack.enter_async_context(aioifx.server.running("shop", seed=SCHEMA))
            pool = aioifx.create_pool(
                address,
                max_size=max_size,
                acquire_timeout=acquire_timeout,
                command_timeout=20,
                lock_wait=3,  # seconds; without it, a read of a row that another transaction changes is an error
            )
            app.state.pool = await stack.enter_async_context(pool)
            app.state.cache = None
            if cached:
                changes = await stack.enter_async_context(aioifx.changes(address, ["informix.item"]))
                app.state.cache = cache = ItemCache()
                following = asyncio.create_task(cache.follow(changes))
                following.add_done_callback(partial(without_cache, app))
                stack.callback(following.cancel)
            yield

    def without_cache(app: FastAPI, following: asyncio.Task[None]) -> None:
        app.state.cache = None
        if not following.cancelled() and following.exception() is not None:
            logger.warning("items are no longer cached: %s", following.exception())

    app = FastAPI(title="Shop", lifespan=lifespan)
    app.include_router(router)
    app.add_middleware(CancelWhenGone)
    for error, status in STATUS.items():
        app.add_exception_handler(error, answer_with(status))
    return app


app = service()

if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")))
