"""A shell in a pseudo-terminal, and what its screen shows. Never: what the shell should show."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pexpect  # type: ignore[import-untyped]
import pyte

ROOT: Final = Path(__file__).parents[3]
KEYS: Final = {
    "C-c": "\x03",
    "C-d": "\x04",
    "C-e": "\x05",
    "C-r": "\x12",
    "Tab": "\t",
    "Enter": "\r",
    "Up": "\x1b[A",
    "Esc": "\x1b",
}
"""What the keys send, by their names in dialogues."""
KEY: Final = re.compile(r"(\{[\w-]+\})")
_VARYING: Final = (
    (re.compile(r"\d+\.\d{3} s"), "T s"),
    (re.compile(r"\d\d:\d\d:\d\d"), "HH:MM:SS"),
    (re.compile(r"127.0.0.1:\d{5}"), "HOST:PORT"),
)


class _Screen(pyte.HistoryScreen):
    """A screen that answers what programs ask a terminal, such as the place of the cursor."""

    answer: Callable[[str], object]

    def write_process_input(self, data: str) -> None:
        self.answer(data)


class Terminal:
    """aioifx in a pseudo-terminal.

    Args:
        folder: the current one of the program.
        lines: of the screen.
    """

    def __init__(
        self,
        *arguments: str,
        folder: Path,
        environment: dict[str, str],
        lines: int = 60,
        columns: int = 100,
    ) -> None:
        outer = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        own = {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        self.process: Any = pexpect.spawn(
            sys.executable, ["-m", "aioifx", *arguments], cwd=str(folder), dimensions=(lines, columns),
            env=outer | own | environment, encoding="utf-8",
        )  # fmt: skip
        self._screen = _Screen(columns, lines, history=10_000, ratio=0.5)
        self._screen.answer = self.process.send
        self._stream: Any = pyte.Stream(self._screen)

    def send(self, text: str) -> None:
        """Type *text*; ``{C-c}`` and others of `KEYS` are keys."""
        for piece in KEY.split(text):
            self.process.send(KEYS.get(piece[1:-1], piece) if piece.startswith("{") else piece)

    def text(self) -> str:
        """All lines so far, those that have been scrolled away included, without blanks at their ends."""
        rows: list[Any] = [*self._screen.history.top]
        width = self._screen.columns
        lines = ["".join(row[column].data for column in range(width)).rstrip() for row in rows]
        text = "\n".join([*lines, *(line.rstrip() for line in self._screen.display)]).rstrip()
        for varying, shown in _VARYING:
            text = varying.sub(shown, text)
        return text

    def wait(self, found: Callable[[str], bool], seconds: float = 30) -> str:
        """Read until *found* is true of all lines so far, which are returned."""
        end = time.monotonic() + seconds
        while not found(text := self.text()):
            left = end - time.monotonic()
            if left <= 0 or not self._read(left):
                raise AssertionError(f"the screen stays:\n{text}")
        return text

    def _read(self, seconds: float) -> bool:
        """Read what comes next; False at the end of the program or of the time."""
        try:
            self._stream.feed(self.process.read_nonblocking(65_536, timeout=seconds))
        except (pexpect.EOF, pexpect.TIMEOUT):
            return False
        return True

    def end(self) -> int:
        """Read to the end of the program; returns its exit code."""
        while self._read(30):
            pass
        self.process.close()
        return int(
            self.process.exitstatus if self.process.exitstatus is not None else -self.process.signalstatus
        )
