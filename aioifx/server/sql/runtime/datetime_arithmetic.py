"""Arithmetic of DATE and DATETIME: now, plus and minus, differences, TO_CHAR, TO_DATE. Never: month ends.

Invariant: stored values are passed with the numbers of their types, as in `date_parts`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import NUMBER_FORMS, Form, Stored, form_of, numbered_type
from aioifx.server.sql.runtime import date_parts, dates, datetime_formats, datetimes
from aioifx.server.sql.runtime.datetimes import full_form, qualifier_of, span
from aioifx.server.sql.runtime.decimals import decimal_of
from aioifx.server.sql.runtime.intervals import interval_qualifier
from aioifx.server.sql.runtime.numerics import whole
from aioifx.sqltypes import TypeCode, Value


def today(settings: Settings) -> Stored:
    """TODAY."""
    return dates.days_of(settings.today)


def current(settings: Settings, number: int) -> Stored:
    """CURRENT and SYSDATE, as a DATETIME of the type numbered *number*."""
    return full_form(settings.now)[span(qualifier_of(numbered_type(number)))]


DateShift: TypeAlias = Callable[[Value, Value], Stored]


def _date_shift(sign: int) -> DateShift:
    def shift(day: Value, count: Value) -> Stored:
        return None if day is None or count is None else dates.checked_days(day + sign * whole(count))

    return shift


add_days: Final = _date_shift(1)
subtract_days: Final = _date_shift(-1)

Shift: TypeAlias = Callable[[Settings, Value, int, Value, int], Stored]


def _shift(sign: int) -> Shift:
    def shift(settings: Settings, moment: Value, moment_type: int, amount: Value, amount_type: int) -> Stored:
        if moment is None or amount is None:
            return None
        qualifier = qualifier_of(numbered_type(moment_type))
        distance = interval_qualifier(numbered_type(amount_type))
        datetimes.check_fields(qualifier, distance)
        move = datetimes.add_month_count if distance.is_year_month else datetimes.add_ticks
        return move(_datetime_text(moment, moment_type), qualifier, sign * amount, settings)

    return shift


add_interval: Final = _shift(1)
subtract_interval: Final = _shift(-1)


def _datetime_text(value: Value, number: int) -> str:
    """A stored DATE or DATETIME as a stored DATETIME."""
    text: str = datetimes.datetime_of_days(value) if number >> 16 == TypeCode.DATE else value
    return text


def difference(settings: Settings, left: Value, left_type: int, right: Value, right_type: int) -> Stored:
    """The INTERVAL from *right* to *left*, each a DATE or DATETIME."""
    if left is None or right is None:
        return None
    first, second = qualifier_of(numbered_type(left_type)), qualifier_of(numbered_type(right_type))
    one, other = _datetime_text(left, left_type), _datetime_text(right, right_type)
    return datetimes.subtract(one, first, other, second, settings)


def to_char(settings: Settings, value: Value, number: int, pattern: str | None) -> Stored:
    """TO_CHAR(x, format): of a number by a mask, of a DATE or DATETIME by directives."""
    if value is None or pattern is None:
        return None
    if form_of(numbered_type(number)) in NUMBER_FORMS:
        return datetime_formats.format_number(decimal_of(value), pattern)
    return datetime_formats.format_moment(date_parts.moment_of(value, number, settings), pattern)


def to_date(settings: Settings, text: str | None, pattern: str | None, number: int) -> Stored:
    """TO_DATE(text, format), as a DATE or DATETIME of the type numbered *number*."""
    if text is None or pattern is None:
        return None
    moment = datetime_formats.parse_moment(text, pattern, settings.now)
    target = numbered_type(number)
    if form_of(target) is Form.DATE:
        return dates.days_of(moment.date())
    return full_form(moment)[span(qualifier_of(target))]
