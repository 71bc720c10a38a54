"""Conversion between the storage forms of types: casts, assignments, comparisons. Never: Python values of the client.

Invariants:
1. One table, `_ROUTES`, lists the conversions; any other is -1260, or -1266 between the two INTERVAL families.
2. A converter is made once for two types and cached, with their sizes, scales and qualifiers.
3. Casting and assigning differ in one way: a setting makes assigning refuse what casting truncates (-1279).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeAlias

from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.model.storage import (
    INTERVAL_FORMS,
    NUMBER_FORMS,
    TEXT_FORMS,
    Form,
    Stored,
    TypeNumber,
    form_of,
    numbered_type,
    type_number,
)
from aioifx.server.sql.runtime import complex_values, dates, datetimes, documents, intervals
from aioifx.server.sql.runtime.datetimes import YEAR_TO_DAY, YEAR_TO_FRACTION, qualifier_of
from aioifx.server.sql.runtime.decimals import decimal_of, parse_decimal, scaled_text
from aioifx.server.sql.runtime.intervals import interval_qualifier
from aioifx.server.sql.runtime.numerics import decimal_fitter, fitter
from aioifx.server.sql.runtime.strings import byte_length, cut, pad
from aioifx.sqltypes import Qualifier, SqlType, TypeCode, Unit, Value, datetime_qualifier

Converter: TypeAlias = Callable[[Value, Settings], Stored]
"""Converts a stored value that is not NULL to another storage form."""

_Route: TypeAlias = Callable[[SqlType, SqlType], Converter]

_DOES_NOT_FIT: Final = -1207
_LONGEST_TEXT: Final = 32739
_TEXT_NUMBER: Final = TypeCode.LVARCHAR << 16 | _LONGEST_TEXT
_NO_CONVERSION: Final = -1260


def convert(value: Stored, source: SqlType, target: SqlType, settings: Settings) -> Stored:
    """A stored value cast to another type; NULL stays NULL."""
    return None if value is None else converter(type_number(source), type_number(target))(value, settings)


@lru_cache(maxsize=4096)
def converter(source: TypeNumber, target: TypeNumber) -> Converter:
    """The conversion between two types, by their numbers.

    Raises:
        SqlError: -1260, no such conversion; -1266, INTERVALs of different families.
    """
    source_type, target_type = numbered_type(source), numbered_type(target)
    forms = form_of(source_type), form_of(target_type)
    if source_type.code == TypeCode.NULL:
        return _unchanged
    if source == target and forms[0] is not None:
        return _unchanged
    route = _ROUTES.get(forms)
    if route is not None:
        return route(source_type, target_type)
    raise SqlError(-1266 if INTERVAL_FORMS.issuperset(forms) else _NO_CONVERSION)


@lru_cache(maxsize=4096)
def assigner(source: TypeNumber, target: TypeNumber) -> Converter:
    """The conversion of a value of type *source* that is stored in a column of type *target*."""
    convert_value = converter(source, target)
    target_type = numbered_type(target)
    size = target_type.size
    if size is None or form_of(numbered_type(source)) not in TEXT_FORMS:
        return convert_value
    limit = size

    def assign(value: Value, settings: Settings) -> Stored:
        if settings.string_truncate_error and byte_length(value.rstrip(" "), settings.code_set) > limit:
            raise SqlError(-1279)
        return convert_value(value, settings)

    return assign


def as_text(value: Stored, sql_type: SqlType, settings: Settings) -> str | None:
    """A stored value as text in full: CHAR with its blanks, others in the session's formats."""
    return None if value is None else _text_maker(type_number(sql_type))(value, settings)


