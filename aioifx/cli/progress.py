"""How far a load or unload is, on stderr: a bar of rich, or a line of text. Never: what moves it.

Without a terminal there is none, so that logs stay readable.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from aioifx.cli.output import is_terminal, rich_module
from aioifx.errors import visible

Update: TypeAlias = Callable[[int, int], None]
"""Called with the number of rows, and of what the total counts, so far."""

_INTERVAL: Final = 0.1
"""Seconds between two updates of the terminal."""


@contextmanager
def progress(label: str, total: int | None = None, *, is_quiet: bool = False) -> Generator[Update]:
    """Show how far the work in the block is. It disappears at the end.

    Args:
        total: of bytes or of rows; None: unknown.
    """
    label = visible(label)
    if is_quiet or not is_terminal(sys.stderr):
        yield lambda rows, done: None
    elif (bars := rich_module("progress")) is None:
        with _shown_as_text(label, total) as update:
            yield update
    else:
        with _shown_by_rich(bars, label, total) as update:
            yield update


@contextmanager
def _shown_by_rich(bars: Any, label: str, total: int | None) -> Generator[Update]:
    console = rich_module("console").Console(stderr=True)
    columns = [bars.TextColumn("{task.description}", markup=False), bars.BarColumn()]
    if total is not None:
        columns.append(bars.TaskProgressColumn())
    columns += [bars.TextColumn("{task.fields[rows]}"), bars.TimeElapsedColumn()]
    if total is not None:
        columns.append(bars.TimeRemainingColumn())
    with bars.Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        task = bar.add_task(label, total=total, rows="")
        began = time.monotonic()

        def show(rows: int, done: int) -> None:
            bar.update(task, completed=done, rows=_rows(rows, began), refresh=True)

        yield _seldom(show)


@contextmanager
def _shown_as_text(label: str, total: int | None) -> Generator[Update]:
    began, line = time.monotonic(), StatusLine()

    def show(rows: int, done: int) -> None:
        part = f" {100 * min(done, total) // total:3} %" if total else ""
        line.show(f"{label}{part}  {_rows(rows, began)}")

    try:
        yield _seldom(show)
    finally:
        line.clear()


class StatusLine:
    """A line on stderr that is written again and again; whoever prints anything else clears it first."""

    def __init__(self) -> None:
        self._longest = 0

    def show(self, text: str) -> None:
        """Write *text* in place of what the line shows."""
        text = text[: _width() - 1]  # a second line could not be erased
        self._longest = max(self._longest, len(text))
        print(f"\r{text:<{self._longest}}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Erase the line."""
        if self._longest:
            print(f"\r{'':{self._longest}}\r", end="", file=sys.stderr, flush=True)
            self._longest = 0


def _width() -> int:
    """Columns of the terminal that stderr is."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _seldom(show: Update) -> Update:
    """*show*, called often enough for people."""
    last = -_INTERVAL

    def update(rows: int, done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _INTERVAL:
            last = now
            show(rows, done)

    return update


def _rows(rows: int, began: float) -> str:
    seconds = time.monotonic() - began
    rate = f", {rows / seconds:,.0f} a second" if seconds > 1 else ""
    return f"{rows:,} rows{rate}"
