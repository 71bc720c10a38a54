"""DDL: the text, and what the embedded server makes of it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc, schema
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from aioifx.sqlalchemy import BIGSERIAL, DATETIME, INTERVAL, SERIAL, TIME, InformixDialect


def sql(element: Any) -> str:
    """The text of a statement on one line."""
    return " ".join(str(element.compile(dialect=InformixDialect())).split())


def column_text(*args: Any, **kw: Any) -> str:
    """What follows a column's name in CREATE TABLE."""
    table = sa.Table("item", sa.MetaData(), sa.Column("value", *args, **kw))
    return sql(schema.CreateTable(table)).removeprefix("CREATE TABLE item ( value ").removesuffix(" )")


def table_text(*items: Any, **kw: Any) -> str:
    """What follows the column in CREATE TABLE."""
    table = sa.Table("item", sa.MetaData(), sa.Column("a", sa.Integer), *items, **kw)
    return sql(schema.CreateTable(table)).removeprefix("CREATE TABLE item ( a INTEGER")


# --- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "text"),
    [
        (sa.Column("value", sa.Integer, primary_key=True), "SERIAL NOT NULL"),
        (sa.Column("value", sa.BigInteger, primary_key=True), "BIGSERIAL NOT NULL"),
        (sa.Column("value", sa.Integer, primary_key=True, autoincrement=False), "INTEGER NOT NULL"),
        (sa.Column("value", sa.Integer, sa.Sequence("s"), primary_key=True), "INTEGER NOT NULL"),
        (
            sa.Column("value", sa.Integer, sa.Sequence("s", optional=True), primary_key=True),
            "SERIAL NOT NULL",
        ),
        (sa.Column("value", sa.Integer, primary_key=True, server_default="5"), "INTEGER DEFAULT 5 NOT NULL"),
        (sa.Column("value", sa.SmallInteger, primary_key=True), "SMALLINT NOT NULL"),
        (sa.Column("value", sa.String(5), primary_key=True), "VARCHAR(5) NOT NULL"),
    ],
    ids=repr,
)
def test_a_key_that_the_server_numbers_is_serial(column: sa.Column[Any], text: str) -> None:
    table = sa.Table("item", sa.MetaData(), column)
    assert sql(schema.CreateTable(table)) == f"CREATE TABLE item ( value {text}, PRIMARY KEY (value) )"


def test_identity_is_a_serial_with_a_start() -> None:
    assert column_text(sa.Integer, sa.Identity()) == "SERIAL NOT NULL"
    assert column_text(sa.BigInteger, sa.Identity(start=100)) == "BIGSERIAL(100) NOT NULL"
    assert column_text(SERIAL(7)) == "SERIAL(7) NOT NULL"
    with pytest.raises(exc.CompileError, match="expected INTEGER, BIGINT or INT8, got SMALLINT"):
        column_text(sa.SmallInteger, sa.Identity())
    with pytest.raises(exc.CompileError, match="start only"):
        column_text(sa.Integer, sa.Identity(increment=2))


DEFAULTS: list[tuple[Any, Any, str]] = [
    (sa.Integer(), "0", "0"),
    (sa.Numeric(8, 2), " 1.5", "1.5"),
    (sa.Integer(), sa.text("-1"), "-1"),
    (sa.Integer(), sa.literal(7), "7"),
    (sa.Float(), sa.literal(0.5), "0.5"),
    (sa.String(10), "it's", "'it''s'"),
    (sa.String(10), "0", "'0'"),
    (sa.String(10), sa.func.current_user(), "USER"),
    (sa.String(32), sa.text("SITENAME"), "SITENAME"),
    (sa.Boolean(), sa.true(), "'t'"),
    (sa.Boolean(), sa.false(), "'f'"),
    (sa.Boolean(), sa.literal(True), "'t'"),
    (sa.Boolean(), "1", "'t'"),
    (sa.Boolean(), "False", "'f'"),
    (sa.Date(), sa.func.now(), "TODAY"),
    (sa.Date(), sa.func.current_date(), "TODAY"),
    (sa.DateTime(), sa.func.now(), "CURRENT YEAR TO FRACTION(5)"),
    (sa.DateTime(), sa.text("CURRENT_TIMESTAMP"), "CURRENT YEAR TO FRACTION(5)"),
    (DATETIME("year", "second"), sa.text("current"), "CURRENT YEAR TO SECOND"),
    (DATETIME("year", "second"), "2026-05-04 09:30:00", "DATETIME(2026-05-04 09:30:00) YEAR TO SECOND"),
    (TIME("minute"), sa.func.current_time(), "CURRENT HOUR TO MINUTE"),
    (DATETIME("year", "day"), sa.literal(dt.datetime(2026, 5, 4)), "DATETIME(2026-05-04) YEAR TO DAY"),
    (INTERVAL("hour", "minute", 2), sa.literal(dt.timedelta(hours=1)), "INTERVAL(1:00) HOUR(2) TO MINUTE"),
]