@lru_cache(maxsize=1024)
def _text_maker(number: TypeNumber) -> Callable[[Value, Settings], str]:
    """A function that formats stored values of a type as text."""
    sql_type = numbered_type(number)
    match form_of(sql_type):
        case Form.CHAR:
            size = sql_type.length
            return lambda value, settings: pad(value, size, settings.code_set)
        case Form.VARCHAR | Form.BOOLEAN | Form.DATETIME:
            return lambda value, settings: str(value)
        case Form.INTEGER:
            return lambda value, settings: str(value)
        case Form.FLOAT:
            return lambda value, settings: repr(value)[:-2] if repr(value).endswith(".0") else repr(value)
        case Form.DECIMAL:
            scale = sql_type.scale
            return lambda value, settings: scaled_text(decimal_of(value), scale)
        case Form.DATE:
            return dates.format_date
        case Form.MONTHS | Form.TICKS:
            qualifier = interval_qualifier(sql_type)
            return lambda value, settings: intervals.format_interval(value, qualifier)
        case Form.COMPLEX:
            assert isinstance(sql_type, ComplexType)
            return complex_values.text_maker(sql_type, _part_text)
        case Form.JSON:
            return lambda value, settings: str(value)
        case Form.BSON:
            return lambda value, settings: documents.json_of(value)
        case _:
            if sql_type.code == TypeCode.NULL:
                return lambda value, settings: str(value)
            raise SqlError(_NO_CONVERSION)


def _part_text(part: SqlType) -> Callable[[Value, Settings], str]:
    return _text_maker(type_number(part))


def _unchanged(value: Value, settings: Settings) -> Stored:
    stored: Stored = value
    return stored


def _number_to_number(source: SqlType, target: SqlType) -> Converter:
    fit = fitter(type_number(target))
    return lambda value, settings: fit(value)


def _text_to_number(source: SqlType, target: SqlType) -> Converter:
    fit = decimal_fitter(type_number(target))
    is_money = target.code == TypeCode.MONEY

    def read(value: Value, settings: Settings) -> Stored:
        return fit(parse_decimal(value.replace("$", "", 1) if is_money else value))

    return read


def _to_text(source: SqlType, target: SqlType) -> Converter:
    """A value other than text is converted to text in full, or does not fit (-1207)."""
    show = _text_maker(type_number(source))
    size = target.size or 0

    def convert_value(value: Value, settings: Settings) -> Stored:
        text = show(value, settings)
        if len(text) > size:
            raise SqlError(_DOES_NOT_FIT)
        return text

    return convert_value


def _text_to_text(source: SqlType, target: SqlType) -> Converter:
    size = target.size or 0
    if form_of(target) is Form.CHAR:
        return lambda value, settings: cut(value, size, settings.code_set).rstrip(" ")
    if form_of(source) is Form.CHAR:
        width = source.length
        return lambda value, settings: cut(pad(value, width, settings.code_set), size, settings.code_set)
    return lambda value, settings: cut(value, size, settings.code_set)


def _text_to_boolean(source: SqlType, target: SqlType) -> Converter:
    def read(value: Value, settings: Settings) -> Stored:
        text: str = value.rstrip(" ")
        if text in ("t", "f"):  # assumed: capitals and digits are refused, by this number
            return text
        raise SqlError(_NO_CONVERSION)

    return read


def _text_to_date(source: SqlType, target: SqlType) -> Converter:
    return dates.parse_date


def _text_to_datetime(source: SqlType, target: SqlType) -> Converter:
    qualifier = qualifier_of(target)
    return lambda value, settings: datetimes.parse_datetime(value, qualifier, settings)


def _text_to_interval(source: SqlType, target: SqlType) -> Converter:
    qualifier = interval_qualifier(target)
    return lambda value, settings: intervals.parse_interval(value, qualifier)


def _number_to_date(source: SqlType, target: SqlType) -> Converter:
    fit = fitter(TypeCode.BIGINT << 16)
    return lambda value, settings: dates.checked_days(int(fit(value)))


def _date_to_datetime(source: SqlType, target: SqlType) -> Converter:
    qualifier = qualifier_of(target)

    def convert_value(value: Value, settings: Settings) -> Stored:
        return datetimes.requalified(datetimes.datetime_of_days(value), YEAR_TO_DAY, qualifier, settings)

    return convert_value


def _datetime_to_date(source: SqlType, target: SqlType) -> Converter:
    qualifier = qualifier_of(source)
    return lambda value, settings: datetimes.days_of_datetime(value, qualifier, settings)


