"""A trace file -> round trips, and their sum. Never: how they are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from pathlib import Path
from typing import Final, TypeAlias

from aioifx.errors import InterfaceError
from aioifx.tracing.events import HEADER, TraceEvent, event_of

SLOWEST: Final = 5
"""Number of round trips that a summary names."""

_ENDS: Final = ("SQ_EOT", "SQ_EXIT", "LOGIN_REPLY")
_MESSAGES: Final = ("sent", "received", "urgent")


def read_trace(path: str | Path) -> Iterator[TraceEvent]:
    """The events of a file, in order. A last line that is not whole, as after a crash, is left out.

    Raises:
        InterfaceError: it is not the file of a trace; names the line.
        OSError: it cannot be read.
    """
    is_empty = True
    with open(path, encoding="utf-8", newline="\n") as file:
        try:
            for number, line in enumerate(file, 1):
                try:
                    event = event_of(line)
                except InterfaceError as error:
                    if not line.endswith("\n") and not is_empty:
                        return
                    raise InterfaceError(f"{path}, line {number}: {error}") from None
                if is_empty and event is not None:
                    raise InterfaceError(f"{path}: not a trace: it does not begin with {HEADER!r}")
                is_empty = False
                if event is not None:
                    yield event
        except UnicodeDecodeError:
            raise InterfaceError(f"{path}: not a trace: expected UTF-8") from None
    if is_empty:
        raise InterfaceError(f"{path}: not a trace: it is empty")


@dataclass(slots=True)
class RoundTrip:
    """What a client sent, and what it received until the last reply was complete or the client sent again."""

    connection: int
    number: int
    """Counted from 1 in each connection."""
    events: list[TraceEvent] = field(default_factory=list[TraceEvent])
    """Messages, and urgent bytes among them, in order."""
    sql: str = ""
    """The statement that it is about, if known."""
    last_request: int = -1
    """The exchange of the last message sent."""

    def add(self, event: TraceEvent) -> None:
        """Append an event."""
        self.events.append(event)
        if event.kind == "sent":
            self.last_request = event.exchange

    @property
    def is_answered(self) -> bool:
        """Whether the last event ends the reply to the last request."""
        last = self.events[-1]
        return last.kind == "received" and last.name in _ENDS and last.exchange >= self.last_request

    @property
    def names(self) -> list[str]:
        """The names of the messages sent, each once; of those received if none was sent."""
        sent = [event.name for event in self.events if event.kind == "sent"]
        found = sent or [event.name for event in self.events if event.kind == "received"]
        return [name for name in dict.fromkeys(found) if name != "SQ_EOT"] or found[:1]

    @property
    def has_error(self) -> bool:
        """Whether the server answered an error, or bytes could not be decoded."""
        return any(_sqlcode_of(event) or event.name == "UNDECODED" for event in self.events)

    @property
    def begin(self) -> float:
        """When its first message was sent or received."""
        return self.events[0].time

    @property
    def duration(self) -> float:
        """Seconds up to the last message."""
        return self.events[-1].time - self.begin

    @property
    def wait(self) -> float | None:
        """Seconds from the last message sent to the first one received after it; None if there is none."""
        asked: float | None = None
        for event in self.events:
            if event.kind == "sent":
                asked = event.time
            elif event.kind == "received" and asked is not None:
                return event.time - asked
        return None

    def size(self, kind: str) -> int:
        """Bytes that were "sent" or "received"."""
        return sum(event.size for event in self.events if event.kind == kind)


def _sqlcode_of(event: TraceEvent) -> int:
    """The SQLCODE of an error of the server; 0 for any other event."""
    sqlcode = event.fields.get("sqlcode") if event.kind == "received" else None
    return sqlcode if isinstance(sqlcode, int) else 0


Step: TypeAlias = RoundTrip | TraceEvent
"""A round trip, or an event that belongs to none: "open", "closed", "failed"."""


def steps(events: Iterable[TraceEvent]) -> Iterator[Step]:
    """Events as round trips, each as soon as it is complete. Those of one connection stay in order."""
    running: dict[int, RoundTrip] = {}
    numbers: Counter[int] = Counter()
    texts: dict[tuple[int, object], str] = {}
    """SQL by connection and statement id."""

    def complete(connection: int) -> RoundTrip:
        trip = running.pop(connection)
        trip.sql = _sql_of(trip, texts)
        return trip

    for event in events:
        trip = running.get(event.connection)
        if event.kind not in _MESSAGES:
            if trip is not None:
                yield complete(event.connection)
            if event.kind == "open":  # another process may use the same number
                numbers[event.connection] = 0
            yield event
            continue
        if trip is not None and event.kind == "sent" and trip.events[-1].kind == "received":
            yield complete(event.connection)
            trip = None
        if trip is None:
            numbers[event.connection] += 1
            trip = running[event.connection] = RoundTrip(event.connection, numbers[event.connection])
        trip.add(event)
        if trip.is_answered:
            yield complete(event.connection)
    for connection in [*running]:
        yield complete(connection)


def _sql_of(trip: RoundTrip, texts: dict[tuple[int, object], str]) -> str:
    """The SQL of the first statement in a round trip; remembers the statements that are prepared in it."""
    found = ""
    by_exchange: dict[int, str] = {}
    for event in trip.events:
        fields = event.fields
        if "sql" in fields and event.kind == "sent":
            by_exchange[event.exchange] = str(fields["sql"])
            found = found or str(fields["sql"])
        elif event.name == "SQ_ID":
            found = found or texts.get((trip.connection, fields.get("statement_id")), "")
        elif event.name == "SQ_DESCRIBE" and event.exchange in by_exchange:
            texts[trip.connection, fields.get("statement_id")] = by_exchange[event.exchange]
    return found


@dataclass(slots=True)
class Summary:
    """The sum of a trace."""

    connections: int = 0
    failed: int = 0
    """Connections that could not be opened."""
    round_trips: int = 0
    sent: int = 0
    """Bytes."""
    received: int = 0
    """Bytes."""
    wait: float = 0.0
    """Seconds of waiting for the server's first message, over all round trips."""
    rows: int = 0
    begin: float | None = None
    end: float | None = None
    errors: Counter[int] = field(default_factory=Counter[int])
    """Number of errors by SQLCODE."""
    undecoded: int = 0
    """Events with bytes that are no whole message."""
    _slowest: list[tuple[float, int, RoundTrip]] = field(
        default_factory=list[tuple[float, int, RoundTrip]], repr=False
    )

    @property
    def slowest(self) -> list[RoundTrip]:
        """The round trips with the longest wait, the longest first."""
        return [trip for _, _, trip in sorted(self._slowest, key=lambda item: -item[0])]

    @property
    def duration(self) -> float:
        """Seconds from the first event to the last one."""
        return 0.0 if self.begin is None or self.end is None else self.end - self.begin

    def add(self, step: Step) -> None:
        """Count a step."""
        events = step.events if isinstance(step, RoundTrip) else [step]
        self.begin = events[0].time if self.begin is None else min(self.begin, events[0].time)
        self.end = events[-1].time if self.end is None else max(self.end, events[-1].time)
        if isinstance(step, TraceEvent):
            self.connections += step.kind == "open"
            self.failed += step.kind == "failed"
            return
        self.sent += step.size("sent")
        self.received += step.size("received")
        for event in events:
            self.rows += event.count if event.name == "SQ_TUPLE" else 0
            self.undecoded += event.name == "UNDECODED"
            if sqlcode := _sqlcode_of(event):
                self.errors[sqlcode] += 1
        wait = step.wait
        if wait is not None:
            self.round_trips += 1
            self.wait += wait
            # Without its events, of which there may be many.
            brief = RoundTrip(step.connection, step.number, _brief(events), step.sql)
            item = wait, self.round_trips, brief
            if len(self._slowest) < SLOWEST:
                heappush(self._slowest, item)
            else:
                heappushpop(self._slowest, item)


def _brief(events: list[TraceEvent]) -> list[TraceEvent]:
    """The messages up to the first one received."""
    for index, event in enumerate(events):
        if event.kind == "received":
            return events[: index + 1]
    return events
