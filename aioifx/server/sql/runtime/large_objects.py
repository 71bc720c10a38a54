"""BYTE, TEXT, BLOB and CLOB between clients and storage: descriptors, locators, kept values. Never: SQLite.

A locator is this server's own: 4 bytes of a mark, then the object's number, then zeros. Clients only send it back.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from aioifx.codecs.large_objects import LOCATOR, Descriptor, Locator, row_descriptor
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Stored
from aioifx.sqltypes import SqlType, Value

_NO_CONVERSION: Final = -608
_BAD_OBJECT: Final = -9810
_HEAD: Final = Struct(">4sq")
_MARK: Final = b"aifx"


def store_large(value: Value, settings: Settings) -> Stored:
    """The bytes of a BYTE or TEXT parameter.

    Raises:
        SqlError: -608, it is a value of another type.
    """
    if isinstance(value, bytes):
        return value
    raise SqlError(_NO_CONVERSION)


def kept_text(size: int, reference: int) -> str:
    """A kept value in a cursor's row."""
    return f"{size} {reference}"


def descriptor_loader(sql_type: SqlType) -> Callable[[str], Descriptor]:
    """The descriptors of kept values, in the described length."""
    width = sql_type.length

    def load_descriptor(stored: str) -> Descriptor:
        size, _, reference = stored.partition(" ")
        return row_descriptor(int(size), width, int(reference))

    return load_descriptor


def locator_of(number: int) -> Locator:
    """The locator of a smart large object."""
    return Locator(_HEAD.pack(_MARK, number).ljust(LOCATOR, b"\0"))


def object_number(locator: Locator) -> int:
    """The number of the object of a locator.

    Raises:
        SqlError: -9810, it is not a locator of this server.
    """
    if len(locator.data) == LOCATOR:
        mark, number = _HEAD.unpack_from(locator.data)
        if mark == _MARK:
            return int(number)
    raise SqlError(_BAD_OBJECT)


def store_locator(value: Value, settings: Settings) -> Stored:
    """The object of a BLOB or CLOB parameter.

    Raises:
        SqlError: -608, it is a value of another type; -9810, it is not a locator of this server.
    """
    if isinstance(value, Locator):
        return object_number(value)
    raise SqlError(_NO_CONVERSION)
