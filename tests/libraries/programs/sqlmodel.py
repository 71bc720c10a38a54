"""SQLModel: models, relationships, and the default of an aware datetime."""

# ruff: noqa: I002 - SQLModel reads annotations of relationships as types
import datetime as dt
import uuid
from decimal import Decimal
from typing import Optional

import pytest
from sqlalchemy import DateTime
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlmodel import Field, Relationship, Session, SQLModel, col, func, select
from sqlmodel.ext.asyncio.session import AsyncSession


def now() -> dt.datetime:
    return dt.datetime.now(dt.timezone.utc).replace(microsecond=123450)


class Shelf(SQLModel, table=True):
    id: Optional[int] = Field(default=None, primary_key=True)
    place: str = Field(unique=True)
    items: list["Item"] = Relationship(back_populates="shelf")


class Item(SQLModel, table=True):
    id: uuid.UUID = Field(default_factory=uuid.uuid4, primary_key=True)
    name: str = Field(index=True)
    price: Decimal = Field(max_digits=8, decimal_places=2)
    made: dt.datetime = Field(default_factory=now, sa_type=DateTime(timezone=True))
    shelf_id: Optional[int] = Field(default=None, foreign_key="shelf.id")
    shelf: Optional[Shelf] = Relationship(back_populates="items")


@pytest.fixture
def tables(engine):
    SQLModel.metadata.create_all(engine)
    yield
    SQLModel.metadata.drop_all(engine)


def test_models_are_stored_queried_and_changed(engine, tables):
    lamp, pen = Item(name="lamp", price=Decimal("35.25")), Item(name="pen €", price=Decimal(1))
    made, key = lamp.made, lamp.id
    with Session(engine) as session:
        session.add(Shelf(place="left", items=[lamp, pen]))
        session.commit()
    with Session(engine) as session:
        item = session.get(Item, key)
        assert (item.name, item.price, item.made, item.shelf.place) == ("lamp", Decimal("35.25"), made, "left")
        item.price += 1
        session.add(item)
        session.commit()
        dear = session.exec(select(Item.name).join(Shelf).where(col(Item.price) > 20)).all()
        assert dear == ["lamp"]
        assert session.exec(select(func.count()).select_from(Item)).one() == 2
        session.add(Shelf(place="left"))
        with pytest.raises(IntegrityError):
            session.commit()


async def test_an_asyncio_session_does_the_same(url, tables):
    engine = create_async_engine(url)
    async with AsyncSession(engine) as session:
        session.add(Item(name="stool", price=Decimal(19)))
        await session.commit()
        item = (await session.exec(select(Item))).one()
        assert item.made.tzinfo is not None
        await session.delete(item)
        await session.commit()
    await engine.dispose()
