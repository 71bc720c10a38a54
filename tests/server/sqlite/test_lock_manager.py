from __future__ import annotations

import random
import threading
from collections.abc import Callable
from itertools import combinations, product
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.lock_manager import (
    DEADLOCK,
    ROW_LOCKED,
    TABLE_LOCKED,
    TIMED_OUT,
    Kind,
    LockManager,
    LockMode,
    LockRefused,
    Owner,
    Resource,
    are_compatible,
)
from tests.counting import lines_run
from tests.server.sqlite.stepped_locks import SteppedLocks, Waiter

IS, IX, S, U, SIX, X = LockMode
TABLE = Resource("shop", 100, Kind.TABLE)
LATCH = Resource("shop", 0, Kind.LATCH)


@pytest.fixture
def manager() -> LockManager:
    return LockManager()


def row(number: int) -> Resource:
    return Resource("shop", 100, Kind.ROW, number)


def never() -> bool:
    return False


def lock(
    manager: LockManager, owner: str, resource: Resource, mode: LockMode = X, wait: float | None = 0
) -> bool:
    return manager.acquire(owner, resource, mode, wait=wait, interrupted=never)


class Waiting:
    """A call in another thread, which has reached the queue when the constructor returns."""

    def __init__(self, manager: LockManager, owner: str, call: Callable[[], object]) -> None:
        self._outcome: list[object] = []
        self._call = call
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        while not manager.is_waiting(owner):
            assert self._thread.is_alive() or manager.is_waiting(owner), self._outcome

    def _run(self) -> None:
        try:
            self._outcome.append(self._call())
        except Exception as error:
            self._outcome.append(error)

    def outcome(self) -> object:
        self._thread.join(20)
        (outcome,) = self._outcome
        return outcome


def waiting(
    manager: LockManager, owner: str, resource: Resource, mode: LockMode = X, wait: float | None = None
) -> Waiting:
    return Waiting(manager, owner, lambda: lock(manager, owner, resource, mode, wait))


def isamcode_of(refused: object) -> int:
    assert isinstance(refused, LockRefused)
    return refused.isamcode


# -- modes -------------------------------------------------------------------------------------------------------------

COMPATIBLE = {
    (IS, IS), (IS, IX), (IS, S), (IS, U), (IS, SIX), (IX, IX), (S, S), (S, U),
}  # fmt: skip


@pytest.mark.parametrize(("one", "other"), list(product(LockMode, LockMode)))
def test_two_owners_share_a_resource_only_in_compatible_modes(
    manager: LockManager, one: LockMode, other: LockMode
) -> None:
    expected = (one, other) in COMPATIBLE or (other, one) in COMPATIBLE
    assert manager.try_acquire("a", TABLE, one)
    assert manager.try_acquire("b", TABLE, other) is expected
    assert are_compatible(one, other) is expected
    assert manager.holders_against("b", TABLE, other) == ([] if expected else ["a"])


@pytest.mark.parametrize(("one", "other"), list(product(LockMode, LockMode)))
def test_a_second_mode_adds_to_the_first(manager: LockManager, one: LockMode, other: LockMode) -> None:
    lock(manager, "a", TABLE, one)
    lock(manager, "a", TABLE, other)
    held = manager.mode_of("a", TABLE)
    assert held is not None
    for mode in LockMode:
        conflicts = not are_compatible(one, mode) or not are_compatible(other, mode)
        assert not (conflicts and are_compatible(held, mode))
        assert conflicts or are_compatible(held, mode) or U in (one, other)  # no mode is U and IX alone


