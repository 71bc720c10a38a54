"""What callers share, what each has seen, and what was promised to it. Never: an operation, a fault, a law."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, cast

import aioifx
from aioifx.client.api.connection import statements_of
from tests.system.simulation.loop import SimulatedLoop
from tests.system.simulation.model.changes import Changed, ChangeLog
from tests.system.simulation.model.session import ISAM_SECONDARY
from tests.system.simulation.scenario import Operation

INTERRUPTED: Final = -213

INTERRUPTING: Final = {"interrupt", "interrupt anything"}
"""Kinds of operations that interrupt their own statements."""

CONNECT_TIMEOUT: Final = 20.0
"""The option's default."""

DIAGNOSIS: Final = 2.0
"""Seconds more until a call that met a lock has its error, with `lock_diagnosis`."""

CLOSE_TIMEOUT: Final = 5.0
"""Of `Connection.close`, where nothing else is said."""


class Wrong(Exception):
    """The client gave a caller something that it must not get."""


@dataclass
class Captured:
    """What one operation has captured, over all of its captures."""

    tables: tuple[str, ...]
    before: int = 0
    """The end of the log before the first capture was opened; one without a position begins anew."""
    after: int = 0
    """The same, once it was open."""
    saved: aioifx.Position | None = None
    """Where another capture continues: not after each transaction, so that some come twice."""
    last: int = 0
    """The last commit that the open capture has, or began after."""
    failures: int = 0
    """In a row."""
    transactions: dict[int, list[Changed]] = field(default_factory=dict[int, list[Changed]])
    """By the sequence of the commit; those that are not after the last one are known."""

    def take(self, position: aioifx.Position, changes: list[Changed]) -> None:
        """Note a transaction.

        Raises:
            Wrong: it was there, with other changes, or an earlier one was not.
        """
        known = self.transactions
        if position.commit <= self.last:
            raise Wrong(f"the transaction at {position} comes again, or late")
        self.last = position.commit
        if known and position.commit <= max(known):
            if known.get(position.commit) != changes:
                raise Wrong(f"the transaction at {position} comes again with other changes, or comes late")
            return
        known[position.commit] = changes
        if len(known) % 3 == 1:
            self.saved = position

    def expected(self, log: ChangeLog) -> dict[int, list[Changed]]:
        """What it has to capture. Those that had begun before the first one are left out."""
        found = [each.begin for each in log.committed if each.commit in self.transactions]
        first = min([self.after, *found]) if self.after else log.end
        by_commit = {
            each.commit: [change for change in each.changes if change.table in self.tables]
            for each in log.committed
            if each.begin >= first
        }
        return {commit: changes for commit, changes in by_commit.items() if changes}

    def misses(self, log: ChangeLog) -> bool:
        """Whether something that was committed has not come."""
        return max(self.expected(log), default=0) > max(self.transactions, default=0)


@dataclass
class Entry:
    """One operation: what was promised to its caller, and what it has seen."""

    operation: Operation
    pool: int
    began: float
    ended: float = 0.0
    outcome: str = "running"
    """done, cancelled, timed out, or the class of the error."""
    error: BaseException | None = None
    notes: int = 0
    """Notes with the operation's number that there are if it took effect."""
    is_cut: bool = False
    """Whether a call was cancelled by the operation itself, so that a change may stay, whatever fails after it."""
    collects: bool = False
    """Whether rows may fail alone, so that there may be fewer notes."""
    is_body_done: bool = False
    """Whether only COMMIT was left to do, or the change needed no COMMIT and was sent."""
    may_take_effect: bool = False
    """Whether a change that needs no COMMIT has been begun."""
    captured: Captured | None = None
    closing: float = 0.0
    """Seconds that it may take to close what the operation has opened, after a cancellation."""
    deltas: dict[int, int] = field(default_factory=dict[int, int])
    reads: dict[int, int] = field(default_factory=dict[int, int])
    """Balances read under locks that last until COMMIT."""
    cancelled_at: float | None = None
    went_on_at: float | None = None
    """When a call had timed out, and the connection was used again."""
    transport: Any = None
    """The client's end of the connection that was acquired last."""


class Call(NamedTuple):
    """One call that has a limit of time."""

    who: str
    began: float
    ended: float
    limit: float
    """Seconds."""


