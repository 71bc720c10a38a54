"""A small web service: a shop's items and its stock, by aiohttp.

    python examples/aiohttp_service.py

It runs on an embedded server of its own; with AIOIFX_DSN set, on that Informix instead, where the tables of SCHEMA
must exist. One request has one connection of the pool, for as long as it needs it. A client that hangs up takes its
request along (`handler_cancellation`): the statement is interrupted at the server, and the connection is free for the
next one.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Self, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler

import aioifx
import aioifx.server
from aioifx.rows import dict_row

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

T = TypeVar("T")
R = TypeVar("R")

POOL = web.AppKey("POOL", aioifx.Pool)
routes = web.RouteTableDef()
answer = partial(web.json_response, dumps=partial(json.dumps, default=str))


# -- request bodies ---------------------------------------------------------------------------------------------------


def price(text: object) -> Decimal:
    number = Decimal(str(text))
    if 0 < number < 10**6 and number == round(number, 2):
        return number
    raise ValueError("a price is above 0, below a million, and has two decimal places")


@dataclass(frozen=True)
class NewItem:
    sku: str
    name: str
    price: Decimal

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        new = cls(str(body["sku"]), str(body["name"]), price(body["price"]))
        if not (0 < len(new.sku) <= 12 and 0 < len(new.name) <= 40):
            raise ValueError("sku has 1 to 12 characters, name 1 to 40")
        return new


@dataclass(frozen=True)
class Transfer:
    item: int
    source: str
    target: str
    pieces: int

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        wanted = cls(int(body["item"]), body["source"], body["target"], int(body["pieces"]))
        if {wanted.source, wanted.target} - {"shop", "depot"} or not 0 < wanted.pieces <= 100_000:
            raise ValueError("source and target are shop or depot, pieces is from 1 to 100000")
        return wanted


@dataclass(frozen=True)
class Search:
    """Conditions with their values."""

    conditions: dict[str, Any]
    limit: int

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Self:
        reading: dict[str, tuple[str, Callable[[str], Any]]] = {
            "above": ("price > ?", price),
            "below": ("price < ?", price),
            "name": ("name MATCHES ?", str),
        }
        conditions: dict[str, Any] = {"id > ?": int(query.get("after", "0"))}
        conditions |= {where: read(query[name]) for name, (where, read) in reading.items() if name in query}
        if not 1 <= (limit := int(query.get("limit", "50"))) <= 500:
            raise ValueError("limit is from 1 to 500")
        return cls(conditions, limit)


def parsed(what: Callable[[T], R], given: T) -> R:
    try:
        return what(given)
    except (ArithmeticError, KeyError, TypeError, ValueError) as error:
        raise web.HTTPUnprocessableEntity(text=f"{type(error).__name__}: {error}") from None


# -- requests: each acquires a connection where it needs one, and releases it before the response ---------------------


@routes.get("/health")
async def health(request: web.Request) -> web.Response:
    """Needs no connection, so that it answers when there is none."""
    return answer(asdict(request.app[POOL].stats))


@routes.get(r"/items/{id:\d{1,9}}")
async def item(request: web.Request) -> web.Response:
    query = "SELECT id, sku, name, price FROM item WHERE id = ?"
    item_id = int(request.match_info["id"])
    async with request.app[POOL].acquire() as conn:
        found = await conn.fetchrow(query, item_id, row_factory=dict_row)
    if found is None:
        raise web.HTTPNotFound(text=f"there is no item {item_id}")
    return answer(found)


@routes.get("/items")
async def items(request: web.Request) -> web.Response:
    """The matching items, page by page: the next page begins *after* the last id of this one."""
    search = parsed(Search.of, request.query)
    where = " AND ".join(search.conditions)
    query = f"SELECT FIRST {search.limit} id, sku, name, price FROM item WHERE {where} ORDER BY id"
    async with request.app[POOL].acquire() as conn:
        found = await conn.fetch(query, *search.conditions.values(), row_factory=dict_row)
    return answer(found)


@routes.post("/items")
async def add_item(request: web.Request) -> web.Response:
    new = parsed(lambda text: NewItem.of(json.loads(text)), await request.text())
    insert = "INSERT INTO item (sku, name, price) VALUES (?, ?, ?)"
    async with request.app[POOL].acquire() as conn:
        done = await conn.execute(insert, new.sku, new.name, new.price)
    return answer({"id": done.serial, **asdict(new)}, status=201)


@routes.post("/transfers")
async def transfer(request: web.Request) -> web.Response:
    """Move pieces from one place to another, all or nothing; retried after a lock error."""
    wanted = parsed(lambda text: Transfer.of(json.loads(text)), await request.text())
    async with request.app[POOL].acquire() as conn:
        movement = await aioifx.Retry(attempts=4)(move, conn, wanted)
    return answer({"id": movement}, status=201)


async def move(conn: aioifx.Connection, wanted: Transfer) -> int | None:
    """The whole transaction, so that it can be retried from its beginning."""
    add = "UPDATE stock SET pieces = pieces + ? WHERE item = ? AND place = ?"
    async with conn.transaction():
        for place, pieces in ((wanted.source, -wanted.pieces), (wanted.target, wanted.pieces)):
            if not (await conn.execute(add, pieces, wanted.item, place)).rowcount:
                raise web.HTTPNotFound(text=f"item {wanted.item} has no place in the {place}")
        done = await conn.execute(
            "INSERT INTO movement (item, source, target, pieces) VALUES (?, ?, ?, ?)",
            *(wanted.item, wanted.source, wanted.target, wanted.pieces),
        )
        return done.serial


@routes.get("/movements")
async def movements(request: web.Request) -> web.StreamResponse:
    """Every movement as a line of JSON, in constant memory however many there are."""
    query = "SELECT id, item, source, target, pieces, at FROM movement WHERE id > ? ORDER BY id"
    after = parsed(int, request.query.get("after", "0"))
    response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
    async with request.app[POOL].acquire() as conn, conn.stream(query, after, row_factory=dict_row) as stream:
        async for block in stream.blocks():
            if not response.prepared:  # an error of the query occurs before the status is sent
                await response.prepare(request)
            await response.write("".join(json.dumps(row, default=str) + "\n" for row in block).encode())
    if not response.prepared:
        await response.prepare(request)
    await response.write_eof()
    return response


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


@web.middleware
async def errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except tuple(STATUS) as error:
        if request.writer.output_size:
            raise  # in the middle of a stream: the client must notice that the end is missing
        status = next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)
        headers = {"Retry-After": "1"} if status == 503 else None
        return answer({"detail": str(error)}, status=status, headers=headers)


# -- the application --------------------------------------------------------------------------------------------------


def service(dsn: str | None = None, *, max_size: int = 10, acquire_timeout: float = 5) -> web.Application:
    """The service as an application, on *dsn*, AIOIFX_DSN, or a server of its own."""

    async def database(app: web.Application) -> AsyncIterator[None]:
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
            app[POOL] = await stack.enter_async_context(pool)
            yield

    app = web.Application(middlewares=[errors])
    app.add_routes(routes)
    app.cleanup_ctx.append(database)
    return app


if __name__ == "__main__":
    web.run_app(
        service(), host="127.0.0.1", port=int(os.environ.get("PORT", "8000")), handler_cancellation=True
    )
