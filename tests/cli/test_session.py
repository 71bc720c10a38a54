"""A connection for a verb."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from aioifx.cli import address
from aioifx.cli.address import add_connection
from aioifx.cli.main import main
from aioifx.cli.parsing import Parser
from aioifx.cli.session import run_connected
from aioifx.errors import AuthenticationError
from aioifx.server import Server, ServerOptions, serve
from tests.cli.conftest import no_sessions
from tests.injection import eventually

ROOT = Path(__file__).parents[2]


def arguments() -> Namespace:
    parser = Parser()
    add_connection(parser)
    return parser.parse_args([])


async def test_the_connection_has_a_name_and_is_closed(server: Server) -> None:
    found: list[Any] = []

    async def use(conn: Any) -> int:
        found.append(conn)
        assert await conn.fetchval("SELECT COUNT(*) FROM item") == 3
        return 7

    assert await asyncio.to_thread(run_connected, arguments(), use) == 7
    assert found[0].is_closed()
    await no_sessions(server)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_sigterm_ends_the_statement_and_closes_the_connection(server: Server) -> None:
    sql = "SELECT COUNT(*) FROM " + ", ".join(f"item i{number}" for number in range(24))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "aioifx", "query", sql,
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    await eventually(lambda: any(session.running and session.statements for session in server.stats.sessions))
    process.terminate()
    assert await process.communicate() == (b"", b"")
    assert process.returncode == 143
    assert server.stats.interrupts == 1
    await no_sessions(server)


async def test_an_error_closes_the_connection(server: Server) -> None:
    async def use(conn: Any) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(run_connected, arguments(), use)
    await no_sessions(server)


@pytest.mark.parametrize(
    "verb", [["query", "SELECT 1 FROM systables WHERE tabid = 1"], ["ping", "--count=1"], ["doctor"]]
)
async def test_a_password_is_asked_for_when_the_server_wants_one(
    verb: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def ask(prompt: str) -> str:
        asked.append(prompt)
        return "secret"

    monkeypatch.setattr(address, "getpass", ask)
    monkeypatch.setattr(address, "_has_terminal", lambda: True)
    monkeypatch.delenv("AIOIFX_PASSWORD", raising=False)
    for password in (None, "secret"):
        async with serve(ServerOptions(user=password and "app", password=password)) as server:
            monkeypatch.setenv("AIOIFX_DSN", f"informix://app@127.0.0.1:{server.port}/demo?server=x")
            assert await asyncio.to_thread(main, verb) == 0
            assert asked == ([] if password is None else [f"Password for app at 127.0.0.1:{server.port}: "])
            await no_sessions(server)
    assert "secret" not in "".join(capsys.readouterr())


async def test_no_password_is_asked_for_after_the_connection_was_opened(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIOIFX_PASSWORD")
    monkeypatch.setattr(address, "_has_terminal", lambda: True)

    async def use(conn: Any) -> int:
        raise AuthenticationError("of another server")

    with pytest.raises(AuthenticationError):
        await asyncio.to_thread(run_connected, arguments(), use)
