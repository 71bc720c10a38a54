from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.builtin_types import BYTE, CLOB, TEXT, lvarchar
from aioifx.server.sql.model import type_rules
from aioifx.server.sql.model.type_rules import (
    BIGINT,
    BOOLEAN,
    DATE,
    FLOAT,
    INT8,
    INTEGER,
    LONG_TEXT,
    SMALLINT,
    Family,
    are_comparable,
    char,
    common,
    comparison_type,
    concatenation,
    datetime,
    decimal,
    family_of,
    interval,
    is_large,
    plain,
    sum_of,
    varchar,
)
from aioifx.sqltypes import Qualifier, SqlType, TypeCode, Unit

MONEY = SqlType(TypeCode.MONEY, 16 * 256 + 2)
SERIAL = SqlType(TypeCode.SERIAL, 4)
TO_MINUTE = datetime(Unit.YEAR, Unit.MINUTE)
TO_MONTH = datetime(Unit.YEAR, Unit.MONTH)
DAYS = interval(Qualifier(Unit.DAY, Unit.SECOND, 3))
MONTHS = interval(Qualifier(Unit.YEAR, Unit.MONTH, 4))

SCALARS = [
    SMALLINT, INTEGER, BIGINT, INT8, FLOAT, decimal(), decimal(8, 2), MONEY, SERIAL, char(5), varchar(20),
    lvarchar(), DATE, TO_MINUTE, datetime(Unit.HOUR, Unit.SECOND), DAYS, MONTHS, BOOLEAN,
]  # fmt: skip


@pytest.mark.parametrize(
    ("left", "operator", "right", "result"),
    [
        (INTEGER, "+", SMALLINT, "INTEGER"),
        (SMALLINT, "*", SMALLINT, "INTEGER"),
        (SERIAL, "+", SMALLINT, "INTEGER"),
        (INTEGER, "-", BIGINT, "BIGINT"),
        (INT8, "+", INTEGER, "INT8"),
        (INTEGER, "/", INTEGER, "DECIMAL(32)"),
        (INTEGER, "/", FLOAT, "FLOAT"),
        (decimal(8, 2), "+", INTEGER, "DECIMAL(32)"),
        (decimal(8, 2), "*", FLOAT, "DECIMAL(32)"),
        (MONEY, "+", MONEY, "DECIMAL(32)"),
        (FLOAT, "-", INTEGER, "FLOAT"),
        (char(3), "+", INTEGER, "DECIMAL(32)"),
        (DATE, "+", INTEGER, "DATE"),
        (INTEGER, "+", DATE, "DATE"),
        (DATE, "-", DATE, "INTEGER"),
        (DATE, "-", DAYS, "DATETIME YEAR TO DAY"),
        (DATE, "+", MONTHS, "DATETIME YEAR TO DAY"),
        (TO_MINUTE, "+", DAYS, "DATETIME YEAR TO MINUTE"),
        (DAYS, "+", TO_MINUTE, "DATETIME YEAR TO MINUTE"),
        (TO_MINUTE, "-", TO_MINUTE, "INTERVAL DAY(8) TO MINUTE"),
        (TO_MONTH, "-", TO_MONTH, "INTERVAL YEAR(9) TO MONTH"),
        (TO_MINUTE, "-", DATE, "INTERVAL DAY(8) TO MINUTE"),
        (DATE, "-", TO_MINUTE, "INTERVAL DAY(8) TO DAY"),
        (TO_MONTH, "-", TO_MINUTE, "INTERVAL YEAR(9) TO MONTH"),
        (TO_MINUTE, "-", TO_MONTH, "INTERVAL DAY(8) TO MINUTE"),
        (DAYS, "*", INTEGER, "INTERVAL DAY(3) TO SECOND"),
        (decimal(), "*", MONTHS, "INTERVAL YEAR(4) TO MONTH"),
        (DAYS, "/", INTEGER, "INTERVAL DAY(3) TO SECOND"),
        (MONTHS, "-", MONTHS, "INTERVAL YEAR(4) TO MONTH"),
    ],
)
def test_arithmetic_has_informixs_types(left: SqlType, operator: str, right: SqlType, result: str) -> None:
    assert str(sum_of(left, operator, right)) == result


