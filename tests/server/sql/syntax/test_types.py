"""Types and qualifiers."""

from __future__ import annotations

import pytest

from aioifx.server.sql.builtin_types import boolean, lvarchar
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.syntax.parser import parse
from aioifx.sqltypes import EXTENDED_BOOLEAN, EXTENDED_LVARCHAR, SqlType, TypeCode
from tests.server.sql.shapes import error_of, select_of


@pytest.mark.parametrize(
    ("marked", "error"),
    [
        ("select a::interval day(^10) to second from t", (-1268, "")),
        ("select a::datetime year to fraction(^6) from t", (-1268, "")),
        ("create table t (a byte in ^)", (-201, "")),
        ("create table t (a set(int^))", (-201, "")),
        ("create table t (a list(^))", (-201, "")),
        ("create table t (a row^)", (-201, "")),
        ("create table t (a ^row(x int, y int, x int))", (-328, "x")),
        ("create table t (a row(x ^serial))", (-201, "")),
        ("create table t (a set(^serial not null))", (-201, "")),
        ("create table t (a ^db:foo)", (-999, "db:foo")),
        ("create table t (a foo ^bar)", (-201, "")),
        ("create table t (a boolean(^2))", (-201, "")),
        ("create table t (a informix.date^(1))", (-201, "")),
        ("create table t (a char(^32768))", (-235, "")),
        ("create table t (a nchar(^99999))", (-235, "")),
        ("create table t (a varchar(^256))", (-650, "")),
        ("create table t (a nvarchar(^300,10))", (-650, "")),
        ("select a::character varying(^256) from t", (-650, "")),
        ("create table t (a lvarchar(^32740))", (-650, "")),
        ("create table t (a varchar(10,^11))", (-651, "")),
        ("create table t (a decimal(4,^5))", (-366, "")),
        ("create table t (a money(4,^5))", (-366, "")),
    ],
)
def test_an_invalid_type_is_refused(marked: str, error: tuple[int, str]) -> None:
    assert error_of(marked) == error


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'informix'.BOOLEAN", boolean()),
        ("informix.lvarchar(30)", lvarchar(30)),
        ("boolean(1)", boolean()),
        ("SMALLINT", SqlType(TypeCode.SMALLINT, 2)),
        ("INT", SqlType(TypeCode.INTEGER, 4)),
        ("INTEGER", SqlType(TypeCode.INTEGER, 4)),
        ("BIGINT", SqlType(TypeCode.BIGINT, 8)),
        ("INT8", SqlType(TypeCode.INT8, 10)),
        ("SERIAL", SqlType(TypeCode.SERIAL, 4)),
        ("SERIAL8", SqlType(TypeCode.SERIAL8, 10)),
        ("BIGSERIAL", SqlType(TypeCode.BIGSERIAL, 8)),
        ("DECIMAL", SqlType(TypeCode.DECIMAL, 16 * 256 + 255)),
        ("DEC(5)", SqlType(TypeCode.DECIMAL, 5 * 256 + 255)),
        ("NUMERIC(8,2)", SqlType(TypeCode.DECIMAL, 8 * 256 + 2)),
        ("DECIMAL(32, 32)", SqlType(TypeCode.DECIMAL, 32 * 256 + 32)),
        ("MONEY", SqlType(TypeCode.MONEY, 16 * 256 + 2)),
        ("MONEY(8)", SqlType(TypeCode.MONEY, 8 * 256 + 2)),
        ("MONEY(8,3)", SqlType(TypeCode.MONEY, 8 * 256 + 3)),
        ("FLOAT", SqlType(TypeCode.FLOAT, 8)),
        ("FLOAT(20)", SqlType(TypeCode.FLOAT, 8)),
        ("DOUBLE PRECISION", SqlType(TypeCode.FLOAT, 8)),
        ("SMALLFLOAT", SqlType(TypeCode.SMALLFLOAT, 4)),
        ("REAL", SqlType(TypeCode.SMALLFLOAT, 4)),
        ("CHAR", SqlType(TypeCode.CHAR, 1)),
        ("CHARACTER(20)", SqlType(TypeCode.CHAR, 20)),
        ("CHAR(32767)", SqlType(TypeCode.CHAR, 32767)),
        ("NCHAR(7)", SqlType(TypeCode.NCHAR, 7)),
        ("VARCHAR", SqlType(TypeCode.VARCHAR, 1)),
        ("VARCHAR(255)", SqlType(TypeCode.VARCHAR, 255)),
        ("VARCHAR(30, 10)", SqlType(TypeCode.VARCHAR, 10 * 256 + 30)),
        ("CHARACTER VARYING(30)", SqlType(TypeCode.VARCHAR, 30)),
        ("NVARCHAR(30,5)", SqlType(TypeCode.NVARCHAR, 5 * 256 + 30)),
        ("LVARCHAR", SqlType(TypeCode.UDTVAR, 2048, EXTENDED_LVARCHAR, "informix", "lvarchar")),
        ("LVARCHAR(32739)", SqlType(TypeCode.UDTVAR, 32739, EXTENDED_LVARCHAR, "informix", "lvarchar")),
        ("BOOLEAN", SqlType(TypeCode.UDTFIXED, 1, EXTENDED_BOOLEAN, "informix", "boolean")),
        ("DATE", SqlType(TypeCode.DATE, 4)),
        ("DATETIME YEAR TO FRACTION(5)", SqlType(TypeCode.DATETIME, 0x130F)),
        ("DATETIME YEAR TO FRACTION", SqlType(TypeCode.DATETIME, 0x110D)),
        ("DATETIME HOUR TO MINUTE", SqlType(TypeCode.DATETIME, 0x0468)),
        ("DATETIME FRACTION TO FRACTION(2)", SqlType(TypeCode.DATETIME, 0x02CC)),
        ("INTERVAL DAY TO SECOND", SqlType(TypeCode.INTERVAL, 0x084A)),
        ("INTERVAL DAY(8) TO FRACTION(3)", SqlType(TypeCode.INTERVAL, 0x114D)),
        ("INTERVAL YEAR TO MONTH", SqlType(TypeCode.INTERVAL, 0x0602)),
        ("INTERVAL YEAR(9) TO YEAR", SqlType(TypeCode.INTERVAL, 0x0900)),
        ("INTERVAL MONTH TO MONTH", SqlType(TypeCode.INTERVAL, 0x0222)),
    ],
)
def test_a_type_is_encoded_as_the_catalog_has_it(text: str, expected: SqlType) -> None:
    statement = parse(f"CREATE TABLE t (c {text})")
    assert isinstance(statement, nodes.CreateTable)
    assert statement.columns[0].type == expected
    (item,) = select_of(parse(f"SELECT CAST(a AS {text}) FROM t")).items
    assert isinstance(item.expression, nodes.Cast)
    assert item.expression.type == expected


