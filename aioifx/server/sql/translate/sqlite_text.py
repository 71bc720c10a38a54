"""Pieces of SQLite's own text: quoted names, literals, column declarations. Never: Informix text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.model.type_rules import Family, family_of
from aioifx.sqltypes import SqlType


def identifier(name: str) -> str:
    """A name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def string(value: str) -> str:
    """A text literal. SQLite's parser stops at a NUL, so a text with a NUL is written as bytes."""
    if "\x00" in value:
        return f"CAST(X'{value.encode().hex()}' AS TEXT)"
    return "'" + value.replace("'", "''") + "'"


def type_literal(type_: SqlType) -> str:
    """A type as an argument of a function."""
    number = type_number(type_)
    return str(number) if isinstance(number, int) else string(number)


def affinity(type_: SqlType) -> str:
    """The SQLite declaration of a column of this type, with its collation."""
    match family_of(type_):
        case Family.INTEGER | Family.DATE | Family.MONTHS | Family.TIME:
            return "INTEGER"
        case Family.FLOAT:
            return "REAL"
        case Family.DECIMAL:
            return "TEXT COLLATE ifx_decimal"
        case Family.TEXT:
            return "TEXT COLLATE RTRIM"
        case Family.SIMPLE_LARGE:
            return "BLOB"
        case Family.SMART_LARGE:
            return "INTEGER"
        case _:
            return "TEXT"


_BRANCHES: Final = 50
"""Operands per level of a tree: SQLite allows trees of 1,000 levels."""


def joined(operator: str, texts: Sequence[str]) -> str:
    """Operands joined by AND or OR, as a tree that stays shallow for many operands."""
    if len(texts) <= _BRANCHES:
        return f" {operator} ".join(texts)
    size = -(-len(texts) // _BRANCHES)
    groups = (texts[start : start + size] for start in range(0, len(texts), size))
    return f" {operator} ".join(f"({joined(operator, group)})" for group in groups)


def collated(sql: str, type_: SqlType | None) -> str:
    """The expression with the collation by which values of its type are ordered and compared."""
    if type_ is None:
        return sql
    match family_of(type_):
        case Family.TEXT:
            return f"{sql} COLLATE RTRIM"
        case Family.DECIMAL:
            return f"{sql} COLLATE ifx_decimal"
        case _:
            return sql
