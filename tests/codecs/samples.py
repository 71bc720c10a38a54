"""Types and values for the tests of codecs, as hypothesis strategies, and the vectors of tests/vectors."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from aioifx.codecs.rows import RowDecoder
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.sqltypes import (
    FLOATING_SCALE,
    Column,
    Datetime,
    IntervalYM,
    Qualifier,
    Row,
    SqlType,
    TypeCode,
    Unit,
    datetime_qualifier,
)

VECTORS = Path(__file__).parents[1] / "vectors"

LATIN1 = code_set_of("en_US.8859-1")
UTF8 = code_set_of("en_US.utf8")
CP1252 = code_set_of("en_US.CP1252")

INTEGER = SqlType(TypeCode.INTEGER, 4)
CHAR4 = SqlType(TypeCode.CHAR, 4)
DATE = SqlType(TypeCode.DATE, 4)
FLOAT = SqlType(TypeCode.FLOAT, 8)
INT8 = SqlType(TypeCode.INT8, 10)
SMALLFLOAT = SqlType(TypeCode.SMALLFLOAT, 4)
VARCHAR = SqlType(TypeCode.VARCHAR, 40)
POINT = SqlType(TypeCode.UDTVAR, 64, extended_id=2100, extended_name="point")
LVARCHAR = SqlType(TypeCode.UDTVAR, 2048, extended_id=1, extended_name="lvarchar")
BOOLEAN = SqlType(TypeCode.UDTFIXED, 1, extended_id=5, extended_name="boolean")
JSON = SqlType(TypeCode.UDTVAR, 4096, extended_id=25, extended_name="json")
BSON = SqlType(TypeCode.UDTVAR, 4096, extended_id=26, extended_name="bson")


def vectors(name: str) -> dict[str, Any]:
    """One file of tests/vectors."""
    content: dict[str, Any] = json.loads((VECTORS / name).read_text("utf-8"))
    return content


def described(description: dict[str, Any]) -> SqlType:
    """The type that a vector's description states."""
    return SqlType(
        description["type"],
        description["encoded_length"],
        extended_id=description.get("extended_id", 0),
        extended_name=description.get("extended_name", ""),
    )


def columns_of(*types: SqlType) -> tuple[Column, ...]:
    return tuple(Column(f"c{index}", sql_type) for index, sql_type in enumerate(types))


def decode_row(
    payload: bytes, columns: Sequence[Column], code_set: CodeSet, *, strip_char: bool = False
) -> Row:
    """One row from the bytes that SQ_TUPLE frames, by the reference."""
    return RowDecoder(columns, code_set, strip_char=strip_char).decode_payload(payload)


def decimal_type(precision: int, scale: int = FLOATING_SCALE, code: int = TypeCode.DECIMAL) -> SqlType:
    return SqlType(code, precision * 256 + scale)


# Every DATETIME qualifier, and every INTERVAL qualifier (56 and 302 in the vendor's count, which leaves out the
# synonyms of FRACTION TO FRACTION).

DATETIME_QUALIFIERS = [
    datetime_qualifier(first, last, scale)
    for first in Unit
    for last in Unit
    if last >= first
    for scale in (range(1, 6) if last == Unit.FRACTION else (0,))
]


def _interval_qualifiers() -> list[Qualifier]:
    found: list[Qualifier] = []
    for family in ((Unit.YEAR, Unit.MONTH), tuple(Unit)[2:]):
        for first in family:
            for last in family:
                if last < first:
                    continue
                scales = range(1, 6) if last == Unit.FRACTION else (0,)
                leadings = (0,) if first == Unit.FRACTION else range(1, 10)
                found += [
                    Qualifier(first, last, leading or scale, scale)
                    for leading in leadings
                    for scale in scales
                ]
    return found


INTERVAL_QUALIFIERS = _interval_qualifiers()


# --- values by type -------------------------------------------------------------------------------------------------


def integers(bits: int) -> st.SearchStrategy[int]:
    limit = (1 << (bits - 1)) - 1
    return st.integers(-limit, limit)


def texts(code_set: CodeSet, size: int) -> st.SearchStrategy[str]:
    """Text of the code set, at most *size* bytes, that is not a NULL pattern."""
    return st.text(st.sampled_from(alphabet(code_set)), max_size=size).map(
        lambda text: cut(text, code_set, size)
    )


