from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aioifx import TraceEvent
from aioifx.errors import InterfaceError
from aioifx.tracing.conversation import SLOWEST, RoundTrip, Summary, read_trace, steps
from aioifx.tracing.events import event_line, header_line

HEADER = header_line(0.0, version="0.1.0", process_id=1, values=False)


def sent(
    time: float, name: str, exchange: int = 1, connection: int = 1, size: int = 2, **fields: Any
) -> TraceEvent:
    return TraceEvent(time, connection, "sent", name, exchange, size, fields=fields)


def received(
    time: float,
    name: str,
    exchange: int = 1,
    connection: int = 1,
    size: int = 2,
    count: int = 1,
    **fields: Any,
) -> TraceEvent:
    return TraceEvent(time, connection, "received", name, exchange, size, count, fields)


def ask(time: float, exchange: int = 1, connection: int = 1, wait: float = 0.5) -> list[TraceEvent]:
    end = time + wait
    return [sent(time, "SQ_EOT", exchange, connection), received(end, "SQ_EOT", exchange, connection)]


def trips(events: list[TraceEvent]) -> list[RoundTrip]:
    return [step for step in steps(events) if isinstance(step, RoundTrip)]


# -- files ------------------------------------------------------------------------------------------------------------


def test_the_events_of_a_file(tmp_path: Path) -> None:
    events = ask(1.0)
    path = tmp_path / "x"
    path.write_text(HEADER + "".join(map(event_line, events)) + HEADER + event_line(events[0]), "utf-8")
    assert [*read_trace(path)] == [*events, events[0]]


def test_a_last_line_that_is_not_whole_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(HEADER + event_line(ask(1.0)[0]) + '{"time": 1.2, "conn', "utf-8")
    assert [*read_trace(path)] == ask(1.0)[:1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", ": not a trace: it is empty"),
        (b"\xff\xfe\0", ": not a trace: expected UTF-8"),
        (b"id,name\n1,x\n", ", line 1: expected JSON"),
        (b"{", ", line 1: expected JSON"),
        (event_line(ask(1.0)[0]).encode(), ": not a trace: it does not begin with 'aioifx_trace'"),
        (HEADER.encode() + b"x\n", ", line 2: expected JSON"),
        (b'{"aioifx_trace": 99}\n', ", line 1: expected version 1 of the format, got 99"),
    ],
)
def test_a_file_that_is_not_a_trace(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(InterfaceError) as raised:
        list(read_trace(path))
    assert str(raised.value) == f"{path}{message}"


# -- round trips ------------------------------------------------------------------------------------------------------


def test_a_round_trip_ends_with_the_last_reply() -> None:
    first, second = trips([*ask(1.0, 1), *ask(2.0, 2, wait=0.25)])
    assert (first.number, first.wait, first.duration) == (1, 0.5, 0.5)
    assert (second.number, second.wait) == (2, 0.25)


def test_requests_in_flight_are_one_round_trip() -> None:
    events = [sent(1.0, "SQ_EOT", 1), sent(1.0, "SQ_EOT", 2)]
    events += [received(1.5, "SQ_EOT", 1), received(2.0, "SQ_EOT", 2)]
    (trip,) = trips(events)
    assert (trip.wait, trip.duration, len(trip.events)) == (0.5, 1.0, 4)


def test_a_request_after_the_first_reply_begins_another_round_trip() -> None:
    events = [sent(1.0, "SQ_EOT", 1), sent(1.0, "SQ_EOT", 2), received(1.5, "SQ_EOT", 1)]
    events += [sent(1.6, "SQ_EOT", 3), received(2.0, "SQ_EOT", 2), received(2.1, "SQ_EOT", 3)]
    assert [len(trip.events) for trip in trips(events)] == [3, 3]


def test_connections_do_not_mix() -> None:
    one, other = ask(1.0, connection=1), ask(1.1, connection=2)
    found = trips([one[0], other[0], one[1], other[1]])
    assert [(trip.connection, len(trip.events)) for trip in found] == [(1, 2), (2, 2)]


def test_an_urgent_byte_belongs_to_its_round_trip() -> None:
    events = ask(1.0)
    events.insert(1, TraceEvent(1.2, 1, "urgent", size=1))
    (trip,) = trips(events)
    assert [event.kind for event in trip.events] == ["sent", "urgent", "received"]
    assert (trip.size("sent"), trip.size("received")) == (2, 2)


def test_other_events_are_steps_of_their_own() -> None:
    opened, closed = TraceEvent(0.5, 1, "open"), TraceEvent(3.0, 1, "closed")
    request = sent(1.0, "SQ_EOT")
    found = [*steps([opened, request, closed])]
    assert found[0] is opened and found[2] is closed
    assert isinstance(found[1], RoundTrip) and found[1].wait is None


def test_a_number_that_is_opened_again_counts_from_one() -> None:
    opened = TraceEvent(0.5, 1, "open")
    found = trips([opened, *ask(1.0), opened, *ask(2.0)])
    assert [trip.number for trip in found] == [1, 1]


def test_a_round_trip_knows_its_statement() -> None:
    events = [
        sent(1.0, "SQ_PREPARE", 1, sql="select 1"),
        received(1.1, "SQ_DESCRIBE", 1, statement_id=7),
        received(1.1, "SQ_EOT", 1),
        sent(1.2, "SQ_ID", 2, statement_id=7),
        received(1.3, "SQ_EOT", 2),
        sent(1.4, "SQ_BEGIN", 3),
        sent(1.4, "SQ_EOT", 3),
        received(1.5, "SQ_EOT", 3),
        sent(1.6, "SQ_ID", 4, statement_id=8),
    ]
    assert [trip.sql for trip in trips(events)] == ["select 1", "select 1", "", ""]
    assert [trip.names for trip in trips(events)] == [["SQ_PREPARE"], ["SQ_ID"], ["SQ_BEGIN"], ["SQ_ID"]]


def test_names_of_a_round_trip_without_others_than_the_end() -> None:
    (trip,) = trips([received(1.0, "SQ_EOT")])
    assert trip.names == ["SQ_EOT"] and trip.last_request == -1


# -- the summary ------------------------------------------------------------------------------------------------------


def test_the_summary_counts() -> None:
    summary = Summary()
    events = [
        TraceEvent(0.0, 1, "open"),
        *ask(1.0),
        sent(2.0, "SQ_PREPARE", 2, size=40, sql="select nix"),
        received(2.25, "SQ_ERR", 2, size=20, sqlcode=-217),
        received(2.25, "SQ_TUPLE", 2, size=30, count=3),
        received(2.25, "UNDECODED", 2, size=1),
        TraceEvent(4.0, 0, "failed"),
    ]
    for step in steps(events):
        summary.add(step)
    assert (summary.connections, summary.failed, summary.round_trips) == (1, 1, 2)
    assert (summary.sent, summary.received, summary.rows, summary.undecoded) == (42, 53, 3, 1)
    assert summary.errors == {-217: 1}
    assert (summary.wait, summary.duration) == (0.75, 4.0)
    assert [trip.wait for trip in summary.slowest] == [0.5, 0.25]
    assert summary.slowest[1].sql == "select nix"


def test_only_the_slowest_are_kept() -> None:
    summary = Summary()
    for number in range(20):
        for step in steps(ask(float(number), wait=number / 20)):
            summary.add(step)
    assert [trip.wait for trip in summary.slowest] == pytest.approx([0.95, 0.9, 0.85, 0.8, 0.75])
    assert len(summary.slowest) == SLOWEST


def test_nothing_has_no_time() -> None:
    assert Summary().duration == 0.0
