"""Pieces of SQLite's own text: quoted names, literals, column declarations. Never: Informix text."""

from __future__ import annotations

from aioifx.server.sql.types import Family, family_of
from aioifx.sqltypes import SqlType


def identifier(name: str) -> str:
    """A name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def string(value: str) -> str:
    """A text literal. SQLite's parser stops at a NUL, so a text with one goes through its bytes."""
    if "\x00" in value:
        return f"CAST(X'{value.encode().hex()}' AS TEXT)"
    return "'" + value.replace("'", "''") + "'"


def affinity(type_: SqlType) -> str:
    """How SQLite declares a column of this type, collation included."""
    match family_of(type_):
        case Family.INTEGER | Family.DATE | Family.MONTHS | Family.TIME:
            return "INTEGER"
        case Family.FLOAT:
            return "REAL"
        case Family.DECIMAL:
            return "TEXT COLLATE ifx_decimal"
        case Family.TEXT:
            return "TEXT COLLATE RTRIM"
        case _:
            return "TEXT"


def collated(sql: str, type_: SqlType | None) -> str:
    """The expression with the collation by which values of its type are ordered and told apart."""
    if type_ is None:
        return sql
    match family_of(type_):
        case Family.TEXT:
            return f"{sql} COLLATE RTRIM"
        case Family.DECIMAL:
            return f"{sql} COLLATE ifx_decimal"
        case _:
            return sql