def alphabet(code_set: CodeSet) -> str:
    """Every character of a single-byte code set but NUL; of UTF-8 some of each length."""
    if code_set.codec == "utf-8":
        return "aZ 09~\x7f\x80\u00e4\u00df\u0301\u07ff\u0800\u20ac\u4e2d\uffff\U0001f600\U0010ffff"
    return bytes(range(1, 256)).decode(code_set.codec, "ignore")


def cut(text: str, code_set: CodeSet, size: int) -> str:
    while len(code_set.encode(text)) > size:
        text = text[:-1]
    return text


@st.composite
def decimals(draw: st.DrawFn, sql_type: SqlType) -> Decimal:
    precision, scale = sql_type.length >> 8, sql_type.length & 0xFF
    number = draw(st.integers(-(10**precision) + 1, 10**precision - 1))
    if scale != FLOATING_SCALE:
        return Decimal((number < 0, tuple(map(int, str(abs(number)))), -scale)) if number else Decimal(0)
    value = Decimal((number < 0, tuple(map(int, str(abs(number)))), draw(st.integers(-60, 30))))
    return Decimal(0) if not value else value


@st.composite
def moments(draw: st.DrawFn, qualifier: Qualifier) -> Any:
    """What a DATETIME of this qualifier is in Python."""
    step = 10 ** (6 - qualifier.scale)
    microsecond = draw(st.integers(0, 10**qualifier.scale - 1)) * step if qualifier.scale else 0
    moment = draw(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59)))
    moment = moment.replace(microsecond=microsecond)
    fields = dict(zip(Unit, (*moment.timetuple()[:6], moment.microsecond), strict=True))
    if qualifier.first == Unit.YEAR and qualifier.last == Unit.DAY:
        return moment.date()
    last = qualifier.last
    cut = moment.replace(
        minute=moment.minute if last >= Unit.MINUTE else 0,
        second=moment.second if last >= Unit.SECOND else 0,
        microsecond=moment.microsecond if last >= Unit.FRACTION else 0,
    )
    if qualifier.first == Unit.YEAR and qualifier.last >= Unit.HOUR:
        return cut
    if qualifier.first == Unit.HOUR and qualifier.last >= Unit.MINUTE:
        return cut.time()
    names = ("year", "month", "day", "hour", "minute", "second", "microsecond")
    chosen = {name: fields[unit] for name, unit in zip(names, Unit, strict=True) if unit in qualifier.units}
    return Datetime(**chosen, scale=qualifier.scale or 5)


_MICROSECONDS = {
    Unit.DAY: 86_400_000_000,
    Unit.HOUR: 3_600_000_000,
    Unit.MINUTE: 60_000_000,
    Unit.SECOND: 1_000_000,
    Unit.FRACTION: 1_000_000,
}


