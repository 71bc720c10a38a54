"""Values of every type as text. Never: NULL, how texts are put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aioifx.codecs.value_text import formatter_for
from aioifx.errors import DatabaseError
from aioifx.sqltypes import SqlType


def text_writer(sql_type: SqlType) -> Callable[[Any], str]:
    """The function from a value of a type to its text: as UNLOAD writes it, BLOB in hexadecimal, CLOB as it is.

    The function gets no None.
    """
    try:
        write = formatter_for(sql_type)
    except DatabaseError:  # a type that has no text in files
        return _any_text

    def text(value: Any) -> str:
        try:
            return write(value)
        except DatabaseError:
            return _any_text(value)

    return text


def _any_text(value: Any) -> str:
    return value.hex() if isinstance(value, (bytes, bytearray)) else str(value)
