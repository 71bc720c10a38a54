"""Lines to a file, to stdout, and to a pager."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from pathlib import Path

import pytest

from aioifx.cli.output import StyledLine
from aioifx.cli.shell.pages import Pages, pages
from aioifx.cli.shell.state import Interrupts
from tests.injection import eventually

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs of POSIX")


def lines(count: int) -> list[StyledLine]:
    return [((f"line {number}", ""),) for number in range(count)]


async def test_a_file_gets_lines_at_once() -> None:
    out = io.StringIO()
    async with pages(out, Interrupts(), is_paged=True) as found:
        await found.write(lines(2))
        assert out.getvalue() == "line 0\nline 1\n"


async def test_less_than_a_screen_needs_no_pager(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINES", "6")
    found = Pages(None, ["false"])
    await found.write(lines(4))
    assert capsys.readouterr().out == ""
    await found.close()
    assert capsys.readouterr().out == "line 0\nline 1\nline 2\nline 3\n"


async def test_more_goes_to_the_pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "6")
    target = tmp_path / "shown"
    found = Pages(None, ["sh", "-c", f"cat > '{target}'; echo $LESS >> '{target}'"])
    for _ in range(3):
        await found.write(lines(4))
    await found.close()
    assert target.read_text("utf-8").count("line") == 12
    assert target.read_text("utf-8").endswith("FRSX\n" if "LESS" not in os.environ else "\n")


async def test_a_pager_that_ends_wants_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "6")
    found = Pages(None, ["true"])
    while not found.is_ended:
        await found.write(lines(1000))
    await found.close()
    assert found.waited > 0


async def test_a_slow_pager_holds_the_rows_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """At most what a pipe takes is written before the pager reads."""
    monkeypatch.setenv("LINES", "6")
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    found = Pages(None, ["sh", "-c", f"cat '{gate}' > /dev/null; cat > /dev/null"])
    written = 0

    async def write() -> None:
        nonlocal written
        while True:
            await found.write([(("x" * 10_000, ""),)] * 10)
            written += 1

    task = asyncio.create_task(write())
    await eventually(lambda: found.is_waiting)
    before = written
    for _ in range(10):
        await asyncio.sleep(0)
    assert written == before < 100
    task.cancel()
    gate.write_text("go", "utf-8")
    await found.close()
