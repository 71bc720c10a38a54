"""Entries of the catalog -> the dictionaries of SQLAlchemy's reflection. Never: a query."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# SQLAlchemy annotates its types in part.

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from sqlalchemy import util
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedForeignKeyConstraint, ReflectedIndex
from sqlalchemy.sql import sqltypes
from sqlalchemy.sql.compiler import IdentifierPreparer

from aioifx.catalog.tables import ColumnEntry, ConstraintEntry, IndexEntry, TableEntry
from aioifx.catalog.texts import Key, default_sql
from aioifx.sqlalchemy.binary import BYTE
from aioifx.sqlalchemy.composites import LIST, MULTISET, ROW, SET, NamedType
from aioifx.sqlalchemy.type_compiler import InformixTypeCompiler
from aioifx.sqlalchemy.types import (
    BIGSERIAL,
    BSON,
    DATETIME,
    INT8,
    INTERVAL,
    JSON,
    LVARCHAR,
    MONEY,
    NVARCHAR,
    SERIAL,
    SERIAL8,
    SMALLFLOAT,
    TEXT,
    TIME,
    VARCHAR,
)  # fmt: skip
from aioifx.sqltypes import DISTINCT, SERIALS, Qualifier, SqlType, TypeCode, Unit

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


class _OwnersQuoted(IdentifierPreparer):
    """What the dialect's own does with an owner."""

    def quote_schema(self, schema: str, force: Any = None) -> str:
        return self.quote_identifier(schema)


class _AnyDialect(DefaultDialect):
    preparer = _OwnersQuoted
    text_length: int | None = None  # what is reflected is as it is


_COMPILER: Final = InformixTypeCompiler(_AnyDialect())
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
        return _with_text(_COLLECTIONS[TypeCode(kind)](type_for(sql_type.fields[0].type)))
    if kind == TypeCode.ROW and sql_type.fields and sql_type.extended_name[:4].upper() in ("", "ROW("):
        return _with_text(ROW(tuple((field.name, type_for(field.type)) for field in sql_type.fields)))
    if sql_type.opaque_name in _OPAQUE:
        return _OPAQUE[sql_type.opaque_name]()
    if sql_type.extended_name:
        return NamedType(sql_type.extended_name, sql_type.owner or None)
    return sqltypes.NullType()


def _with_text(found: Any) -> sqltypes.TypeEngine[Any]:
    """With SQL as the argument: programs that write models, such as sqlacodegen, import no types within a type."""
    found.of = _COMPILER.process(found).partition("(")[2].removesuffix(")")
    return found  # type: ignore[no-any-return]


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


_LOCK_MODES: Final = {"P": "page", "R": "row"}
NUMBERED: Final = {TypeCode.SERIAL: SERIAL, TypeCode.SERIAL8: SERIAL8, TypeCode.BIGSERIAL: BIGSERIAL}
"""Types of columns that the server numbers."""


def names_of(keys: Iterable[Key]) -> list[str]:
    """The columns and expressions of an index."""
    return [key.expression for key in keys]


def column(
    entry: ColumnEntry, primary_key: Collection[str], zone: dt.tzinfo | None = None
) -> ReflectedColumn:
    """A SERIAL column is an INTEGER with `autoincrement` in the primary key, and has the type SERIAL elsewhere.

    With an option timezone, datetimes are aware.
    """
    serial = NUMBERED.get(TypeCode(entry.type.code)) if entry.type.code in NUMBERED else None
    sql_type = serial() if serial and entry.name not in primary_key else type_for(entry.type)
    if isinstance(sql_type, DATETIME):
        sql_type.timezone = zone is not None and sql_type.python_type is dt.datetime
    if isinstance(sql_type, sqltypes.NullType):
        util.warn(f"Did not recognize type {str(entry.type)!r} of column {entry.name!r}")
    found: ReflectedColumn = {
        "name": entry.name,
        "type": sql_type,
        "nullable": entry.nullable,
        "default": default_sql(entry.type, entry.default_kind, entry.default),
    }
    if serial:
        found["autoincrement"] = True
    return found


def foreign_key(constraint: ConstraintEntry, columns: list[str]) -> ReflectedForeignKeyConstraint:
    parent = constraint.parent
    assert parent is not None
    return {
        "name": constraint.name,
        "constrained_columns": columns,
        "referred_schema": parent.schema,
        "referred_table": parent.name,
        "referred_columns": names_of(parent.keys),
        "options": {"ondelete": "CASCADE"} if constraint.cascades else {},
    }


def index_of(entry: IndexEntry) -> ReflectedIndex:
    index: ReflectedIndex = {
        "name": entry.name,
        "column_names": [key.column for key in entry.keys],
        "unique": entry.is_unique,
    }
    if any(key.column is None for key in entry.keys):
        index["expressions"] = names_of(entry.keys)
    descending: dict[str, Any] = {key.expression: ("desc",) for key in entry.keys if key.is_descending}
    if descending:
        index["column_sorting"] = descending
    if entry.is_clustered:
        index["dialect_options"] = {"informix_cluster": True}
    return index


def options_of(entry: TableEntry) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if entry.lock_level in _LOCK_MODES:
        options["informix_lock_mode"] = _LOCK_MODES[entry.lock_level]
    for name, size in (("extent_size", entry.first_extent), ("next_size", entry.next_extent)):
        if size:
            options[f"informix_{name}"] = size
    if entry.dbspace:
        options["informix_in"] = entry.dbspace
    return options