@pytest.mark.parametrize(("type_", "default", "text"), DEFAULTS, ids=str)
def test_a_default_is_a_literal_or_a_word(type_: Any, default: Any, text: str) -> None:
    if isinstance(default, sa.BindParameter):
        default = sa.literal(default.value, type_)
    assert column_text(type_, server_default=default).partition(" DEFAULT ")[2] == text


async def test_the_server_takes_all_defaults(engine: AsyncEngine) -> None:
    defaults = [
        sa.Column(f"c{number}", type_, server_default=default)
        for number, (type_, default, _) in enumerate(DEFAULTS)
    ]
    table = sa.Table("item", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), *defaults)
    async with engine.connect() as conn:
        await conn.execute(schema.CreateTable(table))
        await conn.execute(table.insert().values(c0=1))
        row = (await conn.execute(table.select())).one()
    assert row[:9] == (1, 1, Decimal("1.50"), -1, 7, 0.5, "it's", "0", row[8])
    assert None not in row
    assert [row.c9 is not None, row.c10, row.c11, row.c12, row.c13] == [True, False, True, True, False]
    assert abs(row.c16 - dt.datetime.now()) < dt.timedelta(days=2)
    assert row.c19 == dt.datetime(2026, 5, 4, 9, 30)


@pytest.mark.parametrize(
    ("type_", "default", "message"),
    [
        (sa.Date(), sa.literal(dt.date(2026, 5, 4)), "form of DBDATE"),
        (sa.Integer(), sa.func.now(), "expected a DATETIME column"),
        (sa.LargeBinary(), sa.literal(b"x"), "no literal there"),
    ],
    ids=str,
)
def test_a_default_that_informix_lacks_is_refused(type_: Any, default: Any, message: str) -> None:
    with pytest.raises(exc.CompileError, match=message):
        column_text(type_, server_default=default)


def test_computed_columns_are_refused() -> None:
    with pytest.raises(exc.CompileError, match="no computed columns"):
        column_text(sa.Integer, sa.Computed("1 + 1"))


# --- constraints ----------------------------------------------------------------------------------------------------


def test_the_name_of_a_constraint_follows_it() -> None:
    assert table_text(sa.UniqueConstraint("a", name="uq_a")) == ", UNIQUE (a) CONSTRAINT uq_a )"
    assert table_text(sa.CheckConstraint("a > 0", name="ck_a")) == ", CHECK (a > 0) CONSTRAINT ck_a )"
    key = table_text(sa.PrimaryKeyConstraint("a", name="pk"))
    assert key == "CREATE TABLE item ( a SERIAL NOT NULL, PRIMARY KEY (a) CONSTRAINT pk )"
    assert table_text(sa.CheckConstraint("a > 0")) == ", CHECK (a > 0) )"
    assert table_text(sa.ForeignKeyConstraint(["a"], ["p.id"], "fk_a", ondelete="CASCADE"), parent()) == (
        ", FOREIGN KEY(a) REFERENCES p (id) ON DELETE CASCADE CONSTRAINT fk_a )"
    )


