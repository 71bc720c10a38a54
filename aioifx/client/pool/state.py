"""A pool's decisions: which waiter gets which connection, when to open or close. Never: an await, a socket, a clock.

Invariants:
1. Every method takes the time and returns the actions to perform; it has no other effects.
2. First come, first served: a connection goes to the longest waiter, even if another task could use it sooner.
3. The number of open and opening connections is at most max_size, always. A connection is either idle or in use.
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
"""Longest delay in seconds between two attempts to reach a server that is down; the delay doubles up to it."""

_DOUBLINGS: Final = 16
"""Upper limit of the exponent, so that the power cannot overflow when a server is down for days."""

PROBE_DELAY: Final = 0.5
"""Longest delay in seconds between two attempts while a task waits, so a recovered server is used within a second."""

FAILURES_UNTIL_DOWN: Final = 3
"""Failed attempts in a row after which the server counts as down."""


@dataclass(slots=True)
class Limits:
    """Limits of a pool; durations in seconds; 0 as a maximum means no limit."""

    min_size: int = 1
    max_size: int = 10
    max_waiting: int = 0
    max_lifetime: float = 3600.0
    max_idle: float = 300.0
    check_after_idle: float = 30.0


@dataclass(slots=True, eq=False)
class Slot(Generic[C]):
    """A pooled connection."""

    connection: C
    dies: float
    """When the connection is too old to be assigned again."""
    generation: int
    idle_since: float = 0.0
    uses: int = 0


@dataclass(frozen=True, slots=True)
class Assign(Generic[C, W]):
    """Assign *slot* to *waiter*; with *check*, ping the connection first."""

    waiter: W
    slot: Slot[C]
    check: bool


@dataclass(frozen=True, slots=True)
class Open:
    """Open a connection, then call `opened` or `failed`."""


@dataclass(frozen=True, slots=True)
class Close(Generic[C]):
    """Close this connection, which no longer belongs to the pool."""

    slot: Slot[C]


@dataclass(frozen=True, slots=True)
class Reject(Generic[W]):
    """Reject *waiter* with an error."""

    waiter: W
    reason: str
    cause: Exception | None = None


Action: TypeAlias = Assign[C, W] | Open | Close[C] | Reject[W]


@dataclass(slots=True)
class Tally:
    """Counters since the pool was created."""

    lent: int = 0
    opened: int = 0
    closed: int = 0
    failed: int = 0
    refused: int = 0
    most_waiting: int = 0


@dataclass(slots=True)
class PoolState(Generic[C, W]):
    """The state of a pool.

    Args:     spread: returns a number from 0 to 1, which randomises lifetimes and delays so that they do not coincide.
    """

    limits: Limits
    spread: Callable[[], float]
    idle: deque[Slot[C]] = field(default_factory=deque[Slot[C]])
    """The most recently used is last and is assigned first, so that surplus connections reach max_idle."""
    lent: set[Slot[C]] = field(default_factory=set[Slot[C]])
    waiting: OrderedDict[W, None] = field(default_factory=OrderedDict[W, None])
    opening: int = 0
    closing: bool = False
    tally: Tally = field(default_factory=Tally)
    _generation: int = 0
    _failures: int = 0
    _error: Exception | None = None
    _hopeless: bool = False
    """Whether the last failure is permanent; then no task is kept waiting."""
    _retry_at: float = 0.0
    """When to try the server again while no task waits."""
    _probe_at: float = 0.0
    """When to try the server again while tasks wait."""

    @property
    def size(self) -> int:
        """Number of open connections."""
        return len(self.idle) + len(self.lent)

    @property
    def error(self) -> Exception | None:
        """The last connect error; None after a success."""
        return self._error

    @property
    def failures(self) -> int:
        """Failed attempts in a row; quick retries on behalf of waiting tasks are not counted."""
        return self._failures

    @property
    def is_down(self) -> bool:
        """Whether several attempts to reach the server have failed and no connection is open."""
        return self._failures >= FAILURES_UNTIL_DOWN and not self.size

    def _is_in_vain(self, now: float) -> bool:
        """Whether waiting is pointless."""
        return self._hopeless and self.is_down and now < self._retry_at

    @property
    def _next_try(self) -> float:
        """Earliest time of the next attempt."""
        if self.waiting and not self._hopeless:
            return min(self._retry_at, self._probe_at)
        return self._retry_at

    # -- acquire and release ------------------------------------------------------------------------------------------

    def wait(self, waiter: W, now: float) -> list[Action[C, W]]:
        """Add a waiter."""
        if self.closing:
            return [self._refusal(waiter, "the pool is closed")]
        if self._is_in_vain(now):
            return [self._refusal(waiter, "the server cannot be reached")]
        most = self.limits.max_waiting
        if most and len(self.waiting) >= most and self.opening >= self._room:
            return [self._refusal(waiter, f"max_waiting: {most} tasks are already waiting")]
        self.waiting[waiter] = None
        self.tally.most_waiting = max(self.tally.most_waiting, len(self.waiting))
        return self.decide(now)

    def wait_first(self, waiter: W, now: float) -> list[Action[C, W]]:
        """Put a waiter first in the queue again, because the assigned connection was dead."""
        if self.closing:
            return [self._refusal(waiter, "the pool is closed")]
        self.waiting[waiter] = None
        self.waiting.move_to_end(waiter, last=False)
        return self.decide(now)

    def forget(self, waiter: W) -> None:
        """Remove a waiter."""
        self.waiting.pop(waiter, None)

    def give_back(self, slot: Slot[C], now: float, *, sound: bool, used: bool = True) -> list[Action[C, W]]:
        """Return a connection to the pool; one that is not sound is closed.

        Args:     used: False if the waiter was cancelled before it got the connection.
        """
        self.lent.remove(slot)
        if not sound or self.closing or self._is_over(slot, now) or self.size >= self.limits.max_size:
            return [self._closed(slot), *self.decide(now)]
        if used:
            slot.idle_since = now
        self.idle.append(slot)
        return self.decide(now)

    def ended(self, connection: C, now: float) -> list[Action[C, W]]:
        """Called when the connection was closed by the server. One in use stays with its user until released."""
        slot = next((slot for slot in self.idle if slot.connection is connection), None)
        if slot is None:
            return []
        self.idle.remove(slot)
        if not slot.uses:  # back off if the server closes connections as soon as they open
            self._retry_at = max(self._retry_at, now + BACKOFF_MIN)
            self._probe_at = max(self._probe_at, now + BACKOFF_MIN)
        return [self._closed(slot), *self.decide(now)]

    # -- results of opening -------------------------------------------------------------------------------------------

    def opened(self, connection: C, now: float) -> list[Action[C, W]]:
        """Called when a connection has been opened."""
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
        """Called when a connection could not be opened.

        Args:     permanent: a retry cannot succeed, as with a wrong password.
        """
        self.opening -= 1
        self.tally.failed += 1
        self._error, self._hopeless = error, permanent
        self._probe_at = now + PROBE_DELAY * (1 - 0.5 * self.spread())
        if permanent or now >= self._retry_at:  # concurrent attempts count as one failure
            self._failures = max(self._failures + 1, FAILURES_UNTIL_DOWN if permanent else 0)
            delay = min(BACKOFF_MIN * 2 ** min(self._failures - 1, _DOUBLINGS), BACKOFF_MAX)
            self._retry_at = now + delay * (1 - 0.5 * self.spread())
        return self.decide(now)

    def cancelled(self, now: float) -> list[Action[C, W]]:
        """Called when an attempt was cancelled."""
        self.opening -= 1
        return self.decide(now)

    # -- management ---------------------------------------------------------------------------------------------------

    def resize(self, min_size: int, max_size: int, now: float) -> list[Action[C, W]]:
        """Change the sizes. Surplus connections are closed: idle ones now, others on release."""
        self.limits.min_size, self.limits.max_size = min_size, max_size
        surplus: list[Action[C, W]] = []
        while self.idle and self.size > max_size:
            surplus.append(self._closed(self.idle.popleft()))
        return surplus + self.decide(now)

    def expire(self, now: float) -> list[Action[C, W]]:
        """Replace every connection that is open now."""
        self._generation += 1
        return self.decide(now)

    def close(self) -> list[Action[C, W]]:
        """Stop assigning connections; those in use are closed on release."""
        self.closing = True
        refused: list[Action[C, W]] = [self._refusal(waiter, "the pool is closed") for waiter in self.waiting]
        self.waiting.clear()
        closed: list[Action[C, W]] = [self._closed(slot) for slot in self.idle]
        self.idle.clear()
        return refused + closed

    # -- decisions ----------------------------------------------------------------------------------------------------

    def decide(self, now: float) -> list[Action[C, W]]:
        """The actions due now; called after every change and at `next_deadline`."""
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
        """Remove and return the idle connections to close: expired ones, and surplus ones after max_idle."""
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
        """One for each waiter, and enough for min_size; none before `_next_try`."""
        if now < self._next_try:
            return []
        count = self._missing
        self.opening += count
        return [Open() for _ in range(count)]

    @property
    def _missing(self) -> int:
        """How many more connections to open."""
        wanted = max(len(self.waiting), self.limits.min_size - self.size)
        return max(0, min(wanted, self._room) - self.opening)

    @property
    def _room(self) -> int:
        """How many connections may be opening at a time."""
        room = self.limits.max_size - self.size
        return (
            min(room, 1) if self._failures else room
        )  # one attempt is enough to detect that the server is back

    def next_deadline(self, now: float) -> float | None:
        """When time alone changes the result of `decide`; None for never."""
        if self.closing:
            return None
        looks = [slot.dies for slot in self.idle]
        if self.limits.max_idle and self.idle and self.size > self.limits.min_size:
            looks.append(self.idle[0].idle_since + self.limits.max_idle)
        if self._missing:  # also if it became due after the last `decide`
            looks.append(max(now, self._next_try))
        return min((look for look in looks if look < float("inf")), default=None)

    def _closed(self, slot: Slot[C]) -> Close[C]:
        self.tally.closed += 1
        return Close(slot)

    def _refusal(self, waiter: W, reason: str) -> Reject[W]:
        self.tally.refused += 1
        return Reject(waiter, reason, self._error)