@pytest.mark.parametrize(
    "marked",
    [
        "CREATE TABLE t (c CHAR(^0))", "CREATE TABLE t (c LVARCHAR(^0))", "CREATE TABLE t (c CHAR(^?))",
        "CREATE TABLE t (c CHAR(^2.5))", "CREATE TABLE t (c VARCHAR(^0))",
        "CREATE TABLE t (c DECIMAL(^33))", "CREATE TABLE t (c DECIMAL(^0))",
        "CREATE TABLE t (c DOUBLE^)", "CREATE TABLE t (c DATETIME^)", "CREATE TABLE t (c DATETIME YEAR ^SECOND)",
        "CREATE TABLE t (c DATETIME YEAR^(4) TO SECOND)", "CREATE TABLE t (c INT^(4))",
        "CREATE TABLE t (c ^'CHAR')",
    ],
)  # fmt: skip
def test_a_misspelt_type_is_a_syntax_error(marked: str) -> None:
    assert error_of(marked) == (-201, "")


@pytest.mark.parametrize(
    "marked",
    [
        "CREATE TABLE t (c DATETIME ^SECOND TO YEAR)",
        "CREATE TABLE t (c DATETIME YEAR TO FRACTION(^6))",
        "CREATE TABLE t (c INTERVAL ^YEAR TO DAY)",
        "CREATE TABLE t (c INTERVAL ^MONTH TO SECOND)",
        "CREATE TABLE t (c INTERVAL DAY(^10) TO DAY)",
        "CREATE TABLE t (c INTERVAL DAY(^0) TO DAY)",
    ],
)
def test_an_impossible_qualifier_has_its_own_code(marked: str) -> None:
    assert error_of(marked) == (-1268, "")


@pytest.mark.parametrize("owner", ["ann", "'ann'", '"ann"'])
def test_the_owner_of_a_type_may_be_quoted(owner: str) -> None:
    create = parse(f"create table t (c {owner}.place, d int)")
    assert isinstance(create, nodes.CreateTable)
    named, plain = (column.type for column in create.columns)
    assert (named.extended_name, named.owner) == ("place", "ann")
    assert plain == SqlType(TypeCode.INTEGER, 4)
