"""Autogenerate is stable: after an upgrade, and after a downgrade, it finds nothing to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.ext.asyncio import AsyncEngine

from aioifx import sqlalchemy as informix
from tests.system.migrations.autogeneration import OPTIONS, differences, migrate, run

C = sa.Column
TEXT = sa.String(20)

TYPES: list[Any] = [
    sa.Integer(), sa.SmallInteger(), sa.BigInteger(), sa.Numeric(), sa.Numeric(10), sa.Numeric(10, 0),
    sa.Numeric(10, 2), sa.Float(), sa.Float(20), sa.Double(), sa.REAL(), sa.String(), sa.String(1), sa.String(255),
    sa.String(256), sa.String(2000), sa.CHAR(), sa.CHAR(8), sa.NCHAR(8), sa.Unicode(20), sa.NVARCHAR(20), sa.Text(),
    sa.UnicodeText(), sa.LargeBinary(), sa.BLOB(), sa.CLOB(), sa.Boolean(), sa.Date(), sa.DateTime(), sa.Time(),
    sa.Interval(), sa.Enum("a", "bb", name="e"), sa.Uuid(), sa.JSON(), sa.PickleType(), sa.TIMESTAMP(),
    informix.INT8(), informix.SMALLFLOAT(), informix.MONEY(), informix.MONEY(9), informix.MONEY(10, 3),
    informix.VARCHAR(20), informix.VARCHAR(20, 5), informix.NVARCHAR(20, 5), informix.LVARCHAR(),
    informix.LVARCHAR(500), informix.TEXT(), informix.BYTE(), informix.DATETIME(), informix.DATETIME("year", "second"),
    informix.DATETIME("year", "day"), informix.DATETIME("hour", "minute"), informix.DATETIME("day", "fraction", 5),
    informix.DATETIME("month", "day"), informix.TIME(), informix.TIME("fraction", 5), informix.INTERVAL(),
    informix.INTERVAL("year", "month"), informix.INTERVAL("hour", "minute", leading=4),
    informix.INTERVAL("day", "second", leading=3), informix.INTERVAL("day", "fraction", leading=3, fraction=2),
    informix.INTERVAL("fraction", "fraction"), informix.JSON(), informix.BSON(), informix.LIST(sa.Integer()),
    informix.SET(TEXT), informix.MULTISET(informix.DATETIME("year", "second")),
    informix.ROW({"a": sa.Integer(), "b": TEXT}), informix.LIST(informix.ROW({"a": sa.Integer()})),
]  # fmt: skip

Items = list[Any]
Change = Callable[[str], tuple[Items, Items]]
"""The name of a table -> what it has beside its key, before and after."""

CHANGES: dict[str, Change] = {
    "a new column": lambda t: ([], [C("b", sa.Integer, nullable=False, server_default=sa.text("5"))]),
    "a longer text": lambda t: ([C("a", TEXT, server_default="x")], [C("a", sa.String(40), server_default="x")]),
    "numbers as text": lambda t: ([C("a", sa.Integer)], [C("a", sa.CHAR(10))]),
    "a default": lambda t: ([C("a", sa.Integer)], [C("a", sa.Integer, server_default="7")]),
    "another default": lambda t: (
        [C("a", sa.Integer, server_default="7")], [C("a", sa.Integer, server_default=sa.text("8"))]
    ),
    "a function's name as text": lambda t: (
        [C("a", TEXT, server_default="it's")], [C("a", TEXT, server_default="TODAY")]
    ),
    "now": lambda t: ([C("a", sa.DateTime)], [C("a", sa.DateTime, server_default=sa.func.now(), nullable=False)]),
    "CURRENT": lambda t: (
        [C("a", sa.DateTime)], [C("a", sa.DateTime, server_default=sa.text("CURRENT YEAR TO FRACTION(5)"))]
    ),
    "TODAY": lambda t: ([C("a", sa.Date)], [C("a", sa.Date, server_default=sa.text("TODAY"))]),
    "a date": lambda t: ([C("a", sa.Date)], [C("a", sa.Date, server_default=sa.text("'2020-01-31'"))]),
    "a datetime": lambda t: (
        [C("a", informix.DATETIME("year", "second"))],
        [
            C(
                "a",
                informix.DATETIME("year", "second"),
                server_default=sa.text("DATETIME (2020-01-31 00:00:00) YEAR TO SECOND"),
            )
        ],
    ),
    "USER": lambda t: ([C("a", sa.String(32))], [C("a", sa.String(32), server_default=sa.text("USER"))]),
    "a truth value": lambda t: ([C("a", sa.Boolean)], [C("a", sa.Boolean, server_default="t")]),
    "now, to the second": lambda t: (
        [C("a", informix.DATETIME("year", "second"))],
        [C("a", informix.DATETIME("year", "second"), server_default=sa.func.now())],
    ),
    "a unique index on a foreign key": lambda t: (
        [],
        [
            C("a", sa.Integer, sa.ForeignKey("parents.id", name=f"f_{t}")),
            sa.Index(f"i_{t}", "a", unique=True),
        ],
    ),
    "true": lambda t: ([C("a", sa.Boolean)], [C("a", sa.Boolean, server_default=sa.true(), nullable=False)]),
    "false": lambda t: ([C("a", sa.Boolean)], [C("a", sa.Boolean, server_default=sa.false())]),
    "the date": lambda t: ([C("a", sa.Date)], [C("a", sa.Date, server_default=sa.func.current_date())]),
    "a decimal": lambda t: ([C("a", sa.Numeric(9, 2))], [C("a", sa.Numeric(9, 2), server_default="1.50")]),
    "a float": lambda t: ([C("a", sa.Float)], [C("a", sa.Float, server_default=sa.text("1.5"))]),
    "an expression": lambda t: ([C("a", sa.Integer)], [C("a", sa.Integer, server_default=sa.literal(3))]),
    "NULL": lambda t: ([C("a", TEXT)], [C("a", TEXT, server_default=sa.text("NULL"))]),
    "a unique constraint": lambda t: ([C("a", TEXT)], [C("a", TEXT), sa.UniqueConstraint("a", name=f"u_{t}")]),
    "two columns unique": lambda t: (
        [C("a", TEXT), C("b", TEXT)], [C("a", TEXT), C("b", TEXT), sa.UniqueConstraint("a", "b", name=f"u_{t}")]
    ),
    "a check": lambda t: (
        [C("a", sa.Integer)], [C("a", sa.Integer), sa.CheckConstraint("a > 0", name=f"c_{t}")]
    ),
    "a foreign key": lambda t: (
        [C("a", sa.Integer)], [C("a", sa.Integer, sa.ForeignKey("parents.id", name=f"f_{t}"))]
    ),
    "a cascade": lambda t: (
        [C("a", sa.Integer, sa.ForeignKey("parents.id", name=f"f_{t}"))],
        [C("a", sa.Integer, sa.ForeignKey("parents.id", name=f"f_{t}", ondelete="CASCADE"))],
    ),
    "a key to a unique constraint": lambda t: (
        [C("a", sa.Integer)], [C("a", sa.Integer, sa.ForeignKey("parents.number", name=f"f_{t}"))]
    ),
    "a key to the same table": lambda t: (
        [C("a", sa.Integer)], [C("a", sa.Integer, sa.ForeignKey(f"{t}.id", name=f"f_{t}"))]
    ),
    "an index on a new foreign key": lambda t: (
        [C("a", sa.Integer)], [C("a", sa.Integer, sa.ForeignKey("parents.id", name=f"f_{t}"), index=True)]
    ),
    "a unique index on a key that is there": lambda t: (
        [C("a", sa.Integer, sa.ForeignKey("parents.id", name=f"f_{t}"))],
        [C("a", sa.Integer, sa.ForeignKey("parents.id", name=f"f_{t}")), sa.Index(f"i_{t}", "a", unique=True)],
    ),
    "an index after its foreign key": lambda t: (
        [C("a", sa.Integer, sa.ForeignKey("parents.id", name=f"f_{t}"), index=True)],
        [C("a", sa.Integer, index=True)],
    ),
    "a foreign key on an index": lambda t: (
        [C("a", sa.Integer, index=True)],
        [C("a", sa.Integer, sa.ForeignKey("parents.id", name=f"f_{t}"), index=True)],
    ),
    "an index": lambda t: ([C("a", TEXT)], [C("a", TEXT, index=True)]),
    "a unique index": lambda t: ([C("a", TEXT)], [C("a", TEXT), sa.Index(f"i_{t}", "a", unique=True)]),
    "a unique index with a constraint": lambda t: (
        [C("a", TEXT)],
        [C("a", TEXT), sa.Index(f"i_{t}", "a", unique=True), sa.UniqueConstraint("a", name=f"u_{t}")],
    ),
    "a descending index": lambda t: ([C("a", TEXT)], [C("a", TEXT), sa.Index(f"i_{t}", sa.desc("a"))]),
    "another direction": lambda t: (
        [C("a", TEXT), sa.Index(f"i_{t}", "a")], [C("a", TEXT), sa.Index(f"i_{t}", sa.desc("a"))]
    ),
    "another index": lambda t: (
        [C("a", TEXT), C("b", TEXT), sa.Index(f"i_{t}", "a")],
        [C("a", TEXT), C("b", TEXT), sa.Index(f"i_{t}", "a", "b")],
    ),
    "NOT NULL": lambda t: ([C("a", TEXT)], [C("a", TEXT, nullable=False)]),
    "NULL allowed, with a default": lambda t: (
        [C("a", TEXT, nullable=False, server_default="x")], [C("a", TEXT, server_default="x")]
    ),
    "a wider column in a unique constraint": lambda t: (
        [C("a", TEXT), sa.UniqueConstraint("a", name=f"u_{t}")],
        [C("a", sa.String(40)), sa.UniqueConstraint("a", name=f"u_{t}")],
    ),
}  # fmt: skip


def model(tables: dict[str, Items]) -> sa.MetaData:
    metadata = sa.MetaData()
    parents = [C("id", sa.Integer, primary_key=True), C("number", sa.Integer, nullable=False)]
    sa.Table("parents", metadata, *parents, sa.UniqueConstraint("number", name="u_parents"))
    for name, items in tables.items():
        sa.Table(name, metadata, C("id", sa.Integer, primary_key=True), *items)
    return metadata


def keys(id_type: Any) -> sa.MetaData:
    metadata = sa.MetaData()
    sa.Table("parents", metadata, C("id", id_type, primary_key=True))
    for name in ("children", "others"):
        key = sa.ForeignKey("parents.id", name=f"f_{name}", ondelete="CASCADE")
        sa.Table(name, metadata, C("id", id_type, key, primary_key=True))
    return metadata


def there_and_back(connection: sa.Connection, before: sa.MetaData, after: sa.MetaData) -> None:
    before.create_all(connection)
    undo = migrate(connection, after)
    assert differences(connection, after) == []
    run(connection, undo)
    assert differences(connection, before) == []


def created_twice(connection: sa.Connection, types: list[Any]) -> None:
    """Create a table from its model, drop it, and create it again from what was reflected then."""
    columns = [C(f"c{number}", type_) for number, type_ in enumerate(types)]
    metadata = sa.MetaData()
    sa.Table("t", metadata, C("id", sa.Integer, primary_key=True), *columns)
    migrate(connection, metadata)
    assert differences(connection, metadata) == []
    run(connection, migrate(connection, sa.MetaData()))
    assert differences(connection, metadata) == []


async def test_every_type_is_stable(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        await connection.run_sync(created_twice, TYPES)


@pytest.mark.exhaustive
@pytest.mark.parametrize("type_", TYPES, ids=repr)
async def test_each_type_is_stable(engine: AsyncEngine, type_: Any) -> None:
    async with engine.connect() as connection:
        await connection.run_sync(created_twice, [type_])


async def test_a_numbered_column_is_stable(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        metadata = sa.MetaData()
        sa.Table(
            "t", metadata, C("id", sa.Integer, primary_key=True), C("n", informix.BIGSERIAL(), nullable=False)
        )
        await connection.run_sync(migrate, metadata)
        assert await connection.run_sync(differences, metadata) == []


async def test_types_of_the_database_are_stable_with_an_owner_and_without(engine: AsyncEngine) -> None:
    euro, place = informix.NamedType("euro"), informix.NamedType("place")
    types = [euro, informix.NamedType("euro", "informix"), place, informix.LIST(place)]
    async with engine.connect() as connection:
        await connection.exec_driver_sql("CREATE DISTINCT TYPE euro AS DECIMAL(10,2)")
        await connection.exec_driver_sql("CREATE ROW TYPE place (street VARCHAR(20), zip CHAR(5))")
        await connection.run_sync(created_twice, types)


async def test_every_change_is_stable_there_and_back(engine: AsyncEngine, is_exhaustive: bool) -> None:
    tried = [*CHANGES.values()][:: 1 if is_exhaustive else 3]
    tables = {f"t{number}": change(f"t{number}") for number, change in enumerate(tried)}
    before, after = (model({name: pair[side] for name, pair in tables.items()}) for side in (0, 1))
    async with engine.connect() as connection:
        await connection.run_sync(there_and_back, before, after)


@pytest.mark.exhaustive
@pytest.mark.parametrize("change", CHANGES)
async def test_each_change_is_stable_there_and_back(engine: AsyncEngine, change: str) -> None:
    before, after = (model({"t": items}) for items in CHANGES[change]("t"))
    async with engine.connect() as connection:
        await connection.run_sync(there_and_back, before, after)


async def test_a_wider_key_keeps_what_references_it(engine: AsyncEngine) -> None:
    async with engine.connect() as connection:
        await connection.run_sync(there_and_back, keys(sa.Integer), keys(sa.BigInteger))


def all_of_it() -> sa.MetaData:
    """Every type, and every table as it is after its change."""
    metadata = model(
        {f"t{number}": change(f"t{number}")[1] for number, change in enumerate(CHANGES.values())}
    )
    columns = [C(f"c{number}", type_) for number, type_ in enumerate(TYPES)]
    sa.Table("types", metadata, C("id", sa.Integer, primary_key=True), *columns)
    return metadata


async def test_models_that_were_reflected_describe_the_database(engine: AsyncEngine) -> None:
    def compare(connection: sa.Connection) -> tuple[Any, Any]:
        metadata, reflected = all_of_it(), sa.MetaData()
        metadata.create_all(connection)
        reflected.reflect(connection)
        return differences(connection, metadata), differences(connection, reflected)

    async with engine.connect() as connection:
        assert await connection.run_sync(compare) == ([], [])


async def test_constraints_without_names_are_those_of_the_model(engine: AsyncEngine) -> None:
    metadata = sa.MetaData(naming_convention={"uq": "uq_%(table_name)s_%(column_0_name)s"})
    key = C("id", sa.Integer, primary_key=True)
    sa.Table(
        "p", metadata, key, C("k", sa.Integer, unique=True), C("v", sa.Integer), sa.CheckConstraint("v > 1")
    )
    sa.Table("c", metadata, C("id", sa.Integer, primary_key=True), C("k", sa.Integer, sa.ForeignKey("p.k")))
    async with engine.connect() as connection:
        await connection.exec_driver_sql(
            "CREATE TABLE p (id SERIAL PRIMARY KEY, k INTEGER UNIQUE, v INTEGER CHECK (v > 1))"
        )
        await connection.exec_driver_sql("CREATE TABLE c (id SERIAL PRIMARY KEY, k INTEGER REFERENCES p (k))")
        assert await connection.run_sync(differences, metadata) == []


@pytest.mark.parametrize("include_name", [None, lambda name, kind, parents: name != "left_out"])
async def test_tables_of_other_owners_are_compared_once(engine: AsyncEngine, include_name: Any) -> None:
    options = OPTIONS | {"include_schemas": True, "include_name": include_name}
    metadata = sa.MetaData()
    sa.Table("mine", metadata, C("a", sa.Integer))
    sa.Table("hers", metadata, C("a", sa.Integer), schema="ann")
    if include_name is None:
        sa.Table("left_out", metadata, C("a", sa.Integer))

    def compare(connection: sa.Connection) -> Any:
        return compare_metadata(MigrationContext.configure(connection, opts=dict(options)), metadata)

    async with engine.connect() as connection:
        for name in ("mine", "ann.hers", "left_out"):
            await connection.exec_driver_sql(f"CREATE TABLE {name} (a INTEGER)")
        assert await connection.run_sync(compare) == []


async def test_a_model_made_by_reflection_has_no_differences(engine: AsyncEngine) -> None:
    def compare(connection: sa.Connection) -> list[Any]:
        metadata = sa.MetaData()
        metadata.reflect(connection)
        assert metadata.tables["t"].constraints
        return differences(connection, metadata)

    async with engine.connect() as connection:
        await connection.exec_driver_sql("CREATE TABLE t (a INTEGER UNIQUE, CHECK (a > 0))")
        assert await connection.run_sync(compare) == []
