"""A server for the command line, and a function that runs command lines in this process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple, TypeAlias

import pytest

from aioifx.cli.main import main
from aioifx.server import Server, ServerOptions, serve
from tests.injection import eventually


class Outcome(NamedTuple):
    """What a command line returned and printed."""

    code: int
    out: str
    err: str


Run: TypeAlias = Callable[..., Awaitable[Outcome]]

SEED = """
CREATE TABLE item (id SERIAL, name VARCHAR(40), price DECIMAL(8,2), day DATE);
INSERT INTO item (name, price, day) VALUES ('pen', 1.50, MDY(1, 31, 2026));
INSERT INTO item (name, price, day) VALUES ('', NULL, NULL);
INSERT INTO item (name, price, day) VALUES ('lamp', 35, MDY(12, 31, 1999));
"""


async def no_sessions(server: Server) -> None:
    """Wait until the server has noticed that each command has closed its connection."""
    await eventually(lambda: not server.stats.sessions)


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    """A server with a table of three rows, which AIOIFX_DSN names."""
    async with serve(
        ServerOptions(databases=("demo:en_US.utf8",), seed=SEED, db_locale="en_US.utf8")
    ) as server:
        monkeypatch.setenv("AIOIFX_DSN", server.dsn)
        monkeypatch.setenv("AIOIFX_PASSWORD", "any")
        yield server
        await no_sessions(server)


@pytest.fixture
def run(server: Server, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line against the server."""

    async def run(*line: Any) -> Outcome:
        code = await asyncio.to_thread(main, [*map(str, line)])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run
