"""Events of a trace, and the lines of a file of them. Never: how a message is encoded; a file.

A file of events is JSON lines in UTF-8. A header begins each part of it: ``{"aioifx_trace": 1, ...}``. Each other line
is one event. A reader ignores fields that it does not know; a change that breaks readers raises the number.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from aioifx.errors import InterfaceError

FORMAT: Final = 1
"""Version of the lines."""

HEADER: Final = "aioifx_trace"
"""The field of a header that holds the version."""

EventKind: TypeAlias = Literal["open", "sent", "received", "urgent", "failed", "closed"]
_KINDS: Final = frozenset(get_args(EventKind))


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """What happened on one connection at one time."""

    time: float
    """Seconds since the epoch. For a message, when its last byte was sent or received."""
    connection: int
    """Number of the connection in this process; 0 for one that could not be opened."""
    kind: EventKind
    """"sent" and "received" are messages. "urgent" is the byte that interrupts a statement."""
    name: str = ""
    """Of a message: such as SQ_PREPARE; LOGIN, LOGIN_REPLY; UNDECODED for bytes that are no whole message."""
    exchange: int = 0
    """Of a message: number of its group in its direction. A reply has the number of its request; 0 is the login."""
    size: int = 0
    """Bytes of the message, or of all messages of a run."""
    count: int = 1
    """Number of equal messages that one event stands for, such as rows that arrived together."""
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What the message holds, in the types of JSON."""


TraceTarget: TypeAlias = str | os.PathLike[str] | Callable[[TraceEvent], object]
"""A file to which events are appended, or a function that is called with each."""


def header_line(started: float, *, version: str, process_id: int, values: bool) -> str:
    """The line before the events of one process."""
    header = {HEADER: FORMAT, "aioifx": version, "process": process_id, "started": started, "values": values}
    return _line(header)


def event_line(event: TraceEvent) -> str:
    """An event as a line; fields with their default are omitted."""
    line: dict[str, Any] = {
        "time": round(event.time, 6),
        "connection": event.connection,
        "kind": event.kind,
    }
    if event.name:
        line |= {"name": event.name, "exchange": event.exchange, "size": event.size}
    if event.count != 1:
        line["count"] = event.count
    if event.fields:
        line["fields"] = event.fields
    return _line(line)


def _line(values: Mapping[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(", ", ": "), default=str) + "\n"


def event_of(line: str) -> TraceEvent | None:
    """The event of a line; None for a header.

    Raises:
        InterfaceError: the line is not of a trace, or of a version that is not known.
    """
    try:
        values: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise InterfaceError("expected JSON") from None
    if not isinstance(values, dict):
        raise InterfaceError("expected an object of JSON")
    found = cast(dict[str, Any], values)
    if HEADER in found:
        if found[HEADER] != FORMAT:
            raise InterfaceError(f"expected version {FORMAT} of the format, got {found[HEADER]!r:.40}")
        return None
    for name, kind in _TYPES.items():
        value = found.get(name, _DEFAULTS.get(name))
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InterfaceError(f"{name}: expected {_EXPECTED[kind]}, got {type(value).__name__}")
    if found["kind"] not in _KINDS:
        raise InterfaceError(f"kind: unknown kind of event {found['kind']!r:.40}")
    return TraceEvent(**{name: found[name] for name in _TYPES if name in found})


_TYPES: Final[dict[str, Any]] = {
    "time": (int, float),
    "connection": int,
    "kind": str,
    "name": str,
    "exchange": int,
    "size": int,
    "count": int,
    "fields": dict,
}
_DEFAULTS: Final[dict[str, Any]] = {"name": "", "exchange": 0, "size": 0, "count": 1, "fields": {}}
_EXPECTED: Final[dict[Any, str]] = {
    (int, float): "a number",
    int: "a whole number",
    str: "a text",
    dict: "an object",
}
