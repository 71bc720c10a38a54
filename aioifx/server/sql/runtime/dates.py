"""DATE as days since 1899-12-31: text by DBDATE and DBCENTURY, calendar arithmetic. Never: hours."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from functools import lru_cache
from typing import Final, NamedTuple

from aioifx.codecs.temporal import DAY_ZERO, FIRST_DAY, LAST_DAY
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings

_DBDATE: Final = re.compile(r"(?=.{4,5}$)((?:Y[24]|[MD])(?:Y[24]|[MD])(?:Y[24]|[MD]))([-/.0]?)")
_ANY_SEPARATOR: Final = re.compile(r"[-/. ]")


class DateFormat(NamedTuple):
    """A parsed DBDATE: the order of the parts, digits of the year, and the separator."""

    order: str
    year_digits: int
    separator: str


@lru_cache(maxsize=64)
def date_format(dbdate: str) -> DateFormat:
    """Parse DBDATE; -1212 if invalid. The default separator is a slash (documented)."""
    match = _DBDATE.fullmatch(dbdate.upper())
    order = re.sub("[24]", "", match[1]) if match else ""
    if match is None or sorted(order) != ["D", "M", "Y"]:
        raise SqlError(-1212)
    separator = match[2] or "/"
    return DateFormat(order, 2 if "Y2" in match[1] else 4, "" if separator == "0" else separator)


def days_of(day: date) -> int:
    """The stored form of a date."""
    return day.toordinal() - DAY_ZERO


def date_of(days: int) -> date:
    """The date of a stored form; -1210 outside the years 1 to 9999."""
    if FIRST_DAY <= days <= LAST_DAY:
        return date.fromordinal(days + DAY_ZERO)
    raise SqlError(-1210)


def checked_days(days: int) -> int:
    """The number itself if it is a valid date; -1210 otherwise."""
    if FIRST_DAY <= days <= LAST_DAY:
        return days
    raise SqlError(-1210)


def date_from_parts(year: int, month: int, day: int) -> date:
    """The date of three numbers; -1204, -1205, -1206 for an invalid year, month or day."""
    if not 1 <= year <= 9999:
        raise SqlError(-1204)
    if not 1 <= month <= 12:
        raise SqlError(-1205)
    if not 1 <= day <= monthrange(year, month)[1]:
        raise SqlError(-1206)
    return date(year, month, day)


def format_date(days: int, settings: Settings) -> str:
    """A stored date as text in the session's format."""
    form = date_format(settings.dbdate)
    day = date_of(days)
    year = f"{day.year:04d}" if form.year_digits == 4 else f"{day.year % 100:02d}"
    parts = {"Y": year, "M": f"{day.month:02d}", "D": f"{day.day:02d}"}
    return form.separator.join(parts[part] for part in form.order)


def parse_date(text: str, settings: Settings) -> int:
    """Parse a date in the session's format, with any separator, or with none and all digits."""
    form = date_format(settings.dbdate)
    text = text.strip(" ")
    parts: list[str] = _ANY_SEPARATOR.split(text) if text.isascii() else []
    if len(parts) == 1 and len(text) in (6, 8):
        parts = []
        pos = 0
        for part in form.order:
            size = len(text) - 4 if part == "Y" else 2
            parts.append(text[pos : pos + size])
            pos += size
    if len(parts) != 3 or not all(part.isdigit() and len(part) <= 4 for part in parts):
        raise SqlError(-1218)
    by_name = dict(zip(form.order, parts, strict=True))
    month, day = int(by_name["M"]), int(by_name["D"])
    year = by_name["Y"]
    return days_of(date_from_parts(full_year(year, month, day, settings), month, day))


def full_year(digits: str, month: int, day: int, settings: Settings) -> int:
    """A year; one or two digits are completed by DBCENTURY."""
    year = int(digits)
    if len(digits) > 2:
        return year
    today = settings.today
    present = today.year - today.year % 100 + year
    here = (today.month, today.day)
    match settings.century.upper():
        case "P":
            return present if (present, month, day) < (today.year, *here) else present - 100
        case "F":
            return present if (present, month, day) > (today.year, *here) else present + 100
        case "C":
            return min((present - 100, present, present + 100), key=lambda each: abs(each - today.year))
        case _:
            return present


def shift_months(day: date, months: int) -> date | None:
    """The same day of another month; None if that month lacks the day or the year is out of range."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not 1 <= year <= 9999 or day.day > monthrange(year, month + 1)[1]:
        return None
    return day.replace(year=year, month=month + 1)


def month_end(day: date) -> date:
    """The last day of the month."""
    return day.replace(day=monthrange(day.year, day.month)[1])


def add_months_clipped(day: date, months: int) -> date | None:
    """ADD_MONTHS: a last day stays a last day, and a missing day becomes the last; None out of range."""
    target = shift_months(day.replace(day=1), months)
    if target is None:
        return None
    end = month_end(target)
    return end if day == month_end(day) or day.day > end.day else target.replace(day=day.day)
