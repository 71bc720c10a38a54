"""Upserts: the text of the MERGE, and what the embedded server makes of it."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from aioifx.server import running
from aioifx.sqlalchemy import insert
from tests.sqlalchemy.stock import ITEM, PART, load, sql

I = ITEM.c  # noqa: E741 - as short as `c`
NOTE = sa.Table("note", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("x", sa.Text))
ROW = insert(ITEM).values(id=2, name="new", price=1)
HEAD = (
    "MERGE INTO item USING (SELECT CAST(? AS INTEGER) AS id, CAST(? AS VARCHAR(20)) AS name, "
    "CAST(? AS DECIMAL(10, 2)) AS price FROM informix.systables WHERE tabid = 1) AS excluded ON ({0}) "
)
TAIL = "WHEN NOT MATCHED THEN INSERT (id, name, price) VALUES (excluded.id, excluded.name, excluded.price)"


@pytest.mark.parametrize(
    ("statement", "key", "change", "row"),
    [
        (ROW.on_conflict_do_update(), "id", "name = excluded.name, price = excluded.price", (2, "new", 1)),
        (ROW.on_conflict_do_update(set_={"name": I.name + "/" + ROW.excluded.name, I.price: 9}), "id",
         "name = (item.name || ? || excluded.name), price = ?", (2, "two/new", 9)),
        (ROW.on_conflict_do_update(index_elements=[I.id, "price"], set_={"name": sa.null()}), "id price",
         "name = NULL", None),
        (ROW.on_conflict_do_update(set_={"fresh": I.id > 1}), "id", None, (2, "two", 2.5)),
        (ROW.on_conflict_do_nothing(), "id", "", (2, "two", 2.5)),
    ],
)  # fmt: skip
async def test_an_upsert_is_a_merge(
    engine: AsyncEngine, statement: Any, key: str, change: str | None, row: tuple[Any, ...] | None
) -> None:
    if change is not None:
        keys = " AND ".join(f"item.{name} = excluded.{name}" for name in key.split())
        update = f"WHEN MATCHED THEN UPDATE SET {change} " if change else ""
        assert sql(statement) == HEAD.format(keys).replace("DECIMAL(10, 2)", price_type()) + update + TAIL
    await load(engine)
    found = select(I.id, I.name, I.price).where(I.id == 2)
    async with engine.connect() as conn:
        if row is not None:
            await conn.execute(statement)
            assert [tuple(found) for found in await conn.execute(found)] == [row]


def price_type() -> str:
    return sql(select(sa.cast(1, I.price.type).label("x"))).split(" AS ")[1].rstrip(")") + ")"


async def test_many_rows_some_of_which_exist(engine: AsyncEngine) -> None:
    await load(engine)
    statement = insert(PART).on_conflict_do_update(set_={"label": insert(PART).excluded.label})
    rows = [{"item": 1, "no": no, "label": f"part {no}"} for no in range(2, 6)]
    async with engine.begin() as conn:
        assert (await conn.execute(statement, rows)).rowcount == 4
        assert (await conn.execute(statement, rows)).rowcount == 4
        found = select(PART.c.no, PART.c.label).where(PART.c.item == 1).order_by(PART.c.no)
        result = [tuple(row) for row in await conn.execute(found)]
        assert result == [(1, "bolt"), *((no, f"part {no}") for no in range(2, 6))]


async def test_defaults_of_the_model_are_inserted(engine: AsyncEngine) -> None:
    table = sa.Table(
        "counted",
        sa.MetaData(),
        sa.Column("name", sa.String(9), primary_key=True),
        sa.Column("count", sa.Integer, default=1),
        sa.Column("changes", sa.Integer, server_default="0"),
    )
    statement = insert(table).values(name="a")
    statement = statement.on_conflict_do_update(set_={"count": table.c.count + statement.excluded.count})
    async with engine.begin() as conn:
        await conn.run_sync(table.metadata.create_all)
        for _ in range(3):
            await conn.execute(statement)
        assert [tuple(row) for row in await conn.execute(select(table))] == [("a", 3, 0)]


LONG = "x" * 21
ITEM_ROW = insert(ITEM).values(id=1, name="new")


@pytest.mark.parametrize(
    "statement",
    [
        insert(ITEM).values(id=1, name=LONG).on_conflict_do_update(),
        insert(ITEM).values({I.id: 1, I.name: sa.literal(LONG)}).on_conflict_do_nothing(),
        insert(ITEM).values(id=1, name=sa.bindparam("n", LONG)).on_conflict_do_nothing(),
        ITEM_ROW.on_conflict_do_update(set_={"name": LONG}),
        ITEM_ROW.on_conflict_do_update(set_={I.name: sa.literal(LONG, sa.String(40))}),
        ITEM_ROW.on_conflict_do_update(set_={"name": sa.type_coerce(LONG, sa.String)}),
        ITEM.insert().values([{"id": 8, "name": "new"}, {"id": 9, "name": LONG}]),
        ITEM.update().values(name=LONG).where(I.id == PART.c.item),
        ITEM.update().values({I.name: sa.bindparam("n", LONG)}).where(I.id == PART.c.item),
    ],
)
async def test_text_that_the_server_would_cut_is_refused(engine: AsyncEngine, statement: Any) -> None:
    await load(engine)
    async with engine.connect() as conn:
        with pytest.raises(exc.DataError, match="column name: text of 21 bytes does not fit 20 bytes"):
            await conn.execute(statement)


@pytest.mark.parametrize(("locale", "size"), [("en_US.819", 1), ("en_US.utf8", 2)])
async def test_text_is_measured_in_the_code_set(locale: str, size: int) -> None:
    async with running(db_locale=locale) as dsn:
        engine = create_async_engine(dsn.replace("informix://", "informix+aioifx://"))
        async with engine.connect() as conn:
            await conn.run_sync(ITEM.metadata.create_all)
            rows = [{"id": key, "name": "ä" * (20 // size)} for key in (1, 2)]
            await conn.execute(insert(ITEM).on_conflict_do_update(), rows)
            await conn.execute(ITEM.insert().values([{**row, "id": key} for key, row in enumerate(rows, 3)]))
            row = {"id": 1, "name": "ä" * (20 // size + 1)}
            with pytest.raises(exc.DataError, match=rf"text of {20 + size} bytes does not fit 20 bytes"):
                await conn.execute(insert(ITEM).on_conflict_do_update(), row)
        await engine.dispose()


@pytest.mark.parametrize(
    "make",
    [
        lambda text: ITEM_ROW.on_conflict_do_update(set_={"name": text}),
        lambda text: (
            ITEM.update()
            .values(name=text)
            .where(I.id == PART.c.item, I.name != LONG, I.id == 1, PART.c.no == 1)
        ),
    ],
)
async def test_the_text_of_a_cached_statement_is_checked(engine: AsyncEngine, make: Any) -> None:
    await load(engine)
    async with engine.connect() as conn:
        for text in ("a", LONG[1:], LONG, "b"):
            if text == LONG:
                with pytest.raises(exc.DataError, match="column name: text of 21 bytes"):
                    await conn.execute(make(text))
                continue
            await conn.execute(make(text))
            assert await conn.scalar(select(I.name).where(I.id == 1)) == text


DOC = sa.Table("doc", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("x", sa.BLOB))


async def test_a_large_object_is_not_in_the_source(engine: AsyncEngine) -> None:
    statement = insert(DOC).values(id=1, x=b"1")
    expected = (
        "MERGE INTO doc USING (SELECT CAST(? AS INTEGER) AS id FROM informix.systables WHERE tabid = 1) AS excluded "
        "ON (doc.id = excluded.id) WHEN MATCHED THEN UPDATE SET x = ? "
        "WHEN NOT MATCHED THEN INSERT (id, x) VALUES (excluded.id, ?)"
    )
    assert sql(statement.on_conflict_do_update()) == expected
    update = insert(DOC).on_conflict_do_update(set_={"x": statement.excluded.x})
    async with engine.begin() as conn:
        await conn.run_sync(DOC.metadata.create_all)
        for content in (b"a", b"bc"):
            await conn.execute(update, {"id": 1, "x": content})
            assert [tuple(row) for row in await conn.execute(select(DOC))] == [(1, content)]


class Base(DeclarativeBase):
    pass


class Setting(Base):
    __tablename__ = "setting"
    name: Mapped[str] = mapped_column(sa.String(9), primary_key=True)
    value: Mapped[str | None] = mapped_column(sa.String(9))


async def test_the_orm(engine: AsyncEngine) -> None:
    statement = insert(Setting)
    statement = statement.on_conflict_do_update(set_={"value": statement.excluded.value})
    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.create_all)
    async with AsyncSession(engine) as session:
        for value in "ab":
            await session.execute(statement, [{"name": "x", "value": value}, {"name": value, "value": value}])
        await session.execute(insert(Setting).values(name="x", value="c").on_conflict_do_nothing())
        await session.commit()
        found = await session.scalars(select(Setting).order_by(Setting.name))
        assert [(setting.name, setting.value) for setting in found] == [("a", "a"), ("b", "b"), ("x", "b")]


def test_the_key_of_the_cache_has_what_the_update_does() -> None:
    statements = [
        ROW,
        ROW.on_conflict_do_nothing(),
        ROW.on_conflict_do_nothing(index_elements=["name"]),
        ROW.on_conflict_do_update(),
        ROW.on_conflict_do_update(set_={"name": "a"}),
        ROW.on_conflict_do_update(set_={"price": 1}),
        ROW.on_conflict_do_update(set_={"name": I.name}),
    ]
    keys = [statement._generate_cache_key() for statement in statements]
    assert all(key is not None for key in keys)
    assert [keys.index(key) for key in keys] == list(range(len(keys)))
    other = ROW.on_conflict_do_update(set_={"name": "b"})._generate_cache_key()
    assert other == keys[4]


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: ROW.on_conflict_do_nothing().on_conflict_do_nothing(), exc.InvalidRequestError, "expected one call"),
        (lambda: ROW.on_conflict_do_nothing(["colour"]), exc.ArgumentError, "column: expected one of item"),
        (lambda: insert(sa.table("t", sa.column("a"))).on_conflict_do_nothing(), exc.ArgumentError,
         "index_elements: expected at least one column"),
        (lambda: sql(insert(ITEM).values(name="x").on_conflict_do_nothing()), exc.CompileError,
         "index_elements: expected columns with a value, got id"),
        (lambda: sql(insert(NOTE).values(id=1, x="a").on_conflict_do_nothing()), exc.CompileError,
         "on_conflict: expected no BYTE or TEXT, which MERGE refuses, got x"),
        (lambda: sql(insert(ITEM).values([{"id": 1}, {"id": 2}]).on_conflict_do_nothing()), exc.CompileError,
         "on_conflict: expected the values of one row"),
        (lambda: sql(insert(ITEM).from_select(["id"], select(PART.c.no)).on_conflict_do_nothing()), exc.CompileError,
         "on_conflict: expected the values of one row"),
    ],
)  # fmt: skip
def test_what_merge_cannot_do_is_an_error(build: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()
