"""A request in flight: what holds until the dispatcher says otherwise."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

import pytest

from aioifx._speedups.round_trip import InFlight
from aioifx.client.session.waiting import CoalescingTimer, FairLock
from tests.scripted import run_ready_tasks, until


def test_a_new_request_has_no_time_limit_and_is_not_abandoned() -> None:
    in_flight: InFlight = InFlight()
    assert (in_flight.deadline, in_flight.is_abandoned) == (None, False)
    assert (in_flight.on_lost, in_flight.parser) == (None, None)


async def waiting(lock: FairLock, count: int) -> list[asyncio.Task[None]]:
    """Tasks that wait for the lock, in order."""
    tasks = [asyncio.create_task(lock.acquire()) for _ in range(count)]
    await until(lambda: len(lock.waiters) == count)
    return tasks


async def test_a_free_lock_is_acquired_without_waiting() -> None:
    lock = FairLock()
    await lock.acquire()
    assert lock.is_locked and not lock.waiters
    lock.release()
    assert not lock.is_locked


async def test_it_is_passed_on_in_order_and_is_never_free_between() -> None:
    lock = FairLock()
    await lock.acquire()
    tasks = await waiting(lock, 3)
    for number, task in enumerate(tasks):
        lock.release()
        assert lock.is_locked, "no other task may acquire it before the waiter runs"
        await task
        assert [other.done() for other in tasks] == [index <= number for index in range(3)]
    lock.release()
    assert not lock.is_locked


class Compared(asyncio.Future[None]):
    """Counts how often one is compared with another."""

    comparisons = 0

    def __eq__(self, other: object) -> bool:
        Compared.comparisons += 1
        return self is other

    __hash__ = asyncio.Future.__hash__


@pytest.mark.parametrize("count", [10, 100, 1000])
async def test_cancelled_waits_cost_each_no_more_if_they_are_many(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last first: a search would compare each with all before it."""
    loop = asyncio.get_running_loop()
    lock = FairLock()
    await lock.acquire()
    monkeypatch.setattr(loop, "create_future", lambda: Compared(loop=loop))
    tasks = await waiting(lock, count)
    Compared.comparisons = 0
    for task in reversed(tasks):
        task.cancel()
        await asyncio.wait([task])
    assert not lock.waiters
    assert Compared.comparisons <= 2 * count


async def test_a_cancelled_wait_loses_its_place() -> None:
    lock = FairLock()
    await lock.acquire()
    first, second = await waiting(lock, 2)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert len(lock.waiters) == 1
    lock.release()
    await second
    assert lock.is_locked


async def test_a_wait_cancelled_after_it_was_given_the_lock_passes_it_on() -> None:
    lock = FairLock()
    await lock.acquire()
    first, second = await waiting(lock, 2)
    lock.release()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await second
    lock.release()
    assert not lock.is_locked


async def test_a_wait_that_is_being_cancelled_is_skipped() -> None:
    lock = FairLock()
    await lock.acquire()
    first, second = await waiting(lock, 2)
    first.cancel()
    lock.release()  # before the cancelled task runs
    await second
    with pytest.raises(asyncio.CancelledError):
        await first
    lock.release()
    assert not lock.is_locked


async def test_a_waiter_that_is_woken_early_runs_in_the_iteration_of_the_release() -> None:
    lock = FairLock()
    await lock.acquire()
    first, second = await waiting(lock, 2)
    lock.wake_early()
    lock.release()
    assert lock.is_locked
    await asyncio.sleep(0)  # one iteration
    await asyncio.sleep(0)  # the task's end
    assert (first.done(), second.done()) == (True, False)
    lock.release()
    await second
    lock.release()
    assert not lock.is_locked


async def test_a_waiter_that_is_woken_too_early_waits_again_and_keeps_its_place() -> None:
    lock = FairLock()
    await lock.acquire()
    first, second = await waiting(lock, 2)
    lock.wake_early()
    await run_ready_tasks()
    assert not first.done() and len(lock.waiters) == 2
    before = [*lock.waiters]
    lock.wake_early()
    await run_ready_tasks()
    assert [*lock.waiters] == before, "a waiter is woken early once"
    lock.release()
    await first
    assert not second.done()
    lock.release()
    await second


@pytest.mark.parametrize("has_run", [False, True])
@pytest.mark.parametrize("is_released", [False, True])
async def test_a_waiter_that_is_woken_early_can_be_cancelled(has_run: bool, is_released: bool) -> None:
    lock = FairLock()
    await lock.acquire()
    first, second = await waiting(lock, 2)
    lock.wake_early()
    if has_run:
        await run_ready_tasks()
    if is_released:
        lock.release()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert lock.is_locked and len(lock.waiters) == (0 if is_released else 1)
    if not is_released:
        lock.release()
    await second
    lock.release()
    assert not lock.is_locked


async def test_a_wait_that_is_being_cancelled_is_not_woken_early() -> None:
    lock = FairLock()
    lock.wake_early()  # without waiters
    await lock.acquire()
    (first,) = await waiting(lock, 1)
    first.cancel()
    lock.wake_early()
    with pytest.raises(asyncio.CancelledError):
        await first
    lock.release()
    assert not lock.is_locked


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
