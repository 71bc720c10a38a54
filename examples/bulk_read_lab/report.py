"""The figures of a lab as a table for people and as plots, put into a page of the documentation."""

from __future__ import annotations

import io
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from examples.bulk_read_lab.run import Result

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

PLOTS = {
    "rows_per_second": ("Rows per second", "more is better"),
    "all_peak_mib": ("Peak memory in MiB, all processes of the client", "less is better"),
    "cpu_microseconds_per_row": (
        "Processor time in µs for each row, all processes of the client",
        "less is better",
    ),
}


def table(summary: Result) -> str:
    """Markdown: medians, with the least and the greatest in brackets."""
    lines = [
        "| rows | strategy | rows/s | client CPU µs/row | client CPU s | server CPU s | peak MiB | with children MiB |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    forms = {
        "rows_per_second": ",.0f", "cpu_microseconds_per_row": ".2f", "cpu_seconds": ".2f",
        "server_cpu_seconds": ".2f", "peak_mib": ".0f", "all_peak_mib": ".0f",
    }  # fmt: skip
    for cell in summary["cells"]:
        figures = " | ".join(_figure(cell[name], form) for name, form in forms.items())
        failed = (
            f" ({cell['failed']} of {cell['runs'] + cell['failed']} runs failed)" if cell["failed"] else ""
        )
        lines.append(f"| {cell['table_rows']:,} | {cell['strategy']}{failed} | {figures} |")
    return "\n".join(lines)


def _figure(spread: Result | None, form: str) -> str:
    if spread is None:
        return "-"
    middle, low, high = (format(spread[name], form) for name in ("median", "low", "high"))
    return middle + (f" [{low}-{high}]" if low != high else "")


def where(summary: Result) -> str:
    """One sentence about machine and limits."""
    env, limits = summary["environment"], summary["limits"]
    server = "the embedded server" if summary["embedded_server"] else "a server of the user's"
    most = max(cell["runs"] + cell["failed"] for cell in summary["cells"])
    return (
        f"{env['implementation']} {env['python']} on {env['system']} {env['machine']}, {env['cpus']} processors,"
        f" against {server}; {env['speedups']} decoder; {most} runs each, medians, least and greatest in brackets."
        f" {limits['connections']} connections and {limits['partitions']} partitions (pool),"
        f" {limits['processes']} processes, pages of {limits['page']:,} rows, blocks of {limits['fetch_size']:,} bytes."
    )


def write(summary: Result, page: Path) -> list[Path]:
    """Put table and plots between the two marks in *page*; plots go into a directory of its name.

    Returns:  what was written.
    Raises:   ValueError: the page lacks the marks.
    """
    text = page.read_text("utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"{page.name} needs the lines {BEGIN} and {END}")
    directory = page.with_suffix("")
    directory.mkdir(exist_ok=True)
    pictures = []
    for name, (title, hint) in PLOTS.items():
        path = directory / f"{name.replace('_', '-')}.svg"
        path.write_text(plot(summary, name, f"{title} ({hint})"), encoding="utf-8")
        pictures.append((title, path))
    links = "\n\n".join(f"![{title}]({directory.name}/{path.name})" for title, path in pictures)
    figures = f"{BEGIN}\n\n{where(summary)}\n\n{table(summary)}\n\n{links}\n\n{END}"
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    page.write_text(before + figures + after, encoding="utf-8")
    return [page, *(path for _, path in pictures)]


def plot(summary: Result, figure: str, title: str) -> str:
    """Groups of bars as SVG, one group for each size; whiskers from the least to the greatest."""
    # Imported here, and not by name, because only plots need it.
    matplotlib: Any = import_module("matplotlib")
    figures: Any = import_module("matplotlib.figure")
    spreads = {(cell["strategy"], cell["table_rows"]): cell[figure] for cell in summary["cells"]}
    strategies = list(dict.fromkeys(strategy for strategy, _ in spreads))
    sizes = list(dict.fromkeys(size for _, size in spreads))
    none = {"median": 0.0, "low": 0.0, "high": 0.0}
    width = 0.8 / len(strategies)
    # The salt keeps names in the file the same from run to run.
    with matplotlib.rc_context({"svg.hashsalt": figure, "font.size": 10, "svg.fonttype": "none"}):
        drawing = figures.Figure(figsize=(8, 3.6), layout="constrained")
        axes = drawing.subplots()
        for place, strategy in enumerate(strategies):
            found = [spreads[strategy, size] or none for size in sizes]
            middles = [number + (place - (len(strategies) - 1) / 2) * width for number in range(len(sizes))]
            heights = [each["median"] for each in found]
            down = [each["median"] - each["low"] for each in found]
            up = [each["high"] - each["median"] for each in found]
            axes.bar(middles, heights, width * 0.92, yerr=[down, up], capsize=2, label=strategy)
        axes.set_xticks(range(len(sizes)), [f"{size:,} rows" for size in sizes])
        axes.yaxis.set_major_formatter("{x:,g}")
        axes.set_title(title)
        axes.grid(axis="y", alpha=0.3)
        axes.set_axisbelow(True)
        axes.legend(ncols=len(strategies), loc="upper center", bbox_to_anchor=(0.5, -0.1), frameon=False)
        image = io.StringIO()
        drawing.savefig(image, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(r"[ \t]+$", "", image.getvalue(), flags=re.M)
