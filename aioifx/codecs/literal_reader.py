"""The literals of rows and collections, as servers send them -> Python values. Never: how literals are written.

Source: documented: Guide to SQL Syntax, Literal Row and Literal Collection; observed: ``ROW('Alice',30 )``,
``LIST{10,20,30}`` of 15.0. Assumed: quotes are doubled, and NULL is not quoted.

Invariants:
1. Reading is linear in the text, and as deep as the type, whose depth is bounded.
2. A value that is not understood raises DataError, which shows neither text nor value. No value is guessed.
3. More is accepted than was observed: blanks around values, quotes of either kind, DATETIME and INTERVAL with their
   keywords or without.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from aioifx.codecs.conversions import Conversions, Convert
from aioifx.codecs.documents import document_decoder
from aioifx.codecs.temporal_text import ParseField
from aioifx.codecs.time_zones import attaching
from aioifx.codecs.type_text import COLLECTIONS
from aioifx.codecs.value_text import parser_for
from aioifx.errors import DataError, InterfaceError, NotSupportedError
from aioifx.rows import record_maker
from aioifx.sqltypes import INTEGER_CODES, SqlType, TypeCode, Value

_Read: TypeAlias = Callable[[str, int], tuple[Value, int]]
"""A text and where a value and the blanks before it begin -> the value, and where the blanks after it end."""

_KEYWORDS: Final = {int(code): name for name, code in COLLECTIONS.items()}

_BLANKS: Final = re.compile(r"\s*+")
_QUOTED: Final = re.compile(r"""\s*+(?:'(?P<single>(?:[^']|'')*+)'|"(?P<double>(?:[^"]|"")*+)")\s*+""")
_PLAIN: Final = re.compile(r"""[^,(){}'"]*+""")
_ENDS: Final = (",", ")", "}")
_KEYWORD_STARTS: Final = ("R", "S", "M", "L")
_MARK: Final = re.compile(r"""[,(){}]|'(?:[^']|'')*+'?|"(?:[^"]|"")*+"?""")
"""What ends a value without quotes, or has commas and braces that do not."""
_QUALIFIED: Final = re.compile(r"(?:DATETIME|INTERVAL)\s*+\((?P<value>[^()]*+)\)[\w\s()]*+", re.IGNORECASE)
INTEGERS: Final = frozenset(map(int, INTEGER_CODES))
"""Types of whole numbers."""
_UNHASHABLE: Final = (TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST, TypeCode.COLLECTION)


def literal_reader(sql_type: SqlType, conversions: Conversions, *, strip_char: bool = False) -> Convert:
    """The function that reads literals of a ROW or collection whose fields are known.

    A ROW becomes a Record, a SET a set if its elements are hashable, other collections lists. Elements are converted
    as columns are.

    Raises:
        DataError: of the function, the text is not a literal of the type.
    """
    read = _reader_of(sql_type, conversions, strip_char)

    def read_literal(text: str) -> Value:
        value, end = read(text, 0)
        if end != len(text):
            raise _unreadable(sql_type)
        return value

    return read_literal


def _unreadable(sql_type: SqlType) -> DataError:
    return DataError(f"not a valid literal of {sql_type}; cast it to lvarchar to select its text")


def _reader_of(sql_type: SqlType, conversions: Conversions, strip: bool) -> _Read:
    if not sql_type.fields:
        read = _scalar_reader(sql_type, conversions, strip)
    elif sql_type.code == TypeCode.ROW:
        read = _or_quoted(_row_reader(sql_type, conversions, strip), sql_type)
    else:
        read = _or_quoted(_collection_reader(sql_type, conversions, strip), sql_type)
    decoder = conversions.decoder_for(sql_type)
    return read if decoder is None else _decoded(read, decoder)


def _decoded(read: _Read, decoder: Convert) -> _Read:
    def read_decoded(text: str, at: int) -> tuple[Value, int]:
        value, at = read(text, at)
        return value if value is None else decoder(value), at

    return read_decoded


def _or_quoted(read: _Read, sql_type: SqlType) -> _Read:
    """A ROW or collection within quotes, as some are within others, or NULL."""

    def read_any(text: str, at: int) -> tuple[Value, int]:
        if text[at : at + 1] in _KEYWORD_STARTS:
            return read(text, at)
        at = _blanks_end(text, at)
        if text[at : at + 1] in ("'", '"'):
            found = _QUOTED.match(text, at)
            inner = "" if found is None else _unquoted(found)
            value, end = read(inner, 0)
            if found is None or end != len(inner):
                raise _unreadable(sql_type)
            return value, found.end()
        if text[at : at + 4].upper() == "NULL":
            return None, _blanks_end(text, at + 4)
        return read(text, at)

    return read_any


