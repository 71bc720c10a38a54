"""A lock that is acquired in order of arrival. Never: what it protects, a time limit."""

from __future__ import annotations

import asyncio
from collections import deque


class FairLock:
    """First come, first served: `release` passes the lock to the next waiter, so that no other task can acquire it
    before that one runs.
    """

    __slots__ = ("is_locked", "waiters")

    def __init__(self) -> None:
        self.is_locked = False
        """Set it to acquire the lock without waiting, while it is False."""
        self.waiters: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> None:
        """Acquire the lock. A cancelled wait loses its place, and passes on a lock that it was given."""
        if not self.is_locked:
            self.is_locked = True
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiters.append(waiter)
        try:
            await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():
                self.release()  # passed on just before the cancellation
            elif waiter in self.waiters:
                self.waiters.remove(waiter)
            raise

    def release(self) -> None:
        """Pass the lock to the next waiter, if there is one."""
        while self.waiters:
            waiter = self.waiters.popleft()
            if not waiter.done():  # otherwise its task is being cancelled
                return waiter.set_result(None)
        self.is_locked = False
