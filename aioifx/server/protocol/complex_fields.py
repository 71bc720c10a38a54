"""Rows and collections in binary, as JDBC binds them and reads them after SQ_RET_TYPE 44. Never: their text, SQL.

Wire: a field is ``4 size · description · 4 bytes · 4 flag · values``, without the byte of other opaque types
description: 134 zeros · 2 count · for each member, the type itself first: 2 number · 2 level · 2 parent · 2 field
number · 128 name · 2 · 2 type · 2 length · 8 · 128 blanks · 2 · 128 blanks · 6; then 4 zeros flag: 1, or -1 for NULL
values: as in a row; after the elements of variable size -1 and their offsets, the last first
Source: observed: JDBC binds collections so (e5_set_write.json, e5_list_write.json), and by trial reads this form of
them and of ROW, with NULLs. It does not read LVARCHAR in it. assumed: a nested value is ``4 bytes · 4 flag · values``,
which JDBC does not read either. No bytes of a server are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Final, TypeAlias

from aioifx.codecs.base import Codec, Kind
from aioifx.codecs.registry import codec_for
from aioifx.codecs.text import CodeSet
from aioifx.errors import DataError
from aioifx.server.sql.complex_types import COLLECTIONS, ComplexType
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import Stored
from aioifx.server.sql.runtime.client_values import loader
from aioifx.server.sql.runtime.complex_values import parts_of
from aioifx.sqltypes import NOT_NULL, SqlType, TypeCode, Value

_Write: TypeAlias = Callable[[Stored], bytes]

_INT: Final = Struct(">i")
_MEMBER: Final = Struct(">HHHH128s2xHH8x128s2x128s6x")
_HEAD: Final = Struct(">134xH")
_TAIL: Final = bytes(4)
_BLANKS: Final = b" " * 128
_BOOLEANS: Final[dict[Stored, bytes]] = {
    "t": b"\0\0\0\0\1\1",
    "f": b"\0\0\0\0\1\0",
    None: b"\1\0\0\0\0",
}
"""BOOLEAN as a number (observed: JDBC reads ``t`` as false)."""
_HAS_VALUE: Final = 1
_IS_NULL: Final = -1


def _int(number: int) -> bytes:
    return _INT.pack(number)


# --- Rows -------------------------------------------------------------------------------------------------------------


def complex_codec(type_: ComplexType, code_set: CodeSet, settings: Settings) -> Codec:
    """The codec that encodes stored values of a type; it does not decode."""
    description = _description(type_, code_set)
    write = _writer(type_, code_set, settings)

    def encode(stored: Value) -> bytes:
        field = description + write(stored)
        return _int(len(field)) + field

    def decode(field: bytes) -> Value:
        raise DataError("rows and collections in binary are not decoded")

    return Codec(Kind.OTHER, _INT.size, 0, decode, encode)


def _description(type_: ComplexType, code_set: CodeSet) -> bytes:
    members: list[bytes] = []

    def add(part: SqlType, level: int, parent: int, number: int, name: str, flags: int) -> None:
        text = code_set.encode(name)[:128].ljust(128)
        length = part.length & 0xFFFF if level else 0
        members.append(
            _MEMBER.pack(
                len(members) + 1,
                level,
                parent,
                number,
                text,
                part.kind | flags,
                length,
                _BLANKS,
                _BLANKS,
            )
        )
        if isinstance(part, ComplexType):
            is_row, own = part.code == TypeCode.ROW, len(members)
            names = part.names or ("",) * len(part.parts)
            for index, (field, below, required) in enumerate(
                zip(names, part.parts, part.required, strict=True), start=1
            ):
                add(below, level + 1, own, index if is_row else 0, field, NOT_NULL if required else 0)

    add(type_, 0, 0, 0, "", 0)
    return _HEAD.pack(len(members)) + b"".join(members) + _TAIL


def _writer(type_: ComplexType, code_set: CodeSet, settings: Settings) -> _Write:
    writers = [_part_writer(part, code_set, settings) for part in type_.parts]
    is_row = type_.code == TypeCode.ROW
    has_offsets = not is_row and not _width(type_.element, code_set)

    def write(stored: Stored) -> bytes:
        if stored is None:
            return _int(0) + _int(_IS_NULL)
        parts = parts_of(str(stored))
        each = writers if is_row else writers * len(parts)
        values = [writer(part) for part, writer in zip(parts, each, strict=True)]
        data = b"".join(values)
        if has_offsets and values:
            data += _offsets(values)
        return _int(len(data)) + _int(_HAS_VALUE) + data

    return write


def _offsets(values: Sequence[bytes]) -> bytes:
    offsets, position = b"", 0
    for value in values:
        offsets = _int(position) + offsets
        position += len(value)
    return _int(-1) + offsets


def _width(type_: SqlType, code_set: CodeSet) -> int:
    """Bytes of every value of a type; 0 if they differ."""
    return 0 if isinstance(type_, ComplexType) else codec_for(type_, code_set).width


def _part_writer(type_: SqlType, code_set: CodeSet, settings: Settings) -> _Write:
    if isinstance(type_, ComplexType):
        return _writer(type_, code_set, settings)
    if type_.kind == TypeCode.BOOLEAN:
        return lambda stored: _BOOLEANS[stored]
    encode, load = codec_for(type_, code_set).encode, loader(type_, settings.code_set)
    if load is None:
        return encode
    return lambda stored: encode(None if stored is None else load(stored))


# --- Parameters -------------------------------------------------------------------------------------------------------


def is_binary_collection(name: bytes, data: bytes) -> bool:
    """Whether a parameter is a collection in binary, by its type ``list (  int  not null) ``; a text has no NUL."""
    return data[:1] == b"\0" and name.partition(b"(")[0].strip().lower() in _COLLECTION_NAMES


_COLLECTION_NAMES: Final = frozenset(code.name.lower().encode() for code in COLLECTIONS)


def collection_values(data: bytes, code_set: CodeSet) -> list[Value]:
    """The elements of a collection that JDBC bound.

    Raises:
        DataError: the bytes have another form.
        NotSupportedError: elements of a type without a codec.
    """
    values_at = _HEAD.size + 2 * _MEMBER.size + len(_TAIL)
    if len(data) < values_at + 2 * _INT.size or _HEAD.unpack_from(data) != (2,):
        raise DataError("collection with a description of an unknown form")
    _, _, _, _, _, code, length, _, _ = _MEMBER.unpack_from(data, _HEAD.size + _MEMBER.size)
    values = data[values_at + 2 * _INT.size :]
    if _INT.unpack_from(data, values_at) != (len(values),):
        raise DataError("collection whose size is not that of its values")
    codec = codec_for(SqlType(code & 0xFF, length), code_set)
    found: list[Value] = []
    position = 0
    while position < len(values) - (0 if codec.width else _INT.size * (len(found) + 1)):
        end = position + codec.head
        end += codec.rest(values[position:end])
        found.append(codec.decode(values[position:end]))
        position = end
    return found
