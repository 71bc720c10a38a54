"""One parameter <-> its entry in SQ_BIND, by the type the server described. Never: which parameter it is, or its row.

Wire: 2 type · [owner · name, each 2 size · bytes · pad, for types above 18 other than 52 and 53] · 2 indicator · 2
precision · data · pad to even. Data of integers, floats and DATE have their own width; DECIMAL, MONEY, DATETIME,
INTERVAL and character types begin with a 2-byte size, named types with a 4-byte size.
Source: observed: JDBC, binds.json; that servers take it: wire reference, from clients of 12.10 to 15

Invariants:
1. A value that does not fit is refused here; servers cut text, and store NULL for the NULL pattern, without an error.
2. An error names Python types and column types, never the value.
3. A str is sent as text for every target type: the server converts it.
4. The server rounds fraction digits beyond the scale of DECIMAL(p,s), as for a literal in SQL. Fields beyond a
   DATETIME's qualifier are cut from a datetime or time, as by JDBC. In any other value they are refused.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from struct import Struct
from typing import Final, TypeAlias

from aioifx.codecs.base import Encode, sized
from aioifx.codecs.base100 import MAX_PAIRS, Number, pack
from aioifx.codecs.conversions import STANDARD, Adapter
from aioifx.codecs.large_objects import LOCATOR, Descriptor, Locator, is_character_object, is_large_object
from aioifx.codecs.numbers import (
    FLOAT,
    SMALLFLOAT,
    decimal_value,
    digits_of,
    encode_int8,
    integer_value,
    number_of,
    plain_number,
    truth_value,
)
from aioifx.codecs.temporal import (
    DATE,
    common_clock,
    common_moment,
    common_step,
    datetime_fields,
    datetime_number,
    fitted_fields,
    interval_packer,
    qualifier_of,
)
from aioifx.codecs.text import CodeSet, text_encoder
from aioifx.errors import DataError, NotSupportedError
from aioifx.sqltypes import (
    Datetime,
    IntervalYM,
    Qualifier,
    SqlType,
    TypeCode,
    Unit,
    Value,
    datetime_qualifier,
)
from aioifx.wire.fields import is_named

Binder: TypeAlias = Callable[[Value], bytes]
"""A value -> its entry. Raises DataError."""

_SHORTS: Final = Struct(">hhh")
_INT: Final = Struct(">hhhi")
_LONG: Final = Struct(">hhhq")
_SIZED: Final = Struct(">hhhH")

_INT_PRECISION: Final = 0x0A00
_SMALLINT_PRECISION: Final = 0x0500
_LONG_PRECISION: Final = 0x1300
_BOOLEAN_PRECISION: Final = 1

MAX_SHORT_TEXT: Final = 32_767
"""Longer text is sent in LVARCHAR's form, whose size has four bytes (observed: 40,001 bytes, binds.json)."""

NULL: Final = _SHORTS.pack(TypeCode.CHAR, -1, 0)
"""NULL for any type (observed: 12.10 to 15)."""


def is_character(sql_type: SqlType) -> bool:
    """Whether NULL of the type is text that begins with NUL."""
    return sql_type.kind in _CHARACTER


def _even(data: bytes) -> bytes:
    return data + b"\0" if len(data) & 1 else data


def _head(code: int, name: str, indicator: int, precision: int, owner: str = "") -> bytes:
    if not is_named(code):
        return _SHORTS.pack(code, indicator, precision)
    owner_and_name = b""
    for word in (owner, name):
        text = word.encode("latin-1", "replace")  # names of types are ASCII but for delimited ones
        owner_and_name += len(text).to_bytes(2, "big") + _even(text)
    return code.to_bytes(2, "big") + owner_and_name + Struct(">hh").pack(indicator, precision)


# --- entries by form ------------------------------------------------------------------------------------------------


def _short_text(data: bytes) -> bytes:
    if len(data) > MAX_SHORT_TEXT:
        return _long_text(data)
    return _even(_SIZED.pack(TypeCode.CHAR, 0, 0, len(data)) + data)


def _long_text(data: bytes) -> bytes:
    return _LVARCHAR_HEAD + sized(data) + b"\0" * (len(data) & 1)


_LVARCHAR_HEAD: Final = _head(TypeCode.LVARCHAR, "", 0, 0)


def _base100(code: int, precision: int, number: Number) -> bytes:
    data = pack(number)
    return _even(_SIZED.pack(code, 0, precision, len(data)) + data)


