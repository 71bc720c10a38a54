"""INTERVAL as months or ticks of 10 microseconds: parsing, formatting, fitting qualifiers. Never: points in time."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal
from functools import lru_cache
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import numbered_type
from aioifx.server.sql.runtime.decimals import EXACT, decimal_of
from aioifx.sqltypes import FIELD_MARKS, Qualifier, SqlType, TypeCode, Unit

_SIZE: Final = {
    Unit.YEAR: 12,
    Unit.MONTH: 1,
    Unit.DAY: 8_640_000_000,
    Unit.HOUR: 360_000_000,
    Unit.MINUTE: 6_000_000,
    Unit.SECOND: 100_000,
    Unit.FRACTION: 1,
}
"""Months, or ticks, in one of a unit."""

_HIGHEST: Final = {Unit.MONTH: 11, Unit.HOUR: 23, Unit.MINUTE: 59, Unit.SECOND: 59}


@lru_cache(maxsize=512)
def interval_qualifier(sql_type: SqlType) -> Qualifier:
    """The fields of an INTERVAL; -1266 for other types."""
    if sql_type.code != TypeCode.INTERVAL:
        raise SqlError(-1266)
    return Qualifier.from_encoded(sql_type.length)


@lru_cache(maxsize=512)
def _limits(qualifier: Qualifier) -> tuple[int, int]:
    """The smallest unit of a qualifier, and the first value that is too large for its leading field."""
    step = 10 ** (5 - qualifier.scale) if qualifier.last == Unit.FRACTION else _SIZE[qualifier.last]
    if qualifier.first == Unit.FRACTION:
        return step, _SIZE[Unit.SECOND]
    return step, 10**qualifier.leading * _SIZE[qualifier.first]


def fit_interval(amount: int, qualifier: Qualifier) -> int:
    """Months or ticks truncated to the last unit; -1265 if the leading field has too few digits."""
    _, limit = _limits(qualifier)
    if abs(amount) >= limit:
        raise SqlError(-1265)
    return _without_smaller(amount, qualifier)


def _without_smaller(amount: int, qualifier: Qualifier) -> int:
    """Months or ticks without what is smaller than the last unit."""
    step, _ = _limits(qualifier)
    size = abs(amount)
    return amount if step == 1 else (size - size % step) * (-1 if amount < 0 else 1)


def format_interval(amount: int, qualifier: Qualifier) -> str:
    """The text form in SQL: ``-5-03``, ``3 05:30``, ``.123``; one sign for the whole.

    assumed: the text has no blanks before the leading field.
    """
    sign, rest = ("-" if amount < 0 else ""), abs(amount)
    text = ""
    for unit in qualifier.units:
        if unit == Unit.FRACTION:
            text += "." + f"{rest:05d}"[: qualifier.scale]
        else:
            count, rest = divmod(rest, _SIZE[unit])
            text += f"{FIELD_MARKS[unit]}{count:02d}" if text else str(count)
    return sign + text


def parse_interval(text: str, qualifier: Qualifier) -> int:
    """Months or ticks of a text such as ``-5-3`` or ``3 04:05:06.5``; FRACTION digits beyond the scale are truncated.

    Raises:
        SqlError: -1261 too many digits in the first field, -1262 a character that is not a digit. Or -1263 a field
            missing or out of range, -1264 text after the last field.
    """
    text = text.strip(" ")
    negative = text.startswith("-")
    pos = 1 if text.startswith(("-", "+")) else 0
    amount = 0
    for unit in qualifier.units:
        leading = unit == qualifier.first
        if not leading or unit == Unit.FRACTION:
            if text.startswith(FIELD_MARKS[unit], pos):
                pos += 1
            elif not leading:
                raise SqlError(-1263 if pos >= len(text) else -1262)
        end = pos
        while end < len(text) and text[end] in "0123456789":
            end += 1
        if end == pos:
            raise SqlError(-1262 if end < len(text) else -1263)
        amount += _field(text[pos:end], unit, qualifier)
        pos = end
    if pos < len(text):
        raise SqlError(-1264)
    return -amount if negative else amount


def _field(digits: str, unit: Unit, qualifier: Qualifier) -> int:
    if unit == Unit.FRACTION:
        return int(f"{digits[: qualifier.scale]:0<5}")
    if unit == qualifier.first:
        if len(digits.lstrip("0")) > qualifier.leading:
            raise SqlError(-1261)
    elif len(digits) > 2 or int(digits) > _HIGHEST[unit]:
        raise SqlError(-1263)
    return int(digits) * _SIZE[unit]


def units(number: int | float | str | None, result: int) -> int | None:
    """``n UNITS u``: *result* is an INTERVAL type whose first unit is u; a fraction of n is cut (documented)."""
    if number is None:
        return None
    qualifier = interval_qualifier(numbered_type(result))
    return fit_interval(int(decimal_of(number)) * _SIZE[qualifier.first], qualifier)


def _sum(change: Callable[[int, int], int]) -> Callable[[int | None, int | None, int], int | None]:
    def compute(left: int | None, right: int | None, result: int) -> int | None:
        if left is None or right is None:
            return None
        qualifier = interval_qualifier(numbered_type(result))
        # Smaller fields of the second operand are ignored (documented).
        return fit_interval(change(left, _without_smaller(right, qualifier)), qualifier)

    return compute


add_intervals: Final = _sum(int.__add__)
subtract_intervals: Final = _sum(int.__sub__)


def multiply_interval(amount: int | None, factor: int | float | str | None, result: int) -> int | None:
    """INTERVAL * number, cut to the last unit; the result has the operand's precision (documented)."""
    if amount is None or factor is None:
        return None
    product = EXACT.multiply(Decimal(amount), decimal_of(factor))
    return _cut(product, result)


def divide_interval(amount: int | None, divisor: int | float | str | None, result: int) -> int | None:
    """INTERVAL / number, cut to the last unit; -1202 for zero."""
    if amount is None or divisor is None:
        return None
    number = decimal_of(divisor)
    if not number:
        raise SqlError(-1202)
    return _cut(EXACT.divide(Decimal(amount), number), result)


def _cut(amount: Decimal, result: int) -> int:
    if amount and amount.adjusted() > 30:  # far beyond any leading field, and int() of it would be huge
        raise SqlError(-1265)
    return fit_interval(int(amount.to_integral_value(ROUND_DOWN)), interval_qualifier(numbered_type(result)))


def negate_interval(amount: int | None) -> int | None:
    """- INTERVAL."""
    return None if amount is None else -amount
