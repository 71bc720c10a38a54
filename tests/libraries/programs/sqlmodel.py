"""SQLModel: models, relationships, and the default of an aware datetime."""

# ruff: noqa: I002 - SQLModel reads annotations of relationships as types
import datetime as dt
import enum
import uuid
from decimal import Decimal

import pytest
from sqlalchemy import DateTime
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.orm import selectinload
from sqlmodel import Field, Relationship, Session, SQLModel, col, delete, func, select, update
from sqlmodel.ext.asyncio.session import AsyncSession


def now() -> dt.datetime:
    return dt.datetime.now(dt.UTC).replace(microsecond=123450)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Marked(SQLModel, table=True):
    item_id: uuid.UUID | None = Field(default=None, foreign_key="item.id", primary_key=True)
    mark_id: int | None = Field(default=None, foreign_key="mark.id", primary_key=True)


class Mark(SQLModel, table=True):
    id: int | None = Field(default=None, primary_key=True)
    word: str = Field(max_length=20)
    items: list["Item"] = Relationship(back_populates="marks", link_model=Marked)


class Shelf(SQLModel, table=True):
    id: int | None = Field(default=None, primary_key=True)
    place: str = Field(unique=True)
    items: list["Item"] = Relationship(back_populates="shelf")


class ItemBase(SQLModel):
    name: str = Field(index=True)
    price: Decimal = Field(max_digits=8, decimal_places=2)
    colour: Colour = Colour.RED


class Item(ItemBase, table=True):
    id: uuid.UUID = Field(default_factory=uuid.uuid4, primary_key=True)
    made: dt.datetime = Field(default_factory=now, sa_type=DateTime(timezone=True))
    shelf_id: int | None = Field(default=None, foreign_key="shelf.id")
    shelf: Shelf | None = Relationship(back_populates="items")
    marks: list[Mark] = Relationship(back_populates="items", link_model=Marked)


class ItemUpdate(SQLModel):
    price: Decimal | None = None
    colour: Colour | None = None


@pytest.fixture
def tables(engine):
    SQLModel.metadata.create_all(engine)
    yield
    SQLModel.metadata.drop_all(engine)


@pytest.fixture
def lamp(engine, tables):
    """A lamp and a pen on a shelf."""
    with Session(engine, expire_on_commit=False) as session:
        lamp = Item(name="lamp", price=Decimal("35.25"), marks=[Mark(word="new")])
        session.add(
            Shelf(place="left", items=[lamp, Item(name="pen €", price=Decimal(1), colour=Colour.BLUE)])
        )
        session.commit()
    return lamp


def test_models_are_stored_and_read(engine, lamp):
    with Session(engine) as session:
        item = session.get(Item, lamp.id)
        assert (item.name, item.price, item.made, item.colour) == (
            "lamp",
            Decimal("35.25"),
            lamp.made,
            Colour.RED,
        )
        assert (item.shelf.place, [mark.word for mark in item.marks]) == ("left", ["new"])
        assert session.exec(select(Item).where(Item.colour == Colour.BLUE)).one().name == "pen €"


def test_a_model_is_changed_by_another(engine, lamp):
    with Session(engine) as session:
        item = session.get(Item, lamp.id)
        item.sqlmodel_update(ItemUpdate(price=Decimal("36.50")).model_dump(exclude_unset=True))
        session.add(item)
        session.commit()
        session.refresh(item)
        assert (item.price, item.colour) == (Decimal("36.50"), Colour.RED)
        session.exec(update(Item).where(col(Item.name) == "lamp").values(name="big lamp"))
        session.exec(delete(Item).where(col(Item.price) < 2))
        session.commit()
        assert session.exec(select(Item.name)).all() == ["big lamp"]


def test_queries_join_group_sort_and_page(engine, lamp):
    with Session(engine) as session:
        query = select(Item.name, Shelf.place).join(Shelf).where(col(Item.price) > 20)
        assert session.exec(query).all() == [("lamp", "left")]
        totals = select(Shelf.place, func.count(), func.sum(Item.price)).join(Item).group_by(Shelf.place)
        assert session.exec(totals).all() == [("left", 2, Decimal("36.25"))]
        assert session.exec(select(Item.name).order_by(col(Item.name).desc()).offset(1).limit(1)).all() == [
            "lamp"
        ]
        assert session.exec(select(Mark).join(Marked).where(Marked.item_id == lamp.id)).one().word == "new"
        assert session.exec(select(Item).where(col(Item.made) <= now(), col(Item.name).contains("€"))).one()


def test_a_second_of_a_unique_value_is_refused(engine, lamp):
    with Session(engine) as session:
        session.add(Shelf(place="left"))
        with pytest.raises(IntegrityError):
            session.commit()
        session.rollback()
        assert session.exec(select(func.count()).select_from(Shelf)).one() == 1


async def test_an_asyncio_session_does_the_same(url, lamp):
    engine = create_async_engine(url)
    async with AsyncSession(engine) as session:
        session.add(Item(name="stool", price=Decimal(19)))
        await session.commit()
        query = select(Item).order_by(Item.name).options(selectinload(Item.shelf), selectinload(Item.marks))
        items = (await session.exec(query)).all()
        assert [(item.name, item.shelf and item.shelf.place) for item in items] == [
            ("lamp", "left"), ("pen €", "left"), ("stool", None)
        ]  # fmt: skip
        assert items[2].made.tzinfo is not None
        await session.delete(items[2])
        await session.commit()
        assert (await session.exec(select(func.count()).select_from(Item))).one() == 2
    await engine.dispose()
