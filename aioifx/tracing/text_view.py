"""A trace as text for people: round trips, messages, the summary. Never: a file, a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Final, cast

from aioifx.errors import visible
from aioifx.tracing.conversation import RoundTrip, Step, Summary, steps
from aioifx.tracing.events import TraceEvent

_ARROWS: Final = {"sent": "->", "received": "<-", "urgent": "!!"}
_WORDS: Final = {
    "open": "opened",
    "failed": "could not be opened",
    "closed": "closed",
    "urgent": "urgent byte",
}
_FEW: Final = 3
"""Equal groups in a row that are shown one by one."""


def conversation_lines(
    events: Iterable[TraceEvent], summary: Summary, *, width: int | None = None
) -> Iterator[str]:
    """The conversation, line by line; adds each step to *summary*.

    Args:
        width: longer lines are cut; None: none is.
    """
    for step in steps(events):
        summary.add(step)
        assert summary.begin is not None
        for line in _lines_of(step, summary.begin):
            yield line if width is None or len(line) <= width else f"{line[: width - 1]}…"


def _lines_of(step: Step, origin: float) -> Iterator[str]:
    if isinstance(step, TraceEvent):
        yield f"{offset(step.time, origin)}  connection {step.connection} {describe(step)}"
        return
    waited = waited_for(step)
    if step.wait is not None and milliseconds(step.duration) != milliseconds(step.wait):
        waited += f" of {milliseconds(step.duration)}"
    about = f": {one_line(step.sql)}" if step.sql else ""
    yield f"{offset(step.begin, origin)}  connection {step.connection}, round trip {step.number}, {waited}{about}"
    for kind, count, group in groups_of(step):
        shown = "; ".join(describe(event) for event in group if event.name != "SQ_EOT") or "SQ_EOT"
        times = f"{count} times: " if count > 1 else ""
        yield f"  {_ARROWS[kind]} {times}{shown}"


def groups_of(trip: RoundTrip) -> Iterator[tuple[str, int, list[TraceEvent]]]:
    """The groups of messages of a round trip: kind, how often it comes, and the messages of the first one.

    More than `_FEW` groups in a row that have the same messages are one item.
    """
    groups = [
        list(group) for _, group in groupby(trip.events, key=lambda event: (event.kind, event.exchange))
    ]
    for (kind, *_), alike in groupby(
        groups, key=lambda group: (group[0].kind, [event.name for event in group])
    ):
        same = list(alike)
        if len(same) > _FEW:
            yield kind, len(same), same[0]
        else:
            for group in same:
                yield kind, 1, group


def waited_for(trip: RoundTrip) -> str:
    """How long the client waited for the reply."""
    if trip.wait is not None:
        return f"waited {milliseconds(trip.wait)}"
    return "no reply" if trip.last_request >= 0 else "unsolicited"


def describe(event: TraceEvent) -> str:
    """An event in one line, without its time and connection."""
    if event.kind not in ("sent", "received"):
        details = details_of(event)
        return f"{_WORDS[event.kind]}{f': {details}' if details else ''}"
    count = f" x {event.count:,}" if event.count > 1 else ""
    details = details_of(event)
    return f"{event.name}{count}{f' ({details})' if details else ''}"


def details_of(event: TraceEvent) -> str:
    """The fields of an event in one line."""
    shown = ((name, value) for name, value in event.fields.items() if value not in (None, "", [], {}))
    return ", ".join(_detail(name, value) for name, value in shown)


def _detail(name: str, value: object) -> str:
    if name == "sql":
        return one_line(str(value))
    return f"{name} {_short(value)}"


def one_line(sql: str) -> str:
    """SQL without line breaks."""
    return visible(" ".join(sql.split()))


def _short(value: object) -> str:
    """A value of JSON."""
    if isinstance(value, dict):
        found = cast(dict[str, object], value)
        if {"type", "size"} <= found.keys():  # a parameter
            shown = f"{_short(found['type'])}[{found['size']}]"
            return f"{shown} = {_short(found['value'])}" if "value" in found else shown
        if {"name", "type"} == found.keys():  # a column
            return f"{_short(found['name'])} {_short(found['type'])}"
        return "{" + ", ".join(f"{visible(key)}={_short(item)}" for key, item in found.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_short(item) for item in cast(list[object], value)) + "]"
    if isinstance(value, str):
        return visible(value)
    return "NULL" if value is None else str(value)


def summary_lines(summary: Summary) -> Iterator[str]:
    """The summary, line by line."""
    yield from (f"{name:<18}{value}" for name, value in summary_facts(summary))
    if summary.slowest:
        yield "slowest round trips"
    for trip in summary.slowest:
        what = one_line(trip.sql) or " ".join(trip.names)
        yield f"  {milliseconds(trip.wait or 0.0):>10}  connection {trip.connection}, round trip {trip.number}: {what}"


def summary_facts(summary: Summary) -> Iterator[tuple[str, str]]:
    """Names and values of a summary."""
    if summary.begin is not None:
        begun = datetime.fromtimestamp(summary.begin, UTC)
        yield "began", f"{begun:%Y-%m-%d %H:%M:%S} UTC"
    yield "took", f"{summary.duration:.3f} s"
    failed = f", {summary.failed} failed" if summary.failed else ""
    yield "connections", f"{summary.connections}{failed}"
    yield "round trips", f"{summary.round_trips:,}"
    yield "waited for server", f"{summary.wait:.3f} s"
    yield "bytes", f"{summary.sent:,} sent, {summary.received:,} received"
    yield "rows", f"{summary.rows:,}"
    if summary.errors:
        errors = (
            f"{code} ({count} times)" if count > 1 else str(code) for code, count in summary.errors.items()
        )
        yield "errors", ", ".join(errors)
    if summary.undecoded:
        yield "not decoded", f"{summary.undecoded} pieces"


def milliseconds(seconds: float) -> str:
    """Seconds as text in milliseconds."""
    return f"{seconds * 1000:,.1f} ms"


def offset(time: float, origin: float) -> str:
    return f"{time - origin:+10.3f} s"
