"""DECIMAL as text: canonical form, 32 digits, rounding half away from zero, fitting to a type. Never: other types.

The range is that of the wire's base-100 form (observed, values of 14.10): 1e-130 to below 1e126.
"""

from __future__ import annotations

import re
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from functools import lru_cache
from typing import Final

from aioifx.server.sql.errors import SqlError

MAX_DIGITS: Final = 32
MAX_EXPONENT: Final = 125
MIN_EXPONENT: Final = -130

ARITHMETIC: Final = Context(
    prec=MAX_DIGITS, rounding=ROUND_HALF_UP, traps=[InvalidOperation, DivisionByZero, Overflow]
)
"""The context of every SQL operation."""

EXACT: Final = Context(prec=600, rounding=ROUND_HALF_UP, traps=[InvalidOperation, DivisionByZero, Overflow])
"""Wide enough for sums and products of any two values without a loss."""

_NUMBER: Final = re.compile(r" *([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?) *", re.ASCII)


def decimal_text(number: Decimal) -> str:
    """The canonical text: fixed notation, no redundant zeros, no negative zero; equal values have equal text."""
    if not number:
        return "0"
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def scaled_text(number: Decimal, scale: int | None) -> str:
    """The text form in SQL: with all digits of a fixed scale, or without redundant ones."""
    return decimal_text(number) if scale is None else f"{number:.{scale}f}"


def parse_decimal(text: str) -> Decimal:
    """Parse a number, with optional blanks around it; -1213 if invalid."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise SqlError(-1213)
    return Decimal(match[1])


def decimal_of(stored: int | float | str) -> Decimal:
    """A stored number of any form as Decimal; a float by its shortest digits."""
    if isinstance(stored, str):
        try:
            number = Decimal(stored)
        except InvalidOperation:
            raise SqlError(-1213) from None
        if number.is_finite():
            return number
        raise SqlError(-1213)
    return Decimal(stored) if isinstance(stored, int) else Decimal(repr(stored))


@lru_cache(maxsize=64)
def _rounding(digits: int) -> Context:
    return Context(prec=digits, rounding=ROUND_HALF_UP, traps=[InvalidOperation])


def fit_decimal(number: Decimal, precision: int, scale: int | None) -> Decimal:
    """Rounded to DECIMAL(precision, scale), or to the digits of a floating DECIMAL(precision).

    Raises:
        SqlError: -1226, too many digits before the point, or too large an exponent.
    """
    if scale is None:
        fitted = _rounding(precision).plus(number)
        if not fitted or fitted.adjusted() < MIN_EXPONENT:
            return Decimal(0)
        if fitted.adjusted() > MAX_EXPONENT:
            raise SqlError(-1226)
        return fitted
    if number and number.adjusted() >= MAX_DIGITS:
        raise SqlError(-1226)
    fitted = round_decimal(number, scale)
    if fitted and fitted.adjusted() >= precision - scale:
        raise SqlError(-1226)
    return fitted


def round_decimal(number: Decimal, digits: int) -> Decimal:
    """Rounded half away from zero to *digits* after the point; negative *digits* are before it."""
    return number.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, EXACT)


def truncate_decimal(number: Decimal, digits: int = 0) -> Decimal:
    """Truncated to *digits* after the point; negative *digits* are before it."""
    return number.quantize(Decimal(1).scaleb(-digits), ROUND_DOWN, EXACT)


def compare_decimals(left: str, right: str) -> int:
    """The collation ``ifx_decimal``. It cannot fail, so texts that are not numbers are compared by characters."""
    if left == right:
        return 0
    try:
        return -1 if Decimal(left) < Decimal(right) else 1
    except InvalidOperation:
        return -1 if left < right else 1
