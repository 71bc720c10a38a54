"""The lock: order of arrival, and cancelled waits."""

from __future__ import annotations

import asyncio

import pytest

from aioifx.client.session.lock import FairLock
from tests.scripted import until


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
