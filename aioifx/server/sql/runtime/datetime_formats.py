"""TO_CHAR and TO_DATE: DATETIME by % directives, numbers by masks. Never: formats that the session sets.

Directives are those of GL_DATE and GL_DATETIME in the default locale (documented: GLS guide). ``%F3`` stands for the
digits of a fraction without a point, two if no number is given.

A mask of a number has ``* & # < , . - + ( ) $``. A place holds a digit. When no digit is left, ``*`` stands for an
asterisk, ``&`` for a zero, ``#`` for a blank, ``<`` for nothing. ``$ - + (`` show a symbol at one place. Several of one
kind are places, too, and the symbol is as far right as the digits allow. A comma without a digit before it counts as
the character before it.

Source: the characters are documented (ESQL/C, numeric-formatting masks; the TO_CHAR function names them for numbers);
where two kinds of symbols meet, and that halves round away from zero, is assumed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime.decimals import round_decimal

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

_NO_MATCH: Final = -1277
_NOT_IMPLEMENTED: Final = -999

_COMPOUND: Final = {
    "D": "%m/%d/%y",
    "R": "%H:%M",
    "T": "%H:%M:%S",
    "r": "%I:%M:%S %p",
    "x": "%m/%d/%iY",
    "X": "%H:%M:%S",
    "h": "%b",
    "iY": "%Y",
    "iy": "%y",
}
_DIRECTIVE: Final = re.compile(r"%(F[0-5]?|i[yY]|.)|[^%]+", re.DOTALL)

_SHOWN: Final[dict[str, Callable[[datetime], str]]] = {
    "Y": lambda moment: f"{moment.year:04d}",
    "y": lambda moment: f"{moment.year % 100:02d}",
    "C": lambda moment: f"{moment.year // 100:02d}",
    "m": lambda moment: f"{moment.month:02d}",
    "d": lambda moment: f"{moment.day:02d}",
    "e": lambda moment: f"{moment.day:2d}",
    "H": lambda moment: f"{moment.hour:02d}",
    "I": lambda moment: f"{moment.hour % 12 or 12:02d}",
    "M": lambda moment: f"{moment.minute:02d}",
    "S": lambda moment: f"{moment.second:02d}",
    "p": lambda moment: "PM" if moment.hour >= 12 else "AM",
    "j": lambda moment: f"{moment.timetuple().tm_yday:03d}",
    "B": lambda moment: _MONTHS[moment.month - 1],
    "b": lambda moment: _MONTHS[moment.month - 1][:3],
    "A": lambda moment: _WEEKDAYS[moment.isoweekday() % 7],
    "a": lambda moment: _WEEKDAYS[moment.isoweekday() % 7][:3],
    "w": lambda moment: str(moment.isoweekday() % 7),
    "n": lambda moment: "\n",
    "t": lambda moment: "\t",
    "%": lambda moment: "%",
}


class Piece(NamedTuple):
    """A part of a format: a directive's letters, or literal text."""

    directive: str
    text: str = ""


@lru_cache(maxsize=256)
def pieces(pattern: str) -> tuple[Piece, ...]:
    """The parts of a format; -999 with the directive if it is unknown, or if the format has no directive."""
    if "%" not in pattern:  # such as 'YYYY-MM-DD', which is another kind of format
        raise SqlError(_NOT_IMPLEMENTED, token=pattern)
    return tuple(_pieces(pattern))


def _pieces(pattern: str) -> Iterator[Piece]:
    pos = 0
    while pos < len(pattern):
        match = _DIRECTIVE.match(pattern, pos)
        if match is None:  # a lone % at the end
            raise SqlError(_NOT_IMPLEMENTED, token="%")
        pos = match.end()
        directive = match[1]
        if directive is None:
            yield Piece("", match[0])
        elif directive in _COMPOUND:
            yield from _pieces(_COMPOUND[directive])
        elif directive in _SHOWN or directive.startswith("F"):
            yield Piece(directive)
        else:
            raise SqlError(_NOT_IMPLEMENTED, token=match[0])


def format_moment(moment: datetime, pattern: str) -> str:
    """A point in time formatted by the pattern."""
    result: list[str] = []
    for piece in pieces(pattern):
        if not piece.directive:
            result.append(piece.text)
        elif piece.directive.startswith("F"):
            result.append(f"{moment.microsecond:06d}"[: _fraction_digits(piece.directive)])
        else:
            result.append(_SHOWN[piece.directive](moment))
    return "".join(result)


def _fraction_digits(directive: str) -> int:
    return int(directive[1:] or 2)


_READ: Final = {
    "Y": r"\d{1,4}",
    "y": r"\d{1,2}",
    "m": r"\d{1,2}",
    "d": r"\d{1,2}",
    "e": r" ?\d{1,2}",
    "H": r"\d{1,2}",
    "I": r"\d{1,2}",
    "M": r"\d{1,2}",
    "S": r"\d{1,2}",
    "j": r"\d{1,3}",
    "p": r"[AaPp][Mm]",
    "B": "|".join(_MONTHS),
    "b": "|".join(name[:3] for name in _MONTHS),
    "A": "|".join(_WEEKDAYS),
    "a": "|".join(name[:3] for name in _WEEKDAYS),
}


