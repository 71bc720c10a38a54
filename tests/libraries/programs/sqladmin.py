"""sqladmin: the pages that list, search, sort, filter, export, create, change and delete."""

from __future__ import annotations

import datetime as dt
import enum

import httpx
import pytest
from fastapi import FastAPI
from sqladmin import Admin, ModelView
from sqladmin.filters import BooleanFilter, ForeignKeyFilter
from sqlalchemy import ForeignKey, String, Text, select
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Shelf(Base):
    __tablename__ = "shelf"
    id: Mapped[int] = mapped_column(primary_key=True)
    place: Mapped[str] = mapped_column(String(20))
    items: Mapped[list[Item]] = relationship(back_populates="shelf")

    def __str__(self) -> str:
        return f"shelf {self.place}"


class Item(Base):
    __tablename__ = "item"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(20))
    new: Mapped[bool]
    colour: Mapped[Colour | None]
    made: Mapped[dt.date | None]
    notes: Mapped[str | None] = mapped_column(Text)
    shelf_id: Mapped[int | None] = mapped_column(ForeignKey("shelf.id"))
    shelf: Mapped[Shelf | None] = relationship(back_populates="items")


class ItemAdmin(ModelView, model=Item):
    column_list = ("id", "name", "shelf", "made")
    column_searchable_list = ("name", "shelf.place")
    column_sortable_list = ("name", "made")
    column_filters = (BooleanFilter(Item.new), ForeignKeyFilter(Item.shelf_id, Shelf.place))


class ShelfAdmin(ModelView, model=Shelf):
    column_list = ("id", "place")


@pytest.fixture
async def engine(url):
    engine = create_async_engine(url)
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.create_all)
    yield engine
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.drop_all)
    await engine.dispose()


@pytest.fixture
async def client(engine):
    """The site, with two items on two shelves that its forms have made."""
    app = FastAPI()
    admin = Admin(app, engine)
    admin.add_view(ItemAdmin)
    admin.add_view(ShelfAdmin)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test/admin") as client:
        for place in ("left", "right"):
            await client.post("/shelf/create", data={"place": place})
        items = [
            {"name": "pen", "shelf": "1", "colour": "RED", "made": "2026-05-04", "new": "true"},
            {"name": "lamp €", "shelf": "2", "notes": "bright " * 500},
        ]
        for item in items:
            made = await client.post("/item/create", data=item)
            assert made.status_code == 302, made.text
        yield client


def names(page):
    """Those of the items in a list, in its order."""
    found = {name: page.text.find(name) for name in ("pen", "lamp €") if f"<td>{name}</td>" in page.text}
    return sorted(found, key=lambda name: page.text.index(f"<td>{name}</td>"))


async def test_forms_store_values_of_every_type(client, engine):
    async with AsyncSession(engine) as session:
        pen, lamp = await session.scalars(select(Item).order_by(Item.id))
        assert (pen.name, pen.shelf_id, pen.colour, pen.made) == ("pen", 1, Colour.RED, dt.date(2026, 5, 4))
        assert (pen.new, lamp.new, lamp.colour, lamp.notes) == (True, False, None, "bright " * 500)


async def test_lists_are_searched_sorted_and_filtered(client):
    assert names(await client.get("/item/list", params={"sortBy": "name"})) == ["lamp €", "pen"]
    assert names(await client.get("/item/list", params={"sortBy": "name", "sort": "desc"})) == [
        "pen",
        "lamp €",
    ]
    assert names(await client.get("/item/list", params={"search": "LAMP"})) == ["lamp €"]
    assert names(await client.get("/item/list", params={"search": "eft"})) == ["pen"]
    assert names(await client.get("/item/list", params={"new": "true"})) == ["pen"]
    assert names(await client.get("/item/list", params={"shelf_id": "2"})) == ["lamp €"]
    assert len(names(await client.get("/item/list", params={"pageSize": "1", "page": "2"}))) == 1


async def test_an_item_is_shown_changed_exported_and_deleted(client, engine):
    details = await client.get("/item/details/1")
    assert "shelf left" in details.text
    form = await client.get("/item/edit/1")
    assert 'value="pen"' in form.text
    changed = await client.post("/item/edit/1", data={"name": "ink", "shelf": "2"})
    assert changed.status_code == 302
    export = await client.get("/item/export/csv")
    rows = export.text.splitlines()
    assert rows[0] == "id,name,shelf,made" and rows[1].startswith("1,ink,shelf right")
    assert (await client.delete("/item/delete", params={"pks": "2"})).status_code == 200
    async with AsyncSession(engine) as session:
        assert (await session.scalars(select(Item.name))).all() == ["ink"]
