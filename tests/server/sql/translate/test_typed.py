from __future__ import annotations

from decimal import Decimal

import pytest

from aioifx.server.sql.builtin_types import lvarchar
from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.model.type_rules import (
    BIGINT,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    SMALLINT,
    Family,
    char,
    datetime,
    decimal,
    family_of,
    interval,
    varchar,
)
from aioifx.server.sql.sqlite.render import render
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.typed import (
    UNTYPED_NULL,
    Typed,
    are_compared_by_sqlite,
    assigned,
    cast,
    comparison,
    current,
    is_stored_alike,
    literal_number,
    literal_of,
    session_constant,
    text_of,
    unpadded_text_of,
)
from aioifx.sqltypes import Qualifier, SqlType, TypeCode, Unit
from tests.server.sql.trees import typed

TO_SECOND = datetime(Unit.YEAR, Unit.SECOND)
TO_MINUTE = datetime(Unit.YEAR, Unit.MINUTE)
DAYS = interval(Qualifier(Unit.DAY, Unit.SECOND, 3))
HOURS = interval(Qualifier(Unit.HOUR, Unit.SECOND, 3))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (SMALLINT, BIGINT),
        (INTEGER, INTEGER),
        (char(3), char(5)),
        (varchar(3), lvarchar(50)),
        (decimal(8, 2), decimal()),
        (SqlType(TypeCode.SMALLFLOAT, 4), FLOAT),
        (DATE, DATE),
        (BOOLEAN, BOOLEAN),
    ],
)
def test_a_wider_type_of_the_same_form_needs_no_cast(source: SqlType, target: SqlType) -> None:
    assert is_stored_alike(source, target)
    assert render(cast(typed("x", source), target)) == "x"
    assert render(assigned(typed("x", source), target)) == "x"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (INTEGER, SMALLINT),
        (char(5), char(3)),
        (char(3), varchar(3)),
        (decimal(), decimal(8, 2)),
        (decimal(8, 2), decimal(10, 2)),
        (FLOAT, SqlType(TypeCode.SMALLFLOAT, 4)),
        (TO_SECOND, TO_MINUTE),
        (INTEGER, decimal()),
    ],
)
def test_everything_else_is_cast(source: SqlType, target: SqlType) -> None:
    numbers = f"{type_number(source)}, {type_number(target)}"
    assert render(cast(typed("x", source), target)) == f"ifx_cast(x, {numbers})"
    assert render(assigned(typed("x", source), target)) == f"ifx_assign(x, {numbers})"


@pytest.mark.parametrize(
    ("constant", "target", "text"),
    [
        (5, INTEGER, "5"),
        (5, SMALLINT, "5"),
        (Decimal("5.0"), INTEGER, "5"),
        (5, FLOAT, "5.0"),
        (3_000_000_000, BIGINT, "3000000000"),
    ],
)
def test_a_literal_number_takes_the_form_of_its_target(
    constant: int | Decimal, target: SqlType, text: str
) -> None:
    assert render(cast(typed("?", decimal(30, 10), constant=constant), target)) == text


def test_a_literal_number_that_does_not_fit_is_left_to_the_assignment() -> None:
    assert render(assigned(typed("70000", INTEGER, constant=70000), SMALLINT)).startswith("ifx_assign(70000,")


def test_null_and_parameters_are_assigned_as_they_are() -> None:
    assert render(assigned(UNTYPED_NULL, char(3))) == "NULL"
    assert render(assigned(typed("?1", char(9), is_parameter=True), char(3))) == "?1"


def test_a_literal_text_is_assigned_as_written_even_when_empty() -> None:
    empty = typed("''", char(1), constant="")
    as_varchar = f"ifx_assign('', {type_number(varchar(1))}, {type_number(varchar(5))})"
    assert render(assigned(empty, varchar(5))) == as_varchar


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (INTEGER, BIGINT), (INTEGER, FLOAT), (char(3), varchar(9)), (decimal(5, 2), decimal()), (DATE, INTEGER),
        (TO_SECOND, TO_SECOND), (DAYS, HOURS),
    ],
)  # fmt: skip
def test_sqlite_compares_values_of_one_storage_form(left: SqlType, right: SqlType) -> None:
    assert are_compared_by_sqlite(left, right)
    assert "ifx_compare" not in render(comparison(typed("a", left), "<", typed("b", right), 1))


@pytest.mark.parametrize(
    ("left", "right"),
    [(INTEGER, decimal()), (FLOAT, decimal()), (TO_SECOND, TO_MINUTE), (DATE, TO_MINUTE), (char(3), INTEGER)],
)
def test_other_pairs_are_compared_by_informixs_rules(left: SqlType, right: SqlType) -> None:
    numbers = type_number(left), type_number(right)
    assert render(comparison(typed("a", left), "<", typed("b", right), 1)) == (
        f"(ifx_compare(a, {numbers[0]}, b, {numbers[1]}) < 0)"
    )


