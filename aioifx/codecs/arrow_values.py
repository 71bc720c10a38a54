"""Columns in Arrow's layout -> Python values, column by column. Never: rows, types of SQL, who releases a batch.

Source: documented: the Arrow C data interface (format strings), the Arrow columnar format (buffers)

Invariants:
1. A value has the class that `Connection.fetch` gives for such a column: NULL is None, and NaN is a float.
2. Times finer than microseconds are cut, as every digit is that a DATETIME cannot hold.
3. A value without a Python equivalent is an object whose class is named after the reason. Every type refuses it, as it
   refuses any other value of an unsupported class: with its row and its column.
"""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from ctypes import string_at
from decimal import Decimal
from functools import partial
from itertools import pairwise
from re import fullmatch
from struct import iter_unpack, unpack
from typing import Any, Final, TypeAlias

from aioifx.codecs.arrow_c_data import validity
from aioifx.codecs.arrow_rows import ArrowColumn, ArrowField, ReadValues, RowColumn
from aioifx.errors import InterfaceError, NotSupportedError
from aioifx.sqltypes import Value

_Convert: TypeAlias = Callable[[Any], Value]


def _unusable(reason: str) -> Value:
    return type(reason, (), {})()


_OUT_OF_RANGE: Final = _unusable("time outside the years 1 to 9999")
_OUTSIDE_A_DAY: Final = _unusable("time outside of a day")
_TOO_FINE: Final = _unusable("duration finer than microseconds")
_NOT_UTF8: Final = _unusable("text that is not UTF-8")
_NO_ENTRY: Final = _unusable("an index outside of the dictionary")
_NO_VIEW: Final = _unusable("a view outside of its buffer")


# --- fixed width ----------------------------------------------------------------------------------------------------


def _raw(column: ArrowColumn, first: int, last: int, width: int) -> bytes:
    return string_at(column.buffer(1) + (column.offset + first) * width, (last - first) * width)


def _items(data: bytes, letter: str) -> list[Any]:
    view: Any = memoryview(data)
    items: list[Any] = view.cast(letter).tolist()
    return items


def _without_nulls(values: list[Value], column: ArrowColumn, first: int, last: int) -> list[Value]:
    """The values, with None where the validity bitmap has no bit."""
    if not column.has_nulls:
        return values
    valid = validity(column.buffers[0], column.offset + first, last - first)
    return [value if one else None for value, one in zip(values, valid, strict=True)]


def _numbers(letter: str, width: int, column: ArrowColumn, first: int, last: int) -> list[Value]:
    return _without_nulls(_items(_raw(column, first, last, width), letter), column, first, last)


def _halves(column: ArrowColumn, first: int, last: int) -> list[Value]:
    data = _raw(column, first, last, 2)
    return _without_nulls(list(unpack(f"={last - first}e", data)), column, first, last)


def _wide_integers(width: int, column: ArrowColumn, first: int, last: int) -> list[Value]:
    data = _raw(column, first, last, width)
    cut = (data[at : at + width] for at in range(0, len(data), width))
    values: list[Value] = [int.from_bytes(one, sys.byteorder, signed=True) for one in cut]
    return _without_nulls(values, column, first, last)


def _booleans(column: ArrowColumn, first: int, last: int) -> list[Value]:
    values: list[Value] = [*validity(column.buffer(1), column.offset + first, last - first)]
    return _without_nulls(values, column, first, last)


def _nulls(column: ArrowColumn, first: int, last: int) -> list[Value]:
    return [None] * (last - first)


def _fixed_bytes(width: int, column: ArrowColumn, first: int, last: int) -> list[Value]:
    data = _raw(column, first, last, width)
    values: list[Value] = [data[at * width : (at + 1) * width] for at in range(last - first)]
    return _without_nulls(values, column, first, last)


def _converted(read: ReadValues, convert: _Convert) -> ReadValues:
    def converted(column: ArrowColumn, first: int, last: int) -> list[Value]:
        return [None if value is None else convert(value) for value in read(column, first, last)]

    return converted


# --- text and bytes -------------------------------------------------------------------------------------------------


