"""Writing by the ORM: keys, many rows at once, versions, savepoints, types; on both engines."""

from __future__ import annotations

import asyncio
import datetime as dt
from decimal import Decimal

import pytest
from sqlalchemy import bindparam, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session
from sqlalchemy.orm.exc import StaleDataError

import aioifx
from aioifx.server import Server
from tests.injection import eventually
from tests.system.orm.conftest import Database
from tests.system.orm.models import Address, Customer, Item, Order, OrderLine, Status

pytestmark = pytest.mark.asyncio(loop_scope="module")


def an_item(number: int) -> Item:
    return Item(sku=f"SKU-{number}", name=f"item {number}", price=Decimal(number) / 4)


# -- keys and many rows -----------------------------------------------------------------------------------------------


async def test_each_new_object_gets_its_serial(db: Database) -> None:
    items = [an_item(number) for number in range(50)]
    await db.run(lambda session: session.add_all(items))
    assert len(db.statements) == 1, "all rows in one executemany"

    def keys(session: Session) -> dict[str, int]:
        return {sku: key for sku, key in session.execute(select(Item.sku, Item.id))}

    assert await db.run(keys) == {item.sku: item.id for item in items}
    assert len({item.id for item in items}) == 50


async def test_a_key_that_is_given_is_kept(db: Database) -> None:
    def add(session: Session) -> tuple[int, int]:
        session.add(given := Item(id=4711, sku="X", name="x", price=1))
        session.flush()
        session.add(following := Item(sku="Y", name="y", price=1))
        session.flush()
        return given.id, following.id

    given, following = await db.run(add)
    assert given == 4711 < following


async def test_rows_without_objects_are_inserted_in_one_run(db: Database) -> None:
    rows = [{"sku": f"SKU-{n}", "name": "bulk", "price": Decimal(n)} for n in range(1000)]
    before = db.server.stats.turns
    await db.run(lambda session: session.execute(insert(Item), rows))
    assert len(db.statements) == 1
    assert db.server.stats.turns - before < 100, "they are not sent one by one"

    def summary(session: Session) -> tuple[int, Decimal]:
        count, total = session.execute(select(func.count(), func.sum(Item.price))).one()
        return count, total

    assert await db.run(summary) == (1000, Decimal(499500))


async def test_objects_with_keys_of_their_own_are_inserted_in_one_run(db: Database) -> None:
    items = [Item(id=n, sku=f"SKU-{n}", name="own key", price=n) for n in range(1, 101)]
    await db.run(lambda session: session.add_all(items))
    assert sum(statement.startswith("INSERT") for statement in db.statements) == 1


async def test_rows_are_updated_by_their_keys_in_one_run(db: Database) -> None:
    items = [an_item(number) for number in range(20)]
    await db.run(lambda session: session.add_all(items))
    changes = [{"id": item.id, "price": Decimal("9.99")} for item in items[:10]]
    await db.run(lambda session: session.execute(update(Item), changes))
    assert len(db.statements) == 1

    def count(session: Session) -> int | None:
        return session.scalar(select(func.count()).where(Item.price == Decimal("9.99")))

    assert await db.run(count) == 10


@pytest.mark.sampled
@pytest.mark.parametrize("how", ["fetch", "evaluate", "auto", False])
async def test_update_and_delete_with_a_condition(db: Database, how: str | bool) -> None:
    await db.run(lambda session: session.add_all([an_item(number) for number in range(10)]))

    def change(session: Session) -> tuple[int, int]:
        items = session.scalars(select(Item)).all()
        condition = Item.price >= Decimal(2)
        options = {"synchronize_session": how}
        updated = session.execute(
            update(Item).where(condition).values(name="dear"), execution_options=options
        )
        if how:
            assert {item.name for item in items if item.price >= 2} == {"dear"}
        removed = session.execute(delete(Item).where(Item.name == "dear"), execution_options=options)
        return updated.rowcount, removed.rowcount  # type: ignore[attr-defined]

    assert await db.run(change) == (2, 2)


async def test_rows_of_a_query_are_inserted(db: Database) -> None:
    await db.run(lambda session: session.add_all([an_item(number) for number in range(5)]))

    def copy(session: Session) -> int | None:
        source = select(Item.sku.concat("/2"), Item.name, Item.price).where(Item.price > 0)
        session.execute(insert(Item).from_select(["sku", "name", "price"], source))
        return session.scalar(select(func.count()).where(Item.sku.like("%/2")))

    assert await db.run(copy) == 4


