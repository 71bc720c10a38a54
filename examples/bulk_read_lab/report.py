"""The figures of a lab: a table in Markdown, plots if matplotlib is installed, and every run as JSON."""

from __future__ import annotations

import json
import os
import platform
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import aioifx
from examples.bulk_read_lab.job import Job
from examples.bulk_read_lab.lab import Run

COLUMNS = {
    "rows_per_second": ("rows/s", ",.0f"),
    "cpu_microseconds_per_row": ("client CPU µs/row", ".2f"),
    "cpu_seconds": ("client CPU s", ".2f"),
    "server_cpu_seconds": ("server CPU s", ".2f"),
    "peak_mib": ("peak MiB", ".0f"),
    "all_peak_mib": ("with children MiB", ".0f"),
}
PLOTS = {
    "rows_per_second": "Rows per second",
    "all_peak_mib": "Peak memory in MiB, all processes of the client",
    "cpu_microseconds_per_row": "Processor time in µs for each row, all processes of the client",
}


def spread(runs: Sequence[Run], figure: str) -> tuple[float, float, float] | None:
    """Least, median and greatest *figure* of the *runs* that saw every row; None if none did or it was not measured."""
    values = [getattr(run, figure) for run in runs if run.error is None]
    known = [value for value in values if value is not None]
    return (min(known), median(known), max(known)) if known else None


def grouped(runs: Sequence[Run]) -> dict[tuple[int, str], list[Run]]:
    """The runs of each size and strategy."""
    groups: dict[tuple[int, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.table_rows, run.strategy), []).append(run)
    return groups


def table(runs: Sequence[Run]) -> str:
    """Markdown: medians, with the least and the greatest in brackets."""

    def cell(group: Sequence[Run], figure: str, form: str) -> str:
        if (found := spread(group, figure)) is None:
            return "-"
        low, middle, high = (format(value, form) for value in found)
        return middle if low == high else f"{middle} [{low}-{high}]"

    titles = " | ".join(title for title, _ in COLUMNS.values())
    lines = [f"| rows | strategy | {titles} |", f"| ---: | --- |{' ---: |' * len(COLUMNS)}"]
    for (size, strategy), group in grouped(runs).items():
        failed = sum(run.error is not None for run in group)
        note = f" ({failed} of {len(group)} runs failed)" if failed else ""
        cells = " | ".join(cell(group, figure, form) for figure, (_, form) in COLUMNS.items())
        lines.append(f"| {size:,} | {strategy}{note} | {cells} |")
    return "\n".join(lines)


def where(job: Job, server: str, times: int) -> str:
    """A sentence about machine and limits."""
    return (
        f"{platform.python_implementation()} {platform.python_version()} on {platform.system()} {platform.machine()},"
        f" {os.cpu_count()} processors, against {server}; {aioifx.speedups} decoder; {times} runs each, medians, least"
        f" and greatest in brackets. {job.connections} connections and {job.partitions} partitions (pool),"
        f" {job.processes} processes, pages of {job.page:,} rows, blocks of {job.fetch_size:,} bytes."
    )


def write(runs: Sequence[Run], heading: str, directory: Path) -> list[Path]:
    """Write `runs.json`, the plots and `report.md` into *directory*, and return their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    results, page = directory / "runs.json", directory / "report.md"
    results.write_text(json.dumps([asdict(run) for run in runs], indent=2) + "\n", encoding="utf-8")
    plots: dict[str, Path] = {}
    with suppress(ImportError):  # no matplotlib
        for figure, title in PLOTS.items():
            plots[title] = plot(runs, figure, title, directory)
    pictures = [f"![{title}]({path.name})" for title, path in plots.items()]
    page.write_text("\n\n".join([heading, table(runs), *pictures]) + "\n", encoding="utf-8")
    return [results, *plots.values(), page]


def plot(runs: Sequence[Run], figure: str, title: str, directory: Path) -> Path:
    """Groups of bars, one group for each size; whiskers from the least to the greatest.

    Raises:
        ImportError: matplotlib is not installed.
    """
    drawing: Any = import_module("matplotlib.figure").Figure(figsize=(3.8, 4), layout="constrained")
    axes = drawing.subplots()
    groups = grouped(runs)
    sizes = sorted({size for size, _ in groups})
    strategies = list(dict.fromkeys(strategy for _, strategy in groups))
    width = 0.8 / len(strategies)
    for place, strategy in enumerate(strategies, start=1):
        bars = [spread(groups[size, strategy], figure) or (0.0, 0.0, 0.0) for size in sizes]
        places = [number + place * width - (0.8 + width) / 2 for number in range(len(sizes))]
        whiskers = [[middle - low for low, middle, _ in bars], [high - middle for _, middle, high in bars]]
        axes.bar(places, [bar[1] for bar in bars], width * 0.92, yerr=whiskers, capsize=2, label=strategy)
    axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    axes.set_xlabel("rows")
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.set_title(textwrap.fill(title, 40))
    axes.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False)
    path = directory / f"{figure.replace('_', '-')}.svg"
    drawing.savefig(path)
    return path