def test_acquiring_tells_whether_the_lock_is_new(manager: LockManager) -> None:
    assert lock(manager, "a", row(1), S) is True
    assert lock(manager, "a", row(1), S) is False
    assert lock(manager, "a", row(1), X) is True
    assert lock(manager, "a", row(1), S) is False
    assert manager.mode_of("a", row(1)) is X


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("resource", "isamcode"),
    [(row(1), ROW_LOCKED), (Resource("shop", 100, Kind.KEY, ("k", 1)), ROW_LOCKED), (TABLE, TABLE_LOCKED)],
)
def test_not_wait_is_refused_at_once(manager: LockManager, resource: Resource, isamcode: int) -> None:
    lock(manager, "a", resource)
    with pytest.raises(LockRefused) as refused:
        lock(manager, "b", resource)
    assert (refused.value.isamcode, refused.value.resource) == (isamcode, resource)
    assert not manager.try_acquire("b", resource, X)
    assert not manager.is_waiting("b")


def test_waiting_ends_after_the_time_given(manager: LockManager) -> None:
    lock(manager, "a", row(1))
    with pytest.raises(LockRefused) as refused:
        lock(manager, "b", row(1), wait=0.01)
    assert refused.value.isamcode == TIMED_OUT
    assert not manager.waiting()


def test_an_interrupt_ends_the_wait(manager: LockManager) -> None:
    interrupted = threading.Event()
    lock(manager, "a", row(1))
    waiter = Waiting(
        manager, "b", lambda: manager.acquire("b", row(1), X, wait=None, interrupted=interrupted.is_set)
    )
    manager.wake("b")  # without an interrupt it goes on waiting
    interrupted.set()
    manager.wake("b")
    outcome = waiter.outcome()
    assert isinstance(outcome, SqlError)
    assert (outcome.sqlcode, outcome.isamcode) == (-213, -157)
    assert not manager.is_waiting("b")
    manager.wake("nobody")


# -- queues ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wait", [None, 30.0])
def test_a_waiter_gets_the_lock_when_it_is_released(manager: LockManager, wait: float | None) -> None:
    lock(manager, "a", row(1))
    waiter = waiting(manager, "b", row(1), wait=wait)
    manager.release_all("a")
    assert waiter.outcome() is True
    assert manager.mode_of("b", row(1)) is X
    assert not manager.try_acquire("a", row(1), S)


def test_requests_are_granted_in_order_of_arrival(manager: LockManager) -> None:
    lock(manager, "a", row(1), S)
    writer = waiting(manager, "b", row(1), X)
    reader = waiting(manager, "c", row(1), S)
    assert not manager.try_acquire("d", row(1), S)  # it would overtake the writer
    manager.release_all("a")
    assert writer.outcome() is True
    assert manager.is_waiting("c")
    manager.release_all("b")
    assert reader.outcome() is True


def test_readers_are_granted_together(manager: LockManager) -> None:
    lock(manager, "a", row(1), X)
    readers = [waiting(manager, name, row(1), S) for name in "bcd"]
    manager.release_all("a")
    assert [reader.outcome() for reader in readers] == [True] * 3


def test_a_promotion_overtakes_the_queue(manager: LockManager) -> None:
    lock(manager, "a", row(1), U)
    lock(manager, "b", row(1), S)
    other = waiting(manager, "c", row(1), X)
    promoted = waiting(manager, "a", row(1), X)
    manager.release_all("b")
    assert promoted.outcome() is True
    manager.release_all("a")
    assert other.outcome() is True


def test_a_waiter_that_gives_up_lets_the_next_one_pass(manager: LockManager) -> None:
    lock(manager, "a", row(1), S)
    given_up = threading.Event()
    writer = Waiting(
        manager, "b", lambda: manager.acquire("b", row(1), X, wait=None, interrupted=given_up.is_set)
    )
    reader = waiting(manager, "c", row(1), S)
    given_up.set()
    manager.wake("b")
    assert reader.outcome() is True
    writer.outcome()


def test_wait_for_leaves_the_locks_as_they_were(manager: LockManager) -> None:
    manager.wait_for("b", row(1), S, wait=0, interrupted=never)
    assert manager.mode_of("b", row(1)) is None
    lock(manager, "a", row(1), U)
    lock(manager, "b", row(1), S)
    waiter = Waiting(manager, "b", lambda: manager.wait_for("b", row(1), X, wait=None, interrupted=never))
    manager.release_all("a")
    assert waiter.outcome() is None
    assert manager.mode_of("b", row(1)) is S


