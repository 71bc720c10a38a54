"""The locks of one server: modes, owners, queues, deadlocks. Never: SQLite, what a lock protects, SQLCODEs.

Invariants:
1. A request that conflicts with a holder, or with an earlier request of its resource, is queued after those requests.
   Only a request whose owner holds a lock on it already precedes them. So requests that conflict are granted in order
   of arrival.
2. An owner waits for at most one lock at a time. It waits for the holders and the earlier requests that conflict, and
   for no others. The request that would close a circle of waiting owners is refused, so no deadlock ever lasts.
3. A latch is held by a statement that never waits, or by a transaction in exclusive mode. If a request for a latch
   closes a circle, the waiting holder of the latch is refused instead: COMMIT and ROLLBACK need the latch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from time import monotonic, time
from typing import Final, NamedTuple, TypeAlias

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.frozen import Frozen
from aioifx.server.sqlite.interrupts import INTERRUPTED

ROW_LOCKED: Final = -107
"""ISAM: another owner has locked the row or key, and the request does not wait (documented)."""
TABLE_LOCKED: Final = -113
"""ISAM: another owner has locked the table, and the request does not wait (documented)."""
DEADLOCK: Final = -143
"""ISAM: to wait would close a circle of waiting owners (documented)."""
TIMED_OUT: Final = -154
"""ISAM: another owner has kept the lock longer than the request waits (documented)."""

Owner: TypeAlias = Hashable
"""Who holds locks: the transaction of a session; compared by identity or equality, as the object defines."""


class LockMode(StrEnum):
    """What a lock allows, from the weakest to the strongest; the values are those of syslocks.type."""

    IS = "IS"
    """Shared locks on some rows of the table."""
    IX = "IX"
    """Exclusive or update locks on some rows of the table."""
    S = "S"
    U = "U"
    """Shared, with the intention to change; at most one owner."""
    SIX = "SIX"
    """S and IX together."""
    X = "X"


_IS, _IX, _S, _U, _SIX, _X = LockMode
_COMPATIBLE: Final[dict[LockMode, frozenset[LockMode]]] = {
    _IS: frozenset({_IS, _IX, _S, _U, _SIX}),
    _IX: frozenset({_IS, _IX}),
    _S: frozenset({_IS, _S, _U}),
    _U: frozenset({_IS, _S}),
    _SIX: frozenset({_IS}),
    _X: frozenset(),
}
_COVERED: Final[dict[LockMode, frozenset[LockMode]]] = {
    _IS: frozenset({_IS}),
    _IX: frozenset({_IS, _IX}),
    _S: frozenset({_IS, _S}),
    _U: frozenset({_IS, _S, _U}),
    _SIX: frozenset({_IS, _IX, _S, _SIX}),
    _X: frozenset(LockMode),
}
_UNION: Final = {
    (one, other): next(mode for mode in LockMode if {one, other} <= _COVERED[mode])
    for one in LockMode
    for other in LockMode
}
_OF_WRITERS: Final = _COVERED[_X] - _COVERED[_U]
"""Modes of a table's lock that announce changed rows."""


def are_compatible(one: LockMode, other: LockMode) -> bool:
    """Whether two owners may hold these modes on one resource at a time."""
    return other in _COMPATIBLE[one]


class Kind(IntEnum):
    """What a resource is."""

    TABLE = 1
    ROW = 2
    KEY = 3
    """A value of a unique key, which may belong to no row any more."""
    LATCH = 4
    """The write latch of a database file: SQLite has one writer at a time."""


class Resource(NamedTuple):
    """What can be locked."""

    database: str
    tabid: int
    kind: Kind
    key: Hashable = None
    """The rowid of a row; the columns and values of a key."""


class HeldLock(NamedTuple):
    """A lock at one moment."""

    owner: Owner
    resource: Resource
    mode: LockMode
    since: float
    """When it was granted, in seconds since the epoch."""
    waiters: tuple[Owner, ...]
    """Owners that wait for the resource, in order."""


class LockCounts(Frozen):
    """Counts since the start of the server, as sysmaster:sysprofile shows them; without those of latches."""

    requests: int = 0
    waits: int = 0
    deadlocks: int = 0
    timeouts: int = 0


class LockRefused(Exception):
    """A lock was not granted; each statement maps this to its own SQLCODE."""

    def __init__(self, isamcode: int, resource: Resource | None = None) -> None:
        super().__init__(isamcode, resource)
        self.isamcode = isamcode
        self.resource = resource