@pytest.mark.parametrize(
    ("left", "operator", "right"),
    [
        (DAYS, "+", MONTHS), (DATE, "*", INTEGER), (DATE, "+", DATE), (INTEGER, "-", DATE), (INTEGER, "/", DAYS),
        (BOOLEAN, "+", INTEGER), (TO_MINUTE, "+", TO_MINUTE), (DAYS, "-", TO_MINUTE),
    ],
)  # fmt: skip
def test_what_does_not_combine_has_no_type(left: SqlType, operator: str, right: SqlType) -> None:
    assert sum_of(left, operator, right) is None


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (SMALLINT, SMALLINT, "SMALLINT"),
        (SMALLINT, INTEGER, "INTEGER"),
        (INTEGER, decimal(5, 2), "DECIMAL(12,2)"),
        (decimal(5, 2), decimal(6, 4), "DECIMAL(7,4)"),
        (decimal(32, 0), decimal(4, 4), "DECIMAL(32)"),
        (MONEY, MONEY, "MONEY(16,2)"),
        (INTEGER, FLOAT, "FLOAT"),
        (char(3), char(5), "CHAR(5)"),
        (char(3), varchar(5), "VARCHAR(5)"),
        (varchar(5), lvarchar(300), "LVARCHAR(300)"),
        (DATE, TO_MINUTE, "DATETIME YEAR TO MINUTE"),
        (TO_MONTH, TO_MINUTE, "DATETIME YEAR TO MINUTE"),
        (SERIAL, SMALLINT, "INTEGER"),
    ],
)
def test_branches_and_unions_have_a_type_that_holds_both(left: SqlType, right: SqlType, result: str) -> None:
    assert str(common(left, right)) == result


@pytest.mark.parametrize(
    ("left", "right"), [(INTEGER, char(1)), (DATE, INTEGER), (DAYS, MONTHS), (BOOLEAN, DATE)]
)
def test_types_of_different_families_have_none_in_common(left: SqlType, right: SqlType) -> None:
    assert common(left, right) is None


@given(st.sampled_from(SCALARS), st.sampled_from(SCALARS))
def test_the_common_type_does_not_depend_on_the_order(left: SqlType, right: SqlType) -> None:
    assert common(left, right) == common(right, left)


@given(st.sampled_from(SCALARS))
def test_a_type_has_itself_in_common_with_itself(type_: SqlType) -> None:
    assert common(type_, type_) == plain(type_)
    assert are_comparable(type_, type_)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (char(3), char(4), "VARCHAR(7)"),
        (varchar(200), char(56), "LVARCHAR(256)"),
        (INTEGER, char(1), "VARCHAR(12)"),
    ],
)
def test_concatenation_is_varchar_up_to_255(left: SqlType, right: SqlType, result: str) -> None:
    assert str(concatenation(left, right)) == result


@pytest.mark.parametrize(
    ("type_", "compared"),
    [
        (char(3), LONG_TEXT),
        (SMALLINT, BIGINT),
        (decimal(5, 2), decimal()),
        (DATE, DATE),
        (TO_MINUTE, TO_MINUTE),
    ],
)
def test_a_compared_parameter_is_not_bound_to_a_size(type_: SqlType, compared: SqlType) -> None:
    assert comparison_type(type_) == compared


def test_comparisons_need_types_that_convert() -> None:
    assert are_comparable(DATE, char(10))
    assert are_comparable(DATE, TO_MINUTE)
    assert are_comparable(INTEGER, FLOAT)
    assert not are_comparable(DAYS, MONTHS)
    assert not are_comparable(BOOLEAN, INTEGER)


def test_large_objects_belong_to_families_of_their_own() -> None:
    for type_, family in ((BYTE, Family.SIMPLE_LARGE), (CLOB, Family.SMART_LARGE)):
        assert family_of(type_) is family
        assert is_large(type_)
        assert not are_comparable(type_, type_)
        assert common(type_, type_) == type_
    assert common(BYTE, TEXT) is None
    assert not is_large(INTEGER)
    assert family_of(SqlType(TypeCode.ROWREF)) is Family.OTHER


@pytest.mark.parametrize(
    ("type_", "size"),
    [(SMALLINT, 6), (INTEGER, 11), (BIGINT, 20), (decimal(8, 2), 10), (DATE, 10), (char(7), 7), (BOOLEAN, 1)],
)
def test_a_value_written_as_text_has_a_greatest_size(type_: SqlType, size: int) -> None:
    assert type_rules.size_of(type_) == size


def test_the_first_interval_says_what_a_sum_is_and_has_the_largest_unit() -> None:
    days = interval(Qualifier(Unit.DAY, Unit.DAY, 2))
    hours = interval(Qualifier(Unit.HOUR, Unit.MINUTE, 3))
    assert sum_of(days, "+", hours) == days
    assert sum_of(hours, "-", days) is None
