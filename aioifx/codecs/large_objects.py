"""What a row or SQ_BIND holds in place of a large object: descriptors and locators. Never: the object's data.

Evidence: the descriptor is the vendor's tblob_t (documented: OnLine Administrator's Guide 000-8697); the rest was
observed: JDBC, lob.json, objects15.json. Servers of 12.10 to 15 accept and send 56 bytes (observed: informix-driver).
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from aioifx.codecs.base import ENVELOPE_HEAD, Codec, Kind
from aioifx.errors import DataError, NotSupportedError
from aioifx.sqltypes import EXTENDED_BLOB, EXTENDED_CLOB, SqlType, TypeCode, Value

SHORT_DESCRIPTOR: Final = 56
LONG_DESCRIPTOR: Final = 68
"""With bit 70."""

LOCATOR: Final = 72

_SIZE_AT: Final = {SHORT_DESCRIPTOR: 16, LONG_DESCRIPTOR: 32}
_START_AT: Final = 8
_END_AT: Final = 12
_FLAGS_AT: Final = 39
_IS_NULL: Final = 0x01
_REFERENCE_AT: Final = 40

_I32: Final = Struct(">i")
_RANGE: Final = Struct(">ii")
_REFERENCE: Final = Struct(">q")


class Descriptor(NamedTuple):
    """A BYTE or TEXT value other than NULL, as a row or SQ_BIND has it: 56 or 68 bytes.

    Wire: 8 start · 12 end · 16 size (32 of 68 bytes) · 39 flags, bit 0 NULL · 40 reserved; the rest is the server's
    Source: documented; JDBC takes the size of a value in a row from start and end, and writes it at 16 or 32 (observed:
    lob.json, objects15.json)
    """

    data: bytes

    @property
    def size(self) -> int:
        """Bytes of the value, as far as the descriptor tells; 0 if it does not."""
        (size,) = _I32.unpack_from(self.data, _SIZE_AT[len(self.data)])
        if size > 0:
            return int(size)
        start, end = _RANGE.unpack_from(self.data, _START_AT)
        return end - start + 1 if end > start >= 0 else 0

    @property
    def reference(self) -> int:
        """The number that the embedded server gave the value, in a reserved field that clients send back."""
        return int(_REFERENCE.unpack_from(self.data, _REFERENCE_AT)[0])

    def resized(self, width: int) -> bytes:
        """The descriptor in *width* bytes: in a row it has the described width, in a request that of bit 70."""
        return self.data[:width].ljust(width, b"\0")


def parameter_descriptor(size: int, width: int) -> Descriptor:
    """The descriptor of a parameter of *size* bytes (observed: JDBC, binds.json)."""
    data = bytearray(width)
    _I32.pack_into(data, _SIZE_AT[width], size)
    return Descriptor(bytes(data))


def row_descriptor(size: int, width: int, reference: int = 0) -> Descriptor:
    """The descriptor of a value in a row: JDBC reads its end, informix-driver its size (observed)."""
    data = bytearray(width)
    _I32.pack_into(data, _END_AT, size - 1)
    _I32.pack_into(data, _SIZE_AT[width], size)
    _REFERENCE.pack_into(data, _REFERENCE_AT, reference)
    return Descriptor(bytes(data))


class Locator(NamedTuple):
    """A BLOB or CLOB value other than NULL: 72 bytes, which only the server understands."""

    data: bytes


MAY_BE_LARGE: Final = frozenset({TypeCode.BYTE, TypeCode.TEXT, TypeCode.UDTFIXED, TypeCode.OPAQUE})
"""Codes of types for which `is_large_object` may be true. The usual column has another, and needs no call."""


def is_large_object(sql_type: SqlType) -> bool:
    """Whether a row has only a descriptor or locator of the value."""
    return sql_type.code in (TypeCode.BYTE, TypeCode.TEXT) or is_smart_object(sql_type)


def is_smart_object(sql_type: SqlType) -> bool:
    """Whether the type is BLOB or CLOB, or a DISTINCT type of one."""
    return sql_type.code in (TypeCode.UDTFIXED, TypeCode.OPAQUE) and (
        sql_type.extended_id in _EXTENDED
        or sql_type.source in _EXTENDED
        or sql_type.extended_name.lower() in ("blob", "clob")
    )


_EXTENDED: Final = (EXTENDED_BLOB, EXTENDED_CLOB)


def is_character_object(sql_type: SqlType) -> bool:
    """Whether the large object is text: TEXT or CLOB."""
    if sql_type.code in (TypeCode.BYTE, TypeCode.TEXT):
        return sql_type.code == TypeCode.TEXT
    return (
        EXTENDED_CLOB in (sql_type.extended_id, sql_type.source) or sql_type.extended_name.lower() == "clob"
    )


def simple_object(sql_type: SqlType) -> Codec:
    """BYTE and TEXT: a descriptor of the described length.

    Raises:
        NotSupportedError: a descriptor of an unknown length.
    """
    width = sql_type.length
    if width not in _SIZE_AT:
        raise NotSupportedError(f"{sql_type} values with descriptors of {width} bytes are not supported")
    flags = bytearray(width)
    flags[_FLAGS_AT] = _IS_NULL
    null = bytes(flags)

    def decode(field: bytes) -> Descriptor | None:
        return None if field[_FLAGS_AT] & _IS_NULL else Descriptor(field)

    def encode(value: Value) -> bytes:
        if value is None:
            return null
        if not isinstance(value, Descriptor):
            raise DataError(f"{sql_type} does not accept {type(value).__name__}")
        return value.resized(width)

    return Codec(Kind.OTHER, 0, width, decode, encode)


_NULL_LOCATOR: Final = b"\1\0\0\0\0"


def smart_object(sql_type: SqlType) -> Codec:
    """BLOB and CLOB: a locator in an envelope; its 144 hex digits, or its bytes where SQ_RET_TYPE asked for them."""
    is_binary = sql_type.code == TypeCode.OPAQUE

    def decode(field: bytes) -> Locator | None:
        if field[0]:
            return None
        data = field[ENVELOPE_HEAD:]
        if len(data) == 2 * LOCATOR:
            try:
                data = bytes.fromhex(data.decode("ascii"))
            except ValueError:
                raise DataError(f"a locator of {sql_type} that is not hexadecimal") from None
        if len(data) != LOCATOR:
            raise DataError(f"a locator of {sql_type} with {len(data)} bytes")
        return Locator(data)

    def encode(value: Value) -> bytes:
        if value is None:
            return _NULL_LOCATOR
        if not isinstance(value, Locator):
            raise DataError(f"{sql_type} does not accept {type(value).__name__}")
        data = value.data if is_binary else value.data.hex().encode("ascii")
        return b"\0" + len(data).to_bytes(4, "big") + data

    return Codec(Kind.OTHER, ENVELOPE_HEAD, 0, decode, encode)
