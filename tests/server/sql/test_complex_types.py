from __future__ import annotations

import pytest

from aioifx.server.sql.builtin_types import boolean, bson, json, lvarchar
from aioifx.server.sql.complex_types import (
    ComplexType,
    collection_of,
    definition,
    distinct_of,
    is_distinct,
    is_named,
    named_row,
    row_of,
    type_text,
    undistinguished,
)
from aioifx.server.sql.syntax.parser import parse_type_text
from aioifx.sqltypes import SqlType, TypeCode

TEXTS = [
    "smallint", "integer", "int8", "bigint", "float", "smallfloat", "decimal(10,2)", "decimal(16)",
    "money(16,2)", "char(5)", "nchar(5)", "varchar(10)", "varchar(10,4)", "nvarchar(10)", "lvarchar(300)",
    "date", "boolean", "json", "bson", "datetime year to second", "datetime hour to fraction(3)",
    "interval day(3) to fraction(5)", "interval fraction to fraction(2)", "interval year(4) to month",
    "SET(integer not null)", "MULTISET(varchar(20) not null)", "LIST(SET(date not null) not null)",
    "ROW(name varchar(20), age integer)", "ROW(a integer not null, b ROW(c LIST(bson not null)))",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_a_type_is_read_back(text: str) -> None:
    # The texts of rows are observed: informix-driver, ROW(name varchar(50), age integer).
    type_ = parse_type_text(text)
    assert type_text(type_) == text
    assert definition(parse_type_text(definition(type_))) == definition(type_)


def test_an_unnamed_type_is_described_by_its_text() -> None:
    assert parse_type_text("set(INT NOT NULL)").extended_name == "SET(integer not null)"


def test_a_definition_has_no_names() -> None:
    person = named_row(
        row_of(("name", "age"), (lvarchar(9), SqlType(TypeCode.DATE, 4))), 2048, "ann", "person_t"
    )
    pair = collection_of(
        TypeCode.LIST, row_of(("a b", "c"), (person, distinct_of(boolean(), 2049, "ann", "flag_t")))
    )
    assert type_text(pair) == "LIST(ROW(a b person_t, c flag_t) not null)"
    assert definition(pair) == "LIST(ROW(f1 ROW(f1 lvarchar(9), f2 date), f2 boolean) not null)"


@pytest.mark.parametrize(
    ("base", "flags"),
    [
        (SqlType(TypeCode.INTEGER, 4), 0x0800),
        (lvarchar(20), 0x2800),
        (boolean(), 0x4800),
        (json(), 0x0800),
        (bson(), 0x0800),
    ],
)
def test_a_distinct_type_has_the_code_of_its_source_and_flags(base: SqlType, flags: int) -> None:
    distinct = distinct_of(base, 2048, "ann", "money_t")
    assert (distinct.code, distinct.length, distinct.flags, distinct.source) == (
        base.code, base.length, flags, base.extended_id,
    )  # fmt: skip
    assert is_distinct(distinct) and is_named(distinct)
    assert undistinguished(distinct) == base
    assert undistinguished(distinct_of(distinct, 2049, "ann", "again_t")).kind == base.kind


def test_a_named_row_is_stored_as_an_unnamed_one() -> None:
    row = row_of(("a",), (SqlType(TypeCode.INTEGER, 4),), (True,))
    named = named_row(row, 2050, "ann", "row_t")
    assert (named.flags, named.extended_id, named.extended_name) == (0x1000, 2050, "row_t")
    assert not is_distinct(named) and is_named(named)
    assert undistinguished(named) == row


def test_fields_are_found_by_name() -> None:
    row = parse_type_text("row(a int, b date)")
    assert isinstance(row, ComplexType)
    assert (row.field("b"), row.field("c")) == (1, None)
