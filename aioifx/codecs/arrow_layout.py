"""Python values -> the buffers of Arrow's columnar layout. Never: pyarrow, frames, who reads them.

Invariants:
1. A value is stored as its codec has decoded it. A value that Arrow's type cannot hold raises DataError.
2. A NULL stores zeros, so equal columns are equal bytes, native or not.
3. Numbers are in the machine's byte order; validity and booleans are bitmaps, least significant bit first.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal
from enum import IntEnum
from struct import Struct, pack
from struct import error as StructError
from typing import Any, Final

from aioifx.codecs.base import Codec, Floating, Kind
from aioifx.codecs.conversions import PLAIN, Conversions
from aioifx.codecs.large_objects import is_character_object, is_large_object
from aioifx.codecs.numbers import digits_of
from aioifx.codecs.registry import codecs_for
from aioifx.codecs.temporal import PER_UNIT, highest_pair, pair_count, qualifier_of
from aioifx.codecs.text import CodeSet
from aioifx.codecs.time_zones import arrow_zone
from aioifx.errors import DataError
from aioifx.sqltypes import Column, Qualifier, SqlType, TypeCode, Unit, Value

MAX_DIGITS: Final = 38
"""The digits of a decimal128."""


class Layout(IntEnum):
    """How the values of a column are stored. `_speedups/column_decoder.pyx` has the same numbers."""

    INT16 = 1
    INT32 = 2
    INT64 = 3
    FLOAT32 = 4
    FLOAT64 = 5
    DECIMAL = 6
    """In 16 bytes, with *precision* and *scale*."""
    DATE = 7
    """Days since 1970, in 4 bytes."""
    TIMESTAMP = 8
    """Time since 1970 in 8 bytes, with *scale* digits of a second."""
    CLOCK = 9
    """Time since midnight in 4 bytes, or in 8 if it has 6 digits of a second."""
    DURATION = 10
    """In 8 bytes, with *scale* digits of a second."""
    BOOL = 11
    """A bitmap."""
    UTF8 = 12
    """Offsets in 4 bytes, one more than rows, and the text."""
    BINARY = 13
    """The same for bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One column: its layout, and how its values are stored."""

    column: Column
    """Its type is that of the codec, which may differ from the described one: see `fields_for`."""
    layout: Layout
    codec: Codec
    store: Callable[[Value], bytes]
    """A value other than NULL -> its bytes. Raises DataError for a value that the layout cannot hold."""
    precision: int = 0
    scale: int = 0
    letter: str = ""
    """The format of struct for many values at once."""
    number: Callable[[Value], int] | None = None
    """The number that struct packs for a value; None: the value itself."""

    def stored(self, field: bytes) -> bytes | None:
        """The bytes to store for a field of a row; None for NULL."""
        value = self.codec.decode(field)
        return None if value is None else self.store(value)

    @property
    def zone(self) -> dt.tzinfo | None:
        """Of the timestamps, which then count from 1970 in UTC."""
        return self.codec.zone if self.layout == Layout.TIMESTAMP else None

    @property
    def width(self) -> int:
        """Bytes of a value, or of an offset; 0 for a bitmap."""
        if self.layout == Layout.CLOCK:
            return 8 if self.scale == 6 else 4
        return _WIDTHS[self.layout]

    @property
    def format(self) -> str:
        """The type, as Arrow's C data interface spells it."""
        unit = _UNITS.get(self.scale, "")
        zone = "" if self.zone is None else arrow_zone(self.zone)
        return _FORMATS[self.layout].format(unit=unit, zone=zone, precision=self.precision, scale=self.scale)

    @property
    def native(self) -> tuple[Any, ...]:
        """The field for `_speedups/column_decoder.pyx`. The last item decodes fields that are unknown there."""
        codec, exponent, pairs = self.codec, 0, 0
        weights: tuple[int, ...] = ()
        if codec.kind in (Kind.DATETIME, Kind.INTERVAL):
            qualifier = qualifier_of(self.column.type)
            exponent, pairs = highest_pair(qualifier), pair_count(qualifier)
            if codec.kind == Kind.INTERVAL:
                weights = _pair_weights(qualifier)
                if sum(weights) * 99 >> (8 * self.width - 1):
                    weights = ()
        # What is stored of another zone is not the stored time.
        kind = codec.kind if self.zone in (None, dt.UTC) else Kind.OTHER
        return (
            int(kind),
            int(self.layout),
            codec.head,
            codec.width,
            bool(codec.detail) and codec.kind == Kind.CHAR,
            self.width,
            self.precision,
            self.scale,
            exponent,
            pairs,
            weights,
            self.stored,
        )


_WIDTHS: Final = {
    Layout.INT16: 2,
    Layout.INT32: 4,
    Layout.INT64: 8,
    Layout.FLOAT32: 4,
    Layout.FLOAT64: 8,
    Layout.DECIMAL: 16,
    Layout.DATE: 4,
    Layout.TIMESTAMP: 8,
    Layout.DURATION: 8,
    Layout.BOOL: 0,
    Layout.UTF8: 4,
    Layout.BINARY: 4,
}