# -- deadlocks ---------------------------------------------------------------------------------------------------------


def test_the_request_that_closes_a_circle_is_refused(manager: LockManager) -> None:
    lock(manager, "a", row(1))
    lock(manager, "b", row(2))
    first = waiting(manager, "a", row(2))
    with pytest.raises(LockRefused) as refused:
        lock(manager, "b", row(1), wait=None)
    assert refused.value.isamcode == DEADLOCK
    assert manager.is_waiting("a")
    manager.release_all("b")
    assert first.outcome() is True


def test_not_wait_meets_a_lock_and_no_deadlock(manager: LockManager) -> None:
    lock(manager, "a", row(1))
    lock(manager, "b", row(2))
    first = waiting(manager, "a", row(2))
    with pytest.raises(LockRefused) as refused:
        lock(manager, "b", row(1), wait=0)
    assert refused.value.isamcode == ROW_LOCKED
    manager.release_all("b")
    first.outcome()


def test_a_circle_of_many_owners_in_several_databases(manager: LockManager) -> None:
    owners = [f"owner {number}" for number in range(8)]
    resources = [Resource(f"database {number}", 100, Kind.ROW, 1) for number in range(8)]
    for owner, resource in zip(owners, resources, strict=True):
        lock(manager, owner, resource)
    waiters = [
        waiting(manager, owner, resource) for owner, resource in zip(owners[:-1], resources[1:], strict=True)
    ]
    with pytest.raises(LockRefused) as refused:
        lock(manager, owners[-1], resources[0], wait=30)
    assert refused.value.isamcode == DEADLOCK
    for owner, waiter in zip(reversed(owners), [*reversed(waiters), None], strict=True):
        manager.release_all(owner)
        assert waiter is None or waiter.outcome() is True


def test_a_request_does_not_wait_for_an_earlier_one_that_it_agrees_with(manager: LockManager) -> None:
    """It would wait for the owner of a lock that it agrees with, too, and no circle through it would be found."""
    lock(manager, "a", TABLE, IX)
    lock(manager, "c", row(2))
    whole = waiting(manager, "b", TABLE, S)
    assert manager.try_acquire("c", TABLE, IS)
    first = waiting(manager, "a", row(2))
    manager.release_all("c")
    assert first.outcome() is True
    manager.release_all("a")
    assert whole.outcome() is True


def test_a_queued_request_passes_one_that_it_agrees_with(manager: LockManager) -> None:
    lock(manager, "a", row(1), U)
    lock(manager, "d", row(1), S)
    promoted = waiting(manager, "a", row(1), X)
    update = waiting(manager, "b", row(1), U)
    reader = waiting(manager, "c", row(1), S)
    manager.release_all("d")
    assert promoted.outcome() is True
    manager.release_all("a", {row(1): U})
    assert reader.outcome() is True
    assert manager.is_waiting("b")
    manager.release_all("a")
    assert update.outcome() is True


def test_two_promotions_of_one_lock_are_a_deadlock(manager: LockManager) -> None:
    lock(manager, "a", row(1), S)
    lock(manager, "b", row(1), S)
    first = waiting(manager, "a", row(1), X)
    with pytest.raises(LockRefused) as refused:
        lock(manager, "b", row(1), X, wait=None)
    assert refused.value.isamcode == DEADLOCK
    manager.release_all("b")
    assert first.outcome() is True


def test_a_circle_through_an_earlier_request_of_the_queue_is_found(manager: LockManager) -> None:
    lock(manager, "a", row(1), S)
    lock(manager, "c", row(2))
    writer = waiting(manager, "b", row(1), X)
    reader = waiting(manager, "c", row(1), S)  # after the writer
    with pytest.raises(LockRefused) as refused:
        lock(manager, "a", row(2), wait=None)
    assert refused.value.isamcode == DEADLOCK
    manager.release_all("a")
    assert writer.outcome() is True
    manager.release_all("b")
    assert reader.outcome() is True


