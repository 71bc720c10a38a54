"""Names and types as DDL writes them: quoted where that is needed, with owners. Never: a query, a statement."""

from __future__ import annotations

import re
from typing import Final

from aioifx.catalog.texts import quoted
from aioifx.client.sql.scanner import COMMENTS
from aioifx.sqltypes import DISTINCT, Column, SqlType, TypeCode

_GAP: Final = rf"(?: \s | {COMMENTS} )"
_HEAD: Final = re.compile(
    rf"""
    ( \A {_GAP}*+ CREATE {_GAP}++ (?: OR {_GAP}++ REPLACE {_GAP}++ )? (?: DBA {_GAP}++ )?
      (?: VIEW | PROCEDURE | FUNCTION | TRIGGER ) {_GAP}++ (?: IF {_GAP}++ NOT {_GAP}++ EXISTS {_GAP}++ )? )
    (?: (?: "[^"]*" | '[^']*' | \w+ ) \s* \. \s* )?
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_COLLECTIONS: Final = {TypeCode.SET: "set", TypeCode.MULTISET: "multiset", TypeCode.LIST: "list"}
_BUILT_IN: Final = frozenset({"blob", "boolean", "bson", "clob", "json", "lvarchar"})


def owned(owner: str, name: str) -> str:
    """A name with its owner, if there is one."""
    owner = owner.rstrip(" ")
    return f'"{owner}".{quoted(name)}' if owner else quoted(name)


def with_owner(sql: str, owner: str) -> str:
    """A CREATE statement whose object has this owner; empty for none."""
    return _HEAD.sub(lambda found: found[1] + (f'"{owner}".' if owner else ""), sql, count=1)


def type_text(sql_type: SqlType) -> str:
    """A type as in CREATE TABLE, in lower case."""
    kind = sql_type.kind
    if sql_type.flags & DISTINCT and sql_type.extended_name:
        return owned(sql_type.owner, sql_type.extended_name)
    if kind in (TypeCode.VARCHAR, TypeCode.NVARCHAR) and (reserved := sql_type.length >> 8):
        return f"{TypeCode(kind).name.lower()}({sql_type.length & 0xFF},{reserved})"
    if kind in _COLLECTIONS and sql_type.fields:
        return f"{_COLLECTIONS[TypeCode(kind)]}({type_text(sql_type.fields[0].type)} not null)"
    name = sql_type.extended_name
    if kind == TypeCode.ROW and sql_type.fields and name[:4].upper() in ("", "ROW("):
        return f"row({', '.join(map(field_text, sql_type.fields))})"
    if name and kind not in (TypeCode.LVARCHAR, TypeCode.BOOLEAN) and kind not in _COLLECTIONS:
        return name.lower() if name.lower() in _BUILT_IN else owned(sql_type.owner, name)
    return str(sql_type).lower()


def field_text(field: Column) -> str:
    """A field of a ROW type."""
    return f"{quoted(field.name)} {type_text(field.type)}{'' if field.nullable else ' not null'}"