# -- versions ---------------------------------------------------------------------------------------------------------


async def test_a_version_counts_and_a_stale_object_is_refused(db: Database) -> None:
    customer = Customer(name="Ada", orders=[Order()])
    await db.run(lambda session: session.add(customer))
    key = customer.orders[0].id
    assert customer.orders[0].version == 1

    def pay(session: Session) -> int:
        order = session.get_one(Order, key)
        order.status = Status.PAID
        session.flush()
        return order.version

    assert await db.run(pay) == 2

    def stale(session: Session) -> None:
        order = session.get_one(Order, key)
        session.execute(update(Order.__table__).values(version=9))  # type: ignore[arg-type]
        order.status = Status.SENT

    with pytest.raises(StaleDataError, match="expected to update 1 row"):
        await db.run(stale)

    def stale_delete(session: Session) -> None:
        order = session.get_one(Order, key)
        session.execute(update(Order.__table__).values(version=9))  # type: ignore[arg-type]
        session.delete(order)
        session.flush()

    with pytest.raises(StaleDataError, match="expected to delete 1 row"):
        await db.run(stale_delete)

    def now(session: Session) -> tuple[Status, int]:
        order = session.get_one(Order, key)
        return order.status, order.version

    assert await db.run(now) == (Status.PAID, 2)


async def test_of_two_sessions_that_change_one_row_the_second_is_refused(engine: AsyncEngine) -> None:
    sessions = async_sessionmaker(engine, expire_on_commit=False)
    async with sessions.begin() as session:
        session.add(customer := Customer(name="Ada", orders=[Order()]))
    key = customer.orders[0].id
    async with sessions() as first, sessions() as second:
        theirs, ours = await first.get_one(Order, key), await second.get_one(Order, key)
        await second.commit()  # its lock ends, and it keeps what it has read
        theirs.status = Status.PAID
        await first.commit()
        ours.status = Status.SENT
        with pytest.raises(StaleDataError, match="expected to update 1 row"):
            await second.commit()
        await second.rollback()
        await second.refresh(ours)
        assert (ours.status, ours.version) == (Status.PAID, 2)


# -- transactions -----------------------------------------------------------------------------------------------------


async def test_a_savepoint_keeps_the_session_after_a_violation(db: Database) -> None:
    def add(session: Session) -> list[str]:
        session.add(an_item(1))
        session.flush()
        for number in (1, 2):
            try:
                with session.begin_nested():
                    session.add(an_item(number))
            except IntegrityError as error:
                assert isinstance(error.orig, aioifx.UniqueViolation)
        return list(session.scalars(select(Item.sku).order_by(Item.sku)))

    assert await db.run(add) == ["SKU-1", "SKU-2"]


async def test_an_error_rolls_everything_back(db: Database) -> None:
    def add(session: Session) -> None:
        session.add(an_item(1))
        session.flush()
        raise LookupError

    with pytest.raises(LookupError):
        await db.run(add)
    assert await db.run(lambda session: session.scalar(select(func.count(Item.id)))) == 0


async def test_a_flush_that_is_cancelled_leaves_nothing(engine: AsyncEngine, shop: Server) -> None:
    async def add() -> None:
        async with AsyncSession(engine) as session, session.begin():
            await session.execute(text("SET LOCK MODE TO WAIT 20"))
            session.add(an_item(1))

    async with aioifx.connect(shop.dsn) as other, other.transaction():
        await other.execute("LOCK TABLE item IN EXCLUSIVE MODE")
        task = asyncio.create_task(add())
        await eventually(lambda: any(session.waiting for session in shop.stats.sessions))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with AsyncSession(engine) as session:
        assert await session.scalar(select(func.count(Item.id))) == 0
    await eventually(lambda: not any(session.in_transaction for session in shop.stats.sessions))


async def test_rows_are_read_and_locked_for_an_update(db: Database) -> None:
    await db.run(lambda session: session.add(an_item(8)))

    def raise_price(session: Session) -> Decimal:
        item = session.scalars(select(Item).where(Item.sku == "SKU-8").with_for_update()).one()
        item.price += 1
        session.flush()
        session.refresh(item)
        return item.price

    assert await db.run(raise_price) == Decimal(3)


# -- values -----------------------------------------------------------------------------------------------------------


