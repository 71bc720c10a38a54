"""What a metered channel counts, for whom, by a clock in the test's hands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aioifx.channel import PendingReply
from aioifx.client.observation import metered_channel
from aioifx.client.observation.metered_channel import MeteredChannel
from aioifx.client.observation.observation import RunningOperation, current_operation
from aioifx.errors import ConnectionLost
from aioifx.wire.inbox import Inbox, Parser
from tests.test_channel import FakeTransport


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(metered_channel, "_now", clock)
    return clock


@pytest.fixture(autouse=True)
def without_operation() -> Iterator[None]:
    yield
    current_operation.set(None)


def connected(clock: Clock, *, decoding: float = 0.0) -> MeteredChannel:
    """A channel after the login, whose replies take *decoding* seconds."""

    def on_reply(*_: object) -> None:
        clock.now += decoding

    channel = MeteredChannel()
    channel.connection_made(FakeTransport(channel))
    channel.on_reply = on_reply
    return channel


class ByteReader:
    """Each byte is a reply."""

    def try_read(self, inbox: Inbox) -> int:
        inbox.pos += 1
        return inbox.data[inbox.pos - 1]

    def parser(self, inbox: Inbox) -> Parser[int]:
        raise AssertionError("a reply arrives whole")


def ask(channel: MeteredChannel, data: bytes, operation: RunningOperation | None) -> PendingReply[int]:
    current_operation.set(operation)
    pending: PendingReply[int] = PendingReply()
    pending.reader = ByteReader()
    channel.request(pending, data)
    return pending


async def test_time_is_split_into_waiting_and_processing(clock: Clock) -> None:
    channel, operation = connected(clock, decoding=0.25), RunningOperation("fetch")
    clock.now = 10.0
    pending = ask(channel, b"request", operation)
    clock.now = 13.0
    channel.data_received(b"x")
    assert await pending.future == ord("x")
    assert (operation.bytes_out, operation.bytes_in) == (7, 1)
    assert (operation.server_time, operation.decode_time) == (3.0, 0.25)
    clock.now = 20.0  # between two requests
    ask(channel, b"again", operation)
    clock.now = 21.0
    channel.data_received(b"x")
    assert (operation.server_time, operation.decode_time, operation.bytes_out) == (4.0, 0.5, 12)
    assert operation.round_trips == 0  # the dispatcher counts them


async def test_what_belongs_to_no_operation_counts_for_the_next_that_waits(clock: Clock) -> None:
    channel, operation = connected(clock), RunningOperation("fetch")
    ask(channel, b"cleanup", None)
    clock.now = 1.0
    ask(channel, b"request", operation)
    clock.now = 3.0
    channel.data_received(b"x")
    clock.now = 4.0
    channel.data_received(b"y")
    assert (operation.server_time, operation.bytes_in, operation.bytes_out) == (3.0, 2, 7)


async def test_two_operations_get_what_is_theirs(clock: Clock) -> None:
    channel, first, second = connected(clock), RunningOperation("fetch"), RunningOperation("execute")
    ask(channel, b"one", first)
    ask(channel, b"second", second)
    clock.now = 1.0
    channel.data_received(b"x")
    clock.now = 3.0
    channel.data_received(b"y")
    assert (first.server_time, first.bytes_in, first.bytes_out) == (1.0, 1, 3)
    assert (second.server_time, second.bytes_in, second.bytes_out) == (2.0, 1, 6)


async def test_an_operation_that_has_ended_does_not_change(clock: Clock) -> None:
    channel, operation = connected(clock), RunningOperation("fetch")
    ask(channel, b"request", operation)
    operation.duration = 1.0
    clock.now = 2.0
    channel.data_received(b"x")
    ask(channel, b"late", operation)
    channel.send(b"more")
    assert (operation.server_time, operation.bytes_in, operation.bytes_out) == (0.0, 0, 7)


async def test_a_reply_that_does_not_come_is_server_time(clock: Clock) -> None:
    channel, operation, other = connected(clock), RunningOperation("fetch"), RunningOperation("fetch")
    ask(channel, b"request", operation)
    clock.now = 5.0
    channel.add_outstanding_time(other)
    channel.add_outstanding_time(operation)
    assert (operation.server_time, other.server_time) == (5.0, 0.0)
    pending = ask(channel, b"request", other)
    operation.duration = 5.0
    clock.now = 7.0
    channel.abort(ConnectionLost("lost"))
    assert (operation.server_time, other.server_time) == (5.0, 2.0)
    with pytest.raises(ConnectionLost):
        await pending.future
    channel.add_outstanding_time(other)
    assert other.server_time == 2.0


async def test_data_within_a_reply_belongs_to_its_operation_in_any_context(clock: Clock) -> None:
    channel, operation = connected(clock), RunningOperation("executemany")
    ask(channel, b"request", operation)
    current_operation.set(RunningOperation("connect"))
    channel.send(b"next")
    assert operation.bytes_out == 11


async def test_the_login_counts_its_round_trips(clock: Clock) -> None:
    channel, operation = connected(clock), RunningOperation("connect")
    channel.on_reply = None
    ask(channel, b"login", operation)
    channel.send(b"protocols")
    assert (operation.round_trips, operation.bytes_out) == (2, 14)


async def test_unsolicited_bytes_are_not_counted_twice(clock: Clock) -> None:
    channel, operation = connected(clock), RunningOperation("fetch")
    channel.data_received(b"x")
    assert await ask(channel, b"request", operation).future == ord("x")
    assert operation.bytes_out == 7 == channel.bytes_out
