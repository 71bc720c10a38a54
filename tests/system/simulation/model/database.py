"""Rows, transactions with savepoints, two-phase locks, and the log of what was committed. Never: a message.

Writers lock rows exclusively until their transaction ends. Readers at REPEATABLE READ and FOR UPDATE keep their locks
as long; other readers only wait for writers. So the order of commits is an order in which the transactions could have
run one after the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from operator import is_not
from typing import Final

from tests.system.simulation.model.changes import Changed, ChangeLog

Key = Hashable

ACCOUNTS: Final = 4
BALANCE: Final = 100
WIDE: Final = 150
"""Rows of the table wide, which is never written."""

LOCKED: Final = -244
"""Could not do a physical-order read to fetch next row (documented), with the ISAM error of the lock."""
_ISAM_LOCKED: Final = -107
_ISAM_DEADLOCK: Final = -143
_ISAM_TIMEOUT: Final = -154


class DatabaseFailure(Exception):
    """A statement fails."""

    def __init__(self, sqlcode: int, isamcode: int = 0) -> None:
        super().__init__(sqlcode, isamcode)
        self.sqlcode = sqlcode
        self.isamcode = isamcode


@dataclass(slots=True)
class Commit:
    """What one transaction has changed."""

    session: int
    time: float
    deltas: dict[int, int]
    """What was added to the balance of each account."""
    balances: dict[int, int]
    """The balances of those accounts afterwards."""
    tags: dict[int, int]
    """Notes inserted, or with a minus deleted, of each tag."""


class Transaction:
    """Changes and locks of one session."""

    def __init__(self, database: Database, session: int) -> None:
        self.database = database
        self.session = session
        self.undo: list[Callable[[], None]] = []
        self.savepoints: dict[str, int] = {}
        self.held: dict[Key, bool] = {}
        """Locks, and whether they are exclusive."""
        self.waits_for: _Waiter | None = None

    def set_savepoint(self, name: str) -> None:
        self.savepoints.pop(name, None)
        self.savepoints[name] = len(self.undo)

    def release_savepoint(self, name: str) -> None:
        """It and all later ones."""
        self._find(name)
        names = list(self.savepoints)
        for each in names[names.index(name) :]:
            del self.savepoints[each]

    def rollback_to(self, name: str) -> None:
        mark = self._find(name)
        self.undo_to(mark)
        names = list(self.savepoints)
        for each in names[names.index(name) + 1 :]:
            del self.savepoints[each]

    def _find(self, name: str) -> int:
        if name not in self.savepoints:
            raise DatabaseFailure(-278)
        return self.savepoints[name]

    def undo_to(self, mark: int) -> None:
        first = 0
        while len(self.undo) > mark:
            undo = self.undo.pop()
            undo()
            first = getattr(undo, "sequence", first)
        if first:
            self.database.log.discard(self, first)


@dataclass(slots=True, eq=False)
class _Waiter:
    transaction: Transaction
    key: Key
    exclusive: bool
    wake: Callable[[], None]


@dataclass(slots=True)
class _Lock:
    holders: dict[Transaction, bool] = field(default_factory=dict[Transaction, bool])
    queue: deque[_Waiter] = field(default_factory=deque[_Waiter])


class Database:
    """Shared by all servers of a scenario; it outlives their crashes.

    Args:
        bugs: mistakes of the server, which tests of the laws put in: see `model.server`.
    """

    def __init__(self, clock: Callable[[], float], bugs: frozenset[str] = frozenset()) -> None:
        self.clock = clock
        self.bugs = bugs
        self.accounts = dict.fromkeys(range(1, ACCOUNTS + 1), BALANCE)
        self.notes: dict[int, tuple[int, str]] = {}
        self.serial = 0
        self.version = 0
        """Changed by each ALTER TABLE; statements prepared before are stale."""
        self.commits: list[Commit] = []
        self.log = ChangeLog(clock)
        self.wrong: list[str] = []
        """Waits for locks that could not end, or had no reason."""
        self._locks: dict[Key, _Lock] = {}

    # -- locks ---------------------------------------------------------------------------------------------------------

    def try_lock(self, transaction: Transaction, key: Key, exclusive: bool) -> bool:
        """Lock, unless another transaction is in the way."""
        if transaction.held.get(key, False) or (not exclusive and key in transaction.held):
            return True
        lock = self._locks.setdefault(key, _Lock())
        if not self._is_free(lock, transaction, exclusive) or (lock.queue and key not in transaction.held):
            return False
        self._grant(lock, key, transaction, exclusive)
        return True

    @staticmethod
    def _is_free(lock: _Lock, transaction: Transaction, exclusive: bool) -> bool:
        others = [mode for holder, mode in lock.holders.items() if holder is not transaction]
        return not others or not (exclusive or any(others))

    @staticmethod
    def _grant(lock: _Lock, key: Key, transaction: Transaction, exclusive: bool) -> None:
        lock.holders[transaction] = lock.holders.get(transaction, False) or exclusive
        transaction.held[key] = lock.holders[transaction]

    def wait(
        self, transaction: Transaction, key: Key, exclusive: bool, wake: Callable[[], None]
    ) -> Callable[[], None]:
        """Queue for a lock; *wake* is called when it is granted.

        Returns:
            What leaves the queue.

        Raises:
            DatabaseFailure: the wait would close a circle.
        """
        waiter = _Waiter(transaction, key, exclusive, wake)
        lock = self._locks[key]
        is_stronger = transaction in lock.holders  # a stronger lock goes first
        if self._closes_circle(waiter, () if is_stronger else lock.queue):
            raise DatabaseFailure(LOCKED, _ISAM_DEADLOCK)
        if is_stronger:
            lock.queue.appendleft(waiter)
        else:
            lock.queue.append(waiter)
        transaction.waits_for = waiter

        def leave() -> None:
            transaction.waits_for = None
            if waiter in lock.queue:
                lock.queue.remove(waiter)
                self._serve(key)

        return leave

    def _closes_circle(self, waiter: _Waiter, ahead: Iterable[_Waiter]) -> bool:
        """Whether a transaction that *waiter* would wait for waits for it already, directly or not."""
        pending = self._in_the_way(waiter, ahead)
        seen: set[Transaction] = set()
        while pending:
            other = pending.pop()
            if other is waiter.transaction:
                return True
            waits_for = other.waits_for
            if other in seen or waits_for is None:
                continue
            seen.add(other)
            queue = self._locks[waits_for.key].queue
            pending += self._in_the_way(waits_for, takewhile(partial(is_not, waits_for), queue))
        return False

    def _in_the_way(self, waiter: _Waiter, ahead: Iterable[_Waiter]) -> list[Transaction]:
        """The transactions that *waiter* waits for: other holders, and those before it in the queue."""
        holders = self._locks[waiter.key].holders
        others = [
            each for each in holders if each is not waiter.transaction and (holders[each] or waiter.exclusive)
        ]
        return others + [each.transaction for each in ahead]

    def _serve(self, key: Key) -> None:
        lock = self._locks[key]
        while lock.queue and self._is_free(lock, lock.queue[0].transaction, lock.queue[0].exclusive):
            waiter = lock.queue.popleft()
            waiter.transaction.waits_for = None
            self._grant(lock, key, waiter.transaction, waiter.exclusive)
            waiter.wake()
        if not lock.holders and not lock.queue:
            del self._locks[key]

    def unlock(self, transaction: Transaction, key: Key) -> None:
        """Release one lock."""
        if transaction.held.pop(key, None) is not None:
            del self._locks[key].holders[transaction]
            self._serve(key)

    @property
    def locks(self) -> int:
        """Locks that are held."""
        return sum(len(lock.holders) for lock in self._locks.values())

    # -- changes -------------------------------------------------------------------------------------------------------

    def add(self, transaction: Transaction, account: int, amount: int) -> int:
        """Add to a balance; returns the number of rows."""
        if account not in self.accounts:
            return 0
        before = self.accounts[account]
        self.accounts[account] += amount

        def undo() -> None:
            self.accounts[account] -= amount

        changed = Changed("account", (account, before), (account, before + amount))
        self._changed(transaction, undo, ("delta", account, amount), [changed])
        return 1

    def insert_note(self, transaction: Transaction, tag: int, text: str) -> int:
        """Insert a note; returns its serial."""
        self.serial += 1
        number = self.serial
        self.notes[number] = (tag, text)

        def undo() -> None:
            del self.notes[number]

        self._changed(transaction, undo, ("tag", tag, 1), [Changed("note", None, (number, tag, text))])
        return number

    def delete_notes(self, transaction: Transaction, tag: int) -> int:
        """Delete the notes with a tag; returns their number."""
        gone = {number: note for number, note in self.notes.items() if note[0] == tag}
        for number in gone:
            del self.notes[number]

        def undo() -> None:
            self.notes.update(gone)

        if gone:
            changed = [Changed("note", (number, *note), None) for number, note in gone.items()]
            self._changed(transaction, undo, ("tag", tag, -len(gone)), changed)
        return len(gone)

    def _changed(
        self,
        transaction: Transaction,
        undo: Callable[[], None],
        change: tuple[str, int, int],
        rows: list[Changed],
    ) -> None:
        """Note a change, with how to undo it."""
        undo.change, undo.rows = change, rows  # type: ignore[attr-defined]
        undo.sequence = self.log.add(transaction, rows)  # type: ignore[attr-defined]
        transaction.undo.append(undo)

    def alter(self, transaction: Transaction) -> None:
        """Make statements stale; a rollback does so as well."""

        def change() -> None:
            self.version += 1

        change()
        change.change = None  # type: ignore[attr-defined]
        transaction.undo.append(change)

    def commit(self, transaction: Transaction) -> None:
        """Make the changes permanent, and release the locks."""
        deltas: dict[int, int] = {}
        tags: dict[int, int] = {}
        rows: list[Changed] = []
        for each in transaction.undo:
            if each.change is None:  # type: ignore[attr-defined]
                continue  # not of rows
            kind, key, amount = each.change  # type: ignore[attr-defined]
            target = deltas if kind == "delta" else tags
            target[key] = target.get(key, 0) + amount
            rows += each.rows  # type: ignore[attr-defined]
        if "lose commits" in self.bugs and tags and self.serial % 3 == 0:
            transaction.undo_to(0)
        elif deltas or tags:
            balances = {account: self.accounts[account] for account in deltas}
            self.commits.append(Commit(transaction.session, self.clock(), deltas, balances, tags))
        self.log.commit(transaction, rows)
        self._end(transaction)

    def rollback(self, transaction: Transaction) -> None:
        """Undo the changes, and release the locks."""
        if "keep rolled back work" in self.bugs:
            self.commit(transaction)
            return
        self.log.rollback(transaction)
        transaction.undo_to(0)
        self._end(transaction)

    def _end(self, transaction: Transaction) -> None:
        transaction.undo.clear()
        transaction.savepoints.clear()
        for key in list(transaction.held):
            self.unlock(transaction, key)

    def lock_timeout(self, waited: bool) -> DatabaseFailure:
        """The error of a wait for a lock that has ended, or of one that was not to be waited for."""
        return DatabaseFailure(LOCKED, _ISAM_TIMEOUT if waited else _ISAM_LOCKED)


def wide_text(number: int) -> str:
    """The text of a row of the table wide."""
    return f"row {number} " + "x" * (number % 90)


__all__ = ["ACCOUNTS", "BALANCE", "WIDE", "Commit", "Database", "DatabaseFailure", "Transaction", "wide_text"]
