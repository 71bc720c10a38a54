"""The type of an expression: arithmetic, concatenation, common types of branches and unions. Never: values, SQL text.

Invariants:
1. Encoded lengths are those of syscolumns: 4 for INTEGER and DATE, precision * 256 + scale for DECIMAL.
2. Arithmetic with a DECIMAL gives DECIMAL, also when the other side is FLOAT (documented: automatic conversion).
3. Only columns have SERIAL types: an expression has the underlying integer type.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from aioifx.server.sql.builtin_types import boolean, lvarchar
from aioifx.server.sql.complex_types import ComplexType, collection_of, is_distinct, is_named, row_of
from aioifx.server.sql.model.storage import Form, form_of
from aioifx.sqltypes import (
    EXTENDED_BLOB,
    EXTENDED_CLOB,
    FLOATING_SCALE,
    INTEGER_CODES,
    SERIALS,
    TRAITS,
    Qualifier,
    SqlType,
    TypeCode,
    Unit,
    datetime_qualifier,
)

SMALLINT: Final = SqlType(TypeCode.SMALLINT, 2)
INTEGER: Final = SqlType(TypeCode.INTEGER, 4)
BIGINT: Final = SqlType(TypeCode.BIGINT, 8)
INT8: Final = SqlType(TypeCode.INT8, 10)
FLOAT: Final = SqlType(TypeCode.FLOAT, 8)
DATE: Final = SqlType(TypeCode.DATE, 4)
BOOLEAN: Final = boolean()
LONG_TEXT: Final = lvarchar(32739)
"""A text of any length: the type of a parameter compared with a text."""

MAXIMUM_PRECISION: Final = 32
CHAR_LIMIT: Final = 32767
VARCHAR_LIMIT: Final = 255
LVARCHAR_LIMIT: Final = 32739


class Family(Enum):
    """A family of types, whose values are converted to each other implicitly."""

    INTEGER = auto()
    DECIMAL = auto()
    FLOAT = auto()
    TEXT = auto()
    DATE = auto()
    DATETIME = auto()
    MONTHS = auto()
    """INTERVAL of years and months."""
    TIME = auto()
    """INTERVAL of days and smaller units."""
    BOOLEAN = auto()
    SIMPLE_LARGE = auto()
    """BYTE and TEXT: simple large objects."""
    SMART_LARGE = auto()
    """BLOB and CLOB: smart large objects."""
    ROW = auto()
    COLLECTION = auto()
    DOCUMENT = auto()
    """JSON and BSON."""
    OTHER = auto()


NUMERIC: Final = frozenset({Family.INTEGER, Family.DECIMAL, Family.FLOAT})
INTERVALS: Final = frozenset({Family.MONTHS, Family.TIME})

_FAMILIES: Final[dict[int, Family]] = {
    **dict.fromkeys(INTEGER_CODES, Family.INTEGER),
    TypeCode.DECIMAL: Family.DECIMAL,
    TypeCode.MONEY: Family.DECIMAL,
    TypeCode.FLOAT: Family.FLOAT,
    TypeCode.SMALLFLOAT: Family.FLOAT,
    TypeCode.CHAR: Family.TEXT,
    TypeCode.NCHAR: Family.TEXT,
    TypeCode.VARCHAR: Family.TEXT,
    TypeCode.NVARCHAR: Family.TEXT,
    TypeCode.LVARCHAR: Family.TEXT,
    TypeCode.DATE: Family.DATE,
    TypeCode.DATETIME: Family.DATETIME,
    TypeCode.BOOLEAN: Family.BOOLEAN,
    TypeCode.BYTE: Family.SIMPLE_LARGE,
    TypeCode.TEXT: Family.SIMPLE_LARGE,
    TypeCode.ROW: Family.ROW,
    TypeCode.SET: Family.COLLECTION,
    TypeCode.MULTISET: Family.COLLECTION,
    TypeCode.LIST: Family.COLLECTION,
}

_PLAIN: Final = {code: SqlType(base, TRAITS[base].size) for code, base in SERIALS.items()}


def family_of(type_: SqlType) -> Family:
    """The family that a type belongs to."""
    known = None if type_.extended_id else _FAMILIES.get(type_.code)
    if known is not None:
        return known
    if type_.code == TypeCode.INTERVAL:
        return Family.MONTHS if Qualifier.from_encoded(type_.length).is_year_month else Family.TIME
    if type_.extended_id in _SMART:
        return Family.SMART_LARGE
    family = _FAMILIES.get(TypeCode(type_.kind), Family.OTHER)
    if family is Family.OTHER and form_of(type_) in _DOCUMENT_FORMS:
        return Family.DOCUMENT
    return family


_DOCUMENT_FORMS: Final = (Form.JSON, Form.BSON)


_SMART: Final = frozenset({EXTENDED_BLOB, EXTENDED_CLOB})
LARGE: Final = frozenset({Family.SIMPLE_LARGE, Family.SMART_LARGE})


def is_large(type_: SqlType) -> bool:
    """Whether it is BYTE, TEXT, BLOB or CLOB."""
    return family_of(type_) in LARGE


def plain(type_: SqlType) -> SqlType:
    """The type without SERIAL: the type of an expression over a serial column."""
    return _PLAIN.get(type_.code, type_)


def is_national(type_: SqlType) -> bool:
    """Whether it is NCHAR or NVARCHAR."""
    return type_.code in (TypeCode.NCHAR, TypeCode.NVARCHAR)


def is_padded(type_: SqlType) -> bool:
    """Whether values are blank-padded to the type's size: CHAR and NCHAR."""
    return type_.code in (TypeCode.CHAR, TypeCode.NCHAR)


