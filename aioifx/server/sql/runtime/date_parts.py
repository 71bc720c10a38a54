"""Functions of a DATE or DATETIME: now, parts, sums, differences, rounding, text. Never: INTERVAL alone.

Invariant: a DATE or DATETIME is passed as its stored form and the number of its type. A result that is a DATE or
DATETIME has the same type.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import NUMBER_FORMS, Form, Stored, form_of, numbered_type
from aioifx.server.sql.runtime import dates, datetime_formats, datetimes
from aioifx.server.sql.runtime.datetimes import full_form, qualifier_of, span
from aioifx.server.sql.runtime.decimals import ARITHMETIC, decimal_of, decimal_text
from aioifx.server.sql.runtime.intervals import interval_qualifier
from aioifx.server.sql.runtime.numerics import whole
from aioifx.sqltypes import Qualifier, TypeCode, Unit, Value

_OUT_OF_RANGE: Final = -1267
_BAD_NAME: Final = -1277  # assumed: the code for an invalid weekday or date part


def moment_of(value: Value, number: int, settings: Settings) -> datetime:
    """The point in time of a stored DATE or DATETIME, extended as by EXTEND."""
    if number >> 16 == TypeCode.DATE:
        return datetime.combine(dates.date_of(value), datetime.min.time())
    return datetime.fromisoformat(datetimes.extended(value, qualifier_of(numbered_type(number)), settings))


def _stored(moment: datetime, number: int) -> Stored:
    if number >> 16 == TypeCode.DATE:
        return dates.days_of(moment.date())
    return full_form(moment)[span(qualifier_of(numbered_type(number)))]


def _needs(number: int, first: Unit, last: Unit) -> Qualifier:
    """The qualifier of a type; -1266 if fields are missing."""
    qualifier = qualifier_of(numbered_type(number))
    if qualifier.first > first or qualifier.last < last:
        raise SqlError(-1266)
    return qualifier


Part: TypeAlias = Callable[[Settings, Value, int], Stored]


def _part(unit: Unit) -> Part:
    """YEAR(x), MONTH(x), DAY(x)."""

    def extract(settings: Settings, value: Value, number: int) -> Stored:
        if value is None:
            return None
        qualifier = _needs(number, unit, unit)
        text: str = datetimes.datetime_of_days(value) if number >> 16 == TypeCode.DATE else value
        begin = span(Qualifier(unit, unit, 2)).start - span(qualifier).start
        return int(text[begin : begin + (4 if unit == Unit.YEAR else 2)])

    return extract


year: Final = _part(Unit.YEAR)
month: Final = _part(Unit.MONTH)
day: Final = _part(Unit.DAY)


def weekday(settings: Settings, value: Value, number: int) -> Stored:
    """WEEKDAY: 0 is Sunday."""
    if value is None:
        return None
    _needs(number, Unit.YEAR, Unit.DAY)
    return moment_of(value, number, settings).isoweekday() % 7


def quarter(settings: Settings, value: Value, number: int) -> Stored:
    """QUARTER: 1 to 4."""
    months = month(settings, value, number)
    return None if months is None else (int(months) + 2) // 3


def mdy(month_number: Value, day_number: Value, year_number: Value) -> Stored:
    """MDY(m, d, y): the DATE of three numbers."""
    if month_number is None or day_number is None or year_number is None:
        return None
    return dates.days_of(dates.date_from_parts(whole(year_number), whole(month_number), whole(day_number)))


def _moved(value: Value, number: int, settings: Settings, change: Callable[[date], date | None]) -> Stored:
    """A DATE or DATETIME on another day, its time kept."""
    _needs(number, Unit.YEAR, Unit.DAY)
    moment = moment_of(value, number, settings)
    target = change(moment.date())
    if target is None:
        raise SqlError(_OUT_OF_RANGE)
    return _stored(datetime.combine(target, moment.time()), number)


def add_months(settings: Settings, value: Value, number: int, months: Value) -> Stored:
    """ADD_MONTHS: the last day of a month stays a last day."""
    if value is None or months is None:
        return None
    count = max(-200_000, min(whole(months), 200_000))
    return _moved(value, number, settings, lambda each: dates.add_months_clipped(each, count))


def last_day(settings: Settings, value: Value, number: int) -> Stored:
    """LAST_DAY of the month."""
    return None if value is None else _moved(value, number, settings, dates.month_end)


_WEEKDAYS: Final = {
    name: index for index, name in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"))
}


def next_day(settings: Settings, value: Value, number: int, name: str | None) -> Stored:
    """NEXT_DAY: the next later day of that name."""
    if value is None or name is None:
        return None
    wanted = _WEEKDAYS.get(name.strip(" ").upper()[:3])
    if wanted is None:
        raise SqlError(_BAD_NAME)

    def change(each: date) -> date | None:
        ahead = timedelta((wanted - each.isoweekday() - 1) % 7 + 1)
        return each + ahead if date.max - each >= ahead else None

    return _moved(value, number, settings, change)


def months_between(settings: Settings, left: Value, left_type: int, right: Value, right_type: int) -> Stored:
    """MONTHS_BETWEEN: whole for equal days and for two last days, else with a fraction of months of 31 days."""
    if left is None or right is None:
        return None
    first, second = moment_of(left, left_type, settings), moment_of(right, right_type, settings)
    months = (first.year - second.year) * 12 + first.month - second.month
    both_last = first.date() == dates.month_end(first.date()) and second.date() == dates.month_end(
        second.date()
    )
    if first.day == second.day or both_last:
        return str(months)
    beyond = (first - _start(first, "MONTH")) - (second - _start(second, "MONTH"))
    days = ARITHMETIC.divide(Decimal(beyond // timedelta(microseconds=1)), Decimal(86_400_000_000))
    return decimal_text(ARITHMETIC.add(Decimal(months), ARITHMETIC.divide(days, Decimal(31))))


def _start(moment: datetime, part: str) -> datetime:
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match part:
        case "YEAR":
            return midnight.replace(month=1, day=1)
        case "MONTH":
            return midnight.replace(day=1)
        case "DAY":
            return midnight - timedelta(moment.isoweekday() % 7)
        case "DD":
            return midnight
        case "HH":
            return moment.replace(minute=0, second=0, microsecond=0)
        case "MI":
            return moment.replace(second=0, microsecond=0)
        case _:
            raise SqlError(_BAD_NAME)


def _next_start(start: datetime, part: str) -> datetime:
    match part:
        case "YEAR":
            return start.replace(year=start.year + 1)
        case "MONTH":
            later = start + timedelta(31)
            return later.replace(day=1)
        case "DAY":
            return start + timedelta(7)
        case "DD":
            return start + timedelta(1)
        case "HH":
            return start + timedelta(hours=1)
        case _:
            return start + timedelta(minutes=1)


def _rounds_up(moment: datetime, start: datetime, part: str) -> bool:
    match part:
        case "YEAR":
            return moment.month >= 7
        case "MONTH":
            return moment.day >= 16
        case _:
            return moment - start >= (_next_start(start, part) - start) / 2


def truncate_date(settings: Settings, value: Value, number: int, part: str | None = "DD") -> Stored:
    """TRUNC of a DATE or DATETIME: the beginning of its YEAR, MONTH, week (DAY), day (DD), hour (HH) or minute (MI)."""
    if value is None or part is None:
        return None
    try:
        return _stored(_start(moment_of(value, number, settings), part.strip(" ").upper()), number)
    except OverflowError:
        raise SqlError(_OUT_OF_RANGE) from None


def round_date(settings: Settings, value: Value, number: int, part: str | None = "DD") -> Stored:
    """ROUND of a DATE or DATETIME: to the nearest beginning, July 1 and the 16th of a month rounding up."""
    if value is None or part is None:
        return None
    name = part.strip(" ").upper()
    moment = moment_of(value, number, settings)
    try:
        start = _start(moment, name)
        return _stored(_next_start(start, name) if _rounds_up(moment, start, name) else start, number)
    except (OverflowError, ValueError):
        raise SqlError(_OUT_OF_RANGE) from None


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
    return datetime_formats.format_moment(moment_of(value, number, settings), pattern)


def to_date(settings: Settings, text: str | None, pattern: str | None, number: int) -> Stored:
    """TO_DATE(text, format), as a DATE or DATETIME of the type numbered *number*."""
    if text is None or pattern is None:
        return None
    moment = datetime_formats.parse_moment(text, pattern, settings.now)
    target = numbered_type(number)
    if form_of(target) is Form.DATE:
        return dates.days_of(moment.date())
    return full_form(moment)[span(qualifier_of(target))]
