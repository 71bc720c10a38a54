"""DATE, DATETIME, INTERVAL and their qualifiers. Never: time zones, locales' date formats.

The base-100 number of a DATETIME or INTERVAL has its point after SECOND, whichever fields there are. Before the point,
SECOND is pair 1, MINUTE 2, HOUR 3, DAY 4, MONTH 5, YEAR 6 and 7. FRACTION follows it, padded on the right to whole
pairs. Servers leave out leading zero pairs, clients may keep them (observed: native_values_14_10.json, binds.json).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, Final

from aioifx.codecs.base import Codec, Decode, Kind
from aioifx.codecs.base100 import Number, pack_field, unpack
from aioifx.errors import DataError, InterfaceError, NotSupportedError
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

# --- DATE -----------------------------------------------------------------------------------------------------------

_INT: Final = Struct(">i")
_NULL_DATE: Final = _INT.pack(-(1 << 31))

DAY_ZERO: Final = dt.date(1899, 12, 31).toordinal()
"""The proleptic Gregorian ordinal of DATE's day 0 (observed: native_values_14_10.json)."""

FIRST_DAY: Final = dt.date.min.toordinal() - DAY_ZERO
LAST_DAY: Final = dt.date.max.toordinal() - DAY_ZERO


def date_of(day: int) -> dt.date:
    """The date of a day number."""
    if not FIRST_DAY <= day <= LAST_DAY:
        raise DataError("DATE outside the years 1 to 9999")
    return dt.date.fromordinal(day + DAY_ZERO)


def _decode_date(field: bytes) -> dt.date | None:
    return None if field == _NULL_DATE else date_of(_INT.unpack(field)[0])


def _encode_date(value: Value) -> bytes:
    if value is None:
        return _NULL_DATE
    if not isinstance(value, dt.date) or value != value:  # pandas' NaT is a datetime, and has no day
        raise DataError(f"DATE does not accept {type(value).__name__}")
    if isinstance(value, dt.datetime) and (value.tzinfo is not None or value.time() != dt.time.min):
        raise DataError("datetime with a time of day or zone does not fit DATE")
    return _INT.pack(value.toordinal() - DAY_ZERO)


DATE: Final = Codec(Kind.DATE, 0, 4, _decode_date, _encode_date)


# --- where the pairs of a qualifier are -----------------------------------------------------------------------------

_POSITION: Final = {unit: position for position, unit in enumerate(reversed(list(Unit)))}
_FRACTION_PAIRS: Final = 3


def qualifier_of(sql_type: SqlType) -> Qualifier:
    """The qualifier of a DATETIME or INTERVAL, digits checked.

    Raises:
        NotSupportedError: the described qualifier is invalid.
    """
    try:
        qualifier = Qualifier.from_encoded(sql_type.length)
    except InterfaceError as error:
        raise NotSupportedError(str(error)) from None
    first, last, leading, _ = qualifier
    if sql_type.code == TypeCode.DATETIME:
        valid = qualifier == datetime_qualifier(first, last, qualifier.scale)
    else:
        valid = 1 <= leading <= 9 and (first > Unit.MONTH or last <= Unit.MONTH)
    if not valid:
        name = TypeCode(sql_type.code).name
        raise NotSupportedError(f"qualifier: expected one of {name}, got {sql_type.length:#06x}")
    return qualifier


def highest_pair(qualifier: Qualifier) -> int:
    """The position of the first pair: how many pairs there are before the point, counting SECOND's as 1."""
    if qualifier.first == Unit.FRACTION:
        return 0
    return _POSITION[qualifier.first] + (qualifier.leading + 1) // 2 - 1


def pair_count(qualifier: Qualifier) -> int:
    """How many pairs a value has when none is left out."""
    fraction = (qualifier.scale + 1) // 2
    if fraction:
        return highest_pair(qualifier) + fraction
    return highest_pair(qualifier) - _POSITION[qualifier.last] + 1