def decimal(precision: int = MAXIMUM_PRECISION, scale: int = FLOATING_SCALE) -> SqlType:
    """DECIMAL(p,s), or DECIMAL(p) with a floating point."""
    return SqlType(TypeCode.DECIMAL, precision * 256 + scale)


def char(size: int) -> SqlType:
    """CHAR(n), or LVARCHAR when n is too long for it."""
    return SqlType(TypeCode.CHAR, max(size, 1)) if size <= CHAR_LIMIT else LONG_TEXT


def varchar(size: int, national: bool = False) -> SqlType:
    """VARCHAR of that size, or LVARCHAR above 255."""
    if size > VARCHAR_LIMIT:
        return lvarchar(min(size, LVARCHAR_LIMIT))
    return SqlType(TypeCode.NVARCHAR if national else TypeCode.VARCHAR, max(size, 1))


def datetime(first: Unit, last: Unit, scale: int = 0) -> SqlType:
    """DATETIME first TO last."""
    return SqlType(TypeCode.DATETIME, datetime_qualifier(first, last, scale).encoded)


def interval(qualifier: Qualifier) -> SqlType:
    """INTERVAL with that qualifier."""
    return SqlType(TypeCode.INTERVAL, qualifier.encoded)


def qualifier_of(type_: SqlType) -> Qualifier:
    """The qualifier of a DATETIME, INTERVAL or DATE."""
    if type_.code == TypeCode.DATE:
        return datetime_qualifier(Unit.YEAR, Unit.DAY)
    return Qualifier.from_encoded(type_.length)


def size_of(type_: SqlType) -> int:
    """The maximum number of characters of a value written as text."""
    if type_.size is not None:
        return type_.size
    match family_of(type_):
        case Family.INTEGER:
            return {TypeCode.SMALLINT: 6, TypeCode.INTEGER: 11, TypeCode.SERIAL: 11}.get(
                TypeCode(type_.code), 20
            )
        case Family.DECIMAL:
            return (type_.precision or MAXIMUM_PRECISION) + 2
        case Family.FLOAT:
            return 18
        case Family.DATE:
            return 10
        case Family.DATETIME:
            return len(_DATETIME_SHAPE) - 6 + qualifier_of(type_).scale + 1
        case Family.BOOLEAN:
            return 1
        case Family.ROW | Family.COLLECTION | Family.DOCUMENT:
            return LVARCHAR_LIMIT
        case _:
            return 32


_DATETIME_SHAPE: Final = "2026-05-04 12:34:56.12345"


# --- Two types, one operator ------------------------------------------------------------------------------------------


def sum_of(left: SqlType, operator: str, right: SqlType) -> SqlType | None:
    """The type of ``left operator right`` for + - * /; None when the two do not combine."""
    families = family_of(left), family_of(right)
    if families[0] is Family.TEXT or families[1] is Family.TEXT:
        return _with_text(left, operator, right)
    if families[0] in NUMERIC and families[1] in NUMERIC:
        return number_of(left, operator, right)
    if families[0] in INTERVALS and families[1] in NUMERIC and operator in "*/":
        return left
    if families[0] in NUMERIC and families[1] in INTERVALS and operator == "*":
        return right
    if operator not in "+-":
        return None
    if families[0] in INTERVALS and families[0] is families[1]:
        return _interval_sum(left, right)
    if families == (Family.DATE, Family.DATE) and operator == "-":
        return INTEGER
    if families[0] is Family.DATE and families[1] in NUMERIC:
        return DATE
    if families[0] in NUMERIC and families[1] is Family.DATE and operator == "+":
        return DATE
    return _moment(left, operator, right)


