"""Type codes, descriptions of columns, qualifiers, and values that Python lacks. Never: how a value looks in bytes.

Source: type codes, flags and encoded lengths are documented (syscolumns, sqltypes.h) and were observed in
SQ_DESCRIBE replies of 12.10, 14.10 and 15.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from enum import IntEnum
from functools import total_ordering
from typing import Any, Final, NamedTuple, Self, TypeAlias

from aioifx.errors import DataError, InterfaceError, visible

Value: TypeAlias = Any
"""One SQL value in Python, of any type."""

Row: TypeAlias = tuple[Value, ...]
"""The values of one row, in column order."""


class TypeCode(IntEnum):
    """Informix's number of a type, as in syscolumns.coltype without its flags: INTEGER is 2."""

    CHAR = 0
    SMALLINT = 1
    INTEGER = 2
    FLOAT = 3
    SMALLFLOAT = 4
    DECIMAL = 5
    SERIAL = 6
    DATE = 7
    MONEY = 8
    NULL = 9
    DATETIME = 10
    BYTE = 11
    TEXT = 12
    VARCHAR = 13
    INTERVAL = 14
    NCHAR = 15
    NVARCHAR = 16
    INT8 = 17
    SERIAL8 = 18
    SET = 19
    MULTISET = 20
    LIST = 21
    ROW = 22
    COLLECTION = 23
    ROWREF = 24
    UDTVAR = 40
    UDTFIXED = 41
    LVARCHAR = 43
    """LVARCHAR in requests of a client; in the catalog it is UDTVAR with extended id 1."""
    OPAQUE = 44
    """An opaque type in requests of a client, named by owner and extended name."""
    BOOLEAN = 45
    """BOOLEAN in requests of a client; in the catalog it is UDTFIXED with extended id 5."""
    BIGINT = 52
    BIGSERIAL = 53


class TypeTraits(NamedTuple):
    """What is true of every value of a type that has one size."""

    size: int
    """Bytes of a value in a row and in SQ_BIND (observed: binds.json)."""
    digits: int
    """Digits of the largest value; for DATE, characters of its text."""
    is_integer: bool = True
    serial_of: TypeCode | None = None
    """The type of the values, for a column that the server numbers."""


TRAITS: Final[dict[int, TypeTraits]] = {
    TypeCode.SMALLINT: TypeTraits(2, 5),
    TypeCode.INTEGER: TypeTraits(4, 10),
    TypeCode.SERIAL: TypeTraits(4, 10, serial_of=TypeCode.INTEGER),
    TypeCode.INT8: TypeTraits(10, 19),
    TypeCode.SERIAL8: TypeTraits(10, 19, serial_of=TypeCode.INT8),
    TypeCode.BIGINT: TypeTraits(8, 19),
    TypeCode.BIGSERIAL: TypeTraits(8, 19, serial_of=TypeCode.BIGINT),
    TypeCode.FLOAT: TypeTraits(8, 15, is_integer=False),
    TypeCode.SMALLFLOAT: TypeTraits(4, 7, is_integer=False),
    TypeCode.DATE: TypeTraits(4, 10, is_integer=False),
}
"""The types of one size. Other tables of types refer to this one, and add only what is theirs."""

INTEGER_CODES: Final = frozenset(code for code, traits in TRAITS.items() if traits.is_integer)
"""Types of whole numbers."""
NUMBER_CODES: Final = INTEGER_CODES | {TypeCode.FLOAT, TypeCode.SMALLFLOAT, TypeCode.DECIMAL, TypeCode.MONEY}
"""Types of all numbers."""
SERIALS: Final = {code: traits.serial_of for code, traits in TRAITS.items() if traits.serial_of is not None}
"""Types of columns that the server numbers -> the types of their values."""


NOT_NULL: Final = 0x0100
DISTINCT: Final = 0x0800
DISTINCT_LVARCHAR: Final = 0x2000
DISTINCT_BOOLEAN: Final = 0x4000

EXTENDED_LVARCHAR: Final = 1
EXTENDED_BOOLEAN: Final = 5
EXTENDED_BLOB: Final = 10
EXTENDED_CLOB: Final = 11


class Unit(IntEnum):
    """A field of a qualifier, with the number that encoded lengths use for it."""

    YEAR = 0
    MONTH = 2
    DAY = 4
    HOUR = 6
    MINUTE = 8
    SECOND = 10
    FRACTION = 12


