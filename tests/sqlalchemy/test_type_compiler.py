"""The text of types in DDL and casts."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import exc

from aioifx import sqlalchemy as ifx


class Decorated(sa.TypeDecorator[Any]):
    impl = sa.Integer
    cache_ok = True


TEXTS: list[tuple[Any, str]] = [
    (sa.SmallInteger(), "SMALLINT"),
    (sa.Integer(), "INTEGER"),
    (sa.BigInteger(), "BIGINT"),
    (ifx.INT8(), "INT8"),
    (ifx.SERIAL(), "SERIAL"),
    (ifx.SERIAL8(100), "SERIAL8(100)"),
    (ifx.BIGSERIAL(5), "BIGSERIAL(5)"),
    (sa.Float(), "FLOAT"),
    (sa.Float(53), "FLOAT"),
    (sa.Double(), "FLOAT"),
    (sa.DOUBLE_PRECISION(), "FLOAT"),
    (sa.REAL(), "SMALLFLOAT"),
    (ifx.SMALLFLOAT(), "SMALLFLOAT"),
    (sa.Numeric(), "DECIMAL"),
    (sa.Numeric(10), "DECIMAL(10)"),
    (sa.NUMERIC(10, 0), "DECIMAL(10,0)"),
    (sa.DECIMAL(32, 32), "DECIMAL(32,32)"),
    (ifx.MONEY(8, 2), "MONEY(8,2)"),
    (sa.CHAR(3), "CHAR(3)"),
    (sa.NCHAR(3), "NCHAR(3)"),
    (sa.CHAR(), "CHAR"),
    (sa.String(), "VARCHAR(255)"),
    (sa.String(255), "VARCHAR(255)"),
    (sa.String(256), "LVARCHAR(256)"),
    (sa.Unicode(10), "VARCHAR(10)"),
    (sa.NVARCHAR(300), "LVARCHAR(300)"),
    (ifx.VARCHAR(20, 5), "VARCHAR(20,5)"),
    (ifx.NVARCHAR(20, 5), "NVARCHAR(20,5)"),
    (ifx.LVARCHAR(), "LVARCHAR"),
    (ifx.LVARCHAR(10), "LVARCHAR(10)"),
    (sa.Enum("a", "bcd"), "VARCHAR(3)"),
    (sa.Enum("été"), "VARCHAR(5)"),
    (sa.Text(), "TEXT"),
    (sa.UnicodeText(), "TEXT"),
    (ifx.TEXT(space="blobs"), "TEXT IN blobs"),
    (sa.CLOB(), "CLOB"),
    (sa.LargeBinary(), "BYTE"),
    (sa.BINARY(16), "CHAR(32)"),
    (sa.BINARY(), "BYTE"),
    (sa.BINARY(20_000), "BYTE"),
    (sa.VARBINARY(10), "VARCHAR(20)"),
    (sa.VARBINARY(128), "LVARCHAR(256)"),
    (sa.VARBINARY(), "BYTE"),
    (sa.PickleType(), "BYTE"),
    (ifx.BYTE(space="blobs"), "BYTE IN blobs"),
    (sa.BLOB(), "BLOB"),
    (sa.Boolean(), "BOOLEAN"),
    (sa.Uuid(), "CHAR(32)"),
    (sa.UUID(), "CHAR(32)"),
    (sa.Date(), "DATE"),
    (sa.DateTime(timezone=True), "DATETIME YEAR TO FRACTION(5)"),
    (sa.TIMESTAMP(), "DATETIME YEAR TO FRACTION(5)"),
    (sa.Time(), "DATETIME HOUR TO FRACTION(5)"),
    (ifx.DATETIME("year", "second"), "DATETIME YEAR TO SECOND"),
    (ifx.DATETIME("Month", "Fraction"), "DATETIME MONTH TO FRACTION(3)"),
    (ifx.TIME(), "DATETIME HOUR TO SECOND"),
    (ifx.TIME("fraction", 1), "DATETIME HOUR TO FRACTION(1)"),
    (sa.Interval(), "INTERVAL DAY(9) TO FRACTION(5)"),
    (sa.Interval(second_precision=1, day_precision=3), "INTERVAL DAY(3) TO FRACTION(1)"),
    (sa.Interval(second_precision=6), "INTERVAL DAY(9) TO FRACTION(5)"),
    (sa.Interval(second_precision=0), "INTERVAL DAY(9) TO SECOND"),
    (ifx.INTERVAL("hour", "minute", leading=4), "INTERVAL HOUR(4) TO MINUTE"),
    (ifx.INTERVAL("year", "month", leading=2), "INTERVAL YEAR(2) TO MONTH"),
    (ifx.INTERVAL("fraction", "fraction", fraction=2), "INTERVAL FRACTION TO FRACTION(2)"),
    (sa.JSON(), "JSON"),
    (ifx.JSON(), "JSON"),
    (ifx.BSON(), "BSON"),
    (ifx.SET(sa.String(10)), "SET(VARCHAR(10) NOT NULL)"),
    (ifx.LIST(ifx.ROW({"a": sa.Integer})), "LIST(ROW(a INTEGER) NOT NULL)"),
    (ifx.ROW({"street": sa.String(30), "On Time": sa.Boolean}), 'ROW(street VARCHAR(30), "On Time" BOOLEAN)'),
    (ifx.NamedType("home_t"), "home_t"),
    (ifx.NamedType("home_t", "Ada"), '"Ada".home_t'),
    (Decorated(), "INTEGER"),
]


@pytest.mark.parametrize(("type_", "text"), TEXTS, ids=lambda part: part if isinstance(part, str) else "")
def test_the_text_of_a_type(type_: Any, text: str) -> None:
    assert type_.compile(ifx.InformixDialect()) == text


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (sa.Numeric(38, 2), "expected a precision from 1 to 32, got 38"),
        (sa.String(40_000), "expected a length up to 32739, got 40000"),
        (sa.String(10, collation="de"), "no collation"),
        (sa.Text(collation="de"), "no collation"),
        (ifx.BYTE(space="a; drop"), "expected the name of a space"),
    ],
)
def test_what_informix_lacks_is_refused(type_: Any, message: str) -> None:
    with pytest.raises(exc.CompileError, match=message):
        type_.compile(ifx.InformixDialect())


def cast_to(type_: Any) -> str:
    text = str(sa.cast(sa.column("a"), type_).compile(dialect=ifx.InformixDialect()))
    return (
        text.replace("CAST(a AS ", "").replace("a::", "").removesuffix(")" if text.startswith("CAST") else "")
    )


def test_a_cast_has_types_without_limits() -> None:
    assert cast_to(sa.String()) == "LVARCHAR(32739)"
    assert cast_to(sa.String(10)) == "VARCHAR(10)"
    assert cast_to(ifx.LVARCHAR()) == "LVARCHAR(32739)"
    assert cast_to(sa.Text()) == "LVARCHAR(32739)"
    assert cast_to(ifx.SERIAL()) == "INTEGER"
    with pytest.raises(exc.CompileError, match="no cast"):
        cast_to(sa.LargeBinary())