def parent() -> Any:
    """A table of the same metadata, for a foreign key."""

    class Parent(schema.SchemaItem):
        def _set_parent(self, parent: Any, **kw: Any) -> None:
            sa.Table("p", parent.metadata, sa.Column("id", sa.Integer, primary_key=True))

    return Parent()


def test_constraints_are_added_and_dropped() -> None:
    table = sa.Table("item", sa.MetaData(), sa.Column("a", sa.Integer))
    constraint = sa.UniqueConstraint(table.c.a, name="uq_a")
    assert (
        sql(schema.AddConstraint(constraint)) == "ALTER TABLE item ADD CONSTRAINT UNIQUE (a) CONSTRAINT uq_a"
    )
    assert sql(schema.DropConstraint(constraint)) == "ALTER TABLE item DROP CONSTRAINT uq_a"
    with pytest.raises(exc.CompileError, match="neither IF EXISTS nor CASCADE"):
        sql(schema.DropConstraint(constraint, cascade=True))


@pytest.mark.parametrize("action", ["NO ACTION", "restrict"])
def test_the_action_that_informix_takes_has_no_clause(action: str) -> None:
    constraint = sa.ForeignKeyConstraint(
        ["a"], ["p.id"], ondelete=action, onupdate=action, deferrable=True, initially="IMMEDIATE"
    )
    assert table_text(constraint, parent()) == ", FOREIGN KEY(a) REFERENCES p (id) )"


@pytest.mark.parametrize(
    "options",
    [
        {"ondelete": "SET NULL"},
        {"onupdate": "CASCADE"},
        {"initially": "DEFERRED"},
        {"deferrable": False},
        {"match": "FULL"},
    ],
    ids=str,
)
def test_a_foreign_key_that_informix_lacks_is_refused(options: Any) -> None:
    with pytest.raises(exc.CompileError):
        table_text(sa.ForeignKeyConstraint(["a"], ["p.id"], **options), parent())


async def test_constraints_have_their_names_at_the_server(engine: AsyncEngine) -> None:
    metadata = sa.MetaData(naming_convention={"pk": "pk_%(table_name)s", "fk": "fk_%(table_name)s"})
    parent = sa.Table("parent", metadata, sa.Column("id", sa.Integer, primary_key=True))
    key = sa.ForeignKey("parent.id", ondelete="CASCADE")
    child = sa.Table(
        "child",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("parent_id", key, nullable=False),
        sa.CheckConstraint("id < 100", name="ck_child"),
    )
    async with engine.connect() as conn:
        await conn.run_sync(metadata.create_all)
        await conn.execute(schema.AddConstraint(sa.UniqueConstraint(child.c.parent_id, name="uq_child")))
        names = await conn.scalars(sa.text("SELECT constrname FROM sysconstraints WHERE constrtype <> 'N'"))
        assert {*names} == {"pk_parent", "pk_child", "fk_child", "ck_child", "uq_child"}
        await conn.execute(parent.insert().values(id=1))
        await conn.execute(child.insert().values(parent_id=1))
        await conn.execute(parent.delete())
        assert (await conn.execute(child.select())).all() == []
        await conn.run_sync(metadata.drop_all)


