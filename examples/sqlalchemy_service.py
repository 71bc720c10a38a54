"""A small web service with SQLAlchemy's async sessions: a shop's items and its stock, by FastAPI.

    python examples/sqlalchemy_service.py
    uvicorn examples.sqlalchemy_service:app

It runs on an embedded server of its own; with AIOIFX_DSN set, on that Informix instead. It creates its tables if they
are missing. One request has one session. A client that hangs up takes its request along: the statement is interrupted
at the server, the transaction is rolled back, and the connection is free for the next request.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Query, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import CheckConstraint, ForeignKey, Numeric, String, event, make_url, select
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, TimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    MappedAsDataclass,
    mapped_column,
    relationship,
    selectinload,
)
from sqlalchemy.orm.exc import StaleDataError

import aioifx
import aioifx.server
from aioifx.asgi import CancelWhenGone

# -- tables -----------------------------------------------------------------------------------------------------------


class Base(MappedAsDataclass, DeclarativeBase):
    pass


class Stock(Base):
    """Pieces of an item in one place. A change of a stale version is refused."""

    __tablename__ = "stock"
    __table_args__ = (CheckConstraint("pieces >= 0"),)

    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"), primary_key=True, init=False)
    place: Mapped[str] = mapped_column(String(12), primary_key=True)
    pieces: Mapped[int]
    version: Mapped[int] = mapped_column(init=False)

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012 - SQLAlchemy's own form


class Item(Base):
    __tablename__ = "item"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    sku: Mapped[str] = mapped_column(String(12), unique=True)
    name: Mapped[str] = mapped_column(String(40))
    price: Mapped[Decimal] = mapped_column(Numeric(8, 2))
    stock: Mapped[list[Stock]] = relationship(order_by=Stock.place, default_factory=list)


class Movement(Base):
    __tablename__ = "movement"

    id: Mapped[int] = mapped_column(primary_key=True, init=False)
    item_id: Mapped[int]
    source: Mapped[str] = mapped_column(String(12))
    target: Mapped[str] = mapped_column(String(12))
    pieces: Mapped[int]
    at: Mapped[datetime] = mapped_column(default_factory=datetime.now)


def first_items() -> list[Item]:
    """What an empty shop begins with."""
    pen, lamp = Item("PEN-1", "Ballpoint pen", Decimal("1.50")), Item("LAMP-1", "Desk lamp", Decimal("35.25"))
    pen.stock = [Stock("depot", 1000), Stock("shop", 0)]
    lamp.stock = [Stock("depot", 20), Stock("shop", 3)]
    return [pen, lamp]


# -- bodies of requests and responses ---------------------------------------------------------------------------------


class NewItem(BaseModel):
    sku: Annotated[str, Field(min_length=1, max_length=12)]
    name: Annotated[str, Field(min_length=1, max_length=40)]
    price: Annotated[Decimal, Field(gt=0, max_digits=8, decimal_places=2)]


class StockSeen(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    place: str
    pieces: int


class ItemSeen(NewItem):
    model_config = ConfigDict(from_attributes=True)

    id: int
    stock: list[StockSeen]


class Transfer(BaseModel):
    item: int
    source: Literal["shop", "depot"]
    target: Literal["shop", "depot"]
    pieces: Annotated[int, Field(gt=0, le=100_000)]


class MovementSeen(BaseModel):
    model_config = ConfigDict(from_attributes=True)

    id: int
    item_id: int
    pieces: int
    at: datetime


# -- one request, one session -----------------------------------------------------------------------------------------


async def session_of(request: Request) -> AsyncIterator[AsyncSession]:
    """Commits when the endpoint has returned, and rolls back after an error or a cancellation."""
    async with request.app.state.sessions.begin() as session:
        yield session


# Ends before the response is sent, so a client that reads slowly holds no connection.
Session = Annotated[AsyncSession, Depends(session_of, scope="function")]
# Ends after the response, whose rows come from it.
StreamingSession = Annotated[AsyncSession, Depends(session_of, scope="request")]

router = APIRouter()


@router.get("/health")
async def health(request: Request) -> dict[str, int]:
    """Needs no connection, so that it answers when there is none."""
    pool: Any = request.app.state.engine.pool
    return {"size": pool.size(), "in_use": pool.checkedout(), "idle": pool.checkedin()}


@router.get("/items/{item_id}")
async def item(item_id: int, session: Session) -> ItemSeen:
    found = await session.get(Item, item_id, options=[selectinload(Item.stock)])
    if found is None:
        raise HTTPException(404, f"there is no item {item_id}")
    return ItemSeen.model_validate(found)


@router.get("/items")
async def items(
    session: Session,
    name: str | None = None,
    after: int = 0,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> list[ItemSeen]:
    """Items page by page: the next page begins *after* the last id of this one."""
    query = select(Item).where(Item.id > after).options(selectinload(Item.stock))
    if name is not None:
        query = query.where(Item.name.icontains(name, autoescape=True))
    found = await session.scalars(query.order_by(Item.id).limit(limit))
    return [ItemSeen.model_validate(one) for one in found]


@router.post("/items", status_code=201)
async def add_item(new: NewItem, session: Session) -> ItemSeen:
    added = Item(**new.model_dump(), stock=[])
    session.add(added)
    await session.flush()
    return ItemSeen.model_validate(added)


@router.post("/transfers", status_code=201)
async def transfer(wanted: Transfer, session: Session) -> MovementSeen:
    """Move pieces from one place to another, all or nothing."""
    for place, pieces in ((wanted.source, -wanted.pieces), (wanted.target, wanted.pieces)):
        # Locks the row: of two transfers at once, the second waits, and then sees what the first has left.
        stock = await session.get(Stock, (wanted.item, place), with_for_update=True)
        if stock is None:
            raise HTTPException(404, f"item {wanted.item} has no place in the {place}")
        stock.pieces += pieces
        await session.flush()
    movement = Movement(wanted.item, wanted.source, wanted.target, wanted.pieces)
    session.add(movement)
    await session.flush()
    return MovementSeen.model_validate(movement)


@router.get("/movements")
async def movements(session: StreamingSession, after: int = 0) -> StreamingResponse:
    """Every movement as a line of JSON, in constant memory however many there are."""
    query = select(Movement).where(Movement.id > after).order_by(Movement.id)
    rows = await session.stream_scalars(query, execution_options={"yield_per": 500})

    async def lines() -> AsyncIterator[str]:
        try:
            async for part in rows.partitions():
                yield "".join(MovementSeen.model_validate(row).model_dump_json() + "\n" for row in part)
        finally:
            await rows.close()

    return StreamingResponse(lines(), media_type="application/x-ndjson")


# -- errors -----------------------------------------------------------------------------------------------------------

STATUS: dict[type[BaseException], int] = {
    aioifx.IntegrityError: 409,
    aioifx.DataError: 422,
    aioifx.LockError: 503,
    aioifx.ConnectError: 503,
    aioifx.ConnectionLost: 503,
    aioifx.QueryTimeout: 504,
}
"""Of the client's own error, which SQLAlchemy keeps as `orig`."""


