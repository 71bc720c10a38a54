"""aioifx explain: its output and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from aioifx.cli.main import main
from aioifx.errors import ISAM_CODES, SQLCODES

ROOT = Path(__file__).parents[2]

EXPLAINED = """\
SQLCODE -244: could not read next row of table
ISAM -154: lock was not free in time
  class       LockTimeout (LockError, OperationalError)
  SQLSTATE    40001
  retryable   yes: the same transaction may succeed when it is run again
  connection  stays usable
  evidence    observed on a server
  cause       The lock was not free within the time of SET LOCK MODE TO WAIT, or of DEADLOCK_TIMEOUT
              among several servers.
  remedy      Run the transaction again, or wait longer. onstat -k and onstat -u show who holds it;
              short transactions help.
"""


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.parametrize("codes", [["-244", "-154"], ["244", "154"], ["-244", "154"]])
def test_codes_are_explained_with_and_without_their_signs(
    codes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", *codes]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == (EXPLAINED, "")


def test_the_reference_shows_what_is_printed() -> None:
    assert f"```text\n{EXPLAINED}```" in (ROOT / "docs/reference/errors.md").read_text("utf-8")


def test_several_errors_are_explained_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "107", "-206", "-111", "-951"]) == 0
    first, second, third = capsys.readouterr().out.split("\n\n")
    assert first.startswith("ISAM -107: record is locked\n  class       RowLocked ")
    assert "\n  evidence    documented\n" in first
    assert second.startswith("SQLCODE -206: table does not exist\nISAM -111: no such record\n")
    assert "\n  class       UndefinedTable (ProgrammingError)\n" in second
    assert "\n  retryable   no\n" in second
    assert third.startswith("SQLCODE -951: ")
    assert "\n  connection  ended, or never opened\n" in third


def test_an_isam_code_that_decides_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "-111"]) == 0
    assert (
        "\n  class       as the SQLCODE says\n  SQLSTATE    as the SQLCODE says\n" in capsys.readouterr().out
    )


def test_an_unknown_code_is_named_and_the_others_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "-31337", "-201"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("SQLCODE -201: syntax error\n")
    assert err == "-31337 is not in this book; `finderr -31337` on the server's host may know it\n"


def test_every_known_code_can_be_explained_and_fits_a_small_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, is_exhaustive: bool
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    for code in [*SQLCODES, *ISAM_CODES][:: 1 if is_exhaustive else 10]:
        assert main(["explain", str(code)]) == 0
        out = capsys.readouterr().out
        heading, *facts = out.splitlines()
        assert f"{code}: " in heading
        assert max(map(len, facts)) <= 72


@pytest.mark.parametrize("wrong", [["explain"], ["explain", "lock"], ["explain", "-244x"]])
def test_a_wrong_command_line_ends_with_the_usage(
    wrong: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(wrong)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: aioifx ")


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explain", "-h"])
    assert ended.value.code == 0
    assert "  aioifx explain -244 -154\n" in capsys.readouterr().out
