"""sqladmin: the pages that list, search, sort, create, change and delete."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI
from sqladmin import Admin, ModelView
from sqlalchemy import ForeignKey, String, select
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class Shelf(Base):
    __tablename__ = "admin_shelf"
    id: Mapped[int] = mapped_column(primary_key=True)
    place: Mapped[str] = mapped_column(String(20))
    items: Mapped[list["Item"]] = relationship(back_populates="shelf")


class Item(Base):
    __tablename__ = "admin_item"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(20))
    shelf_id: Mapped[int | None] = mapped_column(ForeignKey("admin_shelf.id"))
    shelf: Mapped[Shelf | None] = relationship(back_populates="items")


class ItemAdmin(ModelView, model=Item):
    column_list = ["id", "name", "shelf"]
    column_searchable_list = ["name"]
    column_sortable_list = ["name"]


class ShelfAdmin(ModelView, model=Shelf):
    column_list = ["id", "place"]


@pytest.fixture
async def engine(url):
    engine = create_async_engine(url)
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.create_all)
    yield engine
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.drop_all)
    await engine.dispose()


async def test_pages(engine):
    app = FastAPI()
    admin = Admin(app, engine)
    admin.add_view(ItemAdmin)
    admin.add_view(ShelfAdmin)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        await client.post("/admin/shelf/create", data={"place": "left"})
        for name in ("pen", "lamp €"):
            made = await client.post("/admin/item/create", data={"name": name, "shelf": "1"})
            assert made.status_code == 302, made.text
        page = await client.get("/admin/item/list", params={"search": "LAMP", "sortBy": "name", "sort": "desc"})
        assert "lamp €" in page.text and ">pen<" not in page.text
        await client.post("/admin/item/edit/1", data={"name": "ink", "shelf": "1"})
        assert (await client.get("/admin/item/details/1")).text.count("ink") >= 1
        export = await client.get("/admin/item/export/csv")
        assert "lamp €" in export.text
        assert (await client.delete("/admin/item/delete", params={"pks": "2"})).status_code == 200
    async with AsyncSession(engine) as session:
        assert (await session.scalars(select(Item.name))).all() == ["ink"]