class Qualifier(NamedTuple):
    """The fields that a DATETIME or INTERVAL has: first unit, last unit, digits of the first, digits of FRACTION."""

    first: Unit
    last: Unit
    leading: int
    """Digits of the first field: 4 for YEAR and 2 for others in a DATETIME, 1 to 9 in an INTERVAL."""
    scale: int = 0
    """Digits of FRACTION, 1 to 5; 0 when the qualifier ends before it."""

    @classmethod
    def from_encoded(cls, encoded: int) -> Self:
        """Decode an encoded length: digits * 256 + first * 16 + last, where last is 10 + n for FRACTION(n).

        Raises:
            InterfaceError: it is not the length of a qualifier.
        """
        digits, first, last = encoded >> 8, (encoded >> 4) & 0xF, encoded & 0xF
        if first > 12 or first % 2 or last > 15 or last < min(first, 11) or (last < 10 and last % 2):
            raise InterfaceError(f"qualifier: expected one of DATETIME or INTERVAL, got {encoded:#06x}")
        scale = last - 10 if last > 10 else 0
        end = Unit.FRACTION if scale else Unit(last)
        if first == Unit.FRACTION:
            return cls(Unit.FRACTION, end, scale, scale)
        return cls(Unit(first), end, digits - (last - first), scale)

    @property
    def encoded(self) -> int:
        """The encoded length of this qualifier on the wire and in syscolumns."""
        last = 10 + self.scale if self.scale else int(self.last)
        digits = self.scale if self.first == Unit.FRACTION else self.leading + last - self.first
        return digits * 256 + self.first * 16 + last

    @property
    def units(self) -> tuple[Unit, ...]:
        """All fields, first to last."""
        return tuple(unit for unit in Unit if self.first <= unit <= self.last)

    @property
    def is_year_month(self) -> bool:
        """Whether an INTERVAL of this qualifier counts months rather than time."""
        return self.last <= Unit.MONTH

    @property
    def datetime_class(self) -> type[dt.datetime | dt.date | dt.time | Datetime]:
        """The class of a DATETIME with this qualifier: a standard one if only the finest fields are missing."""
        if self.first == Unit.YEAR and self.last >= Unit.HOUR:
            return dt.datetime
        if self.first == Unit.YEAR and self.last == Unit.DAY:
            return dt.date
        if self.first == Unit.HOUR and self.last >= Unit.MINUTE:
            return dt.time
        return Datetime

    def datetime_text(self) -> str:
        """The SQL text after DATETIME: ``YEAR TO FRACTION(3)``."""
        last = f"FRACTION({self.scale})" if self.scale else self.last.name
        return f"{self.first.name} TO {last}"

    def interval_text(self) -> str:
        """The SQL text after INTERVAL: ``DAY(9) TO SECOND``."""
        first = self.first.name if self.first == Unit.FRACTION else f"{self.first.name}({self.leading})"
        last = f"FRACTION({self.scale})" if self.scale else self.last.name
        return f"{first} TO {last}"


def datetime_qualifier(first: Unit, last: Unit, scale: int = 0) -> Qualifier:
    """The qualifier of a DATETIME, whose leading digits are fixed.

    Raises:
        InterfaceError: *scale* is not 1 to 5 for FRACTION.
    """
    if last == Unit.FRACTION and not 1 <= scale <= 5:
        raise InterfaceError(f"FRACTION: expected 1 to 5 digits, got {scale}")
    leading = scale if first == Unit.FRACTION else 4 if first == Unit.YEAR else 2
    return Qualifier(first, last, leading, scale)


