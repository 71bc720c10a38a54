"""ROW, collections and types of the database on the embedded server."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncEngine
from sqlalchemy.types import TypeEngine

from aioifx import Record
from aioifx.sqlalchemy import LIST, MULTISET, ROW, SET, InformixDialect, NamedType


async def test_values_of_types_of_the_database(engine: AsyncEngine) -> None:
    home = NamedType("home_t")
    table = sa.Table(
        "customer",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("home", home),
        sa.Column("price", NamedType("euros")),
    )
    text = sa.literal("ROW('Elm St', 'Oslo')", home, literal_execute=True)
    async with engine.connect() as conn:
        await conn.exec_driver_sql("CREATE ROW TYPE home_t (street VARCHAR(30), city VARCHAR(30))")
        await conn.exec_driver_sql("CREATE DISTINCT TYPE euros AS INTEGER")
        await conn.execute(sa.schema.CreateTable(table))
        await conn.execute(table.insert().values(home={"street": "Main St", "city": "Rome"}, price=5))
        await conn.execute(table.insert().values(home=text))
        rows = (await conn.execute(sa.select(table.c.home, table.c.price).order_by(table.c.id))).all()
    assert rows[0].home.asdict() == {"street": "Main St", "city": "Rome"}
    assert rows[0].price == 5
    assert rows[1].home["city"] == "Oslo"


def test_only_text_is_a_literal_of_a_type_of_the_database() -> None:
    process = NamedType("home_t", "ada").literal_processor(InformixDialect())
    assert process is not None
    assert process("ROW('it')") == "'ROW(''it'')'::\"ada\".home_t"
    with pytest.raises(exc.CompileError, match="got dict"):
        process({})


def test_python_types() -> None:
    types = (SET(sa.Integer), MULTISET(sa.Integer), LIST(sa.Integer()), ROW({"a": sa.Integer}))
    assert [type_.python_type for type_ in types] == [set, list, list, Record]
    assert repr(ROW({"a": sa.Integer})) == "ROW((('a', Integer()),))"


@pytest.mark.parametrize(
    ("from_types", "from_sql"),
    [
        (LIST(sa.INTEGER), LIST("INTEGER NOT NULL")),
        (MULTISET(NamedType("price", "ann")), MULTISET('"ann".price NOT NULL')),
        (
            ROW({"a": sa.VARCHAR(20), "b c": SET(ROW({"d": sa.DATE}))}),
            ROW('a VARCHAR(20), "b c" SET(ROW(d DATE) NOT NULL)'),
        ),
    ],
)
def test_types_of_parts_are_given_as_sql(from_types: TypeEngine[Any], from_sql: TypeEngine[Any]) -> None:
    dialect = InformixDialect()
    assert from_sql.compile(dialect) == from_types.compile(dialect)
    assert eval(repr(from_sql)).compile(dialect) == from_sql.compile(dialect)


def test_types_from_sql_have_no_literals() -> None:
    with pytest.raises(exc.CompileError, match="has no literal"):
        LIST("INTEGER NOT NULL").literal_processor(InformixDialect())


def test_sql_that_is_no_type_is_refused() -> None:
    with pytest.raises(exc.ArgumentError, match="LIST: expected the SQL of its types, got 'INTEGER, DATE'"):
        LIST("INTEGER, DATE")
    with pytest.raises(exc.ArgumentError, match="ROW: expected the SQL of its types, got 'a, b'"):
        ROW("a, b")
