from __future__ import annotations

import json

import pytest

from aioifx.errors import InterfaceError
from aioifx.tracing.events import FORMAT, TraceEvent, event_line, event_of, header_line


@pytest.mark.parametrize(
    "event",
    [
        TraceEvent(12.5, 1, "open", fields={"address": "h:1", "tls": None}),
        TraceEvent(12.5, 1, "sent", "SQ_PREPARE", 3, 40, fields={"sql": "select ü", "placeholders": 0}),
        TraceEvent(12.5, 1, "received", "SQ_TUPLE", 3, 400, 20),
        TraceEvent(12.5, 0, "failed", fields={"error": "ConnectError", "reason": "line\nline"}),
    ],
)
def test_a_line_holds_the_whole_event(event: TraceEvent) -> None:
    line = event_line(event)
    assert line.endswith("\n") and line.count("\n") == 1
    assert event_of(line) == event


def test_fields_with_their_default_are_omitted() -> None:
    assert event_line(TraceEvent(1.25, 7, "closed")) == '{"time": 1.25, "connection": 7, "kind": "closed"}\n'


def test_a_header_states_the_version() -> None:
    line = header_line(1.5, version="0.1.0", process_id=9, values=False)
    assert json.loads(line) == {
        "aioifx_trace": FORMAT, "aioifx": "0.1.0", "process": 9, "started": 1.5, "values": False,
    }  # fmt: skip
    assert event_of(line) is None


def test_fields_that_are_not_known_are_ignored() -> None:
    line = '{"time": 1, "connection": 1, "kind": "closed", "later": 1}'
    assert event_of(line) == TraceEvent(1, 1, "closed")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "expected JSON"),
        ("nonsense", "expected JSON"),
        ("[" * 100_000, "expected JSON"),
        ("[]", "expected an object of JSON"),
        ('{"aioifx_trace": 2}', "expected version 1 of the format, got 2"),
        ("{}", "time: expected a number, got NoneType"),
        ('{"time": true, "connection": 1, "kind": "open"}', "time: expected a number, got bool"),
        ('{"time": 1, "connection": "1", "kind": "open"}', "connection: expected a whole number, got str"),
        ('{"time": 1, "connection": 1}', "kind: expected a text, got NoneType"),
        ('{"time": 1, "connection": 1, "kind": "x"}', "kind: unknown kind of event 'x'"),
        (
            '{"time": 1, "connection": 1, "kind": "sent", "fields": []}',
            "fields: expected an object, got list",
        ),
    ],
)
def test_a_line_that_is_not_of_a_trace(line: str, message: str) -> None:
    with pytest.raises(InterfaceError, match=f"^{message}$".replace("[", r"\[")):
        event_of(line)
