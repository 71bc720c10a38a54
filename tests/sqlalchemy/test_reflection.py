"""Reflection from the catalog of the embedded server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.engine import ObjectKind, ObjectScope
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.ext.automap import automap_base
from sqlalchemy.orm import Session

import aioifx.server
from aioifx import sqlalchemy as ifx
from aioifx.catalog import tables

T = TypeVar("T")

SHOP = (
    "CREATE TABLE customer (id SERIAL PRIMARY KEY CONSTRAINT pk_customer, code CHAR(6) NOT NULL,"
    " country CHAR(2), UNIQUE (country, code) CONSTRAINT uq_code)",
    "CREATE TABLE orders (number INT, customer INT REFERENCES customer ON DELETE CASCADE CONSTRAINT fk_customer,"
    " country CHAR(2), code CHAR(6), state VARCHAR(10), total DECIMAL(8,2), PRIMARY KEY (number) CONSTRAINT pk_orders,"
    " FOREIGN KEY (country, code) REFERENCES customer (country, code) CONSTRAINT fk_code,"
    " CHECK (total > 0 AND state IN ('new', 'sent', 'it''s lost'  )) CONSTRAINT ck_orders)"
    " EXTENT SIZE 64 NEXT SIZE 32 LOCK MODE ROW",
    "CREATE UNIQUE INDEX ix_total ON orders (total DESC, state)",
    "CREATE VIEW totals (country, total) AS SELECT country, SUM(total) FROM orders GROUP BY country",
    "CREATE SYNONYM clients FOR customer",
    "CREATE PRIVATE SYNONYM mine FOR orders",
    "CREATE SEQUENCE numbers START WITH 5",
    'CREATE TABLE "joe".notes (id INT)',
)


async def reflected(engine: AsyncEngine, ddl: tuple[str, ...], read: Callable[[sa.Inspector], T]) -> T:
    """What *read* finds after some DDL."""
    async with engine.connect() as conn:
        for statement in ddl:
            await conn.exec_driver_sql(statement)
        found = await conn.run_sync(lambda sync: read(sa.inspect(sync)))
        await conn.commit()
        return found


# --- names ----------------------------------------------------------------------------------------------------------


async def test_names_of_tables_views_synonyms_and_sequences(engine: AsyncEngine) -> None:
    def names(inspector: Any) -> dict[str, object]:
        return {
            "tables": inspector.get_table_names(),
            "joe": inspector.get_table_names("joe"),
            "views": inspector.get_view_names(),
            "synonyms": inspector.get_synonym_names(),
            "sequences": (inspector.get_sequence_names(), inspector.get_sequence_names("joe")),
            "owners": inspector.get_schema_names(),
        }

    assert await reflected(engine, SHOP, names) == {
        "tables": ["customer", "notes", "orders"],
        "joe": ["notes"],
        "views": ["totals"],
        "synonyms": ["clients", "mine"],
        "sequences": (["numbers"], []),
        "owners": ["informix", "joe"],
    }


async def test_a_user_who_owns_nothing_is_a_schema(dsn: str) -> None:
    engine = create_async_engine(dsn.replace("informix://informix", "informix+aioifx://ann:secret"))
    assert await reflected(engine, (), lambda inspector: inspector.get_schema_names()) == ["ann", "informix"]
    await engine.dispose()


async def test_existence(engine: AsyncEngine) -> None:
    def exists(inspector: Any) -> list[bool]:
        has = inspector.has_table
        return [
            has("customer"), has("totals"), has("clients"), has("notes"), has("notes", "joe"), has("systables"),
            has("nothing"), has("numbers"), has("customer", "joe"),
            inspector.has_sequence("numbers"), inspector.has_sequence("customer"),
            inspector.has_index("orders", "ix_total"), inspector.has_index("orders", "pk_orders"),
            inspector.has_index("nothing", "ix_total"),
        ]  # fmt: skip

    expected = [True] * 6 + [False] * 3 + [True, False, True, False, False]
    assert await reflected(engine, SHOP, exists) == expected


async def test_a_private_synonym_of_another_user_needs_its_owner() -> None:
    async with aioifx.server.running() as dsn:
        address = dsn.replace("informix://", "informix+aioifx://")
        for user, expected in (("ann", ["pub", "secret"]), ("bob", ["pub"])):
            engine = create_async_engine(address.replace("informix@", f"{user}@"))
            ddl = (
                "CREATE TABLE t (a INT)", "CREATE SYNONYM pub FOR t", "CREATE PRIVATE SYNONYM secret FOR t",
            )  # fmt: skip
            found = await reflected(
                engine,
                ddl if user == "ann" else (),
                lambda inspector: inspector.get_synonym_names(),  # type: ignore[attr-defined]
            )
            assert found == expected
            await engine.dispose()


async def test_in_an_ansi_database_names_without_owner_are_those_of_the_user() -> None:
    ddl = ("CREATE TABLE a (k INT PRIMARY KEY)", 'CREATE TABLE "joe".b (k INT PRIMARY KEY)')
    keys = "CREATE TABLE c (k INT REFERENCES a, j INT REFERENCES joe.b)"
    sequences = ("CREATE SEQUENCE s", 'CREATE SEQUENCE "joe".s')

    def read(inspector: sa.Inspector) -> object:
        parents = [(key["referred_schema"], key["referred_table"]) for key in inspector.get_foreign_keys("c")]
        sequences = inspector.get_sequence_names(), inspector.get_sequence_names("joe")
        return inspector.get_table_names(), inspector.get_table_names("joe"), parents, sequences

    async with aioifx.server.running(log_mode="ansi") as dsn:
        engine = create_async_engine(dsn.replace("informix://", "informix+aioifx://"))
        found = await reflected(engine, (*ddl, *sequences, keys), read)
        await engine.dispose()
    assert found == (["a", "c"], ["b"], [(None, "a"), ("joe", "b")], (["s"], ["s"]))


async def test_in_an_ansi_database_the_user_in_upper_case_is_the_user() -> None:
    """Unless ANSIOWNER is set, Informix stores the default owner in upper case."""
    async with aioifx.server.running(log_mode="ansi") as dsn:
        url = sa.make_url(dsn.replace("informix://", "informix+aioifx://"))
        engine = create_async_engine(url)
        ddl = (f'CREATE TABLE "{(url.username or "").upper()}".a (k INT)', 'CREATE TABLE "joe".b (k INT)')
        found = await reflected(engine, ddl, lambda inspector: inspector.get_table_names())
        await engine.dispose()
    assert found == ["a"]


# --- columns --------------------------------------------------------------------------------------------------------

TYPES: dict[str, sa.types.TypeEngine[Any]] = {
    "SMALLINT": sa.SMALLINT(),
    "INTEGER": sa.INTEGER(),
    "BIGINT": sa.BIGINT(),
    "INT8": ifx.INT8(),
    "FLOAT": sa.FLOAT(),
    "SMALLFLOAT": ifx.SMALLFLOAT(),
    "DECIMAL(8,2)": sa.DECIMAL(8, 2),
    "DECIMAL(9)": sa.DECIMAL(9),
    "MONEY(10,2)": ifx.MONEY(10, 2),
    "CHAR(5)": sa.CHAR(5),
    "NCHAR(5)": sa.NCHAR(5),
    "VARCHAR(200,50)": ifx.VARCHAR(200, 50),
    "LVARCHAR(3000)": ifx.LVARCHAR(3000),
    "DATE": sa.DATE(),
    "DATETIME YEAR TO SECOND": ifx.DATETIME("year", "second"),
    "DATETIME MONTH TO DAY": ifx.DATETIME("month", "day"),
    "DATETIME YEAR TO FRACTION(5)": ifx.DATETIME("year", "fraction", 5),
    "DATETIME HOUR TO MINUTE": ifx.TIME("minute"),
    "INTERVAL YEAR(3) TO MONTH": ifx.INTERVAL("year", "month", 3),
    "INTERVAL DAY TO SECOND": ifx.INTERVAL("day", "second", 2),
    "INTERVAL SECOND(5) TO FRACTION(2)": ifx.INTERVAL("second", "fraction", 5, 2),
    "BOOLEAN": sa.BOOLEAN(),
    "BYTE": ifx.BYTE(),
    "TEXT": ifx.TEXT(),
    "BLOB": sa.BLOB(),
    "CLOB": sa.CLOB(),
    "JSON": ifx.JSON(),
    "BSON": ifx.BSON(),
    "SET(INTEGER NOT NULL)": ifx.SET("INTEGER NOT NULL"),
    "LIST(VARCHAR(20) NOT NULL)": ifx.LIST("VARCHAR(20) NOT NULL"),
    "MULTISET(price NOT NULL)": ifx.MULTISET('"informix".price NOT NULL'),
    "ROW(x INTEGER, y LIST(DATE NOT NULL))": ifx.ROW("x INTEGER, y LIST(DATE NOT NULL)"),
    "price": ifx.NamedType("price", "informix"),
    "address": ifx.NamedType("address", "informix"),
}


async def test_columns_of_every_type(engine: AsyncEngine) -> None:
    ddl = (
        "CREATE DISTINCT TYPE price AS DECIMAL(8,2)",
        "CREATE ROW TYPE address (street VARCHAR(30), zip CHAR(5))",
        f"CREATE TABLE t ({', '.join(f'c{number} {text}' for number, text in enumerate(TYPES))})",
    )
    columns = await reflected(engine, ddl, lambda inspector: inspector.get_columns("t"))
    assert [repr(column["type"]) for column in columns] == [repr(expected) for expected in TYPES.values()]
    assert [column["name"] for column in columns] == [f"c{number}" for number in range(len(TYPES))]
    assert all(column["nullable"] and column["default"] is None for column in columns)


async def test_serial_columns(engine: AsyncEngine) -> None:
    ddl = (
        "CREATE TABLE a (id BIGSERIAL PRIMARY KEY, n SERIAL)",
        "CREATE TABLE b (id SERIAL, j INT, PRIMARY KEY (id, j))",
    )
    a, b = await reflected(engine, ddl, lambda i: (i.get_columns("a"), i.get_columns("b")))
    assert [(type(one["type"]), one.get("autoincrement"), one["nullable"]) for one in (*a, *b)] == [
        (sa.BIGINT, True, False),
        (ifx.SERIAL, True, False),
        (sa.INTEGER, True, False),
        (sa.INTEGER, None, False),
    ]
    assert ifx.BIGSERIAL not in {type(one["type"]) for one in a}


async def test_a_reflected_serial_has_no_default_and_is_numbered(engine: AsyncEngine) -> None:
    """A default would be in the text of code generators, and without one the ORM inserts NULL."""
    async with engine.begin() as conn:
        await conn.exec_driver_sql("CREATE TABLE a (id INT PRIMARY KEY, n SERIAL(7), m SERIAL8)")
        await conn.exec_driver_sql("CREATE VIEW v (id, n) AS SELECT id, n FROM a")
        base = automap_base()
        await conn.run_sync(base.metadata.reflect, views=True)
    base.prepare()
    for table in base.metadata.tables.values():
        assert [column.server_default for column in table.c] == [None] * len(table.c)
    async with AsyncSession(engine) as session:
        session.add_all([base.classes.a(id=1), base.classes.a(id=2)])
        await session.flush()
        assert (await session.execute(sa.select(base.metadata.tables["a"]))).all() == [(1, 7, 1), (2, 8, 2)]
        assert (await session.execute(sa.select(base.metadata.tables["v"]))).all() == [(1, 7), (2, 8)]


async def test_defaults_and_nulls(engine: AsyncEngine) -> None:
    columns = {
        "a INT DEFAULT 5 NOT NULL": ("5", False),
        "b CHAR(8) DEFAULT 'it''s'": ("'it''s'", True),
        "c DATE DEFAULT TODAY": ("TODAY", True),
        "d DATETIME YEAR TO MINUTE DEFAULT CURRENT YEAR TO MINUTE": ("CURRENT YEAR TO MINUTE", True),
        "e CHAR(32) DEFAULT USER": ("USER", True),
        "f BOOLEAN DEFAULT 't'": ("'t'", True),
        "g DECIMAL(8,2) DEFAULT -1.50": ("-1.50", True),
        "h INT DEFAULT NULL": (None, True),
        "i DATETIME YEAR TO DAY DEFAULT DATETIME(2026-05-04) YEAR TO DAY": (
            "DATETIME(2026-05-04) YEAR TO DAY",
            True,
        ),
    }
    ddl = (f"CREATE TABLE t ({', '.join(columns)})",)
    found = await reflected(engine, ddl, lambda inspector: inspector.get_columns("t"))
    assert [(one["default"], one["nullable"]) for one in found] == list(columns.values())


async def test_columns_of_views_synonyms_and_the_catalog(engine: AsyncEngine) -> None:
    def read(inspector: sa.Inspector) -> object:
        names = ("totals", "clients", "syschecks")
        return [[column["name"] for column in inspector.get_columns(name)] for name in names]

    assert await reflected(engine, SHOP, read) == [
        ["country", "total"],
        ["id", "code", "country"],
        ["constrid", "type", "seqno", "checktext"],
    ]


async def test_names_with_upper_case_and_signs(engine: AsyncEngine) -> None:
    ddl = ('CREATE TABLE "Order Items" ("Item No" INT PRIMARY KEY CONSTRAINT "PK Items", "Größe" INT)',)

    def read(inspector: sa.Inspector) -> object:
        names = [column["name"] for column in inspector.get_columns("Order Items")]
        return inspector.get_table_names(), names, inspector.get_pk_constraint("Order Items")

    assert await reflected(engine, ddl, read) == (
        ["Order Items"],
        ["Item No", "Größe"],
        {"name": "PK Items", "constrained_columns": ["Item No"]},
    )


# --- constraints, indexes, options ----------------------------------------------------------------------------------


async def test_constraints(engine: AsyncEngine) -> None:
    def read(inspector: sa.Inspector) -> list[Any]:
        return [
            inspector.get_pk_constraint("customer"),
            inspector.get_unique_constraints("customer"),
            inspector.get_foreign_keys("orders"),
            inspector.get_check_constraints("orders"),
            inspector.get_pk_constraint("notes"),
        ]

    assert await reflected(engine, SHOP, read) == [
        {"name": "pk_customer", "constrained_columns": ["id"]},
        [{"name": "uq_code", "column_names": ["country", "code"]}],
        [
            {
                "name": "fk_code", "constrained_columns": ["country", "code"], "referred_schema": None,
                "referred_table": "customer", "referred_columns": ["country", "code"], "options": {},
            },
            {
                "name": "fk_customer", "constrained_columns": ["customer"], "referred_schema": None,
                "referred_table": "customer", "referred_columns": ["id"], "options": {"ondelete": "CASCADE"},
            },
        ],
        [{"name": "ck_orders", "sqltext": "total > 0 AND state IN ('new', 'sent', 'it''s lost'  )"}],
        {"name": None, "constrained_columns": []},
    ]  # fmt: skip


async def test_a_schema_of_the_table_is_one_of_its_parents(engine: AsyncEngine) -> None:
    def read(inspector: sa.Inspector) -> list[Any]:
        schemas = ("informix", "demo:informix", "demo:")
        return [inspector.get_foreign_keys("orders", schema)[0]["referred_schema"] for schema in schemas]

    assert await reflected(engine, SHOP, read) == ["informix", "demo:informix", "demo:"]


async def test_indexes(engine: AsyncEngine) -> None:
    ddl = (
        *SHOP,
        "CREATE TABLE t (a INT, b INT)",
        "CREATE UNIQUE INDEX u ON t (a)",
        "CREATE CLUSTER INDEX c ON t (b, a)",
        "ALTER TABLE t ADD CONSTRAINT PRIMARY KEY (a) CONSTRAINT pk",
    )
    orders, t = await reflected(engine, ddl, lambda i: (i.get_indexes("orders"), i.get_indexes("t")))
    assert orders == [
        {
            "name": "ix_total", "column_names": ["total", "state"], "unique": True,
            "column_sorting": {"total": ("desc",)},
        }
    ]  # fmt: skip
    assert t == [
        {
            "name": "c", "column_names": ["b", "a"], "unique": False,
            "dialect_options": {"informix_cluster": True},
        },
        {"name": "u", "column_names": ["a"], "unique": True},
    ]  # fmt: skip


async def test_storage_options(engine: AsyncEngine) -> None:
    options = await reflected(engine, SHOP, lambda inspector: inspector.get_table_options("orders"))
    assert options == {
        "informix_extent_size": 64,
        "informix_next_size": 32,
        "informix_lock_mode": "row",
        "informix_in": "rootdbs",
    }


async def test_the_definition_of_a_view(engine: AsyncEngine) -> None:
    long = (
        "CREATE VIEW v AS SELECT "
        + ", ".join(f"{number} AS c{number}" for number in range(80))
        + " FROM customer"
    )
    definition = await reflected(engine, (*SHOP, long), lambda inspector: inspector.get_view_definition("v"))
    assert definition == long


@pytest.mark.parametrize(
    "method",
    ["get_columns", "get_pk_constraint", "get_foreign_keys", "get_indexes", "get_view_definition", "get_table_options"],
)  # fmt: skip
async def test_a_table_that_does_not_exist(engine: AsyncEngine, method: str) -> None:
    with pytest.raises(exc.NoSuchTableError, match=r"joe\.nothing"):
        await reflected(engine, (), lambda inspector: getattr(inspector, method)("nothing", "joe"))


# --- temporary tables, other databases ------------------------------------------------------------------------------


async def test_temporary_tables(engine: AsyncEngine) -> None:
    ddl = ("CREATE TEMP TABLE work (id SERIAL, price DECIMAL(8,2) NOT NULL)", "CREATE TABLE kept (a INT)")

    def read(inspector: sa.Inspector) -> list[Any]:
        several = inspector.get_multi_columns(scope=ObjectScope.TEMPORARY)
        return [
            inspector.get_temp_table_names(),
            inspector.get_table_names(),
            inspector.has_table("work"),
            inspector.has_table("work", schema="joe"),
            [(column["name"], repr(column["type"])) for column in inspector.get_columns("work")],
            inspector.get_pk_constraint("work")["constrained_columns"],
            inspector.get_indexes("work") + inspector.get_foreign_keys("work"),
            list(several),
            list(inspector.get_multi_columns(scope=ObjectScope.ANY)),
        ]

    assert await reflected(engine, ddl, read) == [
        ["work"],
        ["kept"],
        True,
        False,
        [("id", "SERIAL()"), ("price", "DECIMAL(precision=8, scale=2)")],
        [],
        [],
        [(None, "work")],
        [(None, "kept"), (None, "work")],
    ]


async def test_a_synonym_for_a_table_of_another_database_has_the_columns_of_its_description(
    engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedded server has no such synonyms, so the catalog's entry loses the number of the table."""
    read_entry = tables._table_entry
    monkeypatch.setattr(tables, "_table_entry", lambda row: read_entry(row)._replace(base=0))
    columns = await reflected(engine, SHOP, lambda inspector: inspector.get_columns("clients"))
    result = [(column["name"], type(column["type"])) for column in columns]
    assert result == [("id", ifx.SERIAL), ("code", sa.CHAR), ("country", sa.CHAR)]


