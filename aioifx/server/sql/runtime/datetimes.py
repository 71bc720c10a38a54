"""DATETIME as ISO text restricted to its qualifier: parsing, extending, truncating, adding INTERVALs. Never: formats.

Invariant: a stored DATETIME is a slice of the full form ``YYYY-MM-DD HH:MM:SS.FFFFF``. Extending fills in the fields
to the left and right of the slice, and truncating is slicing.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.runtime.dates import date_of, days_of, full_year, shift_months
from aioifx.sqltypes import FIELD_MARKS, Qualifier, SqlType, TypeCode, Unit, datetime_qualifier

_START: Final = {
    Unit.YEAR: 0,
    Unit.MONTH: 5,
    Unit.DAY: 8,
    Unit.HOUR: 11,
    Unit.MINUTE: 14,
    Unit.SECOND: 17,
    Unit.FRACTION: 19,  # with its decimal point
}
_END: Final = {
    Unit.YEAR: 4,
    Unit.MONTH: 7,
    Unit.DAY: 10,
    Unit.HOUR: 13,
    Unit.MINUTE: 16,
    Unit.SECOND: 19,
    Unit.FRACTION: 20,  # plus the digits of the scale
}
_FULL_SIZE: Final = 25
_FILL: Final = "0001-01-01 00:00:00.00000"
_HIGHEST: Final = {
    Unit.YEAR: 9999,
    Unit.MONTH: 12,
    Unit.DAY: 31,
    Unit.HOUR: 23,
    Unit.MINUTE: 59,
    Unit.SECOND: 59,
}

TICK: Final = timedelta(microseconds=10)
"""The finest part of a DATETIME or INTERVAL."""

YEAR_TO_DAY: Final = datetime_qualifier(Unit.YEAR, Unit.DAY)
YEAR_TO_FRACTION: Final = datetime_qualifier(Unit.YEAR, Unit.FRACTION, 5)
HOUR_TO_FRACTION: Final = datetime_qualifier(Unit.HOUR, Unit.FRACTION, 5)


@lru_cache(maxsize=256)
def span(qualifier: Qualifier) -> slice:
    """The position of a qualifier's fields in the full form."""
    return slice(_START[qualifier.first], _END[qualifier.last] + qualifier.scale)


@lru_cache(maxsize=256)
def qualifier_of(sql_type: SqlType) -> Qualifier:
    """The fields of a DATETIME or DATE; -1266 for other types."""
    if sql_type.code == TypeCode.DATE:
        return YEAR_TO_DAY
    if sql_type.code != TypeCode.DATETIME:
        raise SqlError(-1266)
    return Qualifier.from_encoded(sql_type.length)


def full_form(moment: datetime) -> str:
    """A point in time in the full form, truncated to 5 digits."""
    return moment.isoformat(" ", "microseconds")[:_FULL_SIZE]


def extended(text: str, source: Qualifier, settings: Settings) -> str:
    """The full form of a stored DATETIME: current fields before it, 01 and 00 after it."""
    place = span(source)
    full = text + _FILL[place.stop :]
    if place.start:
        full = full_form(settings.now)[: place.start] + full
        # The current month may lack the day that the value has
        if _parsed_day(full) is None:
            raise SqlError(-1267)
    return full


def _parsed_day(full: str) -> date | None:
    try:
        return date.fromisoformat(full[:10])
    except ValueError:
        return None


def requalified(text: str, source: Qualifier, target: Qualifier, settings: Settings) -> str:
    """A stored DATETIME with other fields: extended where fields are missing, truncated where it has more."""
    if source.first == target.first and span(source).stop >= span(target).stop:
        return text[: span(target).stop - span(target).start]
    return extended(text, source, settings)[span(target)]


def parse_datetime(text: str, qualifier: Qualifier, settings: Settings) -> str:
    """The stored form of a text such as ``2026-5-4 12:30``; FRACTION digits beyond the scale are truncated.

    A FRACTION that the text ends before is 0. assumed: the server does not require its point.

    Raises:
        SqlError: -1261 too many digits in the first field, -1262 a character that is not a digit. Or -1263 a field
            missing or out of range, -1264 text after the last field.
    """
    text = text.strip(" ")
    pos = 0
    values: dict[Unit, str] = {}
    for unit in qualifier.units:
        if unit == Unit.FRACTION and values and pos == len(text):
            values[unit] = "0"
            break
        if values or unit == Unit.FRACTION:
            pos = _behind_mark(text, pos, unit, not values)
        end = pos
        while end < len(text) and text[end] in "0123456789":
            end += 1
        if end == pos:
            raise SqlError(-1262 if end < len(text) else -1263)
        values[unit] = text[pos:end]
        pos = end
    if pos < len(text):
        raise SqlError(-1264)
    return _assembled(values, qualifier, settings)


