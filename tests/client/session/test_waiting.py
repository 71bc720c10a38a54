"""A request in flight: what holds until the dispatcher says otherwise."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

from aioifx._speedups.round_trip import InFlight
from aioifx.client.session.waiting import CoalescingTimer


def test_a_new_request_has_no_time_limit_and_is_not_abandoned() -> None:
    in_flight: InFlight = InFlight()
    assert (in_flight.deadline, in_flight.is_abandoned) == (None, False)
    assert (in_flight.on_lost, in_flight.parser) == (None, None)


class Handle:
    def __init__(self) -> None:
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Loop:
    """An event loop whose timers the test fires."""

    def __init__(self) -> None:
        self.set: list[tuple[float, Any, Handle]] = []

    def call_at(self, when: float, callback: Any, *, context: object = None) -> Handle:
        self.set.append((when, callback, Handle()))
        return self.set[-1][2]

    def fire(self) -> None:
        (entry,) = [entry for entry in self.set if not entry[2].is_cancelled]
        self.set.clear()
        entry[1]()


def timed() -> tuple[Any, CoalescingTimer, list[None]]:
    fired: list[None] = []
    loop: Any = Loop()
    return loop, CoalescingTimer(loop, lambda: fired.append(None)), fired


def test_a_later_deadline_sets_no_second_timer() -> None:
    loop, timer, fired = timed()
    for deadline in (5.0, 5.0, 9.0):
        timer.arm(deadline)
    assert [when for when, _, _ in loop.set] == [5.0]
    loop.fire()
    assert fired == [None] and loop.set == []


def test_an_earlier_deadline_replaces_the_timer() -> None:
    loop, timer, _ = timed()
    timer.arm(5.0)
    timer.arm(3.0)
    assert [(when, handle.is_cancelled) for when, _, handle in loop.set] == [(5.0, True), (3.0, False)]


def test_it_can_be_armed_by_its_callback() -> None:
    loop: Any = Loop()
    timer = CoalescingTimer(loop, lambda: timer.arm(9.0))
    timer.arm(5.0)
    loop.fire()
    assert [(when, handle.is_cancelled) for when, _, handle in loop.set] == [(9.0, False)]


def test_it_can_be_cancelled_at_any_time_and_armed_again() -> None:
    loop, timer, fired = timed()
    timer.cancel()
    timer.arm(5.0)
    timer.cancel()
    timer.cancel()
    assert [handle.is_cancelled for _, _, handle in loop.set] == [True]
    timer.arm(7.0)
    assert [(when, handle.is_cancelled) for when, _, handle in loop.set[1:]] == [(7.0, False)] and fired == []


async def test_the_callback_runs_in_the_given_context() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    context = contextvars.copy_context()
    context.run(variable.set, 1)
    loop, seen = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
    CoalescingTimer(loop, lambda: seen.set_result(variable.get()), context).arm(loop.time())
    assert await seen == 1
    assert variable.get() == 0