FLOATING_SCALE: Final = 255
"""The scale of DECIMAL(p), a floating-point number."""


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type as in SQ_DESCRIBE, SQ_BIND and syscolumns. ``str()`` gives its text in CREATE TABLE."""

    code: int
    """A `TypeCode`, or an unknown number."""
    length: int = 0
    """The encoded length: bytes, precision * 256 + scale, or a qualifier."""
    extended_id: int = 0
    """The row of sysxtdtypes; 0 for built-in types."""
    owner: str = ""
    extended_name: str = ""
    source: int = 0
    """The base type's extended id, for a DISTINCT type."""
    flags: int = 0
    """DISTINCT, DISTINCT_LVARCHAR and DISTINCT_BOOLEAN. NOT_NULL belongs to the column."""
    fields: tuple[Column, ...] = ()
    """The fields of a ROW. For SET, MULTISET and LIST: one column without a name, their elements. Empty if unknown."""
    base_name: str = ""
    """The extended name of the base type, for a DISTINCT type of a type with a name; empty until it was looked up."""

    @property
    def kind(self) -> int:
        """The code that decides the Python type: as *code*, but LVARCHAR and BOOLEAN instead of opaque types."""
        if self.code == TypeCode.UDTVAR and (
            self.extended_id == EXTENDED_LVARCHAR
            or self.flags & DISTINCT_LVARCHAR
            or self.source == EXTENDED_LVARCHAR
        ):
            return TypeCode.LVARCHAR
        if self.code == TypeCode.UDTFIXED and (
            self.extended_id == EXTENDED_BOOLEAN
            or self.flags & DISTINCT_BOOLEAN
            or self.source == EXTENDED_BOOLEAN
        ):
            return TypeCode.BOOLEAN
        return self.code

    @property
    def opaque_name(self) -> str:
        """The name that decides the form of an opaque type, in lower case; of a DISTINCT type, its base's."""
        return (self.base_name or self.extended_name).lower()

    @property
    def precision(self) -> int | None:
        """Digits of DECIMAL and MONEY; None for other types."""
        return self.length >> 8 if self.code in (TypeCode.DECIMAL, TypeCode.MONEY) else None

    @property
    def scale(self) -> int | None:
        """Digits after the point of DECIMAL(p,s) and MONEY; None for other types and for DECIMAL(p)."""
        if self.code not in (TypeCode.DECIMAL, TypeCode.MONEY) or self.length & 0xFF == FLOATING_SCALE:
            return None
        return self.length & 0xFF

    @property
    def size(self) -> int | None:
        """The most bytes that a character type holds; None for other types."""
        if self.code in (TypeCode.VARCHAR, TypeCode.NVARCHAR):
            return self.length & 0xFF  # the high byte is the reserved size
        return self.length if self.kind in (TypeCode.CHAR, TypeCode.NCHAR, TypeCode.LVARCHAR) else None

    @property
    def qualifier(self) -> Qualifier | None:
        """The fields of DATETIME and INTERVAL; None for other types."""
        if self.code in (TypeCode.DATETIME, TypeCode.INTERVAL):
            return Qualifier.from_encoded(self.length)
        return None

    def __str__(self) -> str:
        """The type's text in CREATE TABLE."""
        kind = self.kind
        if self.flags & DISTINCT and self.extended_name:
            return visible(self.extended_name)
        if self.size is not None:
            return f"{TypeCode(kind).name}({self.size})"
        if self.precision is not None:
            name = TypeCode(kind).name
            return (
                f"{name}({self.precision})"
                if self.scale is None
                else f"{name}({self.precision},{self.scale})"
            )
        if (qualifier := self.qualifier) is not None:
            if kind == TypeCode.DATETIME:
                return f"DATETIME {qualifier.datetime_text()}"
            return f"INTERVAL {qualifier.interval_text()}"
        if self.extended_name and kind not in (TypeCode.LVARCHAR, TypeCode.BOOLEAN):
            return visible(self.extended_name).upper()
        try:
            return TypeCode(kind).name
        except ValueError:
            return f"TYPE {kind}"


SIMPLE_TYPES: Final = {
    TypeCode(code).name.lower(): SqlType(code, traits.size) for code, traits in TRAITS.items()
}
"""The types of one size by their names in SQL."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a result, as described by the server."""

    name: str
    """Its name, in lower case; ``(expression)`` or similar where the query gives none."""
    type: SqlType
    """Its type."""
    nullable: bool = True
    """False only if the server describes the column as NOT NULL."""
    start: int = 0
    """The offset in a row if each variable column has its full length; meaningless after a variable column."""


