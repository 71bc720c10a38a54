"""The list can be planted, and the command says which defects are caught."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.planted import __main__ as command
from tests.planted.__main__ import ROOT, Outcome, Result, attempt, main, sample
from tests.planted.defects import DEFECTS, Defect

ADD = Defect("sum", "examples/sums.py", "a + b", "a - b", ("tests/test_sums.py",))
PASSING = "from examples.sums import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"


def test_each_defect_can_still_be_planted() -> None:
    assert len({defect.name for defect in DEFECTS}) == len(DEFECTS) >= 40
    for defect in DEFECTS:
        text = (ROOT / defect.path).read_text("utf-8")
        assert text.count(defect.old) == 1, f"{defect.name}: {defect.old!r} in {defect.path}"
        assert defect.new != defect.old, defect.name
        assert defect.tests and all((ROOT / tests).exists() for tests in defect.tests), defect.name


def test_defects_are_spread_over_the_package() -> None:
    parts = {Path(defect.path).parts[1] for defect in DEFECTS}
    assert parts >= {"client", "codecs", "_speedups", "wire", "server", "dbapi", "sqlalchemy"}


def tree(folder: Path, tests: str, source: str = "def add(a, b):\n    return a + b\n") -> Path:
    for path, text in (("examples/sums.py", source), ("tests/test_sums.py", tests)):
        (folder / path).parent.mkdir()
        (folder / path).write_text(text)
    return folder


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        pytest.param(
            PASSING, Result(Outcome.CAUGHT, "tests/test_sums.py::test_add"), marks=pytest.mark.exhaustive
        ),
        pytest.param(
            PASSING.replace("1, 2) == 3", "1, 0) == 1"),
            Result(Outcome.MISSED, ""),
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            PASSING.replace("== 3", "== 4"),
            Result(Outcome.BROKEN, "fails without the defect: tests/test_sums.py::test_add"),
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            PASSING.replace("def ", "assert add(1, 2) == 3\n\ndef "),
            Outcome.BROKEN,
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            PASSING.replace("def test_add", "def add_test"), Outcome.BROKEN, marks=pytest.mark.exhaustive
        ),
    ],
    ids=["caught", "missed", "fails anyway", "collection fails", "no test"],
)
def test_an_attempt_tells_what_became_of_a_defect_and_leaves_the_tree_alone(
    tmp_path: Path, tests: str, expected: Result | Outcome
) -> None:
    root = tree(tmp_path, tests)
    before = contents(root)
    result = attempt(ADD, root)
    assert (result if isinstance(expected, Result) else result.outcome) == expected
    assert contents(root) == before


@pytest.mark.exhaustive
def test_a_test_that_hangs_is_not_a_defect_that_was_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "TEST_LIMIT", 1)
    root = tree(tmp_path, PASSING.replace("    assert", "    while add(1, 2) != 3: pass\n    assert"))
    assert attempt(ADD, root) == Result(Outcome.HUNG, "tests/test_sums.py::test_add")
    monkeypatch.setattr(command, "RUN_LIMIT", 0.01)
    assert attempt(ADD, root) == Result(Outcome.HUNG, "the run took more than 0.01 s")


def test_a_text_that_is_not_there_once_is_not_planted(tmp_path: Path) -> None:
    result = attempt(ADD, tree(tmp_path, PASSING, "def add(a, b):\n    return a + b or a + b\n"))
    assert result == Result(Outcome.BROKEN, "examples/sums.py: expected once, got 2 times: 'a + b'")


def test_each_defect_has_its_day() -> None:
    first = date(2026, 11, 24)
    days = -(-len(DEFECTS) // 4)
    drawn = [defect for day in range(days) for defect in sample(first + timedelta(day), 4)]
    assert sorted(drawn) == sorted(DEFECTS)
    assert sample(first, 4) == sample(first + timedelta(days), 4)
    assert all(1 <= len(sample(first + timedelta(day), 4)) <= 4 for day in range(days))
    assert len(sample(first, 10_000)) == len(DEFECTS)


@pytest.mark.parametrize(("outcome", "code"), [(Outcome.CAUGHT, 0), (Outcome.HUNG, 1)])
def test_the_exit_code_tells_whether_all_were_caught(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], outcome: Outcome, code: int
) -> None:
    results = iter([Result(Outcome.CAUGHT, "tests/a.py::b"), Result(outcome, "")])
    monkeypatch.setattr(command, "attempt", lambda defect: next(results))
    first, second = DEFECTS[:2]
    assert main(["--only", first.name, "--only", second.name, "--jobs", "1"]) == code
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["caught", outcome, str(2 - code)]
    assert first.name in lines[0] and second.name in lines[1]


def test_a_sample_is_listed_with_the_day_that_repeats_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--sample", "4", "--day", "2026-11-24", "--list"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.endswith("--sample 4 --day 2026-11-24")
    assert [line[:60].rstrip() for line in lines] == [defect.name for defect in sample(date(2026, 11, 24), 4)]
    assert main(["--sample", "4", "--list"]) == 0
    day = capsys.readouterr().out.splitlines()[0].rpartition(" ")[2]
    assert abs(datetime.now(UTC).date() - date.fromisoformat(day)) <= timedelta(1)


@pytest.mark.parametrize("arguments", [["--only", "nothing"], ["--sample", "0"]], ids=" ".join)
def test_wrong_arguments_are_explained(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2 and arguments[0] in capsys.readouterr().err


@pytest.mark.exhaustive
@pytest.mark.timeout(900)
def test_the_defects_of_the_day_are_caught(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print()
        assert main(["--sample", "4", "--jobs", "1"]) == 0
