"""The growth of costs: its plan, its exponents, its table and plot, and small samples of every cost."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import pytest

from tests.bench.conftest import check_plot
from tests.bench.growth import Sample, Samples, counted, exponent, growth_table, measure, plot, run, timed
from tests.bench.growth_costs import COSTS, Cost, powers
from tests.bench.replay import replay_process


def test_sizes_are_powers_of_ten_and_the_largest() -> None:
    assert powers(1000) == (10, 100, 1000)
    assert powers(5000, 1) == (1, 10, 100, 1000, 5000)


@pytest.mark.parametrize("power", [0, 1, 1.5, 2])
def test_an_exponent_is_the_slope_over_the_highest_decades(power: float) -> None:
    costs = {size: 1e-6 * size**power for size in (100, 1000, 10_000)}
    assert exponent({1: 1e3, 10: 1e3} | costs) == pytest.approx(power)


def test_one_size_has_no_exponent() -> None:
    assert math.isnan(exponent({10: 1.0}))


def measured() -> Samples:
    return {
        "rows, fetched": {size: Sample(1e-6 * size, 1e-6 * size, 100.0 * size) for size in (10, 100, 1000)},
        "tasks on one connection": {size: Sample(1e-6 * size**2, 1e-6 * size, 4096.0) for size in (1, 10)},
    }


def test_what_is_above_linear_is_bold() -> None:
    lines = [line.strip("| ").split(" | ") for line in growth_table(measured(), "µs", 1e6).splitlines()[2:]]
    assert lines == [
        ["rows, fetched", "10 to 1,000", "1", "1", "1.00", "1.00", "0.098"],
        ["tasks on one connection", "1 to 10", "1", "10", "**2.00**", "1.00", "0.400"],
    ]


def test_the_plot_is_svg_and_the_same_for_the_same_numbers(tmp_path: Path) -> None:
    check_plot(lambda path: plot(measured(), path), tmp_path)


async def test_a_sample_has_times_and_memory() -> None:
    with replay_process(rows=10) as dsn:
        sample = await measure(dsn, COSTS[0]._replace(is_once=True), 10)
    assert sample.cost == sample.uncollected > 0
    assert sample.memory >= 0


@pytest.mark.exhaustive
@pytest.mark.timeout(120)
@pytest.mark.parametrize("cost", COSTS, ids=[cost.name for cost in COSTS])
def test_every_cost_is_measured_in_a_process_of_its_own(cost: Cost) -> None:
    least = cost.sizes[0]
    samples = run([cost], 1, least, timed, note=lambda text: None)
    assert samples[cost.name][least].cost > 0


@pytest.mark.exhaustive
@pytest.mark.timeout(300)  # a process starts 40 times slower under valgrind
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind")
def test_instructions_are_counted() -> None:
    with replay_process(rows=1000) as dsn:
        assert counted(dsn, COSTS[0], 1000).cost > 100 * 1000
