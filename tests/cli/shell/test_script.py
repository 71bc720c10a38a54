"""stdin that is no terminal."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from tests.cli.conftest import Run


def use_stdin(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(text.encode()), closed=False, isatty=lambda: False)
    monkeypatch.setattr("sys.stdin", stdin)


async def test_stdin_is_a_script(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    use_stdin("\\timing off\nSELECT id FROM item WHERE id = 1;\n\\q\nSELECT wrong", monkeypatch)
    found = await run("shell")
    assert (found.code, found.out) == (0, "id\n--\n 1\n(1 row)\n")


async def test_a_script_ends_at_the_first_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    use_stdin("SELECT id\nFROM item WHERE id = 1;\nSELECT wrong FROM item;\nSELECT 2 FROM item;", monkeypatch)
    found = await run("shell")
    assert (found.code, found.out) == (1, "id\n--\n 1\n(1 row)\n")
    assert "\nin stdin, line 3\n" in found.err and found.err.startswith("aioifx: column wrong ")
