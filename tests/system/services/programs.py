"""An example as a program of its own: what it prints, and how it ends at a signal."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

ROOT = Path(__file__).parents[3]


class Program:
    """One that runs. Whatever it prints is kept in `output`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.output = ""

    async def prints(self, pattern: str) -> re.Match[str]:
        """The first match of *pattern* in its output, as soon as it is there."""
        async with asyncio.timeout(40):
            while not (match := re.search(pattern, self.output)):
                assert await self._read_line(), f"it has ended without {pattern!r}:\n{self.output}"
        return match

    async def _read_line(self) -> bool:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        self.output += line.decode()
        return bool(line)

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(number)

    async def exit_code(self) -> int:
        """How it has ended, when it has."""
        async with asyncio.timeout(40):
            while await self._read_line():
                pass
            return await self._process.wait()


@asynccontextmanager
async def program(example: str, *arguments: str, **settings: str) -> AsyncIterator[Program]:
    """Run examples/*example*, with warnings as errors, and *settings* in its environment."""
    environment = {name: value for name, value in os.environ.items() if name != "AIOIFX_DSN"}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-u", f"examples/{example}", *arguments),
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT), **settings},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Program(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()
