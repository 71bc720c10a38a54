"""Numbers by type: ranges, and arithmetic by the type of the result. Never: text or time.

Invariants:
1. Operands are stored numbers of any form: int, float, decimal text.
2. ``result`` is the number of the result's type (`storage.type_number`); it alone selects the arithmetic.
3. A NULL operand gives NULL.
"""

from __future__ import annotations

import math
import operator
import re
import struct
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, Decimal
from functools import lru_cache
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import Form, Stored, form_of, numbered_type
from aioifx.server.sql.runtime.decimals import (
    ARITHMETIC,
    EXACT,
    MAX_DIGITS,
    MAX_EXPONENT,
    MIN_EXPONENT,
    decimal_of,
    decimal_text,
    fit_decimal,
    parse_decimal,
    round_decimal,
    truncate_decimal,
)
from aioifx.sqltypes import (
    SERIALS,
    TypeCode,
    Value,
)

Number: TypeAlias = int | float | str
"""A stored number."""


class IntegerRange:
    """The values of an integer type; the lowest two's-complement value is the NULL mark and so not among them."""

    __slots__ = ("highest", "sqlcode")

    def __init__(self, bits: int, sqlcode: int) -> None:
        self.highest = 2 ** (bits - 1) - 1
        self.sqlcode = sqlcode

    def check(self, number: int) -> int:
        """The number; refused if it is too large."""
        if -self.highest <= number <= self.highest:
            return number
        raise SqlError(self.sqlcode)


_SMALLINT: Final = IntegerRange(16, -1214)
_INTEGER: Final = IntegerRange(32, -1215)
_BIGINT: Final = IntegerRange(64, -1284)

RANGES: Final[dict[int, IntegerRange]] = {
    TypeCode.SMALLINT: _SMALLINT,
    TypeCode.INTEGER: _INTEGER,
    TypeCode.INT8: _BIGINT,
    TypeCode.BIGINT: _BIGINT,
}
RANGES.update({code: RANGES[base] for code, base in SERIALS.items()})

FLOATS: Final = frozenset({TypeCode.FLOAT, TypeCode.SMALLFLOAT})

_FLOAT_TOO_LARGE: Final = -1223
_SMALLFLOAT_TOO_LARGE: Final = -1222
_MATHS_DOMAIN: Final = -1226  # assumed: the number for SQRT(-1) and similar was found nowhere


def float_of(number: Number) -> float:
    """A stored number as float; -1213 for invalid text, -1223 out of range."""
    try:
        return checked_float(float(number))
    except OverflowError:
        raise SqlError(_FLOAT_TOO_LARGE) from None
    except ValueError:
        raise SqlError(-1213) from None


def checked_float(number: float) -> float:
    """The number, if it is finite; SQL has neither infinity nor NaN."""
    if math.isfinite(number):
        return number
    raise SqlError(_FLOAT_TOO_LARGE)


def smallfloat(number: float) -> float:
    """Rounded to 32 bits, as SMALLFLOAT stores it."""
    try:
        rounded: float = struct.unpack("=f", struct.pack("=f", number))[0]
    except OverflowError:
        raise SqlError(_SMALLFLOAT_TOO_LARGE) from None
    return rounded


def whole(number: Number) -> int:
    """A stored number as int, cut toward zero.

    assumed: conversions to integers cut and do not round; ``SELECT 2.7::INT`` on a real server would tell.
    """
    if type(number) is int:
        return number
    if isinstance(number, float):
        return int(checked_float(number))
    return int(decimal_of(number))


@lru_cache(maxsize=512)
def decimal_fitter(result: int) -> Callable[[Decimal], Number]:
    """A function that converts a Decimal to the numeric type numbered *result*, checking its range."""
    sql_type = numbered_type(result)
    form = form_of(sql_type)
    if form is Form.INTEGER:
        check = RANGES[sql_type.code].check
        return lambda number: check(int(number))
    if form is Form.DECIMAL:
        precision, scale = sql_type.precision or 0, sql_type.scale
        return lambda number: decimal_text(fit_decimal(number, precision, scale))
    if form is Form.FLOAT:
        rounded = smallfloat if sql_type.code == TypeCode.SMALLFLOAT else checked_float
        return lambda number: rounded(float(number))
    raise SqlError(-1260)


@lru_cache(maxsize=512)
def fitter(result: int) -> Callable[[Number], Number]:
    """A function that converts any stored number to the numeric type numbered *result*, checking its range."""
    sql_type = numbered_type(result)
    form = form_of(sql_type)
    if form is Form.INTEGER:
        check = RANGES[sql_type.code].check
        return lambda number: check(whole(number))
    if form is Form.FLOAT:
        rounded = smallfloat if sql_type.code == TypeCode.SMALLFLOAT else checked_float
        return lambda number: rounded(float_of(number))
    fit = decimal_fitter(result)
    beyond = 10 ** ((sql_type.precision or 0) - (sql_type.scale or 0))

    def fit_any(number: Number) -> Number:
        if type(number) is int and -beyond < number < beyond:
            return str(number)
        return fit(decimal_of(number))

    return fit_any


Binary: TypeAlias = Callable[[Value, Value, int], Stored]
Unary: TypeAlias = Callable[[Value, int], Stored]