def _offset_bytes(letter: str, width: int, column: ArrowColumn, first: int, last: int) -> list[Value]:
    start = column.buffer(1) + (column.offset + first) * width
    offsets = _items(string_at(start, (last - first + 1) * width), letter)
    begin, end = offsets[0], offsets[-1]
    if begin < 0 or offsets != sorted(offsets):
        raise InterfaceError("Arrow data: expected offsets from 0 on that do not decrease")
    data = string_at(column.buffer(2) + begin, end - begin) if end > begin else b""
    values: list[Value] = [data[one - begin : two - begin] for one, two in pairwise(offsets)]
    return _without_nulls(values, column, first, last)


_INLINE: Final = 12
"""Longest value that a view holds itself."""


def _view_bytes(column: ArrowColumn, first: int, last: int) -> list[Value]:
    """Views of 16 bytes: size, then up to 12 bytes, or a prefix, the index of a buffer and an offset in it."""
    views = _raw(column, first, last, 16)
    count = max(len(column.buffers) - 3, 0)
    sizes = _items(string_at(column.buffer(2 + count), 8 * count), "q") if count else []

    def value(at: int, size: int, buffer: int, offset: int) -> Value:
        if 0 <= size <= _INLINE:
            return views[at * 16 + 4 : at * 16 + 4 + size]
        if size < 0 or not 0 <= buffer < count or not 0 <= offset <= sizes[buffer] - size:
            return _NO_VIEW
        return string_at(column.buffer(2 + buffer) + offset, size)

    # The view of a NULL may hold anything.
    found = _without_nulls(list(iter_unpack("=iiii", views)), column, first, last)
    return [None if one is None else value(at, one[0], *one[2:]) for at, one in enumerate(found)]


def _text(value: Value) -> Value:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return _NOT_UTF8


# --- numbers and times ----------------------------------------------------------------------------------------------


def _decimal(scale: int, value: int) -> Value:
    return Decimal(f"{value}E{-scale}")


_EPOCH: Final = dt.datetime(1970, 1, 1)
_EPOCH_DAY: Final = _EPOCH.toordinal()
_DAY: Final = 86_400_000_000
_TICKS: Final = {"s": (1_000_000, 1), "m": (1_000, 1), "u": (1, 1), "n": (1, 1_000)}
"""A unit of time in microseconds, as a fraction."""


def _date(value: int) -> Value:
    try:
        return dt.date.fromordinal(value + _EPOCH_DAY)
    except (ValueError, OverflowError):
        return _OUT_OF_RANGE


