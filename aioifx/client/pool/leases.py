"""Which connections of a pool are in use, by which task, since when. Never: a decision, a clock.

Invariants:
1. A lease does not refer to its `Connection`, so that a leaked connection can be collected.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter
from typing import Any, Final

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
    """A connection in use by one task.

    Args:
        on_leaked: called in any thread if the task's `Connection` is garbage-collected before its release.
    """

    __slots__ = ("_on_leaked", "by", "pooled", "since", "statements")

    def __init__(
        self,
        pooled: PooledConnection[PooledSession],
        since: float,
        by: Acquirer,
        on_leaked: Callable[[Lease], None],
    ) -> None:
        self.pooled = pooled
        self.since = since
        self.by = by
        self.statements = pooled.session.statements
        """Those of the session, until there is a `Connection`."""
        self._on_leaked = on_leaked

    def connection(self) -> Connection[Any]:
        """A connection with statements of its own, for the code of a user."""
        session = self.pooled.session
        self.statements = session.statements_for_user()
        return session.connection_for_user(self.statements, self)

    def on_leaked(self) -> None:
        self._on_leaked(self)


class Leases(set[Lease]):
    """The leases of one pool. A subclass because wrapped methods would cost each acquire a call more."""

    def __init__(self, debug: bool) -> None:
        super().__init__()
        self._debug = debug

    def acquirer(self) -> Acquirer:
        """The running task, in debug mode."""
        if not self._debug:
            return _UNKNOWN
        task = asyncio.current_task()
        frames = [f for f in traceback.extract_stack(limit=20) if not f.filename.startswith(NOT_CALLERS)]
        return Acquirer(task.get_name() if task else "", (*frames[-_FRAMES:],))

    def holders(self, now: float) -> list[Holder]:
        """The connections in use, longest held first."""
        return [
            Holder(
                connection=repr(lease.pooled.session),
                seconds=now - lease.since,
                task=lease.by.task,
                acquired_at=lease.by.stack,
            )
            for lease in self._by_age()
        ]

    def longest(self, now: float) -> str:
        """Who has held a connection longest, in debug mode, for the pool's repr; else empty."""
        if not self._debug or not (held := self._by_age()):
            return ""
        lease = held[0]
        return f" (longest: {lease.by.name} for {now - lease.since:.1f} s)"

    def note(self, now: float) -> str:
        """Which tasks hold which connections, in debug mode, for the note of an error; else empty."""
        if not self._debug:
            return ""
        held = self._by_age()
        lines = [
            f"{lease.by.name} has held {lease.pooled.session!r} for {now - lease.since:.1f} s{lease.by.place}"
            for lease in islice(held, _NOTED)
        ]
        if len(held) > _NOTED:
            lines.append(f"and {len(held) - _NOTED} more")
        return "\n".join(lines)

    def _by_age(self) -> list[Lease]:
        return sorted(self, key=attrgetter("since"))
