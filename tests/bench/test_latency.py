"""The benchmark of waits under load: its plan, its quantiles, its table and plot, and a small run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.conftest import check_plot
from tests.bench.latency import (
    CLOSED,
    Case,
    Sample,
    Samples,
    cases_of,
    latency_table,
    measure,
    plot,
    quantiles_of,
    run,
)
from tests.bench.postgres import PostgresMissing
from tests.bench.replay import replay_process


def test_a_quantile_is_the_wait_that_its_share_does_not_exceed() -> None:
    assert quantiles_of([number / 1000 for number in reversed(range(1000))]) == (0.5, 0.99, 0.999)
    assert quantiles_of([0.25]) == (0.25, 0.25, 0.25)


def test_clients_that_are_compared_are_neighbours() -> None:
    cases = cases_of([CLOSED, 2000], ["asyncio"], ["aioifx", "asyncpg"])
    assert cases == [
        Case("aioifx", "asyncio", 0),
        Case("asyncpg", "asyncio", 0),
        Case("aioifx", "asyncio", 2000),
        Case("asyncpg", "asyncio", 2000),
    ]


def measured() -> Samples:
    waits = {"aioifx": (0.001, 0.002, 0.004), "asyncpg": (0.002, 0.003, 0.004)}
    return {
        Case(peer, loop, rate): [Sample(quantiles, 5000.0)] * 2
        for loop in ("asyncio", "uvloop")
        for rate in (CLOSED, 2000)
        for peer, quantiles in waits.items()
    }


def test_ratios_are_those_of_neighbours() -> None:
    lines = [line.strip("| ").split(" | ") for line in latency_table(measured()).splitlines()[2:]]
    ours = ["1.00 · 2.00 [2.00-2.00]", "2.00 · 1.50 [1.50-1.50]", "4.00 · 1.00 [1.00-1.00]"]
    assert lines[0] == ["aioifx, asyncio, 200 tasks", "5,000", *ours]
    assert lines[3] == ["asyncpg, asyncio, 2,000/s", "5,000", "2.00", "3.00", "4.00"]


def test_the_plot_is_svg_and_the_same_for_the_same_numbers(tmp_path: Path) -> None:
    check_plot(lambda path: plot(measured(), path), tmp_path)


@pytest.mark.exhaustive
@pytest.mark.timeout(60)
@pytest.mark.parametrize("rate", [CLOSED, 500])
@pytest.mark.parametrize("peer", ["aioifx", "ping-pong"])
async def test_every_call_is_timed(peer: str, rate: int) -> None:
    with replay_process(rows=10) as dsn:
        sample = await measure(dsn, Case(peer, "asyncio", rate), 0.1)
    assert 0 < sample.quantiles[0] <= sample.quantiles[1] <= sample.quantiles[2]
    assert sample.rate > 0


@pytest.mark.exhaustive
@pytest.mark.timeout(120)
def test_asyncpg_is_measured_in_the_same_round() -> None:
    pytest.importorskip("asyncpg")
    cases = cases_of([200], ["asyncio"], ["aioifx", "asyncpg"])
    try:
        samples = run(cases, 0.1, 1, pins=False, note=lambda text: None)
    except PostgresMissing as missing:
        pytest.skip(str(missing))
    assert [len(samples[case]) for case in cases] == [1, 1]
