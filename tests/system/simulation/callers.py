"""The operations of callers, and what each has seen and been promised. Never: a fault, a law.

Every operation that writes inserts notes with its own number as their tag. So the log of commits tells which
operations took effect.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple, cast

import aioifx
from tests.injection import Injection, Manner
from tests.system.simulation.loop import SimulatedLoop
from tests.system.simulation.model.database import ACCOUNTS, BALANCE, WIDE, wide_text
from tests.system.simulation.model.statements import TWICE
from tests.system.simulation.scenario import Caller, Ending, Operation

WIDE_ROWS: Final = "SELECT id, text FROM wide WHERE id >= ? AND id < ?"
INSERT: Final = "INSERT INTO note (tag, text) VALUES (?, ?)"
NOTES: Final = "SELECT id, tag, text FROM note WHERE tag = ?"
ACCOUNT: Final = "SELECT id, balance FROM account WHERE id = ?"
ADD: Final = "UPDATE account SET balance = balance + ? WHERE id = ?"


INTERRUPTED: Final = -213
CONNECT_TIMEOUT: Final = 20.0
"""The option's default."""
DIAGNOSIS: Final = 2.0
"""Seconds more until a call that met a lock has its error, with `lock_diagnosis`."""
CLOSE_TIMEOUT: Final = 5.0
"""Of `Connection.close`, where nothing else is said."""