def _moment(left: SqlType, operator: str, right: SqlType) -> SqlType | None:
    """Arithmetic of a DATE or DATETIME with a DATETIME or INTERVAL."""
    moments = (Family.DATE, Family.DATETIME)
    one, other = family_of(left), family_of(right)
    if one in moments and other in INTERVALS:
        return shifted(left)
    if one in INTERVALS and other in moments and operator == "+":
        return shifted(right)
    if one in moments and other in moments and operator == "-":
        return _distance(qualifier_of(left))
    return None


def shifted(moment: SqlType) -> SqlType:
    """DATETIME keeps its qualifier; DATE becomes DATETIME YEAR TO DAY (documented).

    So hours cannot be added to it without EXTEND, as to any DATETIME that lacks them.
    """
    return moment if moment.code == TypeCode.DATETIME else datetime(Unit.YEAR, Unit.DAY)


def _distance(left: Qualifier) -> SqlType:
    """DATETIME - DATETIME: the units of the first operand (documented), from DAY on if it reaches that far.

    assumed: the leading field has 8 digits for DAY and smaller units, 9 for YEAR and MONTH.
    """
    if left.last <= Unit.MONTH:
        return interval(Qualifier(left.first, left.last, 9))
    first = max(Unit.DAY, left.first)
    leading = left.scale if first == Unit.FRACTION else 8
    return interval(Qualifier(first, left.last, leading, left.scale))


def _interval_sum(left: SqlType, right: SqlType) -> SqlType | None:
    """INTERVAL ± INTERVAL: the first operand's type; the second may not begin with a larger unit (documented)."""
    return left if qualifier_of(right).first >= qualifier_of(left).first else None


def _wider_interval(left: SqlType, right: SqlType) -> SqlType:
    """An INTERVAL with every unit that either has."""
    one, other = qualifier_of(left), qualifier_of(right)
    first, last = min(one.first, other.first), max(one.last, other.last)
    scale = max(one.scale, other.scale)
    leading = max(each.leading for each in (one, other) if each.first == first)
    return interval(Qualifier(first, last, scale if first == Unit.FRACTION else leading, scale))


def _with_text(left: SqlType, operator: str, right: SqlType) -> SqlType | None:
    """A text in arithmetic is a number; with a DATE or DATETIME it is not supported."""
    other = right if family_of(left) is Family.TEXT else left
    family = family_of(other)
    if family is Family.TEXT or family in NUMERIC:
        return FLOAT if family is Family.FLOAT else decimal()
    if family is Family.DATE and operator in "+-" and other is left:
        return DATE
    return other if family in INTERVALS and operator in "*/" and other is left else None


def number_of(left: SqlType, operator: str, right: SqlType) -> SqlType:
    """Two numbers: DECIMAL before FLOAT before the integers; ``/`` of integers is DECIMAL."""
    families = {family_of(left), family_of(right)}
    if Family.DECIMAL in families:
        return decimal()
    if Family.FLOAT in families:
        return FLOAT
    return decimal() if operator == "/" else wider_integer(left, right)


def wider_integer(left: SqlType, right: SqlType) -> SqlType:
    """The integer type of a result: BIGINT or INT8 if one is, otherwise INTEGER."""
    codes = {plain(left).code, plain(right).code}
    if TypeCode.BIGINT in codes:
        return BIGINT
    return INT8 if TypeCode.INT8 in codes else INTEGER


def concatenation(left: SqlType, right: SqlType) -> SqlType:
    """``||``: VARCHAR up to 255 characters, LVARCHAR above."""
    return varchar(size_of(left) + size_of(right), is_national(left) or is_national(right))


# --- One type for several ---------------------------------------------------------------------------------------------


