"""The SQLite storage form of a type, and the integer or text for a type in SQLite text. Never: a value.

SQLite functions get values without their types. If the result depends on a type, the translator writes the
type's number as a literal argument: ``ifx_cast(c, 851975, 131072)``. Rows, collections and documents, whose types are
not a number, have a text: ``ifx_cast(c, 851975, 'SET(integer not null)')``.
"""

from __future__ import annotations

from enum import Enum, auto
from functools import lru_cache
from typing import Final, TypeAlias

from aioifx.server.sql.builtin_types import EXTENDED_BSON, EXTENDED_JSON, bson, json
from aioifx.server.sql.complex_types import ComplexType, definition
from aioifx.server.sql.syntax.parser import parse_type_text
from aioifx.sqltypes import (
    EXTENDED_BLOB,
    EXTENDED_CLOB,
    INTEGER_CODES,
    Qualifier,
    SqlType,
    TypeCode,
)

TypeNumber: TypeAlias = int | str
"""A type in SQLite text."""

Stored: TypeAlias = int | float | str | bytes | None
"""A value as SQLite stores it."""


class Form(Enum):
    """A storage form."""

    INTEGER = auto()
    """int."""
    FLOAT = auto()
    """float."""
    DECIMAL = auto()
    """str: fixed notation without redundant zeros, so that equal values have equal text."""
    CHAR = auto()
    """str without trailing blanks."""
    VARCHAR = auto()
    """str as it is."""
    DATE = auto()
    """int: days since 1899-12-31."""
    DATETIME = auto()
    """str: ISO form restricted to the qualifier, ``2026-05-04 12:34:56.123``, ``12:34``, ``.123``."""
    MONTHS = auto()
    """int: an INTERVAL of the YEAR TO MONTH family, in months."""
    TICKS = auto()
    """int: an INTERVAL of the DAY TO FRACTION family, in units of 10 microseconds."""
    BOOLEAN = auto()
    """str: ``t`` or ``f``."""
    SIMPLE_LARGE = auto()
    """bytes. In the rows of a cursor: str, the size and number of a kept value (`spool`)."""
    SMART_LARGE = auto()
    """int: the number of a smart large object (`smart_objects`)."""
    COMPLEX = auto()
    """str: a JSON array of the parts of a row or collection, each in its own storage form."""
    JSON = auto()
    """str: the text."""
    BSON = auto()
    """str: the bytes of the document in hexadecimal digits."""


_FORMS: Final[dict[int, Form]] = {
    **dict.fromkeys(INTEGER_CODES, Form.INTEGER),
    TypeCode.FLOAT: Form.FLOAT,
    TypeCode.SMALLFLOAT: Form.FLOAT,
    TypeCode.DECIMAL: Form.DECIMAL,
    TypeCode.MONEY: Form.DECIMAL,
    TypeCode.CHAR: Form.CHAR,
    TypeCode.NCHAR: Form.CHAR,
    TypeCode.VARCHAR: Form.VARCHAR,
    TypeCode.NVARCHAR: Form.VARCHAR,
    TypeCode.LVARCHAR: Form.VARCHAR,
    TypeCode.DATE: Form.DATE,
    TypeCode.DATETIME: Form.DATETIME,
    TypeCode.BOOLEAN: Form.BOOLEAN,
    TypeCode.BYTE: Form.SIMPLE_LARGE,
    TypeCode.TEXT: Form.SIMPLE_LARGE,
    TypeCode.SET: Form.COMPLEX,
    TypeCode.MULTISET: Form.COMPLEX,
    TypeCode.LIST: Form.COMPLEX,
    TypeCode.ROW: Form.COMPLEX,
}

TEXT_FORMS: Final = frozenset({Form.CHAR, Form.VARCHAR})
NUMBER_FORMS: Final = frozenset({Form.INTEGER, Form.FLOAT, Form.DECIMAL})
INTERVAL_FORMS: Final = frozenset({Form.MONTHS, Form.TICKS})


def form_of(sql_type: SqlType) -> Form | None:
    """The storage form of a type; None for a type that this server does not store."""
    if sql_type.code == TypeCode.INTERVAL:
        return Form.MONTHS if Qualifier.from_encoded(sql_type.length).is_year_month else Form.TICKS
    if sql_type.extended_id in (EXTENDED_BLOB, EXTENDED_CLOB):
        return Form.SMART_LARGE
    if sql_type.code == TypeCode.UDTVAR:
        known = _DOCUMENTS.get(sql_type.extended_id) or _DOCUMENTS.get(sql_type.source)
        if known is not None:
            return known
    return _FORMS.get(sql_type.kind)


_DOCUMENTS: Final = {EXTENDED_JSON: Form.JSON, EXTENDED_BSON: Form.BSON}
_DOCUMENT_TYPES: Final = {Form.JSON: json(), Form.BSON: bson()}


def type_number(sql_type: SqlType) -> TypeNumber:
    """The integer or text for a type in SQLite text."""
    if isinstance(sql_type, ComplexType):
        return definition(sql_type)
    if sql_type.code == TypeCode.UDTVAR and (form := form_of(sql_type)) in _DOCUMENT_TYPES:
        return form.name.lower()
    return int(sql_type.kind) << 16 | sql_type.length


@lru_cache(maxsize=4096)
def numbered_type(number: TypeNumber) -> SqlType:
    """The type for an integer or text from `type_number`."""
    if isinstance(number, str):
        return parse_type_text(number)
    return SqlType(number >> 16, number & 0xFFFF)