# --- storage options ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, ""),
        ({"informix_lock_mode": "row"}, " LOCK MODE ROW"),
        ({"informix_next_size": 32, "informix_extent_size": 64, "informix_in": "rootdbs",
          "informix_lock_mode": "PAGE", "informix_with": ("crcols", "rowids"), "informix_compressed": True},
         " WITH CRCOLS WITH ROWIDS IN rootdbs EXTENT SIZE 64 NEXT SIZE 32 COMPRESSED LOCK MODE PAGE"),
        ({"informix_fragment_by": "EXPRESSION a < 10 IN dbs1, REMAINDER IN dbs2"},
         " FRAGMENT BY EXPRESSION a < 10 IN dbs1, REMAINDER IN dbs2"),
        ({"informix_put": {"b": ("sbs1", "sbs2")}}, " PUT b IN (sbs1, sbs2)"),
        ({"informix_with": "vercols", "informix_put": {"b": "sbs"}}, " WITH VERCOLS PUT b IN (sbs)"),
    ],
    ids=str,
)  # fmt: skip
async def test_storage_options(engine: AsyncEngine, options: Any, text: str) -> None:
    metadata = sa.MetaData()
    table = sa.Table("item", metadata, sa.Column("a", sa.Integer), sa.Column("b", sa.BLOB), **options)
    assert sql(schema.CreateTable(table)) == f"CREATE TABLE item ( a INTEGER, b BLOB ){text}"
    async with engine.connect() as conn:
        await conn.run_sync(metadata.create_all)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"informix_lock_mode": "cell"}, "informix_lock_mode: expected one of page, row, got 'cell'"),
        ({"informix_with": "oids"}, "informix_with: expected one of"),
        ({"informix_in": "a b"}, "expected the name of a space"),
        ({"informix_in": ""}, None),
        ({"informix_in": "1a"}, "expected the name of a space"),
        ({"informix_in": "a", "informix_fragment_by": "ROUND ROBIN IN a, b"}, "expected one of them"),
    ],
    ids=str,
)
def test_storage_options_are_checked(options: Any, message: str | None) -> None:
    if message is None:
        assert table_text(**options) == " )"
        return
    with pytest.raises(exc.CompileError, match=message):
        table_text(**options)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(exc.ArgumentError, match="informix_tablespace"):
        sa.Table("item", sa.MetaData(), informix_tablespace="a")


@pytest.mark.parametrize("prefix", ["TEMP", "TEMPORARY"])
async def test_a_temporary_table(engine: AsyncEngine, prefix: str) -> None:
    table = sa.Table(
        "item", sa.MetaData(), sa.Column("a", sa.Integer), prefixes=[prefix], informix_no_log=True
    )
    assert sql(schema.CreateTable(table)) == "CREATE TEMP TABLE item ( a INTEGER ) WITH NO LOG"
    async with engine.connect() as conn:
        await conn.execute(schema.CreateTable(table))
        await conn.execute(table.insert().values(a=1))
        assert await conn.scalar(table.select()) == 1


# --- indexes --------------------------------------------------------------------------------------------------------


def indexed(make: Callable[[Any], sa.Index]) -> sa.Index:
    table = sa.Table("item", sa.MetaData(), sa.Column("a", sa.Integer), sa.Column("b", sa.String(9)))
    return make(table.c)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda c: sa.Index("ix", c.a), "CREATE INDEX ix ON item (a)"),
        (lambda c: sa.Index("ix", c.a.desc(), c.b, unique=True), "CREATE UNIQUE INDEX ix ON item (a DESC, b)"),
        (
            lambda c: sa.Index(
                "ix", c.a, informix_cluster=True, informix_fillfactor=80, informix_in="rootdbs",
                informix_using="btree", informix_online=True,
            ),
            "CREATE CLUSTER INDEX ix ON item (a) USING btree FILLFACTOR 80 IN rootdbs ONLINE",
        ),
        (
            lambda c: sa.Index("ix", c.a, informix_fragment_by="EXPRESSION a < 5 IN d1, a >= 5 IN d2"),
            "CREATE INDEX ix ON item (a) FRAGMENT BY EXPRESSION a < 5 IN d1, a >= 5 IN d2",
        ),
    ],
)  # fmt: skip
async def test_an_index(engine: AsyncEngine, make: Callable[[Any], sa.Index], text: str) -> None:
    index = indexed(make)
    assert sql(schema.CreateIndex(index)) == text
    assert index.table is not None
    async with engine.connect() as conn:
        await conn.run_sync(index.table.metadata.create_all)
        await conn.execute(schema.CreateIndex(index, if_not_exists=True))
        assert await conn.scalar(sa.text("SELECT idxname FROM sysindices WHERE idxname = 'ix'")) == "ix"
        await conn.execute(schema.DropIndex(index))


