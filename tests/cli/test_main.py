"""The command line as a whole: verbs, version, exit codes, broken pipes."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import pytest

from aioifx.cli import main as program
from aioifx.cli.main import main
from aioifx.cli.parsing import VERBS, Verbs, add_verb
from aioifx.errors import ConnectError, ConnectionLost, DatabaseError, Error, InterfaceError, QueryTimeout
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]


PAGE = ROOT / "docs" / "howto" / "command-line.md"
TIMES = re.compile(r"\b\d+(\.\d+)? (s|ms)\b|127\.0\.0\.1:\d+")


def use_verb(monkeypatch: pytest.MonkeyPatch, run: Callable[[argparse.Namespace], int]) -> None:
    """Give the command line only the verb ``try``, which *run* runs."""

    def add_parser(verbs: Verbs) -> None:
        add_verb(verbs, "try", run, description="")

    monkeypatch.setattr(program, "VERBS", {"try": ""})
    monkeypatch.setitem(sys.modules, "aioifx.cli.try", SimpleNamespace(add_parser=add_parser))


@pytest.mark.parametrize(
    ("wrong", "usage", "message"),
    [
        ([], "COMMAND ...", "the following arguments are required: COMMAND"),
        (["guess", "-1"], "COMMAND ...", "unknown command guess"),
        (["qurey", "SELECT 1"], "COMMAND ...", "unknown command qurey; did you mean query?"),
        (["\x1b[2J"], "COMMAND ...", r"unknown command \x1b[2J"),
        (["--vesion"], "COMMAND ...", "unknown option --vesion; did you mean --version?"),
        (["explain", "201", "--guess"], "explain [OPTION ...] code ...", "unknown option --guess"),
        (
            ["query", "s", "--fromat", "x"],
            "query [OPTION ...] [ADDRESS] SQL",
            "unknown option --fromat; did you mean --format?",
        ),
    ],
)
def test_a_wrong_command_line_ends_with_the_usage(
    wrong: list[str], usage: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(wrong)
    assert ended.value.code == 2
    name = usage.partition(" ")[0] if wrong and wrong[0] in VERBS else ""
    assert capsys.readouterr().err == f"usage: aioifx {usage}\naioifx{name and ' '}{name}: error: {message}\n"


@pytest.mark.exhaustive
def test_help_loads_no_verb() -> None:
    code = "import sys; from aioifx.cli.main import main\ntry: main(['--help'])\nfinally: print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    assert "aioifx.cli.parsing" in loaded
    assert not loaded & {
        "asyncio",
        "importlib.metadata",
        "aioifx.client",
        *(f"aioifx.cli.{verb}" for verb in VERBS),
    }


def test_help_names_the_verbs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert all(re.search(rf"\n    {verb}\b", out) for verb in VERBS)


def test_the_version_is_that_of_the_installed_package(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    monkeypatch.setattr("importlib.metadata.version", lambda name: {"aioifx": built}[name])
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"aioifx {built}\n"


def test_a_source_tree_that_is_not_installed_has_no_version(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == "aioifx (not installed)\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DatabaseError("no"), 1),
        (QueryTimeout("no"), 1),
        (OSError("no"), 1),
        (InterfaceError("no"), 2),
        (ConnectError("no"), 3),
        (ConnectionLost("no"), 3),
    ],
)
def test_an_error_is_one_line_and_its_class_decides_the_exit_code(
    error: Error | OSError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: argparse.Namespace) -> int:
        raise error

    use_verb(monkeypatch, fail)
    assert main(["try"]) == code
    assert capsys.readouterr() == ("", f"aioifx: {error}\n")


def test_an_interrupt_ends_quietly(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(arguments: argparse.Namespace) -> int:
        raise KeyboardInterrupt

    use_verb(monkeypatch, interrupted)
    assert main(["try"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_reader_of_the_output_that_ends_ends_the_program_quietly() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        [sys.executable, "-m", "aioifx", "explain", "-244"],
        cwd=ROOT,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        timeout=30,
    )
    os.close(writer)
    assert (run.returncode, run.stderr) == (141, "")


async def test_the_examples_of_the_guide_print_what_it_shows(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong.csv").write_text("id,name\n1,pen\nx,desk\n", "utf-8")
    for name, script in re.findall(
        r'^```sql title="(.*?)"\n(.*?)^```$', PAGE.read_text("utf-8"), re.M | re.S
    ):
        (tmp_path / name).write_text(script, "utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    count = 0
    for block in blocks:
        for example in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, _, shown = example.partition("\n")
            program, *arguments = shlex.split(line)
            assert program == "aioifx"
            found = await run(*arguments)
            assert TIMES.sub("T", found.out + found.err) == TIMES.sub("T", shown), line
            count += 1
    assert count >= 10


def test_an_error_of_the_operating_system_names_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: argparse.Namespace) -> int:
        raise FileNotFoundError(2, "No such file or directory", "a.csv")

    use_verb(monkeypatch, fail)
    assert main(["try"]) == 1
    assert capsys.readouterr().err == "aioifx: No such file or directory: a.csv\n"


@pytest.mark.skipif(sys.platform == "win32", reason="closing by the shell")
@pytest.mark.parametrize(
    "line", ["query 'informix://me@127.0.0.1:1/x?server=y' - --no-password <&-", "explain 201 >&- 2>&-"]
)
def test_a_closed_stream_is_empty(line: str) -> None:
    command = f"{shlex.quote(sys.executable)} -m aioifx {line}"
    found = subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" not in found.stderr and found.stdout == ""
    assert found.returncode == (3 if "query" in line else 0)
