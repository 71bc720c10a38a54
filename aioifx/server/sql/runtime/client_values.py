"""Python values of the client <-> storage forms of a column's type. Never: SQL text, SQLite.

Invariants:
1. `store` assigns: it checks ranges, rounds to scales, truncates strings, extends DATETIMEs, parses text. A value that
   it cannot store is an `SqlError` with the reason, never another exception.
2. `load` returns the Python classes that the codecs take; a loader of None means that no conversion is needed.
3. `storer` and `loader` are for loops over rows: they inspect the type once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

from aioifx.codecs.large_objects import Locator
from aioifx.server.sql.builtin_types import bson
from aioifx.server.sql.complex_types import ComplexType
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings, Version
from aioifx.server.sql.model.storage import Form, Stored, form_of, type_number
from aioifx.server.sql.runtime import datetimes
from aioifx.server.sql.runtime.casts import as_text, assigner, convert
from aioifx.server.sql.runtime.complex_values import completed
from aioifx.server.sql.runtime.dates import date_of, days_of
from aioifx.server.sql.runtime.datetimes import HOUR_TO_FRACTION, TICK, YEAR_TO_FRACTION, full_form
from aioifx.server.sql.runtime.decimals import decimal_text
from aioifx.server.sql.runtime.documents import checked_bson
from aioifx.server.sql.runtime.large_objects import (
    descriptor_loader,
    locator_of,
    store_large,
    store_locator,
)
from aioifx.server.sql.runtime.numerics import RANGES
from aioifx.server.sql.runtime.strings import byte_length, pad
from aioifx.sqltypes import (
    Datetime,
    IntervalYM,
    Qualifier,
    SqlType,
    TypeCode,
    Unit,
    Value,
    datetime_qualifier,
)

__all__ = ["Settings", "Stored", "Version", "convert", "load", "loader", "natural", "store", "storer"]

Storer: TypeAlias = Callable[[Value, Settings], Stored]
Loader: TypeAlias = Callable[[Value], Value]

_IMPOSSIBLE: Final = -415
_NO_LARGE_CONVERSION: Final = -608
DEFAULT_CODE_SET: Final = "iso8859-1"

_INTEGER: Final = SqlType(TypeCode.INTEGER, 4)
_BIGINT: Final = SqlType(TypeCode.BIGINT, 8)
_FLOAT: Final = SqlType(TypeCode.FLOAT, 8)
_DECIMAL: Final = SqlType(TypeCode.DECIMAL, 32 << 8 | 255)
_BOOLEAN: Final = SqlType(TypeCode.BOOLEAN, 1)
_DATE: Final = SqlType(TypeCode.DATE, 4)
_BSON: Final = bson()
_LONGEST_TEXT: Final = 32739
_DEFAULT_SETTINGS: Final = Settings()
_MONTHS: Final = SqlType(TypeCode.INTERVAL, Qualifier(Unit.YEAR, Unit.MONTH, 9).encoded)
_TICKS: Final = SqlType(TypeCode.INTERVAL, Qualifier(Unit.DAY, Unit.FRACTION, 9, 5).encoded)


# --- Python -> storage ------------------------------------------------------------------------------------------


def natural(value: Value, settings: Settings) -> tuple[Stored, SqlType]:
    """The storage form of a Python value in its natural type, neither rounded nor truncated.

    Raises:
        SqlError: -415, no SQL type corresponds to it.
    """
    maker = _NATURAL.get(value.__class__)
    if maker is None:
        maker = next((make for each, make in _NATURAL.items() if isinstance(value, each)), _refused)
    return maker(value, settings)


def _refused(value: Value, settings: Settings) -> tuple[Stored, SqlType]:
    raise SqlError(_IMPOSSIBLE)


def _natural_null(value: None, settings: Settings) -> tuple[Stored, SqlType]:
    return None, SqlType(TypeCode.NULL)


def _natural_bool(value: bool, settings: Settings) -> tuple[Stored, SqlType]:
    return "t" if value else "f", _BOOLEAN


def _natural_int(value: int, settings: Settings) -> tuple[Stored, SqlType]:
    if abs(value) <= RANGES[TypeCode.INTEGER].highest:
        return value, _INTEGER
    if abs(value) <= RANGES[TypeCode.BIGINT].highest:
        return value, _BIGINT
    if abs(value) >= 10**126:
        raise SqlError(-1226)
    return str(value), _DECIMAL


def _natural_float(value: float, settings: Settings) -> tuple[Stored, SqlType]:
    if value - value == 0:  # neither infinite nor NaN
        return value, _FLOAT
    raise SqlError(_IMPOSSIBLE)


def _natural_decimal(value: Decimal, settings: Settings) -> tuple[Stored, SqlType]:
    if not value.is_finite():
        raise SqlError(_IMPOSSIBLE)
    if value and abs(value.adjusted()) > 400:  # beyond every type, and its digits would fill memory
        raise SqlError(-1226)
    return decimal_text(value), _DECIMAL


def _natural_text(value: str, settings: Settings) -> tuple[Stored, SqlType]:
    size = byte_length(value, settings.code_set)
    return value, SqlType(TypeCode.LVARCHAR, min(size, _LONGEST_TEXT))


def _natural_date(value: date, settings: Settings) -> tuple[Stored, SqlType]:
    return days_of(value), _DATE


def _natural_datetime(value: datetime, settings: Settings) -> tuple[Stored, SqlType]:
    if value.tzinfo is not None:
        raise SqlError(_IMPOSSIBLE)
    return full_form(value), _datetime_type(YEAR_TO_FRACTION)


def _natural_time(value: time, settings: Settings) -> tuple[Stored, SqlType]:
    if value.tzinfo is not None:
        raise SqlError(_IMPOSSIBLE)
    return value.isoformat("microseconds")[:14], _datetime_type(HOUR_TO_FRACTION)


def _natural_fields(value: Datetime, settings: Settings) -> tuple[Stored, SqlType]:
    present = [unit for unit, field in zip(Unit, value.fields, strict=True) if field is not None]
    scale = 5 if present[-1] == Unit.FRACTION else 0
    qualifier = datetime_qualifier(present[0], present[-1], scale)
    datetimes.check_day(value.year, value.month, value.day)
    numbers = (value.year or 1, value.month or 1, value.day or 1, value.hour or 0, value.minute or 0)
    full = "{:04d}-{:02d}-{:02d} {:02d}:{:02d}".format(*numbers)
    full += f":{value.second or 0:02d}.{(value.microsecond or 0) // 10:05d}"
    return full[datetimes.span(qualifier)], _datetime_type(qualifier)


def _natural_timedelta(value: timedelta, settings: Settings) -> tuple[Stored, SqlType]:
    ticks = abs(value) // TICK
    return -ticks if value < timedelta(0) else ticks, _TICKS


def _natural_months(value: IntervalYM, settings: Settings) -> tuple[Stored, SqlType]:
    return value.total_months, _MONTHS


def _natural_large(value: object, settings: Settings) -> tuple[Stored, SqlType]:
    """A large object converts to no other type."""
    raise SqlError(_NO_LARGE_CONVERSION)


def _natural_bytes(value: bytes, settings: Settings) -> tuple[Stored, SqlType]:
    try:
        return checked_bson(value), _BSON
    except SqlError:
        raise SqlError(_NO_LARGE_CONVERSION) from None


_NATURAL: Final[dict[type[object], Callable[[Value, Settings], tuple[Stored, SqlType]]]] = {
    type(None): _natural_null,
    bool: _natural_bool,
    int: _natural_int,
    str: _natural_text,
    float: _natural_float,
    Decimal: _natural_decimal,
    datetime: _natural_datetime,
    date: _natural_date,
    time: _natural_time,
    Datetime: _natural_fields,
    bytes: _natural_bytes,
    timedelta: _natural_timedelta,
    IntervalYM: _natural_months,
    Locator: _natural_large,
}
"""Python class -> storage form. Subclasses come first: bool before int, datetime before date."""


@lru_cache(maxsize=64)
def _datetime_type(qualifier: Qualifier) -> SqlType:
    return SqlType(TypeCode.DATETIME, qualifier.encoded)


def store(value: Value, sql_type: SqlType, settings: Settings) -> Stored:
    """The storage form of a Python value assigned to a column of a type."""
    return storer(sql_type)(value, settings)


@lru_cache(maxsize=1024)
def storer(sql_type: SqlType) -> Storer:
    """A function that stores Python values in a column of a type; -1260 for an unsupported type."""
    form = form_of(sql_type)
    if form is None:
        raise SqlError(-1260)
    if form is Form.SIMPLE_LARGE:
        return store_large
    if form is Form.SMART_LARGE:
        return store_locator
    target = type_number(sql_type)

    def assign(value: Value, settings: Settings) -> Stored:
        stored, natural_type = natural(value, settings)
        if stored is None:
            return None
        try:
            convert_value = assigner(type_number(natural_type), target)
        except SqlError as error:
            raise SqlError(_IMPOSSIBLE if error.sqlcode == -1260 else error.sqlcode) from None
        return convert_value(stored, settings)

    if form is Form.COMPLEX:
        return _with_elements(sql_type, assign)
    return _with_fast_path(form, sql_type, assign)


def _with_elements(sql_type: SqlType, assign: Storer) -> Storer:
    """The same function, which also takes the elements of a collection as a list."""
    if not isinstance(sql_type, ComplexType) or sql_type.code == TypeCode.ROW:
        return assign
    store_element = storer(sql_type.element)

    def store_elements(value: Value, settings: Settings) -> Stored:
        if not isinstance(value, list):
            return assign(value, settings)
        elements = cast("Sequence[Value]", value)
        return completed([store_element(each, settings) for each in elements], sql_type)

    return store_elements


def _with_fast_path(form: Form, sql_type: SqlType, assign: Storer) -> Storer:
    """The same function, with a fast path for the most common values."""
    match form:
        case Form.INTEGER:
            highest = RANGES[sql_type.code].highest
            return lambda value, settings: (
                value if type(value) is int and -highest <= value <= highest else assign(value, settings)
            )
        case Form.CHAR | Form.VARCHAR:
            return _text_storer(sql_type.size or 0, form is Form.CHAR, assign)
        case Form.DATE:
            return lambda value, settings: days_of(value) if type(value) is date else assign(value, settings)
        case Form.FLOAT if sql_type.code == TypeCode.FLOAT:
            return lambda value, settings: (
                value if type(value) is float and value - value == 0 else assign(value, settings)
            )
        case Form.DATETIME:
            return _moment_storer(Qualifier.from_encoded(sql_type.length), assign)
        case _:
            return assign


def _text_storer(size: int, is_char: bool, assign: Storer) -> Storer:
    """Short ASCII text."""

    def assign_text(value: Value, settings: Settings) -> Stored:
        if type(value) is str and len(value) <= size and value.isascii():
            return value.rstrip(" ") if is_char else value
        return assign(value, settings)

    return assign_text


def _moment_storer(qualifier: Qualifier, assign: Storer) -> Storer:
    """A datetime in YEAR TO SECOND or finer: its fraction is truncated, not rounded."""
    if qualifier.first != Unit.YEAR or qualifier.last < Unit.SECOND:
        return assign
    size = datetimes.span(qualifier).stop

    def assign_moment(value: Value, settings: Settings) -> Stored:
        if type(value) is datetime and value.tzinfo is None:
            return value.isoformat(" ", "microseconds")[:size]
        return assign(value, settings)

    return assign_moment


# --- storage -> Python ------------------------------------------------------------------------------------------


def load(stored: Stored, sql_type: SqlType, code_set: str = DEFAULT_CODE_SET) -> Value:
    """The Python value of a stored one; NULL is None."""
    if stored is None:
        return None
    load_value = loader(sql_type, code_set)
    return stored if load_value is None else load_value(stored)


@lru_cache(maxsize=1024)
def loader(sql_type: SqlType, code_set: str = DEFAULT_CODE_SET) -> Loader | None:
    """A function from stored values that are not NULL to Python values; None if they are the same."""
    match form_of(sql_type):
        case Form.INTEGER | Form.FLOAT | Form.VARCHAR:
            return None
        case Form.CHAR:
            size = sql_type.length
            return lambda stored: stored.ljust(size) if stored.isascii() else pad(stored, size, code_set)
        case Form.DECIMAL:
            return _decimal_loader(sql_type.scale)
        case Form.DATE:
            return date_of
        case Form.DATETIME:
            return _datetime_loader(Qualifier.from_encoded(sql_type.length))
        case Form.MONTHS:
            return lambda stored: IntervalYM(months=stored)
        case Form.TICKS:
            return lambda stored: timedelta(microseconds=stored * 10)
        case Form.BOOLEAN:
            return "t".__eq__
        case Form.SIMPLE_LARGE:
            return descriptor_loader(sql_type)
        case Form.SMART_LARGE:
            return locator_of
        case Form.JSON:
            return None
        case Form.BSON:
            return bytes.fromhex
        case Form.COMPLEX:
            return _complex_loader(sql_type)
        case None:
            if sql_type.code == TypeCode.NULL:
                return None
            raise SqlError(-1260)


def _complex_loader(sql_type: SqlType) -> Loader:
    """The literal, with dates in the form of the default settings."""
    return lambda stored: as_text(stored, sql_type, _DEFAULT_SETTINGS)


def _decimal_loader(scale: int | None) -> Loader:
    if not scale:
        return Decimal
    zeros = "0" * scale

    def load_decimal(stored: str) -> Decimal:
        whole, _, fraction = stored.partition(".")
        return Decimal(f"{whole}.{fraction}{zeros[len(fraction) :]}")

    return load_decimal


def _datetime_loader(qualifier: Qualifier) -> Loader:
    standard: Any = qualifier.datetime_class
    if standard is not Datetime:
        load_standard: Loader = standard.fromisoformat
        return load_standard
    place = datetimes.span(qualifier)
    names = [unit.name.lower() for unit in qualifier.units if unit != Unit.FRACTION]
    starts = [datetimes.span(Qualifier(unit, unit, 2)) for unit in qualifier.units if unit != Unit.FRACTION]

    def load_fields(stored: str) -> Datetime:
        full = " " * place.start + stored
        fields = {name: int(full[part]) for name, part in zip(names, starts, strict=True)}
        if not qualifier.scale:
            return Datetime(**fields)
        fraction = int(f"{stored[-qualifier.scale :]:0<6}")
        return Datetime(**fields, microsecond=fraction, scale=qualifier.scale)

    return load_fields
