"""A shell without a terminal, connected to a server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeAlias

import pytest

from aioifx.cli.address import Destination
from aioifx.cli.shell.commands import run_text
from aioifx.cli.shell.state import Shell
from aioifx.server import Server

Type: TypeAlias = Callable[[str], Awaitable[tuple[str, str]]]


@pytest.fixture
async def shell(server: Server) -> AsyncIterator[Shell]:
    """A connected shell."""
    shell = Shell(Destination(server.dsn, {}, False))
    await shell.connect()
    yield shell
    await shell.end()


@pytest.fixture
def type_in(shell: Shell, capsys: pytest.CaptureFixture[str]) -> Type:
    """Run statements and commands; returns what went to stdout and to stderr."""

    async def run(text: str) -> tuple[str, str]:
        capsys.readouterr()
        await run_text(shell, text, "the test")
        found = capsys.readouterr()
        return found.out, found.err

    return run
