from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.runtime import decimals
from tests.server.sql.kinds import error_of

numbers = st.decimals(allow_nan=False, allow_infinity=False, min_value=Decimal(-(10**30)), max_value=10**30)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0", "0"), ("-0.00", "0"), ("1E+5", "100000"), ("0.50", "0.5"), ("-12.3400", "-12.34"), ("100", "100"),
        ("1E-10", "0.0000000001"),
    ],
)  # fmt: skip
def test_the_canonical_text_has_no_exponent_and_no_needless_zero(number: str, text: str) -> None:
    assert decimals.decimal_text(Decimal(number)) == text


@given(numbers)
def test_the_canonical_text_keeps_the_value(number: Decimal) -> None:
    assert Decimal(decimals.decimal_text(number)) == number


@given(numbers, numbers)
def test_equal_values_have_equal_texts(left: Decimal, right: Decimal) -> None:
    assert (decimals.decimal_text(left) == decimals.decimal_text(right)) == (left == right)


def test_a_fixed_scale_shows_all_its_digits() -> None:
    assert decimals.scaled_text(Decimal("0.5"), 2) == "0.50"
    assert decimals.scaled_text(Decimal("5"), 0) == "5"
    assert decimals.scaled_text(Decimal("0.50"), None) == "0.5"


@pytest.mark.parametrize("text", ["12", " 12.50 ", "+.5", "-1.", "1e3", "1E-3"])
def test_number_texts_are_read(text: str) -> None:
    assert decimals.parse_decimal(text) == Decimal(text.strip())


@pytest.mark.parametrize(
    "text", ["", " ", "x", "12x", "1 2", "--1", ".", "NaN", "Infinity", "1_000", "1e99999", "\u0663"]
)
def test_other_texts_are_no_numbers(text: str) -> None:
    assert error_of(decimals.parse_decimal, text) == -1213


def test_stored_numbers_of_every_form_are_read() -> None:
    assert decimals.decimal_of(3) == 3
    assert decimals.decimal_of("0.1") == Decimal("0.1")
    assert decimals.decimal_of(0.1) == Decimal("0.1")
    assert error_of(decimals.decimal_of, "nan") == -1213
    assert error_of(decimals.decimal_of, "abc") == -1213


@pytest.mark.parametrize(
    ("number", "precision", "scale", "fitted"),
    [
        ("0.495", 5, 2, "0.50"),
        ("-0.005", 5, 2, "-0.01"),
        ("0.004", 5, 2, "0.00"),
        ("999.994", 5, 2, "999.99"),
        ("12345678901234567", 16, None, "12345678901234570"),
        ("0.66666666666", 4, None, "0.6667"),
        ("1e-131", 32, None, "0"),
        ("1e-130", 32, None, "1e-130"),
        ("9e125", 32, None, "9e125"),
    ],
)
def test_fitting_rounds_half_away_from_zero(
    number: str, precision: int, scale: int | None, fitted: str
) -> None:
    assert decimals.fit_decimal(Decimal(number), precision, scale) == Decimal(fitted)


@pytest.mark.parametrize(
    ("number", "precision", "scale"),
    [("1000", 5, 2), ("999.995", 5, 2), ("1e126", 32, None), ("1e200", 5, 2), ("1", 2, 2)],
)
def test_too_many_digits_are_refused(number: str, precision: int, scale: int | None) -> None:
    assert error_of(decimals.fit_decimal, Decimal(number), precision, scale) == -1226


@given(numbers, st.integers(1, 32), st.integers(0, 32))
def test_what_fits_keeps_within_half_a_unit_of_its_last_digit(
    number: Decimal, precision: int, scale: int
) -> None:
    if scale > precision:
        return
    try:
        fitted = decimals.fit_decimal(number, precision, scale)
    except SqlError as error:
        assert error.sqlcode == -1226
        assert abs(number) >= 10 ** (precision - scale) - Decimal(1).scaleb(-scale) / 2
    else:
        with localcontext(prec=100):
            assert abs(fitted - number) * 2 <= Decimal(1).scaleb(-scale)
        assert len(fitted.as_tuple().digits) <= max(precision, 1) or not fitted


def test_rounding_and_truncating_work_on_both_sides_of_the_point() -> None:
    assert decimals.round_decimal(Decimal("2.5"), 0) == 3
    assert decimals.round_decimal(Decimal("-2.5"), 0) == -3
    assert decimals.round_decimal(Decimal("1250"), -2) == 1300
    assert decimals.truncate_decimal(Decimal("-2.7")) == -2
    assert decimals.truncate_decimal(Decimal("1299"), -2) == 1200


@given(numbers, numbers)
def test_the_collation_orders_by_value(left: Decimal, right: Decimal) -> None:
    order = decimals.compare_decimals(decimals.decimal_text(left), decimals.decimal_text(right))
    assert (order < 0) == (left < right)
    assert (order == 0) == (left == right)


def test_the_collation_never_fails() -> None:
    assert decimals.compare_decimals("abc", "1") == 1
    assert decimals.compare_decimals("1", "abc") == -1
