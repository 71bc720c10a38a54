"""Who gets which connection, and when one is opened or closed: a pool's decisions. Never: an await, a socket, a clock.

House rules:
1. Every method is told the time and returns what has to be done; nothing else happens.
2. First come, first served: a connection goes to whoever waits longest, even if somebody else could take it sooner.
3. ``len(idle) + len(lent) + opening <= max_size``, always. A connection is idle or lent, never both.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeAlias, TypeVar

C = TypeVar("C")
W = TypeVar("W", bound=Hashable)

BACKOFF_MIN: Final = 0.1
BACKOFF_MAX: Final = 30.0
"""Seconds between two tries to reach a server that is down; doubled from the first to the last."""

_DOUBLINGS: Final = 16
"""More than it takes; of a server that is down for days the power itself would overflow."""

PROBE_DELAY: Final = 0.5
"""Seconds at most between two tries while a task waits: a server that is back is used within a second."""

FAILURES_UNTIL_DOWN: Final = 3
"""Failed tries in a row after which the server counts as down."""


@dataclass(slots=True)
class Limits:
    """What a pool may do; durations in seconds, 0 for no limit where it is a maximum."""

    min_size: int = 1
    max_size: int = 10
    max_waiting: int = 0
    max_lifetime: float = 3600.0
    max_idle: float = 300.0
    check_after_idle: float = 30.0


@dataclass(slots=True, eq=False)
class Slot(Generic[C]):
    """One connection of the pool."""

    connection: C
    dies: float
    """When it is too old to be lent again."""
    generation: int
    idle_since: float = 0.0
    uses: int = 0


@dataclass(frozen=True, slots=True)
class Assign(Generic[C, W]):
    """Give *slot* to *waiter*; look first whether it is alive, if *check*."""

    waiter: W
    slot: Slot[C]
    check: bool


@dataclass(frozen=True, slots=True)
class Open:
    """Open a connection; tell `opened` or `failed`."""


@dataclass(frozen=True, slots=True)
class Close(Generic[C]):
    """Close this connection; it is none of the pool's any more."""

    slot: Slot[C]


@dataclass(frozen=True, slots=True)
class Reject(Generic[W]):
    """Tell *waiter* that it will get none."""

    waiter: W
    reason: str
    cause: Exception | None = None


Action: TypeAlias = Assign[C, W] | Open | Close[C] | Reject[W]


@dataclass(slots=True)
class Tally:
    """What has happened so far."""

    lent: int = 0
    opened: int = 0
    closed: int = 0
    failed: int = 0
    refused: int = 0
    most_waiting: int = 0


