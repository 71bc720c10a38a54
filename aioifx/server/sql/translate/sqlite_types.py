"""The SQLite side of a type: the declaration of a column, and the collation of its values. Never: Informix text."""

from __future__ import annotations

from aioifx.server.sql.model.type_rules import Family, family_of
from aioifx.server.sql.sqlite.tree import Collated, Node
from aioifx.sqltypes import SqlType


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


def collation(type_: SqlType | None) -> str:
    """The collation by which values of a type are ordered and compared; empty for SQLite's own order."""
    match None if type_ is None else family_of(type_):
        case Family.TEXT:
            return "RTRIM"
        case Family.DECIMAL:
            return "ifx_decimal"
        case _:
            return ""


def collated(node: Node, type_: SqlType | None) -> Node:
    """The expression with the collation of its type."""
    name = collation(type_)
    return Collated(node, name) if name else node
