"""Relationships and their loading strategies, on both engines."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError, InvalidRequestError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import (
    Session,
    aliased,
    contains_eager,
    defer,
    joinedload,
    raiseload,
    selectin_polymorphic,
    selectinload,
    subqueryload,
    with_polymorphic,
)

from tests.system.orm.conftest import Database
from tests.system.orm.models import (
    Address,
    Category,
    Clerk,
    Customer,
    Guest,
    Item,
    Order,
    OrderLine,
    Person,
    Tag,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


def fill(session: Session) -> None:
    """Three customers; the first has two orders, the second has one, the third none."""
    pen = Item(sku="PEN", name="Pen", price=Decimal("1.50"), tag_names=["office", "small"])
    lamp = Item(sku="LAMP", name="Lamp", price=Decimal("35.25"), tags=[pen.tags[0]])
    customers = [Customer(name=name, address=Address(None, "Kiel")) for name in ("Ada", "Bea", "Cem")]
    for customer, numbers in zip(customers, ((3, 4), (5,), ()), strict=True):
        for pieces in numbers:
            lines = [
                OrderLine(number=1, item=pen, pieces=pieces, price=pen.price),
                OrderLine(number=2, item=lamp, pieces=1, price=lamp.price),
            ]
            customer.orders.append(Order(lines=lines))
    session.add_all([*customers, lamp])


def shape_of(customers: Any) -> list[tuple[str, list[list[tuple[int, str]]]]]:
    """Customers with the lines of their orders, without a further statement."""
    return [
        (customer.name, [[(line.pieces, line.item.sku) for line in order.lines] for order in customer.orders])
        for customer in customers
    ]


SHAPE = [
    ("Ada", [[(3, "PEN"), (1, "LAMP")], [(4, "PEN"), (1, "LAMP")]]),
    ("Bea", [[(5, "PEN"), (1, "LAMP")]]),
    ("Cem", []),
]

LOADS: dict[str, tuple[Callable[..., Any], int]] = {
    "selectin": (selectinload, 4),
    "joined": (joinedload, 1),
    "subquery": (subqueryload, 4),
}


@pytest.mark.sampled
@pytest.mark.parametrize("strategy", LOADS)
async def test_three_levels_are_loaded_in_advance(db: Database, strategy: str) -> None:
    await db.run(fill)
    load, selects = LOADS[strategy]
    path = load(Customer.orders)
    path = getattr(path, load.__name__)(Order.lines)
    path = getattr(path, load.__name__)(OrderLine.item)

    def read(session: Session) -> None:
        customers = session.scalars(select(Customer).options(path).order_by(Customer.name)).unique().all()
        before = len(db.statements)
        assert shape_of(customers) == SHAPE
        assert len(db.statements) == before, "nothing is loaded later"

    await db.run(read)
    assert db.selects() == selects


@pytest.mark.sampled
@pytest.mark.parametrize("strategy", LOADS)
async def test_a_page_of_parents_is_not_a_page_of_rows(db: Database, strategy: str) -> None:
    await db.run(fill)
    load, _ = LOADS[strategy]

    def read(session: Session) -> list[tuple[str, int]]:
        query = select(Customer).options(load(Customer.orders)).order_by(Customer.name)
        found = session.scalars(query.limit(2).offset(0)).unique().all()
        last = session.scalars(query.limit(2).offset(1)).unique().all()
        return [(customer.name, len(customer.orders)) for customer in (*found, *last)]

    assert await db.run(read) == [("Ada", 2), ("Bea", 1), ("Bea", 1), ("Cem", 0)]


async def test_a_join_of_the_query_fills_the_relationship(db: Database) -> None:
    await db.run(fill)

    def read(session: Session) -> list[str]:
        query = (
            select(Order)
            .join(Order.customer)
            .options(contains_eager(Order.customer), raiseload("*"), defer(Order.placed))
            .where(Customer.name.in_(["Ada", "Bea"]))
            .order_by(Customer.name.desc(), Order.id)
        )
        return [order.customer.name for order in session.scalars(query)]

    assert await db.run(read) == ["Bea", "Ada", "Ada"]
    assert db.selects() == 1


async def test_lazy_loading_works_in_the_session_and_raiseload_forbids_it(db: Database) -> None:
    await db.run(fill)

    def read(session: Session) -> None:
        ada = session.scalars(select(Customer).filter_by(name="Ada")).one()
        order = ada.orders[0]
        assert order.line_count == 2
        assert session.get(Order, order.id) is order
        with pytest.raises(InvalidRequestError, match="raise_on_sql"):
            _ = order.lines
        session.expire_all()
        assert ada.orders[1].customer is ada

    await db.run(read)


async def test_orphans_and_children_of_deleted_rows_are_deleted(db: Database) -> None:
    await db.run(fill)

    def change(session: Session) -> None:
        path = selectinload(Customer.orders).selectinload(Order.lines)
        ada, bea = session.scalars(
            select(Customer).options(path).where(Customer.name < "C").order_by(Customer.name)
        )
        del ada.orders[0]
        session.delete(bea)

    await db.run(change)

    def left(session: Session) -> tuple[int, ...]:
        return tuple(
            session.scalar(select(func.count()).select_from(table)) or 0
            for table in (Customer, Order, OrderLine, Item)
        )

    assert await db.run(left) == (2, 1, 2, 2)


async def test_a_foreign_key_violation_is_an_integrity_error(db: Database) -> None:
    await db.run(fill)

    def break_it(session: Session) -> None:
        session.execute(Item.__table__.delete())  # type: ignore[attr-defined]

    with pytest.raises(IntegrityError, match="item") as caught:
        await db.run(break_it)
    assert caught.value.orig is not None

    def count(session: Session) -> int | None:
        return session.scalar(select(func.count(Item.id)))

    assert await db.run(count) == 2


async def test_many_to_many_in_both_directions(db: Database) -> None:
    await db.run(fill)

    def change(session: Session) -> None:
        office = session.scalars(select(Tag).options(selectinload(Tag.items)).filter_by(name="office")).one()
        assert [item.sku for item in office.items] == ["LAMP", "PEN"]
        office.items.pop()
        office.items.append(Item(sku="DESK", name="Desk", price=Decimal(190)))

    await db.run(change)

    def read(session: Session) -> dict[str, list[str]]:
        items = session.scalars(select(Item).options(selectinload(Item.tags)).order_by(Item.sku))
        return {item.sku: list(item.tag_names) for item in items}

    assert await db.run(read) == {"DESK": ["office"], "LAMP": ["office"], "PEN": ["small"]}

    def with_tag(session: Session) -> list[str]:
        return list(session.scalars(select(Item.sku).where(Item.tags.any(Tag.name == "small"))))

    assert await db.run(with_tag) == ["PEN"]


async def test_a_tree_of_rows_of_one_table(db: Database) -> None:
    def grow(session: Session) -> None:
        root = Category(name="goods")
        for name in ("tools", "paper"):
            Category(name=name, parent=root).children = [Category(name=f"{name} {n}") for n in (1, 2)]
        session.add(root)

    await db.run(grow)

    def read(session: Session) -> list[Any]:
        path = selectinload(Category.children, recursion_depth=3)
        root = session.scalars(select(Category).where(Category.parent_id.is_(None)).options(path)).one()
        return [(child.name, [grandchild.name for grandchild in child.children]) for child in root.children]

    assert await db.run(read) == [("paper", ["paper 1", "paper 2"]), ("tools", ["tools 1", "tools 2"])]

    def by_self_join(session: Session) -> list[tuple[str, str]]:
        parent = aliased(Category)
        query = (
            select(parent.name, Category.name)
            .join(Category.parent.of_type(parent))
            .where(parent.parent_id.is_not(None), ~Category.children.any())
            .order_by(Category.name)
        )
        return [(above, name) for above, name in session.execute(query)]

    assert [name for _, name in await db.run(by_self_join)] == ["paper 1", "paper 2", "tools 1", "tools 2"]


async def test_inheritance_in_one_table_and_in_several(db: Database) -> None:
    def add(session: Session) -> None:
        session.add_all(
            [Person(name="Ann"), Clerk(name="Bob", desk=7), Guest(name="Cid", badge="G1"), Guest(name="Dan")]
        )

    await db.run(add)

    def read(session: Session) -> list[tuple[str, Any]]:
        query = select(Person).options(selectin_polymorphic(Person, [Clerk, Guest])).order_by(Person.name)
        return [
            (person.name, getattr(person, "desk", None) or getattr(person, "badge", None))
            for person in session.scalars(query)
        ]

    assert await db.run(read) == [("Ann", None), ("Bob", 7), ("Cid", "G1"), ("Dan", None)]

    def of_one_kind(session: Session) -> list[Any]:
        everybody = with_polymorphic(Person, [Clerk])
        query = select(everybody).where((everybody.Clerk.desk == 7) | (everybody.name == "Ann"))
        found = [type(person) for person in session.scalars(query.order_by(everybody.name))]
        return [*found, *session.scalars(select(Guest.badge).where(Guest.badge.is_not(None)))]

    assert await db.run(of_one_kind) == [Person, Clerk, "G1"]

    def remove(session: Session) -> None:
        session.delete(session.scalars(select(Clerk)).one())

    await db.run(remove)


async def test_attributes_are_awaitable(engine: AsyncEngine) -> None:
    async with AsyncSession(engine) as session:
        await session.run_sync(fill)
        await session.commit()  # everything expires
        ada = (await session.scalars(select(Customer).filter_by(name="Ada"))).one()
        orders = await ada.awaitable_attrs.orders
        assert [order.line_count for order in orders] == [2, 2]
        assert await session.get_one(Order, orders[0].id) is orders[0]
        await session.refresh(ada, ["orders"])
        assert (await session.merge(Customer(id=ada.id, name="Eva"))) is ada
