"""aioifx serve: the server of python -m aioifx.server."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

import aioifx
from aioifx.cli.main import main

ROOT = Path(__file__).parents[2]


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_it_serves_until_a_signal() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "aioifx", "serve", "--port", "0", "--database", "shop",
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    ready = (await process.stdout.readline()).decode()
    assert ready.startswith("aioifx.server is ready: informix://")
    async with aioifx.connect(ready.split()[-1]) as conn:
        assert await conn.fetchval("SELECT COUNT(*) FROM systables WHERE tabid = 1") == 1
    process.send_signal(signal.SIGINT)
    assert await process.communicate() == (b"", b"")
    assert process.returncode == 0


def test_a_server_that_cannot_start_says_why(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["serve", "--port", "0", "--directory", str(tmp_path / "a" / "missing"), "--read-only"]) == 1
    assert capsys.readouterr().err.startswith("aioifx.server cannot start: ")


def test_a_wrong_option_ends_with_the_usage_of_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--port", "70000"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(
        "usage: aioifx serve [OPTION ...]\naioifx serve: error: --port: "
    )