class Wrong(Exception):
    """The client gave a caller something that it must not get."""


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
    collects: bool = False
    """Whether rows may fail alone, so that there may be fewer notes."""
    is_body_done: bool = False
    """Whether only COMMIT was left to do, or the change needed no COMMIT and was sent."""
    may_take_effect: bool = False
    """Whether a change that needs no COMMIT has been begun."""
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
        self, loop: SimulatedLoop, pools: list[aioifx.Pool], options: list[dict[str, Any]], dsn: str
    ) -> None:
        self.loop = loop
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
        """Connections that callers of each pool had used before it was expired."""
        self._used: list[set[int]] = [set() for _ in options]
        self._leased = Counter[int]()
        self._most = [each.get("max_size", 10) for each in options]
        self._order = 0

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
            if limit is not None:
                self.calls.append(Call(who, began, self.loop.time(), limit))

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
        session = id(conn.statements.base_session)
        if session in self.held:
            self.wrong.append(f"{who} was given a session that {self.held[session]} still holds")
        if conn.is_in_transaction():
            self.wrong.append(f"{who} was given a connection inside a transaction")
        entry.transport = conn.statements.base_session.channel.transport
        self._used[entry.pool].add(entry.transport.number)
        if entry.transport.number in expired:
            self.wrong.append(f"{who} was given a connection that had been expired")
        self._leased[entry.pool] += 1
        stats = self.pools[entry.pool].stats()
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
            raise
        finally:
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

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._conn, name)
        return partial(self._call, name, attribute) if name in _LIMITED else attribute

    async def _call(self, name: str, call: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        limit = options.get("timeout")
        if limit is None:
            limit = self._limit
        with self._world.limited(f"{self._who}, {name}", None if limit is None else limit + self._more):
            return await call(*args, **options)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of operation."""

    run: Callable[[World, Entry], Awaitable[None]]
    weight: int = 2
    """How often it is drawn; 0: only among the rarer things."""
    is_write: bool = False
    has_batch: bool = False
    """Whether it sends rows before the replies to others have arrived."""


KINDS: Final[dict[str, Kind]] = {}


def kind(
    name: str, weight: int = 2, *, writes: bool = False, batch: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register an operation."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        KINDS[name] = Kind(function, weight, writes, batch)
        return function

    return register


# -- reading ----------------------------------------------------------------------------------------------------------


def _range(entry: Entry) -> tuple[int, int]:
    start = entry.operation.number * 7 % (WIDE - 60)
    return start, start + entry.operation.size


def _check(rows: list[Any], start: int, stop: int) -> None:
    expected = [(number, wide_text(number)) for number in range(start, min(stop, WIDE))]
    if [tuple(row) for row in rows] != expected:
        raise Wrong(
            f"rows {start} to {stop} are {[row[0] for row in rows][:5]}.., {len(rows)} of {len(expected)}"
        )


@kind("fetch", 4)
async def _fetch(world: World, entry: Entry) -> None:
    start, stop = _range(entry)
    timeout, options = entry.operation.timeout, world.options[entry.pool]
    limit = options.get("command_timeout") if timeout is None else timeout
    if limit is not None:
        limit += options["acquire_timeout"]
    with world.limited(f"operation {entry.operation.number}, fetch of the pool", limit):
        rows = await world.pools[entry.pool].fetch(WIDE_ROWS, start, stop, timeout=timeout)
    _check(rows, start, stop)


@kind("fetchrow")
async def _fetchrow(world: World, entry: Entry) -> None:
    start, _ = _range(entry)
    _check([await world.pools[entry.pool].fetchrow(WIDE_ROWS, start, start + 1)], start, start + 1)


@kind("stream", 3)
async def _stream(world: World, entry: Entry) -> None:
    start, stop = _range(entry)
    async with aclosing(
        world.pools[entry.pool].stream(WIDE_ROWS, start, stop, timeout=entry.operation.timeout)
    ) as stream:
        _check([row async for row in stream], start, stop)


@kind("stream a part", 3)
async def _stream_part(world: World, entry: Entry) -> None:
    start, stop = _range(entry)
    async with world.acquire(entry) as conn:
        rows: list[Any] = []
        async for row in conn.stream(WIDE_ROWS, start, stop, prefetch=entry.operation.number % 2 == 0):
            rows.append(row)
            if len(rows) * 2 >= entry.operation.size:
                break
        _check(rows, start, start + len(rows))
        # The connection goes on, although the stream is not closed.
        _check(await conn.fetch(WIDE_ROWS, 0, 3), 0, 3)


@kind("cursor")
async def _cursor(world: World, entry: Entry) -> None:
    start, stop = _range(entry)
    async with world.acquire(entry) as conn:
        cursor = conn.cursor()
        await cursor.execute(WIDE_ROWS, (start, stop))
        rows = await cursor.fetchmany(3)
        rows += await cursor.fetchall()
        _check(rows, start, stop)
        if entry.operation.number % 2:
            await cursor.close()


@kind("scroll")
async def _scroll(world: World, entry: Entry) -> None:
    start, stop = _range(entry)
    async with world.acquire(entry) as conn, conn.cursor(scroll=True) as cursor:
        await cursor.execute(WIDE_ROWS, (start, stop))
        _check([await cursor.fetch_last()], stop - 1, stop)
        _check([await cursor.fetch_first()], start, start + 1)
        _check([await cursor.fetch_absolute(entry.operation.size)], stop - 1, stop)


@kind("read all")
async def _read_all(world: World, entry: Entry) -> None:
    rows = await world.pools[entry.pool].fetch("SELECT id, balance FROM account ORDER BY id")
    if sum(row[1] for row in rows) != ACCOUNTS * BALANCE:
        raise Wrong(f"the balances {[row[1] for row in rows]} are no consistent state")


@kind("prepare")
async def _prepare(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        statement = await conn.prepare(WIDE_ROWS)
        _check_settings(world, entry)
        for start in range(3):
            _check(
                await statement.fetch(start, start + entry.operation.size),
                start,
                start + entry.operation.size,
            )
        if entry.operation.number % 2:
            await statement.close()


@kind("share a connection")
async def _share(world: World, entry: Entry) -> None:
    ended: list[int] = []

    async def one(number: int) -> None:
        _check(
            await conn.fetch(WIDE_ROWS, number, number + entry.operation.size),
            number,
            number + entry.operation.size,
        )
        ended.append(number)

    async with world.acquire(entry) as conn:
        tasks = [asyncio.ensure_future(one(number)) for number in range(4)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if ended != sorted(ended):
                world.wrong.append(f"tasks on one connection were served in the order {ended}")


def connect_limit(options: dict[str, Any]) -> float:
    """Seconds until a connection is open; the init hook and the query for a diagnosis have their own."""
    parts = 1 + ("init" in options) + bool(options.get("lock_diagnosis"))
    return parts * float(options.get("connect_timeout", CONNECT_TIMEOUT))


_OPTIONS_OF_POOLS: Final = {
    "max_size",
    "min_size",
    "acquire_timeout",
    "max_lifetime",
    "max_idle",
    "check_after_idle",
    "max_waiting",
    "init",
    "setup",
    "reset",
}


@kind("own connection")
async def _own_connection(world: World, entry: Entry) -> None:
    start, stop = _range(entry)
    options = {
        name: value for name, value in world.options[entry.pool].items() if name not in _OPTIONS_OF_POOLS
    }
    who = f"operation {entry.operation.number}"
    connecting = aioifx.connect(world.dsn, **options)
    with world.limited(f"{who}, connect", connect_limit(options)):
        conn = await connecting
    try:
        _check(await conn.fetch(WIDE_ROWS, start, stop), start, stop)
    finally:
        with world.limited(f"{who}, close", CLOSE_TIMEOUT):
            await conn.close()


@kind("wait long")
async def _wait_long(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit  # a procedure may change data
        await conn.execute(
            "EXECUTE PROCEDURE pause(?)", entry.operation.size * 50, timeout=entry.operation.timeout
        )
        _check(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)


@kind("interrupt")
async def _interrupt(world: World, entry: Entry) -> None:
    """Another task interrupts the statement; the connection goes on."""
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        pause = asyncio.ensure_future(conn.execute("EXECUTE PROCEDURE pause(?)", entry.operation.size * 20))
        try:
            await asyncio.sleep(entry.operation.size / 1000)
            conn.cancel()
            dispatcher = conn.statements.base_session.dispatcher
            is_interrupted = dispatcher.interrupter.is_pending or not dispatcher.is_open
            limit = world.options[entry.pool]["cancel_timeout"] if is_interrupted else None
            with world.limited(f"operation {entry.operation.number}, cancel", limit):
                await asyncio.wait([pause])
        finally:
            pause.cancel()
            results = await asyncio.gather(pause, return_exceptions=True)
        if isinstance(results[0], aioifx.Error) and not isinstance(results[0], aioifx.QueryCanceled):
            raise results[0]
        await _fetch_after_interrupt(conn)


async def _fetch_after_interrupt(conn: aioifx.Connection) -> None:
    try:
        _check(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)
    except aioifx.DatabaseError as error:
        if error.sqlcode == INTERRUPTED:
            raise Wrong("the interrupt of an earlier statement has reached a later one") from error
        raise


@kind("go on after a timeout")
async def _go_on(world: World, entry: Entry) -> None:
    """A connection whose statement has timed out is used again at once."""
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        try:
            timeout = entry.operation.timeout or 0.02
            # A statement that ends about when it is interrupted, or long after.
            pause = 30_000 if entry.operation.size > 2 else int(timeout * 1000) + entry.operation.number % 4
            await conn.execute("EXECUTE PROCEDURE pause(?)", pause, timeout=timeout)
        except aioifx.QueryTimeout:
            entry.went_on_at = world.loop.time()
            if not conn.autocommit:
                await conn.rollback()  # the server may have ended the transaction
        await _fetch_after_interrupt(conn)


def _check_settings(world: World, entry: Entry) -> None:
    """The settings of an earlier user are gone."""
    options, session = world.options[entry.pool], entry.transport.peer.protocol
    wait = 3 if "init" in options else options.get("lock_wait") or 0
    if (session.isolation, session.lock_wait) != ("committed read", wait):
        raise Wrong(f"isolation {session.isolation}, lock_wait {session.lock_wait}, expected {wait}")


@kind("hold", 1)
async def _hold(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        await asyncio.sleep(entry.operation.size / 100)
        _check(await conn.fetch(WIDE_ROWS, 9, 10), 9, 10)
        _check_settings(world, entry)


# -- writing ----------------------------------------------------------------------------------------------------------


@kind("insert", 4, writes=True)
async def _insert(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        entry.notes, entry.may_take_effect = 1, conn.autocommit
        await conn.execute(INSERT, entry.operation.number, "alone", timeout=entry.operation.timeout)
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


@kind("executemany", 3, writes=True, batch=True)
async def _executemany(world: World, entry: Entry) -> None:
    entry.notes = entry.operation.size
    rows = [(entry.operation.number, f"row {number}") for number in range(entry.operation.size)]
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        result = await conn.executemany(INSERT, rows, timeout=entry.operation.timeout)
        if result.rowcount != len(rows):
            raise Wrong(f"executemany counts {result.rowcount} rows of {len(rows)}")
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


@kind("fail in a batch", 2, writes=True, batch=True)
async def _fail_in_batch(world: World, entry: Entry) -> None:
    """One row of a batch fails: either none is stored, or all others."""
    size, collects = entry.operation.size, entry.operation.number % 2 == 0
    failing = entry.operation.number % size
    rows = [(entry.operation.number, TWICE if number == failing else "one") for number in range(size)]
    async with world.acquire(entry) as conn:
        if not collects:
            try:
                await conn.executemany(INSERT, rows)
            except aioifx.UniqueViolation as error:
                if error.row_index != failing:
                    raise Wrong(f"row {error.row_index} failed, expected {failing}") from error
                if (
                    error.outcome_unknown
                ):  # the server has ended the transaction, and other rows may be stored
                    raise
                return
            raise Wrong("a batch with a row that fails has succeeded")
        entry.notes, entry.may_take_effect, entry.collects = size - 1, conn.autocommit, True
        result = await conn.executemany(INSERT, rows, on_error="collect")
        entry.notes = result.rowcount
        failed = [error.row_index for error in result.errors]
        if result.rowcount + len(failed) != size or failing not in failed:
            raise Wrong(f"{result.rowcount} rows of {size} are stored, and these failed: {result.errors}")
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


@kind("load", 3, writes=True)
async def _load(world: World, entry: Entry) -> None:
    entry.notes = entry.operation.size
    rows = [(entry.operation.number, f"row {number}") for number in range(entry.operation.size)]
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        block = 7 if entry.operation.number % 2 else None
        await conn.load("note", rows, columns=["tag", "text"], block=block, timeout=entry.operation.timeout)
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


@kind("transfer", 6, writes=True)
async def _transfer(world: World, entry: Entry) -> None:
    number = entry.operation.number
    source, target = 1 + number % ACCOUNTS, 1 + (number * 3 + 1) % ACCOUNTS
    async with world.acquire(entry) as conn:
        async with conn.transaction():
            for account in sorted({source, target}) if entry.operation.size > 1 else (source, target):
                row = await conn.fetchrow(ACCOUNT + " FOR UPDATE", account)
                assert row is not None
                entry.reads[account] = row[1]
            await conn.execute(ADD, -number, source)
            await conn.execute(ADD, number, target)
            await conn.execute(INSERT, number, "transfer")
            entry.deltas = {source: -number, target: number} if source != target else {source: 0}
            entry.notes, entry.is_body_done = 1, True


@kind("transfer at repeatable read", 3, writes=True)
async def _transfer_repeatable(world: World, entry: Entry) -> None:
    number = entry.operation.number
    source, target = 1 + number % ACCOUNTS, 1 + (number + 1) % ACCOUNTS
    async with world.acquire(entry) as conn:
        async with conn.transaction(isolation="repeatable_read"):
            for account in (source, target):
                entry.reads[account] = await conn.fetchval(ACCOUNT, account, column=1)
            await conn.execute(ADD, -1, source)
            await conn.execute(ADD, 1, target)
            await conn.execute(INSERT, number, "transfer")
            entry.deltas, entry.notes, entry.is_body_done = {source: -1, target: 1}, 1, True


@kind("nested", 3, writes=True, batch=True)
async def _nested(world: World, entry: Entry) -> None:
    number = entry.operation.number
    async with world.acquire(entry) as conn, conn.transaction():
        await conn.execute(INSERT, number, "outer")
        try:
            async with conn.transaction():
                await conn.executemany(INSERT, [(number, "inner")] * entry.operation.size)
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        async with conn.transaction():
            await conn.execute(INSERT, number, "kept")
        rows = await conn.fetch(NOTES, number)
        if [row[2] for row in rows] != ["outer", "kept"]:
            raise Wrong(f"after a rollback to a savepoint there are {[row[2] for row in rows]}")
        entry.notes, entry.is_body_done = 2, True


@kind("batches", 3, writes=True, batch=True)
async def _batches(world: World, entry: Entry) -> None:
    """Many rows in one transaction, in parts; or, if every statement is part of one, rolled back and executed again."""
    rows = [(entry.operation.number, "part")] * entry.operation.size
    async with world.acquire(entry) as conn:
        if conn.autocommit:
            entry.notes = 2 * len(rows)
            async with conn.transaction():
                for _ in range(2):
                    await conn.executemany(INSERT, rows)
                entry.is_body_done = True
        else:
            entry.notes = len(rows)
            await conn.executemany(INSERT, rows)
            await conn.rollback()
            await conn.executemany(INSERT, rows)
            entry.is_body_done = True
            await conn.commit()


@kind("roll back", 2, writes=True)
async def _roll_back(world: World, entry: Entry) -> None:
    """The transaction fails by the caller's own error."""
    try:
        async with world.acquire(entry) as conn, conn.transaction():
            await conn.execute(INSERT, entry.operation.number, "rolled back")
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass


@kind("leave a transaction", 2, writes=True)
async def _leave_transaction(world: World, entry: Entry) -> None:
    """A connection that is released inside a transaction is rolled back."""
    async with world.acquire(entry) as conn:
        await conn.execute("BEGIN WORK")
        await conn.execute(INSERT, entry.operation.number, "left")


@kind("commit as text", 2, writes=True, batch=True)
async def _commit_as_text(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        await conn.execute("BEGIN WORK")
        await conn.executemany(INSERT, [(entry.operation.number, "text")] * entry.operation.size)
        entry.notes, entry.is_body_done = entry.operation.size, True
        await conn.execute("COMMIT WORK")


@kind("retry", 2, writes=True)
async def _retry(world: World, entry: Entry) -> None:
    """The whole transaction again, after errors that allow it."""

    async def once() -> None:
        entry.is_body_done = False
        async with world.acquire(entry) as conn, conn.transaction():
            await conn.execute(ADD, 1, 1)
            await conn.execute(ADD, -1, 2)
            await conn.execute(INSERT, entry.operation.number, "retried")
            entry.deltas, entry.notes, entry.is_body_done = {1: 1, 2: -1}, 1, True

    await aioifx.Retry(3)(once)


# -- what leaves traces on a session ----------------------------------------------------------------------------------


@kind("fail", 1)
async def _fail(world: World, entry: Entry) -> None:
    entry.may_take_effect = True
    try:
        await world.pools[entry.pool].execute("INSERT INTO account VALUES (1, 0)")
    except aioifx.UniqueViolation:
        return
    raise Wrong("a key was inserted twice")


@kind("leave settings", 1)
async def _leave_settings(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        entry.may_take_effect = True
        await conn.execute("SET ISOLATION TO DIRTY READ")
        await conn.execute("SET LOCK MODE TO WAIT 2")


@kind("leave a table", 1)
async def _leave_table(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        entry.may_take_effect = True
        try:
            await conn.execute("CREATE TEMP TABLE mine (a INTEGER)")
        except aioifx.ProgrammingError as error:
            raise Wrong(f"an earlier user's table is there: {error}") from error
        await conn.fetch("SELECT a FROM mine")


@kind("alter", 2)
async def _alter(world: World, entry: Entry) -> None:
    entry.may_take_effect = True
    await world.pools[entry.pool].execute("ALTER TABLE note MODIFY (text VARCHAR(40))")


@kind("use after release", 1)
async def _use_after_release(world: World, entry: Entry) -> None:
    """A task goes on with a connection that has been released."""
    async with world.acquire(entry) as conn:
        stray = asyncio.ensure_future(conn.fetch(WIDE_ROWS, 0, entry.operation.size))
        stray.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.sleep(0)
    try:
        _check(await stray, 0, entry.operation.size)
    except aioifx.InterfaceError:
        pass


@kind("forget to await", 1)
async def _forget(world: World, entry: Entry) -> None:
    """A stream is left for the garbage collector."""
    async with world.acquire(entry) as conn:
        stream = conn.stream(WIDE_ROWS, 0, entry.operation.size)
        await anext(aiter(stream))
        del stream
        _check(await conn.fetch(WIDE_ROWS, 0, 3), 0, 3)


# -- rarer calls ------------------------------------------------------------------------------------------------------


@kind("unload", 0)
async def _unload(world: World, entry: Entry) -> None:
    start, stop = _range(entry)
    written: list[bytes] = []
    async with world.acquire(entry) as conn:
        count = await conn.unload(WIDE_ROWS, written.append, start, stop, timeout=entry.operation.timeout)
    lines = b"".join(written).decode().splitlines()
    if lines != [f"{number}|{wide_text(number)}|" for number in range(start, stop)] or count != len(lines):
        raise Wrong(f"{count} rows are unloaded: {lines[:5]}")


@kind("ping", 0)
async def _ping(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        await conn.ping()


@kind("change settings", 0)
async def _change_settings(world: World, entry: Entry) -> None:
    """Settings that the pool restores."""
    async with world.acquire(entry) as conn:
        conn.autocommit = not conn.autocommit
        async with conn.transaction(isolation="repeatable_read", lock_wait=1):
            await conn.fetch(ACCOUNT, 1)
            entry.is_body_done = True


@kind("executemany slowly", 0, writes=True, batch=True)
async def _executemany_slowly(world: World, entry: Entry) -> None:
    """The rows come one by one, some after a pause."""
    entry.notes = entry.operation.size
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        await conn.executemany(INSERT, _slow_rows(entry), timeout=entry.operation.timeout)
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


@kind("load slowly", 0, writes=True)
async def _load_slowly(world: World, entry: Entry) -> None:
    entry.notes = entry.operation.size
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        await conn.load("note", _slow_rows(entry), columns=["tag", "text"], timeout=entry.operation.timeout)
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


async def _slow_rows(entry: Entry) -> AsyncIterator[tuple[int, str]]:
    for number in range(entry.operation.size):
        if number % 3 == 1:
            await asyncio.sleep(0.002)
        yield entry.operation.number, f"row {number}"


@kind("stream all", 0)
async def _stream_all(world: World, entry: Entry) -> None:
    """Several blocks, with pauses in which the next one arrives or is fetched."""
    rows: list[Any] = []
    async with world.acquire(entry) as conn:
        prefetch = entry.operation.number % 2 == 0
        async with aclosing(
            conn.stream(WIDE_ROWS, 0, WIDE, prefetch=prefetch, timeout=entry.operation.timeout)
        ) as stream:
            async for row in stream:
                rows.append(row)
                if len(rows) % (10 * entry.operation.size) == 5:
                    await asyncio.sleep(0.003)
        _check(rows, 0, WIDE)


@kind("two streams", 0)
async def _two_streams(world: World, entry: Entry) -> None:
    """Two streams of one connection, read in turns, and a query between them."""
    async with world.acquire(entry) as conn:
        async with (
            aclosing(conn.stream(WIDE_ROWS, 0, WIDE, prefetch=True)) as first,
            aclosing(conn.stream(WIDE_ROWS, 20, WIDE)) as second,
        ):
            rows = [
                await anext(stream)
                for _ in range(30 * entry.operation.size % 100)
                for stream in (first, second)
            ]
            _check(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)
            _check(rows[0::2] + [row async for row in first], 0, WIDE)
            _check(rows[1::2] + [row async for row in second], 20, WIDE)


@kind("use after a while", 0)
async def _use_after_a_while(world: World, entry: Entry) -> None:
    """Connections are idle for long enough to be checked."""
    await asyncio.sleep(0.15 * entry.operation.size)

    async def use() -> None:
        async with world.acquire(entry) as conn:
            _check(await conn.fetch(WIDE_ROWS, 5, 8, timeout=entry.operation.timeout), 5, 8)

    tasks = [asyncio.ensure_future(use()) for _ in range(3)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@kind("send much", 0, writes=True, batch=True)
async def _send_much(world: World, entry: Entry) -> None:
    """More than a transport takes at once."""
    entry.notes = 400
    rows = [(entry.operation.number, "x" * 180)] * entry.notes
    async with world.acquire(entry) as conn:
        entry.may_take_effect = conn.autocommit
        if entry.operation.number % 2:
            await conn.executemany(INSERT, rows, timeout=entry.operation.timeout)
        else:
            await conn.load("note", rows, columns=["tag", "text"], timeout=entry.operation.timeout)
        if not conn.autocommit:
            entry.is_body_done = True
            await conn.commit()


@kind("end a transaction by hand", 0, writes=True)
async def _end_by_hand(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        for commits in (False, entry.operation.number % 2 == 0):
            async with conn.transaction() as transaction:
                await conn.execute(INSERT, entry.operation.number, "by hand")
                if commits:
                    entry.notes, entry.is_body_done = 1, True
                    await transaction.commit()
                else:
                    await transaction.rollback()


@kind("leave an inner transaction", 0, writes=True)
async def _leave_inner(world: World, entry: Entry) -> None:
    """Both are rolled back."""
    async with world.acquire(entry) as conn:
        try:
            async with conn.transaction():
                await conn.transaction().start()
                await conn.execute(INSERT, entry.operation.number, "inside")
        except aioifx.InterfaceError as error:
            if "still open" not in str(error):
                raise
            return
        raise Wrong("a transaction ended with another one inside of it")


@kind("interrupt anything", 0, writes=True, batch=True)
async def _interrupt_anything(world: World, entry: Entry) -> None:
    """Another task interrupts again and again, whatever runs; the call after that is not interrupted."""
    number, size = entry.operation.number, entry.operation.size
    rows = [(number, f"row {each}") for each in range(size)]

    async def interrupt() -> None:
        for _ in range(5):
            await asyncio.sleep(number % 5 / 1000)
            conn.cancel()

    async with world.acquire(entry) as conn:
        interrupting = asyncio.ensure_future(interrupt())
        try:
            async with conn.transaction():
                _check(await conn.fetch(WIDE_ROWS, 0, size), 0, size)
                if number % 2:
                    await conn.executemany(INSERT, rows)
                else:
                    await conn.load("note", rows, columns=["tag", "text"])
                entry.notes, entry.is_body_done = size, True
        except aioifx.QueryCanceled:
            entry.notes = 0
        finally:
            interrupting.cancel()
        with suppress(aioifx.DatabaseError):  # what was committed stays
            await _fetch_after_interrupt(conn)


@kind("resize", 0)
async def _resize(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        world.resize(entry.pool, 0, 1 + entry.operation.size % 3)
        _check(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)


@kind("wait until ready", 0)
async def _wait_until_ready(world: World, entry: Entry) -> None:
    timeout, pool = entry.operation.timeout or 0.5, world.pools[entry.pool]
    world.resize(entry.pool, 2, max(2, world.options[entry.pool].get("max_size", 10)))
    world.expire(entry.pool)
    with world.limited(f"operation {entry.operation.number}, wait_ready", timeout):
        await pool.wait_ready(timeout)


@kind("close a pool", 0)
async def _close_pool(world: World, entry: Entry) -> None:
    """A pool is closed while tasks use it and wait for it."""
    who, limit = f"operation {entry.operation.number}", entry.operation.size / 20
    options: dict[str, Any] = {**world.options[entry.pool], "min_size": 0, "max_size": 2}
    pool = await aioifx.create_pool(world.dsn, **options)
    ended: list[str] = []

    async def use() -> None:
        try:
            async with pool.acquire() as conn:
                await conn.execute("EXECUTE PROCEDURE pause(?)", 200)
                _check(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)
        except aioifx.Error as error:
            ended.append(type(error).__name__)

    tasks = [asyncio.ensure_future(use()) for _ in range(3)]
    try:
        await asyncio.sleep(entry.operation.number % 4 / 20)
        with world.limited(f"{who}, close of a pool", limit + CLOSE_TIMEOUT):
            await pool.close(timeout=limit)
        with world.limited(f"{who}, calls of a closed pool", 0.0):
            await asyncio.wait(tasks)
        if size := pool.stats().size:
            raise Wrong(f"a closed pool has {size} connections, and its tasks ended by {ended}")
    finally:
        pool.terminate()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@kind("expire", 1)
async def _expire(world: World, entry: Entry) -> None:
    async with world.acquire(entry) as conn:
        world.expire(entry.pool)
        _check(await conn.fetch(WIDE_ROWS, 5, 8), 5, 8)


# -- a caller ---------------------------------------------------------------------------------------------------------


class _Noted(Injection):
    """An injection that notes when it strikes."""

    def __init__(self, manner: Manner, point: int, note: Callable[[], None]) -> None:
        self._reached = False
        self._note = note
        super().__init__(manner, point)

    @property
    def reached(self) -> bool:
        return self._reached

    @reached.setter
    def reached(self, value: bool) -> None:
        if value and not self._reached:
            self._note()
        self._reached = value


_MANNERS: Final = {
    "waiting": Manner.WAITING,
    "woken": Manner.WOKEN,
    "scope": Manner.SCOPE,
    "suspension timeout": Manner.TIMEOUT,
}


async def _cancelled_twice(call: Any, seconds: float, note: Callable[[], None]) -> None:
    """Cancel *call* after a time, and again while it ends."""
    task = asyncio.ensure_future(call)
    try:
        await asyncio.wait([task], timeout=seconds)
        if task.cancel():
            note()
            for _ in range(2):
                await asyncio.sleep(0)
                task.cancel()
    finally:
        task.cancel()
        await asyncio.wait([task])
    await task


async def _ended(world: World, entry: Entry, ending: Ending, call: Any) -> None:
    """Run an operation that its ending may end."""

    def note() -> None:
        entry.cancelled_at = world.loop.time()

    if ending.how == "twice":
        return await _cancelled_twice(call, ending.at, note)
    if ending.how == "timeout":
        limit = asyncio.timeout(ending.at)
        try:
            async with limit:
                await call
        finally:
            if limit.expired():
                entry.cancelled_at = limit.when()
        return None
    await _Noted(_MANNERS[ending.how], int(ending.at), note).into(call)
    return None


async def run_operation(world: World, operation: Operation, pool: int) -> None:
    """Run one operation, and note what became of it."""
    entry = Entry(operation, pool, world.loop.time())
    world.entries.append(entry)
    world.loop.network.trace(0, f"operation {operation.number}: {operation.kind} begins")
    call: Any = KINDS[operation.kind].run(world, entry)
    try:
        if operation.ending is None:
            await call
        else:
            await _ended(world, entry, operation.ending, call)
        entry.outcome = "done"
    except asyncio.CancelledError as error:
        entry.outcome, entry.error = "cancelled", error
        if entry.cancelled_at is None:
            world.wrong.append(f"operation {operation.number} was cancelled without a reason")
    except TimeoutError as error:
        if isinstance(error, aioifx.Error):
            entry.outcome, entry.error = type(error).__name__, error
        elif entry.cancelled_at is not None:
            entry.outcome, entry.error = "timed out", error
        else:
            entry.outcome, entry.error = "TimeoutError", error
    except Exception as error:
        entry.outcome, entry.error = type(error).__name__, error
    entry.ended = world.loop.time()
    world.loop.network.trace(0, f"operation {operation.number}: {entry.outcome} {entry.error or ''}")


async def run_caller(world: World, caller: Caller) -> None:
    """Run the operations of a caller, one after the other."""
    await asyncio.sleep(caller.start)
    for operation in caller.operations:
        await run_operation(world, operation, caller.pool)


__all__ = ["CLOSE_TIMEOUT", "KINDS", "Call", "Entry", "Wait", "World", "Wrong", "connect_limit", "run_caller"]
