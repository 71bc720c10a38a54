"""Types of Informix, and the conversion and literals of their values. Never: a type's text in DDL.

aioifx converts values by the server's description, so most types convert nothing here.

Invariants:
1. A literal does not depend on settings of the session such as DBDATE.
2. A type that has no literal is refused, never rendered as another type.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportPrivateUsage=false, reportIncompatibleMethodOverride=false, reportMissingTypeArgument=false
# SQLAlchemy annotates its types in part. The native interval's base class has a private name.

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import exc
from sqlalchemy.engine import Dialect
from sqlalchemy.engine.processors import to_float
from sqlalchemy.schema import FetchedValue
from sqlalchemy.sql import elements, sqltypes, type_api
from sqlalchemy.sql.base import SchemaEventTarget
from sqlalchemy.sql.sqltypes import _AbstractInterval

from aioifx.codecs.temporal_text import interval_formatter
from aioifx.codecs.time_zones import in_zone
from aioifx.sqlalchemy.binary import BINARY, VARBINARY, LargeBinary
from aioifx.sqlalchemy.composites import Process, quoted
from aioifx.sqltypes import (
    Datetime,
    IntervalYM,
    Qualifier,
    SqlType,
    TypeCode,
    Unit,
    datetime_qualifier,
)


class JSONIndex(sqltypes.JSON.JSONIndexType):
    """A key, or an index of an array."""

    def bind_processor(self, dialect: Dialect) -> Process:
        return lambda value: _path([value])

    def literal_processor(self, dialect: Dialect) -> Process:
        return lambda value: quoted(_path([value]))


class JSONPath(sqltypes.JSON.JSONPathType):
    """Keys and indexes, from the outermost on."""

    def bind_processor(self, dialect: Dialect) -> Process:
        return _path

    def literal_processor(self, dialect: Dialect) -> Process:
        return lambda value: quoted(_path(value))


def _path(keys: Iterable[Any]) -> str:
    texts = [str(key) for key in keys]
    if any("." in text for text in texts):
        raise ValueError("JSON: expected keys without a dot, which separates the keys of a path")
    return ".".join(texts)


_NOT_INTEGERS: Final = (TypeCode.DECIMAL, TypeCode.MONEY, TypeCode.FLOAT, TypeCode.SMALLFLOAT)


def _code_of(coltype: object) -> int | None:
    """The type's number in a cursor's description."""
    return coltype.code if isinstance(coltype, SqlType) else None


# --- numbers --------------------------------------------------------------------------------------------------------


class _Integer(sqltypes.Integer):
    """Whole numbers. SUM and functions return DECIMAL, whose values are converted."""

    def result_processor(self, dialect: Dialect, coltype: object) -> Process | None:
        return _to_int if _code_of(coltype) in _NOT_INTEGERS else None


def _to_int(value: Any) -> Any:
    return value if value is None else int(value)


class INT8(sqltypes.BigInteger):
    """INT8, the older type of 64-bit integers."""

    __visit_name__ = "INT8"


class SERIAL(SchemaEventTarget, _Integer):
    """SERIAL(start): an INTEGER that the server numbers, for columns other than the primary key.

    Its columns are NOT NULL, and INSERT leaves them out unless they have a value. None stands for the next number.
    """

    __visit_name__ = "SERIAL"

    def __init__(self, start: int | None = None) -> None:
        super().__init__()
        self.start = start

    def _set_parent(self, parent: Any, **kw: Any) -> None:
        parent.nullable = False
        parent._on_table_attach(_fetch_number)

    def bind_processor(self, dialect: Dialect) -> Process | None:
        """0, the next number, for None: what the ORM inserts into a reflected column without a value."""
        return lambda value: 0 if value is None else value


def _fetch_number(column: Any, table: Any) -> None:
    """Tell INSERT that the server numbers a column; of a primary key SQLAlchemy knows it.

    A reflected column has `autoincrement` instead: a default would be in the text of code generators.
    """
    if column.primary_key or column.autoincrement is True:
        return
    if column.default is None and column.server_default is None:
        FetchedValue()._set_parent(column)


class SERIAL8(SERIAL, INT8):
    """SERIAL8(start): an INT8 that the server numbers."""

    __visit_name__ = "SERIAL8"


class BIGSERIAL(SERIAL, sqltypes.BigInteger):
    """BIGSERIAL(start): a BIGINT that the server numbers."""

    __visit_name__ = "BIGSERIAL"


class SMALLFLOAT(sqltypes.REAL[Any]):
    """SMALLFLOAT, a float of four bytes."""

    __visit_name__ = "SMALLFLOAT"


class _Numeric(sqltypes.Numeric[Any]):
    """DECIMAL. aioifx returns int for a scale of 0, and float for expressions of type FLOAT."""

    def bind_processor(self, dialect: Dialect) -> Process | None:
        return None

    def result_processor(self, dialect: Dialect, coltype: object) -> Process | None:
        return _to_decimal if self.asdecimal else to_float

    def literal_processor(self, dialect: Dialect) -> Process | None:
        return _number_literal


def _to_decimal(value: Any) -> Any:
    if value is None or value.__class__ is Decimal:
        return value
    return Decimal(str(value))


def _number_literal(value: Any) -> str:
    """Digits without an exponent."""
    number = _to_decimal(value)
    if not number.is_finite():
        raise exc.CompileError("DECIMAL holds finite numbers only")
    return f"{number:f}"


class MONEY(_Numeric):
    """MONEY(precision, scale); values are `Decimal`."""

    __visit_name__ = "MONEY"


# --- text ----------------------------------------------------------------------------------------------------------


class VARCHAR(sqltypes.VARCHAR):
    """VARCHAR(length, reserve): at most 255 bytes, of which *reserve* are kept free in the row."""

    def __init__(self, length: int | None = None, reserve: int | None = None, **kw: Any) -> None:
        super().__init__(length, **kw)
        self.reserve = reserve


class NVARCHAR(sqltypes.NVARCHAR):
    """NVARCHAR(length, reserve), sorted by the locale."""

    def __init__(self, length: int | None = None, reserve: int | None = None, **kw: Any) -> None:
        super().__init__(length, **kw)
        self.reserve = reserve


class LVARCHAR(sqltypes.String):
    """LVARCHAR(length): at most 32,739 bytes; 2048 without a length."""

    __visit_name__ = "LVARCHAR"


class TEXT(sqltypes.TEXT):
    """TEXT, stored in the table or in the blobspace *space*."""

    def __init__(self, length: int | None = None, space: str | None = None, **kw: Any) -> None:
        super().__init__(length, **kw)
        self.space = space


def is_text_by_option(type_: Any) -> bool:
    """Whether the option text_type says what *type_* is.

    SQLAlchemy's own TEXT is one of them, since libraries use it for Text: pandas, petl.
    """
    return type_.__visit_name__ in ("text", "unicode_text", "TEXT") and not isinstance(type_, TEXT)


# --- BOOLEAN --------------------------------------------------------------------------------------------------------


class _Boolean(sqltypes.Boolean):
    """BOOLEAN, whose literals are casts: the strings t and f alone would be CHAR."""

    def literal_processor(self, dialect: Dialect) -> Process | None:
        return lambda value: "'t'::boolean" if value else "'f'::boolean"


# --- dates and times ------------------------------------------------------------------------------------------------


class _Date(sqltypes.Date):
    def literal_processor(self, dialect: Dialect) -> Process | None:
        """MDY(), because the form of a quoted date depends on DBDATE."""
        return lambda value: f"MDY({value.month},{value.day},{value.year})"


def _unit(name: str) -> Unit:
    try:
        return Unit[name.upper()]
    except KeyError:
        names = ", ".join(unit.name.lower() for unit in Unit)
        raise exc.ArgumentError(f"qualifier: expected one of {names}, got {name!r}") from None


def _datetime_qualifier(first: str, last: str, fraction: int | None) -> Qualifier:
    start, end = _unit(first), _unit(last)
    scale = (3 if fraction is None else fraction) if end == Unit.FRACTION else 0
    if start > end or (end == Unit.FRACTION and not 1 <= scale <= 5):
        raise exc.ArgumentError(f"DATETIME: no qualifier {first} to {last}, fraction {fraction}")
    return datetime_qualifier(start, end, scale)


def datetime_literal(value: Any, qualifier: Qualifier, zone: dt.tzinfo | None = None) -> str:
    """``DATETIME(2026-05-04 09:30) YEAR TO MINUTE``; fields finer than the qualifier are cut, as in parameters.

    Args:
        zone: to which an aware datetime is converted, as in parameters.
    """
    if isinstance(value, Datetime):
        return str(value)
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    if isinstance(value, dt.time) and qualifier.first < Unit.HOUR:
        raise exc.CompileError(f"DATETIME {qualifier.datetime_text()} has no literal of a time")
    if zone is not None and isinstance(value, dt.datetime) and value.tzinfo is not None:
        value = in_zone(value, zone)
    if value.tzinfo is not None:
        raise exc.CompileError("DATETIME has no time zone; set the option timezone for aware datetimes")
    names = ("year", "month", "day", "hour", "minute", "second", "microsecond")
    present = {
        name: getattr(value, name) for name, unit in zip(names, Unit, strict=True) if unit in qualifier.units
    }
    return str(Datetime(**present, scale=qualifier.scale or 5))


YEAR_TO_FRACTION: Final = datetime_qualifier(Unit.YEAR, Unit.FRACTION, 5)
HOUR_TO_FRACTION: Final = datetime_qualifier(Unit.HOUR, Unit.FRACTION, 5)


def zone_of(dialect: Dialect) -> dt.tzinfo | None:
    """The option timezone of a dialect's connections."""
    return getattr(dialect, "zone", None)