def _binary(simple: Callable[[Value, Value], Value], exact: Callable[[Decimal, Decimal], Decimal]) -> Binary:
    """An operator of SQL, from one for int and float and one for Decimal."""

    def compute(left: Value, right: Value, result: int) -> Stored:
        if left is None or right is None:
            return None
        code = result >> 16
        limits = RANGES.get(code)
        if limits is not None and type(left) is int and type(right) is int:
            return limits.check(simple(left, right))
        if code in FLOATS:
            return fitter(result)(simple(float_of(left), float_of(right)))
        return decimal_fitter(result)(exact(decimal_of(left), decimal_of(right)))

    return compute


def _divide(left: Value, right: Value) -> Value:
    if not right:
        raise SqlError(-1202)
    if type(left) is not int:
        return left / right
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _divide_decimals(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise SqlError(-1202)
    return ARITHMETIC.divide(left, right)


def _remainder(left: Value, right: Value) -> Value:
    if not right:
        raise SqlError(-1202)
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def _remainder_decimals(left: Decimal, right: Decimal) -> Decimal:
    divisor = right.to_integral_value(ROUND_DOWN)
    if not divisor:
        raise SqlError(-1202)
    return EXACT.remainder(left.to_integral_value(ROUND_DOWN), divisor)


add: Final = _binary(operator.add, ARITHMETIC.add)
subtract: Final = _binary(operator.sub, ARITHMETIC.subtract)
multiply: Final = _binary(operator.mul, ARITHMETIC.multiply)
divide: Final = _binary(_divide, _divide_decimals)

_OPERATIONS: Final = {"+": add, "-": subtract, "*": multiply, "/": divide}


@lru_cache(maxsize=512)
def _step(code: str) -> tuple[Binary, int]:
    return _OPERATIONS[code[0]], int(code[1:])


def chain(first: Value, *steps: Value) -> Stored:
    """Operations from left to right; a step is an operand, then its operator with the number of the result's type."""
    value: Stored = first
    for operand, code in zip(steps[::2], steps[1::2], strict=True):
        compute, result = _step(str(code))
        value = compute(value, operand, result)
    return value


remainder: Final = _binary(_remainder, _remainder_decimals)


def _unary(exact: Callable[[Decimal], Decimal]) -> Unary:
    """A function of one number, computed in Decimal, which holds each float's shortest digits."""

    def compute(number: Value, result: int) -> Stored:
        return None if number is None else decimal_fitter(result)(exact(decimal_of(number)))

    return compute


negate: Final = _unary(Decimal.copy_negate)
absolute: Final = _unary(Decimal.copy_abs)
ceiling: Final = _unary(lambda number: number.to_integral_value(ROUND_CEILING))
floor: Final = _unary(lambda number: number.to_integral_value(ROUND_FLOOR))


def _at_digit(exact: Callable[[Decimal, int], Decimal]) -> Binary:
    """ROUND and TRUNC: a number, and how many digits after the point are kept."""

    def compute(number: Value, digits: Value, result: int) -> Stored:
        if number is None or digits is None:
            return None
        # No number has digits beyond these limits, and an extreme argument must not use much memory
        places = max(-MAX_EXPONENT - 2, min(whole(digits), MAX_DIGITS - MIN_EXPONENT))
        return decimal_fitter(result)(exact(decimal_of(number), places))

    return compute


round_number: Final = _at_digit(round_decimal)
truncate_number: Final = _at_digit(truncate_decimal)


def maths(function: Callable[..., float]) -> Callable[..., Stored]:
    """A function of floats that returns a FLOAT; outside its domain it is an error."""

    def compute(*numbers: Value) -> Stored:
        if None in numbers:
            return None
        try:
            return checked_float(function(*map(float_of, numbers)))
        except ValueError:
            raise SqlError(_MATHS_DOMAIN) from None
        except OverflowError:
            raise SqlError(_FLOAT_TOO_LARGE) from None

    return compute


def root(number: float, degree: float = 2.0) -> float:
    """ROOT(x, n): the n-th root; of a negative number only when n is odd."""
    if not degree:
        raise ValueError("the root of degree 0")
    if number < 0 and degree % 2 == 1:
        return -math.pow(-number, 1 / degree)
    return math.pow(number, 1 / degree)


def bits(function: Callable[..., int]) -> Callable[..., Stored]:
    """A function of the bits of BIGINTs."""

    def compute(*numbers: Value) -> Stored:
        return None if None in numbers else _BIGINT.check(function(*map(whole, numbers)))

    return compute


_CURRENCY: Final = re.compile(r" *([+-]?) *\$?(.*)", re.DOTALL)


def to_number(text: Value) -> Stored:
    """TO_NUMBER: parse a text, ignoring a currency symbol before it."""
    if text is None:
        return None
    match = _CURRENCY.fullmatch(text)
    assert match is not None
    return decimal_text(fit_decimal(parse_decimal(match[1] + match[2]), MAX_DIGITS, None))


def hexadecimal(number: Value) -> Stored:
    """HEX(n): ``0x`` and the digits of 32 bits, or of 64 if needed."""
    if number is None:
        return None
    value = _BIGINT.check(whole(number))
    size = 8 if -_INTEGER.highest - 1 <= value <= _INTEGER.highest else 16
    return f"0x{value % (1 << size * 4):0{size}X}"
