"""Informix's built-in opaque types, as SQ_DESCRIBE sends them. Never: a table."""

from __future__ import annotations

from typing import Final

from aioifx.sqltypes import (
    EXTENDED_BLOB,
    EXTENDED_BOOLEAN,
    EXTENDED_CLOB,
    EXTENDED_LVARCHAR,
    SqlType,
    TypeCode,
)

SYSTEM_OWNER: Final = "informix"

BYTE: Final = SqlType(TypeCode.BYTE, 56)
TEXT: Final = SqlType(TypeCode.TEXT, 56)
BLOB: Final = SqlType(TypeCode.UDTFIXED, 72, EXTENDED_BLOB, SYSTEM_OWNER, "blob")
CLOB: Final = SqlType(TypeCode.UDTFIXED, 72, EXTENDED_CLOB, SYSTEM_OWNER, "clob")


def lvarchar(length: int = 2048) -> SqlType:
    """LVARCHAR as the catalog and SQ_DESCRIBE encode it."""
    return SqlType(TypeCode.UDTVAR, length, EXTENDED_LVARCHAR, SYSTEM_OWNER, "lvarchar")


def boolean() -> SqlType:
    """BOOLEAN as the catalog and SQ_DESCRIBE encode it."""
    return SqlType(TypeCode.UDTFIXED, 1, EXTENDED_BOOLEAN, SYSTEM_OWNER, "boolean")


EXTENDED_JSON: Final = 25
EXTENDED_BSON: Final = 26
"""Assumed: the numbers of JSON and BSON in sysxtdtypes."""


def json() -> SqlType:
    """JSON as SQ_DESCRIBE encodes it (observed: accepted by JDBC)."""
    return SqlType(TypeCode.UDTVAR, 4096, EXTENDED_JSON, SYSTEM_OWNER, "json")


def bson() -> SqlType:
    """BSON as SQ_DESCRIBE encodes it (observed: accepted by JDBC)."""
    return SqlType(TypeCode.UDTVAR, 4096, EXTENDED_BSON, SYSTEM_OWNER, "bson")
