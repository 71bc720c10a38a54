"""stdout: plain and in style."""

from __future__ import annotations

import io
import json
import sys

import pytest

from aioifx.cli import output
from aioifx.cli.output import (
    LinePrinter,
    StyledLine,
    counted,
    is_terminal,
    prepare_streams,
    rich_module,
    terminal_width,
    write_text,
)

LINES: list[StyledLine] = [(("a", "bold"), (" | ", "dim"), ("[red]b  ", "")), ()]


class Terminal(io.TextIOWrapper):
    """A terminal that remembers what it gets."""

    def isatty(self) -> bool:
        return True


def use_terminal(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """Make stdout a terminal; returns what arrives there. Not a fixture, since pytest sets stdout after those."""
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", Terminal(data, "ascii", newline="\n"))
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "33")
    return data


def test_lines_in_style(monkeypatch: pytest.MonkeyPatch) -> None:
    data = use_terminal(monkeypatch)
    pytest.importorskip("rich")
    LinePrinter().print(LINES)
    assert data.getvalue() == b"\x1b[1ma\x1b[0m\x1b[2m | \x1b[0m[red]b\n\n"


def test_lines_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    data = use_terminal(monkeypatch)
    monkeypatch.setattr(output, "rich_module", lambda name: None)
    LinePrinter().print(LINES)
    assert data.getvalue() == b"a | [red]b\n\n"


def test_a_file_gets_no_style(capsys: pytest.CaptureFixture[str]) -> None:
    LinePrinter().print(LINES)
    assert capsys.readouterr().out == "a | [red]b\n\n"


def test_lines_have_no_blanks_at_their_ends(capsys: pytest.CaptureFixture[str]) -> None:
    LinePrinter().print([(("a | ", ""), ("  ", "bold"), ("", "")), ((" ", ""),), ()])
    assert capsys.readouterr().out == "a |\n\n\n"


def test_a_character_that_the_terminal_lacks_does_not_end_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    data = use_terminal(monkeypatch)
    prepare_streams()
    LinePrinter().print([(("\u673a", ""),)])
    assert data.getvalue() == b"?\n"


def test_text_for_a_terminal_has_nothing_that_controls_it(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = 'a\tb\n"\x1b]0;x\x07\x9b31m\r\x7f\u202e\U000e0001" ü机\n'
    data = use_terminal(monkeypatch)
    write_text(hostile)
    shown = data.getvalue().decode()
    assert shown == 'a\tb\n"\\u001b]0;x\\u0007\\u009b31m\\r\\u007f\\u202e\\udb40\\udc01" ü机\n'
    assert json.loads(shown.splitlines()[1].split(" ")[0]) == "\x1b]0;x\x07\x9b31m\r\x7f\u202e\U000e0001"
    monkeypatch.setattr(Terminal, "isatty", lambda self: False)
    write_text(hostile)
    assert data.getvalue().decode() == shown + hostile


def test_only_a_terminal_has_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    use_terminal(monkeypatch)
    assert terminal_width() == 33
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert terminal_width() is None
    assert not is_terminal(None)


def test_a_module_of_rich_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert rich_module("console") is None


def test_numbers_of_rows_for_people() -> None:
    assert [counted(rows) for rows in (0, 1, 1234567)] == ["0 rows", "1 row", "1,234,567 rows"]