def _spread(data: bytes, qualifier: Qualifier, name: str) -> tuple[bool, bytes] | None:
    """Sign and all pairs of the qualifier, with those that the sender left out; None for NULL."""
    number = unpack(data)
    if number is None:
        return None
    negative, exponent, pairs = number
    lead = highest_pair(qualifier) - exponent
    count = pair_count(qualifier)
    if lead < 0:
        if pairs[:-lead].strip(b"\0"):
            raise DataError(f"more digits than {name} has")
        pairs, lead = pairs[-lead:], 0
    pairs = b"\0" * lead + pairs
    if pairs[count:].strip(b"\0"):
        raise DataError(f"more digits than {name} has")
    return negative, pairs[:count].ljust(count, b"\0")


def _microseconds(pairs: bytes) -> int:
    first, second, third = pairs.ljust(_FRACTION_PAIRS, b"\0")
    return first * 10_000 + second * 100 + third


def _fraction(microseconds: int, scale: int) -> bytes:
    """The pairs of FRACTION(scale); digits after them are cut, as the server cuts them (documented: no rounding)."""
    microseconds -= microseconds % 10 ** (6 - scale)
    pairs = bytes((microseconds // 10_000, microseconds // 100 % 100, microseconds % 100))
    return pairs[: (scale + 1) // 2]


# --- DATETIME -------------------------------------------------------------------------------------------------------

Fields = Mapping[Unit, int]

_LEAST: Final = {unit: 1 if unit in (Unit.MONTH, Unit.DAY) else 0 for unit in Unit}
"""The value of a field after the last one of a qualifier, so that nothing is lost without it."""


def datetime_fields(value: Value) -> dict[Unit, int]:
    """The fields that a datetime, date, time or Datetime has."""
    match value:
        case dt.datetime() if value == value:  # not pandas' NaT, whose fields are NaN
            if value.tzinfo is not None:
                raise DataError(
                    "aware datetime: a DATETIME has no time zone; set the option timezone, or convert it"
                )
            moment = (value.year, value.month, value.day, value.hour, value.minute, value.second)
            return dict(zip(Unit, (*moment, value.microsecond), strict=True))
        case dt.date() if value == value:
            return dict(zip(Unit, (value.year, value.month, value.day, 0, 0, 0, 0), strict=True))
        case dt.time():
            if value.tzinfo is not None:
                raise DataError("aware time: a DATETIME has no time zone, convert it first")
            clock = (value.hour, value.minute, value.second, value.microsecond)
            return dict(zip(tuple(Unit)[3:], clock, strict=True))
        case Datetime():
            return {unit: field for unit, field in zip(Unit, value.fields, strict=True) if field is not None}
        case _:
            raise DataError(f"DATETIME does not accept {type(value).__name__}")


def fitted_fields(value: Value, qualifier: Qualifier) -> dict[Unit, int]:
    """The fields of a value for a DATETIME of *qualifier*.

    Fields of a datetime or time that are finer than the qualifier are cut, digits of a fraction included; coarser
    ones stay. A date or Datetime loses nothing but digits of a fraction.

    Source: observed: JDBC, binds.json, setTimestamp -> dt_y_d, dt_y_mo, dt_y_y, dt_y_h, dt_h_s, dt_mo_d. JDBC leaves
    the cut of a time to the server (setTime -> dt_h_mi); the stored value is the same.
    """
    fields = datetime_fields(value)
    is_moment = isinstance(value, (dt.datetime, dt.time))
    for unit, field in fields.items():
        if unit == Unit.FRACTION and qualifier.last >= Unit.SECOND:
            fields[unit] = field - field % 10 ** (6 - qualifier.scale)
        elif is_moment:
            fields[unit] = field if unit <= qualifier.last else _LEAST[unit]
        elif unit < qualifier.first or (unit > qualifier.last and field != _LEAST[unit]):
            kind, text = type(value).__name__, qualifier.datetime_text()
            raise DataError(f"{unit.name} of the {kind} does not fit DATETIME {text}")
    return fields


def datetime_number(fields: Fields, qualifier: Qualifier, kind: str) -> Number:
    """The number of a DATETIME, all pairs of its qualifier kept."""
    pairs = bytearray()
    for unit in qualifier.units:
        field = fields.get(unit)
        if field is None:
            raise DataError(f"{kind} has no {unit.name} for DATETIME {qualifier.datetime_text()}")
        if unit == Unit.YEAR:
            pairs += bytes(divmod(field, 100))
        elif unit == Unit.FRACTION:
            pairs += _fraction(field, qualifier.scale)
        else:
            pairs.append(field)
    return Number(False, highest_pair(qualifier), bytes(pairs))


_STEPS: Final = (1_000_000, 100_000, 10_000, 1_000, 100, 10)


def common_step(qualifier: Qualifier, first: Unit = Unit.YEAR) -> int:
    """The finest microseconds of a qualifier that begins with *first* and has SECOND; 0 for the others."""
    if qualifier.first != first or qualifier.last < Unit.SECOND:
        return 0
    return _STEPS[qualifier.scale]


def common_moment(value: dt.datetime, step: int) -> bytes | None:
    """A naive datetime in YEAR TO FRACTION(5), all pairs kept, cut to *step* microseconds; None when it is aware.

    The fast path for most DATETIMEs; `datetime_number` returns the same, five times slower (measured).
    """
    if value.tzinfo is not None:
        return None
    rest = value.microsecond - value.microsecond % step
    century, year = divmod(value.year, 100)
    date_and_time = (century, year, value.month, value.day, value.hour, value.minute, value.second)
    return bytes((0xC7, *date_and_time, rest // 10_000, rest // 100 % 100, rest % 100))


def common_clock(value: dt.time, step: int) -> bytes | None:
    """The same for a naive time, in HOUR TO FRACTION(5)."""
    if value.tzinfo is not None:
        return None
    rest = value.microsecond - value.microsecond % step
    clock = (value.hour, value.minute, value.second)
    return bytes((0xC3, *clock, rest // 10_000, rest // 100 % 100, rest % 100))


_Maker = Callable[[list[int]], Value]


def _maker(qualifier: Qualifier) -> _Maker:
    """Field values in order -> the Python value of this qualifier: a standard class where one has just these fields."""
    standard: Any = qualifier.datetime_class
    if standard is not Datetime:
        return lambda fields: standard(*fields)
    units, scale = qualifier.units, qualifier.scale or 5
    names = tuple("microsecond" if unit == Unit.FRACTION else unit.name.lower() for unit in units)
    return lambda fields: Datetime(**dict(zip(names, fields, strict=True)), scale=scale)


def datetime_decoder(sql_type: SqlType) -> Decode:
    """Base-100 bytes of any length -> value; a parameter may have more or fewer pairs than its qualifier."""
    qualifier = qualifier_of(sql_type)
    make, name = _maker(qualifier), str(sql_type)
    has_year, has_fraction = qualifier.first == Unit.YEAR, qualifier.scale > 0
    plain = len(qualifier.units) - has_year - has_fraction

    def decode(field: bytes) -> Value:
        spread = _spread(field, qualifier, name)
        if spread is None:
            return None
        negative, pairs = spread
        if negative:
            raise DataError(f"negative {name}")
        fields = [pairs[0] * 100 + pairs[1]] if has_year else []
        start = 2 * has_year
        fields += pairs[start : start + plain]
        if has_fraction:
            fields.append(_microseconds(pairs[start + plain :]))
        try:
            return make(fields)
        except ValueError as error:
            raise DataError(f"invalid {name}: {error}") from None

    return decode


def datetime(sql_type: SqlType) -> Codec:
    """The codec of DATETIME with any qualifier."""
    qualifier = qualifier_of(sql_type)
    width = 1 + pair_count(qualifier)
    step, clock_step = common_step(qualifier), common_step(qualifier, Unit.HOUR)

    def encode(value: Value) -> bytes:
        if value is None:
            return bytes(width)
        data = None
        if step and value.__class__ is dt.datetime and value.year > 99:  # no leading pair to leave out
            data = common_moment(value, step)
        elif clock_step and value.__class__ is dt.time and value.hour:
            data = common_clock(value, clock_step)
        if data is not None:
            return data[:width]
        number = datetime_number(fitted_fields(value, qualifier), qualifier, type(value).__name__)
        return pack_field(number, width)

    return Codec(Kind.DATETIME, 0, width, datetime_decoder(sql_type), encode, sql_type.length)


# --- INTERVAL -------------------------------------------------------------------------------------------------------

PER_UNIT: Final = {
    Unit.YEAR: 12,
    Unit.MONTH: 1,
    Unit.DAY: 86_400_000_000,
    Unit.HOUR: 3_600_000_000,
    Unit.MINUTE: 60_000_000,
    Unit.SECOND: 1_000_000,
    Unit.FRACTION: 1,
}
"""Months for YEAR and MONTH, microseconds for the rest."""


def interval_packer(sql_type: SqlType) -> Callable[[Value], Number]:
    """Makes the numbers of an INTERVAL from IntervalYM or timedelta, all pairs of its qualifier kept."""
    qualifier, name = qualifier_of(sql_type), str(sql_type)
    year_month, scale, exponent = qualifier.is_year_month, qualifier.scale, highest_pair(qualifier)
    per_unit = [PER_UNIT[unit] for unit in qualifier.units if unit != Unit.FRACTION]
    places = [100**place for place in reversed(range((qualifier.leading + 1) // 2))]
    limit = 10**qualifier.leading * per_unit[0] if per_unit else PER_UNIT[Unit.SECOND]

    def amount_of(value: Value) -> int:
        if year_month and isinstance(value, IntervalYM):
            return value.total_months
        if not year_month and isinstance(value, dt.timedelta):
            return (value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds
        raise DataError(f"{name} does not accept {type(value).__name__}")

    def number(value: Value) -> Number:
        amount = amount_of(value)
        rest = abs(amount)
        if rest >= limit:
            raise DataError(f"{type(value).__name__} does not fit {name}")
        fields: list[int] = []
        for divisor in per_unit:
            field, rest = divmod(rest, divisor)
            fields.append(field)
        pairs = bytes([fields[0] // place % 100 for place in places] + fields[1:]) if fields else b""
        if scale:
            pairs += _fraction(rest, scale)
        elif rest and (year_month or qualifier.last < Unit.SECOND):
            raise DataError(f"{type(value).__name__} is finer than {name}")
        return Number(amount < 0, exponent, pairs)

    return number


def interval_decoder(sql_type: SqlType) -> Decode:
    """Base-100 bytes of any length -> IntervalYM or timedelta."""
    qualifier = qualifier_of(sql_type)
    name, units = str(sql_type), qualifier.units
    lead = 0 if units[0] == Unit.FRACTION else (qualifier.leading + 1) // 2
    plain = [unit for unit in units[1:] if unit != Unit.FRACTION]

    def decode(field: bytes) -> Value:
        spread = _spread(field, qualifier, name)
        if spread is None:
            return None
        negative, pairs = spread
        amount = 0
        for pair in pairs[:lead]:
            amount = amount * 100 + pair
        amount *= PER_UNIT[units[0]] if lead else 0
        for unit, pair in zip(plain, pairs[lead:], strict=False):
            amount += pair * PER_UNIT[unit]
        if qualifier.scale:
            amount += _microseconds(pairs[lead + len(plain) :])
        amount = -amount if negative else amount
        if qualifier.is_year_month:
            return IntervalYM(months=amount)
        try:
            return dt.timedelta(microseconds=amount)
        except OverflowError:
            raise DataError(f"{name} outside the range of timedelta") from None

    return decode


def interval(sql_type: SqlType) -> Codec:
    """The codec of INTERVAL with any qualifier."""
    width, number = 1 + pair_count(qualifier_of(sql_type)), interval_packer(sql_type)

    def encode(value: Value) -> bytes:
        return bytes(width) if value is None else pack_field(number(value), width)

    return Codec(Kind.INTERVAL, 0, width, interval_decoder(sql_type), encode, sql_type.length)
