"""TO_CHAR of numbers: a mask of ``* & # < , . - + ( ) $`` and the resulting text. Never: dates, other formats.

A place holds a digit. When no digit is left, ``*`` stands for an asterisk, ``&`` for a zero, ``#`` for a blank, ``<``
for nothing. ``$ - + (`` show a symbol at one place. Several of one kind are places, too, and the symbol is as far right
as the digits allow. A comma without a digit before it counts as the character before it.

Source: the characters are documented (ESQL/C, numeric-formatting masks; the TO_CHAR function names them for numbers);
where two kinds of symbols meet, and that halves round away from zero, is assumed.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime.decimals import round_decimal

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