async def test_tables_of_another_database() -> None:
    async with aioifx.server.running(["shop", "stock"]) as dsn:
        address = dsn.replace("informix://", "informix+aioifx://")
        stock = create_async_engine(address.replace("/shop", "/stock"))
        ddl = ("CREATE TABLE part (id SERIAL PRIMARY KEY, tags SET(INTEGER NOT NULL))",)
        await reflected(stock, ddl, lambda inspector: None)
        await stock.dispose()

        def read(inspector: sa.Inspector) -> list[Any]:
            conn: Any = inspector.bind
            part = sa.Table("part", sa.MetaData(), schema="stock:informix", autoload_with=conn)
            return [
                conn.execute(sa.select(part.c.id)).all(),
                inspector.get_table_names("stock:"),
                inspector.get_table_names("stock:informix"),
                [repr(column["type"]) for column in inspector.get_columns("part", "stock:informix")],
                inspector.has_table("part"),
                inspector.has_table("part", "stock:"),
            ]

        shop = create_async_engine(address)
        found = await reflected(shop, (), read)
        await shop.dispose()
    assert found == [[], ["part"], ["part"], ["INTEGER()", "SET('INTEGER NOT NULL')"], False, True]


# --- several tables -------------------------------------------------------------------------------------------------


async def test_several_tables_by_kind_and_name(engine: AsyncEngine) -> None:
    def read(inspector: sa.Inspector) -> list[Any]:
        keys: list[Any] = [
            inspector.get_multi_columns(),
            inspector.get_multi_columns(kind=ObjectKind.VIEW),
            inspector.get_multi_pk_constraint(kind=ObjectKind.ANY),
            inspector.get_multi_columns(filter_names=["orders", "totals", "nothing"]),
            inspector.get_multi_columns(filter_names=["orders", "clients"], kind=ObjectKind.ANY),
            inspector.get_multi_indexes(schema="joe"),
        ]
        return [sorted(name for _, name in each) for each in keys]

    assert await reflected(engine, SHOP, read) == [
        ["customer", "notes", "orders"],
        ["totals"],
        ["customer", "notes", "orders", "totals"],
        ["orders"],
        ["clients", "orders"],
        ["notes"],
    ]


