"""The text of a type, as in descriptions of rows and collections -> its SqlType. Never: a value, the catalog.

Source: documented: Guide to SQL Syntax, Data Type; observed: descriptions such as ``SET(integer not null)`` and
``ROW(name varchar(20),age integer)``
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, wraps
from typing import Any, Final, TypeVar, cast

from aioifx.errors import InterfaceError
from aioifx.sqltypes import (
    EXTENDED_BLOB,
    EXTENDED_BOOLEAN,
    EXTENDED_CLOB,
    EXTENDED_LVARCHAR,
    FLOATING_SCALE,
    SIMPLE_TYPES,
    Column,
    Qualifier,
    SqlType,
    TypeCode,
    Unit,
    datetime_qualifier,
)

F = TypeVar("F", bound=Callable[..., Any])

MAX_LEVELS: Final = 32
"""Types within types; deeper ones are unknown, so that no reader recurses further."""

MAX_FIELDS: Final = 5_000
"""Fields of one type, with those of its fields; a type with more is unknown."""

MAX_TEXT: Final = 1 << 16
"""Characters of a type's text."""

_MAX_CACHED: Final = 512
"""Characters of a text whose type is cached."""

_TOKEN: Final = re.compile(
    r"""\s*+(?:(?P<word>[^\W\d][\w$]*+)|(?P<number>\d{1,5})(?!\d)|"(?P<name>(?:[^"]|"")*+)"|'(?P<owner>[^']*+)'"""
    r"""|(?P<mark>[(),.]))"""
)

STRUCTURED: Final = (TypeCode.ROW, TypeCode.SET, TypeCode.MULTISET, TypeCode.LIST)
"""Types that consist of others."""

COLLECTIONS: Final = {"set": TypeCode.SET, "multiset": TypeCode.MULTISET, "list": TypeCode.LIST}

_FIXED: Final[Mapping[str, SqlType]] = {
    **SIMPLE_TYPES,
    "int": SIMPLE_TYPES["integer"],
    "double": SIMPLE_TYPES["float"],
    "real": SIMPLE_TYPES["smallfloat"],
    "byte": SqlType(TypeCode.BYTE, 56),
    "text": SqlType(TypeCode.TEXT, 56),
    "boolean": SqlType(TypeCode.UDTFIXED, 1, EXTENDED_BOOLEAN, "informix", "boolean"),
    "blob": SqlType(TypeCode.UDTFIXED, 72, EXTENDED_BLOB, "informix", "blob"),
    "clob": SqlType(TypeCode.UDTFIXED, 72, EXTENDED_CLOB, "informix", "clob"),
    "json": SqlType(TypeCode.UDTVAR, 4096, 0, "informix", "json"),
    "bson": SqlType(TypeCode.UDTVAR, 4096, 0, "informix", "bson"),
}
BUILT_IN_NAMES: Final = frozenset(name for name in (*_FIXED, "lvarchar"))
"""Names of types that need no catalog."""

_NUMERIC: Final = {
    "decimal": TypeCode.DECIMAL,
    "dec": TypeCode.DECIMAL,
    "numeric": TypeCode.DECIMAL,
    "money": TypeCode.MONEY,
}
_CHARACTER: Final = {
    "char": TypeCode.CHAR,
    "character": TypeCode.CHAR,
    "nchar": TypeCode.NCHAR,
    "varchar": TypeCode.VARCHAR,
    "nvarchar": TypeCode.NVARCHAR,
}
_SECOND_WORDS: Final = {"double": "precision", "character": "varying"}
_UNITS: Final = {unit.name.lower(): unit for unit in Unit}


class _NotATypeError(Exception):
    """The text is not that of a type."""


def parse_type(text: str) -> SqlType | None:
    """The type; None if the text is not understood.

    A name of none of the built-in types gives an opaque type with this name, which the catalog knows more about.
    """
    if len(text) > MAX_TEXT:
        return None
    return _parsed(text) if len(text) > _MAX_CACHED else _cached(text)


def _parsed(text: str) -> SqlType | None:
    parser = _Parser(text)
    try:
        sql_type = parser.type(MAX_LEVELS)
        return sql_type if parser.is_at_end else None
    except (_NotATypeError, InterfaceError):
        return None


_cached: Final = lru_cache(maxsize=1024)(_parsed)


def may_be_large(sql_type: SqlType | None) -> bool:
    """Whether a type is too large to be kept by a cache of the process."""
    return sql_type is not None and bool(sql_type.fields or len(sql_type.extended_name) > _MAX_CACHED)


def cached_by_type(function: F) -> F:
    """`lru_cache` for a function of a SqlType and more; a type that `may_be_large` is not kept."""
    cached: Callable[..., Any] = lru_cache(maxsize=1024)(function)

    @wraps(function)
    def call(sql_type: SqlType | None, *args: Any, **kwargs: Any) -> Any:
        return (function if may_be_large(sql_type) else cached)(sql_type, *args, **kwargs)

    return cast(F, call)


