"""Types by the words of CREATE TABLE, and settings with a fixed clock, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import type_number
from aioifx.sqltypes import Qualifier, SqlType, TypeCode, Unit, datetime_qualifier

NOW = datetime(2026, 5, 4, 12, 34, 56, 789_012)

SMALLINT = SqlType(TypeCode.SMALLINT, 2)
INTEGER = SqlType(TypeCode.INTEGER, 4)
BIGINT = SqlType(TypeCode.BIGINT, 8)
INT8 = SqlType(TypeCode.INT8, 10)
FLOAT = SqlType(TypeCode.FLOAT, 8)
SMALLFLOAT = SqlType(TypeCode.SMALLFLOAT, 4)
DATE = SqlType(TypeCode.DATE, 4)
BOOLEAN = SqlType(TypeCode.UDTFIXED, 1, 5, "informix", "boolean")
BLOB = SqlType(TypeCode.UDTFIXED, 72, 10, "informix", "blob")
NULL = SqlType(TypeCode.NULL)


def decimal(precision: int = 32, scale: int = 255) -> SqlType:
    return SqlType(TypeCode.DECIMAL, precision << 8 | scale)


def money(precision: int = 16, scale: int = 2) -> SqlType:
    return SqlType(TypeCode.MONEY, precision << 8 | scale)


def char(size: int) -> SqlType:
    return SqlType(TypeCode.CHAR, size)


def varchar(size: int) -> SqlType:
    return SqlType(TypeCode.VARCHAR, size)


def lvarchar(size: int = 2048) -> SqlType:
    return SqlType(TypeCode.UDTVAR, size, 1, "informix", "lvarchar")


def datetime_type(first: Unit, last: Unit, scale: int = 0) -> SqlType:
    return SqlType(TypeCode.DATETIME, datetime_qualifier(first, last, scale).encoded)


def interval(first: Unit, last: Unit, leading: int = 9, scale: int = 0) -> SqlType:
    if first == Unit.FRACTION:
        leading = scale
    return SqlType(TypeCode.INTERVAL, Qualifier(first, last, leading, scale).encoded)


YEAR_TO_DAY = datetime_type(Unit.YEAR, Unit.DAY)
YEAR_TO_MINUTE = datetime_type(Unit.YEAR, Unit.MINUTE)
YEAR_TO_SECOND = datetime_type(Unit.YEAR, Unit.SECOND)
YEAR_TO_FRACTION_3 = datetime_type(Unit.YEAR, Unit.FRACTION, 3)
YEAR_TO_FRACTION_5 = datetime_type(Unit.YEAR, Unit.FRACTION, 5)
HOUR_TO_MINUTE = datetime_type(Unit.HOUR, Unit.MINUTE)
HOUR_TO_SECOND = datetime_type(Unit.HOUR, Unit.SECOND)

DATETIME_TYPES = [
    datetime_type(first, last, scale)
    for first in Unit
    for last in Unit
    if first <= last
    for scale in (range(1, 6) if last == Unit.FRACTION else (0,))
]
"""Every qualifier that a DATETIME can have."""

INTERVAL_TYPES = [
    interval(first, last, leading, scale)
    for first in Unit
    for last in Unit
    if first <= last and (first > Unit.MONTH or last <= Unit.MONTH)
    for leading in (1, 2, 9)
    for scale in (range(1, 6) if last == Unit.FRACTION else (0,))
]
"""Qualifiers of both INTERVAL families, with short and long leading fields."""


def n(sql_type: SqlType) -> int:
    number = type_number(sql_type)
    assert isinstance(number, int)
    return number


def settings() -> Settings:
    return Settings(now=NOW)


def error_of(call: Callable[..., object], *arguments: object, **options: object) -> int | None:
    """The SQLCODE of the error that a call raises; None when it raises none."""
    try:
        call(*arguments, **options)
    except SqlError as error:
        return error.sqlcode
    return None
