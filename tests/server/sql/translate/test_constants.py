from __future__ import annotations

from decimal import Decimal

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.storage import type_number
from aioifx.server.sql.model.type_rules import datetime, varchar
from aioifx.server.sql.sqlite.render import render
from aioifx.server.sql.syntax import nodes
from aioifx.server.sql.translate.constants import current, literal_number, literal_of, session_constant
from aioifx.sqltypes import Unit


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
    assert str(current(nodes.Current(1, qualifier, is_sysdate=True)).type) == "DATETIME YEAR TO FRACTION(5)"
