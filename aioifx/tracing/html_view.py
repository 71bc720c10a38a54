"""A trace as one page of HTML that needs nothing else. Never: a network, a script."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Final

from aioifx.errors import visible
from aioifx.tracing.conversation import RoundTrip, Step, Summary, steps
from aioifx.tracing.events import TraceEvent
from aioifx.tracing.text_view import (
    describe,
    details_of,
    groups_of,
    milliseconds,
    offset,
    summary_facts,
    waited_for,
)

MAX_STEPS: Final = 5000
"""Most round trips of a page; browsers are slow with more. The summary counts all."""

_STYLE: Final = """
:root { color-scheme: light dark; --back: #ffffff; --card: #f6f7f9; --ink: #1b2430; --soft: #5c6877; --line: #d9dee5;
  --sent: #2451b3; --received: #1c7a4f; --error: #b3261e; --bar: #c3d0f2; }
@media (prefers-color-scheme: dark) { :root { --back: #14181d; --card: #1d232a; --ink: #e4e8ee; --soft: #9aa6b4;
  --line: #353e49; --sent: #8fb0ff; --received: #6fd3a3; --error: #ff8a80; --bar: #34477c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 76rem; background: var(--back); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin-top: 1.6rem; }
a { color: var(--sent); }
code, .code { font: 13px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: .6rem 1.2rem; margin: 0; }
dl div { border-left: 3px solid var(--line); padding-left: .6rem; }
dt { color: var(--soft); font-size: .85rem; } dd { margin: 0; font-weight: 600; }
ol { padding-left: 1.5rem; } li { margin: .2rem 0; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .3rem 0; background: var(--card); }
summary { cursor: pointer; padding: .35rem .6rem; display: grid; gap: 0 .8rem; align-items: baseline;
  grid-template-columns: 6rem 3.2rem minmax(0, 1fr) 6rem; }
summary:hover { background: var(--line); }
.time, .wait { color: var(--soft); font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
.number { color: var(--soft); white-space: nowrap; }
.what { min-width: 0; }
.sql { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; }
details[open] .sql { display: block; }
.names { color: var(--soft); font-size: .8rem; overflow-wrap: anywhere; }
.bar { grid-column: 1 / -1; height: 3px; margin-top: .2rem; border-radius: 2px; background: var(--bar);
  width: max(2px, calc(100% * var(--wait) / var(--longest))); }
.error > summary .names, .failed { color: var(--error); }
.error { border-left: 3px solid var(--error); }
table { width: 100%; table-layout: fixed; border-collapse: collapse; border-top: 1px solid var(--line);
  background: var(--back); border-radius: 0 0 6px 6px; }
col.name { width: 13rem; } col.sizes { width: 6rem; }
td { padding: .2rem .6rem; vertical-align: top; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
.kind { white-space: nowrap; font-weight: 600; font-size: .85rem; }
.sent .kind { color: var(--sent); } .received .kind { color: var(--received); } .urgent .kind { color: var(--error); }
.size { text-align: right; color: var(--soft); white-space: nowrap; font-variant-numeric: tabular-nums; }
.event { margin: .3rem 0; padding: .3rem .6rem; border-left: 3px solid var(--line); color: var(--soft);
  overflow-wrap: anywhere; }
.note { color: var(--soft); }
@media (max-width: 36rem) {
  body { padding: .6rem; }
  summary { grid-template-columns: auto 1fr auto; }
  .what { grid-column: 1 / -1; grid-row: 2; }
  .number { text-align: left; } .time { text-align: left; }
  table, tbody { display: block; }
  tr { display: flex; flex-wrap: wrap; border-bottom: 1px solid var(--line); padding: .2rem 0; }
  tr:last-child { border-bottom: 0; }
  td { border: 0; padding: .05rem .6rem; } .size { margin-left: auto; } .fields { flex-basis: 100%; order: 1; }
  .fields:empty { display: none; }
}
@media print { details { break-inside: avoid; } }
"""


_TABLE: Final = '<table><colgroup><col class="name"><col><col class="sizes"></colgroup>'


def write_page(events: Iterable[TraceEvent], summary: Summary, path: Path, *, title: str) -> None:
    """Write the page; adds each step to *summary*.

    Raises:
        InterfaceError: the events cannot be read; nothing is written.
        OSError: the page cannot be written, or not for its owner alone.
    """
    shown: list[Step] = []
    for step in steps(events):
        summary.add(step)
        if len(shown) < MAX_STEPS:
            shown.append(step)
    shown.sort(key=lambda step: step.begin if isinstance(step, RoundTrip) else step.time)
    page = "\n".join(_page(title, summary, shown))
    with open(path, "w", encoding="utf-8", errors="backslashreplace", opener=_open_private) as file:
        file.write(f"{page}\n")


def _open_private(path: str, flags: int) -> int:
    """Open a file for its owner alone, as that of a trace is; also one that exists."""
    descriptor = os.open(path, flags, 0o600)
    try:
        if hasattr(os, "fchmod") and stat.S_ISREG(os.fstat(descriptor).st_mode):  # not /dev/stdout
            os.fchmod(descriptor, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _page(title: str, summary: Summary, shown: list[Step]) -> Iterator[str]:
    longest = max((trip.wait or 0.0 for trip in summary.slowest), default=0.0) or 1.0
    name = escape(visible(title))
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""
    yield f"<title>Trace {name}</title>"
    yield f"<style>{_STYLE}:root {{ --longest: {longest:.6f}; }}</style></head><body>"
    yield f"<h1>Trace {name}</h1>"
    yield "<dl>"
    yield from (
        f"<div><dt>{escape(fact)}</dt><dd>{escape(value)}</dd></div>"
        for fact, value in summary_facts(summary)
    )
    yield "</dl>"
    if summary.slowest:
        yield "<h2>Slowest round trips</h2><ol>"
        for trip in summary.slowest:
            yield f'<li><a href="#{_anchor(trip)}">{milliseconds(trip.wait or 0.0)}</a> {_what(trip)}</li>'
        yield "</ol>"
    yield "<h2>Conversation</h2>"
    yield '<p class="note">Time since the begin, connection and round trip, statement, and the wait for the server.</p>'
    for step in shown:
        yield _step(step, summary.begin or 0.0)
    if len(shown) == MAX_STEPS:
        yield f'<p class="note">The page ends after {MAX_STEPS:,} entries. The summary counts all.</p>'
    yield "</body></html>"


def _anchor(trip: RoundTrip) -> str:
    return f"c{trip.connection}-{trip.number}"


def _what(trip: RoundTrip) -> str:
    return f"<code>{_text(trip.sql or ' '.join(trip.names))}</code>"


def _text(text: str) -> str:
    return escape(visible(" ".join(text.split())))


def _step(step: Step, origin: float) -> str:
    if isinstance(step, TraceEvent):
        failed = " failed" if step.kind == "failed" else ""
        what = escape(f"connection {step.connection} {describe(step)}")
        return f'<p class="event{failed}">{offset(step.time, origin).strip()} · {what}</p>'
    rows = "".join(_group_rows(step))
    sql = f'<div class="sql code">{_text(step.sql)}</div>' if step.sql else ""
    return (
        f'<details id="{_anchor(step)}"{" class=error" if step.has_error else ""}><summary>'
        f'<span class="time">{offset(step.begin, origin).strip()}</span>'
        f'<span class="number">{step.connection}.{step.number}</span>'
        f'<div class="what">{sql}<div class="names">{_text(" ".join(step.names))}</div></div>'
        f'<span class="wait">{waited_for(step).removeprefix("waited ")}</span>'
        f'<span class="bar" style="--wait:{step.wait or 0.0:.6f}"></span></summary>'
        f"{_TABLE}<tbody>{rows}</tbody></table></details>"
    )


def _group_rows(trip: RoundTrip) -> Iterator[str]:
    for _, count, group in groups_of(trip):
        if count > 1:
            yield f'<tr><td colspan="3" class="note">{count} times, the first one:</td></tr>'
        for event in group:
            name = event.name or "urgent byte"
            times = f" &times; {event.count:,}" if event.count > 1 else ""
            yield (
                f'<tr class="{event.kind}"><td class="kind">{"←" if event.kind == "received" else "→"} '
                f'{_text(name)}{times}</td><td class="fields code">{escape(details_of(event))}</td>'
                f'<td class="size">{event.size:,} B</td></tr>'
            )
