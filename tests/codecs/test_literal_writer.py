"""Values -> literals of rows and collections, and that such literals are read back."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.conversions import JSON, Conversions, TypeCodec
from aioifx.codecs.literal_reader import literal_reader
from aioifx.codecs.literal_writer import literal_writer
from aioifx.codecs.type_text import parse_type
from aioifx.errors import DataError
from aioifx.rows import record_maker
from aioifx.sqltypes import SqlType
from tests.codecs.samples import LATIN1, UTF8

STANDARD = Conversions(json=JSON, integral_decimals=True, dbdate="Y4MD-")
PERSON = "ROW(name varchar(20),age integer)"


@dataclass
class Person:
    name: str
    age: int | None


class Pair(NamedTuple):
    left: str
    right: int


class Color(Enum):
    RED = "red"


def type_of(text: str) -> SqlType:
    sql_type = parse_type(text)
    assert sql_type is not None
    return sql_type


def write(type_text: str, value: Any, conversions: Conversions = STANDARD) -> Any:
    return literal_writer(type_of(type_text), conversions, LATIN1)(value)


@pytest.mark.parametrize(
    "value",
    [
        {"age": 30, "name": "O'Hara"},
        ("O'Hara", 30),
        ["O'Hara", 30.0],
        Person("O'Hara", 30),
        Pair("O'Hara", 30),
        record_maker(type_of(PERSON).fields)(("O'Hara", Decimal(30))),
        "ROW('O''Hara',30)",
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_row_is_written_by_name_or_position(value: Any) -> None:
    assert write(PERSON, value) == "ROW('O''Hara',30)"


@pytest.mark.parametrize(
    ("type_text", "value", "literal"),
    [
        (PERSON, ("x", None), "ROW('x',NULL)"),
        ("SET(integer not null)", frozenset({7}), "SET{7}"),
        ("SET(integer not null)", set[int](), "SET{}"),
        ("MULTISET(varchar(9) not null)", ("a", "a"), "MULTISET{'a','a'}"),
        ("LIST(decimal(8,2) not null)", [1, Decimal("2.5"), 0.25], "LIST{1.00,2.50,0.25}"),
        ("LIST(boolean not null)", [True, False], "LIST{'t','f'}"),
        ("LIST(date not null)", [dt.date(2026, 11, 22)], "LIST{'2026-11-22'}"),
        (
            "LIST(datetime hour to minute not null)",
            [dt.time(12, 30, 15)],
            "LIST{DATETIME(12:30) HOUR TO MINUTE}",
        ),
        (
            "LIST(interval day(3) to second not null)",
            [dt.timedelta(days=3, hours=4)],
            "LIST{INTERVAL(3 04:00:00) DAY(3) TO SECOND}",
        ),
        ("LIST(json not null)", [{"a": "it's"}, "[1]", 5], "LIST{'{\"a\": \"it''s\"}','[1]','5'}"),
        ("LIST(varchar(40) not null)", [Color.RED, UUID(int=1)], f"LIST{{'red','{UUID(int=1)}'}}"),
        ("LIST(integer not null)", ["12"], "LIST{'12'}"),
        (f"LIST({PERSON} not null)", [Person("a", None), {"name": "b", "age": 1}], "LIST{ROW('a',NULL),ROW('b',1)}"),
        ("ROW(s SET(SET(integer not null) not null))", ([{1}],), "ROW(SET{SET{1}})"),
        ("LIST(point not null)", ["(1,2)"], "LIST{'(1,2)'}"),
    ],
)  # fmt: skip
def test_elements_are_written_as_columns_take_them(type_text: str, value: Any, literal: str) -> None:
    assert write(type_text, value) == literal


@pytest.mark.parametrize(
    ("type_text", "value", "message"),
    [
        (PERSON, 7, r"^ROW\(NAME VARCHAR\(20\),AGE INTEGER\) does not accept int$"),
        (PERSON, {"name", "age"}, "does not accept set$"),
        (PERSON, Person, "does not accept type$"),
        (PERSON, ("x",), "expected 2 values, got 1$"),
        (PERSON, {"name": "x"}, "^field 'age' is missing; the fields are name, age$"),
        (PERSON, {"name": "x", "age": 1, "agee": 1}, "^unknown field 'agee'; the fields are name, age$"),
        (PERSON, ("x" * 21, 1), r"^field 'name': text of 21 bytes does not fit VARCHAR\(20\)$"),
        (
            PERSON,
            ("\N{EURO SIGN}", 1),
            r"^field 'name': the character '€' \(U\+20AC\) at offset 0 is not in 8859-1",
        ),
        (PERSON, ("x", 1 << 31), "^field 'age': int does not fit INTEGER$"),
        (PERSON, ("x", [1]), "^field 'age': INTEGER does not accept list$"),
        ("SET(integer not null)", [None], "does not accept None as an element$"),
        ("SET(integer not null)", {"a": 1}, r"^SET\(INTEGER NOT NULL\) does not accept dict$"),
        ("SET(integer not null)", b"12", "does not accept bytes$"),
        ("SET(integer not null)", iter([1]), "does not accept list_iterator$"),
        ("LIST(json not null)", [float("nan")], "^JSON does not accept NaN"),
        ("LIST(bson not null)", [{"a": 1}], "^BSON does not accept dict within a row or collection$"),
        ("LIST(blob not null)", [b"a"], "^BLOB does not accept bytes within a row or collection$"),
        ("LIST(point not null)", [(1, 2)], "^POINT does not accept tuple$"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_by_place_and_type(
    type_text: str, value: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        write(type_text, value)


def test_dates_need_a_dbdate_with_whole_years() -> None:
    with pytest.raises(DataError, match=r"^DATE does not accept date within a row or collection$"):
        write("LIST(date not null)", [dt.date(2026, 1, 1)], Conversions(json=JSON, dbdate="MDY2/"))
    assert (
        write("LIST(date not null)", ["1/1/26"], Conversions(json=JSON, dbdate="MDY2/")) == "LIST{'1/1/26'}"
    )


def test_the_users_codecs_and_adapters_apply_at_every_level() -> None:
    conversions = Conversions({"integer": TypeCodec(len, None)}, {complex: str}, json=JSON)
    assert write("ROW(a int,b LIST(varchar(9) not null))", ("abc", [1j]), conversions) == "ROW(3,LIST{'1j'})"


NESTED = type_of(
    f"ROW(a integer,b varchar(40),c decimal(12,3),d date,e datetime year to fraction(5),f float,g boolean,"
    f"h LIST(varchar(9) not null),i SET(bigint not null),j MULTISET({PERSON} not null),k json)"
)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9).filter(
    lambda text: len(text.encode()) <= 9
)
OBJECTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
ROWS = st.tuples(
    st.none() | st.integers(-(2**31) + 1, 2**31 - 1),
    st.none() | WORDS,
    st.none() | st.integers(-(10**12) + 1, 10**12 - 1).map(lambda number: Decimal(number).scaleb(-3)),
    st.none() | st.dates(),
    st.none() | st.datetimes().map(lambda moment: moment.replace(microsecond=moment.microsecond // 10 * 10)),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.booleans(),
    st.none() | st.lists(WORDS, max_size=4),
    st.none() | st.sets(st.integers(-(2**63) + 1, 2**63 - 1), max_size=4),
    st.none() | st.lists(st.tuples(WORDS, st.none() | st.integers(0, 9)), max_size=3),
    OBJECTS.filter(lambda value: value is not None and not isinstance(value, str)),
)


@given(ROWS)
def test_whatever_is_written_is_read_back(row: tuple[Any, ...]) -> None:
    literal = literal_writer(NESTED, STANDARD, UTF8)(row)
    assert literal_reader(NESTED, STANDARD)(literal) == row
