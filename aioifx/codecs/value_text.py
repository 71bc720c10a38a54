"""Conversion between text and scalar values, by type. Never: delimiters, quotes, columns, files.

The forms are those of LOAD and UNLOAD (documented: Guide to SQL Syntax): DATE by DBDATE; DATETIME and INTERVAL as
digits and separators, without keywords. Numbers are without currency, BOOLEAN is t or f, BYTE is in hexadecimal, and
CHAR without trailing blanks.

Invariants:
1. Written values are read back unchanged, by this module and by LOAD.
2. Parsing is lenient: blanks around a value, a currency sign, thousands separators, the T of ISO 8601. Ambiguous text
   and text with more precision than the type are rejected.
3. No message shows text or a value.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, TypeVar

from aioifx.codecs.large_objects import is_large_object
from aioifx.codecs.numbers import decimal_value, float_value
from aioifx.codecs.temporal_text import (
    ISO_DATES,
    FormatField,
    ParseField,
    date_formatter,
    date_parser,
    datetime_formatter,
    datetime_parser,
    interval_formatter,
    interval_parser,
    refused,
    unreadable,
)
from aioifx.codecs.type_text import cached_by_type
from aioifx.errors import NotSupportedError
from aioifx.sqltypes import INTEGER_CODES, SqlType, TypeCode, Value

_Form = TypeVar("_Form", ParseField, FormatField)


@cached_by_type
def parser_for(sql_type: SqlType, dbdate: str = ISO_DATES) -> ParseField:
    """The parser for a type.

    Args:
        dbdate: the date format, as in DBDATE.

    Raises:
        InterfaceError: *dbdate* is invalid, or has two-digit years.
        NotSupportedError: the type has no text form.
    """
    if sql_type.kind == TypeCode.DATE:
        return date_parser(sql_type, dbdate)
    return _maker(_PARSERS, sql_type)(sql_type)


@cached_by_type
def formatter_for(sql_type: SqlType, dbdate: str = ISO_DATES) -> FormatField:
    """The formatter for a type; the inverse of `parser_for`, with the same exceptions."""
    if sql_type.kind == TypeCode.DATE:
        return date_formatter(sql_type, dbdate)
    return _maker(_FORMATTERS, sql_type)(sql_type)


def _maker(makers: Mapping[int, Callable[[SqlType], _Form]], sql_type: SqlType) -> Callable[[SqlType], _Form]:
    maker = makers.get(sql_type.kind)
    if maker is None or (is_large_object(sql_type) and sql_type.code not in _IN_PLACE):
        raise NotSupportedError(f"{sql_type} values have no text form")
    return maker


# --- text -----------------------------------------------------------------------------------------------------------


def _text_parser(sql_type: SqlType) -> ParseField:
    return str


def _text_formatter(sql_type: SqlType) -> FormatField:
    # Documented: these types lose trailing blanks, the others keep them.
    strip = sql_type.kind in (TypeCode.CHAR, TypeCode.NCHAR)

    def write(value: Value) -> str:
        if isinstance(value, str):
            return value.rstrip(" ") if strip else value
        raise refused(value, sql_type)

    return write


def _byte_parser(sql_type: SqlType) -> ParseField:
    def parse(text: str) -> bytes:
        try:
            data = bytes.fromhex(text)
        except ValueError:
            data = b""
        if 2 * len(data) != len(text):  # blanks between digits, which fromhex skips
            raise unreadable(sql_type)
        return data

    return parse


def _byte_formatter(sql_type: SqlType) -> FormatField:
    def write(value: Value) -> str:
        if isinstance(value, (bytes, bytearray, memoryview)):
            return value.hex()
        raise refused(value, sql_type)

    return write


# --- numbers --------------------------------------------------------------------------------------------------------


def _integer_parser(sql_type: SqlType) -> ParseField:
    def parse(text: str) -> int:
        if "_" not in text:  # Python accepts underscores in numbers
            try:
                return int(text)
            except ValueError:
                pass
        raise unreadable(sql_type)

    return parse


def _integer_formatter(sql_type: SqlType) -> FormatField:
    def write(value: Value) -> str:
        if isinstance(value, int):
            return f"{value:d}"
        raise refused(value, sql_type)

    return write


def _decimal_parser(sql_type: SqlType) -> ParseField:
    def parse(text: str) -> Decimal:
        if "_" not in text:
            try:
                number = Decimal(text)
                if number.is_finite():  # malformed text becomes NaN if the user's context traps nothing
                    return number
            except ArithmeticError:
                pass
        return Decimal(_without_currency(text, sql_type))

    return parse


def _decimal_formatter(sql_type: SqlType) -> FormatField:
    name = str(sql_type)
    return lambda value: f"{decimal_value(value, name):f}"


def _float_parser(sql_type: SqlType) -> ParseField:
    def parse(text: str) -> float:
        if "_" not in text:
            try:
                return float(text)
            except ValueError:
                pass
        return float(_without_currency(text, sql_type))

    return parse


def _float_formatter(sql_type: SqlType) -> FormatField:
    name = str(sql_type)
    return lambda value: repr(float(float_value(value, name)))


_AMOUNT: Final = re.compile(r"([+-]?+)(\d{1,3}(?:,\d{3})+|\d++)(\.\d*+)?+", re.ASCII)


def _without_currency(text: str, sql_type: SqlType) -> str:
    """A plain number from the forms that LOAD accepts: a currency sign before or after, commas between thousands.

    A single comma without a point, as in 1,500, is rejected, since many locales use a decimal comma.
    """
    bare = text.strip()
    sign = bare[:1] if bare.startswith(("-", "+")) else ""
    bare = bare[len(sign) :]
    if bare and unicodedata.category(bare[0]) == "Sc":
        bare = bare[1:]
    if bare and unicodedata.category(bare[-1]) == "Sc":
        bare = bare[:-1]
    found = _AMOUNT.fullmatch(sign + bare.strip())
    if found is None or (found[2].count(",") == 1 and not found[3]):
        raise unreadable(sql_type)
    return found[1] + found[2].replace(",", "") + (found[3] or "")


_BOOLEANS: Final = {"t": True, "f": False, "true": True, "false": False, "1": True, "0": False}


def _boolean_parser(sql_type: SqlType) -> ParseField:
    def parse(text: str) -> bool:
        value = _BOOLEANS.get(text)
        if value is None:
            value = _BOOLEANS.get(text.strip().lower())
            if value is None:
                raise unreadable(sql_type)
        return value

    return parse


def _boolean_formatter(sql_type: SqlType) -> FormatField:
    def write(value: Value) -> str:
        if isinstance(value, bool):
            return "t" if value else "f"
        raise refused(value, sql_type)

    return write


# --- parsers and formatters by type ---------------------------------------------------------------------------------

_TEXTS: Final = (
    TypeCode.CHAR,
    TypeCode.NCHAR,
    TypeCode.VARCHAR,
    TypeCode.NVARCHAR,
    TypeCode.LVARCHAR,
    TypeCode.TEXT,
    TypeCode.SET,
    TypeCode.MULTISET,
    TypeCode.LIST,
    TypeCode.ROW,
    TypeCode.COLLECTION,
    TypeCode.UDTVAR,
    TypeCode.UDTFIXED,
    TypeCode.OPAQUE,
)
"""Collections, rows and opaque types are text on both sides: literals that the server reads and writes."""
_IN_PLACE: Final = (TypeCode.BYTE, TypeCode.TEXT)
"""Large objects stored in the field; BLOB and CLOB have separate files (documented: UNLOAD)."""

_PARSERS: Final[Mapping[int, Callable[[SqlType], ParseField]]] = {
    **dict.fromkeys(INTEGER_CODES, _integer_parser),
    **dict.fromkeys(_TEXTS, _text_parser),
    TypeCode.SMALLFLOAT: _float_parser,
    TypeCode.FLOAT: _float_parser,
    TypeCode.DECIMAL: _decimal_parser,
    TypeCode.MONEY: _decimal_parser,
    TypeCode.BOOLEAN: _boolean_parser,
    TypeCode.DATETIME: datetime_parser,
    TypeCode.INTERVAL: interval_parser,
    TypeCode.BYTE: _byte_parser,
}

_FORMATTERS: Final[Mapping[int, Callable[[SqlType], FormatField]]] = {
    **dict.fromkeys(INTEGER_CODES, _integer_formatter),
    **dict.fromkeys(_TEXTS, _text_formatter),
    TypeCode.SMALLFLOAT: _float_formatter,
    TypeCode.FLOAT: _float_formatter,
    TypeCode.DECIMAL: _decimal_formatter,
    TypeCode.MONEY: _decimal_formatter,
    TypeCode.BOOLEAN: _boolean_formatter,
    TypeCode.DATETIME: datetime_formatter,
    TypeCode.INTERVAL: interval_formatter,
    TypeCode.BYTE: _byte_formatter,
}