@st.composite
def spans(draw: st.DrawFn, qualifier: Qualifier) -> Any:
    """What an INTERVAL of this qualifier is in Python."""
    sign = draw(st.sampled_from((1, -1)))
    limit = 10**qualifier.leading
    if qualifier.is_year_month:
        if qualifier.first == Unit.MONTH:
            return IntervalYM(months=sign * draw(st.integers(0, limit - 1)))
        months = draw(st.integers(0, 11)) if qualifier.last == Unit.MONTH else 0
        return IntervalYM(months=sign * (draw(st.integers(0, limit - 1)) * 12 + months))
    finest = 10 ** (6 - qualifier.scale) if qualifier.scale else _MICROSECONDS[qualifier.last]
    largest = 1_000_000 if qualifier.first == Unit.FRACTION else limit * _MICROSECONDS[qualifier.first]
    largest = min(largest, 999_999_999 * _MICROSECONDS[Unit.DAY])  # no timedelta goes further back
    count = draw(st.integers(0, (largest - 1) // finest))
    return dt.timedelta(microseconds=sign * count * finest)


@st.composite
def typed_values(draw: st.DrawFn, code_set: CodeSet = LATIN1) -> tuple[SqlType, Any]:
    """A type and a value of it; not None."""
    kind = draw(st.sampled_from(sorted(_MAKERS)))
    sample: tuple[SqlType, Any] = draw(_MAKERS[kind](code_set))
    return sample


def _fixed(code: int, length: int, values: st.SearchStrategy[Any]) -> Any:
    return lambda code_set: values.map(lambda value: (SqlType(code, length), value))


@st.composite
def _typed_decimal(draw: st.DrawFn, code_set: CodeSet) -> tuple[SqlType, Any]:
    precision = draw(st.integers(1, 32))
    scale = draw(st.one_of(st.just(FLOATING_SCALE), st.integers(0, precision)))
    code = draw(st.sampled_from((TypeCode.DECIMAL, TypeCode.MONEY)))
    sql_type = decimal_type(precision, scale, code)
    return sql_type, draw(decimals(sql_type))


@st.composite
def _typed_moment(draw: st.DrawFn, code_set: CodeSet) -> tuple[SqlType, Any]:
    qualifier = draw(st.sampled_from(DATETIME_QUALIFIERS))
    return SqlType(TypeCode.DATETIME, qualifier.encoded), draw(moments(qualifier))


@st.composite
def _typed_span(draw: st.DrawFn, code_set: CodeSet) -> tuple[SqlType, Any]:
    qualifier = draw(st.sampled_from(INTERVAL_QUALIFIERS))
    return SqlType(TypeCode.INTERVAL, qualifier.encoded), draw(spans(qualifier))


@st.composite
def _typed_char(draw: st.DrawFn, code_set: CodeSet) -> tuple[SqlType, Any]:
    size = draw(st.integers(1, 40))
    text = draw(texts(code_set, size))
    padded = code_set.encode(text).ljust(size, b" ").decode(code_set.codec)
    return SqlType(draw(st.sampled_from((TypeCode.CHAR, TypeCode.NCHAR))), size), padded


@st.composite
def _typed_varchar(draw: st.DrawFn, code_set: CodeSet) -> tuple[SqlType, Any]:
    size = draw(st.integers(1, 255))
    code = draw(st.sampled_from((TypeCode.VARCHAR, TypeCode.NVARCHAR)))
    return SqlType(code, size), draw(texts(code_set, size))


@st.composite
def _typed_lvarchar(draw: st.DrawFn, code_set: CodeSet) -> tuple[SqlType, Any]:
    return draw(st.sampled_from((LVARCHAR, SqlType(TypeCode.LVARCHAR, 2048)))), draw(texts(code_set, 300))


@st.composite
def _typed_boolean(draw: st.DrawFn, code_set: CodeSet) -> tuple[SqlType, Any]:
    return draw(st.sampled_from((BOOLEAN, SqlType(TypeCode.BOOLEAN, 1)))), draw(st.booleans())


_DATES = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))
_DOUBLES = st.floats(allow_nan=False)
_SINGLES = st.floats(allow_nan=False, width=32)

_MAKERS: dict[str, Any] = {
    "SMALLINT": _fixed(TypeCode.SMALLINT, 2, integers(16)),
    "INTEGER": _fixed(TypeCode.INTEGER, 4, integers(32)),
    "SERIAL": _fixed(TypeCode.SERIAL, 4, integers(32)),
    "BIGINT": _fixed(TypeCode.BIGINT, 8, integers(64)),
    "BIGSERIAL": _fixed(TypeCode.BIGSERIAL, 8, integers(64)),
    "INT8": _fixed(TypeCode.INT8, 10, integers(64)),
    "SERIAL8": _fixed(TypeCode.SERIAL8, 10, integers(64)),
    "SMALLFLOAT": _fixed(TypeCode.SMALLFLOAT, 4, _SINGLES),
    "FLOAT": _fixed(TypeCode.FLOAT, 8, _DOUBLES),
    "DATE": _fixed(TypeCode.DATE, 4, _DATES),
    "DECIMAL": _typed_decimal,
    "DATETIME": _typed_moment,
    "INTERVAL": _typed_span,
    "CHAR": _typed_char,
    "VARCHAR": _typed_varchar,
    "LVARCHAR": _typed_lvarchar,
    "BOOLEAN": _typed_boolean,
}


@st.composite
def tables(
    draw: st.DrawFn, code_set: CodeSet = LATIN1, max_columns: int = 8
) -> tuple[tuple[Column, ...], list[tuple[Any, ...]]]:
    """Columns and a few rows of them, NULLs among the values."""
    samples = [draw(typed_values(code_set)) for _ in range(draw(st.integers(1, max_columns)))]
    columns = columns_of(*(sql_type for sql_type, _ in samples))
    whole = tuple(value for _, value in samples)
    count = draw(st.integers(1, 4))
    masks = [draw(st.lists(st.booleans(), min_size=len(whole), max_size=len(whole))) for _ in range(count)]
    rows = [tuple(None if null else value for value, null in zip(whole, mask, strict=True)) for mask in masks]
    return columns, rows
