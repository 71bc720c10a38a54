"""Draws the diagrams in docs/explanation/diagrams: `python .build/diagrams.py`; tests/test_docs.py compares.

SVG files, legible in light and dark, with nothing to install and nothing to download. The dots of speed-*.svg are
drawn from the tables of docs/explanation/speed.md, so a plot cannot show what the page does not say.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

EXPLANATION: Final = Path(__file__).parents[1] / "docs" / "explanation"

_STYLE: Final = """
svg { --ink: #1f2933; --paper: #ffffff; --soft: #5f6b7a; --line: #8894a4; --a: #dfe6fb; --b: #d8f0e4;
  --c: #fbecc8; --d: #f9dcdc; --dot: #4f63c6; --dot2: #2f9e77; background: var(--paper); }
@media (prefers-color-scheme: dark) { svg { --ink: #e6e9ef; --paper: #1e2029; --soft: #a9b3c2; --line: #76839a;
  --a: #2b3566; --b: #1f4a3c; --c: #55441a; --d: #5a2a2e; --dot: #8c9cf0; --dot2: #5fcfa5; } }
text { font: 14px system-ui, sans-serif; fill: var(--ink); } .soft { fill: var(--soft); font-size: 12.5px; }
.code { font: 13px ui-monospace, monospace; } .bold { font-weight: 600; } .mid { text-anchor: middle; }
.end { text-anchor: end; } .over { paint-order: stroke; stroke: var(--paper); stroke-width: 5px; }
line, path { stroke: var(--line); stroke-width: 1.5; fill: none; } .dash { stroke-dasharray: 5 4; }
rect { stroke: var(--line); stroke-width: 1; } .head { fill: var(--line); stroke: none; }
.a { fill: var(--a); } .b { fill: var(--b); } .c { fill: var(--c); } .d { fill: var(--d); }
.dot { fill: var(--dot); } .dot2 { fill: var(--dot2); }
.range { stroke: var(--soft); } .one { stroke: var(--ink); } .faint { opacity: 0.5; }
"""
_HEAD: Final = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto-start-reverse"><path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>'
)


DOTS: Final = ("dot", "dot2")


class Drawing:
    """Shapes, and the SVG file that they make."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self._parts: list[str] = []
        self.width, self.height, self._title = width, height, title

    def text(self, x: float, y: float, words: str, style: str = "") -> None:
        self._parts.append(f'<text x="{x:g}" y="{y:g}" class="{style}">{escape(words)}</text>')

    def box(self, x: float, y: float, width: float, height: float, style: str, *lines: str) -> None:
        """A box with its name, and what is said of it below that."""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" class="{style}"/>'
        )
        top = y + height / 2 - (len(lines) - 1) * 9 + 5
        for number, line in enumerate(lines):
            self.text(x + width / 2, top + number * 18, line, "mid soft" if number else "mid bold")

    def line(self, points: Sequence[tuple[float, float]], style: str = "", *, arrow: bool = True) -> None:
        path = "M" + " L".join(f"{x:.4g} {y:.4g}" for x, y in points)
        end = ' marker-end="url(#head)"' if arrow else ""
        self._parts.append(f'<path d="{path}" class="{style}"{end}/>')

    def dot(self, x: float, y: float, style: str) -> None:
        self._parts.append(f'<circle cx="{x:.1f}" cy="{y:g}" r="5" class="{style}"/>')

    def __str__(self) -> str:
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
                f"<title>{escape(self._title)}</title><style>{_STYLE}</style>{_HEAD}",
                *self._parts,
                "</svg>\n",
            ]
        )


# --- boxes ---


def layers() -> Drawing:
    drawing = Drawing(720, 460, "Layers: a module imports from layers below its own")
    rows: list[tuple[str, list[tuple[str, str]]]] = [
        ("a", [("aioifx", "the public names")]),
        ("a", [("client", "connections, pools, statements"), ("server", "the embedded server")]),
        ("a", [("tracing", "what connections carry, as events")]),
        ("a", [("codecs", "values from bytes"), ("channel", "bytes from a socket")]),
        ("b", [("wire", "messages from bytes")]),
        ("b", [("rows", "what a row looks like")]),
        ("b", [("sqltypes", "type codes, columns, intervals")]),
        ("b", [("errors", "what can go wrong")]),
    ]
    for number, (style, boxes) in enumerate(rows):
        width = (600 - 12 * (len(boxes) - 1)) / len(boxes)
        for place, (name, what) in enumerate(boxes):
            pure = "b" if name == "codecs" else style
            drawing.box(20 + place * (width + 12), 12 + number * 52, width, 42, pure, name, what)
    drawing.line([(660, 20), (660, 402)])
    drawing.text(690, 216, "imports", "mid soft")
    drawing.box(20, 434, 14, 14, "b")
    drawing.text(42, 446, "no asyncio, socket, thread or SQLite", "soft")
    drawing.box(290, 434, 14, 14, "a")
    drawing.text(312, 446, "does I/O, or depends on what does", "soft")
    return drawing


