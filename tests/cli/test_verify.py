"""aioifx verify: the table, the report, the exit code."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from aioifx.cli import verify as verb
from aioifx.cli.main import main
from aioifx.server import Server, running
from aioifx.verify import CHECKS
from tests.injection import eventually

ROOT = Path(__file__).parents[2]

_TWO = ["--only", "optofc-closes", "--only", "decimal-rounds-*"]


async def call(dsn: str, *arguments: str) -> int:
    return await asyncio.to_thread(main, ["verify", dsn, *arguments])


async def test_checks_that_hold_end_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    async with running() as dsn:
        assert await call(dsn, *_TWO) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("held       optofc-closes           With OPTOFC=1 the server closes a cursor")
    assert lines[1] == (
        "held       decimal-rounds-half-up  A value with more digits than its column is rounded half up."
    )
    assert ", database logged: 2 held, 0 refuted, 0 could not be tried, in " in lines[-1]


async def test_a_refuted_check_is_explained_and_reported(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    async with running(quirks=["no-optofc"]) as dsn:
        assert await call(dsn, *_TWO, "--only", "ansi-*", "--report", str(file)) == 1
    out = capsys.readouterr().out
    assert "REFUTED    optofc-closes" in out
    assert (
        "\nREFUTED\n"
        "  optofc-closes\n"
        "    With OPTOFC=1 the server closes a cursor with its last rows, and says so by SQ_CLOSE.\n"
        "    with OPTOFC=1 the reply with the last rows had no SQ_CLOSE\n"
        "\nCOULD NOT BE TRIED\n"
        "  ansi-needs-commit\n"
    ) in out
    assert out.endswith(f"\nThe report is in {file}.\n")
    outcomes = [check["outcome"] for check in json.loads(file.read_text("utf-8"))["checks"]]
    assert outcomes == ["refuted", "held", "could not be tried"]


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_sigterm_cancels_the_checks(server: Server) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "aioifx", "verify",
        cwd=ROOT, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    await eventually(lambda: any(session.statements for session in server.stats.sessions))
    process.terminate()
    assert (await process.communicate())[1] == b""
    assert process.returncode == 143


def test_the_list_needs_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {check.name}\n    " in out for check in CHECKS)
    assert main(["verify", "--list", "--only", "optofc-*"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "  optofc-closes"


def test_an_unknown_check_or_report_is_noticed_before_a_server_is_needed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["verify", "informix://me@nowhere:1/x?server=y", "--only", "nosuch"]) == 2
    assert "only: expected names of checks, got 'nosuch'" in capsys.readouterr().err
    file = tmp_path / "missing" / "report.json"
    assert main(["verify", "informix://me@nowhere:1/x?server=y", "--no-password", "--report", str(file)]) == 1


async def test_no_connection_is_3(unused_tcp_port: int, capsys: pytest.CaptureFixture[str]) -> None:
    dsn = f"informix://me@127.0.0.1:{unused_tcp_port}/x?server=y"
    assert await call(dsn, "--no-password", *_TWO) == 3
    assert capsys.readouterr().out == ""


async def test_a_narrow_terminal_cuts_facts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(verb, "terminal_width", lambda: 60)
    async with running(quirks=["no-optofc"]) as dsn:
        assert await call(dsn, *_TWO) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "REFUTED    optofc-closes           With OPTOFC=1 the serv..."
    assert max(map(len, lines[:-1])) == 60