@dataclass(slots=True)
class PoolState(Generic[C, W]):
    """The state of a pool.

    Args:     spread: gives a number from 0 to 1; by it lifetimes and delays differ, so that not all end at once.
    """

    limits: Limits
    spread: Callable[[], float]
    idle: deque[Slot[C]] = field(default_factory=deque[Slot[C]])
    """The one that came back last stands right; it is lent first, so that those that are not needed grow old."""
    lent: set[Slot[C]] = field(default_factory=set[Slot[C]])
    waiting: OrderedDict[W, None] = field(default_factory=OrderedDict[W, None])
    opening: int = 0
    closing: bool = False
    tally: Tally = field(default_factory=Tally)
    _generation: int = 0
    _failures: int = 0
    _error: Exception | None = None
    _hopeless: bool = False
    """Whether the last failure is one that another try does not mend; then no task is kept waiting."""
    _retry_at: float = 0.0
    """When the server is tried again while no task waits."""
    _probe_at: float = 0.0
    """When it is tried again while tasks wait."""

    @property
    def size(self) -> int:
        """Connections that are open."""
        return len(self.idle) + len(self.lent)

    @property
    def error(self) -> Exception | None:
        """Why the last try to connect failed; None once one has succeeded."""
        return self._error

    @property
    def failures(self) -> int:
        """Failed tries in a row; those that follow soon after another, for waiting tasks, are not counted."""
        return self._failures

    @property
    def is_down(self) -> bool:
        """Whether the server has not been reached for some tries, and nothing is open."""
        return self._failures >= FAILURES_UNTIL_DOWN and not self.size

    def _is_in_vain(self, now: float) -> bool:
        """Whether to wait makes no sense."""
        return self._hopeless and self.is_down and now < self._retry_at

    @property
    def _next_try(self) -> float:
        """When the server may be tried again."""
        if self.waiting and not self._hopeless:
            return min(self._retry_at, self._probe_at)
        return self._retry_at

    # -- what borrowers do --------------------------------------------------------------------------------------------

    def wait(self, waiter: W, now: float) -> list[Action[C, W]]:
        """Somebody wants a connection."""
        if self.closing:
            return [self._refusal(waiter, "the pool is closed")]
        if self._is_in_vain(now):
            return [self._refusal(waiter, "the server cannot be reached")]
        most = self.limits.max_waiting
        if most and len(self.waiting) >= most and self.opening >= self._room:
            return [self._refusal(waiter, f"{most} are waiting already")]
        self.waiting[waiter] = None
        self.tally.most_waiting = max(self.tally.most_waiting, len(self.waiting))
        return self.decide(now)

    def wait_first(self, waiter: W, now: float) -> list[Action[C, W]]:
        """What somebody was lent turned out to be dead: it is the next one's turn again."""
        if self.closing:
            return [self._refusal(waiter, "the pool is closed")]
        self.waiting[waiter] = None
        self.waiting.move_to_end(waiter, last=False)
        return self.decide(now)

    def forget(self, waiter: W) -> None:
        """Somebody waits no longer."""
        self.waiting.pop(waiter, None)

    def give_back(self, slot: Slot[C], now: float, *, sound: bool, used: bool = True) -> list[Action[C, W]]:
        """A connection came back; one that is not sound is closed.

        Args:     used: False if whoever should have had it was gone.
        """
        self.lent.remove(slot)
        if not sound or self.closing or self._is_over(slot, now) or self.size >= self.limits.max_size:
            return [self._closed(slot), *self.decide(now)]
        if used:
            slot.idle_since = now
        self.idle.append(slot)
        return self.decide(now)

    def ended(self, connection: C, now: float) -> list[Action[C, W]]:
        """A connection has ended by itself. One that is lent is its borrower's until it comes back."""
        slot = next((slot for slot in self.idle if slot.connection is connection), None)
        if slot is None:
            return []
        self.idle.remove(slot)
        if not slot.uses:  # a server that ends what it has just begun is not asked without a pause
            self._retry_at = max(self._retry_at, now + BACKOFF_MIN)
            self._probe_at = max(self._probe_at, now + BACKOFF_MIN)
        return [self._closed(slot), *self.decide(now)]

    # -- what becomes of openings -------------------------------------------------------------------------------------

    def opened(self, connection: C, now: float) -> list[Action[C, W]]:
        """A connection has been opened."""
        self.opening -= 1
        self.tally.opened += 1
        self._failures, self._error, self._hopeless = 0, None, False
        self._retry_at = self._probe_at = 0.0
        lifetime = self.limits.max_lifetime * (1 - 0.1 * self.spread())
        slot = Slot(connection, now + lifetime if lifetime else float("inf"), self._generation, now)
        if self.closing or self.size >= self.limits.max_size:
            return [self._closed(slot), *self.decide(now)]
        self.idle.append(slot)
        return self.decide(now)

    def failed(self, error: Exception, now: float, *, permanent: bool = False) -> list[Action[C, W]]:
        """A connection could not be opened.

        Args:     hopeless: trying again will not help, as with a wrong password.
        """
        self.opening -= 1
        self.tally.failed += 1
        self._error, self._hopeless = error, permanent
        self._probe_at = now + PROBE_DELAY * (1 - 0.5 * self.spread())
        if permanent or now >= self._retry_at:  # those that were tried side by side have failed once
            self._failures = max(self._failures + 1, FAILURES_UNTIL_DOWN if permanent else 0)
            delay = min(BACKOFF_MIN * 2 ** min(self._failures - 1, _DOUBLINGS), BACKOFF_MAX)
            self._retry_at = now + delay * (1 - 0.5 * self.spread())
        return self.decide(now)

    def cancelled(self, now: float) -> list[Action[C, W]]:
        """An opening was given up."""
        self.opening -= 1
        return self.decide(now)

    # -- what the owner does ------------------------------------------------------------------------------------------

    def resize(self, min_size: int, max_size: int, now: float) -> list[Action[C, W]]:
        """Other limits; idle connections above the new ones are closed now, lent ones when they come back."""
        self.limits.min_size, self.limits.max_size = min_size, max_size
        surplus: list[Action[C, W]] = []
        while self.idle and self.size > max_size:
            surplus.append(self._closed(self.idle.popleft()))
        return surplus + self.decide(now)

    def expire(self, now: float) -> list[Action[C, W]]:
        """No connection that is open now will be lent again."""
        self._generation += 1
        return self.decide(now)

    def close(self) -> list[Action[C, W]]:
        """Lend nothing any more; what is lent is closed when it comes back."""
        self.closing = True
        refused: list[Action[C, W]] = [self._refusal(waiter, "the pool is closed") for waiter in self.waiting]
        self.waiting.clear()
        closed: list[Action[C, W]] = [self._closed(slot) for slot in self.idle]
        self.idle.clear()
        return refused + closed

    # -- deciding -----------------------------------------------------------------------------------------------------

    def decide(self, now: float) -> list[Action[C, W]]:
        """What is to be done now; called whenever something has changed, and at `next_deadline`."""
        if self.closing:
            return []
        actions: list[Action[C, W]] = [self._closed(slot) for slot in self._overdue(now)]
        while self.waiting and self.idle:
            waiter, _ = self.waiting.popitem(last=False)
            actions.append(self._lend(waiter, self.idle.pop(), now))
        while self.waiting and self._is_in_vain(now):
            waiter, _ = self.waiting.popitem(last=False)
            actions.append(self._refusal(waiter, "the server cannot be reached"))
        actions += self._openings(now)
        return actions

    def _overdue(self, now: float) -> list[Slot[C]]:
        """Idle connections to be closed: those that are over, and those that nobody has needed for long."""
        over = [slot for slot in self.idle if self._is_over(slot, now)]
        for slot in over:
            self.idle.remove(slot)
        longest = self.limits.max_idle
        while longest and self.idle and self.size > self.limits.min_size:
            if now - self.idle[0].idle_since < longest:
                break
            over.append(self.idle.popleft())
        return over

    def _is_over(self, slot: Slot[C], now: float) -> bool:
        return slot.generation != self._generation or now >= slot.dies

    def _lend(self, waiter: W, slot: Slot[C], now: float) -> Assign[C, W]:
        self.lent.add(slot)
        slot.uses += 1
        self.tally.lent += 1
        return Assign(waiter, slot, now - slot.idle_since > self.limits.check_after_idle)

    def _openings(self, now: float) -> list[Open]:
        """One for each that waits, and as many as the pool must have; none while the server is left alone."""
        if now < self._next_try:
            return []
        count = self._missing
        self.opening += count
        return [Open() for _ in range(count)]

    @property
    def _missing(self) -> int:
        """How many should be opened, and are not."""
        wanted = max(len(self.waiting), self.limits.min_size - self.size)
        return max(0, min(wanted, self._room) - self.opening)

    @property
    def _room(self) -> int:
        """How many may be opened at a time."""
        room = self.limits.max_size - self.size
        return min(room, 1) if self._failures else room  # one is enough to see whether the server is back

    def next_deadline(self, now: float) -> float | None:
        """When `decide` would decide otherwise by the time alone; None for never."""
        if self.closing:
            return None
        looks = [slot.dies for slot in self.idle]
        if self.limits.max_idle and self.idle and self.size > self.limits.min_size:
            looks.append(self.idle[0].idle_since + self.limits.max_idle)
        if self._missing:  # also if its time has come since `decide` was asked
            looks.append(max(now, self._next_try))
        return min((look for look in looks if look < float("inf")), default=None)

    def _closed(self, slot: Slot[C]) -> Close[C]:
        self.tally.closed += 1
        return Close(slot)

    def _refusal(self, waiter: W, reason: str) -> Reject[W]:
        self.tally.refused += 1
        return Reject(waiter, reason, self._error)