@lru_cache(maxsize=256)
def _reader(pattern: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    expression = ""
    names: list[str] = []
    for piece in pieces(pattern):
        if not piece.directive or piece.directive in "%nt":
            literal = piece.text or {"%": "%", "n": "\n", "t": "\t"}[piece.directive]
            expression += re.escape(literal)
        elif piece.directive.startswith("F"):
            names.append("F")
            expression += rf"(\d{{1,{max(_fraction_digits(piece.directive), 1)}}})"
        elif piece.directive in _READ:
            names.append(piece.directive)
            expression += f"({_READ[piece.directive]})"
        else:
            raise SqlError(_NOT_IMPLEMENTED, token=f"%{piece.directive}")
    return re.compile(expression, re.ASCII | re.IGNORECASE), tuple(names)


def parse_moment(text: str, pattern: str, now: datetime) -> datetime:
    """Parse a text; fields missing from the pattern are 1 or 0, and the year is the current one.

    Raises:
        SqlError: -1277, the text does not match the pattern; -1263, a field is out of range.
    """
    expression, names = _reader(pattern)
    match = expression.fullmatch(text.strip(" "))
    if match is None:
        raise SqlError(_NO_MATCH)
    fields = dict(zip(names, match.groups(), strict=True))
    try:
        return datetime(*_day(fields, now), *_time(fields))
    except ValueError:
        raise SqlError(-1263) from None


def _day(fields: dict[str, str], now: datetime) -> tuple[int, int, int]:
    year = now.year
    if "Y" in fields:
        year = int(fields["Y"])
    elif "y" in fields:
        year = now.year - now.year % 100 + int(fields["y"])
    month = int(fields.get("m", "1"))
    name = (fields.get("B") or fields.get("b") or "")[:3].capitalize()
    if name:
        month = [each[:3] for each in _MONTHS].index(name) + 1
    if "j" in fields:
        day = date.fromordinal(date(year, 1, 1).toordinal() + int(fields["j"]) - 1)
        if day.year != year:
            raise ValueError("a day that the year lacks")
        return year, day.month, day.day
    return year, month, int(fields.get("d") or fields.get("e") or "1")


def _time(fields: dict[str, str]) -> tuple[int, int, int, int]:
    hour = int(fields.get("H", "0"))
    if "I" in fields:
        hour = int(fields["I"])
        if not 1 <= hour <= 12:
            raise ValueError("an hour of the 12-hour clock")
        hour = hour % 12 + (12 if fields.get("p", "AM").upper() == "PM" else 0)
    fraction = int(f"{fields.get('F', '0'):0<6}")
    return hour, int(fields.get("M", "0")), int(fields.get("S", "0")), fraction


_DIGITS: Final = "*&#<"
_SYMBOLS: Final = "$-+("
_FILL: Final = {"*": "*", "&": "0", "#": " ", "<": ""}


class _Mask(NamedTuple):
    """A parsed mask: the part before the point, the number of decimals, the part after them."""

    before: str
    has_point: bool
    decimals: int
    after: str
    capacity: int
    """Digits that fit before the point."""


@lru_cache(maxsize=256)
def _mask(text: str) -> _Mask:
    """Parse a mask.

    Raises:
        SqlError: -999, the mask has no place for a digit, as in masks of other databases.
    """
    before, point, rest = text.partition(".")
    places = _DIGITS + "".join(symbol for symbol in _SYMBOLS if symbol in before)
    decimals = len(rest) - len(rest.lstrip(places))
    if not point:
        before, rest = _without_end(before)
    symbols = {character for character in before if character in _SYMBOLS}
    capacity = sum(character in _DIGITS + _SYMBOLS for character in before) - len(symbols)
    if capacity < 1 and not decimals:
        raise SqlError(-999, token=text)
    return _Mask(before, bool(point), decimals, rest[decimals:] if point else rest, capacity)


def _without_end(text: str) -> tuple[str, str]:
    """A mask without a point, cut after its last place."""
    end = max((index for index, character in enumerate(text) if character in _DIGITS + "$"), default=-1)
    if end < 0:
        return text, ""
    return text[: end + 1], text[end + 1 :]


def format_number(number: Decimal, text: str) -> str:
    """A number formatted by a mask; all asterisks if it has more digits than places."""
    mask = _mask(text)
    rounded = round_decimal(abs(number), mask.decimals)
    whole, _, fraction = f"{rounded:f}".partition(".")
    digits = whole.lstrip("0")
    if len(digits) > mask.capacity:
        return "*" * len(text)
    is_negative = number < 0 and bool(rounded)
    point = "." if mask.has_point else ""
    return _before(mask, digits, is_negative) + point + fraction + _after(mask.after, is_negative)


def _before(mask: _Mask, digits: str, is_negative: bool) -> str:
    """The part before the point, from right to left."""
    shown: list[str] = []
    placed: set[str] = set()
    for index in range(len(mask.before) - 1, -1, -1):
        character = mask.before[index]
        if character == "," and digits:
            shown.append(",")
            continue
        if character == ",":
            character = mask.before[index - 1] if index else " "
        is_first = character in _SYMBOLS and character not in mask.before[:index]
        if digits and character in _DIGITS + _SYMBOLS and not is_first:
            shown.append(digits[-1])
            digits = digits[:-1]
        elif character in _SYMBOLS:
            shown.append(" " if character in placed else _symbol(character, is_negative))
            placed.add(character)
        else:
            shown.append(_FILL.get(character, character))
    return "".join(reversed(shown))


def _after(text: str, is_negative: bool) -> str:
    """The part after the digits: signs, a closing parenthesis, other characters unchanged."""
    return "".join(_symbol(character, is_negative) for character in text)


def _symbol(character: str, is_negative: bool) -> str:
    if character == "+":
        return "-" if is_negative else "+"
    return character if is_negative or character not in "-()" else " "
