from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime import numerics
from aioifx.server.sql.runtime.decimals import decimal_text
from aioifx.sqltypes import SqlType
from tests.server.sql import kinds
from tests.server.sql.kinds import BIGINT, FLOAT, INT8, INTEGER, SMALLFLOAT, SMALLINT, decimal, error_of, n

DECIMAL = n(decimal())
CONTEXT = Context(prec=32, rounding=ROUND_HALF_UP)
moderate = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=8)


@pytest.mark.parametrize(
    ("sql_type", "highest", "sqlcode"),
    [
        (SMALLINT, 32_767, -1214),
        (INTEGER, 2_147_483_647, -1215),
        (INT8, 2**63 - 1, -1284),
        (BIGINT, 2**63 - 1, -1284),
    ],
    ids=str,
)
def test_integers_reach_to_the_null_mark_and_no_further(
    sql_type: SqlType, highest: int, sqlcode: int
) -> None:
    assert numerics.add(highest - 1, 1, n(sql_type)) == highest
    assert numerics.subtract(1 - highest, 1, n(sql_type)) == -highest
    assert error_of(numerics.add, highest, 1, n(sql_type)) == sqlcode
    assert error_of(numerics.subtract, -highest, 1, n(sql_type)) == sqlcode
    assert error_of(numerics.multiply, highest, 2, n(sql_type)) == sqlcode


@pytest.mark.parametrize("operation", [numerics.add, numerics.subtract, numerics.multiply, numerics.divide])
@pytest.mark.parametrize("result", [n(INTEGER), n(FLOAT), DECIMAL])
def test_a_null_argument_gives_null(operation: numerics.Binary, result: int) -> None:
    assert operation(None, 1, result) is None
    assert operation(1, None, result) is None


def test_division_of_integers_gives_a_decimal() -> None:
    assert numerics.divide(7, 2, DECIMAL) == "3.5"
    assert numerics.divide(1, 3, DECIMAL) == "0." + "3" * 32
    assert numerics.divide(2, 3, DECIMAL) == "0." + "6" * 31 + "7"
    assert numerics.divide(7, 2, n(FLOAT)) == 3.5


@pytest.mark.parametrize("operation", [numerics.divide, numerics.remainder])
@pytest.mark.parametrize(("zero", "result"), [(0, DECIMAL), ("0", DECIMAL), (0.0, n(FLOAT)), (0, n(INTEGER))])
def test_division_by_zero_is_refused(operation: numerics.Binary, zero: object, result: int) -> None:
    assert error_of(operation, 1, zero, result) == -1202
    assert error_of(operation, 0, zero, result) == -1202


@given(moderate, moderate)
def test_decimal_arithmetic_is_that_of_decimal(left: Decimal, right: Decimal) -> None:
    a, b = decimal_text(left), decimal_text(right)
    assert numerics.add(a, b, DECIMAL) == decimal_text(CONTEXT.add(left, right))
    assert numerics.subtract(a, b, DECIMAL) == decimal_text(CONTEXT.subtract(left, right))
    assert numerics.multiply(a, b, DECIMAL) == decimal_text(CONTEXT.multiply(left, right))
    if right:
        assert numerics.divide(a, b, DECIMAL) == decimal_text(CONTEXT.divide(left, right))
    else:
        assert error_of(numerics.divide, a, b, DECIMAL) == -1202


@given(moderate, moderate.filter(lambda number: abs(number) >= 1))
def test_the_remainder_is_whole_and_has_the_sign_of_the_dividend(left: Decimal, right: Decimal) -> None:
    rest = Decimal(str(numerics.remainder(decimal_text(left), decimal_text(right), DECIMAL)))
    assert rest == rest.to_integral_value()
    assert abs(rest) < abs(right)
    assert not rest or (rest < 0) == (left < 0)


def test_fractions_do_not_count_in_a_remainder() -> None:
    assert numerics.remainder("-7.9", "2.9", n(BIGINT)) == -1
    assert numerics.remainder(7.5, 2, n(BIGINT)) == 1
    assert error_of(numerics.remainder, 5, "0.5", n(BIGINT)) == -1202