def test_a_circle_through_a_latch_ends_the_wait_of_its_holder(manager: LockManager) -> None:
    lock(manager, "a", row(1))
    lock(manager, "b", LATCH)
    exclusive = waiting(manager, "b", row(1))
    committing = waiting(manager, "a", LATCH)
    assert isamcode_of(exclusive.outcome()) == DEADLOCK
    manager.release_all("b")
    assert committing.outcome() is True


def test_a_refused_request_closes_no_circle() -> None:
    """Its owner has not noticed the refusal yet, but waits no more."""
    manager = SteppedLocks()
    for owner, resource, mode in (("a", row(1), S), ("c", row(1), S), ("b", row(2), X), ("b", LATCH, X)):
        assert manager.try_acquire(owner, resource, mode)
    exclusive = manager.wait("b", row(1), X, lambda: None)
    committing = manager.wait("a", LATCH, X, lambda: None)
    assert exclusive.is_refused
    other = manager.wait("c", row(2), X, lambda: None)
    assert manager.counts.deadlocks == 1
    exclusive.leave()
    manager.release_all("b")
    assert committing.is_granted and other.is_granted


def test_a_long_queue_is_searched_and_granted_in_order(manager: LockManager) -> None:
    lock(manager, "holder", row(0))
    waiters = [waiting(manager, f"waiter {number}", row(0)) for number in range(200)]
    lock(manager, "holder", row(1))
    last = waiting(manager, "last", row(0))
    for owner in ["holder", *(f"waiter {number}" for number in range(200))]:
        manager.release_all(owner)
    assert last.outcome() is True
    assert [waiter.outcome() for waiter in waiters] == [True] * 200


# -- releasing ---------------------------------------------------------------------------------------------------------


def test_a_request_of_a_crowd_costs_no_more_if_it_is_large() -> None:
    """Those who hold nothing that others wait for close no circle."""
    counts: list[int] = []
    for size in (50, 200):
        manager = LockManager()
        lock(manager, "holder", row(1))
        for number in range(size):
            lock(manager, f"owner {number}", row(10 + number))

        def crowd(manager: LockManager = manager, size: int = size) -> None:
            for number in range(size):
                manager._queued(f"owner {number}", row(1), X, lambda: None)

        counts.append(lines_run(crowd))
    assert counts[1] < 5 * counts[0], counts


def test_one_lock_is_released_in_the_mode_given_only(manager: LockManager) -> None:
    lock(manager, "a", row(1), S)
    manager.release("a", row(1), S)
    assert manager.mode_of("a", row(1)) is None
    lock(manager, "a", row(1), X)
    manager.release("a", row(1), S)
    assert manager.mode_of("a", row(1)) is X
    manager.release("b", row(1), X)
    assert not manager.try_acquire("b", row(1), S)


def test_a_lock_on_a_new_row_leaves_those_on_a_former_row_with_its_number() -> None:
    locks = LockManager()
    assert locks.try_acquire("a", row(1), S)
    locks.acquire_new("b", [row(1)], X)
    assert locks.rows_of("b") == [(100, 1)]
    for owner in "ab":
        locks.release_all(owner)
    assert locks.is_idle


def test_releases_are_counted(manager: LockManager) -> None:
    assert manager.releases == 0
    manager.release_all("a")
    assert manager.releases == 0
    lock(manager, "a", row(1))
    lock(manager, "a", row(2))
    manager.release_all("a")
    assert manager.releases == 1
    assert manager.locks() == []


# -- questions ---------------------------------------------------------------------------------------------------------


