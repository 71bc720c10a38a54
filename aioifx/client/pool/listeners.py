"""Observers of whole pools: which pools there are, and how long waits, uses and creates take. Never: a decision.

Invariants:
1. An exception of a listener is logged and never reaches the caller.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, runtime_checkable

from aioifx.client.observation.observation import Observation
from aioifx.client.pool.decisions import PoolState

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
    """Adds the times of one pool to its counters, and passes them on to its listeners."""

    __slots__ = ("_listeners", "_state")

    def __init__(self, state: PoolState[Any, Any], listeners: Sequence[PoolListener] = ()) -> None:
        self._state = state
        self._listeners = listeners

    def on_acquired(self, seconds: float) -> None:
        self._state.counters.wait_time.record(seconds)
        for listener in self._listeners:
            _call(listener.on_acquired, seconds)

    def on_released(self, seconds: float) -> None:
        self._state.counters.use_time.record(seconds)
        for listener in self._listeners:
            _call(listener.on_released, seconds)

    def on_opened(self, seconds: float) -> None:
        self._state.counters.create_time.record(seconds)
        for listener in self._listeners:
            _call(listener.on_opened, seconds)

    def on_timed_out(self) -> None:
        self._state.counters.timed_out += 1
        for listener in self._listeners:
            _call(listener.on_timed_out)


def _call(method: Callable[..., object], *args: float) -> None:
    try:
        method(*args)
    except Exception:
        logger.exception("a listener of a pool failed")


def listeners_of(
    observation: Observation | None, name: str, state: PoolState[Any, Any]
) -> tuple[PoolListener, ...]:
    """The listeners for a new pool, from those of its observers that listen to pools."""
    if observation is None:
        return ()
    watching = [observer for observer in observation.observers if isinstance(observer, PoolObserver)]
    return tuple(observer.watch_pool(name, state) for observer in watching)