def test_the_key_of_an_index_may_be_a_function() -> None:
    index = indexed(lambda c: sa.Index("ix", sa.func.sp_upper(c.b)))
    assert sql(schema.CreateIndex(index)) == "CREATE INDEX ix ON item (sp_upper(b))"


async def test_an_index_has_the_owner_of_its_table(engine: AsyncEngine) -> None:
    table = sa.Table("item", sa.MetaData(), sa.Column("a", sa.Integer, index=True), schema="ada")
    (index,) = table.indexes
    assert sql(schema.CreateIndex(index)) == 'CREATE INDEX "ada".ix_ada_item_a ON "ada".item (a)'
    async with engine.connect() as conn:
        await conn.run_sync(table.metadata.create_all)
        owner = sa.text("SELECT owner FROM sysindices WHERE idxname = 'ix_ada_item_a'")
        assert (await conn.scalar(owner)).rstrip() == "ada"
        await conn.execute(schema.DropIndex(index))
        assert await conn.scalar(owner) is None


async def test_an_index_of_the_columns_of_a_constraint_is_that_of_the_constraint(engine: AsyncEngine) -> None:
    metadata = sa.MetaData()
    sa.Table("parent", metadata, sa.Column("id", sa.Integer, primary_key=True, index=True))
    child = sa.Table(
        "child",
        metadata,
        sa.Column("a", sa.Integer, primary_key=True),
        sa.Column("b", sa.ForeignKey("parent.id"), index=True),
        sa.Column("c", sa.ForeignKey("parent.id"), unique=True, index=True),
        sa.Column("d", sa.Integer, unique=True),
        sa.UniqueConstraint("a", "d", name="uq_ad"),
        sa.Index("ix_ad", "a", "d"),
        sa.Index("ix_da", "d", "a"),
    )
    left_out = {"ix_parent_id", "ix_child_b", "ix_child_c", "ix_ad"}
    created = {index.name: text for index in child.indexes if (text := sql(schema.CreateIndex(index)))}
    assert created == {
        "ix_da": "CREATE INDEX ix_da ON child (d, a)",
        "ix_child_c": "ALTER TABLE child ADD CONSTRAINT UNIQUE (c) CONSTRAINT ix_child_c",
    }
    async with engine.connect() as conn:
        await conn.run_sync(metadata.create_all)
        found = await conn.scalars(sa.text("SELECT idxname FROM sysindices WHERE tabid > 99"))
        assert left_out.isdisjoint(names := set(found.all()))
        assert "ix_da" in names
        await conn.execute(metadata.tables["parent"].insert().values(id=1))
        await conn.execute(child.insert().values(a=1, c=1, d=1))
        with pytest.raises(exc.IntegrityError):
            await conn.execute(child.insert().values(a=2, c=1, d=2))
        for index in child.indexes:
            await conn.execute(schema.DropIndex(index))


async def test_a_unique_index_on_a_foreign_key_of_an_existing_table_is_a_constraint(
    engine: AsyncEngine,
) -> None:
    metadata = sa.MetaData()
    sa.Table("parent", metadata, sa.Column("id", sa.Integer, primary_key=True))
    child = sa.Table("child", metadata, sa.Column("a", sa.ForeignKey("parent.id")))
    async with engine.connect() as conn:
        await conn.run_sync(metadata.create_all)
        index = sa.Index("ix", child.c.a, unique=True)
        await conn.run_sync(index.create)
        await conn.run_sync(lambda sync: index.create(sync, checkfirst=True))
        await conn.execute(metadata.tables["parent"].insert().values(id=1))
        await conn.execute(child.insert().values(a=1))
        with pytest.raises(exc.IntegrityError):
            await conn.execute(child.insert().values(a=1))
        await conn.run_sync(lambda sync: index.drop(sync, checkfirst=True))
        await conn.run_sync(lambda sync: index.drop(sync, checkfirst=True))
        await conn.execute(child.insert().values(a=1))
        assert await conn.scalar(sa.select(sa.func.count()).select_from(child)) == 2


