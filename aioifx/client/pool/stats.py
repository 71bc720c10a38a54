"""A pool's counters and times, and snapshots of them. Never: a decision, a clock."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final

BOUNDS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
"""Upper bounds in seconds: those of OpenTelemetry's `db.client.operation.duration`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """How many of some durations lie in which range. Seconds."""

    count: int
    """Number of durations."""
    total: float
    """Sum of the durations."""
    longest: float
    """The longest duration; 0 if there are none."""
    counts: tuple[int, ...]
    """Durations in each range: one number more than there are bounds."""
    bounds: tuple[float, ...] = BOUNDS
    """Upper bound of each range, inclusive; the last range has none."""

    def __repr__(self) -> str:
        """Rounded, for people: without the ranges."""
        noun = "duration" if self.count == 1 else "durations"
        return (
            f"<{self.count} {noun}: {self.total:.3g} s in all, 95 % up to {self.quantile(0.95):.3g} s, "
            f"the longest {self.longest:.3g} s>"
        )

    def quantile(self, share: float) -> float:
        """An upper bound of this share of the durations, such as 0.95: the bound of a range or the longest duration."""
        reached = 0
        for bound, count in zip(self.bounds, self.counts, strict=False):
            reached += count
            if reached >= share * self.count:
                return min(bound, self.longest)
        return self.longest


@dataclass(slots=True)
class Recorder:
    """A histogram that durations are added to."""

    shortest: int = 0
    """Number of durations in the first range: of most."""
    counts: list[int] = field(default_factory=lambda: [0] * len(BOUNDS))
    """Numbers of those in the other ranges."""
    total: float = 0.0
    longest: float = 0.0
    usual: float = 0.0
    """Up to it, a duration changes `shortest` and `total` alone. A pool adds it without a call of `record`."""

    def record(self, seconds: float) -> None:
        """Add a duration."""
        if seconds <= BOUNDS[0]:
            self.shortest += 1
        else:
            self.counts[bisect_left(BOUNDS, seconds) - 1] += 1
        self.total += seconds
        if seconds > self.longest:
            self.longest = seconds
            self.usual = min(seconds, BOUNDS[0])

    def reset(self) -> None:
        """Start again without durations."""
        self.counts[:] = [0] * len(self.counts)
        self.shortest, self.total, self.longest, self.usual = 0, 0.0, 0.0, 0.0

    def snapshot(self) -> Histogram:
        counts = (self.shortest, *self.counts)
        return Histogram(count=sum(counts), total=self.total, longest=self.longest, counts=counts)


@dataclass(slots=True)
class Counters:
    """Counters since the pool was created, or since `Pool.pop_stats`."""

    opened: int = 0
    closed: int = 0
    failed: int = 0
    rejected: int = 0
    timed_out: int = 0
    most_waiting: int = 0
    wait_time: Recorder = field(default_factory=Recorder)
    use_time: Recorder = field(default_factory=Recorder)
    create_time: Recorder = field(default_factory=Recorder)

    def reset(self, waiting: int) -> None:
        """Start again at 0, and most_waiting at the number of tasks that are *waiting*."""
        self.opened = self.closed = self.failed = self.rejected = self.timed_out = 0
        self.most_waiting = waiting
        for times in (self.wait_time, self.use_time, self.create_time):
            times.reset()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStats:
    """Snapshot of a pool's state and counters. The counters start at 0 when the pool is created."""

    name: str
    """Name of the pool in messages."""
    min_size: int
    """Connections kept open."""
    max_size: int
    """Maximum number of open connections."""
    size: int
    """Open connections, idle or in use."""
    idle: int
    """Connections ready for use."""
    in_use: int
    """Connections that are acquired or being reset."""
    opening: int
    """Connections that are being opened."""
    waiting: int
    """Tasks waiting for a connection."""
    acquired: int
    """Successful acquires so far."""
    opened: int
    """Connections that were opened."""
    closed: int
    """Connections that were closed."""
    failed: int
    """Failed connection attempts."""
    rejected: int
    """Acquires rejected immediately."""
    timed_out: int
    """Acquires that timed out."""
    most_waiting: int
    """Highest number of tasks waiting at the same time."""
    wait_time: Histogram
    """Seconds from `Pool.acquire` to its connection, with the check and *setup*; of successful acquires."""
    use_time: Histogram
    """Seconds from an acquire to the release."""
    create_time: Histogram
    """Seconds to open a connection, with *init*; of successful attempts."""