@dataclass(slots=True, eq=False)
class _Request:
    owner: Owner
    resource: Resource
    mode: LockMode
    """The mode that its owner would hold."""
    wake: Callable[[], None]
    """Called under the mutex when it is granted or refused."""
    is_granted: bool = False
    is_victim: bool = False
    """Whether it is refused because another request closed a circle."""


class LockManager:
    """All locks of one server; thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._granted: dict[Resource, dict[Owner, LockMode]] = {}
        self._owned: dict[Owner, dict[Resource, float]] = {}
        """The time at which each lock of an owner was granted."""
        self._queues: dict[Resource, list[_Request]] = {}
        self._waiting: dict[Owner, _Request] = {}
        self._counts = LockCounts()
        self._requests = 0
        self.releases = 0
        """Increases with each release; if it has not changed, no lock was released meanwhile."""

    # -- acquiring -----------------------------------------------------------------------------------------------------

    def try_acquire(self, owner: Owner, resource: Resource, mode: LockMode) -> bool:
        """Acquire a lock if that needs no wait; returns whether *owner* holds it now."""
        with self._mutex:
            self._requests += 1
            return self._take(owner, resource, mode) is not None

    def acquire(
        self,
        owner: Owner,
        resource: Resource,
        mode: LockMode,
        *,
        wait: float | None,
        interrupted: Callable[[], bool],
    ) -> bool:
        """Acquire a lock, in addition to the mode that *owner* holds; returns whether it did not hold it before.

        Args:
            wait: seconds; 0 for NOT WAIT, None for no limit.
            interrupted: called before each wait; not called again after it has returned True.

        Raises:
            LockRefused: -107, -113, -154 or -143.
            SqlError: -213, interrupted while waiting.
        """
        with self._mutex:
            self._requests += resource.kind is not Kind.LATCH
            taken = self._take(owner, resource, mode)
            if taken is not None:
                return taken
            if wait == 0:
                raise LockRefused(TABLE_LOCKED if resource.kind is Kind.TABLE else ROW_LOCKED, resource)
            condition = threading.Condition(self._mutex)
            self._wait(self._queued(owner, resource, mode, condition.notify), condition, wait, interrupted)
            return True

    def acquire_new(self, owner: Owner, resources: Sequence[Resource], mode: LockMode) -> None:
        """Acquire locks on new rows, whatever locks of others on former rows with their numbers are left."""
        now = time()
        with self._mutex:
            self._requests += len(resources)
            owned = self._owned.setdefault(owner, {})
            for resource in resources:
                self._granted.setdefault(resource, {})[owner] = mode
                owned[resource] = now

    def wait_for(
        self,
        owner: Owner,
        resource: Resource,
        mode: LockMode,
        *,
        wait: float | None,
        interrupted: Callable[[], bool],
    ) -> None:
        """Wait until *owner* could hold a lock, which it then does not hold.

        Args:
            wait: as for `acquire`.
            interrupted: as for `acquire`.

        Raises:
            LockRefused, SqlError: as `acquire`.
        """
        before = self.mode_of(owner, resource)
        if self.acquire(owner, resource, mode, wait=wait, interrupted=interrupted):
            self._restore(owner, resource, before)

    def _take(self, owner: Owner, resource: Resource, mode: LockMode) -> bool | None:
        """Grant the lock at once: whether it is new, or None if it is not granted."""
        holders = self._granted.get(resource)
        if holders is None:
            self._granted[resource] = {owner: mode}
        else:
            held = holders.get(owner)
            if held is None:
                queue = self._queues.get(resource)
                if queue is not None and _has_conflict(queue, mode):
                    return None
            else:
                if mode in _COVERED[held]:
                    return False
                mode = _UNION[held, mode]
            if _conflicting(holders, owner, mode):
                return None
            holders[owner] = mode
        self._note(owner, resource)
        return True

    def _note(self, owner: Owner, resource: Resource) -> None:
        owned = self._owned.get(owner)
        if owned is None:
            owned = self._owned[owner] = {}
        owned[resource] = time()

    def _queued(self, owner: Owner, resource: Resource, mode: LockMode, wake: Callable[[], None]) -> _Request:
        """Queue a request.

        Raises:
            LockRefused: -143, it would close a circle.
        """
        held = self._granted[resource].get(owner)
        request = _Request(owner, resource, mode if held is None else _UNION[held, mode], wake)
        queue = self._queues.setdefault(resource, [])
        queue.insert(len(queue) if held is None else 0, request)
        self._waiting[owner] = request
        circle = self._circle(request)
        if circle:
            self._counts = replace(self._counts, deadlocks=self._counts.deadlocks + 1)
            victim = self._victim(request, circle)
            if victim is request:
                self._forget(request)
                raise LockRefused(DEADLOCK, resource)
            victim.is_victim = True
            victim.wake()
        return request

    def _wait(
        self,
        request: _Request,
        condition: threading.Condition,
        wait: float | None,
        interrupted: Callable[[], bool],
    ) -> None:
        is_lock = request.resource.kind is not Kind.LATCH
        self._counts = replace(self._counts, waits=self._counts.waits + is_lock)
        deadline = None if wait is None else monotonic() + wait
        try:
            while not request.is_granted:
                if request.is_victim:
                    raise LockRefused(DEADLOCK, request.resource)
                if interrupted():
                    raise SqlError(*INTERRUPTED)
                remaining = None if deadline is None else deadline - monotonic()
                if remaining is not None and remaining <= 0:
                    self._counts = replace(self._counts, timeouts=self._counts.timeouts + is_lock)
                    raise LockRefused(TIMED_OUT, request.resource)
                condition.wait(remaining)
        finally:
            if not request.is_granted:
                self._forget(request)

    def _forget(self, request: _Request) -> None:
        """Remove a request from its queue, which may allow later ones."""
        del self._waiting[request.owner]
        self._queues[request.resource].remove(request)
        self._grant(request.resource)

    # -- the waits-for graph -------------------------------------------------------------------------------------------

    def _blockers(self, request: _Request) -> list[Owner]:
        """Owners that *request* waits for: conflicting holders, then earlier requests that conflict."""
        blockers = _conflicting(self._granted.get(request.resource, {}), request.owner, request.mode)
        for earlier in self._queues[request.resource]:
            if earlier is request:
                break
            if not are_compatible(earlier.mode, request.mode):
                blockers.append(earlier.owner)
        return blockers

    def _circle(self, request: _Request) -> list[_Request]:
        """The requests of a circle that *request* closes, itself first; none if it closes no circle."""
        if not self._is_waited_for(request):  # as in a crowd, whose requests all wait for one owner
            return []
        reached_from: dict[Owner, _Request | None] = {request.owner: None}
        to_visit = [request]
        while to_visit:
            waiter = to_visit.pop()
            for blocker in self._blockers(waiter):
                if blocker == request.owner:
                    return self._path(waiter, reached_from)
                waiting = self._waiting.get(blocker)
                if waiting is not None and not waiting.is_victim and blocker not in reached_from:
                    reached_from[blocker] = waiter
                    to_visit.append(waiting)
        return []

    def _is_waited_for(self, request: _Request) -> bool:
        """Whether other requests may wait for its owner: for a lock that it holds, or after the request."""
        if self._queues[request.resource][-1] is not request:
            return True
        owned, queues = self._owned.get(request.owner, {}), self._queues
        if len(owned) < len(queues):
            return any(resource in queues for resource in owned)
        return any(resource in owned for resource in queues)

    @staticmethod
    def _path(last: _Request, reached_from: dict[Owner, _Request | None]) -> list[_Request]:
        path: list[_Request] = []
        step: _Request | None = last
        while step is not None:
            path.insert(0, step)
            step = reached_from[step.owner]
        return path

    def _victim(self, request: _Request, circle: list[_Request]) -> _Request:
        if request.resource.kind is Kind.LATCH:
            return next((other for other in circle if other.resource.kind is not Kind.LATCH), request)
        return request

    # -- releasing -----------------------------------------------------------------------------------------------------

    def release(self, owner: Owner, resource: Resource, mode: LockMode) -> None:
        """Release a lock, unless *owner* holds another mode than *mode* on the resource by now."""
        with self._mutex:
            holders = self._granted.get(resource, {})
            if holders.get(owner) is mode:
                self.releases += 1
                self._drop(owner, resource)
                owned = self._owned[owner]
                del owned[resource]
                if not owned:
                    del self._owned[owner]

    def release_all(self, owner: Owner, kept: Mapping[Resource, LockMode] | None = None) -> None:
        """Release all locks of *owner*, except those in *kept*, which return to the mode there."""
        with self._mutex:
            owned = self._owned.pop(owner, None)
            if owned is not None:
                self.releases += 1
                for resource, since in owned.items():
                    if not kept or resource not in kept:
                        self._drop(owner, resource)
                        continue
                    self._owned.setdefault(owner, {})[resource] = since
                    self._granted[resource][owner] = kept[resource]
                    if resource in self._queues:
                        self._grant(resource)

    def _drop(self, owner: Owner, resource: Resource) -> None:
        holders = self._granted[resource]
        del holders[owner]
        if not holders:
            del self._granted[resource]
        if resource in self._queues:
            self._grant(resource)

    def _restore(self, owner: Owner, resource: Resource, mode: LockMode | None) -> None:
        """Return to the mode that *owner* held before `wait_for`."""
        held = self.mode_of(owner, resource)
        if held is not None and mode is None:
            self.release(owner, resource, held)
        elif mode is not None:
            with self._mutex:
                self.releases += 1
                self._granted[resource][owner] = mode
                if resource in self._queues:
                    self._grant(resource)

    def _grant(self, resource: Resource) -> None:
        """Grant queued requests, in order, that conflict neither with holders nor with those that stay before them."""
        left: list[_Request] = []
        holders = self._granted.setdefault(resource, {})
        for request in self._queues[resource]:
            if _has_conflict(left, request.mode) or _conflicting(holders, request.owner, request.mode):
                left.append(request)
                continue
            holders[request.owner] = request.mode
            self._note(request.owner, resource)
            del self._waiting[request.owner]
            request.is_granted = True
            request.wake()
        if left:
            self._queues[resource] = left
        else:
            del self._queues[resource]
        if not holders:
            del self._granted[resource]

    def wake(self, owner: Owner) -> None:
        """Make *owner* check for an interrupt, if it waits."""
        with self._mutex:
            request = self._waiting.get(owner)
            if request is not None:
                request.wake()

    @property
    def is_idle(self) -> bool:
        """Whether all locks and latches are free; this needs no mutex."""
        return not self._granted

    # -- questions -----------------------------------------------------------------------------------------------------

    def mode_of(self, owner: Owner, resource: Resource) -> LockMode | None:
        """The mode that *owner* holds."""
        with self._mutex:
            return self._granted.get(resource, {}).get(owner)

    def rows_of(self, owner: Owner) -> list[tuple[int, int]]:
        """The rows that *owner* has locked: their tabids and rowids."""
        with self._mutex:
            return [
                (resource.tabid, resource.key)
                for resource in self._owned.get(owner, ())
                if resource.kind is Kind.ROW and isinstance(resource.key, int)
            ]

    def is_waiting(self, owner: Owner) -> bool:
        """Whether *owner* waits for a lock."""
        with self._mutex:
            return owner in self._waiting

    def holders_against(self, owner: Owner, resource: Resource, mode: LockMode) -> list[Owner]:
        """The other owners whose locks conflict with *mode*."""
        with self._mutex:
            return _conflicting(self._granted.get(resource, {}), owner, mode)

    def has_foreign_row_locks(self, owner: Owner, database: str, tabids: Collection[int]) -> bool:
        """Whether others may have changed rows of one of the tables: they hold IX, SIX or X on it."""
        with self._mutex:
            return any(
                mode in _OF_WRITERS and holder != owner
                for tabid in tabids
                for holder, mode in self._granted.get(Resource(database, tabid, Kind.TABLE), {}).items()
            )

    def has_others(self, owner: Owner, database: str, tabid: int) -> bool:
        """Whether another owner has a lock on a table, or on rows or keys of it."""
        with self._mutex:
            holders = self._granted.get(Resource(database, tabid, Kind.TABLE), {})
            return any(holder != owner for holder in holders)

    def locks(self) -> list[HeldLock]:
        """All locks as they are now, except latches; those of one owner in the order in which it acquired them."""
        with self._mutex:
            return [
                HeldLock(
                    owner,
                    resource,
                    self._granted[resource][owner],
                    since,
                    tuple(request.owner for request in self._queues.get(resource, ())),
                )
                for owner, owned in self._owned.items()
                for resource, since in owned.items()
                if resource.kind is not Kind.LATCH
            ]

    def waiting(self) -> list[Owner]:
        """All owners that wait."""
        with self._mutex:
            return list(self._waiting)

    @property
    def counts(self) -> LockCounts:
        """Counts since the start."""
        with self._mutex:
            return replace(self._counts, requests=self._requests)


def _has_conflict(queue: list[_Request], mode: LockMode) -> bool:
    compatible = _COMPATIBLE[mode]
    return any(request.mode not in compatible for request in queue)


def _conflicting(holders: dict[Owner, LockMode], owner: Owner, mode: LockMode) -> list[Owner]:
    if not holders or (len(holders) == 1 and owner in holders):
        return []
    compatible = _COMPATIBLE[mode]
    return [holder for holder, held in holders.items() if held not in compatible and holder != owner]
