"""Many scenarios: one that keeps its process busy is stopped and reported."""

from __future__ import annotations

import signal

import pytest

from tests.system.simulation.callers import KINDS, Entry, Kind, World
from tests.system.simulation.many import run_limited, run_seeds
from tests.system.simulation.scenario import Caller, Operation, Scenario


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="needs the timer of POSIX")
def test_a_busy_scenario_is_stopped_even_if_the_exception_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []

    async def spin(world: World, entry: Entry) -> None:
        while True:  # as a loop of the client that waits for what is already done
            try:
                signal.raise_signal(signal.SIGALRM)  # as the timer does
            except BaseException:
                rounds.append(entry.operation.number)
                if len(rounds) == 3:
                    raise

    monkeypatch.setitem(KINDS, "spin", Kind(spin))
    report = run_limited(Scenario(1, pools=({},), callers=(Caller(0.0, 0, (Operation(1, "spin"),)),)))
    assert "frozen" in report.laws and len(rounds) == 3
    assert "spin" in next(each.text for each in report.violations if each.law == "frozen")


def test_a_summary_counts_what_has_happened() -> None:
    summary = run_seeds(range(3))
    assert summary.scenarios == 3 and summary.steps > 300 and summary.groups > 30
    assert not summary.failures and summary.outcomes["done"]
    assert "3 scenarios" in str(summary)
