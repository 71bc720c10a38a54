"""aioifx completion: what shells complete."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aioifx.cli.main import main
from aioifx.cli.parsing import VERBS

COMPLETE = """
source "$1"
words=("${@:2}")
COMP_WORDS=("${words[@]}"); COMP_CWORD=$((${#words[@]} - 1))
COMP_LINE="${words[*]}"; COMP_POINT=${#COMP_LINE}
function_of() { echo "${@: -2:1}"; }
$(function_of $(complete -p aioifx)) aioifx "${words[-1]}" "${words[-2]}"
echo "${COMPREPLY[@]}"
"""


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_verb_and_its_options_are_in_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    out = script(shell, capsys)
    assert all(verb in out for verb in VERBS)
    assert "commit-each" in out and "password-file" in out


@pytest.mark.skipif(sys.platform == "win32" or not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["qu"], ["query"]),
        (["query", "--format", ""], ["table", "csv", "json", "arrow"]),
        (["load", "--enc"], ["--encoding"]),
        (["trace", "som"], ["some.jsonl"]),
    ],
)
def test_bash(words: list[str], found: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("shtab")
    (tmp_path / "some.jsonl").touch()
    (tmp_path / "completion").write_text(script("bash", capsys), "utf-8")
    run = subprocess.run(
        ["bash", "-c", COMPLETE, "bash", "completion", "aioifx", *words],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.split() == found


def test_without_shtab_it_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert main(["completion", "bash"]) == 2
    assert "pip install 'aioifx[cli]'" in capsys.readouterr().err
