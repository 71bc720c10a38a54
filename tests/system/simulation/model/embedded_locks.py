"""The model's database with the locks of the embedded server. Never: a decision about a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from aioifx.server.sqlite.lock_manager import Kind, LockMode, LockRefused, Resource
from tests.server.sqlite.stepped_locks import SteppedLocks
from tests.system.simulation.model.database import LOCKED, Database, DatabaseFailure, Key, Transaction

_MODES: Final = {False: LockMode.S, True: LockMode.X}


class _Wait(NamedTuple):
    key: Key
    exclusive: bool


class EmbeddedLocks(Database):
    """A database whose locks are granted, queued and refused by the embedded server's lock manager."""

    def __init__(self, clock: Callable[[], float], bugs: frozenset[str] = frozenset()) -> None:
        super().__init__(clock, bugs)
        self.manager = SteppedLocks()
        self._waits: dict[Transaction, _Wait] = {}

    def try_lock(self, transaction: Transaction, key: Key, exclusive: bool) -> bool:
        if not self.manager.try_acquire(transaction, _resource(key), _MODES[exclusive]):
            return False
        self._note(transaction, key)
        return True

    def wait(
        self, transaction: Transaction, key: Key, exclusive: bool, wake: Callable[[], None]
    ) -> Callable[[], None]:
        def on_granted() -> None:
            del self._waits[transaction]
            transaction.held[key] = exclusive
            wake()

        try:
            waiter = self.manager.wait(transaction, _resource(key), _MODES[exclusive], on_granted)
        except LockRefused as refused:
            raise DatabaseFailure(LOCKED, refused.isamcode) from None
        self._waits[transaction] = _Wait(key, exclusive)
        if self._is_in_a_circle(transaction):
            self.wrong.append(f"session {transaction.session} waits in a circle")

        def leave() -> None:
            if self._waits.pop(transaction, None) is not None:
                if not self.manager.holders_against(transaction, _resource(key), LockMode.X):
                    self.wrong.append(f"session {transaction.session} has waited for a free lock")
                waiter.leave()

        return leave

    def _is_in_a_circle(self, transaction: Transaction) -> bool:
        """Whether a transaction waits for itself: through holders of locks that it waits for, directly or not."""
        pending, seen = [transaction], set[Transaction]()
        while pending:
            waiter = pending.pop()
            wait = self._waits.get(waiter)
            if wait is None or waiter in seen:
                continue
            seen.add(waiter)
            resource = _resource(wait.key)
            holders = self.manager.holders_against(waiter, resource, _MODES[wait.exclusive])
            if transaction in holders:
                return True
            pending += [each for each in holders if isinstance(each, Transaction)]
        return False

    def _note(self, transaction: Transaction, key: Key) -> None:
        transaction.held[key] = self.manager.mode_of(transaction, _resource(key)) is LockMode.X

    def unlock(self, transaction: Transaction, key: Key) -> None:
        exclusive = transaction.held.pop(key, None)
        if exclusive is not None:
            self.manager.release(transaction, _resource(key), _MODES[exclusive])

    def _end(self, transaction: Transaction) -> None:
        self.manager.release_all(transaction)
        transaction.held.clear()
        super()._end(transaction)

    @property
    def locks(self) -> int:
        return len(self.manager.locks())


def _resource(key: Key) -> Resource:
    return Resource("shop", 100, Kind.ROW, key)
