from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from aioifx.server.sql.errors import SqlError
from aioifx.server.sqlite.write_lock import LOCKED, TIMED_OUT, LockRefused, WriterLock


def never() -> bool:
    return False


def in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """Run *work* elsewhere; what it gave or raised is in the list once the thread has ended."""
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcome


def until_waiting(lock: WriterLock, owner: str) -> None:
    while not lock.is_waiting(owner):
        pass


def test_a_free_lock_is_given_at_once() -> None:
    lock = WriterLock()
    lock.acquire("a", wait=0, brief=False, interrupted=never)
    lock.release("a")
    lock.acquire("b", wait=0, brief=False, interrupted=never)


def test_the_holder_may_ask_again() -> None:
    lock = WriterLock()
    lock.acquire("a", wait=0, brief=False, interrupted=never)
    lock.acquire("a", wait=0, brief=False, interrupted=never)
    lock.release("a")
    lock.acquire("b", wait=0, brief=False, interrupted=never)


def test_not_wait_is_refused_while_a_transaction_holds_it() -> None:
    lock = WriterLock()
    lock.acquire("a", wait=0, brief=False, interrupted=never)
    with pytest.raises(LockRefused) as refused:
        lock.acquire("b", wait=0, brief=False, interrupted=never)
    assert refused.value.isamcode == LOCKED
    assert not lock.is_waiting("b")


def test_waiting_ends_after_the_time_given() -> None:
    lock = WriterLock()
    lock.acquire("a", wait=0, brief=False, interrupted=never)
    with pytest.raises(LockRefused) as refused:
        lock.acquire("b", wait=0.01, brief=False, interrupted=never)
    assert refused.value.isamcode == TIMED_OUT


@pytest.mark.parametrize("wait", [None, 30.0])
def test_a_waiter_gets_the_lock_when_it_is_released(wait: float | None) -> None:
    lock = WriterLock()
    lock.acquire("a", wait=0, brief=False, interrupted=never)
    thread, outcome = in_thread(lambda: lock.acquire("b", wait=wait, brief=False, interrupted=never))
    until_waiting(lock, "b")
    lock.release("a")
    thread.join()
    assert outcome == [None]
    with pytest.raises(LockRefused):
        lock.acquire("c", wait=0, brief=False, interrupted=never)


def test_not_wait_waits_for_the_end_of_a_single_statement() -> None:
    lock = WriterLock()
    lock.acquire("a", wait=0, brief=True, interrupted=never)
    thread, outcome = in_thread(lambda: lock.acquire("b", wait=0, brief=False, interrupted=never))
    until_waiting(lock, "b")
    lock.release("a")
    thread.join()
    assert outcome == [None]


def test_waiters_are_served_in_the_order_in_which_they_came() -> None:
    lock = WriterLock()
    served: list[str] = []
    lock.acquire("holder", wait=0, brief=False, interrupted=never)

    def visit(name: str) -> None:
        lock.acquire(name, wait=None, brief=True, interrupted=never)
        served.append(name)
        lock.release(name)

    threads: list[threading.Thread] = []
    for name in ("first", "second", "third"):
        threads.append(in_thread(lambda name=name: visit(name))[0])  # type: ignore[misc]
        until_waiting(lock, name)
    lock.release("holder")
    for thread in threads:
        thread.join()
    assert served == ["first", "second", "third"]


def test_who_waits_is_known() -> None:
    lock = WriterLock()
    assert not lock.is_waiting("a")
    lock.acquire("a", wait=0, brief=False, interrupted=never)
    thread, _ = in_thread(lambda: lock.acquire("b", wait=None, brief=False, interrupted=never))
    until_waiting(lock, "b")
    assert [lock.is_waiting(name) for name in "abc"] == [False, True, False]
    lock.release("a")
    thread.join()
    assert not lock.is_waiting("b")


def test_an_interrupted_waiter_gives_up_with_minus_213() -> None:
    lock = WriterLock()
    interrupted = threading.Event()
    lock.acquire("a", wait=0, brief=False, interrupted=never)
    thread, outcome = in_thread(
        lambda: lock.acquire("b", wait=None, brief=False, interrupted=interrupted.is_set)
    )
    until_waiting(lock, "b")
    interrupted.set()
    lock.wake()
    thread.join()
    assert isinstance(outcome[0], SqlError)
    assert (outcome[0].sqlcode, outcome[0].isamcode) == (-213, -157)
    assert not lock.is_waiting("b")


def test_releasing_what_one_does_not_hold_changes_nothing() -> None:
    lock = WriterLock()
    lock.acquire("a", wait=0, brief=False, interrupted=never)
    lock.release("b")
    with pytest.raises(LockRefused):
        lock.acquire("b", wait=0, brief=False, interrupted=never)


def test_it_tells_its_holder_tables_and_waiters() -> None:
    lock = WriterLock()
    assert lock.held() is None
    lock.note_table("a", "t")  # it holds nothing
    lock.acquire("a", wait=0, brief=False, interrupted=never)
    for table in ("t", "u", "t"):
        lock.note_table("a", table)
    lock.note_table("b", "v")
    thread, _ = in_thread(lambda: lock.acquire("b", wait=None, brief=False, interrupted=never))
    until_waiting(lock, "b")
    held = lock.held()
    assert held is not None
    assert (held.holder, list(held.tables), held.waiters) == ("a", ["t", "u"], ("b",))
    lock.release("a")
    thread.join(20)
    assert lock.held() == ("b", {}, ())
