"""Lines of one result: to a file, to the terminal, or through a pager. Never: what the lines are made of.

Invariants:
1. At most a screenful of lines is kept: more of them start the pager, which gets them as fast as it reads.
2. A pager that ends needs no further lines; that is no error.
"""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Final, TextIO

from aioifx.cli.output import LinePrinter, StyledLine, is_terminal
from aioifx.cli.shell.state import Interrupts, words

_OPTIONS: Final = "FRSX"
"""What less does without LESS: end after one screen, show colours, cut long lines, leave the rows on the screen."""


def _pager() -> list[str]:
    """The program of PAGER, else less, and its arguments; empty if there is none."""
    program = words("PAGER", os.environ.get("PAGER", "less"))
    return program if program and shutil.which(program[0]) else []


class Pages:
    """Where the lines of a result go; see `pages`."""

    def __init__(self, out: TextIO | None, program: list[str]) -> None:
        self._printer = LinePrinter(out)
        self._program = program
        self._height = shutil.get_terminal_size().lines - 2
        self._kept: list[StyledLine] = []
        self._process: Process | None = None
        self.is_ended = False
        """Whether the user has ended the pager, and no further lines are shown."""
        self.waited = 0.0
        """Seconds in which the lines were printed, or the pager did not read."""

    @property
    def is_waiting(self) -> bool:
        """Whether the pager has not read yet what it got."""
        stdin = None if self._process is None else self._process.stdin
        return stdin is not None and stdin.transport.get_write_buffer_size() > 0

    async def write(self, lines: Iterable[StyledLine]) -> None:
        """Print the lines, or keep them until there are more than a screen."""
        began = time.monotonic()
        try:
            await self._write(lines)
        finally:
            self.waited += time.monotonic() - began

    async def _write(self, lines: Iterable[StyledLine]) -> None:
        if not self._program:
            self._printer.print(lines)
            return
        self._kept += lines
        if self._process is None:
            if len(self._kept) <= self._height:
                return
            environment = {"LESS": _OPTIONS, **os.environ}
            self._process = await asyncio.create_subprocess_exec(*self._program, stdin=PIPE, env=environment)
        await self._feed(self._process)

    async def _feed(self, process: Process) -> None:
        text = io.StringIO()
        LinePrinter(text, is_for_terminal=True).print(self._kept)
        self._kept.clear()
        assert process.stdin is not None
        try:
            process.stdin.write(text.getvalue().encode(sys.stdout.encoding, "replace"))
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            self.is_ended = True

    async def close(self) -> None:
        """Print what was kept, or wait until the user ends the pager."""
        if self._process is None:
            self._printer.print(self._kept)
            return
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ConnectionResetError):
            self._process.stdin.close()
            await self._process.stdin.wait_closed()
        await self._process.wait()


@asynccontextmanager
async def pages(out: TextIO | None, interrupts: Interrupts, *, is_paged: bool) -> AsyncGenerator[Pages]:
    """Where the lines of a result go in the block.

    Args:
        out: None for stdout.
        is_paged: use a pager, if stdout is a terminal and the lines are more than a screen.
    """
    found = Pages(out, _pager() if is_paged and out is None and is_terminal(sys.stdout) else [])
    try:
        yield found
    finally:
        with interrupts.ignored():  # the pager takes Ctrl-C
            await found.close()