async def answer_for(_: Request, error: Exception) -> JSONResponse:
    status = 500
    if isinstance(error, StaleDataError):
        status = 409
    elif isinstance(error, TimeoutError):  # a request has waited too long for a connection
        status = 503
    elif isinstance(error, DBAPIError):
        status = next((STATUS[cls] for cls in type(error.orig).__mro__ if cls in STATUS), 500)
    headers = {"Retry-After": "1"} if status == 503 else None
    return JSONResponse({"detail": str(getattr(error, "orig", error))}, status, headers)


# -- the application --------------------------------------------------------------------------------------------------


def engine_for(dsn: str, *, pool_size: int, pool_timeout: float) -> AsyncEngine:
    return create_async_engine(
        make_url(dsn).set(drivername="informix+aioifx"),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=pool_timeout,
        pool_pre_ping=True,
        connect_args={"command_timeout": 20, "lock_wait": 5},
    )


def keep_update_locks(connection: DBAPIConnection, _: object) -> None:
    """Keep the locks of FOR UPDATE until the end of the transaction; Informix releases them when a cursor is closed."""
    cursor = connection.cursor()
    cursor.execute("SET ENVIRONMENT RETAINUPDATELOCKS 'ALL'")
    cursor.close()


async def create_tables(engine: AsyncEngine) -> None:
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.create_all)
    async with AsyncSession(engine) as session, session.begin():
        if await session.scalar(select(Item.id).limit(1)) is None:
            session.add_all(first_items())


def service(dsn: str | None = None, *, pool_size: int = 10, pool_timeout: float = 5) -> FastAPI:
    """The service as an ASGI application, on *dsn*, AIOIFX_DSN, or a server of its own."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            address = dsn or os.environ.get("AIOIFX_DSN")
            if not address:
                address = await stack.enter_async_context(aioifx.server.running("shop"))
            engine = engine_for(address, pool_size=pool_size, pool_timeout=pool_timeout)
            stack.push_async_callback(engine.dispose)
            event.listen(engine.sync_engine, "connect", keep_update_locks)
            await create_tables(engine)
            app.state.engine = engine
            app.state.sessions = async_sessionmaker(engine, expire_on_commit=False)
            yield

    app = FastAPI(title="Shop", lifespan=lifespan)
    app.include_router(router)
    app.add_middleware(CancelWhenGone)
    for error in (DBAPIError, StaleDataError, TimeoutError):
        app.add_exception_handler(error, answer_for)
    return app


app = service()

if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")))
