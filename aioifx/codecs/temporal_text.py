"""Conversion between text and DATE, DATETIME and INTERVAL values. Never: other types, columns, files.

DATETIME and INTERVAL are written without keywords, 2026-01-31 12:30:00.250 and 3 04:05:06 (documented: Guide to SQL
Syntax, UNLOAD TO file), DATE according to DBDATE (documented: Guide to SQL Reference). The sign of intervals below
one, -0 04:00:00, and a single FRACTION, .12345, are assumed. A LOAD on a real server would confirm them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from aioifx.codecs.temporal import (
    datetime,
    datetime_number,
    fitted_fields,
    interval_packer,
    qualifier_of,
)
from aioifx.errors import DataError, InterfaceError
from aioifx.sqltypes import (
    FIELD_MARKS,
    Datetime,
    IntervalYM,
    Qualifier,
    SqlType,
    Unit,
    Value,
    datetime_qualifier,
)

ISO_DATES: Final = "Y4MD-"
"""DBDATE of ISO dates such as 2026-01-31."""

ParseField: TypeAlias = Callable[[str], Value]
"""Converts text to a value; raises DataError."""

FormatField: TypeAlias = Callable[[Value], str]
"""Converts a value to text; raises DataError."""


def unreadable(sql_type: SqlType) -> DataError:
    """The error of a ParseField; does not show the text."""
    return DataError(f"not a valid {sql_type}")


def refused(value: Value, sql_type: SqlType) -> DataError:
    """The error of a FormatField for a value of an unsupported class."""
    return DataError(f"{sql_type} does not accept {type(value).__name__}")


# --- DATE -----------------------------------------------------------------------------------------------------------

_DBDATE: Final = re.compile(r"(?=.{4,5}\Z)((?:Y4)?+(?:MD|DM)(?:Y4)?+)([-/.0]?+)")


def check_dbdate(dbdate: object) -> None:
    """Raise InterfaceError unless *dbdate* is a valid date format."""
    if not isinstance(dbdate, str):
        raise InterfaceError(f"dbdate: expected a str such as {ISO_DATES}, got {type(dbdate).__name__}")
    _date_order(dbdate)


def _date_order(dbdate: str) -> tuple[list[str], str]:
    """The order of Y, M and D, and their separator; a slash if DBDATE has none (documented)."""
    found = _DBDATE.fullmatch(dbdate.upper())
    if found is None:
        raise InterfaceError(
            f"dbdate: expected a form like Y4MD- or MDY4/ with a four-digit year, got {dbdate!r}"
        )
    mark = found[2] or "/"
    return list(found[1].replace("4", "")), "" if mark == "0" else mark


def date_parser(sql_type: SqlType, dbdate: str) -> ParseField:
    """The parser of dates with this DBDATE; accepts one-digit days and months unless there is no separator.

    Raises:
        InterfaceError: invalid DBDATE, or two-digit years, whose century is unknown.
    """
    order, mark = _date_order(dbdate)
    digits = {"Y": r"(?P<Y>\d{4})", "M": r"(?P<M>\d{1,2})", "D": r"(?P<D>\d{1,2})"}
    if not mark:
        digits |= {"M": r"(?P<M>\d{2})", "D": r"(?P<D>\d{2})"}
    pattern = re.compile(r"\s*+" + re.escape(mark).join(digits[part] for part in order) + r"\s*+", re.ASCII)
    is_iso, iso = dbdate == ISO_DATES, dt.date.fromisoformat

    def parse(text: str) -> dt.date:
        try:
            if is_iso and len(text) == 10 and text[4] == "-" == text[7]:  # three times faster (measured)
                return iso(text)
            if found := pattern.fullmatch(text):
                return dt.date(int(found["Y"]), int(found["M"]), int(found["D"]))
        except ValueError:
            pass
        raise unreadable(sql_type)

    return parse


def date_formatter(sql_type: SqlType, dbdate: str) -> FormatField:
    """The inverse of `date_parser`."""
    order, mark = _date_order(dbdate)
    template = mark.join({"Y": "{0:04d}", "M": "{1:02d}", "D": "{2:02d}"}[part] for part in order)

    def write(value: Value) -> str:
        if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
            return template.format(value.year, value.month, value.day)
        raise refused(value, sql_type)

    return write


# --- DATETIME and INTERVAL ------------------------------------------------------------------------------------------

_ISO: Final[Mapping[Unit, tuple[str, Callable[[str], Value]]]] = {
    Unit.YEAR: (r"\d{4}-\d\d-\d\d[ T](?:[01]\d|2[0-3]):\d\d:\d\d", dt.datetime.fromisoformat),
    Unit.HOUR: (r"(?:[01]\d|2[0-3]):\d\d:\d\d", dt.time.fromisoformat),
}
"""By first field: forms that Python parses directly, several times as fast as by field (measured)."""


def _fraction_pattern(scale: int) -> str:
    """Digits that fit, then zeros; no digits if the qualifier has no FRACTION."""
    return rf"\.(?P<FRACTION>\d{{1,{scale}}})0*+" if scale else r"\.0*+"


def _fields_pattern(qualifier: Qualifier, first: str, others: Mapping[Unit, str]) -> re.Pattern[str]:
    """The fields of a qualifier as named groups; a fraction after SECOND is optional."""
    pattern = ""
    for unit in qualifier.units:
        if unit == Unit.FRACTION:
            break
        pattern += f"(?P<{unit.name}>{first})" if unit == qualifier.first else others[unit].format(unit.name)
    if qualifier.first == Unit.FRACTION:
        pattern += "0?+" + _fraction_pattern(qualifier.scale)
    elif qualifier.last >= Unit.SECOND:
        pattern += f"(?:{_fraction_pattern(qualifier.scale)})?+"
    return re.compile(rf"\s*+(?P<sign>[-+]?+){pattern}\s*+", re.ASCII)


_IN_DATETIME: Final = {
    unit: ("[ T]" if unit == Unit.HOUR else mark) + r"(?P<{}>\d\d?)" for unit, mark in FIELD_MARKS.items()
}
_IN_INTERVAL: Final = {
    Unit.MONTH: r"-(?P<{}>0?\d|1[01])",
    Unit.HOUR: r" ++(?P<{}>[01]?\d|2[0-3])",
    Unit.MINUTE: r":(?P<{}>[0-5]?\d)",
    Unit.SECOND: r":(?P<{}>[0-5]?\d)",
}


_FIELD_NAMES: Final = {unit: "microsecond" if unit == Unit.FRACTION else unit.name.lower() for unit in Unit}
"""As named by Datetime; timedelta and IntervalYM append an s."""

_YEAR_TO_DAY: Final = datetime_qualifier(Unit.YEAR, Unit.DAY)


def _numbers(found: re.Match[str], names: Mapping[str, str]) -> dict[str, int]:
    """The fields of a match, renamed; a fraction in microseconds."""
    numbers: dict[str, int] = {}
    for group, name in names.items():
        digits = found[group] or "0"
        numbers[name] = int(digits.ljust(6, "0") if group == "FRACTION" else digits)
    return numbers


def datetime_parser(sql_type: SqlType) -> ParseField:
    """The parser of DATETIME with one qualifier: exactly its fields, with an optional fraction."""
    qualifier, codec = qualifier_of(sql_type), datetime(sql_type)
    if qualifier == _YEAR_TO_DAY:
        return date_parser(sql_type, ISO_DATES)
    pattern = _fields_pattern(qualifier, r"\d{4}" if qualifier.first == Unit.YEAR else r"\d\d?", _IN_DATETIME)
    names = {unit.name: _FIELD_NAMES[unit] for unit in qualifier.units}

    def by_fields(text: str) -> Value:
        found = pattern.fullmatch(text)
        if found is None or found["sign"]:
            raise unreadable(sql_type)
        try:
            # The codec chooses the class that has exactly these fields.
            return codec.decode(codec.encode(Datetime(**_numbers(found, names), scale=qualifier.scale or 5)))
        except DataError:
            raise unreadable(sql_type) from None

    if qualifier.last < Unit.SECOND or qualifier.first not in _ISO:
        return by_fields
    form, read = _ISO[qualifier.first]
    is_usual = re.compile(rf"{form}(?:{_fraction_pattern(qualifier.scale)})?+", re.ASCII).fullmatch

    def parse(text: str) -> Value:
        if is_usual(text):
            try:
                return read(text)
            except ValueError:
                raise unreadable(sql_type) from None
        return by_fields(text)

    return parse


def interval_parser(sql_type: SqlType) -> ParseField:
    """The parser of INTERVAL with one qualifier; a sign applies to the whole value."""
    qualifier = qualifier_of(sql_type)
    pattern = _fields_pattern(qualifier, r"\d{1,9}", _IN_INTERVAL)
    names = {unit.name: _FIELD_NAMES[unit] + "s" for unit in qualifier.units}
    make: Callable[..., Any] = IntervalYM if qualifier.is_year_month else dt.timedelta

    def parse(text: str) -> Value:
        found = pattern.fullmatch(text)
        if found is None:
            raise unreadable(sql_type)
        try:
            value = make(**_numbers(found, names))
            return -value if found["sign"] == "-" else value
        except OverflowError:
            raise unreadable(sql_type) from None

    return parse


def _layout(qualifier: Qualifier, first: int) -> list[tuple[str, slice]]:
    """Position and preceding separator of each field, in a number with *first* digits for the first field."""
    layout: list[tuple[str, slice]] = []
    start = 0
    for unit in qualifier.units:
        if unit == Unit.FRACTION:
            layout.append((".", slice(start, start + qualifier.scale)))
        else:
            width = 2 if start else first
            layout.append((FIELD_MARKS[unit] if start else "", slice(start, start + width)))
            start += width
    return layout


def datetime_formatter(sql_type: SqlType) -> FormatField:
    """The inverse of `datetime_parser`; excess fraction digits are cut off, as in parameters."""
    qualifier = qualifier_of(sql_type)
    layout = _layout(qualifier, 4 if qualifier.first == Unit.YEAR else 2)
    fraction = qualifier.scale + 1 if qualifier.scale else 0
    is_moment, is_clock = (qualifier.first == first and qualifier.last >= Unit.SECOND for first in _ISO)

    def write(value: Value) -> str:
        if is_moment and value.__class__ is dt.datetime and value.tzinfo is None:
            text: str = value.isoformat(" ", "microseconds")
            return text[: 19 + fraction]
        if is_clock and value.__class__ is dt.time and value.tzinfo is None:
            clock: str = value.isoformat("microseconds")
            return clock[: 8 + fraction]
        digits = datetime_number(fitted_fields(value, qualifier), qualifier, type(value).__name__).digits
        return "".join(mark + digits[place] for mark, place in layout)

    return write


def interval_formatter(sql_type: SqlType) -> FormatField:
    """The inverse of `interval_parser`."""
    qualifier, number_of = qualifier_of(sql_type), interval_packer(sql_type)
    layout = _layout(qualifier, (qualifier.leading + 1) // 2 * 2)

    def write(value: Value) -> str:
        number = number_of(value)
        digits = number.digits
        text = "".join(mark + digits[place] for mark, place in layout)
        if not text.startswith("."):
            text = text.lstrip("0")
            text = text if text[:1].isdecimal() else "0" + text
        return "-" + text if number.is_negative and digits.strip("0") else text

    return write