_FORMATS: Final = {
    Layout.INT16: "s",
    Layout.INT32: "i",
    Layout.INT64: "l",
    Layout.FLOAT32: "f",
    Layout.FLOAT64: "g",
    Layout.DECIMAL: "d:{precision},{scale}",
    Layout.DATE: "tdD",
    Layout.TIMESTAMP: "ts{unit}:{zone}",
    Layout.CLOCK: "tt{unit}",
    Layout.DURATION: "tD{unit}",
    Layout.BOOL: "b",
    Layout.UTF8: "u",
    Layout.BINARY: "z",
}
"""Types as the C data interface spells them (documented: the Arrow C data interface)."""

_UNITS: Final = {0: "s", 3: "m", 6: "u"}
"""Letters of seconds, milliseconds and microseconds, by digits of a second."""

_LETTERS: Final = {
    Layout.INT16: "h",
    Layout.INT32: "i",
    Layout.INT64: "q",
    Layout.FLOAT32: "f",
    Layout.FLOAT64: "d",
}
"""Layouts that struct packs; most values are packed unchanged."""

_EXACT: Final = Context(prec=400, rounding=ROUND_HALF_UP, Emax=MAX_EMAX, Emin=MIN_EMIN)
_EPOCH: Final = dt.datetime(1970, 1, 1)
_EPOCH_DAY: Final = _EPOCH.toordinal()


# --- storing one value ----------------------------------------------------------------------------------------------


def _number(letter: str, what: str) -> Callable[[Value], bytes]:
    packing = Struct(f"={letter}").pack

    def store(value: Value) -> bytes:
        try:
            return packing(value)
        except StructError:
            raise DataError(f"{value} does not fit {what}") from None

    return store


_long = _number("q", "int64")


def _decimal(precision: int, scale: int) -> Callable[[Value], bytes]:
    limit = 10**precision
    quantum = Decimal((0, (1,), -scale))

    def store(value: Decimal) -> bytes:
        negative, digits, exponent = digits_of(value)
        if exponent < -scale:  # of DECIMAL(p) alone: a scale of its own has rounded it already
            negative, digits, exponent = digits_of(value.quantize(quantum, context=_EXACT))
        number: int = int(digits) * 10 ** (exponent + scale)
        if number >= limit:
            raise DataError(f"{value} does not fit decimal128({precision}, {scale})")
        return (-number if negative else number).to_bytes(16, sys.byteorder, signed=True)

    return store


def _double(value: Decimal) -> bytes:
    return pack("=d", float(value))


def _text(value: Value) -> bytes:
    try:
        return str(value).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"the character at offset {error.start} is not in UTF-8") from None


def _days(value: dt.date) -> int:
    return value.toordinal() - _EPOCH_DAY


def _since_epoch(scale: int, zone: dt.tzinfo | None) -> Callable[[Value], int]:
    step = dt.timedelta(microseconds=10 ** (6 - scale))
    epoch = _EPOCH if zone is None else _EPOCH.replace(tzinfo=dt.UTC)

    def number(value: dt.datetime) -> int:
        count: int = (value - epoch) // step
        return count

    return number


def _since_midnight(scale: int) -> Callable[[Value], int]:
    step = 10 ** (6 - scale)

    def number(value: dt.time) -> int:
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        count: int = (seconds * 1_000_000 + value.microsecond) // step
        return count

    return number