def common(left: SqlType, right: SqlType) -> SqlType | None:
    """The type that holds values of both, for CASE, NVL, DECODE and UNION; None when there is none."""
    left, right = plain(left), plain(right)
    if left == right:
        return left
    if is_distinct(left) or is_distinct(right):
        return None
    one, other = family_of(left), family_of(right)
    if one in NUMERIC and other in NUMERIC:
        return _common_number(left, right)
    if one is not other:
        return (
            datetime(Unit.YEAR, *_last_of(left, right))
            if {one, other} == {Family.DATE, Family.DATETIME}
            else None
        )
    match one:
        case Family.TEXT:
            return _common_text(left, right)
        case Family.DATETIME:
            first = min(qualifier_of(left).first, qualifier_of(right).first)
            return datetime(first, *_last_of(left, right))
        case Family.MONTHS | Family.TIME:
            return _wider_interval(left, right)
        case Family.ROW | Family.COLLECTION:
            return _common_complex(left, right)
        case Family.OTHER | Family.SIMPLE_LARGE | Family.SMART_LARGE | Family.DOCUMENT:
            return None
        case _:
            return left


def _common_complex(left: SqlType, right: SqlType) -> SqlType | None:
    """The common type of each part; a named ROW type only with itself."""
    if not isinstance(left, ComplexType) or not isinstance(right, ComplexType):
        return None
    if left.extended_id == right.extended_id and is_named(left):
        return left
    if is_named(left) or is_named(right) or (left.code, len(left.parts)) != (right.code, len(right.parts)):
        return None
    found = [common(one, other) for one, other in zip(left.parts, right.parts, strict=True)]
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        return None
    return (
        collection_of(TypeCode(left.code), parts[0])
        if left.code != TypeCode.ROW
        else row_of(left.names, parts)
    )


def _last_of(left: SqlType, right: SqlType) -> tuple[Unit, int]:
    one, other = qualifier_of(left), qualifier_of(right)
    return max(one.last, other.last), max(one.scale, other.scale)


def _common_number(left: SqlType, right: SqlType) -> SqlType:
    families = {family_of(left), family_of(right)}
    if families == {Family.INTEGER}:
        return SMALLINT if left.code == right.code == TypeCode.SMALLINT else wider_integer(left, right)
    if Family.DECIMAL not in families:
        return FLOAT
    if Family.FLOAT in families:
        return decimal()
    if left.code == right.code == TypeCode.MONEY:
        return SqlType(TypeCode.MONEY, _common_decimal(left, right).length)
    return _common_decimal(left, right)


_INTEGER_DIGITS: Final = {TypeCode.SMALLINT: 5, TypeCode.INTEGER: 10}


def _common_decimal(left: SqlType, right: SqlType) -> SqlType:
    """Enough digits on either side of the point for both; a floating point if one floats or they do not fit."""
    whole, scale = 0, 0
    for each in (left, right):
        if family_of(each) is Family.INTEGER:
            whole = max(whole, _INTEGER_DIGITS.get(TypeCode(each.code), 19))
            continue
        if each.scale is None or each.precision is None:
            return decimal()
        whole, scale = max(whole, each.precision - each.scale), max(scale, each.scale)
    return decimal(whole + scale, scale) if whole + scale <= MAXIMUM_PRECISION else decimal()


def _common_text(left: SqlType, right: SqlType) -> SqlType:
    size = max(size_of(left), size_of(right))
    if TypeCode.LVARCHAR in (left.kind, right.kind):
        return lvarchar(size)
    national = is_national(left) or is_national(right)
    if is_padded(left) and is_padded(right):
        return SqlType(TypeCode.NCHAR, size) if national else char(size)
    return varchar(size, national)


def comparison_type(type_: SqlType) -> SqlType:
    """What a parameter is taken for that is compared with a value of this type: the family, without the length."""
    match family_of(type_):
        case Family.TEXT:
            return LONG_TEXT
        case Family.INTEGER:
            return BIGINT
        case Family.DECIMAL:
            return decimal()
        case Family.FLOAT:
            return FLOAT
        case _:
            return type_


def are_comparable(left: SqlType, right: SqlType) -> bool:
    """Whether two values may stand on the two sides of a comparison."""
    one, other = family_of(left), family_of(right)
    if not {one, other}.isdisjoint(_INCOMPARABLE):
        return False
    if one is other or Family.TEXT in (one, other):
        return True
    if {one, other} <= NUMERIC:
        return True
    return {one, other} <= {Family.DATE, Family.DATETIME} or {one, other} <= NUMERIC | {Family.DATE}


_INCOMPARABLE: Final = frozenset({Family.OTHER, Family.DOCUMENT}) | LARGE


def is_same_distinct(left: SqlType, right: SqlType) -> bool:
    """Whether neither type is DISTINCT, or both are the same: other pairs need a cast (documented)."""
    if not is_distinct(left) and not is_distinct(right):
        return True
    return left.flags == right.flags and left.extended_id == right.extended_id