def test_a_unique_constraint_that_stands_for_an_index_has_no_condition() -> None:
    metadata = sa.MetaData()
    sa.Table("parent", metadata, sa.Column("id", sa.Integer, primary_key=True))
    child = sa.Table("child", metadata, sa.Column("a", sa.ForeignKey("parent.id")))
    index = sa.Index("ix", child.c.a, unique=True)
    with pytest.raises(exc.CompileError, match="ix: Informix has no IF NOT EXISTS for unique constraints"):
        sql(schema.CreateIndex(index, if_not_exists=True))
    with pytest.raises(exc.CompileError, match="ix: Informix has no IF EXISTS for unique constraints"):
        sql(schema.DropIndex(index, if_exists=True))


def test_an_index_gets_a_name() -> None:
    assert (
        sql(schema.CreateIndex(indexed(lambda c: sa.Index(None, c.a))))
        == "CREATE INDEX ix_item_a ON item (a)"
    )


# --- views, tables from queries, sequences --------------------------------------------------------------------------

needs_views = pytest.mark.skipif(
    not hasattr(schema, "CreateView"), reason="SQLAlchemy 2.0 has no CREATE VIEW"
)
QUERY: Any = sa.select(sa.literal(1).label("one"), (sa.column("tabid") + 1).label("two")).select_from(
    sa.table("systables")
)


@needs_views
async def test_a_view_has_the_names_of_its_columns(engine: AsyncEngine) -> None:
    query: Any = sa.select(
        sa.column("tabname").label("name"), (sa.column("tabid", sa.Integer) * 2).label("twice")
    ).select_from(sa.table("systables"))
    view = schema.CreateView(query.where(sa.column("tabid") == 1), "doubled")
    assert sql(view) == (
        "CREATE VIEW doubled (name, twice) AS SELECT tabname AS name, tabid * 2 AS twice FROM systables WHERE tabid = 1"
    )
    async with engine.connect() as conn:
        await conn.execute(view)
        assert (await conn.execute(view.table.select())).all() == [("systables", 2)]
        await conn.execute(schema.DropView(view.table))


@needs_views
@pytest.mark.parametrize("option", ["or_replace", "materialized", "temporary"])
def test_a_view_that_informix_lacks_is_refused(option: str) -> None:
    options: Any = {option: True}
    with pytest.raises(exc.CompileError, match="CREATE VIEW: Informix has neither"):
        sql(schema.CreateView(QUERY, "v", **options))
    with pytest.raises(exc.CompileError, match="no materialized views"):
        sql(schema.DropView(sa.Table("v", sa.MetaData()), materialized=True))


@needs_views
async def test_a_table_from_a_query(engine: AsyncEngine) -> None:
    query: Any = sa.select(sa.column("tabname")).select_from(sa.table("systables"))
    temporary = schema.CreateTableAs(query, "names", temporary=True)
    assert sql(temporary) == "SELECT tabname FROM systables INTO TEMP names"
    assert sql(schema.CreateTableAs(query, "names")) == "CREATE TABLE names AS SELECT tabname FROM systables"
    with pytest.raises(exc.CompileError, match="INTO TEMP"):
        sql(schema.CreateTableAs(query, "names", temporary=True, if_not_exists=True))
    async with engine.connect() as conn:
        await conn.execute(schema.CreateTableAs(query, "kept"))
        assert await conn.scalar(sa.text("SELECT COUNT(*) FROM kept")) > 0
        await conn.execute(temporary)
        assert await conn.scalar(temporary.table.select().limit(1)) == "systables"


async def test_a_sequence(engine: AsyncEngine) -> None:
    sequence = sa.Sequence("s", start=5, increment=2, nominvalue=True, maxvalue=100, cycle=False, cache=10)
    assert sql(schema.CreateSequence(sequence)) == (
        "CREATE SEQUENCE s INCREMENT BY 2 START WITH 5 MAXVALUE 100 NOMINVALUE CACHE 10 NOCYCLE"
    )
    assert (
        sql(schema.CreateSequence(sa.Sequence("s"), if_not_exists=True)) == "CREATE SEQUENCE IF NOT EXISTS s"
    )
    async with engine.connect() as conn:
        await conn.execute(schema.CreateSequence(sequence))
        numbers = [await conn.run_sync(lambda sync: sync.scalar(sequence)) for _ in range(2)]
        await conn.execute(schema.DropSequence(sequence))
    assert numbers == [5, 7]


