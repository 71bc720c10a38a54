"""The command: its exit codes and what it prints."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.system.simulation import __main__ as command
from tests.system.simulation.__main__ import main
from tests.system.simulation.planted import DEFECTS
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
    [
        ("--minimize",),
        ("--coverage", "--seconds", "1"),
        ("--planted", "all", "--seed", "1"),
        ("--scenario", "missing.json"),
    ],
    ids=" ".join,
)
def test_wrong_arguments_are_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as raised:
        run_main(monkeypatch, *arguments)
    assert raised.value.code == 2 and arguments[0] in capsys.readouterr().err


@pytest.mark.exhaustive
def test_a_table_tells_how_many_seeds_find_each_past_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("rollback lost", "session lent twice")
    monkeypatch.setattr(command, "DEFECTS", {name: DEFECTS[name] for name in names})
    assert run_main(monkeypatch, "--planted", "all", "--first", "0", "--count", "50", "--jobs", "1") == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert len(lines) == 2 and all(1 <= int(line[40:47]) <= 50 for line in lines)


@pytest.mark.exhaustive
def test_a_past_defect_that_no_seed_finds_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "DEFECTS", {"idle connection kept": DEFECTS["idle connection kept"]})
    assert run_main(monkeypatch, "--planted", "all", "--first", "0", "--count", "1", "--jobs", "1") == 1
    assert capsys.readouterr().out.splitlines()[1].split()[-1] == "-"
