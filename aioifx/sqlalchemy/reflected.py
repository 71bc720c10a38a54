"""Entries of the catalog -> the dictionaries of SQLAlchemy's reflection. Never: a query."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from sqlalchemy import util
from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedForeignKeyConstraint, ReflectedIndex
from sqlalchemy.types import NullType

from aioifx.sqlalchemy.catalog import ColumnEntry, ConstraintEntry, IndexEntry, TableEntry
from aioifx.sqlalchemy.catalog_text import Key, default_sql
from aioifx.sqlalchemy.type_map import type_for
from aioifx.sqlalchemy.types import BIGSERIAL, SERIAL, SERIAL8
from aioifx.sqltypes import TypeCode

_LOCK_MODES: Final = {"P": "page", "R": "row"}
SERIALS: Final = {TypeCode.SERIAL: SERIAL, TypeCode.SERIAL8: SERIAL8, TypeCode.BIGSERIAL: BIGSERIAL}
"""Types of columns that the server numbers."""


def names_of(keys: Iterable[Key]) -> list[str]:
    """The columns and expressions of an index."""
    return [key.expression for key in keys]


def column(entry: ColumnEntry, primary_key: Collection[str]) -> ReflectedColumn:
    """A SERIAL column is an INTEGER with `autoincrement` in the primary key, and has the type SERIAL elsewhere."""
    serial = SERIALS.get(TypeCode(entry.type.code)) if entry.type.code in SERIALS else None
    sql_type = serial() if serial and entry.name not in primary_key else type_for(entry.type)
    if isinstance(sql_type, NullType):
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
