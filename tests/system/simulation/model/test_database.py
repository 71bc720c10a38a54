"""Locks, deadlocks, savepoints and the log of commits of the model's database."""

from __future__ import annotations

import random

import pytest

from tests.system.simulation.model.database import BALANCE, Database, DatabaseFailure, Key, Transaction

A, B, C = ("account", 1), ("account", 2), ("account", 3)


class Work(Transaction):
    """A transaction that notes whether a lock was granted to it."""

    def __init__(self, database: Database, number: int) -> None:
        super().__init__(database, number)
        self.granted: list[Key] = []

    def lock(self, key: Key, *, exclusive: bool = True) -> bool:
        """Whether the lock is granted at once."""
        if self.database.try_lock(self, key, exclusive):
            return True
        self.leave = self.database.wait(self, key, exclusive, lambda: self.granted.append(key))
        return False


@pytest.fixture
def database() -> Database:
    return Database(lambda: 0.0)


def works(database: Database, count: int) -> list[Work]:
    return [Work(database, number) for number in range(count)]


def test_two_who_both_want_a_stronger_lock_are_a_deadlock(database: Database) -> None:
    one, two = works(database, 2)
    assert one.lock(A, exclusive=False) and two.lock(A, exclusive=False)
    assert not one.lock(A)
    with pytest.raises(DatabaseFailure) as caught:
        two.lock(A)
    assert caught.value.isamcode == -143
    database.rollback(two)
    assert one.granted == [A] and one.held[A]


def test_a_circle_of_three_is_a_deadlock(database: Database) -> None:
    one, two, three = works(database, 3)
    assert one.lock(A) and two.lock(B) and three.lock(C)
    assert not one.lock(B) and not two.lock(C)
    with pytest.raises(DatabaseFailure):
        three.lock(A)
    database.rollback(three)
    assert two.granted == [C] and not one.granted


def test_a_wait_after_a_waiter_may_be_part_of_a_circle(database: Database) -> None:
    one, two, three = works(database, 3)
    assert one.lock(A, exclusive=False) and three.lock(B)
    assert not two.lock(A)  # it waits for one
    assert not three.lock(A, exclusive=False)  # it waits after two
    with pytest.raises(DatabaseFailure):
        one.lock(B)


def test_a_chain_of_waits_is_not_a_deadlock(database: Database) -> None:
    one, two, three = works(database, 3)
    assert one.lock(A) and two.lock(B)
    assert not two.lock(A) and not three.lock(B)
    database.commit(one)
    assert two.granted == [A]
    database.commit(two)
    assert three.granted == [B]


def test_locks_are_granted_in_the_order_of_requests(database: Database) -> None:
    writer, reader, second, third = works(database, 4)
    assert writer.lock(A)
    assert not any(each.lock(A, exclusive=each is second) for each in (reader, second, third))
    database.commit(writer)
    assert reader.granted and not second.granted and not third.granted
    second.leave()
    assert third.granted, "the wait after a waiter that has left"
    database.commit(reader)
    database.commit(third)
    assert not second.granted and not database.locks


def _waits_for(work: Work, works: list[Work]) -> set[int]:
    """By definition: the transactions of which at least one must act first."""
    waiter = work.waits_for
    if waiter is None:
        return set()
    queue = [each for each in works if each.waits_for is not None and each.waits_for.key == waiter.key]
    return {
        each.session
        for each in works
        if each is not work
        and (each.held.get(waiter.key, waiter.exclusive and each.held.get(waiter.key) is False))
    } | {each.session for each in queue if each is not work and _is_before(each, work)}


def _is_before(one: Work, other: Work) -> bool:
    assert one.waits_for is not None and other.waits_for is not None
    queue = list(one.database._locks[one.waits_for.key].queue)
    return queue.index(one.waits_for) < queue.index(other.waits_for)


@pytest.mark.parametrize("seed", range(200))
def test_no_circle_of_waits_ever_exists(seed: int) -> None:
    """Random work: each wait is in the end for a transaction that does not wait, so all of it ends."""
    dice, database = random.Random(seed), Database(lambda: 0.0)
    running = works(database, 5)
    for _ in range(200):
        idle = [each for each in running if each.waits_for is None]
        assert idle, "all wait"
        work = dice.choice(idle)
        if dice.random() < 0.15:
            database.commit(work)
            continue
        try:
            work.lock(dice.choice((A, B, C)), exclusive=dice.random() < 0.5)
        except DatabaseFailure as failure:
            assert failure.isamcode == -143
            database.rollback(work)
        reached = {each.session for each in running if each.waits_for is None}
        while more := {
            each.session
            for each in running
            if each.session not in reached and _waits_for(each, running) <= reached
        }:
            reached |= more
        assert len(reached) == len(running), "a circle of waits"


def test_savepoints_undo_what_came_after_them(database: Database) -> None:
    [work] = works(database, 1)
    database.insert_note(work, 1, "kept")
    work.set_savepoint("one")
    database.insert_note(work, 1, "undone")
    work.set_savepoint("two")
    database.add(work, 1, 5)
    work.rollback_to("one")
    with pytest.raises(DatabaseFailure):
        work.rollback_to("two")
    database.insert_note(work, 1, "later")
    work.release_savepoint("one")
    with pytest.raises(DatabaseFailure):
        work.rollback_to("one")
    database.commit(work)
    assert [text for _, text in database.notes.values()] == ["kept", "later"]
    assert database.accounts[1] == BALANCE
    assert [commit.tags for commit in database.commits] == [{1: 2}]


def test_a_rollback_undoes_everything_and_is_not_in_the_log(database: Database) -> None:
    first, second = works(database, 2)
    database.insert_note(first, 1, "stays")
    database.commit(first)
    database.delete_notes(second, 1)
    database.add(second, 2, -7)
    database.insert_note(second, 1, "goes")
    database.rollback(second)
    assert [text for _, text in database.notes.values()] == ["stays"]
    assert database.accounts[2] == BALANCE and len(database.commits) == 1


def test_the_log_has_the_sum_of_each_transaction(database: Database) -> None:
    [work] = works(database, 1)
    database.add(work, 1, 5)
    database.add(work, 1, -3)
    database.insert_note(work, 9, "one")
    database.delete_notes(work, 9)
    database.commit(work)
    [commit] = database.commits
    assert commit.deltas == {1: 2} and commit.balances == {1: BALANCE + 2} and commit.tags == {9: 0}
