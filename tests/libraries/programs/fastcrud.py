"""FastCRUD: its operations, and the routes that it makes for FastAPI."""

from __future__ import annotations

import datetime as dt

import httpx
import pytest
from fastapi import FastAPI
from fastcrud import FastCRUD, FilterConfig, JoinConfig, aliased, crud_router
from fastcrud.exceptions.http_exceptions import NotFoundException
from pydantic import BaseModel
from sqlalchemy import DateTime, ForeignKey, String
from sqlalchemy.exc import MultipleResultsFound
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
    is_deleted: Mapped[bool] = mapped_column(default=False)
    deleted_at: Mapped[dt.datetime | None] = mapped_column(DateTime(timezone=True), default=None)
    updated_at: Mapped[dt.datetime | None] = mapped_column(DateTime(timezone=True), default=None)


class Mark(Base):
    __tablename__ = "mark"
    word: Mapped[str] = mapped_column(String(20), primary_key=True)
    items: Mapped[int]


class NewItem(BaseModel):
    name: str
    price: int
    shelf_id: int | None = None


class ChangedItem(BaseModel):
    price: int


class ReadItem(BaseModel):
    id: int
    name: str
    price: int


class WholeMark(BaseModel):
    word: str
    items: int


class ReadShelf(BaseModel):
    id: int
    place: str


@pytest.fixture
async def sessions(url):
    engine = create_async_engine(url)
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.create_all)
    yield async_sessionmaker(engine, expire_on_commit=False)
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.drop_all)
    await engine.dispose()


@pytest.fixture
async def session(sessions):
    """A session, with five items on two shelves."""
    async with sessions() as session:
        session.add_all([Shelf(id=1, place="left"), Shelf(id=2, place="right €")])
        await session.flush()
        for number in range(5):
            new = NewItem(name=f"item {number}", price=number, shelf_id=1 + number % 2)
            await FastCRUD(Item).create(session, new)
        yield session


async def test_rows_are_filtered_sorted_and_paged(session):
    items = FastCRUD(Item)
    page = await items.get_multi(
        session, offset=1, limit=2, sort_columns="price", sort_orders="desc", price__gt=0
    )
    assert [row["price"] for row in page["data"]] == [3, 2]
    assert page["total_count"] == 4
    either = await items.get_multi(session, price__or={"lt": 1, "gt": 3}, sort_columns="id")
    assert [row["name"] for row in either["data"]] == ["item 0", "item 4"]
    assert await items.count(session, name__ilike="ITEM%", price__in=[1, 2], price__between=[0, 1]) == 1
    read = await items.get(session, name="item 3", schema_to_select=ReadItem, return_as_model=True)
    assert read == ReadItem(id=4, name="item 3", price=3)
    cursor = await items.get_multi_by_cursor(session, limit=2, sort_column="id")
    rest = await items.get_multi_by_cursor(session, cursor=cursor["next_cursor"], limit=2, sort_column="id")
    assert [row["id"] for row in cursor["data"] + rest["data"]] == [1, 2, 3, 4]


async def test_rows_are_changed_and_deleted(session):
    items = FastCRUD(Item)
    await items.update(session, ChangedItem(price=70), name="item 1")
    changed = await items.get(session, price__gte=70)
    assert (changed["name"], changed["updated_at"].tzinfo is not None) == ("item 1", True)
    with pytest.raises(MultipleResultsFound):
        await items.update(session, ChangedItem(price=0), price__lt=70)
    await items.update(session, {"price": 0}, allow_multiple=True, price__lt=70)
    assert await items.count(session, price=0) == 4
    await items.delete(session, name="item 4")
    assert (await items.get(session, name="item 4"))["is_deleted"] is True
    await items.db_delete(session, name="item 4")
    assert not await items.exists(session, name="item 4")


async def test_rows_are_upserted(session):
    marks = FastCRUD(Mark)  # Informix refuses to change a SERIAL, and upsert() sets the key
    await marks.upsert(session, WholeMark(word="new", items=1))
    assert (await marks.upsert(session, WholeMark(word="new", items=2)))["items"] == 2
    assert await marks.count(session) == 1


async def test_rows_of_two_tables_are_joined(session):
    items = FastCRUD(Item)
    joined = await items.get_joined(session, join_model=Shelf, join_prefix="shelf_", name="item 1")
    assert joined["shelf_place"] == "right €"
    nested = await items.get_multi_joined(
        session, join_model=Shelf, join_prefix="shelf_", join_schema_to_select=ReadShelf, nest_joins=True,
        sort_columns="price", limit=2,
    )  # fmt: skip
    assert [row["shelf"]["place"] for row in nested["data"]] == ["left", "right €"]
    assert nested["total_count"] == 5
    other = aliased(Shelf)
    config = JoinConfig(
        model=other, join_on=other.id == Item.shelf_id, join_prefix="at_", alias=other, join_type="inner",
        filters={"place": "left"},
    )  # fmt: skip
    left = await items.get_multi_joined(session, joins_config=[config], sort_columns="price")
    assert [(row["price"], row["at_place"]) for row in left["data"]] == [
        (0, "left"),
        (2, "left"),
        (4, "left"),
    ]
    assert await items.count(session, joins_config=[config]) == 3


async def test_routes(sessions):
    async def get_session():
        async with sessions() as session:
            yield session

    app = FastAPI()
    router = crud_router(
        session=get_session,
        model=Item,
        create_schema=NewItem,
        update_schema=ChangedItem,
        select_schema=ReadItem,
        filter_config=FilterConfig(name=None, price__gt=None),
        path="/items",
    )
    app.include_router(router)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        for name, price in (("pen", 2), ("lamp €", 35)):
            made = await client.post("/items", json={"name": name, "price": price})
            assert made.status_code == 200, made.text
        page = (await client.get("/items", params={"page": 1, "itemsPerPage": 1})).json()
        assert (page["total_count"], page["has_more"], [item["name"] for item in page["data"]]) == (
            2,
            True,
            ["pen"],
        )
        dear = (await client.get("/items", params={"price__gt": 3})).json()
        assert [item["name"] for item in dear["data"]] == ["lamp €"]
        number = dear["data"][0]["id"]
        assert (await client.patch(f"/items/{number}", json={"price": 36})).status_code == 200
        assert (await client.get(f"/items/{number}")).json() == {"id": number, "name": "lamp €", "price": 36}
        assert (await client.delete(f"/items/{number}")).status_code == 200
        assert (await client.get("/items/99")).status_code == NotFoundException().status_code
