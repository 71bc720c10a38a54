"""Scenarios run the same everywhere; those of past finds, and a sample of all seeds, violate no law."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.simulation.generate import generate
from tests.system.simulation.minimize import minimize, size
from tests.system.simulation.run import run
from tests.system.simulation.scenario import Caller, Operation, Scenario
from tests.system.simulation.trace import TextTracer

DATA = sorted((Path(__file__).parent / "data").glob("*.json"))


@pytest.mark.parametrize("path", DATA, ids=lambda path: path.stem)
def test_a_past_find_violates_no_law(path: Path) -> None:
    assert not run(Scenario.from_json(path.read_text())).violations


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_seeds_violate_no_law(first: int) -> None:
    for seed in range(first, first + 50):
        assert not run(generate(seed)).violations, f"poe simulate --seed {seed}"


def test_a_scenario_survives_json() -> None:
    for seed in range(200):
        scenario = generate(seed)
        assert Scenario.from_json(scenario.to_json()) == scenario


SEEDS = range(5000, 5010)
PROGRAM = f"""
from tests.system.simulation.generate import generate
from tests.system.simulation.run import run
from tests.system.simulation.trace import TextTracer
for seed in {SEEDS}:
    run(generate(seed), TextTracer(lambda line: print(line) if "process_id" not in line else None))
"""


def test_a_seed_has_the_same_trace_in_every_process(is_exhaustive: bool) -> None:
    lines: list[str] = []
    for seed in SEEDS:
        run(generate(seed), TextTracer(lambda line: lines.append(line) if "process_id" not in line else None))
    traces = {"".join(f"{line}\n" for line in lines)}
    for hashes in ("1", "2") if is_exhaustive else ("1",):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": hashes},
            cwd=Path(__file__).parents[3],
        )
        traces.add(done.stdout)
    assert len(traces) == 1 and len(traces.pop().splitlines()) > 1000


def test_a_trace_shows_messages_and_operations() -> None:
    lines: list[str] = []
    run(
        Scenario(1, pools=({"max_size": 1},), callers=(Caller(0.0, 0, (Operation(1, "insert"),)),)),
        TextTracer(lines.append),
    )
    text = "\n".join(lines)
    for expected in (
        "LOGIN (user=app",
        "SQ_PREPARE (sql=INSERT INTO note",
        "operation 1: insert begins",
        "operation 1: done",
        "aioifx.pool: <Pool 'shop at db1:9088' open: 0 idle, 0 in use, 0 waiting, at most 1>: opened <Connection",
        "operation 1 is given connection 1",
        "operation 1 releases connection 1",
    ):
        assert expected in text


def test_a_trace_changes_nothing() -> None:
    for seed in range(100, 106):
        plain, traced = run(generate(seed)), run(generate(seed), TextTracer(lambda line: None))
        assert plain == traced


def test_a_failing_scenario_is_minimized() -> None:
    callers = tuple(
        Caller(0.01 * number, 0, tuple(Operation(10 * number + each, "insert", 5) for each in range(1, 4)))
        for number in range(3)
    )
    whole = Scenario(3, pools=({"max_size": 2, "pipelining": True},), callers=callers, bugs=("lose commits",))
    assert "outcome" in run(whole).laws
    smallest = minimize(whole, lambda scenario: "outcome" in run(scenario).laws)
    assert "outcome" in run(smallest).laws
    assert size(smallest)[1] < 9 and smallest.pools == ({},)
