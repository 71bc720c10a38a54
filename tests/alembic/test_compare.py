from __future__ import annotations

from decimal import Decimal

import pytest
import sqlalchemy as sa
from sqlalchemy.types import TypeEngine

from aioifx.alembic.compare import canonical_default, canonical_type, without_owners


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("INT", "integer"),
        ("SERIAL", "INTEGER"),
        ("SERIAL(100)", "INTEGER"),
        ("BIGSERIAL", "BIGINT"),
        ("SERIAL8(5)", "INT8"),
        ("NUMERIC(10, 2)", "DECIMAL(10,2)"),
        ("DEC", "DECIMAL(16)"),
        ("MONEY", "MONEY(16,2)"),
        ("MONEY(9)", "MONEY(9, 2)"),
        ("DOUBLE PRECISION", "FLOAT"),
        ("FLOAT(20)", "FLOAT"),
        ("REAL", "SMALLFLOAT"),
        ("CHAR", "CHARACTER(1)"),
        ("CHARACTER VARYING(9)", "VARCHAR(9)"),
        ("VARCHAR(9,3)", "VARCHAR(9)"),
        ("LVARCHAR", "LVARCHAR( 2048 )"),
        ("DATETIME YEAR TO FRACTION", "datetime year to  fraction(3)"),
        ("INTERVAL DAY TO SECOND", "INTERVAL DAY(2) TO SECOND"),
        ("INTERVAL YEAR TO MONTH", "INTERVAL YEAR(4) TO MONTH"),
        ("SET(INTEGER NOT NULL)", "set ( integer not null )"),
    ],
)
def test_a_type_has_one_form(one: str, other: str) -> None:
    assert canonical_type(one) == canonical_type(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("INTEGER", "BIGINT"),
        ("BIGINT", "INT8"),
        ("DECIMAL(10,2)", "DECIMAL(10,3)"),
        ("DECIMAL(10)", "DECIMAL(10,0)"),
        ("CHAR(9)", "VARCHAR(9)"),
        ("VARCHAR(9)", "LVARCHAR(9)"),
        ("DATETIME YEAR TO SECOND", "DATETIME YEAR TO FRACTION(5)"),
        ("INTERVAL DAY(3) TO SECOND", "INTERVAL DAY(9) TO SECOND"),
        ("SET(INTEGER NOT NULL)", "LIST(INTEGER NOT NULL)"),
        ("SET(INTEGER NOT NULL)", "SET(BIGINT NOT NULL)"),
    ],
)
def test_different_types_differ(one: str, other: str) -> None:
    assert canonical_type(one) != canonical_type(other)


@pytest.mark.parametrize(
    ("type_", "one", "other"),
    [
        (sa.Integer(), "0", "'0'"),
        (sa.Integer(), "(7)", "+7"),
        (sa.Numeric(9, 2), "1.5", "1.50"),
        (sa.Numeric(9, 2), "$1.50", "1.5"),
        (sa.String(9), "'a'", "'a '"),
        (sa.String(9), "'it''s'", "'it''s'"),
        (sa.String(9), "5", "'5'"),
        (sa.Boolean(), "'t'", "'t'::boolean"),
        (sa.Boolean(), "'T'", "true"),
        (sa.Boolean(), "'0'", "'f'"),
        (sa.DateTime(), "CURRENT", "CURRENT YEAR TO FRACTION(5)"),
        (sa.DateTime(), "sysdate", "CURRENT YEAR TO FRACTION(5)"),
        (sa.DateTime(), "DATETIME (2020-01-01) YEAR TO DAY", "datetime(2020-01-01) year to day"),
        (sa.Date(), "today", "TODAY"),
        (sa.String(32), "user", "CURRENT_USER"),
        (sa.String(32), "SITENAME", "dbservername"),
        (sa.String(9), "NULL", None),
        (sa.String(9), None, None),
    ],
)
def test_a_default_has_one_form(type_: TypeEngine[object], one: str | None, other: str | None) -> None:
    assert canonical_default(one, type_) == canonical_default(other, type_)


@pytest.mark.parametrize(
    ("type_", "one", "other"),
    [
        (sa.Integer(), "0", None),
        (sa.Integer(), "0", "1"),
        (sa.String(9), "'NULL'", None),
        (sa.String(9), "'user'", "user"),
        (sa.String(9), "'1.0'", "'1'"),
        (sa.Boolean(), "'t'", "'f'"),
        (sa.Date(), "TODAY", "'TODAY'"),
    ],
)
def test_different_defaults_differ(type_: TypeEngine[object], one: str | None, other: str | None) -> None:
    assert canonical_default(one, type_) != canonical_default(other, type_)


def test_a_default_that_does_not_fit_its_column_is_compared_as_text() -> None:
    assert canonical_default("'x'", sa.Integer()) == "x"
    assert canonical_default("'x'", sa.Boolean()) == "x"
    assert canonical_default("'7'", sa.Integer()) == Decimal(7)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INFORMIX.EURO", "EURO"),
        ('"INFORMIX".EURO', "EURO"),
        ("LIST('ANN'.PLACE NOT NULL)", "LIST(PLACE NOT NULL)"),
        ("DECIMAL(10,2)", "DECIMAL(10,2)"),
    ],
)
def test_owners_of_types_are_left_out(text: str, expected: str) -> None:
    assert without_owners(text) == expected
