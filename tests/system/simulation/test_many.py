"""Many scenarios in processes: each failure has its seed, also one of the simulation or of a process."""

from __future__ import annotations

import multiprocessing
import signal

import pytest

from tests.system.simulation import many
from tests.system.simulation.generate import generate
from tests.system.simulation.laws import Violation
from tests.system.simulation.many import NO_SEED, Summary, run_limited, run_many, run_seeds
from tests.system.simulation.measure import measured
from tests.system.simulation.operations import KINDS, Kind
from tests.system.simulation.run import Report
from tests.system.simulation.scenario import Caller, Operation, Scenario
from tests.system.simulation.world import Entry, World


@pytest.mark.exhaustive
def test_processes_count_what_one_process_counts() -> None:
    alone, together = run_seeds(range(8)), run_many(0, count=8, jobs=1)
    assert together.scenarios == 8 and not together.failures
    assert (together.steps, together.groups, together.outcomes) == (alone.steps, alone.groups, alone.outcomes)


def test_an_error_of_the_simulation_has_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(scenario: Scenario) -> Report:
        raise LookupError("no such host")

    monkeypatch.setattr(many, "run", broken)
    [violation] = run_limited(generate(5)).violations
    assert (
        violation.law == "simulation"
        and "no such host" in violation.text
        and "test_many.py" in violation.text
    )
    assert [seed for seed, _ in run_seeds(range(5, 7)).failures] == [5, 6]


@pytest.mark.exhaustive
def test_a_process_that_died_is_a_failure_with_its_seed() -> None:
    def kill(summary: Summary) -> None:
        for process in multiprocessing.active_children():
            process.kill()

    summary = run_many(100, count=100_000, jobs=1, on_progress=kill)
    [(seed, [violation])] = summary.failures
    assert violation.law == "process" and "exit code -9" in violation.text
    assert seed == NO_SEED or 100 <= seed < 100_100


@pytest.mark.exhaustive
def test_an_interrupted_run_keeps_its_summary() -> None:
    def interrupt(summary: Summary) -> None:
        raise KeyboardInterrupt

    summary = run_many(0, count=100_000, jobs=1, on_progress=interrupt)
    assert summary.is_interrupted and summary.scenarios == many.CHUNK
    assert not multiprocessing.active_children()


@pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="needs the timer of POSIX")
def test_a_busy_scenario_is_stopped_even_if_the_exception_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []

    async def spin(world: World, entry: Entry) -> None:
        while True:  # as a loop of the client that waits for what is already done
            try:
                signal.raise_signal(signal.SIGPROF)  # as the timer does
            except BaseException:
                rounds.append(entry.operation.number)
                if len(rounds) == 3:
                    raise

    monkeypatch.setitem(KINDS, "spin", Kind(spin))
    report = run_limited(Scenario(1, pools=({},), callers=(Caller(0.0, 0, (Operation(1, "spin"),)),)))
    assert "frozen" in report.laws and len(rounds) == 3
    assert "spin" in next(each.text for each in report.violations if each.law == "frozen")


def test_a_run_may_end_at_its_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    report = Report(5, [Violation("rows", "twice")])
    monkeypatch.setattr(many, "run", lambda _: report)
    assert run_seeds(range(5, 8), stop_at_failure=True).scenarios == 1


def test_a_summary_counts_what_has_happened() -> None:
    summary = run_seeds(range(3))
    assert summary.scenarios == 3 and summary.steps > 300 and summary.groups > 30
    assert not summary.failures and summary.outcomes["done"]
    assert "3 scenarios" in str(summary)


@pytest.mark.exhaustive
def test_coverage_has_a_line_for_each_module() -> None:
    pytest.importorskip("coverage")
    lines = measured(1, 6, 2).splitlines()
    assert any(line.startswith("aioifx/client/pool/pool.py") for line in lines)
    assert any(line.startswith("TOTAL") for line in lines)
