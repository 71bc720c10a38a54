"""The commands that need no terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from aioifx.cli.address import Destination
from aioifx.cli.shell.commands import COMMANDS, run_text
from aioifx.cli.shell.state import Quit, Shell
from aioifx.errors import InterfaceError
from aioifx.server import Server
from tests.cli.shell.conftest import Type

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "shell.md"


async def test_help_lists_all(type_in: Type) -> None:
    out, _ = await type_in("help")
    assert all(f"\n\\{name}" in f"\n{out}" for name in COMMANDS)


def test_the_page_has_each_command() -> None:
    assert set(COMMANDS) <= set(re.findall(r"\\([\w?]+)", PAGE.read_text("utf-8")))


async def test_help_for_one(type_in: Type) -> None:
    assert (await type_in("\\h \\watch"))[0] == f"\\watch [SECONDS]      {COMMANDS['watch'].help}\n"
    assert (await type_in("\\h -206 111"))[0].startswith("SQLCODE -206: table does not exist\nISAM -111")
    assert (await type_in("\\h 99999"))[0] == "-99999 is not known\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("\\tming", "unknown command \\tming; did you mean \\timing?"),
        ("\\zzz", "unknown command \\zzz; \\? lists the commands"),
        ("\\", "unknown command \\; \\? lists the commands"),
        ("\\timing maybe", "\\timing: expected on or off, got 'maybe'"),
        ("\\x 3", "\\x: expected on, off or auto, got '3'"),
        ("\\watch -1", "\\watch: expected seconds above 0, got '-1'"),
        ("\\watch nan", "\\watch: expected seconds above 0, got 'nan'"),
        ("\\watch", "\\watch: there is no statement to run again"),
        ("\\i", "\\i: expected the name of a file"),
        ("\\i -", "\\i: expected the name of a file"),
        ("\\o ~nobody-like-this/a", "\\o: no home directory: ~nobody-like-this/a"),
        ("\\h nothing", "\\h: expected a command or an error code, got 'nothing'"),
    ],
)
async def test_what_is_wrong_is_said(line: str, message: str, type_in: Type) -> None:
    with pytest.raises(InterfaceError) as error:
        await type_in(line)
    assert str(error.value) == message


async def test_the_prompt_follows_statements_about_databases(type_in: Type, shell: Shell) -> None:
    for statement, name in (
        ("CREATE DATABASE third", "third"),
        ("CLOSE DATABASE", ""),
        ("DATABASE demo", "demo"),
    ):
        await type_in(f"{statement};")
        assert shell.database == name


async def test_delimited_names_are_found(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell(Destination(server.dsn, {"environment": {"DELIMIDENT": "y"}}, False))
    await shell.connect()
    await run_text(
        shell, 'CREATE TABLE "My T" ("Id" INT); \\dt my*\nINFO COLUMNS FOR "My T"; \\d "My T"', "x"
    )
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines() if "Id" in line] == ["Id", "Id"]
    await shell.end()


async def test_a_script_that_is_missing(type_in: Type) -> None:
    with pytest.raises(FileNotFoundError) as error:
        await type_in("\\i missing.sql")
    assert error.value.filename == "missing.sql"


async def test_a_script_notes_the_place_of_an_error(type_in: Type, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text("-- one\nSELECT 1 AS a FROM item WHERE id = 1;\n\\zzz\n", "utf-8")
    with pytest.raises(InterfaceError) as error:
        await type_in(f"\\i '{tmp_path / 'a.sql'}'")
    assert error.value.__notes__ == ["in a.sql, line 3", "in the test, line 1"]


async def test_a_script_does_not_run_itself(type_in: Type, tmp_path: Path) -> None:
    (tmp_path / "a.sql").write_text(f"\\i {tmp_path / 'a.sql'}", "utf-8")
    with pytest.raises(InterfaceError, match=r"a\.sql is running already"):
        await type_in(f"\\i {tmp_path / 'a.sql'}")


async def test_connections(type_in: Type, shell: Shell) -> None:
    assert (await type_in("\\c"))[1].startswith("connected to demo as ")
    assert (await type_in("\\c sysmaster\nDATABASE demo;"))[1] == "connected to sysmaster\ndone\n"
    assert shell.database == "demo"
    for text in ("informix://ann:secret@db1/shop", "HOST=db1;PWD=secret", "shop ann secret"):
        with pytest.raises(InterfaceError, match=r"\\c: expected the name of a database") as caught:
            await type_in(f"\\c {text}")
        assert "secret" not in str(caught.value)
    with pytest.raises(InterfaceError, match=r"\\c: a transaction is open"):
        await type_in("BEGIN; \\c sysmaster")


@pytest.mark.skipif(sys.platform == "win32", reason="programs of POSIX")
async def test_the_editor_makes_the_next_input(
    type_in: Type, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i.before -e s/1/3/")
    await type_in("SELECT id FROM item WHERE id = 1;\n\\e")
    assert shell.draft == "SELECT id FROM item WHERE id = 3;"
    (tmp_path / "a.sql").write_text("SELECT 1;\n", "utf-8")
    await type_in(f"\\e {tmp_path / 'a.sql'}")
    assert shell.draft == "SELECT 3;" and (tmp_path / "a.sql").read_text("utf-8") == "SELECT 3;\n"
    monkeypatch.setenv("EDITOR", "nothing-like-this")
    with pytest.raises(
        InterfaceError, match=r"\\e: No such file or directory: nothing-like-this; set EDITOR"
    ):
        await type_in("\\e")
    monkeypatch.setenv("EDITOR", "false")
    with pytest.raises(InterfaceError, match="exit code 1; nothing is run"):
        await type_in("\\e")


async def test_quit(type_in: Type) -> None:
    with pytest.raises(Quit):
        await type_in("quit")
