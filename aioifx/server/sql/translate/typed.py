"""A translated expression with its type: literals, casts, comparisons. Never: names of columns."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from aioifx.server.sql.complex_types import is_distinct
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.frozen import Frozen
from aioifx.server.sql.model import type_rules
from aioifx.server.sql.model.storage import Form, TypeNumber, form_of, type_number
from aioifx.server.sql.model.type_rules import (
    DATE,
    INTEGER,
    INTERVALS,
    NUMERIC,
    Family,
    are_comparable,
    char,
    decimal,
    family_of,
    is_padded,
    is_same_distinct,
    qualifier_of,
    size_of,
    varchar,
)
from aioifx.server.sql.runtime.decimals import decimal_text, fit_decimal
from aioifx.server.sql.runtime.numerics import RANGES
from aioifx.server.sql.sqlite.tree import NULL, Literal, Node, Operation, call
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.sqlite_ddl import collated
from aioifx.sqltypes import SqlType, TypeCode

BIGGEST: Final = 2**63 - 1


class Typed(Frozen):
    """An expression of SQLite with the Informix type of its value."""

    sql: Node
    type: SqlType | None
    """None for NULL without a cast and for a parameter that no context has given a type."""
    is_nullable: bool = True
    constant: int | Decimal | str | None = None
    """The value of a literal number or text."""
    is_parameter: bool = False

    @property
    def known_type(self) -> SqlType:
        """The type, which is required here.

        Raises:
            SqlError: -201.
        """
        if self.type is None:
            raise SqlError(-201)
        return self.type


UNTYPED_NULL: Final = Typed(NULL, None)


def number(value: int | Decimal) -> Literal:
    """A literal number in its storage form."""
    return Literal(value if isinstance(value, int) else decimal_text(value))


# --- One value, another type ------------------------------------------------------------------------------------------


def is_stored_alike(source: SqlType, target: SqlType) -> bool:
    """Whether every value of *source* is a value of *target* in the same storage form."""
    if type_number(source) == type_number(target):
        return True
    family = family_of(source)
    if family is not family_of(target):
        return False
    match family:
        case Family.INTEGER:
            return _greatest(source) <= _greatest(target)
        case Family.FLOAT:
            return target.code == TypeCode.FLOAT
        case Family.DECIMAL:
            return target == decimal()
        case Family.TEXT:
            return is_padded(source) == is_padded(target) and size_of(source) <= size_of(target)
        case Family.DATETIME | Family.MONTHS | Family.TIME | Family.ROW | Family.COLLECTION | Family.DOCUMENT:
            return False
        case _:
            return True


def _greatest(type_: SqlType) -> int:
    return RANGES[type_.code].highest if type_.code in RANGES else BIGGEST


def folded(value: Typed, target: SqlType) -> Literal | None:
    """A literal number in the storage form of a numeric type; None if it is not a number, or not exact."""
    constant = value.constant
    if constant is None or isinstance(constant, str):
        return None
    family = family_of(target)
    if family is Family.INTEGER and constant == int(constant) and abs(int(constant)) <= _greatest(target):
        return Literal(int(constant))
    if family is Family.FLOAT and target.code == TypeCode.FLOAT:
        return Literal(float(constant))
    if target == decimal():
        return Literal(decimal_text(Decimal(constant)))
    return None


def cast(value: Typed, target: SqlType) -> Node:
    """The value as one of type *target*, in that type's storage form."""
    if value.type is None or is_stored_alike(value.type, target):
        return value.sql
    literal = folded(value, target)
    if literal is not None:
        return literal
    return call("ifx_cast", value.sql, _source_number(value), type_number(target))


def converted(value: Typed, target: SqlType) -> Typed:
    """The value cast to *target*, with its type."""
    return Typed(cast(value, target), target, value.is_nullable)


def assigned(value: Typed, target: SqlType) -> Node:
    """The value as INSERT and UPDATE store it in a column of type *target*."""
    if value.type is None or value.is_parameter:
        return value.sql
    require_assignable(value.type, target)
    if is_stored_alike(value.type, target):
        return value.sql
    literal = folded(value, target)
    if literal is not None:
        return literal
    return call("ifx_assign", value.sql, _source_number(value), type_number(target))


