"""BSON documents <-> Python values. Never: JSON text, the column that a document belongs to.

Source: documented (bsonspec.org, version 1.1). A document is ``4 size · elements · 00`` and an element
``1 kind · name · 00 · value``, little-endian, unlike the rest of SQLI. Values of kinds that Python lacks are
`BsonValue`s, so that no document is refused. An int that was stored in 8 bytes may be encoded in 4.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from struct import Struct
from typing import Final, TypeAlias, cast

from aioifx.errors import DataError
from aioifx.sqltypes import Value

_INT32: Final = Struct("<i")
_INT64: Final = Struct("<q")
_DOUBLE: Final = Struct("<d")
_DEEPEST: Final = 100
"""Levels of documents and arrays (documented: MongoDB's limit)."""
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND: Final = dt.timedelta(milliseconds=1)


class BsonKind(IntEnum):
    """The number of a kind of value in BSON."""

    DOUBLE = 0x01
    STRING = 0x02
    DOCUMENT = 0x03
    ARRAY = 0x04
    BINARY = 0x05
    UNDEFINED = 0x06
    OBJECT_ID = 0x07
    BOOLEAN = 0x08
    DATETIME = 0x09
    NULL = 0x0A
    REGEX = 0x0B
    POINTER = 0x0C
    CODE = 0x0D
    SYMBOL = 0x0E
    SCOPED_CODE = 0x0F
    INT32 = 0x10
    TIMESTAMP = 0x11
    INT64 = 0x12
    DECIMAL128 = 0x13
    MAX_KEY = 0x7F
    MIN_KEY = 0xFF


@dataclass(frozen=True, slots=True)
class ObjectId:
    """The 12 bytes of an ObjectId. ``str()`` gives its 24 hexadecimal digits.

    Raises:
        DataError: not 12 bytes.
    """

    data: bytes

    def __post_init__(self) -> None:
        if len(self.data) != 12:
            raise DataError(f"ObjectId: expected 12 bytes, got {len(self.data)}")

    def __str__(self) -> str:
        return self.data.hex()


@dataclass(frozen=True, slots=True)
class BsonValue:
    """A value of a kind that Python lacks, such as a regular expression, as its bytes."""

    kind: BsonKind
    data: bytes


# --- Encoding ---------------------------------------------------------------------------------------------------------


def encode_document(document: Mapping[str, Value]) -> bytes:
    """The bytes of a document.

    An int takes 4 bytes if it fits, otherwise 8. A datetime without a time zone is UTC; both lose microseconds.

    Raises:
        DataError: a value has no form in BSON, or the nesting is too deep.
    """
    return _encode_items(document.items(), _DEEPEST)


def _encode_items(items: Iterable[tuple[object, Value]], levels: int) -> bytes:
    if not levels:
        raise DataError(f"BSON: expected at most {_DEEPEST} levels of documents")
    parts: list[bytes] = []
    for name, value in items:
        kind, data = _encode_value(value, levels)
        parts.append(bytes((kind,)) + _encode_name(name) + data)
    body = b"".join(parts)
    return _INT32.pack(len(body) + 5) + body + b"\0"


def _encode_name(name: object) -> bytes:
    if not isinstance(name, str):
        raise DataError(f"BSON: expected names of type str, got {type(name).__name__}")
    if "\0" in name:
        raise DataError("BSON: a name contains NUL")
    return _encode_text(name) + b"\0"


def _encode_text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"the character at offset {error.start} is not in UTF-8") from None


def _encode_value(value: Value, levels: int) -> tuple[int, bytes]:
    for kind, encode in _ENCODERS:
        if isinstance(value, kind):
            return encode(value, levels)
    raise DataError(f"BSON does not accept {type(value).__name__}")


def _encode_int(value: int, levels: int) -> tuple[int, bytes]:
    if -(2**31) <= value < 2**31:
        return BsonKind.INT32, _INT32.pack(value)
    if -(2**63) <= value < 2**63:
        return BsonKind.INT64, _INT64.pack(value)
    raise DataError("BSON: expected an int of at most 64 bits")


def _encode_string(value: str, levels: int) -> tuple[int, bytes]:
    data = _encode_text(value)
    return BsonKind.STRING, _INT32.pack(len(data) + 1) + data + b"\0"


