"""SMALLINT ... DECIMAL, MONEY, SERIAL, FLOAT, BOOLEAN. Never: text, dates.

NULL is a pattern of each type (documented: ESQL/C's risnull; observed: native_values_14_10.json, tuples.json). It is
the most negative integer, the sign 0 of an INT8, all bits set in a float, and all bytes zero in a decimal.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal, DecimalException
from functools import lru_cache
from numbers import Real
from struct import Struct
from typing import Final

from aioifx.codecs.base import ENVELOPE_HEAD, Codec, Decode, Kind
from aioifx.codecs.base100 import BCD, LAST_BCD, NINES_BCD, Number, pack_field, pairs_of, unpack
from aioifx.errors import DataError
from aioifx.sqltypes import FLOATING_SCALE, SqlType, TypeCode, Value

# --- numbers of other classes ---------------------------------------------------------------------------------------


def is_truth(value: Value) -> bool:
    """Whether it is numpy's bool, or another array library's: a scalar whose dtype is of kind "b"."""
    return getattr(getattr(value, "dtype", None), "kind", "") == "b" and getattr(value, "shape", None) == ()


def plain_number(value: Value) -> int | float | None:
    """The bool, int or float that equals a number of another class; None if there is none.

    By the protocols of numbers: ``__index__``, and ``__float__`` of a numbers.Real. numpy's scalars and
    fractions.Fraction have them.
    """
    try:
        return operator.index(value)
    except TypeError:
        pass
    if is_truth(value):
        return bool(value)
    if isinstance(value, Real):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            return None
        if number == value or number != number:
            return number
    return None


# --- integers -------------------------------------------------------------------------------------------------------

_MAX_DIGITS: Final = 40
"""More than any integer type has; a Decimal with more is refused without a conversion."""


def integer_value(value: Value, name: str, limit: int) -> int:
    """*value* as an int that *name* holds: greater than -limit, which is NULL, and less than limit."""
    if value.__class__ is not int:
        value = int(value) if isinstance(value, int) else _whole(value, name)
    if -limit < value < limit:
        number: int = value
        return number
    raise DataError(f"int does not fit {name}")


def _whole(value: Value, name: str) -> int:
    """A number of another class that is whole."""
    kind = type(value).__name__
    number = value if isinstance(value, (float, Decimal)) else plain_number(value)
    if number is None:
        raise DataError(f"{name} does not accept {kind}")
    if isinstance(number, Decimal):
        if number.is_finite() and number == number.to_integral_value():
            if number.adjusted() < _MAX_DIGITS:
                return int(number)
            raise DataError(f"{kind} does not fit {name}")
    elif isinstance(number, int) or number.is_integer():
        return int(number)
    raise DataError(f"{name} accepts {kind} only when it is whole")


def _integer(kind: Kind, name: str, form: str) -> Codec:
    packing = Struct(form)
    limit = 1 << (packing.size * 8 - 1)
    null = packing.pack(-limit)

    def decode(field: bytes) -> int | None:
        return None if field == null else int.from_bytes(field, "big", signed=True)

    def encode(value: Value) -> bytes:
        return null if value is None else packing.pack(integer_value(value, name, limit))

    return Codec(kind, 0, packing.size, decode, encode)


SMALLINT: Final = _integer(Kind.SMALLINT, "SMALLINT", ">h")
INTEGER: Final = _integer(Kind.INTEGER, "INTEGER", ">i")
BIGINT: Final = _integer(Kind.BIGINT, "BIGINT", ">q")

_INT8: Final = Struct(">hII")
_INT8_LIMIT: Final = 1 << 63


def decode_int8(field: bytes) -> int | None:
    """Sign, low half, high half of the magnitude (observed: tuple_payloads.json)."""
    sign, low, high = _INT8.unpack(field)
    magnitude: int = high << 32 | low
    if sign == 1:
        return magnitude
    if sign == -1:
        return -magnitude
    if sign == 0:
        return None
    raise DataError(f"INT8 with the sign {sign}")


def encode_int8(value: Value) -> bytes:
    """The reverse of decode_int8."""
    if value is None:
        return bytes(10)
    number = integer_value(value, "INT8", _INT8_LIMIT)
    magnitude = abs(number)
    return _INT8.pack(-1 if number < 0 else 1, magnitude & 0xFFFFFFFF, magnitude >> 32)


INT8: Final = Codec(Kind.INT8, 0, 10, decode_int8, encode_int8)


# --- floats ---------------------------------------------------------------------------------------------------------


def float_value(value: Value, name: str) -> float:
    """*value* as a float that equals it."""
    if isinstance(value, float):
        return value
    if not isinstance(value, int):
        kind, value = type(value).__name__, plain_number(value)
        if value is None:
            raise DataError(f"{name} does not accept {kind}")
    try:
        number = float(value)
    except OverflowError:
        raise DataError(f"int does not fit {name}") from None
    if isinstance(value, int) and number != value:
        raise DataError(f"int has more digits than {name} holds")
    return number


def _float(kind: Kind, name: str, form: str, quiet: int) -> Codec:
    """*quiet* is the bit that makes a signalling NaN quiet; 0: it stays as it is."""
    packing = Struct(form)
    # Only all ones: any other NaN is a value (documented: risnull). Assumed: a server stores it, or an infinity, or
    # refuses it; no client was seen to send one.
    null = b"\xff" * packing.size

    def decode(field: bytes) -> float | None:
        if field == null:
            return None
        value: float = packing.unpack(field)[0]
        if value != value:
            (value,) = packing.unpack((int.from_bytes(field) | quiet).to_bytes(packing.size))
        return value

    def encode(value: Value) -> bytes:
        if value is None:
            return null
        try:
            field = packing.pack(float_value(value, name))
        except OverflowError:
            raise DataError(f"float does not fit {name}") from None
        if field == null:
            raise DataError(f"this NaN is the NULL of {name}")
        return field

    return Codec(kind, 0, packing.size, decode, encode)


SMALLFLOAT: Final = _float(Kind.SMALLFLOAT, "SMALLFLOAT", ">f", 1 << 22)
"""A signalling NaN is quiet on every CPython; struct leaves it as it is since 3.14."""
FLOAT: Final = _float(Kind.FLOAT, "FLOAT", ">d", 0)


# --- DECIMAL and MONEY ----------------------------------------------------------------------------------------------

_EXACT: Final = Context(prec=400, rounding=ROUND_HALF_UP, Emax=MAX_EMAX, Emin=MIN_EMIN)

_WRITTEN_OUT: Final = 32
"""Whole numbers of DECIMAL(p) are given without an exponent up to this many digits."""


def decimal_value(value: Value, name: str) -> Decimal:
    """*value* as a finite Decimal; a float by its repr."""
    if not isinstance(value, (Decimal, float, int)):
        kind, value = type(value).__name__, plain_number(value)
        if value is None:
            raise DataError(f"{name} does not accept {kind}")
    if isinstance(value, Decimal):
        number = value
    elif isinstance(value, float):
        number = Decimal(repr(float(value)))
    else:
        number = Decimal(value)
    if not number.is_finite():
        raise DataError(f"{name} holds finite numbers only")
    return number


def digits_of(value: Decimal) -> tuple[bool, str, int]:
    """A finite Decimal as sign, digits and exponent; Decimal.as_tuple, but several times faster (measured)."""
    text = str(value)
    if "E" in text:
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)  # finite
        return bool(sign), "".join(map(str, digits)), exponent
    negative = text[0] == "-"
    whole, _, fraction = text[negative:].partition(".")
    return negative, whole + fraction, -len(fraction)


def number_of(negative: bool, digits: str, exponent: int) -> Number:
    """Sign, digits and exponent in base 100; trailing zeros are kept."""
    if exponent & 1:
        digits += "0"
        exponent -= 1
    if len(digits) & 1:
        digits = "0" + digits
    pairs = pairs_of(digits)
    short = pairs.lstrip(b"\0")
    if not short:
        return Number(False, -64, b"\0")
    return Number(negative, (len(digits) + exponent) // 2 - (len(pairs) - len(short)), short)


def decimal_of(number: Number, scale: int) -> Decimal:
    """The reverse of number_of, with *scale* digits after the point; all that there are if the point floats."""
    digits = number.digits.rstrip("0")
    exponent = 2 * number.exponent - len(digits)
    value = Decimal((number.is_negative, tuple(map(int, digits)), exponent)) if digits else Decimal(0)
    if scale != FLOATING_SCALE:
        return value.quantize(Decimal((0, (1,), -scale)), context=_EXACT)
    if 0 < exponent and 2 * number.exponent <= _WRITTEN_OUT:
        return value.quantize(Decimal(1), context=_EXACT)
    return value


def decimal_width(length: int) -> int:
    """Bytes of a DECIMAL or MONEY with this encoded length (observed: tuples.json, for fifteen of them)."""
    return ((length >> 8) + (length & 1) + 3) // 2


def decimal(sql_type: SqlType) -> Codec:
    """The codec of DECIMAL(p,s), DECIMAL(p) and MONEY.

    A value with more digits is rounded half up, as JDBC rounds what it reads (observed: tuples.json). Assumed: a server
    does the same; an INSERT of 1.005 into DECIMAL(10,2) would prove it.
    """
    length, name = sql_type.length, str(sql_type)
    precision, scale, width = length >> 8, length & 0xFF, decimal_width(length)
    quantum = Decimal((0, (1,), -scale))
    significant = Context(prec=max(precision, 1), rounding=ROUND_HALF_UP, Emax=MAX_EMAX, Emin=MIN_EMIN)

    def rounded(value: Value) -> Decimal:
        number = decimal_value(value, name)
        if scale == FLOATING_SCALE:
            return significant.plus(number)
        for _ in range(2):  # rounding may carry: 9.995 does not fit DECIMAL(3,2)
            if number and number.adjusted() >= precision - scale:
                raise DataError(f"{type(value).__name__} does not fit {name}")
            number = number.quantize(quantum, context=_EXACT)
        return number

    def encode(value: Value) -> bytes:
        if value is None:
            return bytes(width)
        negative, digits, exponent = digits_of(decimal_value(value, name))
        if scale == FLOATING_SCALE or -exponent > scale or len(digits) + exponent > precision - scale:
            negative, digits, exponent = digits_of(rounded(value))
        return pack_field(number_of(negative, digits, exponent), width)

    return Codec(Kind.DECIMAL, 0, width, _decimal_decoder(scale, width), encode, length)


@lru_cache(maxsize=128)
def integral(codec: Codec) -> Codec:
    """The codec of a DECIMAL or MONEY of scale 0 whose values come as int."""
    decode_decimal = codec.decode

    def decode(field: bytes) -> int | None:
        value = decode_decimal(field)
        return None if value is None else int(value)

    return replace(codec, kind=Kind.INTEGRAL, decode=decode)


def _decimal_decoder(scale: int, width: int) -> Decode:
    """Decodes common numbers from their digits as text, with an exponent; others by decimal_of."""
    number_from = _EXACT.create_decimal  # the caller's own context may let malformed text pass as NaN
    floating = scale == FLOATING_SCALE
    known = {bytes(width): None, b"\x80".ljust(width, b"\0"): Decimal((0, (0,), 0 if floating else -scale))}
    cuts = {} if floating else _cuts(scale, width)
    points = {head: 2 * pairs for pairs in range(-64, width) for head in (0xC0 + pairs, 0x3F - pairs)}
    exponent = "" if floating else f"E-{scale}"
    # Digits after the point, negative when zeros were left out before it -> what to write after them.
    suffixes = {
        count: f"E-{count}"
        if floating and count > 0
        else "0" * ((0 if floating else scale) - count) + exponent
        for count in range(-2 * width, 2 * (width + 64) if floating else scale + 1)
    }

    def decode(field: bytes) -> Decimal | None:
        head = field[0]
        try:
            if (cut := cuts.get(head)) is not None:
                digits = field.translate(BCD).hex()
                if digits[cut[1]] == cut[2]:
                    return number_from(digits[cut[0]] + exponent)
            elif field in known:
                return known[field]
            elif head in points:
                digits = _digits_of_field(field)
                if digits and (suffix := suffixes.get(len(digits) - points[head])) is not None:
                    return number_from(f"{'' if head & 0x80 else '-'}{digits}{suffix}")
        except DecimalException:
            raise DataError("a byte above 99 is not a pair of digits") from None
        number = unpack(field)
        return None if number is None else decimal_of(number, scale)

    return decode


def _cuts(scale: int, width: int) -> dict[int, tuple[slice, slice, str]]:
    """Head of a positive number -> slice of its digits, slice of the zeros after them, the zeros; the head counts."""
    count = 2 * (width - 1)
    ends = {0xC0 + pairs: 2 * pairs + scale for pairs in range(width) if 0 < 2 * pairs + scale <= count}
    return {
        head: (slice(2, 2 + end), slice(2 + end, None), "0" * (count - end)) for head, end in ends.items()
    }


def _digits_of_field(field: bytes) -> str:
    """The digits of a number of either sign, without trailing zeros."""
    if field[0] & 0x80:
        return field.translate(BCD).hex()[2:].rstrip("0")
    front = field.rstrip(b"\0")
    if len(front) < 2:
        raise DataError("a negative number without digits")
    return (front[1:-1].translate(NINES_BCD).hex() + LAST_BCD[front[-1]]).rstrip("0")


# --- BOOLEAN --------------------------------------------------------------------------------------------------------

_BOOLEANS: Final = {b"t": True, b"f": False, b"T": True, b"F": False, b"\1": True, b"\0": False}
_NULL_ENVELOPE: Final = b"\1\0\0\0\0"


def decode_boolean(field: bytes) -> bool | None:
    """An envelope with one byte: t or f, 01 or 00 when the binary form was asked for (observed: tuples.json)."""
    if field[0]:
        return None
    try:
        return _BOOLEANS[field[ENVELOPE_HEAD:]]
    except KeyError:
        raise DataError("BOOLEAN that is neither true nor false") from None


def truth_value(value: Value) -> bool:
    """*value* as a bool; a number is refused."""
    if isinstance(value, bool) or is_truth(value):
        return bool(value)
    raise DataError(f"BOOLEAN does not accept {type(value).__name__}")


def boolean(sql_type: SqlType) -> Codec:
    """The codec of BOOLEAN: read in both forms, written as its type says."""
    binary = sql_type.code == TypeCode.BOOLEAN
    true, false = (b"\1", b"\0") if binary else (b"t", b"f")

    def encode(value: Value) -> bytes:
        if value is None:
            return _NULL_ENVELOPE
        return b"\0\0\0\0\1" + (true if truth_value(value) else false)

    return Codec(Kind.BOOLEAN, ENVELOPE_HEAD, 0, decode_boolean, encode, binary)
