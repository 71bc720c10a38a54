"""Time limits of waits for a connection: each is kept, and many cost no more each than few."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from aioifx.client.pool.waits import Waiter, WaitLimits


class Handle:
    """A timer that was set."""

    is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class Clock:
    """What `WaitLimits` needs of an event loop; time passes when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Callable[[], None], Handle]] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None], *, context: Any) -> Handle:
        handle = Handle()
        self.timers.append((when, callback, handle))
        return handle

    def advance(self, to: float) -> None:
        """Let time pass, calling back at each timer."""
        while due := [timer for timer in self.timers if timer[0] <= to and not timer[2].is_cancelled]:
            timer = min(due, key=lambda timer: timer[0])
            self.timers.remove(timer)
            self.now = timer[0]
            timer[1]()
        self.now = to


class Waiting(dict[Waiter, None]):
    """The queue of a pool; counts how often a waiter is looked at."""

    looks = 0

    def __iter__(self) -> Iterator[Waiter]:
        for waiter in super().__iter__():
            self.looks += 1
            yield waiter


class Pool:
    """Waiters and their limits."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.clock = Clock()
        self.waiting = Waiting()
        self.ended: list[tuple[float, float]] = []
        """When each wait timed out, and when it should have."""
        self.limits = WaitLimits(
            cast(Any, self.clock), self.waiting, self.time_out, contextvars.copy_context()
        )

    def wait(self, seconds: float) -> Waiter:
        waiter = Waiter(self.loop.create_future(), self.clock.now + seconds, seconds)
        self.waiting[waiter] = None
        self.limits.arm(waiter.deadline)
        return waiter

    def time_out(self, waiter: Waiter) -> None:
        del self.waiting[waiter]
        self.ended.append((self.clock.now, waiter.deadline))


@pytest.fixture
async def pool() -> Pool:
    return Pool(asyncio.get_running_loop())


@pytest.mark.parametrize("seconds", [*itertools.permutations([1, 2, 3])])
async def test_each_wait_ends_at_its_own_limit(pool: Pool, seconds: tuple[float, ...]) -> None:
    for limit in seconds:
        pool.wait(limit)
    pool.clock.advance(10)
    assert pool.ended == [(1, 1), (2, 2), (3, 3)]


async def test_a_wait_with_an_earlier_limit_is_not_kept_by_one_before_it(pool: Pool) -> None:
    pool.wait(30)
    pool.clock.advance(1)
    pool.wait(0)
    pool.clock.advance(2)
    assert pool.ended == [(1, 1)]


async def test_a_wait_that_has_ended_is_left_alone(pool: Pool) -> None:
    pool.wait(1).future.cancel()
    pool.wait(2)
    pool.clock.advance(3)
    assert pool.ended == [(2, 2)]


async def test_no_wait_is_limited_after_a_cancel(pool: Pool) -> None:
    pool.wait(1)
    pool.limits.cancel()
    pool.clock.advance(3)
    assert pool.ended == []


@pytest.mark.parametrize("count", [10, 100, 1000])
async def test_the_limits_of_many_waits_cost_each_no_more_than_those_of_few(pool: Pool, count: int) -> None:
    """A search for each limit would look at all that still wait: *count* / 2 on average."""
    for number in range(count):
        pool.wait(1 + number * 0.5e-6)
    pool.clock.advance(2)
    assert len(pool.ended) == count
    assert max(late - limit for late, limit in pool.ended) <= count * 1e-6
    assert pool.waiting.looks <= 3 * count
