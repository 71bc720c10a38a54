"""What benches share: a replay server, an event loop, sizes; and what a saved report holds. Never: a measurement."""

from __future__ import annotations

import asyncio
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import aioifx
from tests.bench.replay import replay_process

FEW: Final = 60
"""Rows at most where benches only run as tests."""


def measures(config: pytest.Config) -> bool:
    """Whether times are taken; otherwise each bench runs once, small, as a test."""
    return bool(config.getoption("benchmark_enable")) or not config.getoption("benchmark_disable")


def check_plot(plot: Callable[[Path], None], folder: Path) -> None:
    """Check that *plot* writes SVG, and the same file for the same numbers."""
    pytest.importorskip("matplotlib")
    one, two = folder / "one.svg", folder / "two.svg"
    plot(one)
    plot(two)
    assert ElementTree.parse(one).getroot().tag.endswith("svg")
    assert one.read_bytes() == two.read_bytes()


@pytest.fixture(scope="session")
def measuring(request: pytest.FixtureRequest) -> bool:
    """See `measures`."""
    return measures(request.config)


@pytest.fixture(scope="module")
def replay(measuring: bool) -> Iterator[str]:
    """The DSN of a replay server."""
    with replay_process(rows=100_000 if measuring else FEW) as dsn:
        yield dsn


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """One for all benches of a module: they are run by it, and are no coroutines themselves."""
    with asyncio.Runner() as runner:
        yield runner.get_loop()


def pytest_benchmark_update_machine_info(config: pytest.Config, machine_info: dict[str, Any]) -> None:
    """A report says which processor it was, not whose, and which of the two kernels."""
    machine_info.pop("node", None)
    machine_info.get("cpu", {}).pop("flags", None)
    machine_info["aioifx"] = aioifx.speedups


def pytest_benchmark_update_json(
    config: pytest.Config, benchmarks: list[Any], output_json: dict[str, Any]
) -> None:
    """A report that is committed needs statistics, not every sample, and says nothing of the working tree."""
    for bench in output_json["benchmarks"]:
        bench["stats"].pop("data", None)
    output_json["commit_info"] = {}