async def test_reflected_tables_can_be_created_again(engine: AsyncEngine) -> None:
    def copy(conn: sa.Connection) -> None:
        metadata = sa.MetaData()
        metadata.reflect(conn)
        before = {name: repr(table) for name, table in metadata.tables.items()}
        assert {name for name in before} == {"customer", "notes", "orders"}
        conn.exec_driver_sql("DROP VIEW totals")
        metadata.drop_all(conn)
        assert sa.inspect(conn).get_table_names() == []
        metadata.create_all(conn)
        again = sa.MetaData()
        again.reflect(conn)
        assert {name: repr(table) for name, table in again.tables.items()} == before
        assert again.tables["orders"].c.customer.references(again.tables["customer"].c.id)

    async with engine.connect() as conn:
        for statement in SHOP:
            await conn.exec_driver_sql(statement)
        await conn.run_sync(copy)


async def test_classes_of_automap(engine: AsyncEngine) -> None:
    def use(conn: sa.Connection) -> list[Any]:
        base = automap_base()
        base.prepare(autoload_with=conn)
        parent, child = base.classes.parent, base.classes.child
        session = Session(conn)
        session.add(parent(name="a", child_collection=[child(), child()]))
        session.commit()
        rows = session.scalars(sa.select(child).order_by(child.id))
        return [(row.id, row.n, row.state, row.parent.name) for row in rows]

    async with engine.connect() as conn:
        await conn.exec_driver_sql("CREATE TABLE parent (id SERIAL PRIMARY KEY, name VARCHAR(20))")
        await conn.exec_driver_sql(
            "CREATE TABLE child (id BIGSERIAL PRIMARY KEY, parent_id INT NOT NULL REFERENCES parent,"
            " n SERIAL, state CHAR(3) DEFAULT 'new')"
        )
        assert await conn.run_sync(use) == [(1, 1, "new", "a"), (2, 2, "new", "a")]


