"""Entries of the catalog in SQLAlchemy's form."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.ext.asyncio import AsyncEngine

import aioifx
from aioifx.catalog.tables import ColumnEntry, IndexEntry, TableEntry
from aioifx.catalog.texts import Key
from aioifx.codecs.type_text import parse_type
from aioifx.sqlalchemy import InformixDialect
from aioifx.sqlalchemy.reflected import column, index_of, options_of, type_for
from aioifx.sqlalchemy.types import BIGSERIAL
from aioifx.sqltypes import DISTINCT, SqlType, TypeCode


def entry(kind: TypeCode) -> ColumnEntry:
    return ColumnEntry(1, "id", SqlType(kind), False, "", "")


def test_a_serial_key_is_an_integer_that_the_server_numbers() -> None:
    found = column(entry(TypeCode.BIGSERIAL), ["id"])
    assert type(found["type"]) is sa.BIGINT and found.get("autoincrement")
    found = column(entry(TypeCode.BIGSERIAL), [])
    assert isinstance(found["type"], BIGSERIAL) and found.get("autoincrement")
    assert "autoincrement" not in column(entry(TypeCode.INTEGER), ["id"])


def test_an_unknown_type_is_null_type_with_a_warning() -> None:
    unknown = ColumnEntry(1, "c", SqlType(99), True, "", "")
    with pytest.warns(exc.SAWarning, match="TYPE 99.*'c'"):
        assert isinstance(column(unknown, [])["type"], sa.types.NullType)


def test_keys_of_a_functional_index_are_expressions() -> None:
    keys = (Key("a", "a", True), Key(None, "soundex_of(b)", False))
    assert index_of(IndexEntry("ix", True, True, keys)) == {
        "name": "ix",
        "column_names": ["a", None],
        "expressions": ["a", "soundex_of(b)"],
        "column_sorting": {"a": ("desc",)},
        "unique": True,
        "dialect_options": {"informix_cluster": True},
    }


def test_options_are_those_of_the_table() -> None:
    view = TableEntry(100, "v", "ann", "V", "", 0, 0, "", 0, True)
    assert options_of(view) == {}
    assert options_of(view._replace(kind="T", lock_level="R", first_extent=64, dbspace="dbs1")) == {
        "informix_lock_mode": "row",
        "informix_extent_size": 64,
        "informix_in": "dbs1",
    }


TYPES = [
    "SMALLINT", "INTEGER", "BIGINT", "INT8", "FLOAT", "SMALLFLOAT", "DECIMAL(16)", "DECIMAL(8,2)", "MONEY(16,2)",
    "CHAR(3)", "NCHAR(3)", "VARCHAR(20)", "VARCHAR(20,5)", "NVARCHAR(20)", "LVARCHAR(300)", "BOOLEAN", "DATE",
    "DATETIME YEAR TO FRACTION(5)", "DATETIME YEAR TO DAY", "DATETIME MONTH TO DAY", "DATETIME HOUR TO SECOND",
    "DATETIME HOUR TO FRACTION(3)", "INTERVAL DAY(9) TO FRACTION(5)", "INTERVAL YEAR(4) TO MONTH",
    "INTERVAL FRACTION TO FRACTION(3)", "BYTE", "TEXT", "BLOB", "CLOB", "JSON", "BSON",
    "SET(INTEGER NOT NULL)", "MULTISET(VARCHAR(5) NOT NULL)", "LIST(DATETIME HOUR TO MINUTE NOT NULL)",
    "ROW(street VARCHAR(30), city CHAR(5))",
]  # fmt: skip


async def test_the_types_of_columns_are_those_of_their_ddl(engine: AsyncEngine, dsn: str) -> None:
    columns = ", ".join(f"c{number} {text}" for number, text in enumerate(TYPES))
    async with aioifx.connect(dsn) as conn:
        await conn.execute(f"CREATE TABLE item ({columns})")
        async with await conn.prepare("SELECT * FROM item") as query:
            found = [type_for(column.type) for column in query.columns]
    compiler = InformixDialect().type_compiler_instance
    assert [compiler.process(type_) for type_ in found] == TYPES


@pytest.mark.parametrize(
    ("serial", "plain"), [("SERIAL", "INTEGER"), ("BIGSERIAL", "BIGINT"), ("SERIAL8", "INT8")]
)
def test_a_serial_is_its_type_of_integers(serial: str, plain: str) -> None:
    assert type_for(SqlType(TypeCode[serial], 4)).compile(InformixDialect()) == plain


def test_a_type_of_the_database_keeps_its_name() -> None:
    distinct = SqlType(TypeCode.INTEGER, 4, 2050, owner="app", extended_name="euros", flags=DISTINCT)
    assert type_for(distinct).compile(InformixDialect()) == '"app".euros'
    named_row = SqlType(TypeCode.ROW, extended_id=2051, extended_name="home_t")
    assert type_for(named_row).compile(InformixDialect()) == "home_t"
    assert (
        type_for(SqlType(TypeCode.UDTVAR, 0, 2052, extended_name="stat")).compile(InformixDialect()) == "stat"
    )


def test_the_text_of_a_row_is_that_of_its_types_whatever_the_option_text_type() -> None:
    described = parse_type('ROW("a b" TEXT, c LIST("ann".price NOT NULL))')
    assert described is not None
    assert repr(type_for(described)) == """ROW('"a b" TEXT, c LIST("ann".price NOT NULL)')"""


def test_an_unknown_type_is_the_null_type() -> None:
    assert isinstance(type_for(SqlType(99)), sa.types.NullType)