class _Parser:
    """A position in the text of a type."""

    def __init__(self, text: str) -> None:
        self._text = text.rstrip()
        self._at = 0
        self._fields = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._text)

    def type(self, levels: int) -> SqlType:
        if not levels:
            raise _NotATypeError
        start = self._at
        name = self._word()
        word = name.lower()
        if word == "row" and self._accept("("):
            fields = [self._field(levels)]
            while self._accept(","):
                fields.append(self._field(levels))
            self._expect(")")
            return self._composed(TypeCode.ROW, start, tuple(fields))
        if word in COLLECTIONS and self._accept("("):
            element = self._column("", levels)
            self._expect(")")
            return self._composed(COLLECTIONS[word], start, (element,))
        return self._scalar(name, word)

    def _composed(self, code: int, start: int, fields: tuple[Column, ...]) -> SqlType:
        name = self._text[start : self._at].strip()
        return SqlType(code, 0, extended_name=name, fields=fields)

    def _field(self, levels: int) -> Column:
        return self._column(self._name(), levels)

    def _column(self, name: str, levels: int) -> Column:
        self._fields += 1
        if self._fields > MAX_FIELDS:
            raise _NotATypeError
        sql_type = self.type(levels - 1)
        nullable = not self._accept_word("not")
        if not nullable and not self._accept_word("null"):
            raise _NotATypeError
        return Column(name, sql_type, nullable)

    def _scalar(self, name: str, word: str) -> SqlType:
        if word in _SECOND_WORDS and self._accept_word(_SECOND_WORDS[word]) and word == "character":
            word = "varchar"
        if word in ("datetime", "interval"):
            return self._qualified(word)
        known = _FIXED.get(word)
        if known is not None:
            self._sizes()  # SERIAL(1), FLOAT(8)
            return known
        if word in _NUMERIC:
            return self._numeric(_NUMERIC[word])
        if word in _CHARACTER:
            sizes = self._sizes() or (1,)
            return SqlType(_CHARACTER[word], sum(sizes[1:]) << 8 | sizes[0])
        if word == "lvarchar":
            size = (self._sizes() or (2048,))[0]
            return SqlType(TypeCode.UDTVAR, size, EXTENDED_LVARCHAR, "informix", "lvarchar")
        owner, name = (name, self._name()) if self._accept(".") else ("", word)
        return SqlType(TypeCode.UDTVAR, 0, owner=owner, extended_name=name)

    def _numeric(self, code: int) -> SqlType:
        sizes = self._sizes()
        if code == TypeCode.MONEY:
            precision, scale = (*sizes, *(16, 2)[len(sizes) :])[:2]
        else:
            precision, scale = (*sizes, *(16, FLOATING_SCALE)[len(sizes) :])[:2]
        if not 1 <= precision <= 32 or not (scale <= precision or scale == FLOATING_SCALE):
            raise _NotATypeError
        return SqlType(code, precision << 8 | scale)

    def _qualified(self, word: str) -> SqlType:
        first = self._unit()
        leading = (self._sizes() or (0,))[0]
        if not self._accept_word("to"):
            raise _NotATypeError
        last = self._unit()
        if last < first or (word == "interval" and first <= Unit.MONTH < last):
            raise _NotATypeError
        scale = (self._sizes() or (3,))[0] if last == Unit.FRACTION else 0
        if word == "datetime":
            return SqlType(TypeCode.DATETIME, datetime_qualifier(first, last, scale).encoded)
        if first == Unit.FRACTION:
            leading = scale
        qualifier = Qualifier(first, last, leading or (4 if first == Unit.YEAR else 2), scale)
        if (
            not 1 <= qualifier.leading <= 9
            or scale > 5
            or Qualifier.from_encoded(qualifier.encoded) != qualifier
        ):
            raise _NotATypeError
        return SqlType(TypeCode.INTERVAL, qualifier.encoded)

    # -- tokens -------------------------------------------------------------------------------------------------------

    def _next(self, accepts: Callable[[re.Match[str]], bool]) -> re.Match[str] | None:
        found = _TOKEN.match(self._text, self._at)
        if found is None or not accepts(found):
            return None
        self._at = found.end()
        return found

    def _accept(self, mark: str) -> bool:
        return self._next(lambda found: found["mark"] == mark) is not None

    def _accept_word(self, word: str) -> bool:
        return self._next(lambda found: (found["word"] or "").lower() == word) is not None

    def _expect(self, mark: str) -> None:
        if not self._accept(mark):
            raise _NotATypeError

    def _word(self) -> str:
        """A word, or the owner before the name of a type."""
        found = self._next(lambda found: found["mark"] is None and found["number"] is None)
        if found is None:
            raise _NotATypeError
        if found["name"] is not None:
            return found["name"].replace('""', '"')
        return found["word"] or found["owner"] or ""

    def _name(self) -> str:
        """The name of a field or type: in lower case, unless it is delimited."""
        at = self._at
        name = self._word()
        return name if self._text[at : self._at].strip().startswith('"') else name.lower()

    def _unit(self) -> Unit:
        unit = _UNITS.get(self._word().lower())
        if unit is None:
            raise _NotATypeError
        return unit

    def _sizes(self) -> tuple[int, ...]:
        """One or two numbers in parentheses; none without them."""
        if not self._accept("("):
            return ()
        sizes = [self._number()]
        if self._accept(","):
            sizes.append(self._number())
        self._expect(")")
        return tuple(sizes)

    def _number(self) -> int:
        found = self._next(lambda found: found["number"] is not None)
        if found is None:
            raise _NotATypeError
        return int(found["number"])


def structured(sql_type: SqlType) -> SqlType:
    """The type with the fields that its own name describes, if it does and they are not there yet."""
    if sql_type.fields or sql_type.code not in STRUCTURED or not sql_type.extended_name:
        return sql_type
    parsed = parse_type(sql_type.extended_name)
    return sql_type if parsed is None or not parsed.fields else replace(sql_type, fields=parsed.fields)
