"""Types by their texts, as descriptions of rows and collections have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.type_text import MAX_LEVELS, parse_type, structured
from aioifx.sqltypes import SqlType, TypeCode
from tests.codecs.samples import DATETIME_QUALIFIERS, INTEGER, INTERVAL_QUALIFIERS

SCALARS = {
    "smallint": "SMALLINT",
    "INT": "INTEGER",
    "serial(7)": "SERIAL",
    "int8": "INT8",
    "bigserial": "BIGSERIAL",
    "double precision": "FLOAT",
    "float(8)": "FLOAT",
    "real": "SMALLFLOAT",
    "decimal": "DECIMAL(16)",
    "numeric(10)": "DECIMAL(10)",
    "dec( 10 , 2 )": "DECIMAL(10,2)",
    "money": "MONEY(16,2)",
    "money(8)": "MONEY(8,2)",
    "char": "CHAR(1)",
    "character(5)": "CHAR(5)",
    "character varying(5)": "VARCHAR(5)",
    "varchar(20,5)": "VARCHAR(20)",
    "nvarchar(20)": "NVARCHAR(20)",
    "lvarchar": "LVARCHAR(2048)",
    "lvarchar(100)": "LVARCHAR(100)",
    "boolean": "BOOLEAN",
    "json": "JSON",
    "clob": "CLOB",
    "point": "POINT",
    "me.point": "POINT",
}


@pytest.mark.parametrize("text", SCALARS)
def test_a_scalar_type_is_the_one_of_create_table(text: str) -> None:
    assert str(parse_type(text)) == SCALARS[text]


@pytest.mark.parametrize("qualifier", DATETIME_QUALIFIERS)
def test_every_datetime_is_read(qualifier: object) -> None:
    sql_type = SqlType(TypeCode.DATETIME, qualifier.encoded)  # type: ignore[attr-defined]
    assert parse_type(str(sql_type).lower()) == sql_type


@pytest.mark.parametrize("qualifier", INTERVAL_QUALIFIERS)
def test_every_interval_is_read(qualifier: object) -> None:
    sql_type = SqlType(TypeCode.INTERVAL, qualifier.encoded)  # type: ignore[attr-defined]
    assert parse_type(str(sql_type)) == sql_type


def test_a_row_has_its_fields_and_a_collection_its_elements() -> None:
    parsed = parse_type('ROW(a integer, "B c" varchar(10) not null, tags SET(LIST(date not null) not null))')
    assert parsed is not None
    assert [(field.name, str(field.type), field.nullable) for field in parsed.fields] == [
        ("a", "INTEGER", True),
        ("B c", "VARCHAR(10)", False),
        ("tags", "SET(LIST(DATE NOT NULL) NOT NULL)", True),
    ]
    (element,) = parsed.fields[2].type.fields
    assert (element.name, element.type.code, element.nullable) == ("", TypeCode.LIST, False)
    assert [str(field.type) for field in element.type.fields] == ["DATE"]


@pytest.mark.parametrize(
    "text",
    [
        "", "set(", "set()", "set(integer", "row()", "row(a)", "row(a integer,)", "set(integer not)", "decimal(99)",
        "decimal(5,6)", "datetime year to", "datetime day to year", "interval year to day", "interval day(12) to day",
        "datetime year to fraction(7)", "integer integer", "varchar(1,2,3)", "set{integer}", "1", "a.", '"a',
    ],
)  # fmt: skip
def test_other_text_is_not_a_type(text: str) -> None:
    assert parse_type(text) is None


def test_types_within_types_end_somewhere() -> None:
    assert parse_type("set(" * (MAX_LEVELS - 1) + "integer" + " not null)" * (MAX_LEVELS - 1)) is not None
    assert parse_type("set(" * MAX_LEVELS + "integer" + " not null)" * MAX_LEVELS) is None
    assert parse_type("set(" * 20_000) is None
    assert parse_type("a" * 100_000) is None


@given(st.text("setrow(),. '\"1integer\n", max_size=60))
def test_any_text_is_a_type_or_none(text: str) -> None:
    parsed = parse_type(text)
    assert parsed is None or isinstance(parsed, SqlType)


def test_a_description_with_its_structure_in_the_name_gets_fields() -> None:
    described = SqlType(TypeCode.SET, 2048, 1000, "", "SET(integer not null)")
    assert [field.type for field in structured(described).fields] == [INTEGER]
    named = SqlType(TypeCode.ROW, 0, 1001, "me", "person_t")
    assert structured(named) is named
    assert structured(INTEGER) is INTEGER