def test_writers_of_a_table_are_known_to_others(manager: LockManager) -> None:
    lock(manager, "a", TABLE, IX)
    lock(manager, "c", Resource("shop", 101, Kind.TABLE), S)
    assert not manager.has_foreign_row_locks("a", "shop", [100, 101])
    assert manager.has_foreign_row_locks("b", "shop", [101, 100])
    assert not manager.has_foreign_row_locks("b", "shop", [101])
    assert not manager.has_foreign_row_locks("b", "other", [100])


def test_locks_tells_owners_modes_and_waiters(manager: LockManager) -> None:
    lock(manager, "a", TABLE, IX)
    lock(manager, "a", row(1), X)
    lock(manager, "a", LATCH, X)
    waiter = waiting(manager, "b", row(1))
    found = manager.locks()
    result = [(held.owner, held.resource, held.mode, held.waiters) for held in found]
    assert result == [("a", TABLE, IX, ()), ("a", row(1), X, ("b",))]
    assert found[0].since <= found[1].since
    assert manager.waiting() == ["b"]
    manager.release_all("a")
    waiter.outcome()


def test_counts(manager: LockManager) -> None:
    lock(manager, "a", row(1))
    manager.try_acquire("b", row(1), X)
    with pytest.raises(LockRefused):
        lock(manager, "b", row(1), wait=0.01)
    lock(manager, "b", row(2))
    first = waiting(manager, "a", row(2))
    with pytest.raises(LockRefused):
        lock(manager, "b", row(1), wait=None)
    manager.release_all("b")
    first.outcome()
    counts = manager.counts
    assert (counts.requests, counts.waits, counts.deadlocks, counts.timeouts) == (6, 2, 1, 1)


# -- laws --------------------------------------------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.sampled_from([None, *LockMode])), max_size=40
    )
)
def test_no_two_owners_ever_hold_conflicting_modes(steps: list[tuple[str, int, LockMode | None]]) -> None:
    manager = LockManager()
    for owner, number, mode in steps:
        if mode is None:
            manager.release_all(owner)
            continue
        before = manager.holders_against(owner, row(number), mode)
        assert manager.try_acquire(owner, row(number), mode) is not bool(before) or owner in {
            held.owner for held in manager.locks() if held.resource == row(number)
        }
        held = {h.owner: h.mode for h in manager.locks() if h.resource == row(number)}
        assert all(are_compatible(held[one], held[other]) for one in held for other in held if one != other)