def _datetime_to_datetime(source: SqlType, target: SqlType) -> Converter:
    first, second = qualifier_of(source), qualifier_of(target)
    return lambda value, settings: datetimes.requalified(value, first, second, settings)


def _interval_to_interval(source: SqlType, target: SqlType) -> Converter:
    qualifier = interval_qualifier(target)
    return lambda value, settings: intervals.fit_interval(value, qualifier)


def _text_to_complex(source: SqlType, target: SqlType) -> Converter:
    assert isinstance(target, ComplexType)
    return complex_values.from_text(target, _part_converter)


def _complex_to_complex(source: SqlType, target: SqlType) -> Converter:
    assert isinstance(source, ComplexType)
    assert isinstance(target, ComplexType)
    return complex_values.between(source, target, _part_converter)


def _part_converter(source: SqlType, target: SqlType) -> Converter:
    return converter(type_number(source), type_number(target))


def _text_to_json(source: SqlType, target: SqlType) -> Converter:
    return lambda value, settings: documents.checked_json(value)


def _json_to_bson(source: SqlType, target: SqlType) -> Converter:
    return lambda value, settings: documents.bson_of(value)


def _bson_to_json(source: SqlType, target: SqlType) -> Converter:
    return lambda value, settings: documents.json_of(value)


def _bson_to_scalar(source: SqlType, target: SqlType) -> Converter:
    """``column.field::type``: the field's value, converted from its text (assumed)."""
    read = _part_converter(SqlType(TypeCode.LVARCHAR, _LONGEST_TEXT), target)

    def convert_value(value: Value, settings: Settings) -> Stored:
        scalar = documents.scalar_of(value)
        return None if scalar is None else read(documents.scalar_text(scalar), settings)

    return convert_value


def _bson_to_moment(source: SqlType, target: SqlType) -> Converter:
    """A date of BSON, in UTC."""
    moment = SqlType(TypeCode.DATETIME, YEAR_TO_FRACTION.encoded)
    read, convert_moment = converter(_TEXT_NUMBER, type_number(moment)), _part_converter(moment, target)

    def convert_value(value: Value, settings: Settings) -> Stored:
        scalar = documents.scalar_of(value)
        if scalar is None:
            return None
        return convert_moment(read(documents.scalar_text(scalar), settings), settings)

    return convert_value


def _same_form(source: SqlType, target: SqlType) -> Converter:
    return _unchanged


def _routes() -> dict[tuple[Form | None, Form | None], _Route]:
    routes: dict[tuple[Form | None, Form | None], _Route] = {
        (Form.DATE, Form.DATE): _same_form,
        (Form.BOOLEAN, Form.BOOLEAN): _same_form,
        (Form.DATE, Form.DATETIME): _date_to_datetime,
        (Form.DATETIME, Form.DATE): _datetime_to_date,
        (Form.DATETIME, Form.DATETIME): _datetime_to_datetime,
        (Form.MONTHS, Form.MONTHS): _interval_to_interval,
        (Form.TICKS, Form.TICKS): _interval_to_interval,
        (Form.COMPLEX, Form.COMPLEX): _complex_to_complex,
        (Form.JSON, Form.JSON): _same_form,
        (Form.BSON, Form.BSON): _same_form,
        (Form.JSON, Form.BSON): _json_to_bson,
        (Form.BSON, Form.JSON): _bson_to_json,
    }
    for number in NUMBER_FORMS:
        routes |= {(number, other): _number_to_number for other in NUMBER_FORMS}
        routes[number, Form.DATE] = _number_to_date
        routes[Form.DATE, number] = _number_to_number
    for text in TEXT_FORMS:
        routes |= {(form, text): _to_text for form in Form}
        routes |= {(text, number): _text_to_number for number in NUMBER_FORMS}
        routes |= {
            (text, Form.BOOLEAN): _text_to_boolean,
            (text, Form.DATE): _text_to_date,
            (text, Form.DATETIME): _text_to_datetime,
            (text, Form.MONTHS): _text_to_interval,
            (text, Form.TICKS): _text_to_interval,
            (text, Form.COMPLEX): _text_to_complex,
            (text, Form.JSON): _text_to_json,
        }
    scalars = (*NUMBER_FORMS, *TEXT_FORMS, Form.BOOLEAN)
    routes |= {(Form.BSON, scalar): _bson_to_scalar for scalar in scalars}
    routes |= {(Form.BSON, moment): _bson_to_moment for moment in (Form.DATE, Form.DATETIME)}
    routes |= {(first, second): _text_to_text for first in TEXT_FORMS for second in TEXT_FORMS}
    return routes