def require_assignable(source: SqlType, target: SqlType) -> None:
    """Refuse an assignment that needs an explicit cast.

    Raises:
        SqlError: -9634, between a DISTINCT type and any other (documented; its number is assumed), or from a text to
            BSON.
    """
    needs_cast = not is_same_distinct(source, target)
    if needs_cast or (family_of(source) is Family.TEXT and form_of(target) is Form.BSON):
        raise SqlError(_NO_CAST)


_NO_CAST: Final = -9634


def require_castable(source: SqlType, target: SqlType, offset: int) -> None:
    """Refuse a cast to a DISTINCT type from a type that is not its source, and the reverse, and from text to BSON.

    Raises:
        SqlError: -9634 (documented: ``70::num_type`` over NUMERIC is an error; its number is assumed).
    """
    if family_of(source) is Family.TEXT and form_of(target) is Form.BSON:
        raise SqlError(_NO_CAST, offset=offset)
    if is_same_distinct(source, target):
        return
    is_base = family_of(source) is family_of(target) and not (is_distinct(source) and is_distinct(target))
    is_step = source.extended_id == target.source or target.extended_id == source.source
    if not is_base and not (is_step and is_distinct(source) and is_distinct(target)):
        raise SqlError(_NO_CAST, offset=offset)


def _source_number(value: Typed) -> TypeNumber:
    """The number of the value's type; a literal text is not a CHAR without its blanks."""
    if isinstance(value.constant, str):
        return type_number(varchar(size_of(value.known_type)))
    return type_number(value.known_type)


def _require_scalar(value: Typed) -> None:
    """Refuse a row, collection or document as a text (assumed: no function for these types)."""
    if value.type is not None and family_of(value.type) in (Family.ROW, Family.COLLECTION, Family.DOCUMENT):
        raise SqlError(-674)


def text_of(value: Typed) -> Node:
    """The value written as text, a CHAR with its blanks.

    Raises:
        SqlError: -674, a row, collection or document.
    """
    _require_scalar(value)
    if value.type is None or (family_of(value.type) is Family.TEXT and not is_padded(value.type)):
        return value.sql
    if isinstance(value.constant, str) and not value.constant.endswith(" "):
        return value.sql
    return call("ifx_text", value.sql, type_number(value.type))


def unpadded_text_of(value: Typed) -> Node:
    """The value written as text, a CHAR without its blanks, as for LIKE and MATCHES (assumed); as `text_of`."""
    _require_scalar(value)
    if value.type is None or family_of(value.type) is Family.TEXT:
        return value.sql
    return call("ifx_text", value.sql, type_number(value.type))


def number_of(value: Typed) -> Typed:
    """The value as a number; a text is converted, or -1213 at run time."""
    if value.type is None or family_of(value.type) in NUMERIC:
        return value
    return converted(value, decimal())


# --- Two values -------------------------------------------------------------------------------------------------------


def comparison(left: Typed, operator: str, right: Typed, offset: int) -> Operation:
    """A comparison by Informix's rules.

    Raises:
        SqlError: -1260, the two types are not comparable; -674, a DISTINCT type and another, or an order of rows or
            collections (assumed: no function of that name for these types).
    """
    if left.type is None or right.type is None:
        return Operation(operator, left.sql, right.sql)
    is_equality = operator in ("=", "<>")
    if not (is_same_distinct(left.type, right.type) or left.is_parameter or right.is_parameter):
        raise SqlError(-674, token=_ROUTINES[operator], offset=offset)
    if not is_equality and not _UNORDERED.isdisjoint((family_of(left.type), family_of(right.type))):
        raise SqlError(-674, token=_ROUTINES[operator], offset=offset)
    if not are_comparable(left.type, right.type):
        raise SqlError(-1260, offset=offset)
    one, other = beside(left, right.type), beside(right, left.type)
    types = one.known_type, other.known_type
    if are_compared_by_sqlite(*types):
        return Operation(operator, collated(one.sql, types[0]), other.sql)
    numbers = type_number(types[0]), type_number(types[1])
    order = call("ifx_compare", one.sql, numbers[0], other.sql, numbers[1])
    return Operation(operator, order, Literal(0))