def pool() -> Drawing:
    drawing = Drawing(780, 430, "The states of a pooled connection")
    drawing.box(20, 60, 140, 60, "c", "opening", "login, init hook")
    drawing.box(270, 60, 140, 60, "b", "idle", "statements kept")
    drawing.box(610, 60, 150, 60, "a", "in use", "by one task")
    drawing.box(570, 240, 140, 60, "c", "cleaning up", "rollback, reset hook")
    drawing.box(270, 350, 140, 60, "d", "closed")
    drawing.line([(160, 90), (270, 90)])
    drawing.text(215, 82, "ready", "mid soft")
    drawing.line([(410, 78), (610, 78)])
    drawing.text(510, 52, "acquire: a ping if it was", "mid soft")
    drawing.text(510, 68, "idle for long, setup hook", "mid soft")
    drawing.line([(610, 104), (410, 104)])
    drawing.text(510, 122, "release, nothing left open", "mid soft")
    drawing.line([(660, 120), (660, 240)])
    drawing.text(652, 180, "release, something", "end soft")
    drawing.text(652, 196, "left open", "end soft")
    drawing.line([(570, 270), (380, 270), (380, 120)])
    drawing.text(475, 262, "clean", "mid soft")
    drawing.line([(640, 300), (640, 372), (410, 372)])
    drawing.text(525, 364, "failed, or took too long", "mid soft")
    drawing.line([(735, 120), (735, 394), (410, 394)])
    drawing.text(560, 412, "lost, altered, expired or too old", "mid soft")
    drawing.line([(310, 120), (310, 350)])
    drawing.text(302, 206, "max_idle, max_lifetime,", "end soft")
    drawing.text(302, 222, "expire(), no reply to the ping", "end soft")
    drawing.line([(270, 380), (70, 380), (70, 120)])
    drawing.text(80, 320, "fewer than min_size,", "soft")
    drawing.text(80, 336, "or a task waits", "soft")
    drawing.line([(60, 60), (60, 25), (110, 25), (110, 60)])
    drawing.text(122, 30, "failed: again after a delay", "soft")
    return drawing


# --- sequences ---


def _sequence(title: str, names: Sequence[str], steps: Sequence[tuple[int, int, str, str]]) -> Drawing:
    """Names over their life lines, and messages from one to another, from top to bottom."""
    gap = 260
    drawing = Drawing(gap * (len(names) - 1) + 200, 90 + 52 * len(steps), title)
    places = [100 + gap * number for number in range(len(names))]
    for place, name in zip(places, names, strict=True):
        drawing.line([(place, 50), (place, drawing.height - 10)], "dash", arrow=False)
        drawing.box(place - 80, 12, 160, 38, "a", name)
    for number, (begin, end, words, below) in enumerate(steps):
        y = 96 + 52 * number
        if begin == end:
            drawing.box(places[begin] - 95, y - 22, 190, 40, "c", words, *([below] if below else []))
            continue
        middle = (places[begin] + places[end]) / 2
        drawing.line([(places[begin], y), (places[end], y)])
        drawing.text(middle, y - 7, words, "mid code")
        drawing.text(middle, y + 17, below, "mid soft")
    return drawing


def round_trip() -> Drawing:
    return _sequence(
        "The round trip of a query whose statement is cached",
        ["your task", "connection", "codecs, wire", "server"],
        [
            (0, 1, "fetch(sql, *args)", "waits for its turn"),
            (1, 1, "statement cache", "the text is prepared"),
            (1, 2, "values", "encoded as their types"),
            (2, 3, "ID CURNAME BIND OPEN ID NFETCH", "one write"),
            (3, 2, "TUPLE ... DONE EOT", "one reply"),
            (2, 1, "rows", "decoded in runs"),
            (1, 0, "list[Record]", "the next call has its turn"),
        ],
    )


def cancelled() -> Drawing:
    return _sequence(
        "A cancelled call",
        ["your task", "connection", "server", "next call"],
        [
            (0, 1, "fetch(sql)", ""),
            (1, 2, "OPEN NFETCH", "the statement runs"),
            (0, 1, "cancel()", "the task is cancelled"),
            (1, 0, "CancelledError", "at once"),
            (1, 2, "urgent byte 0x42", "interrupts the statement"),
            (3, 3, "waits", "for its turn"),
            (2, 1, "-213", "the reply is read to its end"),
            (1, 2, "CLOSE, RELEASE, RBWORK", "cleanup of what is open"),
            (2, 1, "EOT", "clean, within cancel_timeout"),
            (3, 2, "its own request", "as if nothing had happened"),
        ],
    )