def _blanks_end(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()


def _unquoted(found: re.Match[str]) -> str:
    """What is within the quotes of a match of _QUOTED."""
    single, double = found.groups()
    return double.replace('""', '"') if single is None else single.replace("''", "'")


# --- rows and collections -------------------------------------------------------------------------------------------


def _row_reader(sql_type: SqlType, conversions: Conversions, strip: bool) -> _Read:
    readers = [_reader_of(field.type, conversions, strip) for field in sql_type.fields]
    names = [field.name for field in sql_type.fields]
    make = record_maker(sql_type.fields)
    begin = re.compile(r"\s*+ROW\s*+\(", re.IGNORECASE)

    def read(text: str, at: int) -> tuple[Value, int]:
        found = begin.match(text, at)
        if found is None:
            raise _unreadable(sql_type)
        at = found.end() - 1
        values: list[Value] = []
        for reader in readers:
            if text[at : at + 1] != (mark := "," if values else "("):
                raise _unreadable(sql_type)
            try:
                value, at = reader(text, at + len(mark))
            except DataError as error:
                raise DataError(f"field {names[len(values)]!r}: {error}") from error.__cause__
            values.append(value)
        if text[at : at + 1] != ")":
            raise _unreadable(sql_type)
        return make(tuple(values)), _blanks_end(text, at + 1)

    return read


def _collection_reader(sql_type: SqlType, conversions: Conversions, strip: bool) -> _Read:
    element = sql_type.fields[0].type
    reader = _reader_of(element, conversions, strip)
    begin = re.compile(rf"\s*+{_KEYWORDS[sql_type.code]}\s*+\{{", re.IGNORECASE)
    as_set = sql_type.code == TypeCode.SET and _is_hashable(element)
    as_integers = element.kind in INTEGERS and conversions.decoder_for(element) is None

    def read(text: str, at: int) -> tuple[Value, int]:
        found = begin.match(text, at)
        if found is None:
            raise _unreadable(sql_type)
        at = found.end()
        values: list[Value] | None = None
        if as_integers:
            values, end = _integers(text, at)
            at = at if values is None else end
        if values is None:
            values, at = elements(text, at)
        at = _blanks_end(text, at)
        if not as_set:
            return values, at
        try:
            return set(values), at
        except TypeError:  # a value of the user's decoder
            return values, at
        except Exception as error:
            raise DataError(f"the hash of an element raised {type(error).__name__}") from error

    def elements(text: str, at: int) -> tuple[list[Value], int]:
        values: list[Value] = []
        at = _blanks_end(text, at)
        if text[at : at + 1] == "}":
            return values, at + 1
        while True:
            value, at = reader(text, at)
            values.append(value)
            mark = text[at : at + 1]
            at += 1
            if mark == "}":
                return values, at
            if mark != ",":
                raise _unreadable(sql_type)

    return read


def _integers(text: str, at: int) -> tuple[list[Value] | None, int]:
    """The integers up to the next brace, the common case; None if they have to be read one by one."""
    end = text.find("}", at)
    body = text[at:end]
    if end < 0 or not body.isascii() or "_" in body:
        return None, at
    try:
        return [*map(int, body.split(","))], end + 1
    except ValueError:
        return None, at


def _is_hashable(sql_type: SqlType) -> bool:
    if sql_type.code in _UNHASHABLE or sql_type.opaque_name in ("json", "bson"):
        return False
    return all(_is_hashable(field.type) for field in sql_type.fields)


# --- scalars --------------------------------------------------------------------------------------------------------


def _scalar_reader(sql_type: SqlType, conversions: Conversions, strip: bool) -> _Read:
    parse = _parser(sql_type, conversions, strip)

    def read(text: str, at: int) -> tuple[Value, int]:
        found = _QUOTED.match(text, at)
        if found is not None:
            return parse(_unquoted(found)), found.end()
        end = _usual_end(text, at)
        bare = text[at:end].strip()
        if len(bare) == 4 and bare.upper() == "NULL":
            return None, end
        if not bare:
            raise _unreadable(sql_type)
        return parse(bare), end

    return read


def _usual_end(text: str, at: int) -> int:
    """Where a value without quotes ends: before a comma or a bracket that does not belong to it."""
    found = _PLAIN.match(text, at)
    end = at if found is None else found.end()
    return end if text[end : end + 1] in _ENDS else _bare_end(text, at)


def _bare_end(text: str, at: int) -> int:
    """The same for a value with brackets or quotes of its own."""
    depth = 0
    for found in _MARK.finditer(text, at):
        mark = found[0]
        if mark in ("(", "{"):
            depth += 1
        elif mark in (")", "}"):
            if not depth:
                return found.start()
            depth -= 1
        elif mark == "," and not depth:
            return found.start()
    return len(text)


def _parser(sql_type: SqlType, conversions: Conversions, strip: bool) -> ParseField:
    kind = sql_type.kind
    document = document_decoder(sql_type, conversions)
    if document is not None:
        return document
    try:
        parse = parser_for(sql_type, conversions.dbdate)
    except (NotSupportedError, InterfaceError):
        return str  # a large object; a date in a form with two digits of the year
    if conversions.zone is not None:
        parse = attaching(parse, conversions.zone)
    if kind in (TypeCode.DATETIME, TypeCode.INTERVAL):
        return _without_keywords(parse)
    if strip and kind in (TypeCode.CHAR, TypeCode.NCHAR):
        return lambda text: text.rstrip(" ")
    if conversions.integral_decimals and sql_type.scale == 0:
        return _as_integer(parse)
    return parse


def _as_integer(parse: ParseField) -> ParseField:
    def integer(text: str) -> Any:
        number: Any = parse(text)
        # An int has all the digits that an exponent stands for; a DECIMAL is less than 1E+126 (documented).
        if number.adjusted() > _MAX_EXPONENT:
            raise DataError("a DECIMAL beyond the range of its type")
        return int(number)

    return integer


_MAX_EXPONENT: Final = 125


def _without_keywords(parse: ParseField) -> ParseField:
    def without_keywords(text: str) -> Value:
        found = _QUALIFIED.fullmatch(text)
        return parse(text if found is None else found["value"])

    return without_keywords
