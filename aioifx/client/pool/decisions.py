"""A pool's decisions: which waiter gets which connection, when to open or close. Never: an await, a socket, a clock.

Invariants:
1. Every method takes the time and returns the actions to perform; it has no other effects.
2. First come, first served: a connection goes to the longest waiter, even if another task could use it sooner.
3. The number of open and opening connections is at most max_size, always. A connection is either idle or in use.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, Generic, TypeAlias, TypeVar

from aioifx.client.pool.stats import Counters

C = TypeVar("C", bound=Hashable)
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


_idle_since: Final[Callable[[object], float]] = attrgetter("idle_since")


@dataclass(slots=True, eq=False)
class PooledConnection(Generic[C]):
    """A connection of the pool, idle or in use."""

    session: C
    expires_at: float
    """When the connection has reached max_lifetime; minus infinity after `PoolState.expire`."""
    idle_since: float = 0.0
    was_used: bool = False
    held_since: float | None = None
    """When a task has got it; None while it is idle, checked or reset."""
    user: object = None
    """In debug mode, that task."""


@dataclass(frozen=True, slots=True)
class Assign(Generic[C, W]):
    """Assign *pooled* to *waiter*; with *check*, ping the connection first."""

    waiter: W
    pooled: PooledConnection[C]
    check: bool


@dataclass(frozen=True, slots=True)
class Open:
    """Open a connection, then call `on_opened` or `on_open_failed`."""


@dataclass(frozen=True, slots=True)
class Close(Generic[C]):
    """Close this connection, which no longer belongs to the pool."""

    pooled: PooledConnection[C]
    reason: str
    """For the log."""


@dataclass(frozen=True, slots=True)
class Reject(Generic[W]):
    """Reject *waiter* with an error."""

    waiter: W
    reason: str
    cause: BaseException | None = None


Action: TypeAlias = Assign[C, W] | Open | Close[C] | Reject[W]


@dataclass(slots=True)
class PoolState(Generic[C, W]):
    """The state of a pool.

    Args:
        jitter: returns a number from 0 to 1, which randomises lifetimes and delays so that they do not coincide.
    """

    limits: Limits
    jitter: Callable[[], float]
    idle: deque[PooledConnection[C]] = field(default_factory=deque[PooledConnection[C]])
    """By `idle_since`. The last is assigned first, so that surplus connections reach max_idle."""
    in_use: set[PooledConnection[C]] = field(default_factory=set[PooledConnection[C]])
    waiting: OrderedDict[W, None] = field(default_factory=OrderedDict[W, None])
    opening: int = 0
    is_closing: bool = False
    is_left: bool = False
    """Whether a task of the pool was cancelled by others, as at the end of an event loop. Until the pool is used again,
    it opens connections for its waiters alone."""
    counters: Counters = field(default_factory=Counters)
    _open: dict[C, PooledConnection[C]] = field(default_factory=dict[C, PooledConnection[C]])
    """By session."""
    _failures: int = 0
    _error: BaseException | None = None
    _permanent: bool = False
    """Whether the last failure is permanent; then no task is kept waiting."""
    _retry_at: float = 0.0
    """When to try the server again while no task waits."""
    _probe_at: float = 0.0
    """When to try the server again while tasks wait."""
    _overdue_at: float = math.inf
    """Until then, no idle connection is overdue. Stored, so that an acquire does not look at all of them."""
    _due: float = math.inf
    """When time alone may change the result of `decide`, or earlier."""
    _steady_until: float = -math.inf
    """Until then, no acquire or release has actions. `decide` sets it after every change."""

    @property
    def size(self) -> int:
        """Number of open connections."""
        return len(self.idle) + len(self.in_use)

    @property
    def error(self) -> BaseException | None:
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

    def _rejects_waiters(self, now: float) -> bool:
        """Whether waiting is pointless."""
        return self._permanent and self.is_down and now < self._retry_at

    @property
    def _next_attempt_at(self) -> float:
        """Earliest time of the next attempt."""
        if self.waiting and not self._permanent:
            return min(self._retry_at, self._probe_at)
        return self._retry_at

    # -- acquire and release ------------------------------------------------------------------------------------------

    def acquire_idle(self, now: float) -> PooledConnection[C] | None:
        """An idle connection, if the task need not wait and no action is due; None: `enqueue` it."""
        idle = self.idle
        if now >= self._steady_until or not idle or now - idle[-1].idle_since > self.limits.check_after_idle:
            return None
        pooled = idle.pop()
        self.in_use.add(pooled)
        pooled.was_used = True
        return pooled

    def enqueue(self, waiter: W, now: float) -> list[Action[C, W]]:
        """Add a waiter."""
        self.is_left = False
        if self.is_closing:
            return [self._rejection(waiter, "the pool is closed")]
        if self._rejects_waiters(now):
            return [self._rejection(waiter, "the server cannot be reached")]
        most = self.limits.max_waiting
        if most and len(self.waiting) >= most and self.opening >= self._opening_limit:
            return [self._rejection(waiter, f"max_waiting: {most} tasks are already waiting")]
        self.waiting[waiter] = None
        actions = self.decide(now)
        if len(self.waiting) > self.counters.most_waiting:
            self.counters.most_waiting = len(self.waiting)
        return actions

    def requeue_first(self, waiter: W, now: float) -> list[Action[C, W]]:
        """Put a waiter first in the queue again, because the assigned connection was dead."""
        if self.is_closing:
            return [self._rejection(waiter, "the pool is closed")]
        self.waiting[waiter] = None
        self.waiting.move_to_end(waiter, last=False)
        return self.decide(now)

    def cancel(self, waiter: W) -> None:
        """Remove a waiter."""
        self.waiting.pop(waiter, None)

    def release(
        self, pooled: PooledConnection[C], now: float, *, unhealthy: str = "", used: bool = True
    ) -> list[Action[C, W]]:
        """Return a connection to the pool; an unhealthy one is closed.

        Args:
            unhealthy: why it cannot be used again; empty if it can.
            used: False if the waiter was cancelled before it got the connection.
        """
        self.in_use.remove(pooled)
        reason = unhealthy or self._expiry(pooled, now) or self._surplus
        if reason:
            return [self._close_action(pooled, reason), *self.decide(now)]
        if used:
            pooled.idle_since = now
        return self._add_idle(pooled, now)

    def try_release(self, pooled: PooledConnection[C], now: float) -> bool:
        """`release` if no action follows, as at most releases; False: nothing was done."""
        if now >= self._steady_until or self._overdue_at > pooled.expires_at:
            return False
        self.in_use.remove(pooled)
        pooled.idle_since = now
        self.idle.append(pooled)
        return True

    def on_closed(self, session: C, now: float) -> list[Action[C, W]]:
        """Called when the connection was closed by the server. One in use stays with its user until released."""
        pooled = self._open.get(session)
        if pooled is None or pooled in self.in_use:
            return []
        self.idle.remove(pooled)
        if not pooled.was_used:  # back off if the server closes connections as soon as they open
            self._retry_at = max(self._retry_at, now + BACKOFF_MIN)
            self._probe_at = max(self._probe_at, now + BACKOFF_MIN)
        return [self._close_action(pooled, "it ended while idle"), *self.decide(now)]

    # -- results of opening -------------------------------------------------------------------------------------------

    def on_opened(self, session: C, now: float) -> list[Action[C, W]]:
        """Called when a connection has been opened."""
        self.opening -= 1
        self.counters.opened += 1
        self._failures, self._error, self._permanent = 0, None, False
        self._retry_at = self._probe_at = 0.0
        lifetime = self.limits.max_lifetime * (1 - 0.1 * self.jitter())
        pooled = PooledConnection(session, now + lifetime if lifetime else math.inf, now)
        if self._surplus:
            return [self._close_action(pooled, self._surplus), *self.decide(now)]
        self._open[session] = pooled
        return self._add_idle(pooled, now)

    def on_open_failed(
        self, error: BaseException, now: float, *, permanent: bool = False
    ) -> list[Action[C, W]]:
        """Called when a connection could not be opened.

        Args:
            permanent: a retry cannot succeed, as with a wrong password.
        """
        self.opening -= 1
        self.counters.failed += 1
        self._error, self._permanent = error, permanent
        self._probe_at = now + PROBE_DELAY * (1 - 0.5 * self.jitter())
        if permanent or now >= self._retry_at:  # concurrent attempts count as one failure
            self._failures = max(self._failures + 1, FAILURES_UNTIL_DOWN if permanent else 0)
            delay = min(BACKOFF_MIN * 2 ** min(self._failures - 1, _DOUBLINGS), BACKOFF_MAX)
            self._retry_at = now + delay * (1 - 0.5 * self.jitter())
        return self.decide(now)

    def on_open_cancelled(self, now: float) -> list[Action[C, W]]:
        """Called when an attempt was cancelled."""
        self.opening -= 1
        return self.decide(now)

    # -- management ---------------------------------------------------------------------------------------------------

    def resize(self, min_size: int, max_size: int, now: float) -> list[Action[C, W]]:
        """Change the sizes. Surplus connections are closed: idle ones now, others on release."""
        self.limits.min_size, self.limits.max_size = min_size, max_size
        self._overdue_at = now
        surplus: list[Action[C, W]] = []
        while self.idle and self.size > max_size:
            surplus.append(self._close_action(self.idle.popleft(), "max_size"))
        return surplus + self.decide(now)

    def expire(self, now: float) -> list[Action[C, W]]:
        """Replace every connection that is open now."""
        for pooled in (*self.idle, *self.in_use):
            pooled.expires_at = -math.inf
        self._overdue_at = now
        return self.decide(now)

    def close(self) -> list[Action[C, W]]:
        """Stop assigning connections; those in use are closed on release."""
        self.is_closing = True
        self._steady_until = -math.inf
        rejected: list[Action[C, W]] = [
            self._rejection(waiter, "the pool is closed") for waiter in self.waiting
        ]
        self.waiting.clear()
        closed: list[Action[C, W]] = [
            self._close_action(pooled, "the pool is closed") for pooled in self.idle
        ]
        self.idle.clear()
        return rejected + closed

    # -- decisions ----------------------------------------------------------------------------------------------------

    def decide(self, now: float) -> list[Action[C, W]]:
        """The actions due now; called after every change and at `next_deadline`."""
        if self.is_closing:
            return []
        actions: list[Action[C, W]] = []
        if now >= self._overdue_at:
            actions += self._close_overdue(now)
        while self.waiting and self.idle:
            waiter, _ = self.waiting.popitem(last=False)
            check = self._is_check_due(self.idle[-1], now)
            actions.append(Assign(waiter, self._take(), check))
        while self.waiting and self._rejects_waiters(now):
            waiter, _ = self.waiting.popitem(last=False)
            actions.append(self._rejection(waiter, "the server cannot be reached"))
        self._due = self._overdue_at
        if count := self._openings_needed:
            if now >= self._next_attempt_at:
                self.opening += count
                actions += [Open() for _ in range(count)]
            else:
                self._due = min(self._due, self._next_attempt_at)
        # Without an idle connection, as after a `resize` below the size, a release computes `_overdue_at`.
        is_computed = self.idle or self._overdue_at < math.inf
        self._steady_until = self._due if is_computed and not (self.waiting or self.is_left) else -math.inf
        return actions

    def _add_idle(self, pooled: PooledConnection[C], now: float) -> list[Action[C, W]]:
        if self.idle and self.idle[-1].idle_since > pooled.idle_since:  # was not used, while others were
            self.idle.insert(bisect(self.idle, pooled.idle_since, key=_idle_since), pooled)
        else:
            self.idle.append(pooled)
        self._overdue_at = min(self._overdue_at, pooled.expires_at, self._surplus_at)
        return self.decide(now)

    def _close_overdue(self, now: float) -> list[Close[C]]:
        """Close the idle connections that have expired, and surplus ones after max_idle. Store when the next is due."""
        expired = [(pooled, reason) for pooled in self.idle if (reason := self._expiry(pooled, now))]
        for pooled, _ in expired:
            self.idle.remove(pooled)
        closed = [self._close_action(pooled, reason) for pooled, reason in expired]
        while now >= self._surplus_at:
            closed.append(self._close_action(self.idle.popleft(), "max_idle"))
        self._overdue_at = min([self._surplus_at, *(pooled.expires_at for pooled in self.idle)])
        return closed

    @property
    def _surplus_at(self) -> float:
        """When max_idle ends for the connection that has been idle longest; infinity if the pool keeps it."""
        longest = self.limits.max_idle
        if longest and self.idle and self.size > self.limits.min_size:
            return self.idle[0].idle_since + longest
        return math.inf

    def _expiry(self, pooled: PooledConnection[C], now: float) -> str:
        """Why the connection is too old to be assigned again; empty if it is not."""
        if now < pooled.expires_at:
            return ""
        return "max_lifetime" if pooled.expires_at > -math.inf else "the pool's connections were expired"

    @property
    def _surplus(self) -> str:
        """Why the pool has no place for another idle connection; empty if it has."""
        if self.is_closing:
            return "the pool is closed"
        return "max_size" if self.size >= self.limits.max_size else ""

    def _is_check_due(self, pooled: PooledConnection[C], now: float) -> bool:
        return now - pooled.idle_since > self.limits.check_after_idle

    def _take(self) -> PooledConnection[C]:
        pooled = self.idle.pop()
        self.in_use.add(pooled)
        pooled.was_used = True
        return pooled

    @property
    def _openings_needed(self) -> int:
        """How many more connections to open: one for each waiter, and enough for min_size."""
        size = len(self.idle) + len(self.in_use)
        if size + self.opening >= self.limits.max_size:  # as at most releases
            return 0
        wanted = max(len(self.waiting), 0 if self.is_left else self.limits.min_size - size)
        return max(0, min(wanted, self._opening_limit) - self.opening)

    @property
    def _opening_limit(self) -> int:
        """How many connections may be opening at a time."""
        free = self.limits.max_size - self.size
        # One attempt is enough to detect that the server is back.
        return min(free, 1) if self._failures else free

    @property
    def next_deadline(self) -> float | None:
        """When time alone may change the result of `decide`, or earlier; None for never."""
        return None if self.is_closing or self._due == math.inf else self._due

    def _close_action(self, pooled: PooledConnection[C], reason: str) -> Close[C]:
        self.counters.closed += 1
        self._open.pop(pooled.session, None)
        return Close(pooled, reason)

    def _rejection(self, waiter: W, reason: str) -> Reject[W]:
        self.counters.rejected += 1
        return Reject(waiter, reason, self._error)
