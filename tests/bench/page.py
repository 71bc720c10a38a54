"""What a bench writes into a page of the documentation: text between two marks, and plots. Never: what is measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

DOCS: Final = Path(__file__).parents[2] / "docs"


def replaced(page: str, mark: str, text: str) -> str:
    """*page* with *text* between ``<!-- mark -->`` and ``<!-- /mark -->``.

    Raises:
        ValueError: the marks are not there, or not once.
    """
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise ValueError(f"the page does not hold {begin} and {end} once each, in this order")
    return f"{page[: page.index(begin)]}{begin}\n\n{text.strip()}\n\n{page[page.index(end) :]}"


def write_into(path: Path, texts: dict[str, str]) -> None:
    """Put each text between its marks in the page at *path*."""
    page = path.read_text(encoding="utf-8")
    for mark, text in texts.items():
        page = replaced(page, mark, text)
    path.write_text(page, encoding="utf-8")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown: the first column to the left, numbers to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


@contextmanager
def plotted(path: Path, count: int, height: float) -> Generator[Any, None, None]:
    """Give areas to plot in, one below the other, and write them as SVG: the same file for the same plot.

    The width is that of a phone's screen, on which the letters have their full size.

    Args:
        height: of each area with its legend, in inches.
    """
    matplotlib: Any = import_module("matplotlib")  # type checkers need not have it
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "aioifx", "svg.fonttype": "none", "font.size": 9})
    pyplot: Any = import_module("matplotlib.pyplot")
    figure, areas = pyplot.subplots(count, 1, figsize=(3.8, height * count), squeeze=False)
    yield areas[:, 0]
    for area in areas[:, 0]:
        area.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False)
    figure.tight_layout()
    figure.savefig(path, format="svg", metadata={"Date": None})
    pyplot.close(figure)


def machine() -> str:
    """What the numbers of a page were measured on."""
    cpu = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
            cpu = next(names, cpu)
    except OSError:
        pass
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{cpu}, {os.cpu_count()} cores, {platform.system()}, {python}"


def load() -> str:
    """How busy the machine is, which says what wall-clock times are worth; empty where the system does not tell."""
    try:
        return f", load average {os.getloadavg()[0]:.1f}"
    except (AttributeError, OSError):
        return ""


def size_name(size: int) -> str:
    """A fetch buffer's size as people write it."""
    if size == 32767:
        return "32,767 bytes"
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size:,} bytes"
