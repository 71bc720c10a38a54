"""The command: its exit codes and what it prints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.system.simulation.__main__ import main
from tests.system.simulation.scenario import Caller, Operation, Scenario

INSERTS = Caller(0.0, 0, tuple(Operation(number, "insert") for number in (1, 2, 3)))


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["simulate", *arguments])
    monkeypatch.setattr("signal.signal", lambda *_: None)  # the tests go on in this process
    return main()


def saved(folder: Path, *bugs: str) -> str:
    path = folder / "scenario.json"
    path.write_text(Scenario(1, pools=({"max_size": 1},), callers=(INSERTS,), bugs=bugs).to_json())
    return str(path)


def test_a_scenario_without_a_violation_is_replayed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run_main(monkeypatch, "--scenario", saved(tmp_path)) == 0
    text = capsys.readouterr().out
    assert "SQ_PREPARE" in text and "all laws hold" in text


def test_a_violation_is_printed_and_minimized(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    scenario, smaller = saved(tmp_path, "lose commits"), tmp_path / "smaller.json"
    assert run_main(monkeypatch, "--scenario", scenario, "--quiet") == 1
    assert "violated: outcome" in capsys.readouterr().out
    assert run_main(monkeypatch, "--scenario", scenario, "--quiet", "--minimize", "--save", str(smaller)) == 1
    assert Scenario.from_json(smaller.read_text()).pools == ({},)


@pytest.mark.parametrize(
    "arguments",
    [("--minimize",), ("--coverage", "--seconds", "1"), ("--scenario", "missing.json")],
    ids=" ".join,
)
def test_wrong_arguments_are_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as raised:
        run_main(monkeypatch, *arguments)
    assert raised.value.code == 2 and arguments[0] in capsys.readouterr().err
