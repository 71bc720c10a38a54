"""The urgent byte: when it is sent, what acknowledges it, and when the connection is dropped instead.

How it goes together with locks, replies and the probe: see test_dispatcher.py.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from aioifx._speedups.round_trip import InFlight
from aioifx.channel import Channel
from aioifx.client.session.interrupts import URGENT_BYTE, Interrupter
from aioifx.client.session.waiting import time_out
from tests.injection import eventually


class Rig:
    """An interrupter, and requests in flight without a server."""

    def __init__(self, cancel_timeout: float = 60.0) -> None:
        self.channel = Channel()
        self.channel._loop = asyncio.get_running_loop()
        self.sent: list[bytes] = []
        self.dropped: list[str] = []
        channel: Any = self.channel
        channel.send_urgent = self._send_urgent
        channel.abort = lambda reason: self.dropped.append(str(reason))
        self.interrupter = Interrupter(self.channel, cancel_timeout)

    def _send_urgent(self, byte: bytes) -> bool:
        self.sent.append(byte)
        return True

    def request(self, *, interruptible: bool = True, abandoned: bool = True) -> InFlight:
        in_flight: InFlight = InFlight()
        in_flight.is_interruptible, in_flight.is_abandoned = interruptible, abandoned
        in_flight.future = asyncio.get_running_loop().create_future()
        self.channel.pending_replies.append(in_flight)
        return in_flight


async def test_one_byte_is_sent_for_the_oldest_request() -> None:
    rig = Rig()
    rig.request()
    rig.request()
    rig.interrupter.cancel_abandoned()
    rig.interrupter.cancel_abandoned()
    assert rig.sent == [URGENT_BYTE] and rig.interrupter.is_pending
    rig.interrupter.stop_timeout()


@pytest.mark.parametrize("state", [{"interruptible": False}, {"abandoned": False}])
async def test_no_byte_is_sent_unless_the_oldest_request_is_an_abandoned_statement(
    state: dict[str, bool],
) -> None:
    rig = Rig()
    rig.request(**state)
    rig.request()
    rig.interrupter.cancel_abandoned()
    assert rig.sent == []
    assert rig.interrupter.cancel_timer is not None, "the time limit holds in any case"
    rig.interrupter.stop_timeout()


async def test_nothing_happens_without_a_request() -> None:
    rig = Rig()
    rig.interrupter.cancel_abandoned()
    assert not rig.interrupter.interrupt_running()
    assert rig.sent == [] and rig.interrupter.cancel_timer is None


async def test_a_byte_is_unconfirmed_from_the_probe_to_its_acknowledgement() -> None:
    rig = Rig()
    rig.request()
    rig.interrupter.cancel_abandoned()
    assert (rig.interrupter.is_pending, rig.interrupter.is_unconfirmed) == (True, False)
    rig.interrupter.on_probe()
    assert (rig.interrupter.is_pending, rig.interrupter.is_unconfirmed) == (False, True)
    rig.interrupter.on_acknowledged()
    assert (rig.interrupter.is_pending, rig.interrupter.is_unconfirmed) == (False, False)
    rig.interrupter.stop_timeout()


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_an_acknowledgement_of_a_running_statement_is_asked_for(is_cancelled: bool) -> None:
    rig = Rig()
    rig.request(abandoned=is_cancelled)
    if is_cancelled:
        rig.interrupter.cancel_abandoned()
    else:
        assert rig.interrupter.interrupt_running()
    assert rig.interrupter.on_acknowledged()
    assert not rig.interrupter.has_unasked
    rig.interrupter.stop_timeout()


@pytest.mark.parametrize("is_abandoned", [True, False])
async def test_an_acknowledgement_without_a_byte_is_not_asked_for(is_abandoned: bool) -> None:
    rig = Rig()
    rig.request(abandoned=is_abandoned)
    assert not rig.interrupter.on_acknowledged()
    assert rig.interrupter.has_unasked


@pytest.mark.parametrize("is_probe", [True, False])
async def test_a_late_byte_is_expected_by_the_probe_only(is_probe: bool) -> None:
    rig = Rig()
    rig.request()
    rig.interrupter.cancel_abandoned()
    rig.channel.pending_replies.clear()
    rig.interrupter.on_probe()
    rig.request(interruptible=not is_probe, abandoned=is_probe)
    assert rig.interrupter.on_acknowledged() == is_probe
    assert rig.interrupter.has_unasked != is_probe
    assert not rig.interrupter.is_unconfirmed
    rig.interrupter.stop_timeout()


async def test_each_abandoned_request_in_flight_gets_a_byte_of_its_own() -> None:
    rig = Rig()
    rig.request()
    rig.request()
    rig.interrupter.cancel_abandoned()
    rig.channel.pending_replies.popleft()
    rig.interrupter.on_acknowledged()
    await asyncio.sleep(0)
    assert rig.sent == [URGENT_BYTE] * 2
    rig.interrupter.stop_timeout()


async def test_a_cancelled_call_without_a_reply_drops_the_connection() -> None:
    rig = Rig(cancel_timeout=0.001)
    rig.request()
    rig.interrupter.cancel_abandoned()
    await eventually(lambda: rig.dropped)
    assert rig.dropped == ["the connection was closed: no reply to a cancelled call within 0.001 s"]


async def test_a_request_that_no_call_waits_for_is_not_the_running_statement() -> None:
    rig = Rig()
    rig.request()
    assert not rig.interrupter.interrupt_running()
    assert rig.sent == []


@pytest.mark.parametrize("abandoned", [False, True])
async def test_the_time_limit_of_abandoned_requests_ends_with_the_last_of_them(abandoned: bool) -> None:
    rig = Rig()
    rig.request()
    rig.interrupter.cancel_abandoned()
    rig.channel.pending_replies.popleft()
    rig.request(abandoned=False)
    rig.request(abandoned=abandoned)
    assert rig.interrupter.interrupt_running()
    assert (rig.interrupter.cancel_timer is not None) is abandoned
    rig.interrupter.stop_timeout()


async def test_without_a_cancel_timeout_the_connection_is_dropped_instead_of_interrupted() -> None:
    rig = Rig(cancel_timeout=0)
    rig.request(abandoned=False)
    assert rig.interrupter.interrupt_running()
    assert rig.sent == [] and len(rig.dropped) == 1


async def test_a_running_statement_is_interrupted_and_dropped_only_while_it_is_the_same() -> None:
    rig = Rig(cancel_timeout=0.001)
    running = rig.request(abandoned=False)
    assert rig.interrupter.interrupt_running()
    assert rig.sent == [URGENT_BYTE]
    rig.channel.pending_replies.popleft()
    later = rig.request(abandoned=False)
    rig.interrupter._drop_if_running(running)
    assert rig.dropped == []
    rig.interrupter._drop_if_running(later)
    assert len(rig.dropped) == 1


def timers() -> list[asyncio.TimerHandle]:
    """What the event loop still waits for."""
    loop: Any = asyncio.get_running_loop()
    return [timer for timer in loop._scheduled if not timer.cancelled()]


async def test_the_time_limit_of_an_interrupt_ends_with_the_call() -> None:
    rig = Rig()
    running = rig.request(abandoned=False)
    assert rig.interrupter.interrupt_running() and rig.interrupter.interrupt_running()
    assert len(timers()) == 1, "two interrupts of one statement have one limit"
    running.future.set_result(None)
    await asyncio.sleep(0)
    assert timers() == []


async def test_the_time_limit_of_an_interrupt_passes_to_the_next_statement() -> None:
    rig = Rig()
    rig.request(abandoned=False).future.set_result(None)
    assert rig.interrupter.interrupt_running()
    rig.channel.pending_replies.popleft()
    rig.request(abandoned=False)
    assert rig.interrupter.interrupt_running()
    await asyncio.sleep(0)
    assert len(timers()) == 1
    rig.interrupter.stop_timeout()
    assert timers() == []


@pytest.mark.parametrize("is_timed_out", [False, True])
async def test_the_time_limit_of_an_interrupt_stays_while_its_reply_is_outstanding(
    is_timed_out: bool,
) -> None:
    rig = Rig(cancel_timeout=0.001)
    running = rig.request(abandoned=False)
    assert rig.interrupter.interrupt_running()
    if is_timed_out:
        time_out(running)
        running.is_abandoned = True
    else:
        running.future.cancel()
    await eventually(lambda: rig.dropped)


async def test_each_interrupt_is_logged_at_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "aioifx.session")
    rig = Rig()
    rig.request()
    rig.interrupter.cancel_abandoned()
    rig.interrupter.cancel_abandoned()
    rig.interrupter.on_acknowledged()
    rig.channel.pending_replies.popleft()
    rig.request(abandoned=False)
    rig.interrupter.interrupt_running()
    rig.interrupter.stop_timeout()
    # Connections that earlier tests have left to other threads or to the garbage collector have addresses.
    peer = "a peer without an address"
    assert [entry for entry in caplog.record_tuples if entry[2].startswith(peer)] == [
        ("aioifx.session", logging.DEBUG, f"{peer}: the running statement was interrupted: {why}")
        for why in ("its call was cancelled or timed out", "by cancel()")
    ]


async def test_an_interrupt_without_a_socket_is_logged_as_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "aioifx.session")
    rig = Rig()
    channel: Any = rig.channel
    channel.send_urgent = lambda _: False
    rig.request(abandoned=False)
    rig.interrupter.interrupt_running()
    assert "the running statement could not be interrupted: by cancel()" in caplog.text
