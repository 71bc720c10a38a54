"""Which connections of a pool are held, by which task, since when. Never: a decision, a clock.

Invariants:
1. A lease does not refer to its `Connection`, so that a leaked connection can be collected.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Collection
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final, NamedTuple

from aioifx.client.api.connection import Connection
from aioifx.client.observation.query_log import NOT_CALLERS
from aioifx.client.pool.decisions import PooledConnection
from aioifx.client.pool.lifecycle import PooledSession

_FRAMES: Final = 8
"""Frames shown of the place of an acquire."""

_NOTED: Final = 10
"""Connections described by the note of a PoolTimeout, longest held first."""


@dataclass(frozen=True, slots=True)
class Acquirer:
    """The task that acquired a connection, and where; both empty without debug mode."""

    task: str = ""
    frames: tuple[traceback.FrameSummary, ...] = ()

    @property
    def name(self) -> str:
        return f"task {self.task!r}" if self.task else "a task"

    @property
    def place(self) -> str:
        """The innermost frame, for a message of one line; empty if unknown."""
        if not self.frames:
            return ""
        frame = self.frames[-1]
        return f", acquired at {frame.filename}:{frame.lineno} in {frame.name}"

    @property
    def stack(self) -> str:
        """The frames as in a traceback; empty if unknown."""
        return "".join(traceback.format_list([*self.frames]))

    def __str__(self) -> str:
        """The end of a message about one connection."""
        return f"; acquired by {self.name} at\n{self.stack}" if self.frames else ""


_UNKNOWN: Final = Acquirer()


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A connection of a pool that is in use, and the task that acquired it."""

    connection: str
    """The connection's repr: database and address."""
    seconds: float
    """Seconds since the acquire."""
    task: str
    """Name of the task that acquired it; empty without ``debug=True``."""
    acquired_at: str
    """Where it was acquired, as in a traceback; empty without ``debug=True``."""


class Lease:
    """The use of a pooled connection through a `Connection`, for the code of a user.

    Args:
        on_leaked: called in any thread if the `Connection` is garbage-collected before its release.
    """

    __slots__ = ("_on_leaked", "is_held", "pooled", "statements")

    def __init__(self, pooled: PooledConnection[PooledSession], on_leaked: Callable[[Lease], None]) -> None:
        self.pooled = pooled
        self.statements = pooled.session.statements_for_user()
        self.is_held = False
        """Whether the user has got it, and not released it."""
        self._on_leaked = on_leaked

    def connection(self) -> Connection[Any]:
        """The user's connection."""
        return self.pooled.session.connection_for_user(self.statements, self)

    def on_leaked(self) -> None:
        self._on_leaked(self)


class _Held(NamedTuple):
    since: float
    session: PooledSession
    by: Acquirer


def acquirer_of(pooled: PooledConnection[PooledSession]) -> Acquirer:
    """The task that has acquired it, in debug mode."""
    return pooled.user if isinstance(pooled.user, Acquirer) else _UNKNOWN


class Holders:
    """The connections of one pool that are held, and by whom."""

    def __init__(self, in_use: Collection[PooledConnection[PooledSession]], debug: bool) -> None:
        self._in_use = in_use
        self.debug = debug

    @staticmethod
    def acquirer() -> Acquirer:
        """The running task."""
        task = asyncio.current_task()
        frames = [f for f in traceback.extract_stack(limit=20) if not f.filename.startswith(NOT_CALLERS)]
        return Acquirer(task.get_name() if task else "", (*frames[-_FRAMES:],))

    def listed(self, now: float) -> list[Holder]:
        """The connections that are held, longest first."""
        return [
            Holder(
                connection=repr(held.session),
                seconds=now - held.since,
                task=held.by.task,
                acquired_at=held.by.stack,
            )
            for held in self._by_age()
        ]

    def longest(self, now: float) -> str:
        """Who has held a connection longest, in debug mode, for the pool's repr; else empty."""
        if not self.debug or not (held := self._by_age()):
            return ""
        return f" (longest: {held[0].by.name} for {now - held[0].since:.1f} s)"

    def note(self, now: float) -> str:
        """Which tasks hold which connections, in debug mode, for the note of an error; else empty."""
        if not self.debug:
            return ""
        held = self._by_age()
        lines = [
            f"{by.name} has held {session!r} for {now - since:.1f} s{by.place}"
            for since, session, by in held[:_NOTED]
        ]
        if len(held) > _NOTED:
            lines.append(f"and {len(held) - _NOTED} more")
        return "\n".join(lines)

    def _by_age(self) -> list[_Held]:
        held = [
            _Held(pooled.held_since, pooled.session, acquirer_of(pooled))
            for pooled in self._in_use
            if pooled.held_since is not None
        ]
        return sorted(held, key=itemgetter(0))