def _smallint(value: Value) -> bytes:
    number = integer_value(value, "SMALLINT", 1 << 15)
    return _SHORTS.pack(TypeCode.SMALLINT, 0, _SMALLINT_PRECISION) + Struct(">h").pack(number)


def _integer(value: Value) -> bytes:
    return _INT.pack(TypeCode.INTEGER, 0, _INT_PRECISION, integer_value(value, "INTEGER", 1 << 31))


def _bigint(code: int, name: str) -> Binder:
    return lambda value: _LONG.pack(code, 0, _LONG_PRECISION, integer_value(value, name, 1 << 63))


def _int8(code: int) -> Binder:
    head = _SHORTS.pack(code, 0, _LONG_PRECISION)
    return lambda value: head + encode_int8(value)


def _float(code: int, encode: Encode) -> Binder:
    head = _SHORTS.pack(code, 0, 0)

    def bind(value: Value) -> bytes:
        if isinstance(value, Decimal):
            # Assumed: the server converts it, as observed for other pairs of types.
            return _decimal(value)
        return head + encode(value)

    return bind


def _date(value: Value) -> bytes:
    return _SHORTS.pack(TypeCode.DATE, 0, 0) + DATE.encode(value)


def _decimal(value: Value, name: str = "DECIMAL", code: int = TypeCode.DECIMAL) -> bytes:
    """All digits, with zeros after the point. The precision is the scale; for MONEY it is 0."""
    negative, digits, exponent = digits_of(decimal_value(value, name))
    number = number_of(negative, digits, exponent)
    if len(number.pairs) > MAX_PAIRS:
        number = number._replace(pairs=number.pairs.rstrip(b"\0"))
        if len(number.pairs) > MAX_PAIRS:
            raise DataError(f"{type(value).__name__} has more digits than {name} holds")
    scale = -exponent if code != TypeCode.MONEY and number.pairs != b"\0" else 0
    try:
        return _base100(code, scale, number)
    except DataError:
        raise DataError(f"{type(value).__name__} does not fit {name}") from None


_YEAR_TO_FRACTION: Final = datetime_qualifier(Unit.YEAR, Unit.FRACTION, 5)
_HOUR_TO_SECOND: Final = datetime_qualifier(Unit.HOUR, Unit.SECOND)
_HOUR_TO_FRACTION: Final = datetime_qualifier(Unit.HOUR, Unit.FRACTION, 5)


def _moment(value: Value, target: Qualifier | None = None) -> bytes:
    """datetime and date as YEAR TO FRACTION(5), time as HOUR TO SECOND or finer, Datetime with the fields it has."""
    # Cut here as JDBC does, so that every server gets what the column can hold.
    fields = datetime_fields(value) if target is None else fitted_fields(value, target)
    if isinstance(value, Datetime):
        qualifier = value.qualifier
    elif isinstance(value, dt.time):
        qualifier = _HOUR_TO_FRACTION if fields[Unit.FRACTION] else _HOUR_TO_SECOND
    else:
        qualifier = _YEAR_TO_FRACTION
    number = datetime_number(fields, qualifier, type(value).__name__)
    return _base100(TypeCode.DATETIME, qualifier.encoded, number)


_DAY_TO_FRACTION: Final = SqlType(TypeCode.INTERVAL, 0x144F)
_YEAR_TO_MONTH: Final = SqlType(TypeCode.INTERVAL, 0x0B02)


def _interval(sql_type: SqlType) -> Binder:
    number, length = interval_packer(sql_type), sql_type.length
    return lambda value: _base100(TypeCode.INTERVAL, length, number(value))


# --- by described type ----------------------------------------------------------------------------------------------


def _decimal_binder(sql_type: SqlType) -> Binder:
    name, code = str(sql_type), sql_type.code
    precision, scale = sql_type.precision or 0, sql_type.scale

    def bind(value: Value) -> bytes:
        number = decimal_value(value, name)
        if scale is not None and number and number.adjusted() >= precision - scale:
            raise DataError(f"{type(value).__name__} does not fit {name}")
        return _decimal(value, name, code)

    return bind


def _datetime_binder(sql_type: SqlType) -> Binder:
    qualifier = qualifier_of(sql_type)
    step = common_step(qualifier)
    has_clock = qualifier.first <= Unit.HOUR and qualifier.last >= Unit.SECOND

    def bind(value: Value) -> bytes:
        data = None
        if step and value.__class__ is dt.datetime:
            data = _common_datetime(value, step)
        elif has_clock and value.__class__ is dt.time:
            data = _common_time(value)
        return data or _moment(value, qualifier)

    return bind


