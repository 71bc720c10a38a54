"""The verb: what it needs."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from aioifx.cli.main import main
from tests.cli.test_output import use_terminal


@pytest.mark.parametrize("missing", ["prompt_toolkit", "pygments"])
def test_without_the_extra_it_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal = SimpleNamespace(closed=False, isatty=lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    use_terminal(monkeypatch)
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["shell", "informix://me@127.0.0.1:1/x?server=y", "--no-password"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("aioifx: the shell needs prompt_toolkit and pygments: pip install 'aioifx[cli]'")


def test_stdout_must_be_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(closed=False, isatty=lambda: True))
    assert main(["shell", "informix://me@127.0.0.1:1/x?server=y", "--no-password"]) == 2
    assert capsys.readouterr().err.startswith("aioifx: stdout: expected a terminal; use `aioifx query`")