def test_schemas_are_not_created() -> None:
    for element in (schema.CreateSchema("ada"), schema.DropSchema("ada")):
        with pytest.raises(exc.CompileError, match="owners of tables"):
            sql(element)


async def test_names_that_need_quotes_have_them(engine: AsyncEngine) -> None:
    table = sa.Table(
        "Order Line",
        sa.MetaData(),
        sa.Column("Id", sa.Integer, primary_key=True),
        sa.Column("select", sa.String(9), server_default="x"),
        sa.CheckConstraint('"Id" > 0', name="Ck 1"),
        sa.Index("Ix", "select"),
    )
    async with engine.connect() as conn:
        await conn.run_sync(table.metadata.create_all)
        await conn.execute(table.insert().values(Id=1))
        assert (await conn.execute(table.select())).all() == [(1, "x")]
        names = await conn.scalars(sa.text("SELECT constrname FROM sysconstraints WHERE constrtype = 'C'"))
        assert names.all() == ["Ck 1"]
        await conn.run_sync(table.metadata.drop_all)


async def test_columns_may_be_named_like_keywords(engine: AsyncEngine) -> None:
    words = [
        *(
            "current", "date", "day", "extend", "first", "interval", "item", "key", "last", "level", "limit",
            "list",
        ),
        *(
            "matches", "name", "order", "set", "sitename", "skip", "sysdate", "today", "type", "units", "user",
            "value",
        ),
        *("values", "year"),
    ]  # fmt: skip
    columns = [sa.Column(word, sa.Integer) for word in words]
    checks = [sa.CheckConstraint(column > 0) for column in columns]
    table = sa.Table("item", sa.MetaData(), *columns, *checks)
    async with engine.connect() as conn:
        await conn.run_sync(table.metadata.create_all)
        await conn.execute(table.insert().values({word: number for number, word in enumerate(words, 1)}))
        await conn.execute(table.update().values({word: column + 1 for word, column in table.c.items()}))
        labels = [(column + 1).label(column.name) for column in columns]
        query = sa.select(*labels).where(*(column > 0 for column in columns)).order_by(*labels)
        assert (await conn.execute(query)).one() == tuple(range(3, len(words) + 3))
        with pytest.raises(exc.IntegrityError):
            await conn.execute(table.update().values(today=0))


async def test_serials_of_one_table_number_apart(engine: AsyncEngine) -> None:
    table = sa.Table(
        "item",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("number", BIGSERIAL(100)),
        sa.Column("name", sa.String(300)),
    )
    assert not table.c.number.nullable
    assert table.to_metadata(sa.MetaData()).c.number.server_default is not None
    async with engine.connect() as conn:
        await conn.run_sync(table.metadata.create_all)
        result = await conn.execute(table.insert().values(name="pen"))
        assert result.inserted_primary_key == (1,)
        assert await rows(conn, table) == [(1, 100, "pen")]


async def test_the_orm_leaves_serials_to_the_server(engine: AsyncEngine) -> None:
    class Base(DeclarativeBase):
        pass

    class Item(Base):
        __tablename__ = "item"
        id: Mapped[int] = mapped_column(SERIAL(5), primary_key=True)
        number: Mapped[int] = mapped_column(BIGSERIAL(100))
        name: Mapped[str | None]

    async with engine.begin() as conn:
        await conn.run_sync(Base.metadata.create_all)
    async with AsyncSession(engine) as session:
        session.add_all([Item(), item := Item(name="pen")])
        await session.flush()
        await session.refresh(item)
        assert (item.id, item.number) == (6, 101)


async def rows(conn: AsyncConnection, table: sa.Table) -> list[Any]:
    return [tuple(row) for row in await conn.execute(table.select())]
