"""Literals of rows and collections -> values; the inverse is in test_literal_writer."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.conversions import JSON, Conversions, TypeCodec
from aioifx.codecs.literal_reader import literal_reader
from aioifx.codecs.type_text import parse_type
from aioifx.errors import DataError
from aioifx.rows import Record
from aioifx.sqltypes import IntervalYM

STANDARD = Conversions(json=JSON, integral_decimals=True, dbdate="Y4MD-")
PERSON = "ROW(name varchar(20),age integer)"


def read(type_text: str, literal: str, conversions: Conversions = STANDARD, **options: Any) -> Any:
    sql_type = parse_type(type_text)
    assert sql_type is not None
    return literal_reader(sql_type, conversions, **options)(literal)


def test_a_row_is_a_record() -> None:
    # Observed on 15.0: a number is padded to its widest text.
    person = read(PERSON, "ROW('Alice',30         )")
    assert isinstance(person, Record)
    assert person.asdict() == {"name": "Alice", "age": 30}
    assert (person["age"], tuple(person)) == (30, ("Alice", 30))


def test_a_number_beyond_the_range_of_its_type_is_rejected() -> None:
    assert read("LIST(decimal(32,0) not null)", "LIST{1E+31}") == [10**31]
    with pytest.raises(DataError, match="beyond the range of its type"):
        read("LIST(decimal(32,0) not null)", "LIST{1E+9999999}")


@pytest.mark.parametrize(
    ("type_text", "literal", "value"),
    [
        ("SET(integer not null)", "SET{1,2}", {1, 2}),
        ("SET(integer not null)", " SET { -1 , 2 } ", {-1, 2}),
        ("SET(integer not null)", "SET{}", set[int]()),
        ("SET(varchar(9) not null)", "SET{'it''s','a,b}'}", {"it's", "a,b}"}),
        ("MULTISET(integer not null)", "MULTISET{1,1}", [1, 1]),
        ("LIST(integer not null)", "list{3,2,'1'}", [3, 2, 1]),
        ("LIST(lvarchar not null)", "LIST{\"a\"\"b\",'NULL',c d}", ['a"b', "NULL", "c d"]),
        ("LIST(decimal(8,2) not null)", "LIST{1.50 ,-2}", [Decimal("1.50"), Decimal(-2)]),
        ("LIST(decimal(8,0) not null)", "LIST{7.}", [7]),
        ("LIST(boolean not null)", "LIST{'t',f}", [True, False]),
        ("LIST(date not null)", "LIST{'2026-11-22',2026-11-23}", [dt.date(2026, 11, 22), dt.date(2026, 11, 23)]),
        (
            "LIST(datetime year to minute not null)",
            "LIST{DATETIME(2026-01-02 03:04) YEAR TO MINUTE,'2026-01-02 03:05',2026-01-02 03:06}",
            [dt.datetime(2026, 1, 2, 3, minute) for minute in (4, 5, 6)],
        ),
        ("LIST(interval year to month not null)", "LIST{INTERVAL (1-02) YEAR TO MONTH}", [IntervalYM(1, 2)]),
        ("SET(SET(integer not null) not null)", "SET{SET{1},SET{}}", [{1}, set[int]()]),
        ("SET(ROW(a integer) not null)", "SET{ROW(1),ROW(2)}", {(1,), (2,)}),
        ("LIST(ROW(a integer) not null)", "LIST{'ROW(1)',\"ROW('2')\"}", [(1,), (2,)]),
        ("LIST(json not null)", "LIST{'{\"a\":[1,2]}',[3]}", [{"a": [1, 2]}, [3]]),
        ("LIST(point not null)", "LIST{(1,(2,3)),'(4,5)'}", ["(1,(2,3))", "(4,5)"]),
        ("ROW(a integer,b PERSON)", "ROW(NULL,null)", (None, None)),
        (f"ROW(p {PERSON},q SET(integer not null))", "ROW(ROW('x',NULL),NULL)", (("x", None), None)),
    ],
)  # fmt: skip
def test_elements_are_read_as_columns_are(type_text: str, literal: str, value: Any) -> None:
    found = read(type_text, literal)
    assert found == value
    assert type(found) is type(value) or isinstance(found, Record)


@pytest.mark.parametrize(
    ("type_text", "literal", "place"),
    [
        (PERSON, "ROW('Alice')", None),
        (PERSON, "ROW('Alice',thirty)", "field 'age': not a valid INTEGER$"),
        (PERSON, "ROW('Alice',30", None),
        (PERSON, "ROW('Alice',30,1)", None),
        (PERSON, "ROW('Alice,30)", None),
        (PERSON, "ROW('Alice',30)x", None),
        (PERSON, "ROW('Alice',)", "field 'age'"),
        (PERSON, "SET{1}", None),
        (PERSON, "", None),
        (f"ROW(p {PERSON})", "ROW(ROW('x',y))", "field 'p': field 'age': not a valid INTEGER$"),
        ("SET(integer not null)", "SET{1,2", None),
        ("SET(integer not null)", "SET{1,,2}", None),
        ("SET(integer not null)", "SET{1_0}", "not a valid INTEGER$"),
        ("SET(integer not null)", "SET(1)", None),
        ("LIST(ROW(a integer) not null)", "LIST{'ROW(1)x'}", None),
        ("LIST(json not null)", "LIST{'{'}", "not valid JSON"),
    ],
)
def test_text_that_is_not_such_a_literal_is_refused_and_not_shown(
    type_text: str, literal: str, place: str | None
) -> None:
    with pytest.raises(DataError, match=place or "^not a valid literal of") as caught:
        read(type_text, literal)
    assert "Alice" not in str(caught.value)


def test_dates_follow_dbdate_and_are_text_without_one() -> None:
    assert read("LIST(date not null)", "LIST{'22.11.2026'}", Conversions(json=JSON, dbdate="DMY4.")) == [
        dt.date(2026, 11, 22)
    ]
    assert read("LIST(date not null)", "LIST{'22.11.26'}", Conversions(json=JSON, dbdate="DMY2.")) == [
        "22.11.26"
    ]


def test_the_users_codecs_apply_at_every_level() -> None:
    codecs = {"integer": TypeCodec(None, hex), "set": TypeCodec(None, sorted), "json": TypeCodec(None, len)}
    conversions = Conversions(codecs, json=JSON)
    literal = "ROW(10,SET{3,2},'[]',NULL)"
    assert read("ROW(a int,b SET(int not null),c json,d int)", literal, conversions) == (
        "0xa",
        ["0x2", "0x3"],
        2,
        None,
    )
    unhashable = Conversions({"integer": TypeCodec(None, lambda value: [value])}, json=JSON)
    assert read("SET(integer not null)", "SET{1}", unhashable) == [[1]]


def test_char_loses_its_padding_if_asked_to() -> None:
    assert read("ROW(a char(4))", "ROW('ab  ')") == ("ab  ",)
    assert read("ROW(a char(4))", "ROW('ab  ')", strip_char=True) == ("ab",)


def test_a_literal_is_read_in_linear_time() -> None:
    for hostile in (
        "SET{" + "(" * 200_000,
        "SET{" + "'" * 200_001,
        "SET{" + "1," * 100_000,
        "SET{" + " " * 200_000,
    ):
        with pytest.raises(DataError):
            read("SET(varchar(10) not null)", hostile)


TYPES = [
    PERSON,
    "SET(integer not null)",
    f"LIST({PERSON} not null)",
    "ROW(a SET(SET(date not null) not null),b json)",
]


@given(st.sampled_from(TYPES), st.text("SETROWLIST{}()'\",1 2\nnull", max_size=60))
def test_any_text_is_a_value_or_a_data_error(type_text: str, literal: str) -> None:
    try:
        value = read(type_text, literal)
    except DataError:
        return
    assert value is None or isinstance(value, (Record, set, list))
