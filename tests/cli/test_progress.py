"""Progress on stderr: by rich, as plain text, and not at all."""

from __future__ import annotations

import io
import sys

import pytest

from aioifx.cli import progress as module
from aioifx.cli.progress import progress


class Terminal(io.StringIO):
    """A terminal that remembers what it gets."""

    def isatty(self) -> bool:
        return True


def use_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make stderr a terminal. Not a fixture, since pytest sets stderr after those."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(module, "_INTERVAL", 0)
    return terminal


def move(total: int | None) -> None:
    with progress("loading t", total) as update:
        update(10, 20)
        update(1500, 3000)


def test_plain_text_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    monkeypatch.setattr(module, "rich_module", lambda name: None)
    move(4000)
    lines = terminal.getvalue().split("\r")
    assert lines == ["", "loading t   0 %  10 rows", "loading t  75 %  1,500 rows", " " * 27, ""]
    terminal.truncate(0)
    move(None)
    assert "\rloading t  1,500 rows" in terminal.getvalue() and "%" not in terminal.getvalue()


@pytest.mark.parametrize("total", [4000, None])
def test_a_bar_with_rich(total: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    pytest.importorskip("rich")
    move(total)
    found = terminal.getvalue()
    assert "loading t" in found and "1,500 rows" in found
    assert ("75%" in found) is (total is not None)


@pytest.mark.parametrize("with_rich", [True, False])
def test_nothing_remains_after_an_error(with_rich: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    if with_rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setattr(module, "rich_module", lambda name: None)
    with pytest.raises(ZeroDivisionError), progress("loading t", 4000) as update:
        update(10, 20)
        raise ZeroDivisionError
    end = "\x1b[2K" if with_rich else "\r"  # the line is erased
    assert terminal.getvalue().endswith(end)


@pytest.mark.parametrize("with_rich", [True, False])
def test_a_label_is_text_and_a_line_fits(with_rich: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    if with_rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setattr(module, "rich_module", lambda name: None)
    with progress("[/b]\x1b[31m" + "x" * (20 if with_rich else 200), 4000) as update:
        update(10, 20)
    assert "[/b]\\x1b[31mxxx" in terminal.getvalue()
    assert with_rich or max(map(len, terminal.getvalue().split("\r"))) == 79


def test_updates_are_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = use_terminal(monkeypatch)
    monkeypatch.setattr(module, "rich_module", lambda name: None)
    monkeypatch.setattr(module, "_INTERVAL", 1000)
    move(4000)
    assert "10 rows" in terminal.getvalue() and "1,500" not in terminal.getvalue()


def test_none_where_stderr_is_not_a_terminal_or_when_asked_to_be_quiet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = use_terminal(monkeypatch)
    with progress("loading t", 10, is_quiet=True) as update:
        update(1, 1)
    assert terminal.getvalue() == ""
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    move(4000)
    assert file.getvalue() == ""