# --- plots ---


class Speed(NamedTuple):
    """A multiple as a table has it: ``10.8 [8.7-13.1]``."""

    median: float
    low: float
    high: float


def _speed(cell: str) -> Speed | None:
    match = re.fullmatch(r"([\d.]+)(?: \[([\d.]+)-([\d.]+)\])?", cell)
    if match is None:
        return None
    median = float(match[1])
    return Speed(median, float(match[2] or median), float(match[3] or median))


def _tables(page: str) -> Iterator[list[list[str]]]:
    """The tables of a page of Markdown; the second line, which aligns, is left out."""
    for block in re.findall(r"(?:^\|.*\|\n)+", page, re.M):
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        yield [lines[0], *lines[2:]]


def _plot(title: str, rows: Sequence[tuple[str, list[tuple[str, Speed]]]], keys: Sequence[str]) -> Drawing:
    """Medians as dots on the range of their rounds, on a logarithmic scale; 1 is asyncpg.

    As wide as a phone, each name above its dots.
    """
    left, right, top = 10, 380, 16 + 22 * bool(keys)
    low, high = math.log2(0.1), math.log2(12)
    height = sum(26 + 16 * len(dots) for _, dots in rows)
    drawing = Drawing(390, top + height + 52, title)

    def place(value: float) -> float:
        return left + (right - left) * (math.log2(value) - low) / (high - low)

    for number, key in enumerate(keys):
        drawing.dot(left + 6 + number * 130, 16, DOTS[number])
        drawing.text(left + 18 + number * 130, 20, key, "soft")
    for step in (0.125, 0.25, 0.5, 1, 2, 4, 8):
        style = "one" if step == 1 else "dash faint"
        drawing.line([(place(step), top), (place(step), top + height)], style, arrow=False)
        drawing.text(place(step), top + height + 18, f"{step:g}", "mid soft")
    drawing.text((left + right) / 2, top + height + 40, "times asyncpg's speed, logarithmic", "mid soft")
    y = top + 14.0
    for name, dots in rows:
        drawing.text(left, y, name, "over")
        for number, (style, speed) in enumerate(dots):
            middle = y + 14 + 16 * number
            drawing.line([(place(speed.low), middle), (place(speed.high), middle)], "range", arrow=False)
            drawing.dot(place(speed.median), middle, style)
        y += 26 + 16 * len(dots)
    return drawing


def positions() -> Drawing:
    drawing = Drawing(760, 300, "Three transactions in the log, and the position after the COMMIT of B")
    spans = (("A", "a", 90, 660), ("B", "b", 170, 430), ("C", "c", 210, 360))
    for number, (name, style, begin, commit) in enumerate(spans):
        drawing.text(begin, 28 + 56 * number, f"BEGIN {name}", "soft")
        drawing.text(commit, 28 + 56 * number, f"COMMIT {name}", "end soft")
        drawing.box(begin, 36 + 56 * number, commit - begin, 22, style)
    drawing.dot(390, 103, "dot2")
    for x, name in ((90, "restart"), (390, "change"), (430, "commit")):
        drawing.line([(x, 60 if x == 90 else 116), (x, 236)], "dash", arrow=False)
        drawing.text(x, 254 if name != "change" else 272, name, "mid bold")
    drawing.line([(30, 222), (730, 222)])
    drawing.text(730, 244, "logical log, rising sequence numbers", "end soft")
    return drawing


def speed_fetch() -> Drawing:
    table = next(_tables((EXPLANATION / "speed.md").read_text("utf-8")))
    rows = []
    for name, _, narrow, _, wide in table[1:]:
        pair = [(DOTS[0], _speed(narrow)), (DOTS[1], _speed(wide))]
        rows.append((_plain(name), [(style, speed) for style, speed in pair if speed]))
    return _plot("Speed of reading 100,000 rows", rows, ["narrow rows", "wide rows"])


def speed_calls() -> Drawing:
    tables = list(_tables((EXPLANATION / "speed.md").read_text("utf-8")))
    rows = [(_plain(row[0]), [(DOTS[0], speed)]) for row in tables[1][1:] if (speed := _speed(row[2]))]
    return _plot("Speed of calls", rows, [])


def _plain(name: str) -> str:
    return name.replace("`", "")


DRAWINGS: Final = {
    "layers": layers,
    "pool": pool,
    "round-trip": round_trip,
    "cancelled-call": cancelled,
    "positions": positions,
    "speed-fetch": speed_fetch,
    "speed-calls": speed_calls,
}


def path_of(name: str) -> Path:
    return EXPLANATION / "diagrams" / f"{name}.svg"


if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        path_of(name).write_text(str(draw()), encoding="utf-8")
