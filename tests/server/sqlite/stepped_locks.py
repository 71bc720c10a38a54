"""The lock manager without threads: requests wait in its queues while their callers go on. Never: a decision."""

from __future__ import annotations

from collections.abc import Callable

from aioifx.server.sqlite.lock_manager import LockManager, LockMode, Owner, Resource, _Request


class Waiter:
    """A request in a queue."""

    def __init__(self, locks: SteppedLocks, request: _Request) -> None:
        self._locks = locks
        self._request = request

    @property
    def is_granted(self) -> bool:
        """Whether its owner has the lock."""
        return self._request.is_granted

    @property
    def is_refused(self) -> bool:
        """Whether it has to leave, because another request closed a circle."""
        return self._request.is_victim and not self._request.is_granted

    def leave(self) -> None:
        """Give up, unless it is granted."""
        self._locks.leave(self._request)


class SteppedLocks(LockManager):
    """The manager's own queues and decisions; only `LockManager._wait`, which blocks a thread, is not used."""

    def wait(self, owner: Owner, resource: Resource, mode: LockMode, wake: Callable[[], None]) -> Waiter:
        """Queue a request that `try_acquire` has not granted.

        Args:
            wake: called when it is granted or refused; must not call the manager.

        Raises:
            LockRefused: -143, it would close a circle.
        """
        with self._mutex:
            return Waiter(self, self._queued(owner, resource, mode, wake))

    def leave(self, request: _Request) -> None:
        """See `Waiter.leave`."""
        with self._mutex:
            if not request.is_granted:
                self._forget(request)