_FINEST: Final = 10
_DATETIME_HEAD: Final = _SIZED.pack(TypeCode.DATETIME, 0, _YEAR_TO_FRACTION.encoded, 11)
_TIME_HEAD: Final = _SIZED.pack(TypeCode.DATETIME, 0, _HOUR_TO_SECOND.encoded, 4)


def _common_datetime(value: dt.datetime, step: int = _FINEST) -> bytes | None:
    """The fast path of _moment for a datetime; None if it does not apply."""
    data = common_moment(value, step)
    return None if data is None else _DATETIME_HEAD + data + b"\0"


def _common_time(value: dt.time) -> bytes | None:
    """The same for a time without microseconds."""
    data = None if value.microsecond else common_clock(value, 1_000_000)
    return None if data is None else _TIME_HEAD + data[:4]


def _boolean_binder(sql_type: SqlType) -> Binder:
    head = _head(
        TypeCode.BOOLEAN, _boolean_name(sql_type), 0, _BOOLEAN_PRECISION, _owner_of(sql_type, "boolean")
    )
    true, false = head + b"\0\0\0\1\1\0", head + b"\0\0\0\1\0\0"

    def bind(value: Value) -> bytes:
        return true if truth_value(value) else false

    return bind


def _boolean_name(sql_type: SqlType) -> str:
    return "" if sql_type.code == TypeCode.BOOLEAN and not sql_type.extended_name else "boolean"


def _owner_of(sql_type: SqlType, name: str) -> str:
    """The described owner of the type *name*; empty for a DISTINCT type that is sent as *name*."""
    return sql_type.owner if sql_type.extended_name == name else ""


_NUMBERS: Final[Mapping[int, Binder]] = {
    TypeCode.SMALLINT: _smallint,
    TypeCode.INTEGER: _integer,
    TypeCode.SERIAL: _integer,
    TypeCode.BIGINT: _bigint(TypeCode.BIGINT, "BIGINT"),
    TypeCode.BIGSERIAL: _bigint(TypeCode.BIGSERIAL, "BIGSERIAL"),
    TypeCode.INT8: _int8(TypeCode.INT8),
    TypeCode.SERIAL8: _int8(TypeCode.SERIAL8),
    TypeCode.SMALLFLOAT: _float(TypeCode.SMALLFLOAT, SMALLFLOAT.encode),
    TypeCode.FLOAT: _float(TypeCode.FLOAT, FLOAT.encode),
    TypeCode.DATE: _date,
}

_BY_LENGTH: Final[Mapping[int, Callable[[SqlType], Binder]]] = {
    TypeCode.DECIMAL: _decimal_binder,
    TypeCode.MONEY: _decimal_binder,
    TypeCode.DATETIME: _datetime_binder,
    TypeCode.INTERVAL: _interval,
    TypeCode.BOOLEAN: _boolean_binder,
}

_CHARACTER: Final = (TypeCode.CHAR, TypeCode.NCHAR, TypeCode.VARCHAR, TypeCode.NVARCHAR)
_SHORT_TEXT_TARGETS: Final = frozenset(range(TypeCode.INT8 + 1)) | {TypeCode.SERIAL8, TypeCode.BOOLEAN}
"""Targets for which JDBC sends text as type 0. The others get LVARCHAR's form: observed for
BIGINT, LVARCHAR, ROW, SET and JSON, assumed for BIGSERIAL and other named types."""


def binder_for(sql_type: SqlType | None, code_set: CodeSet, adapt: Adapter = STANDARD) -> Binder:
    """The encoder of one parameter; without a described type it goes by the value alone."""
    bind_adapted, as_is = _binder_for(sql_type, code_set), adapt.as_is

    def bind(value: Value) -> bytes:
        return bind_adapted(value if value.__class__ in as_is else adapt(value))

    return bind


def _binder_for(sql_type: SqlType | None, code_set: CodeSet) -> Binder:
    if sql_type is None:
        return _undescribed(code_set)
    null = _null(sql_type)
    if is_large_object(sql_type):
        return _large_object(null, sql_type)
    kind = sql_type.kind
    by_length = _BY_LENGTH.get(kind)
    other = by_length(sql_type) if by_length else _NUMBERS.get(kind)
    if sql_type.opaque_name == "bson":
        other = _bson_binder(sql_type)
    put_text = _short_text if kind in _SHORT_TEXT_TARGETS else _long_text
    holds_text = is_character(sql_type)
    text = text_encoder(sql_type, code_set)

    def bind(value: Value) -> bytes:
        if value is None:
            return null
        if other is not None and not isinstance(value, str):
            return other(value)
        data = text(value)
        if holds_text and data[:1] == b"\0":
            raise DataError(f"text that begins with NUL does not fit {sql_type}")
        return put_text(data)

    return bind