def _behind_mark(text: str, pos: int, unit: Unit, optional: bool) -> int:
    if text.startswith(FIELD_MARKS[unit], pos):
        return pos + 1
    if optional:
        return pos
    raise SqlError(-1263 if pos >= len(text) else -1262)


def _assembled(values: dict[Unit, str], qualifier: Qualifier, settings: Settings) -> str:
    parts: list[str] = []
    numbers: dict[Unit, int] = {}
    for unit, digits in values.items():
        if unit == Unit.FRACTION:
            parts.append("." + f"{digits:0<5}"[: qualifier.scale])
            continue
        if len(digits) > (4 if unit == Unit.YEAR else 2):
            raise SqlError(-1261 if unit == qualifier.first else -1263)
        if unit == Unit.YEAR:
            month, day = int(values.get(Unit.MONTH, "1")), int(values.get(Unit.DAY, "1"))
            number = full_year(digits, month, day, settings)
        else:
            number = int(digits)
        lowest = 1 if unit <= Unit.DAY else 0
        if not lowest <= number <= _HIGHEST[unit]:
            raise SqlError(-1263)
        numbers[unit] = number
        parts.append(f"{FIELD_MARKS[unit] if parts else ''}{number:0{4 if unit == Unit.YEAR else 2}d}")
    check_day(numbers.get(Unit.YEAR), numbers.get(Unit.MONTH), numbers.get(Unit.DAY))
    return "".join(parts)


def check_day(year: int | None, month: int | None, day: int | None) -> None:
    """-1263 if the month lacks the day; without a year February has 29 days."""
    if month is not None and day is not None:
        try:
            date(2000 if year is None else year, month, day)
        except ValueError:
            raise SqlError(-1263) from None


def add_ticks(text: str, qualifier: Qualifier, ticks: int, settings: Settings) -> str:
    """A DATETIME moved by a DAY TO FRACTION interval."""
    full = extended(text, qualifier, settings)
    try:
        moved = datetime.fromisoformat(full) + ticks * TICK
    except OverflowError:
        raise SqlError(-1267) from None
    return _back(full_form(moved), full, qualifier)


def add_month_count(text: str, qualifier: Qualifier, months: int, settings: Settings) -> str:
    """A DATETIME moved by a YEAR TO MONTH interval; -1267 when the month lacks the day."""
    full = extended(text, qualifier, settings)
    moved = shift_months(date.fromisoformat(full[:10]), months)
    if moved is None:
        raise SqlError(-1267)
    return _back(moved.isoformat() + full[10:], full, qualifier)


def _back(moved: str, full: str, qualifier: Qualifier) -> str:
    """The fields of *qualifier*; -1267 if a field before them would change.

    assumed: ``DATETIME(23:00) HOUR TO MINUTE + 2 UNITS HOUR`` is out of range and does not wrap.
    """
    place = span(qualifier)
    if moved[: place.start] != full[: place.start]:
        raise SqlError(-1267)
    return moved[place]


def check_fields(moment: Qualifier, interval: Qualifier) -> None:
    """-1266 if the interval has fields that the DATETIME lacks (documented: use EXTEND).

    A leading field before the DATETIME's is refused as well. assumed: the server refuses it too.
    """
    if interval.last > moment.last or interval.first < moment.first:
        raise SqlError(-1266)


def subtract(left: str, first: Qualifier, right: str, second: Qualifier, settings: Settings) -> int:
    """DATETIME - DATETIME: months when the left side ends at YEAR or MONTH, else ticks.

    The right side is converted to the left side's qualifier first: missing fields are filled in, others dropped
    (documented).
    """
    other = extended(requalified(right, second, first, settings), first, settings)
    one = extended(left, first, settings)
    if first.last <= Unit.MONTH:
        return _month_number(one) - _month_number(other)
    return (datetime.fromisoformat(one) - datetime.fromisoformat(other)) // TICK


def _month_number(full: str) -> int:
    return int(full[:4]) * 12 + int(full[5:7])


def datetime_of_days(days: int) -> str:
    """A stored DATE as DATETIME YEAR TO DAY."""
    return date_of(days).isoformat()


def days_of_datetime(text: str, qualifier: Qualifier, settings: Settings) -> int:
    """The stored DATE of a stored DATETIME."""
    return days_of(date.fromisoformat(requalified(text, qualifier, YEAR_TO_DAY, settings)))