@pytest.mark.parametrize("count", [10, pytest.param(100, marks=pytest.mark.exhaustive)])
async def test_the_round_trips_do_not_depend_on_the_number_of_tables(
    engine: AsyncEngine, url: str, count: int
) -> None:
    """Tables with keys, checks and indexes; docs/howto/sqlalchemy.md has the numbers of 100."""

    def trips(conn: sa.Connection) -> dict[str, int]:
        client: Any = conn.connection.driver_connection
        spent: dict[str, int] = {}

        def spend(what: str, read: Callable[[], object]) -> None:
            before = client.stats.round_trips
            read()
            spent[what] = client.stats.round_trips - before

        metadata = sa.MetaData()
        spend("all", lambda: metadata.reflect(conn))
        assert len(metadata.tables) == count
        assert sum(len(table.foreign_keys) for table in metadata.tables.values()) == count - 1
        spend("all again", lambda: sa.MetaData().reflect(conn))
        spend("one", lambda: sa.Table("t5", sa.MetaData(), autoload_with=conn, resolve_fks=False))
        spend("another", lambda: sa.Table("t6", sa.MetaData(), autoload_with=conn, resolve_fks=False))
        spend("checkfirst", lambda: metadata.create_all(conn))
        return spent

    async with engine.begin() as conn:
        for number in range(count):
            parent = f", FOREIGN KEY (p) REFERENCES t{number - 1}" if number else ""
            await conn.exec_driver_sql(
                f"CREATE TABLE t{number} (id SERIAL PRIMARY KEY, p INT, n INT DEFAULT 1, CHECK (n > 0){parent})"
            )
            await conn.exec_driver_sql(f"CREATE INDEX i{number} ON t{number} (n, p)")
    fresh = create_async_engine(url)
    async with fresh.connect() as conn:
        spent = await conn.run_sync(trips)
    await fresh.dispose()
    checks = 3 if hasattr(DefaultDialect, "has_multi_table") else count  # SQLAlchemy 2.0 asks for each table
    blocks = count // 100  # the constraints of 100 tables need a second block
    assert spent == {
        "all": 15 + blocks,
        "all again": 6 + blocks,
        "one": 18,
        "another": 6,
        "checkfirst": checks,
    }