@dataclass
class Wait:
    """One wait for a connection of a pool."""

    pool: int
    asked: float
    order: int
    task: Any
    overtaken_by: int = 0
    """Later ones that got a connection while it was in the pool's queue; not while it checked a connection."""


class Reported:
    """An observer of pools: each operation starts once and ends once."""

    def __init__(self, wrong: list[str]) -> None:
        self.running: set[Any] = set()
        self._wrong = wrong

    def on_start(self, operation: Any) -> None:
        if operation in self.running:
            self._wrong.append(f"{operation} was reported twice as started")
        self.running.add(operation)

    def on_end(self, operation: Any) -> None:
        if operation not in self.running or operation.duration is None:
            self._wrong.append(f"{operation} was reported as ended, and does not run")
        self.running.discard(operation)


class World:
    """What callers share."""

    def __init__(
        self,
        loop: SimulatedLoop,
        pools: list[aioifx.Pool],
        options: list[dict[str, Any]],
        dsn: str,
        log: ChangeLog,
    ) -> None:
        self.loop = loop
        self.log = log
        self.pools = pools
        self.options = options
        self.dsn = dsn
        self.entries: list[Entry] = []
        self.wrong: list[str] = []
        self.reported = Reported(self.wrong)
        self.left: list[str] = []
        """What sessions that no caller uses still have open."""
        self.late: list[str] = []
        """What took longer than it may."""
        self.held: dict[int, str] = {}
        """Sessions that callers hold, by identity."""
        self.waiting: list[Wait] = []
        self.waits: list[Wait] = []
        self.calls: list[Call] = []
        self.expired: list[set[int]] = [set() for _ in options]
        """Connections that each pool must close: used before it was expired, or at a secondary server."""
        self._used: list[set[int]] = [set() for _ in options]
        self._leased = Counter[int]()
        self._most = [each.get("max_size", 10) for each in options]
        self._order = 0

    def trace(self, what: str) -> None:
        """Note what a caller does."""
        self.loop.network.trace(0, what)

    def expire(self, pool: int) -> None:
        """Expire the connections of a pool."""
        self.expired[pool] |= self._used[pool]
        self.pools[pool].expire()

    def resize(self, pool: int, least: int, most: int) -> None:
        """Change the size of a pool. Connections that are in use may stay above it."""
        self._most[pool] = max(self._most[pool], most)
        self.pools[pool].resize(least, most)

    @contextmanager
    def limited(self, who: str, limit: float | None) -> Iterator[None]:
        """Note how long the block takes; None: it has no limit."""
        began = self.loop.time()
        try:
            yield
        finally:
            if limit is not None and self.loop.time() > began:
                self.calls.append(Call(who, began, self.loop.time(), limit))

    def _dead(self, pool: int) -> set[int]:
        """Sessions that the pool must check before it assigns them, and whose server is silent for ever."""
        since = self.loop.time() - self.options[pool].get("check_after_idle", 30.0)
        idle = self.pools[pool]._manager.state.idle
        return {
            id(each.session.session)
            for each in idle
            if each.idle_since < since and cast("Any", each.session.session.channel.transport).is_dead
        }

    @asynccontextmanager
    async def acquire(self, entry: Entry) -> AsyncIterator[aioifx.Connection]:
        """A connection of the entry's pool; checks that no other task has it, and that no transaction is open."""
        wait = Wait(entry.pool, self.loop.time(), self._order, asyncio.current_task())
        self._order += 1
        self.waiting.append(wait)
        acquiring = self.pools[entry.pool].acquire()
        options = self.options[entry.pool]
        who = f"operation {entry.operation.number}"
        expired = frozenset(self.expired[entry.pool])
        dead = self._dead(entry.pool)
        try:
            with self.limited(f"{who}, acquire", options["acquire_timeout"]):
                conn = await acquiring.__aenter__()
        finally:
            self.waiting.remove(wait)
        queue = {id(waiter.future) for waiter in self.pools[entry.pool]._manager.state.waiting}
        for other in self.waiting:
            if other.pool == wait.pool and other.order < wait.order and id(other.task._fut_waiter) in queue:
                other.overtaken_by += 1
        self.waits.append(wait)
        session = id(statements_of(conn).base_session)
        if session in self.held:
            self.wrong.append(f"{who} was given a session that {self.held[session]} still holds")
        if conn.is_in_transaction():
            self.wrong.append(f"{who} was given a connection inside a transaction")
        entry.transport = statements_of(conn).base_session.channel.transport
        self.trace(f"{who} is given connection {entry.transport.connection.number}")
        self._used[entry.pool].add(entry.transport.number)
        if entry.transport.number in expired:
            self.wrong.append(f"{who} was given a connection that the pool had to close")
        at_server = entry.transport.peer.protocol
        if reason := at_server.must_end or ("there is a temporary table" if at_server.temp_table else ""):
            self.wrong.append(f"{who} was given a session that must end: {reason}")
        if session in dead:
            self.wrong.append(f"{who} was given a connection that had broken while it was idle")
        self._leased[entry.pool] += 1
        stats = self.pools[entry.pool].stats
        largest = max(self._leased[entry.pool], stats.size + stats.opening)
        if largest > self._most[entry.pool]:
            self.wrong.append(f"as {who} was given a connection, the pool had {largest}")
        self.held[session] = who
        error: tuple[Any, Any, Any] = (None, None, None)
        try:
            more = DIAGNOSIS if options.get("lock_diagnosis") else 0.0
            yield cast("aioifx.Connection", Timed(self, conn, who, options.get("command_timeout"), more))
        except BaseException as raised:
            error = (type(raised), raised, raised.__traceback__)
            if (
                getattr(raised, "sqlcode", 0) == INTERRUPTED
                and entry.operation.kind not in INTERRUPTING
                and isinstance(raised, aioifx.QueryCanceled)
            ):
                self.expired[entry.pool].add(entry.transport.number)
            if options.get("role") == "primary" and getattr(raised, "isamcode", 0) == ISAM_SECONDARY:
                self.expired[entry.pool].add(entry.transport.number)
            raise
        finally:
            self.trace(f"{who} releases connection {entry.transport.connection.number}")
            del self.held[session]
            self._leased[entry.pool] -= 1
            await acquiring.__aexit__(*error)


