"""A shop as applications map it: every kind of relationship, inheritance, versions, types and hybrids."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Enum,
    ForeignKey,
    Integer,
    Numeric,
    String,
    Table,
    UniqueConstraint,
    func,
    select,
)
from sqlalchemy.ext.associationproxy import AssociationProxy, association_proxy
from sqlalchemy.ext.asyncio import AsyncAttrs
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    column_property,
    composite,
    mapped_column,
    relationship,
    validates,
)
from sqlalchemy.types import TypeDecorator


class Base(AsyncAttrs, DeclarativeBase):
    type_annotation_map = {str: String(60), Decimal: Numeric(10, 2)}  # noqa: RUF012 - SQLAlchemy's own form


class Status(enum.Enum):
    OPEN = "open"
    PAID = "paid"
    SENT = "sent"


class Cents(TypeDecorator[Decimal]):
    """An amount, stored as a whole number of cents."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Any) -> int | None:
        return None if value is None else int(value * 100)

    def process_result_value(self, value: Any, dialect: Any) -> Decimal | None:
        return None if value is None else Decimal(value).scaleb(-2)


@dataclass
class Address:
    """A composite of two columns."""

    street: str | None
    town: str | None


class Customer(Base):
    __tablename__ = "customer"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    joined: Mapped[dt.date] = mapped_column(default=dt.date(2026, 1, 1))
    active: Mapped[bool] = mapped_column(Boolean, default=True)
    credit: Mapped[Decimal | None] = mapped_column(Cents)
    address: Mapped[Address] = composite(
        mapped_column("street", String(40)), mapped_column("town", String(40))
    )
    orders: Mapped[list[Order]] = relationship(
        back_populates="customer", cascade="all, delete-orphan", order_by="Order.id"
    )

    @validates("name")
    def _check_name(self, _: str, name: str) -> str:
        assert name, "a customer has a name"
        return name


item_tag = Table(
    "item_tag",
    Base.metadata,
    Column("item_id", ForeignKey("item.id"), primary_key=True),
    Column("tag_id", ForeignKey("tag.id"), primary_key=True),
)


class Item(Base):
    __tablename__ = "item"

    id: Mapped[int] = mapped_column(primary_key=True)
    sku: Mapped[str] = mapped_column(String(12), unique=True)
    name: Mapped[str]
    price: Mapped[Decimal]
    tags: Mapped[list[Tag]] = relationship(secondary=item_tag, back_populates="items", order_by="Tag.name")
    tag_names: AssociationProxy[list[str]] = association_proxy(
        "tags", "name", creator=lambda name: Tag(name=name)
    )


class Tag(Base):
    __tablename__ = "tag"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(20), unique=True)
    items: Mapped[list[Item]] = relationship(secondary=item_tag, back_populates="tags", order_by="Item.sku")


class OrderLine(Base):
    """Its key has two columns, neither of them a SERIAL."""

    __tablename__ = "order_line"

    order_id: Mapped[int] = mapped_column(ForeignKey("orders.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id"))
    pieces: Mapped[int]
    price: Mapped[Decimal]
    item: Mapped[Item] = relationship()

    @hybrid_property
    def amount(self) -> Decimal:
        return self.pieces * self.price


class Order(Base):
    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    customer_id: Mapped[int] = mapped_column(ForeignKey("customer.id"))
    status: Mapped[Status] = mapped_column(
        Enum(Status, native_enum=False, length=8, values_callable=lambda kind: [one.value for one in kind]),
        default=Status.OPEN,
    )
    placed: Mapped[dt.datetime] = mapped_column(DateTime, default=dt.datetime(2026, 3, 4, 5, 6, 7))
    version: Mapped[int] = mapped_column(Integer)
    customer: Mapped[Customer] = relationship(back_populates="orders")
    lines: Mapped[list[OrderLine]] = relationship(
        cascade="all, delete-orphan", order_by=OrderLine.number, lazy="raise_on_sql"
    )
    line_count: Mapped[int] = column_property(
        select(func.count()).where(OrderLine.order_id == id).correlate_except(OrderLine).scalar_subquery()
    )

    __mapper_args__ = {"version_id_col": version}  # noqa: RUF012 - SQLAlchemy's own form

    @hybrid_property
    def total(self) -> Decimal:
        return sum((line.amount for line in self.lines), Decimal(0))

    @total.inplace.expression
    @classmethod
    def _total(cls) -> Any:
        return (
            select(func.sum(OrderLine.pieces * OrderLine.price))
            .where(OrderLine.order_id == cls.id)
            .correlate_except(OrderLine)
            .scalar_subquery()
        )


class Category(Base):
    """Its parent is one of its kind."""

    __tablename__ = "category"
    __table_args__ = (UniqueConstraint("parent_id", "name", name="u_category_name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("category.id"))
    parent: Mapped[Category | None] = relationship(back_populates="children", remote_side=[id])
    children: Mapped[list[Category]] = relationship(back_populates="parent", order_by="Category.name")


class Person(Base):
    """Joined-table inheritance."""

    __tablename__ = "person"
    __mapper_args__ = {"polymorphic_on": "kind", "polymorphic_identity": "person"}  # noqa: RUF012

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(10))
    name: Mapped[str]


class Clerk(Person):
    __tablename__ = "clerk"
    __mapper_args__ = {"polymorphic_identity": "clerk"}  # noqa: RUF012

    id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True)
    desk: Mapped[int]


class Guest(Person):
    """Single-table inheritance."""

    __mapper_args__ = {"polymorphic_identity": "guest"}  # noqa: RUF012

    badge: Mapped[str | None] = mapped_column(String(10))
