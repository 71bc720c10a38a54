"""The trace of one check, without names and addresses other than aioifx's own. Never: a value; traces leave it out.

Invariants:
1. Only the fields that are listed here are kept, and of the login none.
2. A word in a field is kept if a statement of aioifx has it, or if it names a type; any other becomes ``?``.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from aioifx.sqltypes import TypeCode
from aioifx.tracing.events import TraceEvent

_OWN_TEXTS: Final = frozenset({"sql", "signature"})
"""Fields whose texts come from aioifx alone."""
_KEPT: Final = _OWN_TEXTS | {
    "arguments",
    "bytes",
    "code",
    "columns",
    "cost",
    "event",
    "handle",
    "isamcode",
    "kind",
    "level",
    "mask",
    "name",
    "offset",
    "placeholders",
    "previous",
    "routine",
    "row",
    "rowid",
    "rows",
    "size",
    "sqlcode",
    "statement_id",
    "statement_type",
    "token",
    "type",
    "types",
    "values",
    "warnings",
    "whence",
}
_VERBATIM: Final = frozenset({"kind", "mask", "statement_type"})
_WITHOUT_FIELDS: Final = frozenset({"LOGIN", "LOGIN_REPLY", "SQ_DBOPEN", "SQ_INFO", "UNDECODED"})
_WORD: Final = re.compile(r"\b[^\W\d]\w*")
_CURSOR: Final = re.compile(r"_ifxc\d+")
_WORDS: Final = frozenset(
    [
        *(code.name.lower() for code in TypeCode),
        *"informix boolean lvarchar blob clob json bson constant expression count sum avg min max".split(),
        *"not null year month day hour minute second fraction to distinct ifx_lo_spec ifx_lo_stat".split(),
    ]
)
_FIRST, _LAST = 150, 350


class CheckTrace:
    """The events of one check: the first and the last ones."""

    def __init__(self) -> None:
        self._first: list[TraceEvent] = []
        self._last: deque[TraceEvent] = deque(maxlen=_LAST)
        self._count = 0

    def clear(self) -> None:
        """Forget all events."""
        self._first.clear()
        self._last.clear()
        self._count = 0

    def add(self, event: TraceEvent) -> None:
        """Add an event; the target of ``trace=``."""
        self._count += 1
        if len(self._first) < _FIRST:
            self._first.append(event)
        else:
            self._last.append(event)

    def redacted(self) -> tuple[dict[str, Any], ...]:
        """The events as plain data."""
        events = [*self._first, *self._last]
        known = _WORDS | {
            word.lower()
            for event in events
            for name in _OWN_TEXTS
            if event.name not in _WITHOUT_FIELDS and isinstance(text := event.fields.get(name), str)
            for word in _WORD.findall(text)
        }
        numbers = {
            number: place for place, number in enumerate(dict.fromkeys(e.connection for e in events), 1)
        }
        lines = [_line(event, events[0].time, numbers[event.connection], known) for event in events]
        if left_out := self._count - len(events):
            lines.insert(_FIRST, {"left_out": left_out})
        return tuple(lines)


def _line(event: TraceEvent, started: float, connection: int, known: Iterable[str]) -> dict[str, Any]:
    line: dict[str, Any] = {
        "seconds": round(event.time - started, 6),
        "connection": connection,
        "kind": event.kind,
    }
    if event.name:
        line |= {"name": event.name, "exchange": event.exchange, "size": event.size}
    if event.count != 1:
        line["count"] = event.count
    is_message = event.name and event.name not in _WITHOUT_FIELDS
    if is_message and (fields := _redacted_fields(event.fields, frozenset(known))):
        line["fields"] = fields
    return line


def _redacted_fields(fields: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {name: _redacted(name, value, known) for name, value in fields.items() if name in _KEPT}


def _redacted(name: str, value: Any, known: frozenset[str]) -> Any:
    if isinstance(value, str):
        return (
            value
            if name in _OWN_TEXTS | _VERBATIM
            else _WORD.sub(lambda found: _kept(found[0], known), value)
        )
    if isinstance(value, dict):
        return _redacted_fields(cast("dict[str, Any]", value), known)
    if isinstance(value, list | tuple):
        return [_redacted(name, item, known) for item in cast("list[Any]", value)]
    return value


def _kept(word: str, known: frozenset[str]) -> str:
    return word if word.lower() in known or _CURSOR.fullmatch(word) else "?"
