"""stdout and stderr of a verb: bytes, lines, styles of rich where it is installed. Never: what is printed."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, TextIO, TypeAlias

StyledLine: TypeAlias = Sequence[tuple[str, str]]
"""Pieces of a line, each with a style of rich; "" for none."""


def rich_module(name: str) -> Any:
    """A module of rich; None if it is not installed."""
    try:
        return import_module(f"rich.{name}")
    except ImportError:
        return None


def prepare_streams() -> None:
    """Open streams that the caller has closed, and let stdout replace characters that the terminal lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # until the process ends
    if (reconfigure := getattr(sys.stdout, "reconfigure", None)) is not None:
        reconfigure(errors="replace")


def is_terminal(file: TextIO | None) -> bool:
    """Whether *file* is a terminal; None is not."""
    return file is not None and not file.closed and file.isatty()


def terminal_width() -> int | None:
    """Columns of the terminal at stdout; None if stdout is not a terminal, and lines may be of any length."""
    return shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None


def write_bytes(data: bytes) -> None:
    """Write to stdout and pass it on."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def write_text(text: str) -> None:
    """Write to stdout in UTF-8 and pass it on; to a terminal without characters that control it."""
    write_bytes((harmless(text) if is_terminal(sys.stdout) else text).encode())


def harmless(text: str) -> str:
    """*text* with characters that control a terminal as JSON escapes them, except newlines and tabs."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else json.dumps(char)[1:-1] for char in text)


class LinePrinter:
    """Prints lines to a file, in style if it is a terminal and rich is installed.

    Args:
        file: None for stdout.
        is_for_terminal: whether a program shows the file in the terminal; None: by the file itself.
    """

    def __init__(self, file: TextIO | None = None, *, is_for_terminal: bool | None = None) -> None:
        self._file = sys.stdout if file is None else file
        styled = is_terminal(self._file) if is_for_terminal is None else is_for_terminal
        console = rich_module("console") if styled else None
        self._console: Any = console and console.Console(
            file=self._file, highlight=False, soft_wrap=True, force_terminal=is_for_terminal
        )
        self._text: Any = rich_module("text")

    def print(self, lines: Iterable[StyledLine]) -> None:
        """Print, and pass it on."""
        for line in lines:
            pieces = list(line) or [("", "")]
            while len(pieces) > 1 and not pieces[-1][0].rstrip(" "):
                pieces.pop()
            pieces[-1] = (pieces[-1][0].rstrip(" "), pieces[-1][1])
            if self._console is None:
                self._file.write("".join(text for text, _ in pieces) + "\n")
            else:
                self._console.print(self._text.Text.assemble(*pieces))
        self._file.flush()


def say(text: str) -> None:
    """Print a line about the work to stderr."""
    print(text, file=sys.stderr, flush=True)


def counted(rows: int) -> str:
    """The number of rows, for people."""
    return "1 row" if rows == 1 else f"{rows:,} rows"
