"""The shell's connection, and Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from aioifx.cli.shell.state import LOST, Interrupts, Shell, words
from aioifx.errors import ConnectError, DatabaseError, InterfaceError
from aioifx.server import Server
from tests.injection import eventually


async def test_a_connection_that_fails_leaves_the_one_before(shell: Shell) -> None:
    before = shell.connection
    with pytest.raises((ConnectError, DatabaseError)):
        await shell.connect("nowhere")
    assert shell.connection is before and shell.database == "demo"


async def test_a_lost_connection_is_opened_again(server: Server, shell: Shell) -> None:
    server.faults.drop_connections()
    await eventually(lambda: not shell.is_connected)
    with pytest.raises(InterfaceError) as error:
        _ = shell.connection
    assert str(error.value) == LOST
    await shell.connect(shell.database)
    assert await shell.connection.fetchval("SELECT COUNT(*) FROM item") == 3


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
async def test_an_interrupt_ends_what_runs_and_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    interrupts = Interrupts()
    with interrupts.caught():
        os.kill(os.getpid(), signal.SIGINT)  # nothing runs
        await asyncio.sleep(0)

        async def interrupted() -> None:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()

        await interrupts.run(interrupted())
        assert capsys.readouterr().err == "\ninterrupted\n"

        async def ignoring() -> None:
            with interrupts.ignored():
                os.kill(os.getpid(), signal.SIGINT)
                await asyncio.sleep(0)
                await asyncio.sleep(0)

        await interrupts.run(ignoring())
    assert capsys.readouterr().err == ""


async def test_the_shell_itself_can_be_cancelled() -> None:
    task = asyncio.create_task(Interrupts().run(asyncio.sleep(60)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_words_of_an_option() -> None:
    assert words("PAGER", "less -S 'a b'") == ["less", "-S", "a b"]
    with pytest.raises(InterfaceError, match=r"^PAGER: no closing quotation: \"less '\"$"):
        words("PAGER", "less '")
