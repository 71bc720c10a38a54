"""One readable table: TypeCode -> Codec. Never: a decision taken per value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from aioifx.codecs import large_objects, numbers, temporal, text
from aioifx.codecs.base import Codec, Decode, Kind
from aioifx.codecs.conversions import PLAIN, Conversions, Convert
from aioifx.codecs.documents import document_decoder
from aioifx.codecs.large_objects import is_large_object, is_smart_object
from aioifx.codecs.text import CodeSet
from aioifx.codecs.time_zones import attaching
from aioifx.codecs.type_text import cached_by_type, may_be_large
from aioifx.errors import NotSupportedError
from aioifx.sqltypes import (
    SERIALS,
    Column,
    SqlType,
    TypeCode,
    Value,
)

_ByType: TypeAlias = Callable[[SqlType], Codec]
_ByText: TypeAlias = Callable[[SqlType, CodeSet, bool], Codec]

FIXED: Final[dict[int, Codec]] = {
    TypeCode.SMALLINT: numbers.SMALLINT,
    TypeCode.INTEGER: numbers.INTEGER,
    TypeCode.BIGINT: numbers.BIGINT,
    TypeCode.INT8: numbers.INT8,
    TypeCode.SMALLFLOAT: numbers.SMALLFLOAT,
    TypeCode.FLOAT: numbers.FLOAT,
    TypeCode.DATE: temporal.DATE,
}
"""Types that are always the same."""
FIXED.update({code: FIXED[base] for code, base in SERIALS.items()})

BY_LENGTH: Final[Mapping[int, _ByType]] = {
    TypeCode.DECIMAL: numbers.decimal,
    TypeCode.MONEY: numbers.decimal,
    TypeCode.DATETIME: temporal.datetime,
    TypeCode.INTERVAL: temporal.interval,
    TypeCode.BOOLEAN: numbers.boolean,
    TypeCode.BYTE: large_objects.simple_object,
    TypeCode.TEXT: large_objects.simple_object,
}
"""Types whose encoded length or code decides."""

BY_CODE_SET: Final[Mapping[int, _ByText]] = {
    TypeCode.CHAR: text.char,
    TypeCode.NCHAR: text.char,
    TypeCode.VARCHAR: text.varchar,
    TypeCode.NVARCHAR: text.varchar,
    TypeCode.LVARCHAR: text.lvarchar,
    TypeCode.ROW: text.lvarchar,
    TypeCode.SET: text.lvarchar,
    TypeCode.MULTISET: text.lvarchar,
    TypeCode.LIST: text.lvarchar,
    TypeCode.COLLECTION: text.lvarchar,
    TypeCode.UDTVAR: text.opaque,
    TypeCode.UDTFIXED: text.opaque,
    TypeCode.OPAQUE: text.opaque,
}
"""Types that hold text, and rows and collections, whose literals are text."""


_MAX_KNOWN: Final = 1024
"""The most types whose codecs a connection's conversions keep."""


@cached_by_type
def codec_for(
    sql_type: SqlType, code_set: CodeSet, *, strip_char: bool = False, padded_varchar: bool = False
) -> Codec:
    """The codec of a type.

    Args:
        strip_char: CHAR loses its trailing blanks.
        padded_varchar: VARCHAR travels at its full width.

    Raises:
        NotSupportedError: types that are not known.
    """
    kind = sql_type.kind
    if is_smart_object(sql_type):
        return large_objects.smart_object(sql_type)
    if kind in FIXED:
        return FIXED[kind]
    if kind in BY_LENGTH:
        return BY_LENGTH[kind](sql_type)
    if padded_varchar and kind in (TypeCode.VARCHAR, TypeCode.NVARCHAR):
        return text.padded_varchar(sql_type, code_set, strip_char)
    if kind in BY_CODE_SET:
        return BY_CODE_SET[kind](sql_type, code_set, strip_char)
    raise NotSupportedError(f"{sql_type} values are not supported")


def codecs_for(
    columns: Sequence[Column],
    code_set: CodeSet,
    *,
    strip_char: bool = False,
    padded_varchar: bool = False,
    conversions: Conversions = PLAIN,
) -> tuple[Codec, ...]:
    """The codecs of a row's columns, with *conversions* applied.

    Raises:
        NotSupportedError: names the column and its type.
    """
    found: list[Codec] = []
    here: dict[SqlType, Codec] = {}
    known = conversions.known_codecs.setdefault((code_set, strip_char, padded_varchar), {})
    for column in columns:
        codec = known.get(column.type) or here.get(column.type)
        if codec is None:
            try:
                codec = codec_for(column.type, code_set, strip_char=strip_char, padded_varchar=padded_varchar)
            except NotSupportedError as error:
                raise NotSupportedError(f"column {column.name!r}: {error}") from None
            if conversions is not PLAIN:
                codec = _converted(codec, column.type, conversions, strip_char)
            # Types are few, unless a program makes them up.
            (here if may_be_large(column.type) or len(known) >= _MAX_KNOWN else known)[column.type] = codec
        found.append(codec)
    return tuple(found)


def _converted(codec: Codec, sql_type: SqlType, conversions: Conversions, strip_char: bool) -> Codec:
    # Generated code is cached by codecs; see `codec_for`.
    if is_large_object(sql_type):
        return codec  # its value is converted, not what the row holds
    if conversions.integral_decimals and codec.kind == Kind.DECIMAL and sql_type.scale == 0:
        codec = numbers.integral(codec)
    if conversions.zone is not None and codec.kind == Kind.DATETIME:
        codec = replace(codec, zone=conversions.zone, decode=attaching(codec.decode, conversions.zone))
    decoder = _decoder_of(sql_type, conversions, strip_char)
    if decoder is None:
        return codec
    return replace(codec, kind=Kind.OTHER, decode=_decode_by(codec.decode, decoder))


def _decoder_of(sql_type: SqlType, conversions: Conversions, strip_char: bool) -> Convert | None:
    """The function for values other than NULL, as decoded by default; None if they stay as they are."""
    if conversions.json is not None:
        if sql_type.fields:
            from aioifx.codecs.literal_reader import literal_reader  # rarely needed

            return literal_reader(sql_type, conversions, strip_char=strip_char)
        document = document_decoder(sql_type, conversions)
        if document is not None:
            return document
    return conversions.decoder_for(sql_type)


def _decode_by(decode: Decode, decoder: Convert) -> Decode:
    def decode_further(field: bytes) -> Value:
        value = decode(field)
        return None if value is None else decoder(value)

    return decode_further
