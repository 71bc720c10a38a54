"""A script from stdin, run as the shell runs what is typed. Never: a terminal's keys."""

from __future__ import annotations

from aioifx.cli.address import Destination
from aioifx.cli.shell.commands import run_text
from aioifx.cli.shell.state import Quit, Shell


async def run_script(destination: Destination, text: str) -> int:
    """Run the statements and commands of a script, up to the first error; returns the exit code.

    Raises:
        Error: of a statement or command, with a note of its place.
    """
    shell = Shell(destination, is_paged=False)
    try:
        await shell.connect()
        await run_text(shell, text, "stdin")
    except Quit:
        pass
    finally:
        await shell.end()
    return 0