class _DateTime(sqltypes.DateTime):
    """DATETIME YEAR TO FRACTION(5), the most that Informix stores of a datetime.

    With an option timezone, aioifx returns aware datetimes. Without ``timezone=True``, they become naive here.
    """

    @property
    def qualifier(self) -> Qualifier:
        return YEAR_TO_FRACTION

    def literal_processor(self, dialect: Dialect) -> Process | None:
        zone = zone_of(dialect)
        return lambda value: datetime_literal(value, self.qualifier, zone)

    def result_processor(self, dialect: Dialect, coltype: object) -> Process | None:
        return None if self.timezone or zone_of(dialect) is None else _to_naive


def _to_naive(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value


class _Time(sqltypes.Time):
    """DATETIME HOUR TO FRACTION(5)."""

    @property
    def qualifier(self) -> Qualifier:
        return HOUR_TO_FRACTION

    def literal_processor(self, dialect: Dialect) -> Process | None:
        return lambda value: datetime_literal(value, self.qualifier)


class DATETIME(_DateTime):
    """DATETIME *first* TO *last*, by names of fields: ``DATETIME("year", "second")``.

    Values are the same as in aioifx: a datetime, a date for YEAR TO DAY, a time for HOUR TO MINUTE and finer, else an
    `aioifx.Datetime`. `TIME` is the same for times of day.

    Args:
        fraction: digits of FRACTION, 1 to 5; 3 if None, as in Informix.
        timezone: whether datetimes are aware, as of SQLAlchemy's DateTime.

    Raises:
        sqlalchemy.exc.ArgumentError: unknown fields, or *first* is finer than *last*.
    """

    __visit_name__ = "DATETIME"

    def __init__(
        self,
        first: str = "year",
        last: str = "fraction",
        fraction: int | None = None,
        timezone: bool = False,
    ) -> None:
        super().__init__(timezone)
        self.first, self.last, self.fraction = first.lower(), last.lower(), fraction
        self._qualifier = _datetime_qualifier(first, last, fraction)

    @property
    def qualifier(self) -> Qualifier:
        """The fields."""
        return self._qualifier

    @property
    def python_type(self) -> type[Any]:
        return self._qualifier.datetime_class


class TIME(_Time):
    """DATETIME HOUR TO *last*: a time of day."""

    __visit_name__ = "TIME"

    def __init__(self, last: str = "second", fraction: int | None = None) -> None:
        super().__init__()
        self.last, self.fraction = last.lower(), fraction
        self._qualifier = _datetime_qualifier("hour", last, fraction)

    @property
    def qualifier(self) -> Qualifier:
        """The fields."""
        return self._qualifier


class INTERVAL(type_api.NativeForEmulated, _AbstractInterval):
    """INTERVAL *first*(*leading*) TO *last*, by names of fields: ``INTERVAL("hour", "minute", leading=4)``.

    Values are timedeltas, or `aioifx.IntervalYM` for YEAR and MONTH. The default holds every timedelta of less than a
    billion days, to a hundred-thousandth of a second.

    Args:
        leading: digits of the first field, 1 to 9.
        fraction: digits of FRACTION, 1 to 5.

    Raises:
        sqlalchemy.exc.ArgumentError: unknown fields, or fields that INTERVAL does not mix.
    """

    __visit_name__ = "INTERVAL"

    def __init__(
        self,
        first: str = "day",
        last: str = "fraction",
        leading: int | None = None,
        fraction: int | None = None,
    ) -> None:
        self.first, self.last, self.leading, self.fraction = first.lower(), last.lower(), leading, fraction
        start, end = _unit(first), _unit(last)
        scale = (5 if fraction is None else fraction) if end == Unit.FRACTION else 0
        digits = scale if start == Unit.FRACTION else 9 if leading is None else leading
        if (
            start > end
            or (start <= Unit.MONTH) != (end <= Unit.MONTH)
            or not 1 <= digits <= 9
            or (end == Unit.FRACTION and not 1 <= scale <= 5)
        ):
            raise exc.ArgumentError(
                f"INTERVAL: no qualifier {first}({leading}) to {last}, fraction {fraction}"
            )
        self._qualifier = Qualifier(start, end, digits, scale)

    @classmethod
    def adapt_emulated_to_native(cls, impl: Any, **kw: Any) -> INTERVAL:
        """The native type of SQLAlchemy's Interval, with at most Informix's five digits of a second."""
        digits = impl.second_precision
        if digits == 0:
            return cls(last="second", leading=impl.day_precision)
        return cls(leading=impl.day_precision, fraction=None if digits is None else min(digits, 5))

    def as_generic(self, allow_nulltype: bool = False) -> sqltypes.Interval:
        """SQLAlchemy's Interval."""
        return sqltypes.Interval(native=True, second_precision=self.fraction, day_precision=self.leading)

    @property
    def qualifier(self) -> Qualifier:
        """The fields."""
        return self._qualifier

    @property
    def python_type(self) -> type[Any]:
        return IntervalYM if self._qualifier.is_year_month else dt.timedelta

    def literal_processor(self, dialect: Dialect) -> Process | None:
        format_text = interval_formatter(SqlType(TypeCode.INTERVAL, self._qualifier.encoded))
        return lambda value: f"INTERVAL({format_text(value)}) {self._qualifier.interval_text()}"


# --- JSON -----------------------------------------------------------------------------------------------------------


class JSON(sqltypes.JSON):
    """JSON documents. None is NULL, because Informix stores objects only; `JSON.NULL` is the text null."""

    def bind_processor(self, dialect: Dialect) -> Process | None:
        serialize = dialect._json_serializer or json.dumps

        def process(value: Any) -> Any:
            if value is None or isinstance(value, elements.Null):
                return None
            return serialize(None if value is self.NULL else value)

        return process

    def result_processor(self, dialect: Dialect, coltype: object) -> Process | None:
        """None for columns of type JSON and BSON, which the connection decodes; a decoder of text for others."""
        if not isinstance(coltype, SqlType) or coltype.opaque_name in ("json", "bson"):
            return None
        decode = dialect._json_deserializer or json.loads
        return lambda value: value if value is None else decode(value)

    def literal_processor(self, dialect: Dialect) -> Process | None:
        bind, name = self.bind_processor(dialect), self.__visit_name__
        assert bind is not None

        def process(value: Any) -> str:
            text = bind(value)
            return "NULL" if text is None else f"{quoted(text)}::{name}"

        return process


class BSON(JSON):
    """BSON documents: a dict, or the bytes of a document."""

    __visit_name__ = "BSON"

    def bind_processor(self, dialect: Dialect) -> Process | None:
        return lambda value: None if isinstance(value, elements.Null) or value is self.NULL else value

    def literal_processor(self, dialect: Dialect) -> Process | None:
        return None


# --- what SQLAlchemy's generic types are ----------------------------------------------------------------------------

COLSPECS: Final[dict[type[sqltypes.TypeEngine[Any]], type[sqltypes.TypeEngine[Any]]]] = {
    sqltypes.Integer: _Integer,
    sqltypes.Numeric: _Numeric,
    sqltypes.Float: sqltypes.Float,
    sqltypes.LargeBinary: LargeBinary,
    sqltypes.BINARY: BINARY,
    sqltypes.VARBINARY: VARBINARY,
    sqltypes.Boolean: _Boolean,
    sqltypes.Date: _Date,
    sqltypes.DateTime: _DateTime,
    sqltypes.Time: _Time,
    sqltypes.Interval: INTERVAL,
    sqltypes.JSON: JSON,
    sqltypes.JSON.JSONIndexType: JSONIndex,
    sqltypes.JSON.JSONPathType: JSONPath,
}
"""What converts values of SQLAlchemy's generic types."""
