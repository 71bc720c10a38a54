"""The types of columns, from the server's description or the catalog. Never: SQL, how types are compiled."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# SQLAlchemy annotates its types in part.

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlalchemy.sql import sqltypes

from aioifx.sqlalchemy.composites import LIST, MULTISET, ROW, SET, NamedType
from aioifx.sqlalchemy.types import (
    BSON,
    BYTE,
    DATETIME,
    INT8,
    INTERVAL,
    JSON,
    LVARCHAR,
    MONEY,
    NVARCHAR,
    SMALLFLOAT,
    TEXT,
    TIME,
    VARCHAR,
)  # fmt: skip
from aioifx.sqltypes import (
    DISTINCT,
    SERIALS,
    Qualifier,
    SqlType,
    TypeCode,
    Unit,
)

_SIMPLE: Final[Mapping[int, Callable[[], sqltypes.TypeEngine[Any]]]] = {
    TypeCode.SMALLINT: sqltypes.SMALLINT,
    TypeCode.INTEGER: sqltypes.INTEGER,
    TypeCode.BIGINT: sqltypes.BIGINT,
    TypeCode.INT8: INT8,
    TypeCode.FLOAT: sqltypes.FLOAT,
    TypeCode.SMALLFLOAT: SMALLFLOAT,
    TypeCode.DATE: sqltypes.DATE,
    TypeCode.BOOLEAN: sqltypes.BOOLEAN,
    TypeCode.BYTE: BYTE,
    TypeCode.TEXT: TEXT,
}
_SIZED: Final[Mapping[int, Callable[[int], sqltypes.TypeEngine[Any]]]] = {
    TypeCode.CHAR: sqltypes.CHAR,
    TypeCode.NCHAR: sqltypes.NCHAR,
    TypeCode.LVARCHAR: LVARCHAR,
}
_VARYING: Final[Mapping[int, Callable[..., sqltypes.TypeEngine[Any]]]] = {
    TypeCode.VARCHAR: VARCHAR,
    TypeCode.NVARCHAR: NVARCHAR,
}
_OPAQUE: Final[Mapping[str, Callable[[], sqltypes.TypeEngine[Any]]]] = {
    "blob": sqltypes.BLOB,
    "clob": sqltypes.CLOB,
    "json": JSON,
    "bson": BSON,
}
_COLLECTIONS: Final = {TypeCode.SET: SET, TypeCode.MULTISET: MULTISET, TypeCode.LIST: LIST}


def type_for(sql_type: SqlType) -> sqltypes.TypeEngine[Any]:
    """The type of a column, from the server's description or the catalog.

    SERIAL, SERIAL8 and BIGSERIAL are INTEGER, INT8 and BIGINT: a type does not say whether the server numbers a column.
    Types without a counterpart are NullType.
    """
    kind = sql_type.kind
    if sql_type.extended_name and sql_type.flags & DISTINCT:
        return NamedType(sql_type.extended_name, sql_type.owner or None)
    kind = SERIALS.get(kind, kind)
    if kind in _SIMPLE:
        return _SIMPLE[kind]()
    if kind in _SIZED:
        return _SIZED[kind](sql_type.length)
    if kind in _VARYING:
        return _VARYING[kind](sql_type.length & 0xFF, (sql_type.length >> 8) or None)
    if kind in (TypeCode.DECIMAL, TypeCode.MONEY):
        numeric = sqltypes.DECIMAL if kind == TypeCode.DECIMAL else MONEY
        return numeric(sql_type.precision, sql_type.scale)
    if (qualifier := sql_type.qualifier) is not None:
        return _qualified(kind, qualifier)
    if kind in _COLLECTIONS and sql_type.fields:
        return _COLLECTIONS[TypeCode(kind)](type_for(sql_type.fields[0].type))
    if kind == TypeCode.ROW and sql_type.fields and sql_type.extended_name[:4].upper() in ("", "ROW("):
        return ROW(tuple((field.name, type_for(field.type)) for field in sql_type.fields))
    if sql_type.opaque_name in _OPAQUE:
        return _OPAQUE[sql_type.opaque_name]()
    if sql_type.extended_name:
        return NamedType(sql_type.extended_name, sql_type.owner or None)
    return sqltypes.NullType()


def _qualified(kind: int, qualifier: Qualifier) -> sqltypes.TypeEngine[Any]:
    first, last = qualifier.first.name.lower(), qualifier.last.name.lower()
    fraction = qualifier.scale or None
    if kind == TypeCode.INTERVAL:
        return INTERVAL(
            first, last, None if qualifier.first == Unit.FRACTION else qualifier.leading, fraction
        )
    if qualifier.datetime_class is dt.time:
        return TIME(last, fraction)
    return DATETIME(first, last, fraction)
