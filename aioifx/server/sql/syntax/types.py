"""Declared types and qualifiers: DECIMAL(8,2), DATETIME YEAR TO SECOND. Never: the type of an expression.

Source: names, defaults and limits are documented (SQL Reference, data types). Codes of sizes out of range: -235, -651
and -366 are documented (finderr); -650 is observed of VARCHAR; assumed: -650 of LVARCHAR, -201 of the others.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from aioifx.server.sql.builtin_types import (
    BLOB,
    BYTE,
    CLOB,
    SYSTEM_OWNER,
    TEXT,
    boolean,
    bson,
    json,
    lvarchar,
)
from aioifx.server.sql.complex_types import COLLECTIONS, TypeName, collection_of, row_of
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.syntax.token_stream import SYNTAX_ERROR, TokenStream, parse_owner, parse_qualified_name
from aioifx.server.sql.syntax.tokens import Token, TokenKind
from aioifx.sqltypes import (
    FLOATING_SCALE,
    SERIALS,
    SIMPLE_TYPES,
    Qualifier,
    SqlType,
    TypeCode,
    Unit,
    datetime_qualifier,
)

BAD_QUALIFIER: Final = -1268
_LONG_CHAR: Final = -235
_LONG_VARCHAR: Final = -650
_BIG_RESERVE: Final = -651
_BIG_SCALE: Final = -366

_SERIALS: Final = {name: each for name, each in SIMPLE_TYPES.items() if each.code in SERIALS}
_FIXED: Final = {
    **{name: each for name, each in SIMPLE_TYPES.items() if name not in (*_SERIALS, "float")},
    "int": SIMPLE_TYPES["integer"],
    "real": SIMPLE_TYPES["smallfloat"],
    "boolean": boolean(),
    "byte": BYTE,
    "text": TEXT,
    "blob": BLOB,
    "clob": CLOB,
    "json": json(),
    "bson": bson(),
}
_FLOAT: Final = SIMPLE_TYPES["float"]
_DECIMALS: Final = frozenset({"decimal", "dec", "numeric"})
_SIZED: Final = {"char": TypeCode.CHAR, "character": TypeCode.CHAR, "nchar": TypeCode.NCHAR}
_VARYING: Final = {"varchar": TypeCode.VARCHAR, "nvarchar": TypeCode.NVARCHAR}

_COLLECTIONS: Final = {code.name.lower(): code for code in COLLECTIONS}

_NOT_EXECUTED: Final = frozenset({"collection"})
"""Built-in types that are not supported here."""

_KNOWN: Final = frozenset(
    {*_FIXED, *_SERIALS, *_DECIMALS, *_SIZED, *_VARYING, *_NOT_EXECUTED}
    | {"money", "lvarchar", "float", "double", "datetime", "interval", "row", *_COLLECTIONS}
)
_EXTENDED: Final = ("boolean", "lvarchar", "blob", "clob", "json", "bson")
"""Built-in types that have an owner (observed: ``"informix".boolean`` in dbschema's output)."""
_AFTER_TYPE: Final = tuple("default not null primary unique distinct check references before in".split())

MAX_CHAR: Final = 32_767
MAX_VARCHAR: Final = 255
MAX_LVARCHAR: Final = 32_739
MAX_PRECISION: Final = 32
MAX_LEADING: Final = 9
"""Maximum digits of the first field of an INTERVAL."""
MAX_FRACTION: Final = 5


class DeclaredType(NamedTuple):
    """A type as a column has it."""

    type: SqlType
    serial_start: int | None = None
    """The n of SERIAL(n)."""
    space: str = ""
    """The blobspace of a BYTE or TEXT column; empty for IN TABLE, which is the default."""


def parse_declared_type(s: TokenStream) -> DeclaredType:
    """Read a column's type."""
    declared = _type_with_start(s)
    if declared.type in (BYTE, TEXT) and s.accept("in"):
        return declared if s.accept("table") else declared._replace(space=s.name().text)
    if isinstance(declared.type, TypeName) and s.at_name() and not s.at_any(*_AFTER_TYPE):
        raise s.refusal()
    return declared


def parse_type(s: TokenStream) -> SqlType:
    """Read a type outside a column declaration, such as in a cast."""
    return _type_with_start(s).type


def _type_with_start(s: TokenStream) -> DeclaredType:
    """Raise SqlError -999 if a built-in type that is not supported."""
    if s.token.text == SYSTEM_OWNER and s.at(".", ahead=1) and s.at_any(*_EXTENDED, ahead=2):
        parse_owner(s)
    token = s.token
    if token.kind is not TokenKind.NAME:
        if s.at(".", ahead=1):  # a quoted owner
            return DeclaredType(_named_type(s))
        raise s.refusal()
    word = token.text
    if word in _NOT_EXECUTED:
        raise s.unsupported(word.upper())
    if word not in _KNOWN:
        return DeclaredType(_named_type(s))
    s.advance()
    if word in _SERIALS:
        return DeclaredType(_SERIALS[word], _size(s, 0, 2**63 - 1) if s.at("(") else None)
    return DeclaredType(_plain_type(s, token))


def _named_type(s: TokenStream) -> TypeName:
    """Read the name of a type that the database defines."""
    name = parse_qualified_name(s)
    if name.database:
        raise SqlError(-999, token=str(name), offset=name.offset)
    return TypeName(TypeCode.NULL, owner=name.owner, extended_name=name.name, offset=name.offset)


class RowField(NamedTuple):
    """One field of a ROW type."""

    name: str
    type: SqlType
    is_required: bool


def parse_row_fields(s: TokenStream) -> tuple[RowField, ...]:
    """Read ``(name type [NOT NULL], ..)``."""
    s.descend()
    fields = s.enclosed(_row_field)
    s.ascend()
    return fields


def _row_field(s: TokenStream) -> RowField:
    name = s.name()
    type_ = _part_type(s)
    return RowField(name.text, type_, s.accept("not", "null") is not None)


def _part_type(s: TokenStream) -> SqlType:
    """Read the type of a field or element.

    Raises:
        SqlError: -201, SERIAL (documented: not allowed; the number is assumed).
    """
    token = s.token
    type_ = parse_type(s)
    if token.text in _SERIALS:
        raise SqlError(-201, offset=token.offset)
    return type_


def _row(s: TokenStream, token: Token) -> SqlType:
    fields = parse_row_fields(s)
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        raise SqlError(-328, token=max(names, key=names.count), offset=token.offset)
    return row_of(names, [field.type for field in fields], [field.is_required for field in fields])


def _collection(s: TokenStream, code: TypeCode) -> SqlType:
    """``(type NOT NULL)``; NOT NULL is required (documented)."""
    s.descend()
    s.expect("(")
    element = _part_type(s)
    s.expect("not", "null", ")")
    s.ascend()
    return collection_of(code, element)


def _plain_type(s: TokenStream, token: Token) -> SqlType:
    word = token.text
    if word == "boolean" and s.at("("):
        _size(s, 1, 1)  # observed: BOOLEAN(1) in public scripts for Informix
    if word in _FIXED:
        return _FIXED[word]
    if word in _DECIMALS:
        return _decimal(s)
    if word == "money":
        return _money(s)
    if word in _SIZED:
        return _character(s, _SIZED[word])
    if word in _VARYING:
        return _varying(s, _VARYING[word])
    if word == "lvarchar":
        return lvarchar(_size(s, 1, MAX_LVARCHAR, _LONG_VARCHAR)) if s.at("(") else lvarchar()
    if word == "float":
        if s.at("("):
            _size(s, 1, MAX_VARCHAR)  # read and ignored (documented: FLOAT(n))
        return _FLOAT
    if word == "double":
        s.expect("precision")
        return _FLOAT
    if word == "datetime":
        return SqlType(TypeCode.DATETIME, parse_datetime_qualifier(s).encoded)
    if word == "interval":
        return SqlType(TypeCode.INTERVAL, parse_interval_qualifier(s).encoded)
    if word == "row":
        return _row(s, token)
    return _collection(s, _COLLECTIONS[word])


def _size(s: TokenStream, low: int, high: int, beyond: int = SYNTAX_ERROR) -> int:
    """Read ``(n)``."""
    s.expect("(")
    size = _number(s, low, high, beyond)
    s.expect(")")
    return size


def _number(s: TokenStream, low: int, high: int, beyond: int) -> int:
    """Read a number.

    Args:
        beyond: the SQLCODE of one above *high*.
    """
    token = s.token
    number = s.integer()
    if number < low:
        raise s.refusal(token)
    if number > high:
        raise SqlError(beyond, offset=token.offset)
    return number


def _pair(s: TokenStream, high: int, default: int, beyond: tuple[int, int]) -> tuple[int, int]:
    """Read ``(first [, second])``; the second is at most the first.

    Args:
        beyond: the SQLCODEs of a number that is too large.
    """
    s.expect("(")
    first = _number(s, 1, high, beyond[0])
    second = _number(s, 0, first, beyond[1]) if s.accept(",") else default
    s.expect(")")
    return first, second


_DIGITS: Final = SYNTAX_ERROR, _BIG_SCALE


def _decimal(s: TokenStream) -> SqlType:
    precision, scale = _pair(s, MAX_PRECISION, FLOATING_SCALE, _DIGITS) if s.at("(") else (16, FLOATING_SCALE)
    return SqlType(TypeCode.DECIMAL, precision * 256 + scale)


def _money(s: TokenStream) -> SqlType:
    precision, scale = _pair(s, MAX_PRECISION, 2, _DIGITS) if s.at("(") else (16, 2)
    return SqlType(TypeCode.MONEY, precision * 256 + min(scale, precision))


def _character(s: TokenStream, code: TypeCode) -> SqlType:
    if code == TypeCode.CHAR and s.accept("varying"):
        return _varying(s, TypeCode.VARCHAR)
    return SqlType(code, _size(s, 1, MAX_CHAR, _LONG_CHAR) if s.at("(") else 1)


def _varying(s: TokenStream, code: TypeCode) -> SqlType:
    """The default size is 1 (documented: VARCHAR(m,r))."""
    beyond = _LONG_VARCHAR, _BIG_RESERVE
    size, reserved = _pair(s, MAX_VARCHAR, 0, beyond) if s.at("(") else (1, 0)
    return SqlType(code, reserved * 256 + size)


# --- Qualifiers --------------------------------------------------------------


def at_unit(s: TokenStream, ahead: int = 0) -> bool:
    """Whether a word for a field comes next: YEAR, MONTH, ..., FRACTION."""
    token = s.ahead(ahead)
    return token.kind is TokenKind.NAME and token.text.upper() in Unit.__members__


def at_qualifier(s: TokenStream, ahead: int = 0) -> bool:
    """Whether ``unit TO`` or ``unit(n) TO`` comes next."""
    if not at_unit(s, ahead):
        return False
    return s.at("to", ahead=ahead + 1) or (s.at("(", ahead=ahead + 1) and s.at("to", ahead=ahead + 4))


def parse_unit(s: TokenStream) -> Unit:
    """Read the word for a field."""
    if not at_unit(s):
        raise s.refusal()
    return Unit[s.advance().text.upper()]


def parse_datetime_qualifier(s: TokenStream) -> Qualifier:
    """Read ``first TO last`` after DATETIME or CURRENT."""
    start = s.token
    first = parse_unit(s)
    s.expect("to")
    last, scale = _last_field(s)
    if first > last:
        raise SqlError(BAD_QUALIFIER, offset=start.offset)
    return datetime_qualifier(first, last, scale)


def parse_interval_qualifier(s: TokenStream) -> Qualifier:
    """Read ``first[(digits)] TO last`` after INTERVAL."""
    start = s.token
    first = parse_unit(s)
    leading = 4 if first == Unit.YEAR else 2
    if first != Unit.FRACTION and s.at("("):
        leading = _precision(s, MAX_LEADING)
    s.expect("to")
    last, scale = _last_field(s)
    if first > last or (first <= Unit.MONTH) != (last <= Unit.MONTH):
        raise SqlError(BAD_QUALIFIER, offset=start.offset)
    return Qualifier(first, last, scale if first == Unit.FRACTION else leading, scale)


def _last_field(s: TokenStream) -> tuple[Unit, int]:
    last = parse_unit(s)
    if last != Unit.FRACTION:
        return last, 0
    return last, _precision(s, MAX_FRACTION) if s.at("(") else 3


def _precision(s: TokenStream, high: int) -> int:
    token = s.ahead(1)
    s.expect("(")
    digits = s.integer()
    s.expect(")")
    if not 1 <= digits <= high:
        raise SqlError(BAD_QUALIFIER, offset=token.offset)
    return digits
