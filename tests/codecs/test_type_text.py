"""Types by their texts, as descriptions of rows and collections have them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.param_plan import rules_for
from aioifx.codecs.registry import codec_for
from aioifx.codecs.type_text import MAX_FIELDS, MAX_LEVELS, parse_type, structured
from aioifx.sqltypes import SqlType, TypeCode
from tests.codecs.samples import DATETIME_QUALIFIERS, INTEGER, INTERVAL_QUALIFIERS, LATIN1

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


def row_text(fields: int, name: str = "f") -> str:
    return f"row({','.join(f'{name}{n} int' for n in range(fields))})"


def test_a_type_has_so_many_fields_and_no_more() -> None:
    widest = parse_type(row_text(MAX_FIELDS))
    assert widest is not None and len(widest.fields) == MAX_FIELDS
    assert parse_type(row_text(MAX_FIELDS + 1)) is None
    halves = f"row(a {row_text(MAX_FIELDS // 2)}, b {row_text(MAX_FIELDS // 2)})"
    assert parse_type(halves) is None


def test_only_small_types_are_cached() -> None:
    """Every server of the process shares the caches."""
    small, large = "row(a int)", row_text(100)
    assert parse_type(small) is parse_type(small)
    assert parse_type(large) is not parse_type(large)
    named = SqlType(TypeCode.UDTVAR, 0, 3000, "me", "n" * 1000)
    for sql_type in (parse_type(small), parse_type(large), named):
        assert sql_type is not None
        assert codec_for(sql_type, LATIN1) is not codec_for(sql_type, LATIN1)
        assert rules_for(sql_type, LATIN1) is not rules_for(sql_type, LATIN1)
    for sql_type in (INTEGER, SqlType(TypeCode.UDTVAR, 0, 3000, "me", "point")):
        assert codec_for(sql_type, LATIN1) is codec_for(sql_type, LATIN1)
        assert rules_for(sql_type, LATIN1) is rules_for(sql_type, LATIN1)


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