def test_texts_are_compared_without_trailing_blanks_and_decimals_by_value() -> None:
    assert render(comparison(typed("a", char(3)), "=", typed("b", varchar(3)), 1)) == "(a COLLATE RTRIM = b)"
    found = render(comparison(typed("a", decimal()), "<", typed("b", decimal()), 1))
    assert found == "(a COLLATE ifx_decimal < b)"


@pytest.mark.parametrize(
    ("literal", "other", "text"),
    [
        (typed("5", INTEGER, constant=5), decimal(8, 2), "(a COLLATE ifx_decimal = '5')"),
        (typed("5", INTEGER, constant=5), FLOAT, "(a = 5.0)"),
        (typed("'5'", char(1), constant="5"), INTEGER, "(a = 5)"),
    ],
)
def test_a_literal_takes_the_form_of_the_column_beside_it(literal: Typed, other: SqlType, text: str) -> None:
    assert render(comparison(typed("a", other), "=", literal, 1)) == text


def test_a_text_beside_a_date_is_converted_once() -> None:
    condition = comparison(typed("a", DATE), "=", typed("'01/02/2026'", char(10), constant="01/02/2026"), 1)
    assert (
        render(condition) == f"(a = ifx_cast('01/02/2026', {type_number(varchar(10))}, {type_number(DATE)}))"
    )


def test_types_without_a_conversion_are_not_compared() -> None:
    with pytest.raises(SqlError) as caught:
        comparison(typed("a", DAYS), "=", typed("b", INTEGER), 9)
    assert (caught.value.sqlcode, caught.value.offset) == (-1260, 9)


def test_only_a_char_needs_its_blanks_put_back_to_be_text() -> None:
    assert render(text_of(typed("v", varchar(5)))) == "v"
    assert render(text_of(typed("c", char(5)))) == f"ifx_text(c, {type_number(char(5))})"
    assert render(text_of(typed("'ab'", char(2), constant="ab"))) == "'ab'"
    assert render(unpadded_text_of(typed("c", char(5)))) == "c"
    assert render(unpadded_text_of(typed("n", INTEGER))) == f"ifx_text(n, {type_number(INTEGER)})"


def test_a_value_without_a_type_is_refused_where_one_is_needed() -> None:
    with pytest.raises(SqlError, match="-201"):
        _ = UNTYPED_NULL.known_type
    assert family_of(typed("a", DATE).known_type) is Family.DATE


# --- Literals and constants of the moment ------------------------------------


@pytest.mark.parametrize(
    ("number", "sql", "type_"),
    [
        (0, "0", "INTEGER"),
        (2**31 - 1, "2147483647", "INTEGER"),
        (2**31, "'2147483648'", "DECIMAL(10,0)"),
        (Decimal("1.50"), "'1.5'", "DECIMAL(3,2)"),
        (Decimal("0.001"), "'0.001'", "DECIMAL(3,3)"),
        (Decimal("1E3"), "'1000'", "DECIMAL(4,0)"),
        (Decimal("0.0"), "'0'", "DECIMAL(1,1)"),
        (10**40, f"'{10**40}'", "DECIMAL(32)"),
    ],
)
def test_a_number_is_integer_or_decimal_as_wide_as_written(
    number: int | Decimal, sql: str, type_: str
) -> None:
    literal = literal_number(number)
    assert (render(literal.sql), str(literal.type), literal.constant) == (sql, type_, number)
    assert not literal.is_nullable


def test_a_number_has_32_digits_and_is_no_larger_than_a_decimal() -> None:
    assert literal_number(Decimal("1" * 33 + ".5")).constant == Decimal("1" * 32 + "0")
    with pytest.raises(SqlError, match="-1226"):
        literal_number(Decimal("1E400"))


def test_a_datetime_literal_is_read_when_the_statement_runs() -> None:
    type_ = datetime(Unit.HOUR, Unit.MINUTE)
    literal = literal_of("12:34", type_)
    assert render(literal.sql) == f"ifx_cast('12:34', {type_number(varchar(5))}, {type_number(type_)})"
    assert literal.type == type_


@pytest.mark.parametrize(
    ("name", "sql", "type_"),
    [
        ("today", "ifx_today()", "DATE"),
        ("user", "ifx_user()", "CHAR(32)"),
        ("sitename", "ifx_dbservername()", "VARCHAR(128)"),
    ],
)
def test_words_of_the_session_are_functions(name: str, sql: str, type_: str) -> None:
    constant = session_constant(nodes.SessionConstant(1, name))  # type: ignore[arg-type]  # one of its Literals
    assert (render(constant.sql), str(constant.type)) == (sql, type_)


def test_roles_are_not_known() -> None:
    with pytest.raises(SqlError, match="-999"):
        session_constant(nodes.SessionConstant(1, "current_role"))


def test_current_has_the_qualifier_that_was_written() -> None:
    qualifier = datetime(Unit.YEAR, Unit.FRACTION, 5).qualifier
    assert qualifier is not None
    assert str(current(nodes.Current(1, qualifier)).type) == "DATETIME YEAR TO FRACTION(5)"