@given(st.integers(-(2**31) + 1, 2**31 - 1), st.integers(-(2**31) + 1, 2**31 - 1).filter(bool))
def test_integer_division_and_remainder_belong_together(left: int, right: int) -> None:
    quotient = numerics.divide(left, right, n(BIGINT))
    rest = numerics.remainder(left, right, n(BIGINT))
    assert isinstance(quotient, int) and isinstance(rest, int)
    assert quotient * right + rest == left
    assert rest == math.fmod(left, right)


def test_numbers_of_all_forms_mix() -> None:
    assert numerics.add(1, "0.5", DECIMAL) == "1.5"
    assert numerics.add("0.5", 0.25, DECIMAL) == "0.75"
    assert numerics.add("0.5", 0.25, n(FLOAT)) == 0.75
    assert numerics.add("2.9", 0, n(INTEGER)) == 2


def test_a_fixed_decimal_result_is_rounded_to_its_scale() -> None:
    assert numerics.multiply("0.05", "0.5", n(decimal(5, 2))) == "0.03"
    assert error_of(numerics.add, "999", "1", n(decimal(5, 2))) == -1226


def test_floats_do_not_become_infinite() -> None:
    assert error_of(numerics.multiply, 1e308, 10.0, n(FLOAT)) == -1223
    assert error_of(numerics.float_of, 10**400) == -1223
    assert error_of(numerics.add, 3e38, 3e38, n(SMALLFLOAT)) == -1222


def test_smallfloat_is_rounded_to_32_bits() -> None:
    assert numerics.fitter(n(SMALLFLOAT))("0.1") == 0.10000000149011612


def test_texts_that_are_no_numbers_are_refused() -> None:
    assert error_of(numerics.add, "x", 1, DECIMAL) == -1213
    assert error_of(numerics.add, "x", 1, n(FLOAT)) == -1213
    assert error_of(numerics.add, "x", 1, n(INTEGER)) == -1213


def test_types_without_numbers_have_no_arithmetic() -> None:
    assert error_of(numerics.fitter, n(kinds.DATE)) == -1260
    assert error_of(numerics.decimal_fitter, n(kinds.char(4))) == -1260


@pytest.mark.parametrize(
    ("function", "value", "digits", "expected"),
    [
        (numerics.round_number, "2.5", 0, "3"),
        (numerics.round_number, "-2.5", 0, "-3"),
        (numerics.round_number, "1.005", 2, "1.01"),
        (numerics.round_number, 15, -1, "20"),
        (numerics.truncate_number, "-2.7", 0, "-2"),
        (numerics.truncate_number, "1.999", 2, "1.99"),
        (numerics.truncate_number, 19, -1, "10"),
        (numerics.round_number, "5", 10**9, "5"),
        (numerics.truncate_number, "5", -(10**9), "0"),
        (numerics.round_number, None, 0, None),
    ],
)
def test_round_and_trunc(function: numerics.Binary, value: object, digits: int, expected: str | None) -> None:
    assert function(value, digits, DECIMAL) == expected


def test_functions_of_one_number() -> None:
    assert numerics.negate("1.5", DECIMAL) == "-1.5"
    assert numerics.negate(0, DECIMAL) == "0"
    assert numerics.absolute(-5, n(INTEGER)) == 5
    assert numerics.ceiling("-1.5", DECIMAL) == "-1"
    assert numerics.floor("-1.5", DECIMAL) == "-2"
    assert numerics.floor(1.5, n(FLOAT)) == 1.0
    assert numerics.floor(None, n(FLOAT)) is None


def test_float_functions_stay_in_their_domain() -> None:
    root = numerics.maths(math.sqrt)
    assert root("6.25") == 2.5
    assert root(None) is None
    with pytest.raises(SqlError):
        root(-1)
    assert error_of(numerics.maths(math.pow), 10, 400) == -1223
    assert numerics.maths(numerics.root)(-27, 3) == pytest.approx(-3)
    assert error_of(numerics.maths(numerics.root), 4, 0) is not None


def test_bits_are_those_of_bigint() -> None:
    both: Callable[..., object] = numerics.bits(int.__and__)
    assert both(12, "10") == 8
    assert both(12, None) is None


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (255, "0x000000FF"),
        (-1, "0xFFFFFFFF"),
        (2**32, "0x0000000100000000"),
        ("16", "0x00000010"),
        (None, None),
    ],
)
def test_hex(number: object, text: str | None) -> None:
    assert numerics.hexadecimal(number) == text
