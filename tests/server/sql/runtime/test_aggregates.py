from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.runtime import aggregates
from aioifx.server.sql.runtime.aggregates import Aggregate, WindowAggregate
from aioifx.server.sql.runtime.decimals import decimal_text
from tests.server.sql.kinds import error_of

NUMERIC = [
    aggregates.Sum,
    aggregates.Average,
    aggregates.Variance,
    aggregates.StandardDeviation,
    aggregates.IntervalSum,
    aggregates.IntervalAverage,
]

numbers = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=4)


def over(make: Callable[[], Aggregate], values: Iterable[object]) -> object:
    aggregate = make()
    for value in values:
        aggregate.step(value)
    return aggregate.finalize()


@pytest.mark.parametrize("make", [*NUMERIC, aggregates.RangeAggregate, aggregates.Single])
def test_over_no_rows_or_nulls_the_result_is_null(make: Callable[[], Aggregate]) -> None:
    assert over(make, []) is None
    assert over(make, [None]) is None


def test_sums_of_integers_and_decimals_are_exact() -> None:
    assert over(aggregates.Sum, [1, "0.1", "0.2", None]) == "1.3"
    assert over(aggregates.Sum, ["1e125", "1e-100", "-1e125"]) == decimal_text(Decimal("1e-100"))
    assert over(aggregates.Average, [1, 2]) == "1.5"
    assert over(aggregates.Average, [1, 1, 2]) == "1." + "3" * 31
    assert error_of(over, aggregates.Sum, ["9e125", "9e125"]) == -1226
    assert error_of(over, aggregates.Sum, ["abc"]) == -1213


def test_a_float_makes_the_result_a_float() -> None:
    assert over(aggregates.Sum, [0.1, 0.2, 0.3]) == 0.6
    assert over(aggregates.Average, [1.0, 2]) == 1.5
    assert isinstance(over(aggregates.RangeAggregate, [1.0, 2.0]), float)
    assert error_of(over, aggregates.Sum, [1.7e308, 1.7e308]) == -1223


@given(st.lists(numbers, min_size=2, max_size=20))
def test_statistics_are_those_of_a_sample(values: list[Decimal]) -> None:
    texts = [decimal_text(value) for value in values]
    variance = over(aggregates.Variance, texts)
    deviation = over(aggregates.StandardDeviation, texts)
    assert isinstance(variance, str) and isinstance(deviation, str)
    expected = float(statistics.variance(values))
    assert float(variance) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert float(deviation) ** 2 == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert over(aggregates.RangeAggregate, texts) == decimal_text(max(values) - min(values))


def test_one_row_has_no_variance() -> None:
    assert over(aggregates.Variance, ["5"]) == "0"
    assert over(aggregates.StandardDeviation, [5]) == "0"
    assert over(aggregates.RangeAggregate, [5]) == "0"


@pytest.mark.parametrize("make", NUMERIC)
@given(values=st.lists(st.one_of(st.none(), st.integers(-1000, 1000)), max_size=12), width=st.integers(1, 4))
def test_a_moving_window_is_as_good_as_a_new_one(
    make: Callable[[], WindowAggregate], values: list[int | None], width: int
) -> None:
    window = make()
    for index, value in enumerate(values):
        window.step(value)
        if index >= width:
            window.inverse(values[index - width])
        assert window.value() == over(make, values[max(0, index - width + 1) : index + 1])


def test_intervals_add_up_as_integers() -> None:
    assert over(aggregates.IntervalSum, [12, None, -5]) == 7
    assert over(aggregates.IntervalAverage, [-7, -8]) == -7
    assert error_of(over, aggregates.IntervalSum, [2**62, 2**62]) == -1265


def test_a_second_row_is_one_too_many_for_a_scalar_subquery() -> None:
    assert over(aggregates.Single, ["x"]) == "x"
    assert error_of(over, aggregates.Single, [None, "x"]) == -284


def test_sums_keep_all_32_digits() -> None:
    long, tiny = "1234567890123456789012.1234567891", "-0.0000000001"
    assert over(aggregates.Sum, [long]) == long
    assert over(aggregates.Sum, [long, tiny]) == "1234567890123456789012.123456789"
    assert over(aggregates.Average, [long, long]) == long
    window = aggregates.Sum()
    for value in (tiny, long):
        window.step(value)
    window.inverse(tiny)
    assert window.value() == long