def _day(value: int) -> Value:
    """A date64: milliseconds."""
    return _date(value // 86_400_000)


def _moment(times: int, parts: int, value: int) -> Value:
    try:
        return _EPOCH + dt.timedelta(microseconds=value * times // parts)
    except OverflowError:
        return _OUT_OF_RANGE


def _instant(times: int, parts: int, value: int) -> Value:
    """A timestamp of any time zone: all count from 1970 in UTC."""
    moment = _moment(times, parts, value)
    return moment.replace(tzinfo=dt.UTC) if isinstance(moment, dt.datetime) else moment


def _clock(times: int, parts: int, value: int) -> Value:
    amount = value * times // parts
    if not 0 <= amount < _DAY:
        return _OUTSIDE_A_DAY
    return (_EPOCH + dt.timedelta(microseconds=amount)).time()


def _duration(times: int, parts: int, value: int) -> Value:
    amount, rest = divmod(value * times, parts)
    if rest:
        return _TOO_FINE
    try:
        return dt.timedelta(microseconds=amount)
    except OverflowError:
        return _OUT_OF_RANGE


# --- from types to functions ----------------------------------------------------------------------------------------

_LETTERS: Final = {
    "c": "b",
    "C": "B",
    "s": "h",
    "S": "H",
    "i": "i",
    "I": "I",
    "l": "q",
    "L": "Q",
    "f": "f",
    "g": "d",
}
_WIDTHS: Final = {"b": 1, "h": 2, "i": 4, "q": 8, "f": 4, "d": 8}


def _fixed(letter: str) -> ReadValues:
    return partial(_numbers, letter, _WIDTHS[letter.lower()])


_SIMPLE: Final[dict[str, ReadValues]] = {
    **{form: _fixed(letter) for form, letter in _LETTERS.items()},
    "n": _nulls,
    "b": _booleans,
    "e": _halves,
    "z": partial(_offset_bytes, "i", 4),
    "Z": partial(_offset_bytes, "q", 8),
    "vz": _view_bytes,
    "u": _converted(partial(_offset_bytes, "i", 4), _text),
    "U": _converted(partial(_offset_bytes, "q", 8), _text),
    "vu": _converted(_view_bytes, _text),
    "tdD": _converted(_fixed("i"), _date),
    "tdm": _converted(_fixed("q"), _day),
    **{f"tt{unit}": _converted(_fixed("i"), partial(_clock, *_TICKS[unit])) for unit in "sm"},
    **{f"tt{unit}": _converted(_fixed("q"), partial(_clock, *_TICKS[unit])) for unit in "un"},
    **{f"ts{unit}:": _converted(_fixed("q"), partial(_moment, *_TICKS[unit])) for unit in "smun"},
    **{f"tD{unit}": _converted(_fixed("q"), partial(_duration, *_TICKS[unit])) for unit in "smun"},
}

_DECIMALS: Final[dict[int, ReadValues]] = {
    32: _fixed("i"),
    64: _fixed("q"),
    128: partial(_wide_integers, 16),
    256: partial(_wide_integers, 32),
}

_NAMES: Final = {
    "+l": "list",
    "+L": "list",
    "+vl": "list",
    "+vL": "list",
    "+w": "list",
    "+s": "struct",
    "+m": "map",
    "+u": "union",
    "+r": "run-end encoded",
    "ti": "interval",
}


def reader_for(field: ArrowField) -> ReadValues:
    """The function that reads the values of a column.

    Raises:
        NotSupportedError: the type has no equivalent here; names the column and the type.
    """
    if field.dictionary is not None:
        return _dictionary_reader(field, field.dictionary)
    kind, _, details = field.format.partition(":")
    if (found := _SIMPLE.get(field.format)) is not None:
        return found
    if kind == "w" and details.isdecimal():
        return partial(_fixed_bytes, int(details))
    if kind == "d" and (found_type := fullmatch(r"\d+,(-?\d+)(?:,(\d+))?", details)):
        read = _DECIMALS.get(int(found_type[2] or 128))
        if read is not None:
            return _converted(read, partial(_decimal, int(found_type[1])))
    if kind in ("tss", "tsm", "tsu", "tsn"):
        return _converted(_fixed("q"), partial(_instant, *_TICKS[kind[2]]))
    name = next((name for start, name in _NAMES.items() if kind.startswith(start)), field.format[:40])
    raise NotSupportedError(f"column {field.name!r}: Arrow's type {name} is not supported", column=field.name)


def _dictionary_reader(field: ArrowField, of_values: ArrowField) -> ReadValues:
    if field.format not in _LETTERS or field.format in "fg":
        raise InterfaceError(
            f"Arrow data: expected indices of a dictionary, got the type {field.format!r:.40}"
        )
    indices, values = reader_for(ArrowField(field.name, field.format)), _named(of_values, field.name)
    read_values = reader_for(values)

    def read(column: ArrowColumn, first: int, last: int) -> list[Value]:
        dictionary = column.dictionary
        assert dictionary is not None, "the schema has a dictionary"
        known = dictionary.values
        if known is None:
            known = dictionary.values = read_values(dictionary, 0, dictionary.length)
        count = len(known)
        return [
            None if index is None else known[index] if 0 <= index < count else _NO_ENTRY
            for index in indices(column, first, last)
        ]

    return read


def _named(field: ArrowField, name: str) -> ArrowField:
    return ArrowField(name, field.format, field.dictionary, field.children)


def row_column(position: int, field: ArrowField) -> RowColumn:
    """The value of a row that is in the column at *position* of its batch.

    Raises:
        Error: as `reader_for`.
    """
    of_values = field.dictionary
    known = None if of_values is None else reader_for(_named(of_values, field.name))
    return RowColumn(position, field, reader_for(field), known)