def _encode_datetime(value: dt.datetime, levels: int) -> tuple[int, bytes]:
    moment = value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC)
    return BsonKind.DATETIME, _INT64.pack((moment - _EPOCH) // _MILLISECOND)


def _encode_mapping(value: Mapping[str, Value], levels: int) -> tuple[int, bytes]:
    return BsonKind.DOCUMENT, _encode_items(value.items(), levels - 1)


def _encode_array(value: Iterable[Value], levels: int) -> tuple[int, bytes]:
    return BsonKind.ARRAY, _encode_items(((str(index), item) for index, item in enumerate(value)), levels - 1)


_Encode: TypeAlias = Callable[[Value, int], tuple[int, bytes]]

_ENCODERS: Final[tuple[tuple[type | tuple[type, ...], _Encode], ...]] = (
    (str, _encode_string),
    (bool, lambda value, levels: (BsonKind.BOOLEAN, bytes((value,)))),
    (int, _encode_int),
    (float, lambda value, levels: (BsonKind.DOUBLE, _DOUBLE.pack(value))),
    (type(None), lambda value, levels: (BsonKind.NULL, b"")),
    (Mapping, _encode_mapping),
    ((list, tuple), _encode_array),
    (dt.datetime, _encode_datetime),
    (bytes, lambda value, levels: (BsonKind.BINARY, _INT32.pack(len(value)) + b"\0" + value)),
    (ObjectId, lambda value, levels: (BsonKind.OBJECT_ID, value.data)),
    (BsonValue, lambda value, levels: (value.kind, value.data)),
)
"""Subclasses come first: bool before int."""


# --- Decoding ---------------------------------------------------------------------------------------------------------


def decode_document(data: bytes) -> dict[str, Value]:
    """The values of a document, in its order. Datetimes are in UTC.

    Raises:
        DataError: the bytes are not one whole document.
    """
    decoder = _Decoder(data)
    document = decoder.document(_DEEPEST)
    if decoder.position != len(data):
        raise DataError(f"BSON: {len(data) - decoder.position} bytes after the document")
    return document


class _Decoder:
    """A position in the bytes of a document."""

    __slots__ = ("data", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, size: int) -> bytes:
        start = self.position
        if size < 0 or start + size > len(self.data):
            raise DataError(f"BSON ends before the value at offset {start}")
        self.position = start + size
        return self.data[start : self.position]

    def number(self, form: Struct) -> int:
        return cast("int", form.unpack(self.take(form.size))[0])

    def name(self) -> bytes:
        """A text that ends with NUL, without it."""
        end = self.data.find(b"\0", self.position)
        data = self.take(end - self.position)
        self.position += 1
        return data

    def string(self) -> str:
        data = self.take(self.number(_INT32))
        if not data.endswith(b"\0"):
            raise DataError(f"BSON: string without an end at offset {self.position}")
        return self.text(data[:-1])

    def text(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise DataError(f"BSON: text before offset {self.position} is not UTF-8") from None

    def document(self, levels: int) -> dict[str, Value]:
        if not levels:
            raise DataError(f"BSON: expected at most {_DEEPEST} levels of documents")
        end = self.position + self.number(_INT32)
        document: dict[str, Value] = {}
        while kind := self.take(1)[0]:
            name = self.text(self.name())
            document[name] = self.value(kind, levels)
        if self.position != end:
            raise DataError(f"BSON: document ends at offset {self.position}, expected {end}")
        return document

    def value(self, kind: int, levels: int) -> Value:
        match kind:
            case BsonKind.STRING:
                return self.string()
            case BsonKind.INT32:
                return self.number(_INT32)
            case BsonKind.INT64:
                return self.number(_INT64)
            case BsonKind.DOUBLE:
                return _DOUBLE.unpack(self.take(8))[0]
            case BsonKind.DOCUMENT:
                return self.document(levels - 1)
            case BsonKind.ARRAY:
                return list(self.document(levels - 1).values())
            case BsonKind.BOOLEAN:
                return self.take(1) != b"\0"
            case BsonKind.NULL:
                return None
            case BsonKind.DATETIME:
                return self.datetime()
            case BsonKind.OBJECT_ID:
                return ObjectId(self.take(12))
            case BsonKind.BINARY:
                return self.binary()
            case _:
                return self.other(kind, levels)

    def datetime(self) -> Value:
        """A datetime, unless the year is outside 1 to 9999."""
        start = self.position
        milliseconds = self.number(_INT64)
        try:
            return _EPOCH + milliseconds * _MILLISECOND
        except OverflowError:
            return BsonValue(BsonKind.DATETIME, self.data[start : self.position])

    def binary(self) -> Value:
        start = self.position
        size = self.number(_INT32)
        subtype = self.take(1)
        data = self.take(size)
        return data if subtype == b"\0" else BsonValue(BsonKind.BINARY, self.data[start : self.position])

    def other(self, kind: int, levels: int) -> BsonValue:
        start = self.position
        match kind:
            case BsonKind.REGEX:
                self.name()
                self.name()
            case BsonKind.CODE | BsonKind.SYMBOL:
                self.string()
            case BsonKind.POINTER:
                self.string()
                self.take(12)
            case BsonKind.SCOPED_CODE:
                self.take(4)
                self.string()
                self.document(levels - 1)
            case BsonKind.TIMESTAMP:
                self.take(8)
            case BsonKind.DECIMAL128:
                self.take(16)
            case BsonKind.UNDEFINED | BsonKind.MAX_KEY | BsonKind.MIN_KEY:
                pass
            case _:
                raise DataError(f"BSON: unknown kind {kind:#04x} at offset {start}")
        return BsonValue(BsonKind(kind), self.data[start : self.position])


for _class in (BsonKind, BsonValue, ObjectId):  # tracebacks, reprs and pickles show the public path
    _class.__module__ = "aioifx.bson"