_ROUTES: Final = _routes()


# --- comparison -------------------------------------------------------------------------------------------------


Comparer: TypeAlias = Callable[[Value, Value, Settings], int | None]


@lru_cache(maxsize=2048)
def comparer(left: TypeNumber, right: TypeNumber) -> Comparer:
    """The comparison of stored values of two types: by value, in a type that holds both.

    Raises:
        SqlError: -1260, they do not compare; -1266, they are INTERVALs of different families.
    """
    left_type, right_type = numbered_type(left), numbered_type(right)
    first, second = form_of(left_type), form_of(right_type)
    if isinstance(left_type, ComplexType) and (second is Form.COMPLEX or second in TEXT_FORMS):
        return _by_parts(left_type, right)
    if isinstance(right_type, ComplexType) and first in TEXT_FORMS:
        return _swapped(_by_parts(right_type, left))
    if first in TEXT_FORMS and second in TEXT_FORMS:
        return lambda a, b, settings: _order(a.rstrip(" "), b.rstrip(" "))
    if first in _DAY_OR_NUMBER and second in _DAY_OR_NUMBER:
        return _compare_numbers
    if first is second and first is not None and (left == right or first is not Form.DATETIME):
        return lambda a, b, settings: _order(a, b)
    if first in _DAY_OR_TIME and second in _DAY_OR_TIME:
        return _by_conversion(
            left_type, right_type, _covering(qualifier_of(left_type), qualifier_of(right_type))
        )
    if first in TEXT_FORMS and second is not None:
        return _by_conversion(left_type, right_type, _readable(right_type))
    if second in TEXT_FORMS and first is not None:
        return _by_conversion(left_type, right_type, _readable(left_type))
    raise SqlError(-1266 if INTERVAL_FORMS.issuperset((first, second)) else _NO_CONVERSION)


_DAY_OR_NUMBER: Final = NUMBER_FORMS | {Form.DATE}
_DAY_OR_TIME: Final = frozenset({Form.DATE, Form.DATETIME})


def _order(left: Value, right: Value) -> int:
    return 0 if left == right else -1 if left < right else 1


def _compare_numbers(left: Value, right: Value, settings: Settings) -> int:
    if type(left) is int and type(right) is int:
        return _order(left, right)
    return _order(decimal_of(left), decimal_of(right))


def _readable(sql_type: SqlType) -> SqlType:
    """The type that a text is parsed as for a comparison with *sql_type*: neither truncated nor rounded."""
    if form_of(sql_type) in NUMBER_FORMS:
        return SqlType(TypeCode.DECIMAL, 32 << 8 | 255)
    return sql_type


def _covering(left: Qualifier, right: Qualifier) -> SqlType:
    """The DATETIME that has the fields of both."""
    first, last = min(left.first, right.first), max(left.last, right.last)
    scale = max(left.scale, right.scale) if last == Unit.FRACTION else 0
    return SqlType(TypeCode.DATETIME, datetime_qualifier(first, last, scale).encoded)


def _by_conversion(left: SqlType, right: SqlType, common: SqlType) -> Comparer:
    kind = type_number(common)
    first, second = converter(type_number(left), kind), converter(type_number(right), kind)
    comparison = comparer(kind, kind)
    return lambda a, b, settings: comparison(first(a, settings), second(b, settings), settings)


def _by_parts(type_: ComplexType, other: TypeNumber) -> Comparer:
    """A row or collection compared with one of another type, which is converted to its own; only for equality."""
    convert_value, compare = converter(other, type_number(type_)), complex_values.equality(type_)
    return lambda a, b, settings: compare(a, str(convert_value(b, settings)))


def _swapped(compare: Comparer) -> Comparer:
    return lambda a, b, settings: compare(b, a, settings)
