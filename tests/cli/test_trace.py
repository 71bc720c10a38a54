"""The verb, on traces of the embedded server and on files that are none."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

import aioifx
from aioifx.cli.failures import FAILED, USAGE
from aioifx.cli.main import main
from aioifx.server import serve
from aioifx.tracing.events import TraceEvent
from aioifx.tracing.recorder import ChannelTracer


@pytest.fixture
async def trace(tmp_path: Path) -> Path:
    path = tmp_path / "shop.jsonl"
    async with serve() as server:
        async with aioifx.create_pool(server.dsn, min_size=2, max_size=2, trace=path) as pool:
            async with pool.acquire() as one, pool.acquire() as other:
                await one.fetch("SELECT tabname FROM systables WHERE tabid < 3")
                await other.execute("CREATE TEMP TABLE t (a INT)")
                with pytest.raises(aioifx.DatabaseError):
                    await other.fetch("SELECT nix FROM t")
    return path


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_a_conversation_and_its_summary(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(trace)]) == 0
    found = lines(capsys)
    assert any(
        "SQ_PREPARE (SELECT tabname FROM systables WHERE tabid < ?, placeholders 0)" in line for line in found
    )
    assert "  <- SQ_ERR (sqlcode -217, isamcode 0, offset 8, token nix)" in found
    assert "connections       2" in found and "errors            -217" in found
    assert "slowest round trips" in found


def test_the_summary_alone(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(trace), "--summary"]) == 0
    assert lines(capsys)[0].startswith("began ")


def test_one_connection(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(trace), "--summary"]) == 0
    both = lines(capsys)
    assert main(["trace", str(trace)]) == 0
    number = next(line for line in lines(capsys) if "opened" in line).split("connection ")[1].split()[0]
    assert main(["trace", str(trace), "--summary", "--connection", number]) == 0
    one = lines(capsys)
    assert "connections       2" in both and "connections       1" in one


@pytest.mark.skipif(os.name != "posix", reason="files have no such modes")
@pytest.mark.parametrize("mode", [None, 0o644])
def test_a_page_belongs_to_its_owner_alone(trace: Path, tmp_path: Path, mode: int | None) -> None:
    """As the trace does; also one that replaces another page."""
    out = tmp_path / "shop.html"
    if mode is not None:
        out.touch()
        out.chmod(mode)
    before = os.umask(0o022)
    try:
        assert main(["trace", str(trace), "--html", str(out)]) == 0
    finally:
        os.umask(before)
    assert out.stat().st_mode & 0o777 == trace.stat().st_mode & 0o777 == 0o600


def test_a_page(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "shop.html"
    assert main(["trace", str(trace), "--html", str(out)]) == 0
    (line,) = lines(capsys)
    assert line.startswith(f"{out}: ") and line.endswith(" round trips of 2 connections")
    page = out.read_text("utf-8")
    assert page.startswith("<!doctype html>") and "Trace shop.jsonl" in page


def test_a_terminal_gets_lines_of_its_width(
    trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["trace", str(trace)]) == 0
    conversation = [line for line in lines(capsys) if line.startswith((" ", "  ->", "  <-"))]
    assert max(len(line) for line in conversation if "round trip" not in line) == 60
    assert main(["trace", str(trace), "--full"]) == 0
    assert max(map(len, lines(capsys))) > 60


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not a trace: it is empty"),
        ("a,b\n", ", line 1: expected JSON"),
        ("[]\n", "expected an object of JSON"),
    ],
)
def test_a_file_that_is_not_a_trace(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x"
    path.write_text(content)
    assert main(["trace", str(path)]) == USAGE
    error = capsys.readouterr().err
    assert error.startswith(f"aioifx: {path}") and message in error


def test_a_file_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(tmp_path / "missing")]) == FAILED
    assert "No such file or directory" in capsys.readouterr().err
    assert main(["trace", str(tmp_path)]) == FAILED
    assert "Is a directory" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--summary"]])
def test_a_character_that_the_terminal_lacks(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shop.jsonl"
    tracer = ChannelTracer(path, values=False)
    tracer.emit(TraceEvent(1.0, 1, "sent", "SQ_PREPARE", 1, fields={"sql": "SELECT a FROM t\u00e4t"}))
    tracer.emit(TraceEvent(2.0, 1, "received", "SQ_EOT", 1))
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(data, "ascii", newline="\n"))
    assert main(["trace", str(path), *options]) == 0
    assert b"SELECT a FROM t?t" in data.getvalue()