_UNORDERED: Final = frozenset({Family.ROW, Family.COLLECTION})
_ROUTINES: Final = {
    "=": "equal",
    "<>": "notequal",
    "<": "lessthan",
    "<=": "lessthanorequal",
    ">": "greaterthan",
    ">=": "greaterthanorequal",
}
"""The functions of the operators (documented: operator binding)."""


def beside(value: Typed, other: SqlType) -> Typed:
    """A literal in the form of the type that it is compared with, so that SQLite may use an index."""
    family = family_of(other)
    if isinstance(value.constant, str):
        if family is Family.TEXT or family in NUMERIC:
            return _text_as_number(value, value.constant, other) if family in NUMERIC else value
        return Typed(cast(value, other), other)
    if value.constant is None:
        return value
    literal = folded(value, decimal() if family is Family.DECIMAL else other)
    return value if literal is None else Typed(literal, other, is_nullable=False)


def _text_as_number(value: Typed, constant: str, other: SqlType) -> Typed:
    text = constant.strip()
    if family_of(other) is Family.INTEGER and text.isdecimal() and len(text) < 19:
        return Typed(Literal(int(text)), other, is_nullable=False)
    return Typed(cast(value, decimal()), decimal(), is_nullable=False)


def are_compared_by_sqlite(left: SqlType, right: SqlType) -> bool:
    """Whether SQLite's own operators (with the collation of the type) give Informix's results."""
    families = {family_of(left), family_of(right)}
    if len(families) > 1:
        return families in ({Family.INTEGER, Family.FLOAT}, {Family.INTEGER, Family.DATE})
    (family,) = families
    if family is Family.DATETIME:
        return qualifier_of(left) == qualifier_of(right)
    return family in _COMPARED_BY_SQLITE


_COMPARED_BY_SQLITE: Final = frozenset(
    {Family.INTEGER, Family.FLOAT, Family.DECIMAL, Family.TEXT, Family.DATE, Family.BOOLEAN} | INTERVALS
)


# --- Literals and constants of the moment ------------------------------------


def literal_number(value: int | Decimal) -> Typed:
    """An INTEGER; a DECIMAL of the written digits if it has a point or is too long for INTEGER.

    Raises:
        SqlError: -1226, it is larger than any DECIMAL.
    """
    if isinstance(value, int) and abs(value) < 2**31:
        return Typed(number(value), INTEGER, False, value)
    exact = fit_decimal(Decimal(value), type_rules.MAXIMUM_PRECISION, None) if value else Decimal(value)
    _, digits, exponent = exact.as_tuple()
    assert isinstance(exponent, int)
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale, 1)
    type_ = decimal(precision, scale) if precision <= type_rules.MAXIMUM_PRECISION else decimal()
    return Typed(number(exact), type_, False, exact)


def literal_of(text: str, type_: SqlType) -> Typed:
    """DATETIME and INTERVAL literals: their text, read when the statement runs."""
    return Typed(cast(Typed(Literal(text), varchar(len(text))), type_), type_, False)


def session_constant(node: nodes.SessionConstant) -> Typed:
    match node.name:
        case "today":
            return Typed(call("ifx_today"), DATE, False)
        case "user":
            return Typed(call("ifx_user"), char(32), False)
        case "sitename" | "dbservername":
            return Typed(call("ifx_dbservername"), varchar(128), False)
        case _:
            raise SqlError(-999, token=node.name.upper(), offset=node.offset)


def current(node: nodes.Current) -> Typed:
    """CURRENT and SYSDATE."""
    type_ = SqlType(TypeCode.DATETIME, node.qualifier.encoded)
    return Typed(call("ifx_current", type_number(type_)), type_, False)
