"""FastCRUD: its operations, and the routes that it makes for FastAPI."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI
from fastcrud import FastCRUD, crud_router
from pydantic import BaseModel
from sqlalchemy import ForeignKey, String
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column


class Base(DeclarativeBase):
    pass


class Shelf(Base):
    __tablename__ = "shelf"
    id: Mapped[int] = mapped_column(primary_key=True)
    place: Mapped[str] = mapped_column(String(20))


class Item(Base):
    __tablename__ = "item"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(20))
    price: Mapped[int]
    shelf_id: Mapped[int | None] = mapped_column(ForeignKey("shelf.id"))


class NewItem(BaseModel):
    name: str
    price: int
    shelf_id: int | None = None


class ChangedItem(BaseModel):
    price: int


@pytest.fixture
async def sessions(url):
    engine = create_async_engine(url)
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.create_all)
    yield async_sessionmaker(engine, expire_on_commit=False)
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.drop_all)
    await engine.dispose()


async def test_operations(sessions):
    items = FastCRUD(Item)
    async with sessions() as session:
        session.add(Shelf(id=1, place="left"))
        await session.flush()
        for number in range(5):
            await items.create(session, NewItem(name=f"item {number}", price=number, shelf_id=1))
        page = await items.get_multi(session, offset=1, limit=2, sort_columns="price", sort_orders="desc", price__gt=0)
        assert [row["price"] for row in page["data"]] == [3, 2]
        assert page["total_count"] == 4
        await items.update(session, ChangedItem(price=70), name="item 1")
        assert (await items.get(session, price__gte=70))["name"] == "item 1"
        joined = await items.get_joined(session, join_model=Shelf, join_prefix="shelf_", name="item 1")
        assert joined["shelf_place"] == "left"
        assert await items.exists(session, name="item 4")
        await items.delete(session, name="item 4")
        assert await items.count(session) == 4


async def test_routes(sessions):
    async def session():
        async with sessions() as session:
            yield session

    app = FastAPI()
    app.include_router(
        crud_router(session=session, model=Item, create_schema=NewItem, update_schema=ChangedItem, path="/items")
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        made = await client.post("/items", json={"name": "pen", "price": 2})
        assert made.status_code == 200, made.text
        page = (await client.get("/items", params={"page": 1, "items_per_page": 10})).json()
        assert page["total_count"] == 1
        number = page["data"][0]["id"]
        assert (await client.patch(f"/items/{number}", json={"price": 3})).status_code == 200
        assert (await client.get(f"/items/{number}")).json()["price"] == 3
        assert (await client.delete(f"/items/{number}")).status_code == 200
