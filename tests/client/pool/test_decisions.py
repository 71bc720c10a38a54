"""The pool's decisions: a pure state machine, compared with a simple model."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from aioifx.client.pool.decisions import (
    BACKOFF_MAX,
    FAILURES_UNTIL_DOWN,
    PROBE_DELAY,
    Action,
    Assign,
    Close,
    Limits,
    Open,
    PooledConnection,
    PoolState,
    Reject,
)
from tests.sampling import examples

Pool = PoolState[str, int]


def state_with(**limits: Any) -> Pool:
    return PoolState(Limits(**{"min_size": 0, "max_size": 2, **limits}), jitter=lambda: 0.0)


def assigned(actions: list[Action[str, int]]) -> dict[int, str]:
    return {action.waiter: action.pooled.session for action in actions if isinstance(action, Assign)}


def pooled_of(actions: list[Action[str, int]]) -> PooledConnection[str]:
    (pooled,) = [action.pooled for action in actions if isinstance(action, Assign)]
    return pooled


def rejected(actions: list[Action[str, int]]) -> dict[int, str]:
    return {action.waiter: action.reason for action in actions if isinstance(action, Reject)}


def closed(actions: list[Action[str, int]]) -> list[str]:
    return [action.pooled.session for action in actions if isinstance(action, Close)]


def with_idle(pool: Pool, *names: str, now: float = 0.0) -> None:
    """Put connections into it as if they had been opened for it."""
    for name in names:
        pool.opening += 1
        pool.on_opened(name, now)


def test_a_pool_opens_what_it_must_have() -> None:
    assert state_with(min_size=2, max_size=5).decide(0) == [Open(), Open()]


def test_a_waiter_gets_the_connection_that_came_back_last() -> None:
    pool = state_with(max_size=3)
    with_idle(pool, "a", "b", "c")
    assert assigned(pool.enqueue(1, 5)) == {1: "c"}
    assert assigned(pool.enqueue(2, 5)) == {2: "b"}


def test_no_acquire_overtakes_a_waiter() -> None:
    pool = state_with(max_size=1)
    with_idle(pool, "a")
    pooled = pooled_of(pool.enqueue(1, 0))
    assert pool.enqueue(2, 1) == pool.enqueue(3, 2) == []
    assert assigned(pool.release(pooled, 3)) == {2: "a"}


def test_one_is_opened_for_each_that_waits_and_no_more_than_fit() -> None:
    pool = state_with(max_size=2)
    assert [pool.enqueue(n, 0) for n in range(4)] == [[Open()], [Open()], [], []]
    assert assigned(pool.on_opened("a", 1)) == {0: "a"}
    assert assigned(pool.on_opened("b", 1)) == {1: "b"}


def test_a_waiter_that_has_gone_is_passed_over() -> None:
    pool = state_with(max_size=1)
    with_idle(pool, "a")
    pooled = pooled_of(pool.enqueue(1, 0))
    pool.enqueue(2, 0)
    pool.enqueue(3, 0)
    pool.cancel(2)
    assert assigned(pool.release(pooled, 1)) == {3: "a"}


def test_an_unsound_connection_is_closed_and_replaced_for_a_waiter() -> None:
    pool = state_with(max_size=1)
    with_idle(pool, "a")
    pooled = pooled_of(pool.enqueue(1, 0))
    pool.enqueue(2, 0)
    actions = pool.release(pooled, 1, unhealthy="it is dead")
    assert closed(actions) == ["a"]
    assert Open() in actions
    assert assigned(pool.on_opened("b", 2)) == {2: "b"}


def test_one_that_has_been_idle_for_long_is_to_be_checked() -> None:
    pool = state_with(check_after_idle=30)
    with_idle(pool, "a")
    (fresh,) = pool.enqueue(1, 30)
    assert isinstance(fresh, Assign) and not fresh.check
    pool.release(fresh.pooled, 40)
    (stale,) = pool.enqueue(2, 71)
    assert isinstance(stale, Assign) and stale.check


def test_a_waiter_given_a_dead_connection_is_served_next() -> None:
    pool = state_with(max_size=1)
    with_idle(pool, "a")
    pooled = pooled_of(pool.enqueue(1, 100))
    pool.enqueue(2, 100)
    pool.release(pooled, 100, unhealthy="it is dead")
    pool.requeue_first(1, 100)
    assert assigned(pool.on_opened("b", 101)) == {1: "b"}


def test_a_connection_is_not_acquired_beyond_its_lifetime() -> None:
    pool = state_with(max_lifetime=60)
    with_idle(pool, "a")
    actions = pool.enqueue(1, 60)
    assert closed(actions) == ["a"]
    assert Open() in actions


def test_an_acquired_connection_that_is_too_old_is_closed_on_release() -> None:
    pool = state_with(max_lifetime=60)
    with_idle(pool, "a")
    pooled = pooled_of(pool.enqueue(1, 59))
    assert closed(pool.release(pooled, 61)) == ["a"]


def test_lifetimes_differ_by_a_tenth_at_most() -> None:
    numbers = iter((0.0, 0.5, 1.0))
    pool: Pool = PoolState(Limits(0, 3, max_lifetime=100), jitter=lambda: next(numbers))
    with_idle(pool, "a", "b", "c")
    assert [pooled.expires_at for pooled in pool.idle] == [100, 95, 90]


def test_idle_connections_are_closed_down_to_the_minimum_size() -> None:
    pool = state_with(min_size=1, max_size=3, max_idle=300)
    with_idle(pool, "a", "b", "c")
    assert pool.next_deadline == 300
    assert closed(pool.decide(300)) == ["a", "b"]
    assert [pooled.session for pooled in pool.idle] == ["c"]


def test_the_minimum_size_has_no_deadline() -> None:
    pool = state_with(min_size=1, max_idle=300, max_lifetime=0)
    with_idle(pool, "a")
    assert pool.next_deadline is None


def test_an_idle_connection_is_closed_exactly_at_its_deadline() -> None:
    # 1023.58 + 0.5 is rounded up, so a clock that stands there shows fewer than 0.5 seconds since 1023.58.
    pool = state_with(min_size=0, max_idle=0.5)
    pool.opening += 1
    pool.on_opened("a", 1023.58)
    deadline = pool.next_deadline
    assert deadline is not None and deadline - 1023.58 < 0.5
    assert closed(pool.decide(deadline)) == ["a"]


def test_without_limits_nothing_is_due_by_the_time_alone() -> None:
    pool = state_with(max_idle=0, max_lifetime=0)
    with_idle(pool, "a", "b")
    assert pool.next_deadline is None
    assert pool.decide(1e9) == []


def test_too_many_waiters_are_refused() -> None:
    pool = state_with(max_size=1, max_waiting=1)
    pool.enqueue(1, 0)
    assert rejected(pool.enqueue(2, 0)) == {2: "max_waiting: 1 tasks are already waiting"}


def test_a_server_that_is_down_is_tried_again_with_growing_delays() -> None:
    pool = state_with(min_size=1)
    assert pool.decide(0) == [Open()]
    delays, now = [], 0.0
    for _ in range(12):
        pool.on_open_failed(OSError("down"), now)
        deadline = pool.next_deadline
        assert deadline is not None
        assert pool.decide((now + deadline) / 2) == []
        delays.append(deadline - now)
        now = deadline
        assert pool.decide(now) == [Open()]
    assert delays == sorted(delays)
    assert delays[-1] == BACKOFF_MAX


def test_a_waiter_for_a_server_that_is_down_keeps_waiting_and_the_server_is_tried_soon() -> None:
    pool = state_with()
    now, actions = 0.0, pool.enqueue(1, 0)
    for _ in range(4 * FAILURES_UNTIL_DOWN):
        assert actions == [Open()]
        assert pool.on_open_failed(OSError("down"), now) == []
        deadline = pool.next_deadline
        assert deadline is not None and deadline - now <= PROBE_DELAY + 1e-9
        now, actions = deadline, pool.decide(deadline)
    assert pool.is_down
    assert pool.enqueue(2, now) == [], "one try at a time"
    assert assigned(pool.on_opened("a", now)) == {1: "a"}
    assert pool.next_deadline != now


@pytest.mark.parametrize("outage", [1.0, 6.0, 15.0, 3600.0])
@pytest.mark.parametrize("min_size", [0, 1])
@pytest.mark.parametrize("is_waiting", [True, False], ids=["waiting all the time", "coming when it is back"])
def test_a_server_that_is_back_is_used_within_a_second(
    outage: float, min_size: int, is_waiting: bool
) -> None:
    """The pool's clock is this test's: a try fails until the outage is over."""
    dice = random.Random(outage)
    pool: Pool = PoolState(Limits(min_size=min_size, max_size=4), dice.random)
    now, tries = 0.0, 0
    served: dict[int, str] = {}
    actions = pool.enqueue(1, now) if is_waiting else pool.decide(now)
    while not served:
        assert rejected(actions) == {}
        if Open() in actions:
            tries += 1
            actions = pool.on_open_failed(OSError("down"), now) if now < outage else pool.on_opened("a", now)
            served = assigned(actions)
            continue
        deadline = pool.next_deadline
        if not is_waiting and (deadline is None or deadline > outage) and 1 not in pool.waiting:
            now = max(now, outage)
            actions = pool.enqueue(1, now)
        else:
            assert deadline is not None
            now, actions = deadline, pool.decide(deadline)
        if Assign in map(type, actions):
            served = assigned(actions)
    assert served == {1: "a"}
    assert now - outage < 1.0
    assert tries <= 2 + outage / (PROBE_DELAY / 2) + 10, "the server is not stormed"


def test_a_failure_that_a_retry_cannot_fix_is_raised_in_each_acquire() -> None:
    pool = state_with()
    pool.enqueue(1, 0)
    assert rejected(pool.on_open_failed(OSError("wrong password"), 0, permanent=True)) == {
        1: "the server cannot be reached"
    }
    assert rejected(pool.enqueue(2, 0.01)) == {2: "the server cannot be reached"}


def test_a_delay_that_is_over_when_the_timer_is_set_still_takes_effect() -> None:
    pool = state_with()
    pool.enqueue(1, 0)
    assert pool.on_open_failed(OSError("down"), 0) == []
    deadline = pool.next_deadline
    assert deadline is not None and deadline < 5
    assert pool.decide(5) == [Open()]
    assert pool.next_deadline is None


def test_a_permanent_failure_is_raised_at_once() -> None:
    pool = state_with()
    pool.enqueue(1, 0)
    actions = pool.on_open_failed(PermissionError("wrong password"), 0, permanent=True)
    (refusal,) = [action for action in actions if isinstance(action, Reject)]
    assert isinstance(refusal.cause, PermissionError)


def test_waiters_stay_while_an_acquired_connection_may_come_back() -> None:
    pool = state_with(max_size=2)
    with_idle(pool, "a")
    pooled = pooled_of(pool.enqueue(1, 0))
    pool.enqueue(2, 0)
    assert rejected(pool.on_open_failed(OSError("down"), 0, permanent=True)) == {}
    assert assigned(pool.release(pooled, 1)) == {2: "a"}


def test_expired_connections_are_closed_now_or_when_they_come_back() -> None:
    pool = state_with(max_size=2)
    with_idle(pool, "a", "b")
    pooled = pooled_of(pool.enqueue(1, 0))
    assert closed(pool.expire(1)) == ["a"]
    assert closed(pool.release(pooled, 2)) == ["b"]


def test_a_smaller_pool_closes_what_is_idle_now_and_the_rest_as_it_comes_back() -> None:
    pool = state_with(max_size=3)
    with_idle(pool, "a", "b", "c")
    pooled = pooled_of(pool.enqueue(1, 0))
    other = pooled_of(pool.enqueue(2, 0))
    assert closed(pool.resize(0, 1, 1)) == ["a"]
    assert closed(pool.release(pooled, 2)) == ["c"]
    assert closed(pool.release(other, 2)) == []


def test_a_smaller_pool_closes_what_has_been_idle_longest() -> None:
    pool = state_with(max_size=3)
    with_idle(pool, "a", "b", "c")
    assert closed(pool.resize(0, 1, 1)) == ["a", "b"]


def test_nothing_is_acquired_from_a_closed_pool() -> None:
    pool = state_with(max_size=1)
    with_idle(pool, "a")
    pooled = pooled_of(pool.enqueue(1, 0))
    pool.enqueue(2, 0)
    assert rejected(pool.close()) == {2: "the pool is closed"}
    assert rejected(pool.enqueue(3, 0)) == {3: "the pool is closed"}
    assert closed(pool.release(pooled, 1)) == ["a"]
    assert pool.next_deadline is None


def test_tries_side_by_side_fail_as_one() -> None:
    pool = state_with(max_size=10)
    for waiter in range(10):
        assert pool.enqueue(waiter, 0) == [Open()]
    for _ in range(10):
        assert rejected(pool.on_open_failed(OSError("down"), 0)) == {}
    assert pool.next_deadline == pytest.approx(0.1)


def test_after_a_success_the_next_attempt_is_not_delayed() -> None:
    pool = state_with(min_size=2)
    assert pool.decide(0) == [Open(), Open()]
    assert pool.on_open_failed(OSError(), 0) == []
    assert pool.on_opened("a", 0.01) == [Open()]


def test_a_server_may_be_down_for_days() -> None:
    pool = state_with(min_size=1)
    now, actions = 0.0, pool.decide(0)
    for _ in range(3000):
        assert actions == [Open()]
        pool.on_open_failed(OSError("down"), now)
        now = pool.next_deadline or now
        actions = pool.decide(now)
    pool.on_opened("a", now)
    assert assigned(pool.enqueue(1, now)) == {1: "a"}


def test_a_waiter_raises_when_the_last_connection_to_a_server_that_is_down_ends() -> None:
    pool = state_with(max_size=2)
    with_idle(pool, "a")
    pooled = pooled_of(pool.enqueue(1, 0))
    pool.enqueue(2, 0)
    assert rejected(pool.on_open_failed(OSError("down"), 0, permanent=True)) == {}
    assert rejected(pool.release(pooled, 0, unhealthy="it is dead")) == {2: "the server cannot be reached"}
    pool.in_use.add(pooled)
    pool.release(pooled, 0, unhealthy="it is dead")
    assert rejected(pool.requeue_first(3, 0)) == {3: "the server cannot be reached"}


def test_tasks_that_wait_for_a_new_connection_do_not_count_as_too_many() -> None:
    pool = state_with(max_size=3, max_waiting=1)
    assert [pool.enqueue(waiter, 0) for waiter in range(3)] == [[Open()]] * 3
    assert rejected(pool.enqueue(3, 0)) == {3: "max_waiting: 1 tasks are already waiting"}


def test_a_connection_that_ended_by_itself_is_replaced() -> None:
    pool = state_with(min_size=1)
    with_idle(pool, "a")
    pool.release(pooled_of(pool.enqueue(1, 0)), 0)
    actions = pool.on_closed("a", 1)
    assert closed(actions) == ["a"]
    assert Open() in actions
    assert pool.on_closed("a", 1) == []


def test_one_that_ends_before_its_first_acquire_is_replaced_after_a_delay() -> None:
    pool = state_with(min_size=1)
    with_idle(pool, "a")
    actions = pool.on_closed("a", 1)
    assert closed(actions) == ["a"]
    assert Open() not in actions
    deadline = pool.next_deadline
    assert deadline is not None and pool.decide(deadline) == [Open()]


def test_an_acquired_connection_that_ends_stays_acquired_until_its_release() -> None:
    pool = state_with()
    with_idle(pool, "a")
    pooled = pooled_of(pool.enqueue(1, 0))
    assert pool.on_closed("a", 1) == []
    assert closed(pool.release(pooled, 2, unhealthy="it is dead")) == ["a"]


def test_a_connection_never_used_was_idle_all_the_time() -> None:
    pool = state_with(check_after_idle=30)
    with_idle(pool, "a")
    pooled = pooled_of(pool.enqueue(1, 25))
    pool.release(pooled, 25, used=False)
    (action,) = pool.enqueue(2, 31)
    assert isinstance(action, Assign) and action.check


def test_a_connection_never_used_is_idle_before_those_released_since() -> None:
    pool = state_with(max_size=3, max_idle=300)
    with_idle(pool, "a", "b")
    unused = pooled_of(pool.enqueue(1, 10))
    pool.release(pooled_of(pool.enqueue(2, 10)), 20)
    pool.release(unused, 25, used=False)
    assert [pooled.session for pooled in pool.idle] == ["b", "a"]
    assert pool.next_deadline == 300
    assert closed(pool.decide(300)) == ["b"]


def test_a_usual_release_is_one_step() -> None:
    pool = state_with(max_size=2, max_idle=300)
    with_idle(pool, "a")
    taken = pooled_of(pool.enqueue(1, 10))
    assert pool.try_release(taken, 20) and [*pool.idle] == [taken] and not pool.in_use
    taken = pooled_of(pool.enqueue(2, 30))
    pool.expire(30)
    assert not pool.try_release(taken, 30)
    assert closed(pool.release(taken, 30)) == ["a"]


def cancel_opening(pool: Pool) -> None:
    pool.opening += 1
    pool.is_left = True
    pool.on_open_cancelled(20)


def test_neither_acquire_nor_release_is_one_step_while_anything_else_is_due() -> None:
    changes: dict[str, Callable[[Pool], object]] = {
        "nothing": lambda pool: pool.decide(20),
        "a waiter": lambda pool: pool.enqueue(9, 20),
        "surplus": lambda pool: pool.resize(0, 1, 20),
        "the end": lambda pool: pool.close(),
        "an attempt that others cancelled": cancel_opening,
    }
    for name, change in changes.items():
        pool = state_with(max_size=3, max_idle=300)
        with_idle(pool, "a", "b", "c")
        taken = [pooled_of(pool.enqueue(waiter, 10)) for waiter in range(3)]
        change(pool)
        if pool.try_release(taken[0], 20):
            assert name == "nothing" and pool.acquire_idle(20) is taken[0]
        else:
            pool.release(taken[0], 20)
            assert name != "nothing" and pool.acquire_idle(20) is None


@pytest.mark.parametrize("lifetime", [0, 50])
def test_a_release_in_one_step_has_no_actions_and_needs_no_earlier_timer(lifetime: float) -> None:
    quick = 0
    for seed in range(300):
        random_ = random.Random(seed)
        limits = Limits(min_size=1, max_size=4, max_lifetime=lifetime, max_idle=20, check_after_idle=5)
        pool: PoolState[str, int] = PoolState(limits, jitter=random_.random)
        now, pool.opening, names = 0.0, random_.randint(1, 3), itertools.count()
        for step in range(40):
            while pool.opening:
                if random_.randrange(4):
                    pool.on_opened(f"session {next(names)}", now)
                else:
                    pool.on_open_failed(OSError("down"), now)
            now += random_.choice([0, 0, 0, 0.01, 7, 30])
            match random_.randrange(20):
                case 0:
                    pool.decide(now)
                case 1:
                    pool.expire(now)
                case 2:
                    pool.resize(random_.randint(0, 2), random_.randint(2, 4), now)
                case 3:
                    pool.enqueue(step, now)
                case kind if kind < 12:
                    pool.acquire_idle(now)
                case _ if pool.in_use:
                    quick += _releases_as_usual(pool, random_.choice(sorted(pool.in_use, key=_session)), now)
                case _:
                    pass
    assert quick > 200


def _session(pooled: PooledConnection[str]) -> str:
    return pooled.session


def _releases_as_usual(pool: PoolState[str, int], pooled: PooledConnection[str], now: float) -> bool:
    """Whether `try_release` released it, which `release` would then have done in the same way."""
    twin, armed = deepcopy(pool), pool.next_deadline
    (copied,) = (each for each in twin.in_use if each.session == pooled.session)
    if not pool.try_release(pooled, now):
        pool.release(pooled, now)
        return False
    assert not twin.release(copied, now)
    assert [*map(_session, pool.idle)] == [*map(_session, twin.idle)]
    assert pooled.idle_since == now
    due = twin.next_deadline
    assert due is None or (armed is not None and armed <= due)
    return True


class Model(RuleBasedStateMachine):
    """Acquires, openings and time, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.names = itertools.count()
        self.waiters = itertools.count()
        self.limits = Limits(
            min_size=1, max_size=3, max_waiting=4, max_lifetime=50, max_idle=20, check_after_idle=5
        )
        self.pool: PoolState[int, int] = PoolState(self.limits, jitter=lambda: 0.5)
        self.to_open = 0
        self.open: set[int] = set()
        self.held: dict[int, PooledConnection[int]] = {}
        self.queue: list[int] = []
        self.perform(self.pool.decide(self.now))

    def perform(self, actions: list[Action[int, int]]) -> None:
        for action in actions:
            match action:
                case Open():
                    self.to_open += 1
                case Assign(waiter, pooled, _):
                    assert pooled.session in self.open
                    assert waiter == self.queue[0], "somebody was overtaken"
                    self.queue.pop(0)
                    assert pooled not in self.held.values(), "assigned twice"
                    self.held[waiter] = pooled
                case Close(pooled):
                    assert pooled not in self.held.values()
                    self.open.remove(pooled.session)
                case Reject(waiter):
                    self.queue.remove(waiter)

    @rule()
    def acquire(self) -> None:
        waiter = next(self.waiters)
        self.queue.append(waiter)
        self.perform(self.pool.enqueue(waiter, self.now))

    @precondition(lambda self: self.queue)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        waiter = data.draw(st.sampled_from(self.queue))
        self.queue.remove(waiter)
        self.pool.cancel(waiter)

    @precondition(lambda self: self.held)
    @rule(data=st.data(), unhealthy=st.sampled_from(["", "it is dead"]), used=st.booleans())
    def release(self, data: st.DataObject, unhealthy: str, used: bool) -> None:
        waiter = data.draw(st.sampled_from(sorted(self.held)))
        self.perform(self.pool.release(self.held.pop(waiter), self.now, unhealthy=unhealthy, used=used))

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def find_it_dead(self, data: st.DataObject) -> None:
        waiter = data.draw(st.sampled_from(sorted(self.held)))
        self.perform(self.pool.release(self.held.pop(waiter), self.now, unhealthy="it is dead"))
        self.queue.insert(0, waiter)
        self.perform(self.pool.requeue_first(waiter, self.now))

    @precondition(lambda self: self.to_open)
    @rule()
    def open_one(self) -> None:
        self.to_open -= 1
        name = next(self.names)
        self.open.add(name)
        self.perform(self.pool.on_opened(name, self.now))

    @precondition(lambda self: self.to_open)
    @rule(permanent=st.booleans())
    def fail_to_open(self, permanent: bool) -> None:
        self.to_open -= 1
        self.perform(self.pool.on_open_failed(OSError("down"), self.now, permanent=permanent))

    @precondition(lambda self: self.to_open)
    @rule(is_left=st.booleans())
    def cancel_opening(self, is_left: bool) -> None:
        self.to_open -= 1
        self.pool.is_left = is_left
        self.perform(self.pool.on_open_cancelled(self.now))

    @precondition(lambda self: self.pool.idle)
    @rule(data=st.data())
    def end_by_itself(self, data: st.DataObject) -> None:
        pooled = data.draw(st.sampled_from(list(self.pool.idle)))
        self.perform(self.pool.on_closed(pooled.session, self.now))

    @rule(seconds=st.sampled_from([0.01, 1, 6, 21, 51]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.perform(self.pool.decide(self.now))

    @rule(sizes=st.tuples(st.integers(0, 2), st.integers(1, 4)))
    def resize(self, sizes: tuple[int, int]) -> None:
        self.perform(self.pool.resize(min(sizes), sizes[1], self.now))

    @rule()
    def expire(self) -> None:
        self.perform(self.pool.expire(self.now))

    @invariant()
    def nothing_is_lost_or_made_up(self) -> None:
        pool = self.pool
        assert pool.opening == self.to_open
        assert list(pool.waiting) == self.queue
        assert pool.in_use == set(self.held.values())
        assert {pooled.session for pooled in (*pool.idle, *pool.in_use)} == self.open
        assert not {id(pooled) for pooled in pool.idle} & {id(pooled) for pooled in pool.in_use}

    @invariant()
    def nobody_waits_beside_an_idle_connection(self) -> None:
        assert not (self.pool.waiting and self.pool.idle)

    @invariant()
    def one_step_is_enough_only_if_nothing_else_is_due(self) -> None:
        pool = self.pool
        if pool._steady_until > self.now:
            assert not pool.waiting and not pool.is_left and pool.size <= pool.limits.max_size
            assert pool.next_deadline in (None, pool._steady_until)

    @invariant()
    def the_longest_idle_is_first(self) -> None:
        since = [pooled.idle_since for pooled in self.pool.idle]
        assert since == sorted(since)

    @invariant()
    def whoever_waits_has_something_to_hope_for(self) -> None:
        pool = self.pool
        if pool.waiting:
            assert pool.in_use or pool.opening or pool.next_deadline is not None

    def teardown(self) -> None:
        self.perform(self.pool.close())
        while self.held:
            _, pooled = self.held.popitem()
            self.perform(self.pool.release(pooled, self.now))
        assert not self.queue
        assert not self.open


class Bounded(Model):
    """Without resizing, the size never leaves its bounds."""

    resize = None  # type: ignore[assignment]

    @invariant()
    def it_is_never_too_large(self) -> None:
        pool = self.pool
        assert pool.size + pool.opening <= self.limits.max_size


TestModel = Model.TestCase
TestModel.settings = settings(examples(150), stateful_step_count=60)
TestBounded = Bounded.TestCase
TestBounded.settings = settings(examples(100), stateful_step_count=60)


@pytest.mark.parametrize("count", [10, 100, 1000])
def test_connections_that_end_while_idle_cost_each_no_more_if_they_are_many(count: int) -> None:
    """As when the server goes down."""
    state = state_with(max_size=count, max_idle=0)
    for number in range(count):
        state.opening += 1
        state.on_opened(f"session {number}", 0.0)
    assert len(state.idle) == count
    frames = 0

    def profile(frame: object, event: str, _: object) -> None:
        nonlocal frames
        frames += event == "call"

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        for number in reversed(range(count)):
            state.on_closed(f"session {number}", 1.0)
    finally:
        sys.setprofile(before)
    assert not state.idle
    assert frames <= 8 * count
