"""JSON and BSON values: casts, BSON_VALUE_* and its relatives, genBSON. Never: SQL text, how documents are sent.

A stored BSON is the document's bytes in hexadecimal digits.

Source: documented (Guide to SQL: Syntax, BSON processing functions): names, arguments, result types; a field may be
``a.b``. assumed: NULL for a missing field and for a value of another kind; ``a.0`` is an element of an array; BSON_GET
of ``a.b`` names its field ``b``; sizes are those of the encoded document.
"""

from __future__ import annotations

import datetime as dt
import secrets
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final, cast

from aioifx.codecs.bson import ObjectId, decode_document, encode_document
from aioifx.errors import DataError
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.dates import days_of
from aioifx.server.sql.runtime.json_text import INVALID_JSON, moment_text, read_json, write_json
from aioifx.sqltypes import Value

_NO_CONVERSION: Final = -1260
_MISSING: Final = object()


def checked_json(text: str) -> str:
    """A text as JSON.

    Raises:
        SqlError: -9652, it is not a JSON object.
    """
    read_json(text)
    return text


def bson_of(text: str) -> str:
    """JSON as BSON."""
    return _encoded(read_json(text))


def json_of(stored: str) -> str:
    """BSON as JSON."""
    return write_json(_decoded(stored))


def checked_bson(data: bytes) -> str:
    """Bytes of a client as BSON.

    Raises:
        SqlError: -9652, they are not a document.
    """
    try:
        decode_document(data)
    except DataError:
        raise SqlError(INVALID_JSON) from None
    return data.hex()


def _encoded(document: dict[str, Value]) -> str:
    try:
        return encode_document(document).hex()
    except DataError:
        raise SqlError(INVALID_JSON) from None


def _decoded(stored: str) -> dict[str, Value]:
    return decode_document(bytes.fromhex(stored))


# --- Fields -----------------------------------------------------------------------------------------------------------


def _found(stored: str, path: str) -> Value:
    """The value at a path of names separated by dots; _MISSING if there is none."""
    value: Value = _decoded(stored)
    for name in path.split("."):
        if isinstance(value, dict):
            value = cast("dict[str, Value]", value).get(name, _MISSING)
        elif isinstance(value, list) and name.isdecimal():
            items = cast("Sequence[Value]", value)
            value = items[int(name)] if int(name) < len(items) else _MISSING
        else:
            return _MISSING
    return value


def get(stored: str | None, path: str | None, name: str | None = None) -> Stored:
    """BSON_GET: a document with only that field."""
    if stored is None or path is None:
        return None
    value = _found(stored, path)
    return None if value is _MISSING else _encoded({name or path.rpartition(".")[2]: value})


def size(stored: str | None, path: str | None) -> int | None:
    """BSON_SIZE: bytes of the document, or of a document with only that field."""
    if stored is None or path is None:
        return None
    wanted = get(stored, path) if path else stored
    return None if wanted is None else len(str(wanted)) // 2


def value_function(accept: Callable[[Value], Stored]) -> Callable[[str | None, str | None], Stored]:
    """A BSON_VALUE function: NULL unless *accept* returns the field's value in storage form."""

    def value_of(stored: str | None, path: str | None) -> Stored:
        if stored is None or path is None:
            return None
        return accept(_found(stored, path))

    return value_of


def _integer(bits: int) -> Callable[[Value], Stored]:
    highest = 2 ** (bits - 1) - 1

    def accept(value: Value) -> Stored:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return value if is_number and -highest <= value <= highest else None

    return accept


def _double(value: Value) -> Stored:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(longest: int) -> Callable[[Value], Stored]:
    def accept(value: Value) -> Stored:
        return value if isinstance(value, str) and len(value.encode()) <= longest else None

    return accept


def _boolean(value: Value) -> Stored:
    return ("t" if value else "f") if isinstance(value, bool) else None


def _date(value: Value) -> Stored:
    return days_of(value.date()) if isinstance(value, dt.datetime) else None


def _timestamp(value: Value) -> Stored:
    if not isinstance(value, dt.datetime):
        return None
    return moment_text(value).replace("T", " ")[:-1] + "00"


def _object_id(value: Value) -> Stored:
    return str(value) if isinstance(value, ObjectId) else None


VALUE_FUNCTIONS: Final[dict[str, Callable[[Value], Stored]]] = {
    "bson_value_int": _integer(32),
    "bson_value_bigint": _integer(64),
    "bson_value_double": _double,
    "bson_value_varchar": _text(255),
    "bson_value_lvarchar": _text(32739),
    "bson_value_boolean": _boolean,
    "bson_value_date": _date,
    "bson_value_timestamp": _timestamp,
    "bson_value_objectid": _object_id,
}


def scalar_of(stored: str) -> Value:
    """The value of a document with one field, for casts of ``column.field``.

    Raises:
        SqlError: -1260, it has a different number of fields.
    """
    document = _decoded(stored)
    if len(document) != 1:
        raise SqlError(_NO_CONVERSION)
    (value,) = document.values()
    return value


def scalar_text(value: Value) -> str:
    """A value as text that a cast converts further."""
    match value:
        case str():
            return value
        case bool():
            return "t" if value else "f"
        case dt.datetime():
            return moment_text(value).replace("T", " ")[:-1]
        case ObjectId():
            return str(value)
        case _:
            return write_json(value)


# --- genBSON ----------------------------------------------------------------------------------------------------------


def generated(names: Sequence[str], values: Sequence[Value], *, keeps_nulls: bool, has_id: bool) -> str:
    """genBSON: a document of named values; with a new ObjectId as ``_id`` unless it is left out."""
    document: dict[str, Value] = {"_id": _new_id()} if has_id else {}
    for name, value in zip(names, values, strict=True):
        if value is not None or keeps_nulls:
            document[name] = _generated_value(value)
    return _encoded(document)


def _new_id() -> ObjectId:
    """Seconds since 1970 and random bytes (documented: MongoDB)."""
    return ObjectId(int(time.time()).to_bytes(4, "big") + secrets.token_bytes(8))


def _generated_value(value: Value) -> Value:
    match value:
        case Decimal():
            return float(value)
        case dt.datetime():
            return value.replace(tzinfo=dt.UTC)
        case dt.date():
            return dt.datetime(value.year, value.month, value.day, tzinfo=dt.UTC)
        case bool() | int() | float() | str() | None:
            return value
        case _:
            return str(value)