class _Schedule:
    """Random work of several owners without threads, and what must hold after each step."""

    RESOURCES: Final = (TABLE, row(1), row(2), LATCH, Resource("other", 0, Kind.LATCH))

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)
        self._locks = SteppedLocks()
        self._waiters: dict[str, Waiter] = {}
        self._queues: dict[Resource, list[tuple[str, LockMode]]] = {each: [] for each in self.RESOURCES}
        """Who waits, in order, and the mode that they would hold."""

    def step(self) -> None:
        idle = sorted(set("abcde") - self._waiters.keys())
        owner = self._dice.choice("abcde")
        if owner in idle:
            self._act(owner)
        elif self._dice.random() < 0.1:
            self._waiters[owner].leave()
        self._settle(is_prompt=self._dice.random() < 0.5)
        self._check_holders()

    def _act(self, owner: str) -> None:
        kind = self._dice.random()
        held = {each.resource: each.mode for each in self._locks.locks() if each.owner == owner}
        if kind < 0.1:
            self._locks.release_all(owner)
        elif kind < 0.2 and held:
            self._locks.release(owner, *self._dice.choice(list(held.items())))
        elif kind < 0.25 and held:
            kept = {each: S for each, mode in held.items() if mode is U or mode is X}
            self._locks.release_all(owner, kept)
        else:
            resource = self._dice.choice(self.RESOURCES)
            mode = X if resource.kind is Kind.LATCH else self._dice.choice((*LockMode, S, X))
            self._request(owner, resource, mode)

    def _request(self, owner: str, resource: Resource, mode: LockMode) -> None:
        before, queue = self._locks.mode_of(owner, resource), self._queues[resource]
        wanted = mode if before is None else _union(before, mode)
        against = [*self._locks.holders_against(owner, resource, wanted)]
        if before is None:
            against += [other for other, each in queue if not are_compatible(each, wanted)]
        if self._locks.try_acquire(owner, resource, mode):
            assert not against or wanted is before, "granted against others"
            assert self._locks.mode_of(owner, resource) is wanted
            return
        assert against, "not granted, although nobody is in the way"
        is_circle = owner in self._waited_for(against)
        try:
            self._waiters[owner] = self._locks.wait(owner, resource, mode, lambda: None)
        except LockRefused as refused:
            assert refused.isamcode == DEADLOCK and is_circle, "refused without a circle"
            return
        queue.insert(len(queue) if before is None else 0, (owner, wanted))
        if is_circle:
            assert resource.kind is Kind.LATCH and any(each.is_refused for each in self._waiters.values())

    def _waited_for(self, owners: list[Owner]) -> set[Owner]:
        """These owners and those whom they wait for, directly or not."""
        found: set[Owner] = set()
        while owners:
            owner = owners.pop()
            if owner in found:
                continue
            found.add(owner)
            if owner in self._waiters and self._waiters[str(owner)].is_refused:
                continue
            for resource, queue in self._queues.items():
                for place, (waiter, mode) in enumerate(queue):
                    if waiter == owner:
                        owners += self._locks.holders_against(owner, resource, mode)
                        owners += [other for other, each in queue[:place] if not are_compatible(each, mode)]
        return found

    def _settle(self, *, is_prompt: bool) -> None:
        """Refused requests leave, now or later; who has got a lock goes on."""
        for owner, waiter in self._waiters.items():
            if is_prompt and waiter.is_refused and self._locks.is_waiting(owner):
                waiter.leave()
        waiting = set(self._locks.waiting())
        for queue in self._queues.values():
            left: list[tuple[str, LockMode]] = []
            for owner, mode in queue:
                if owner in waiting:
                    left.append((owner, mode))
                elif self._waiters[owner].is_granted:
                    assert all(are_compatible(each, mode) for _, each in left), f"{owner} has overtaken"
            queue[:] = left
        for owner in self._waiters.keys() - waiting:
            del self._waiters[owner]

    def _check_holders(self) -> None:
        for resource in self.RESOURCES:
            held = [(owner, mode) for owner in "abcde" if (mode := self._locks.mode_of(owner, resource))]
            for (_, one), (_, other) in combinations(held, 2):
                assert are_compatible(one, other), f"{resource} belongs to two"
            for place, (owner, mode) in enumerate(self._queues[resource]):
                assert self._locks.holders_against(owner, resource, mode) or any(
                    not are_compatible(each, mode) for _, each in self._queues[resource][:place]
                ), f"{owner} waits for nobody"

    def end(self) -> None:
        """Owners that do not wait end their transactions, until none is left."""
        while self._waiters:
            ending = sorted(set("abcde") - self._waiters.keys())
            before = len(self._waiters)
            for owner in ending:
                self._locks.release_all(owner)
            self._settle(is_prompt=True)
            assert len(self._waiters) < before, f"a deadlock of {sorted(self._waiters)}"
        for owner in "abcde":
            self._locks.release_all(owner)
        assert self._locks.is_idle and not self._locks.locks()


def _union(one: LockMode, other: LockMode) -> LockMode:
    """See `test_a_second_mode_adds_to_the_first`."""
    manager = LockManager()
    for mode in (one, other):
        assert manager.try_acquire("a", TABLE, mode)
    held = manager.mode_of("a", TABLE)
    assert held is not None
    return held


@pytest.mark.parametrize("seed", range(300))
def test_waits_are_exactly_those_for_conflicts_and_all_of_them_end(seed: int) -> None:
    schedule = _Schedule(seed)
    for _ in range(100):
        schedule.step()
    schedule.end()