def _bson_binder(sql_type: SqlType) -> Binder:
    """A document under its type's owner and name.

    Source: observed: JDBC 15, without a recording. Assumed: that servers take it; for a DISTINCT type, the base type,
    as for BLOB.
    """
    head = _head(TypeCode.OPAQUE, "bson", 0, 0, _owner_of(sql_type, "bson"))

    def bind(value: Value) -> bytes:
        if not isinstance(value, bytes):
            raise DataError(f"{sql_type} does not accept {type(value).__name__}")
        return head + sized(value) + b"\0" * (len(value) & 1)

    return bind


def _large_object(null: bytes, sql_type: SqlType) -> Binder:
    """A descriptor, whose value follows SQ_BIND, or a locator.

    Source: observed: JDBC, binds.json, lob.json; it binds CLOB without an owner. Assumed: for a DISTINCT type it binds
    the base type.
    """
    kind: type[Descriptor | Locator] = Descriptor
    if sql_type.code in (TypeCode.BYTE, TypeCode.TEXT):
        head = _SHORTS.pack(sql_type.code, 0, sql_type.length)
    else:
        name = "clob" if is_character_object(sql_type) else "blob"
        owner = _owner_of(sql_type, name) if name == "blob" else ""
        head, kind = _head(TypeCode.OPAQUE, name, 0, LOCATOR, owner) + LOCATOR.to_bytes(4, "big"), Locator

    def bind(value: Value) -> bytes:
        if value is None:
            return null
        if not isinstance(value, kind):
            raise NotSupportedError(f"{sql_type} values are not supported")
        return head + value.data

    return bind


def _null(sql_type: SqlType) -> bytes:
    """NULL for a type, with the code that clients send for it (observed: binds.json, setNull).

    Owner and name are those of the description (observed: owners15.json, for opaque types other than BLOB and CLOB,
    too). Assumed: SERIAL is sent as INTEGER.
    """
    kind = sql_type.kind
    if kind == TypeCode.BOOLEAN:
        return _head(kind, _boolean_name(sql_type), -1, 0, _owner_of(sql_type, "boolean"))
    if kind == TypeCode.LVARCHAR:
        name = "lvarchar" if sql_type.code == TypeCode.UDTVAR else ""
        return _head(kind, name, -1, 0, _owner_of(sql_type, name))
    if kind == TypeCode.SERIAL:
        return _head(TypeCode.INTEGER, "", -1, 0)
    code = TypeCode.OPAQUE if kind in (TypeCode.UDTVAR, TypeCode.UDTFIXED) else kind
    return _head(code, sql_type.extended_name, -1, 0, sql_type.owner)


# --- by Python type -------------------------------------------------------------------------------------------------


def _any_int(value: Value) -> bytes:
    """INTEGER, BIGINT or DECIMAL, the first that holds it."""
    if -(1 << 31) < value < 1 << 31:
        return _integer(value)
    if -(1 << 63) < value < 1 << 63:
        return _NUMBERS[TypeCode.BIGINT](value)
    return _decimal(value)


def _undescribed(code_set: CodeSet) -> Binder:
    """By Python type. A bool is sent as t or f, which servers accept (observed); only JDBC was seen to send type 45."""

    def text(value: Value) -> bytes:
        return _short_text(code_set.encode(value))

    table: dict[type[object], Binder] = {
        type(None): lambda value: NULL,
        bool: lambda value: _short_text(b"t" if value else b"f"),
        int: _any_int,
        float: _NUMBERS[TypeCode.FLOAT],
        Decimal: _decimal,
        str: text,
        dt.datetime: lambda value: _common_datetime(value) or _moment(value),
        dt.date: _date,
        dt.time: lambda value: _common_time(value) or _moment(value),
        dt.timedelta: _interval(_DAY_TO_FRACTION),
        Datetime: _moment,
        IntervalYM: _interval(_YEAR_TO_MONTH),
    }

    def bind(value: Value) -> bytes:
        binder = table.get(value.__class__)
        if binder is not None:
            return binder(value)
        for base in value.__class__.__mro__:
            if base in table:
                return table[base](value)
        number = plain_number(value)
        if number is None:
            raise DataError(f"unsupported type {value.__class__.__name__}")
        return table[type(number)](number)

    return bind
