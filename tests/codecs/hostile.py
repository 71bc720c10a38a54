"""Values for parameters, the likely and the unlikely, as hypothesis strategies: for encoders against each other."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from aioifx.codecs.text import CodeSet
from aioifx.sqltypes import Datetime, IntervalYM, SqlType, TypeCode
from tests.codecs.samples import (
    BOOLEAN,
    BSON,
    DATETIME_QUALIFIERS,
    INTERVAL_QUALIFIERS,
    JSON,
    LVARCHAR,
    decimal_type,
    typed_values,
)


class Plain(Enum):
    KEY = UUID(int=7)


class Truth:
    """What numpy's bool has."""

    class dtype:
        kind = "b"

    shape = ()

    def __bool__(self) -> bool:
        return True


class Colour(IntEnum):
    RED = 1


class Text(str):
    """A str by another class."""


class Moment(dt.datetime):
    """A datetime by another class."""


class Number:
    """What struct accepts as an int although it is of another type."""

    def __index__(self) -> int:
        return 7

    def __float__(self) -> float:
        return 7.0


_EDGES = [
    sign * ((1 << bits) + off) for bits in (15, 31, 53, 63, 64) for off in (-1, 0, 1) for sign in (1, -1)
]

_DECIMALS = [
    *(
        "0",
        "-0",
        "0.00",
        "0E-7",
        "0E+9",
        "1E+5",
        "1E+126",
        "1E+127",
        "1E-130",
        "1E-131",
        "-1.50",
        "99.99",
        "100.00",
    ),
    *(
        "0.1",
        "0.01",
        "0.001",
        "-0.09",
        "10",
        "100",
        "1000.0",
        "NaN",
        "-Infinity",
        "sNaN",
        "1" * 31,
        "1" * 32,
        "1" * 33,
    ),
    *(
        "1" * 30 + ".5",
        "1" + "0" * 40,
        "-99999999.99",
        "1E+1000000",
        "1E-1000000",
        "-0.00000000001",
        "9" * 500,
    ),
]

_TEXTS = [
    "",
    "\0",
    "\0a",
    "a\0",
    "a",
    "abc",
    "\xe4",
    "\u20ac",
    "\udc80",
    "\U0001f600",
    "x" * 20,
    "x" * 21,
    "x" * 255,
    "12",
]

values: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from(
        [
            *(
                None,
                True,
                False,
                Colour.RED,
                Text("abc"),
                Number(),
                Moment(2024, 2, 29),
                UUID(int=7),
                Fraction(10, 2),
                Fraction(1, 3),
                Plain.KEY,
                Truth(),
                b"abc",
                (1,),
                object(),
            ),
            *(dt.date.min, dt.date.max, dt.date(1900, 3, 1), dt.date(2000, 2, 29)),
            *(dt.datetime.min, dt.datetime.max, dt.datetime(2024, 2, 29, tzinfo=dt.UTC)),
            *(dt.time(0), dt.time(23, 59, 59), dt.time(1, 2, 3, 4), dt.time(1, tzinfo=dt.UTC)),
            *(dt.timedelta(1), dt.timedelta(-1), IntervalYM(1, 2), Datetime(hour=1, minute=2)),
        ]
    ),
    st.sampled_from(_EDGES),
    st.sampled_from([Decimal(text) for text in _DECIMALS]),
    st.sampled_from(_TEXTS),
    st.integers(),
    st.integers(-(1 << 65), 1 << 65),
    st.floats(),
    st.decimals(),
    st.decimals(-(10**12), 10**12, places=4),
    st.text(max_size=30),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
)

plain_types: st.SearchStrategy[SqlType | None] = st.one_of(
    st.sampled_from(
        [
            *(SqlType(code, 8) for code in range(54)),
            *(
                SqlType(code, 20)
                for code in (TypeCode.CHAR, TypeCode.VARCHAR, TypeCode.NCHAR, TypeCode.NVARCHAR)
            ),
            *(None, BOOLEAN, LVARCHAR, JSON, BSON, SqlType(TypeCode.LVARCHAR), SqlType(TypeCode.BOOLEAN)),
            *(decimal_type(16), decimal_type(10, 2), decimal_type(4, 4), decimal_type(16, 2, TypeCode.MONEY)),
        ]
    ).filter(
        lambda sql_type: sql_type is None or sql_type.code not in (TypeCode.DATETIME, TypeCode.INTERVAL)
    ),
    st.sampled_from(DATETIME_QUALIFIERS).map(lambda q: SqlType(TypeCode.DATETIME, q.encoded)),
    st.sampled_from(INTERVAL_QUALIFIERS).map(lambda q: SqlType(TypeCode.INTERVAL, q.encoded)),
)


@st.composite
def parameters(draw: st.DrawFn, code_set: CodeSet) -> tuple[tuple[SqlType | None, ...], list[Any]]:
    """Types of a few parameters, and rows for them that fit more or less."""
    columns: list[tuple[SqlType | None, st.SearchStrategy[Any]]] = []
    for _ in range(draw(st.integers(1, 6))):
        if draw(st.booleans()):
            sql_type, value = draw(typed_values(code_set))
            columns.append((sql_type, st.sampled_from([value, value, value, None]) | values))
        else:
            columns.append((draw(plain_types), values))
    row = st.tuples(*(column for _, column in columns))
    rows = st.one_of(
        row, row.map(list), values, row.map(lambda whole: whole[1:]), row.map(lambda whole: (*whole, 1))
    )
    return tuple(sql_type for sql_type, _ in columns), draw(st.lists(row | rows, min_size=1, max_size=6))