async def test_values_come_back_as_they_were(db: Database) -> None:
    customer = Customer(
        name="Zoë", joined=dt.date(1999, 12, 31), active=False, credit=Decimal("-12.34"),
        address=Address("Quay 1", None), orders=[Order(status=Status.SENT)],
    )  # fmt: skip
    await db.run(lambda session: session.add(customer))

    def read(session: Session) -> None:
        found = session.get_one(Customer, customer.id)
        assert found is not customer
        values = (found.name, found.joined, found.active, found.credit, found.address)
        assert values == ("Zoë", dt.date(1999, 12, 31), False, Decimal("-12.34"), Address("Quay 1", None))
        order = found.orders[0]
        assert (order.status, order.placed) == (Status.SENT, dt.datetime(2026, 3, 4, 5, 6, 7))

        everybody = select(Customer.name)
        assert session.scalars(everybody.where(Customer.active.is_(False))).all() == ["Zoë"]
        assert session.scalars(everybody.where(Customer.credit < 0)).all() == ["Zoë"]
        assert session.scalars(everybody.where(Customer.address == Address("Quay 1", "x"))).all() == []
        assert session.scalars(everybody.join(Order).where(Order.status == Status.SENT)).all() == ["Zoë"]

    await db.run(read)


async def test_hybrids_are_computed_by_python_and_by_the_server(db: Database) -> None:
    pen = Item(sku="PEN", name="Pen", price=Decimal("1.50"))
    lines = [OrderLine(number=number, item=pen, pieces=number, price=pen.price) for number in (1, 2, 3)]
    small = [OrderLine(number=1, item=pen, pieces=1, price=pen.price)]
    customer = Customer(name="Ada", orders=[Order(lines=lines), Order(lines=small)])
    await db.run(lambda session: session.add(customer))
    assert [order.total for order in customer.orders] == [Decimal(9), Decimal("1.5")]

    def by_server(session: Session) -> list[Decimal]:
        found = session.execute(
            select(Order.total.label("total")).select_from(Order).order_by(Order.total.desc())
        )
        large = session.scalars(select(Order).where(Order.total > 5)).all()
        assert [order.id for order in large] == [customer.orders[0].id]
        amounts = select(func.sum(OrderLine.amount)).group_by(OrderLine.order_id).having(func.count() > 1)
        assert session.scalars(amounts).all() == [Decimal(9)]
        return [total for (total,) in found]

    assert await db.run(by_server) == [Decimal(9), Decimal("1.5")]


async def test_statements_of_core_with_parameters_of_their_own(db: Database) -> None:
    await db.run(lambda session: session.add_all([an_item(number) for number in range(10)]))

    def read(session: Session) -> list[str]:
        query = select(Item.sku).where(Item.price.between(bindparam("low"), bindparam("high")))
        ordered = query.order_by(Item.price.desc()).limit(2)
        return list(session.scalars(ordered, {"low": Decimal("0.5"), "high": Decimal(1)}))

    assert await db.run(read) == ["SKU-4", "SKU-3"]


# -- large results ----------------------------------------------------------------------------------------------------


async def test_a_large_result_comes_in_partitions(db: Database) -> None:
    rows = [{"sku": f"SKU-{n}", "name": "n", "price": n} for n in range(1000)]
    await db.run(lambda session: session.execute(insert(Item), rows))

    def read(session: Session) -> list[int]:
        items = session.scalars(select(Item).order_by(Item.id), execution_options={"yield_per": 300})
        return [len(part) for part in items.partitions()]

    assert await db.run(read) == [300, 300, 300, 100]


async def test_a_stream_that_is_left_early_closes_its_cursor(engine: AsyncEngine, shop: Server) -> None:
    async with AsyncSession(engine) as session:
        rows = [{"sku": f"SKU-{n}", "name": "n" * 60, "price": n} for n in range(1000)]
        await session.execute(insert(Item), rows)
        await session.commit()
        result = await session.stream(select(Item), execution_options={"yield_per": 10})
        async for item in result.scalars():
            assert item.name == "n" * 60
            break
        assert sum(one.cursors for one in shop.stats.sessions) == 1
        await result.close()
        assert await session.scalar(select(func.count(Item.id))) == 1000
        assert sum(one.cursors for one in shop.stats.sessions) == 0


async def test_many_sessions_at_once_share_the_pool(engine: AsyncEngine, shop: Server) -> None:
    sessions = async_sessionmaker(engine)

    async def work(number: int) -> int:
        async with sessions.begin() as session:
            return await session.scalar(select(func.count()).select_from(Item)) or number

    before = shop.stats.logins
    assert await asyncio.gather(*(work(number) for number in range(1, 41))) == list(range(1, 41))
    assert shop.stats.logins - before <= 15