@dataclass(frozen=True, slots=True)
class Datetime:
    """A DATETIME with a qualifier that no Python class covers, such as YEAR TO MONTH.

    Fields outside the qualifier are None. *scale* is the number of digits of FRACTION. It affects the text of the
    value, not comparisons. Frozen and hashable.

    Raises:
        DataError: no field is given, there is a gap between the fields, or one is out of range.
    """

    year: int | None = None
    month: int | None = None
    day: int | None = None
    hour: int | None = None
    minute: int | None = None
    second: int | None = None
    microsecond: int | None = None
    scale: int = field(default=5, compare=False)

    def __post_init__(self) -> None:
        present = [unit for unit, value in zip(Unit, self.fields, strict=True) if value is not None]
        if not present:
            raise DataError("a Datetime needs at least one field")
        if present != [unit for unit in Unit if present[0] <= unit <= present[-1]]:
            raise DataError("the fields of a Datetime must follow each other without a gap")
        for unit, value in zip(Unit, self.fields, strict=True):
            low, high = _RANGES[unit]
            if value is not None and not low <= value <= high:
                raise DataError(f"Datetime: expected {unit.name} from {low} to {high}, got {value}")

    @property
    def fields(self) -> tuple[int | None, ...]:
        """year, month, day, hour, minute, second, microsecond."""
        return (self.year, self.month, self.day, self.hour, self.minute, self.second, self.microsecond)

    @property
    def qualifier(self) -> Qualifier:
        """The narrowest qualifier with all of the fields."""
        present = [unit for unit, value in zip(Unit, self.fields, strict=True) if value is not None]
        return datetime_qualifier(present[0], present[-1], self.scale if present[-1] == Unit.FRACTION else 0)

    def __str__(self) -> str:
        """The Informix literal, ``DATETIME(12:30) HOUR TO MINUTE``."""
        return f"DATETIME({self._text(' ')}) {self.qualifier.datetime_text()}"

    def isoformat(self) -> str:
        """The fields in ISO 8601, without those that are missing: ``2026-05`` for YEAR TO MONTH."""
        return self._text("T")

    def to_datetime(self, default: dt.datetime = dt.datetime(1900, 1, 1)) -> dt.datetime:
        """A datetime with these fields; any other is taken from *default*, by default 1900-01-01 as in strptime.

        Raises:
            DataError: the day does not exist, such as 29 February in a common year.
            InterfaceError: *default* is not a datetime.
        """
        if not isinstance(default, dt.datetime):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InterfaceError(f"default: expected a datetime, got {type(default).__name__}")
        names = ("year", "month", "day", "hour", "minute", "second", "microsecond")
        present = {name: value for name, value in zip(names, self.fields, strict=True) if value is not None}
        try:
            return default.replace(**present)  # type: ignore[arg-type]  # integers all
        except ValueError as error:
            raise DataError(f"invalid Datetime: {error}") from None

    def _text(self, before_hour: str) -> str:
        text = ""
        for unit in self.qualifier.units:
            value = self.fields[list(Unit).index(unit)] or 0
            if unit == Unit.FRACTION:
                text += "." + f"{value:06d}"[: self.scale]
            else:
                mark = before_hour if unit == Unit.HOUR else FIELD_MARKS[unit]
                text += f"{mark if text else ''}{value:0{4 if unit == Unit.YEAR else 2}d}"
        return text


_RANGES: Final = {
    Unit.YEAR: (1, 9999),
    Unit.MONTH: (1, 12),
    Unit.DAY: (1, 31),
    Unit.HOUR: (0, 23),
    Unit.MINUTE: (0, 59),
    Unit.SECOND: (0, 59),
    Unit.FRACTION: (0, 999_999),
}
FIELD_MARKS: Final = {
    Unit.YEAR: "",
    Unit.MONTH: "-",
    Unit.DAY: "-",
    Unit.HOUR: " ",
    Unit.MINUTE: ":",
    Unit.SECOND: ":",
    Unit.FRACTION: ".",
}
"""What precedes each field of a DATETIME or INTERVAL as text, except its first field."""


@total_ordering
@dataclass(frozen=True, slots=True, init=False)
class IntervalYM:
    """An INTERVAL of years and months; one sign for the whole.

    ``IntervalYM(years=-5, months=-3)`` and ``IntervalYM(months=-63)`` are the same value. Frozen, hashable and ordered,
    with ``+`` and ``-`` for two intervals, and negation. ``str()`` gives the Informix literal.
    """

    total_months: int
    """The whole interval in months, with its sign."""

    def __init__(self, years: int = 0, months: int = 0) -> None:
        object.__setattr__(self, "total_months", years * 12 + months)

    @property
    def years(self) -> int:
        """Whole years, with the sign of the interval."""
        return abs(self.total_months) // 12 * (-1 if self.total_months < 0 else 1)

    @property
    def months(self) -> int:
        """The months beyond the whole years, with the sign of the interval."""
        return abs(self.total_months) % 12 * (-1 if self.total_months < 0 else 1)

    def __lt__(self, other: IntervalYM) -> bool:
        return self.total_months < other.total_months

    def __neg__(self) -> IntervalYM:
        return IntervalYM(months=-self.total_months)

    def __add__(self, other: IntervalYM) -> IntervalYM:
        return IntervalYM(months=self.total_months + other.total_months)

    def __sub__(self, other: IntervalYM) -> IntervalYM:
        return IntervalYM(months=self.total_months - other.total_months)

    def __repr__(self) -> str:
        return f"IntervalYM(years={self.years}, months={self.months})"

    def __str__(self) -> str:
        """The Informix literal, ``INTERVAL(-5-3) YEAR(9) TO MONTH``."""
        sign = "-" if self.total_months < 0 else ""
        return f"INTERVAL({sign}{abs(self.years)}-{abs(self.months)}) YEAR(9) TO MONTH"