def _duration(scale: int) -> Callable[[Value], bytes]:
    step = 10 ** (6 - scale)

    def store(value: dt.timedelta) -> bytes:
        amount = (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
        return _long(amount // step if amount >= 0 else -(-amount // step))

    return store


def _months(value: Value) -> bytes:
    return _int(value.total_months)


_int = _number("i", "int32")


def _literal(value: Value) -> bytes:
    """The text in the parentheses of a literal: 2026-11 of DATETIME(2026-11) YEAR TO MONTH."""
    return str(value).partition("(")[2].partition(")")[0].encode()


def _pair_weights(qualifier: Qualifier) -> tuple[int, ...]:
    """The amount that a unit of each pair of an INTERVAL stands for."""
    weights: list[int] = []
    for unit in qualifier.units:
        if unit == Unit.FRACTION:
            weights += (10_000, 100, 1)[: (qualifier.scale + 1) // 2]
        elif weights:
            weights.append(PER_UNIT[unit])
        else:
            weights += [
                PER_UNIT[unit] * 100**place for place in reversed(range((qualifier.leading + 1) // 2))
            ]
    return tuple(weights)


def _boolean(value: bool) -> bytes:
    return b"\1" if value else b"\0"


# --- from types to fields -------------------------------------------------------------------------------------------

_BY_KIND: Final[dict[Kind, tuple[Layout, Callable[[Value], bytes]]]] = {
    Kind.SMALLINT: (Layout.INT16, _number("h", "int16")),
    Kind.INTEGER: (Layout.INT32, _int),
    Kind.BIGINT: (Layout.INT64, _long),
    Kind.INT8: (Layout.INT64, _long),
    Kind.SMALLFLOAT: (Layout.FLOAT32, _number("f", "float32")),
    Kind.FLOAT: (Layout.FLOAT64, _number("d", "float64")),
    Kind.BOOLEAN: (Layout.BOOL, _boolean),
}


def fields_for(
    columns: Sequence[Column],
    code_set: CodeSet,
    *,
    strip_char: bool = False,
    padded_varchar: bool = False,
    floating: Floating = "float",
    conversions: Conversions = PLAIN,
) -> tuple[Field, ...]:
    """The columns of a result in Arrow's layout.

    Opaque types other than JSON are bytes, since a column of Arrow cannot be text in one row and bytes in another. The
    fields of large objects store whole values; a row holds none of them.

    Args:
        conversions: those of a time zone alone.

    Raises:
        NotSupportedError: a column's type has no codec; names both.
    """
    plain = [replace(column, type=_plain(column.type)) for column in columns]
    codecs = codecs_for(
        plain, code_set, strip_char=strip_char, padded_varchar=padded_varchar, conversions=conversions
    )
    return tuple(_field(column, codec, floating) for column, codec in zip(plain, codecs, strict=True))


def _plain(sql_type: SqlType) -> SqlType:
    """The type itself; for an opaque type that of BSON, whose codec decodes to bytes."""
    opaque = sql_type.kind in (TypeCode.UDTVAR, TypeCode.UDTFIXED, TypeCode.OPAQUE)
    if not opaque or sql_type.extended_name.lower() == "json" or is_large_object(sql_type):
        return sql_type
    return replace(sql_type, extended_name="bson")


def _field(column: Column, codec: Codec, floating: Floating) -> Field:
    sql_type = column.type
    if is_large_object(sql_type):
        is_text = is_character_object(sql_type)
        return Field(column, Layout.UTF8 if is_text else Layout.BINARY, codec, _text if is_text else bytes)
    if codec.kind in _BY_KIND:
        layout, store = _BY_KIND[codec.kind]
        return Field(column, layout, codec, store, letter=_LETTERS.get(layout, ""))
    if codec.kind == Kind.DATE:
        return _counted_field(column, Layout.DATE, codec, _days)
    if codec.kind == Kind.DECIMAL:
        return _decimal_field(column, codec, floating)
    if codec.kind == Kind.DATETIME:
        return _moment_field(column, codec, qualifier_of(sql_type))
    if codec.kind == Kind.INTERVAL:
        return _span_field(column, codec, qualifier_of(sql_type))
    if sql_type.kind in (TypeCode.UDTVAR, TypeCode.UDTFIXED, TypeCode.OPAQUE) and codec.kind == Kind.OTHER:
        return Field(column, Layout.BINARY, codec, bytes)
    return Field(column, Layout.UTF8, codec, _text)


def _decimal_field(column: Column, codec: Codec, floating: Floating) -> Field:
    precision, scale = column.type.precision or 0, column.type.scale
    if scale is None:
        if floating == "float":
            return Field(column, Layout.FLOAT64, codec, _double)
        if floating == "text":
            return Field(column, Layout.UTF8, codec, _text)
        precision, scale = MAX_DIGITS, floating
    precision = min(max(precision, scale, 1), MAX_DIGITS)
    return Field(column, Layout.DECIMAL, codec, _decimal(precision, scale), precision, scale)


def _counted_field(
    column: Column, layout: Layout, codec: Codec, number: Callable[[Value], int], scale: int = 0
) -> Field:
    """A field whose values are counts that always fit."""
    letter = "q" if layout == Layout.TIMESTAMP or scale == 6 else "i"

    def store(value: Value) -> bytes:
        return pack(f"={letter}", number(value))

    return Field(column, layout, codec, store, scale=scale, letter=letter, number=number)


def _span_field(column: Column, codec: Codec, qualifier: Qualifier) -> Field:
    if qualifier.is_year_month:
        return Field(column, Layout.INT32, codec, _months)
    scale = _second_digits(qualifier)
    return Field(column, Layout.DURATION, codec, _duration(scale), scale=scale)


def _second_digits(qualifier: Qualifier) -> int:
    """Digits of a second in the coarsest unit of Arrow that loses none: seconds, milliseconds, microseconds."""
    return (qualifier.scale + 2) // 3 * 3


def _moment_field(column: Column, codec: Codec, qualifier: Qualifier) -> Field:
    scale = _second_digits(qualifier)
    standard = qualifier.datetime_class
    if standard is dt.date:
        return _counted_field(column, Layout.DATE, codec, _days)
    if standard is dt.datetime:
        return _counted_field(column, Layout.TIMESTAMP, codec, _since_epoch(scale, codec.zone), scale)
    if standard is dt.time:
        return _counted_field(column, Layout.CLOCK, codec, _since_midnight(scale), scale)
    return Field(column, Layout.UTF8, codec, _literal)
