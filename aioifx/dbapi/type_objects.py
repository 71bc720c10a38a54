"""PEP 249's type objects and constructors. Never: a connection, bytes."""

from __future__ import annotations

import datetime as dt
from typing import Final

from aioifx.sqltypes import EXTENDED_BLOB, EXTENDED_CLOB, NUMBER_CODES, SqlType, TypeCode


class TypeObject:
    """Compares equal to each type_code of a description that belongs to it.

    Args:
        kinds: values of `SqlType.kind`.
        extended_ids: of opaque types.
    """

    __slots__ = ("_extended_ids", "_kinds", "_name")

    def __init__(self, name: str, *kinds: TypeCode, extended_ids: tuple[int, ...] = ()) -> None:
        self._name = name
        self._kinds = frozenset(kinds)
        self._extended_ids = frozenset(extended_ids)

    def __repr__(self) -> str:
        return self._name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SqlType):
            return self is other
        if other.kind in (TypeCode.UDTVAR, TypeCode.UDTFIXED):
            return (other.source or other.extended_id) in self._extended_ids
        return other.kind in self._kinds

    __hash__ = object.__hash__


STRING: Final = TypeObject(
    "STRING",
    TypeCode.CHAR,
    TypeCode.VARCHAR,
    TypeCode.NCHAR,
    TypeCode.NVARCHAR,
    TypeCode.LVARCHAR,
    TypeCode.TEXT,
    extended_ids=(EXTENDED_CLOB,),
)
"""CHAR, VARCHAR, NCHAR, NVARCHAR, LVARCHAR, TEXT and CLOB."""

BINARY: Final = TypeObject("BINARY", TypeCode.BYTE, extended_ids=(EXTENDED_BLOB,))
"""BYTE and BLOB."""

NUMBER: Final = TypeObject("NUMBER", *map(TypeCode, NUMBER_CODES))
"""Numbers of all types, SERIAL included."""

DATETIME: Final = TypeObject("DATETIME", TypeCode.DATE, TypeCode.DATETIME)
"""DATE and DATETIME of any qualifier; not INTERVAL."""

ROWID: Final = TypeObject("ROWID")
"""No type: Informix describes ROWID as INTEGER."""

Date = dt.date
Time = dt.time
Timestamp = dt.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> dt.date:
    """The local date of a number of seconds since the epoch."""
    return dt.date.fromtimestamp(ticks)


def TimeFromTicks(ticks: float) -> dt.time:
    """The local time of day of a number of seconds since the epoch."""
    return dt.datetime.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> dt.datetime:
    """The local date and time of a number of seconds since the epoch."""
    return dt.datetime.fromtimestamp(ticks)
