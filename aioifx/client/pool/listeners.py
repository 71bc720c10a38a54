"""Observers of whole pools: which pools there are, and how long waits, uses and creates take. Never: a decision.

Invariants:
1. An exception of a listener is logged and never reaches the caller, except KeyboardInterrupt and SystemExit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, runtime_checkable

from aioifx.client.observation.observation import Observation
from aioifx.client.pool.decisions import PoolState
from aioifx.client.pool.stats import Counters

logger: Final = logging.getLogger("aioifx.observer")


class PoolListener(Protocol):
    """Called by one pool, in its event loop. Durations are seconds."""

    def on_acquired(self, seconds: float, /) -> object:
        """Called when a task got a connection, that long after it asked."""
        ...

    def on_released(self, seconds: float, /) -> object:
        """Called at a release, that long after the acquire."""
        ...

    def on_opened(self, seconds: float, /) -> object:
        """Called when a connection has been opened, with *init*."""
        ...

    def on_timed_out(self) -> object:
        """Called when an acquire has timed out."""
        ...


@runtime_checkable
class PoolObserver(Protocol):
    """An observer that listens to pools as well."""

    def watch_pool(self, name: str, state: PoolState[Any, Any], /) -> PoolListener:
        """Called once for each new pool. The state may be read in any thread, but not kept alive."""
        ...


class PoolTimes:
    """Adds the times of one pool to its counters, and passes them on to its listeners.

    Without listeners, its functions are those of the counters.
    """

    __slots__ = ("_counters", "listeners", "on_acquired", "on_opened", "on_released")

    def __init__(self, counters: Counters, listeners: Sequence[PoolListener] = ()) -> None:
        self._counters = counters
        self.listeners = listeners
        self.on_acquired = _all(counters.wait_time.record, [each.on_acquired for each in listeners])
        self.on_released = _all(counters.use_time.record, [each.on_released for each in listeners])
        self.on_opened = _all(counters.create_time.record, [each.on_opened for each in listeners])

    def on_timed_out(self) -> None:
        self._counters.timed_out += 1
        for listener in self.listeners:
            _call(listener.on_timed_out)


def _all(
    record: Callable[[float], None], others: Sequence[Callable[[float], object]]
) -> Callable[[float], None]:
    """A function that records a duration and passes it on."""
    if not others:
        return record

    def record_and_pass_on(seconds: float) -> None:
        record(seconds)
        for other in others:
            _call(other, seconds)

    return record_and_pass_on


def _call(method: Callable[..., object], *args: float) -> None:
    try:
        method(*args)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        logger.exception("a listener of a pool failed")


def listeners_of(
    observation: Observation | None, name: str, state: PoolState[Any, Any]
) -> tuple[PoolListener, ...]:
    """The listeners for a new pool, from those of its observers that listen to pools."""
    if observation is None:
        return ()
    listeners: list[PoolListener] = []
    for observer in observation.observers:
        if isinstance(observer, PoolObserver):
            try:
                listeners.append(observer.watch_pool(name, state))
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:
                logger.exception("an observer failed to watch a pool")
    return (*listeners,)