_LIMITED: Final = {"fetch", "fetchrow", "fetchval", "execute", "commit", "rollback", "ping"}
"""Calls whose limit is for all of it, and not for each block."""


class Timed:
    """A connection whose calls are noted with their limits."""

    def __init__(
        self, world: World, conn: aioifx.Connection, who: str, limit: float | None, more: float
    ) -> None:
        self._world = world
        self._conn = conn
        self._who = who
        self._limit = limit
        self._more = more

    @property
    def autocommit(self) -> bool:
        """The connection's."""
        return self._conn.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        self._conn.autocommit = value

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._conn, name)
        return partial(self._call, name, attribute) if name in _LIMITED else attribute

    def stream(self, *args: Any, timeout: float | None = None, **options: Any) -> Any:
        """A stream whose blocks are noted with their limits."""
        stream = self._conn.stream(*args, timeout=timeout, **options)
        limit = self._limit if timeout is None else timeout
        if limit is None:
            return stream
        return TimedStream(stream, partial(self._world.limited, f"{self._who}, stream", limit + self._more))

    async def _call(self, name: str, call: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        limit = options.get("timeout")
        if limit is None:
            limit = self._limit
        with self._world.limited(f"{self._who}, {name}", None if limit is None else limit + self._more):
            return await call(*args, **options)


class TimedStream:
    """A stream of which each block has a limit; most rows come of a block that is there."""

    def __init__(self, stream: Any, limited: Callable[[], AbstractContextManager[None]]) -> None:
        self._stream = stream
        self._limited = limited

    def __aiter__(self) -> TimedStream:
        return self

    async def __anext__(self) -> Any:
        with self._limited():
            return await anext(self._stream)

    async def blocks(self) -> AsyncIterator[list[Any]]:
        """The blocks of rows."""
        blocks = self._stream.blocks()
        while True:
            with self._limited():
                block = await anext(blocks, None)
            if block is None:
                return
            yield block

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()


def connect_limit(options: dict[str, Any]) -> float:
    """Seconds until a connection is open; the init hook and the query for a diagnosis have their own."""
    parts = 1 + ("init" in options) + bool(options.get("lock_diagnosis"))
    return parts * float(options.get("connect_timeout", CONNECT_TIMEOUT))
