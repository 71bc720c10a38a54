"""Pool: acquire, release, size, health. Never: anything below Connection.

House rules:
1. `Lending` decides; what it says is done here at once, or by a task of the pool's own. No lock is held over I/O.
2. Releasing awaits nothing, so it works in a cancelled scope.
3. A connection that comes back in any doubt is closed, and so is one whose reset fails or takes too long.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import math
import random
import traceback
import warnings
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Final, Self, TypeAlias, TypeVar, Unpack, overload

from aioifx.client.connect import open_connection
from aioifx.client.connection import Connection
from aioifx.client.lending import Action, Close, Lend, Lending, Limits, Open, Refuse, Slot
from aioifx.client.named import NamedValues
from aioifx.client.options import ConnectOptions, OptionFields, resolve
from aioifx.client.pipeline import ParamRows
from aioifx.client.result import ExecuteResult
from aioifx.errors import (
    AuthenticationError,
    DatabaseError,
    Error,
    InterfaceError,
    LocaleError,
    NotSupportedError,
    PoolClosed,
    PoolTimeout,
)
from aioifx.rows import Record, RowFactory
from aioifx.sqltypes import Value

R = TypeVar("R")

logger: Final = logging.getLogger("aioifx.pool")

Hook: TypeAlias = Callable[[Connection], Awaitable[object]]

_HOPELESS: Final = (AuthenticationError, LocaleError, NotSupportedError, InterfaceError)
"""Failures to connect that trying again does not mend."""

_CHECK_TIME: Final = 5.0
"""Seconds that an idle connection has for a sign of life."""

_RESET_TIME: Final = 5.0
"""Seconds that a connection has for being cleared up, beside what a cancelled call of its last borrower may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStats:
    """A pool at one moment."""

    name: str
    min_size: int
    max_size: int
    size: int
    """Open connections, idle or lent."""
    idle: int
    lent: int
    """Those that are being cleared up included."""
    opening: int
    waiting: int
    """Tasks that wait for a connection."""
    acquired: int
    """Times that a connection was lent."""
    opened: int
    closed: int
    failed: int
    """Tries to connect that failed."""
    refused: int
    """Tasks that were told at once that they get none."""
    timed_out: int
    """Tasks that waited longer than they would."""
    most_waiting: int
    """Tasks that waited at the same time, at most."""


@dataclass(slots=True, eq=False)
class _Waiter:
    """Somebody who wants a connection."""

    future: asyncio.Future[Lend[Connection, _Waiter]]


@dataclass(slots=True)
class _Lease:
    """What is known of a connection that is lent."""

    slot: Slot[Connection]
    since: float
    borrower: str
    """Where it was acquired, in debug mode."""


class Pool:
    """Connections that are kept open and lent; `create_pool` makes it. It belongs to one event loop."""

    def __init__(
        self,
        options: ConnectOptions,
        limits: Limits,
        *,
        acquire_timeout: float = 30.0,
        init: Hook | None = None,
        setup: Hook | None = None,
        reset: Hook | None = None,
        name: str | None = None,
        debug: bool = False,
        slow_release: float | None = None,
    ) -> None:
        self._options = options
        self._lending: Lending[Connection, _Waiter] = Lending(limits, random.random)
        self._acquire_timeout = acquire_timeout
        self._init = init
        self._setup = setup
        self._reset = reset
        self._name = name or f"{options.database or 'no database'} at {options.destination}"
        self._debug = debug
        self._slow_release = slow_release
        self._leases: weakref.WeakKeyDictionary[Connection, _Lease] = weakref.WeakKeyDictionary()
        """By the connection that the borrower has: he may forget it, we must not keep it alive."""
        self._openings: set[asyncio.Task[None]] = set()
        self._rests: set[asyncio.Task[None]] = set()
        self._closings: dict[asyncio.Task[None], Connection] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._look_at = 0.0  # uvloop's handles do not tell when their time is past
        self._loop: asyncio.AbstractEventLoop | None = None
        self._context: contextvars.Context | None = None
        """Of whoever has started the pool: its own tasks must see, and keep, nothing of a borrower's."""
        self._changed: asyncio.Future[None] | None = None
        self._timed_out = 0

    def __repr__(self) -> str:
        lending = self._lending
        state = "closed" if lending.closing else "open" if self._loop else "new"
        return (
            f"<Pool {self._name!r} {state}: {len(lending.idle)} idle, {len(lending.lent)} lent,"
            f" {len(lending.waiting)} waiting, at most {lending.limits.max_size}>"
        )

    # -- beginning ----------------------------------------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, Self]:
        return self._start().__await__()

    async def __aenter__(self) -> Self:
        return await self._start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            await self.close()
        else:
            await self.close(timeout=0)

    async def _start(self) -> Self:
        """Begin to open min_size connections, and return when the first of them is there.

        Raises:   ConnectError: the server cannot be reached, or refuses the login.
        """
        if self._loop is not None:
            raise InterfaceError("the pool has been started already")
        self._loop = asyncio.get_running_loop()
        self._context = contextvars.copy_context()
        self._check_open()
        if self._lending.limits.min_size:
            self._lending.opening += 1
            try:
                await self._open()
            except BaseException as error:
                self.terminate()
                if not isinstance(error, Exception):  # a cancellation, which `_open` does not tell
                    self._do(self._lending.cancelled(self._now()))
                raise
        if self._lending.closing:  # by another task, in the meantime
            await self.close()
        self._check_open()
        self._do(self._lending.decide(self._now()))
        return self

    async def wait_ready(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as in `acquire`
        """Wait until min_size connections are open, however often the server has to be tried.

        Raises:   PoolTimeout: not in time. PoolClosed: the pool was closed meanwhile.
        """
        limits = self._lending.limits
        self._check_open()
        try:
            async with asyncio.timeout(timeout):
                while self._lending.size < limits.min_size:
                    await self._change()
                    self._check_open()
        except TimeoutError:
            raise PoolTimeout(
                f"{self!r}: {self._lending.size} of {limits.min_size} connections were open after {timeout:g} s"
            ) from self._lending.error

    # -- borrowing ----------------------------------------------------------------------------------------------------

    def acquire(self, *, timeout: float | None = None) -> Acquiring:
        """A connection: ``async with pool.acquire() as conn:``, or ``conn = await pool.acquire()`` and `release`.

        Args:     timeout: seconds to wait for it; acquire_timeout by default.
        Raises:   PoolTimeout, on awaiting: it was not there in time, too many wait already, or the server is down.
                  PoolClosed: the pool is closed, or closing.
        """
        return Acquiring(self, self._acquire_timeout if timeout is None else timeout)

    async def borrow(self, timeout: float) -> Connection:  # noqa: ASYNC109 - the pool tells what it was about
        """What `acquire` awaits."""
        loop = self._check_open()
        limit = asyncio.timeout(timeout)
        try:
            async with limit:
                waiter = _Waiter(loop.create_future())
                self._do(self._lending.wait(waiter, self._now()))
                while (conn := await self._made_ready(await self._granted(waiter))) is None:
                    waiter = _Waiter(loop.create_future())
                    self._do(self._lending.wait_first(waiter, self._now()))
                return conn
        except TimeoutError as error:
            if isinstance(error, Error) or not limit.expired():
                raise
            self._timed_out += 1
            raise PoolTimeout(f"{self!r}: no connection within {timeout:g} s") from self._lending.error

    async def _granted(self, waiter: _Waiter) -> Lend[Connection, _Waiter]:
        try:
            return await waiter.future
        except asyncio.CancelledError:
            self._lending.forget(waiter)
            future = waiter.future
            if future.done() and not future.cancelled() and future.exception() is None:
                self._give_back(future.result().slot, sound=True, used=False)  # it came in this very moment
            raise

    async def _made_ready(self, lend: Lend[Connection, _Waiter]) -> Connection | None:
        """The connection as its borrower gets it; None if it turns out to be dead."""
        slot, base = lend.slot, lend.slot.connection
        try:
            is_alive = not base.is_closed() and (not lend.check or await _is_alive(base))
        except BaseException:  # the check was cancelled: its answer is still to come
            self._drop(slot)
            raise
        if not is_alive:
            self._drop(slot)
            return None
        where = self._place()
        conn = base.lend(partial(self._forgotten, slot, where))
        if self._setup is not None:
            try:
                await self._setup(conn)
            except BaseException:  # what it has done until then is not known
                conn.recall()
                self._drop(slot)
                raise
        self._leases[conn] = _Lease(slot, self._now(), where)
        return conn

    def _place(self) -> str:
        """Where a connection is acquired, in debug mode."""
        if not self._debug:
            return ""
        frames = [frame for frame in traceback.extract_stack(limit=20) if frame.filename != __file__]
        return f"; acquired at\n{''.join(traceback.format_list(frames[-8:]))}"

    async def release(self, conn: Connection) -> None:
        """Give a connection back; what is still open on it is closed or rolled back. Nothing is waited for.

        Raises:   InterfaceError: this pool has not lent it, or has it back already.
        """
        self.take_back(conn)

    def take_back(self, conn: Connection) -> None:
        """`release`, without anything to await."""
        if conn not in self._leases:
            raise InterfaceError(f"{self!r} has not lent this connection, or has it back already")
        self._check_loop()
        lease = self._leases.pop(conn)
        self._warn_if_slow(lease)
        slot, base = lease.slot, lease.slot.connection
        conn.recall()
        if not base.is_as_new:
            self._give_back(slot, sound=False)
        elif self._reset is None and base.is_at_rest:
            self._give_back(slot, sound=True)
        else:
            task = self._spawn(self._put_to_rest(slot), self._rests)
            task.add_done_callback(partial(self._rested, slot))

    def has_lent(self, conn: Connection) -> bool:
        """Whether this connection is the pool's, and has not been given back."""
        return conn in self._leases

    async def _put_to_rest(self, slot: Slot[Connection]) -> None:
        """Let what the borrower left be cleared up before anybody else gets the connection."""
        base = slot.connection
        try:
            async with asyncio.timeout(self._options.cancel_timeout + _RESET_TIME):
                await base.rest()
                if self._reset is not None:
                    conn = base.lend()
                    try:
                        await self._reset(conn)
                    finally:
                        conn.recall()
                    await base.rest()
        except (DatabaseError, TimeoutError) as error:
            logger.info("%r: a connection could not be cleared up, and is closed: %s", self, error)
        except Exception:
            logger.exception("%r: the reset hook failed; its connection is closed", self)
        else:
            return
        base.terminate()

    def _rested(self, slot: Slot[Connection], task: asyncio.Task[None]) -> None:
        """It is cleared up, or closed; or the task was cancelled, perhaps before it began."""
        if task.cancelled():
            self._drop(slot)
        else:
            self._give_back(slot, sound=slot.connection.is_as_new)

    def _give_back(self, slot: Slot[Connection], *, sound: bool, used: bool = True) -> None:
        """The slot is lent no longer; a connection that is not sound is closed in order."""
        sound = sound and not slot.connection.is_closed()
        self._do(self._lending.give_back(slot, self._now(), sound=sound, used=used))

    def _drop(self, slot: Slot[Connection]) -> None:
        """Nobody knows in which state the connection is, or it is dead."""
        slot.connection.terminate()
        self._give_back(slot, sound=False)

    def _forgotten(self, slot: Slot[Connection], where: str) -> None:
        """A borrower has dropped his connection instead of giving it back; called in whichever thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it is closed: there is nothing to come back to
                self._loop.call_soon_threadsafe(self._write_off, slot)
        if not self._lending.closing:  # last, because a warning may be an error
            warnings.warn(
                f"a connection of {self!r} was not given back{where}", ResourceWarning, stacklevel=2
            )

    def _write_off(self, slot: Slot[Connection]) -> None:
        if slot in self._lending.lent:
            self._drop(slot)

    def _ended(self, base: Connection) -> None:
        """The server has closed a connection, or we have."""
        if actions := self._lending.ended(base, self._now()):
            self._do(actions)

    def _warn_if_slow(self, lease: _Lease) -> None:
        held = self._now() - lease.since
        if self._slow_release is not None and held > self._slow_release:
            logger.warning("%r: a connection was held for %.1f s%s", self, held, lease.borrower)

    # -- calls on a connection of the pool's choice -------------------------------------------------------------------

    @overload
    async def fetch(self, sql: str, *args: Value, named: NamedValues | None = None) -> list[Record]: ...
    @overload
    async def fetch(
        self, sql: str, *args: Value, named: NamedValues | None = None, row_factory: RowFactory[R]
    ) -> list[R]: ...
    async def fetch(
        self,
        sql: str,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> list[Any]:
        """`Connection.fetch` on a connection of the pool."""
        async with self.acquire() as conn:
            return await conn.fetch(sql, *args, named=named, row_factory=row_factory or conn.row_factory)

    @overload
    async def fetchrow(self, sql: str, *args: Value, named: NamedValues | None = None) -> Record | None: ...
    @overload
    async def fetchrow(
        self, sql: str, *args: Value, named: NamedValues | None = None, row_factory: RowFactory[R]
    ) -> R | None: ...
    async def fetchrow(
        self,
        sql: str,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> Any | None:
        """`Connection.fetchrow` on a connection of the pool."""
        async with self.acquire() as conn:
            return await conn.fetchrow(sql, *args, named=named, row_factory=row_factory or conn.row_factory)

    async def fetchval(
        self, sql: str, *args: Value, named: NamedValues | None = None, column: int = 0
    ) -> Value:
        """`Connection.fetchval` on a connection of the pool."""
        async with self.acquire() as conn:
            return await conn.fetchval(sql, *args, named=named, column=column)

    async def execute(self, sql: str, *args: Value, named: NamedValues | None = None) -> ExecuteResult:
        """`Connection.execute` on a connection of the pool."""
        async with self.acquire() as conn:
            return await conn.execute(sql, *args, named=named)

    async def executemany(self, sql: str, rows: ParamRows, *, on_error: str = "raise") -> ExecuteResult:
        """`Connection.executemany` on a connection of the pool."""
        async with self.acquire() as conn:
            return await conn.executemany(sql, rows, on_error=on_error)

    @overload
    def stream(
        self, sql: str, *args: Value, named: NamedValues | None = None
    ) -> AsyncGenerator[Record, None]: ...
    @overload
    def stream(
        self, sql: str, *args: Value, named: NamedValues | None = None, row_factory: RowFactory[R]
    ) -> AsyncGenerator[R, None]: ...
    async def stream(
        self,
        sql: str,
        *args: Value,
        named: NamedValues | None = None,
        row_factory: RowFactory[Any] | None = None,
    ) -> AsyncGenerator[Any, None]:
        """The rows of a query, on a connection that is held until the last row or `aclose`."""
        async with self.acquire() as conn:
            factory = row_factory or conn.row_factory
            async with conn.stream(sql, *args, named=named, row_factory=factory) as stream:
                async for row in stream:
                    yield row

    # -- size and health ----------------------------------------------------------------------------------------------

    def stats(self) -> PoolStats:
        """How it stands, and what it has done so far."""
        lending, tally = self._lending, self._lending.tally
        return PoolStats(
            name=self._name,
            min_size=lending.limits.min_size,
            max_size=lending.limits.max_size,
            size=lending.size,
            idle=len(lending.idle),
            lent=len(lending.lent),
            opening=lending.opening,
            waiting=len(lending.waiting),
            acquired=tally.lent,
            opened=tally.opened,
            closed=tally.closed,
            failed=tally.failed,
            refused=tally.refused,
            timed_out=self._timed_out,
            most_waiting=tally.most_waiting,
        )

    def resize(self, min_size: int, max_size: int) -> None:
        """Other limits, from now on; surplus connections are closed now if idle, else when they come back.

        Raises:   InterfaceError: they contradict each other.
        """
        check_sizes(min_size, max_size)
        self._check_open()
        self._do(self._lending.resize(min_size, max_size, self._now()))

    def expire(self) -> None:
        """Lend no connection again that is open now: after a failover, or a change of the schema."""
        self._check_open()
        self._do(self._lending.expire(self._now()))

    # -- the end ------------------------------------------------------------------------------------------------------

    async def close(self, *, timeout: float | None = None) -> None:  # noqa: ASYNC109 - it ends in any case
        """Lend nothing any more, wait until all connections have come back, and close them. Closing twice is fine.

        Args:     timeout: seconds after which those that are still lent are dropped; None waits for them.
        """
        if self._loop is None or self._loop.is_closed():
            return self.terminate()
        self._check_loop()
        self._lend_no_more()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    while self._lending.lent:
                        await self._change()
            self._drop_lent()
            while tasks := {*self._openings, *self._rests, *self._closings}:
                await asyncio.wait(tasks)
        except BaseException:
            self.terminate()
            raise
        return None

    def terminate(self) -> None:
        """Drop every connection at once, lent ones too. May be called in any state; waits for nothing."""
        if self._loop is not None and self._loop.is_closed():
            self._lending.closing = True  # its sockets went with it
            return
        self._lend_no_more()
        self._drop_lent()
        for conn in self._closings.values():
            conn.terminate()

    def _lend_no_more(self) -> None:
        self._do(self._lending.close())
        for task in self._openings:
            task.cancel()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drop_lent(self) -> None:
        for slot in self._lending.lent:
            slot.connection.terminate()
        for task in self._rests:  # a hook may have found something else to wait for
            task.cancel()

    # -- doing what was decided ---------------------------------------------------------------------------------------

    def _do(self, actions: list[Action[Connection, _Waiter]]) -> None:
        for action in actions:
            match action:
                case Lend():
                    if action.waiter.future.done():  # cancelled in this very moment
                        self._give_back(action.slot, sound=True, used=False)
                    else:
                        action.waiter.future.set_result(action)
                case Open():
                    task = self._spawn(self._open_for_others(), self._openings)
                    task.add_done_callback(self._opening_ended)
                case Close():
                    self._close(action.slot.connection)
                case Refuse():
                    if not action.waiter.future.done():
                        action.waiter.future.set_exception(self._refusal(action))
        self._tell_change()
        self._look_later()

    def _refusal(self, refusal: Refuse[_Waiter]) -> PoolTimeout | PoolClosed:
        kind = PoolClosed if self._lending.closing else PoolTimeout
        error = kind(f"{self!r}: {refusal.reason}")
        error.__cause__ = refusal.cause
        return error

    async def _open(self) -> None:
        """Open one connection, and tell `Lending` of it or of its failure; but not of a cancellation."""
        try:
            base = await open_connection(self._options)
            if self._init is not None:
                await self._prepared(base, self._init)
        except Exception as error:
            hopeless = isinstance(error, _HOPELESS)
            self._do(self._lending.failed(error, self._now(), hopeless=hopeless))
            raise
        base.when_ended(partial(_tell_end, weakref.ref(self), weakref.ref(base)))
        self._do(self._lending.opened(base, self._now()))

    async def _open_for_others(self) -> None:
        try:
            await self._open()
        except Exception as error:
            logger.warning("%r: no connection: %s", self, error)

    def _opening_ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # perhaps before it began
            self._do(self._lending.cancelled(self._now()))

    async def _prepared(self, base: Connection, hook: Hook) -> None:
        conn = base.lend()
        try:
            await hook(conn)
            base.keep_as_new()
            conn.recall()
            await base.rest()
        except BaseException:
            conn.recall()
            base.terminate()
            raise

    def _close(self, conn: Connection) -> None:
        """Close a connection in order, and let nobody wait for it."""
        task = self._spawn(_close(conn))
        self._closings[task] = conn
        task.add_done_callback(self._closings.pop)

    def _look_later(self) -> None:
        """Decide again when the time alone makes a difference; too early does no harm, and a timer costs something."""
        look = self._lending.next_look(self._now())
        if look is None or self._loop is None:
            return
        if self._timer is not None:
            if self._look_at <= look:
                return
            self._timer.cancel()
        self._look_at = look
        self._timer = self._loop.call_at(look, self._look, context=self._context)

    def _look(self) -> None:
        self._timer = None
        self._do(self._lending.decide(self._now()))

    def _tell_change(self) -> None:
        changed, self._changed = self._changed, None
        if changed is not None and not changed.done():
            changed.set_result(None)

    async def _change(self) -> None:
        """Return when something has changed."""
        if self._changed is None or self._changed.done():
            self._changed = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._changed)

    def _spawn(
        self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]] | None = None
    ) -> asyncio.Task[None]:
        assert self._loop is not None
        task = self._loop.create_task(work, context=self._context)
        if tasks is not None:
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        return task

    def _now(self) -> float:
        return self._loop.time() if self._loop is not None else 0.0

    def _check_open(self) -> asyncio.AbstractEventLoop:
        if self._lending.closing:
            raise PoolClosed(f"{self!r}: it is closed")
        if self._loop is None:
            raise InterfaceError("the pool has not been started: await it, or enter it with async with")
        self._check_loop()
        return self._loop

    def _check_loop(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise InterfaceError(f"{self!r} belongs to another event loop")


class Acquiring:
    """A connection that is on its way from a pool; await it, or enter it."""

    __slots__ = ("_conn", "_entered", "_pool", "_timeout")

    def __init__(self, pool: Pool, timeout: float) -> None:
        self._pool = pool
        self._timeout = timeout
        self._conn: Connection | None = None
        self._entered = False

    def __await__(self) -> Generator[Any, None, Connection]:
        return self._pool.borrow(self._timeout).__await__()

    async def __aenter__(self) -> Connection:
        if self._entered:
            raise InterfaceError("one acquire is for one block; call it again")
        self._entered = True
        self._conn = await self._pool.borrow(self._timeout)
        return self._conn

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        conn, self._conn = self._conn, None
        if conn is not None and self._pool.has_lent(conn):  # it may have been released within the block
            self._pool.take_back(conn)


async def _is_alive(conn: Connection) -> bool:
    """Whether a connection that was idle for long answers."""
    try:
        async with asyncio.timeout(_CHECK_TIME):
            await conn.ping()
    except (DatabaseError, TimeoutError):
        return False
    return True


async def _close(conn: Connection) -> None:
    try:
        await conn.close()
    except DatabaseError as error:
        logger.debug("a connection was not closed in order: %s", error)


def _tell_end(pool: weakref.ref[Pool], conn: weakref.ref[Connection]) -> None:
    """A connection has ended; its pool may have ended before it."""
    owner, base = pool(), conn()
    if owner is not None and base is not None:
        owner._ended(base)  # pyright: ignore[reportPrivateUsage] - it is the pool's own callback


def create_pool(
    dsn: str | None = None,
    *,
    min_size: int = 1,
    max_size: int = 10,
    acquire_timeout: float = 30.0,
    max_waiting: int = 0,
    max_lifetime: float = 3600.0,
    max_idle: float = 300.0,
    check_after_idle: float = 30.0,
    init: Hook | None = None,
    setup: Hook | None = None,
    reset: Hook | None = None,
    name: str | None = None,
    debug: bool = False,
    slow_release: float | None = None,
    **options: Unpack[OptionFields],
) -> Pool:
    """A pool of connections: ``async with create_pool(...) as pool:``, or ``pool = await create_pool(...)``.

    Args:     min_size, max_size: how many are kept open, and how many may be at most.
              acquire_timeout: seconds that `acquire` waits. max_waiting: tasks that may wait at a time; 0: any number.
              max_lifetime, max_idle: seconds after which a connection is replaced, or closed if it is not needed;
              0: never. check_after_idle: one that was idle for longer is asked for a sign of life first.
              init, setup, reset: coroutine functions that get a connection when it has been opened, before it is lent,
              and after it came back.
              debug: remember where each connection was acquired, and say so when it is forgotten or held for long.
              slow_release: seconds after which a release is logged as late.
              options: those of `connect`.
    Raises:   InterfaceError: an option is wrong; raised here, before anything is opened.
    """
    check_sizes(min_size, max_size)
    for what, number in {
        "acquire_timeout": acquire_timeout,
        "max_waiting": max_waiting,
        "max_lifetime": max_lifetime,
        "max_idle": max_idle,
        "check_after_idle": check_after_idle,
        "slow_release": slow_release or 0,
    }.items():
        _check_number(what, number)
    for what, hook in (("init", init), ("setup", setup), ("reset", reset)):
        if hook is not None and not callable(hook):
            raise InterfaceError(f"{what}: must be a coroutine function that takes a connection")
    limits = Limits(min_size, max_size, max_waiting, max_lifetime, max_idle, check_after_idle)
    return Pool(
        resolve(dsn, options),
        limits,
        acquire_timeout=acquire_timeout,
        init=init,
        setup=setup,
        reset=reset,
        name=name,
        debug=debug,
        slow_release=slow_release,
    )


def check_sizes(min_size: object, max_size: object) -> None:
    """Raise unless these are sizes of a pool."""
    for name, size, least in (("min_size", min_size, 0), ("max_size", max_size, 1)):
        if not isinstance(size, int) or isinstance(size, bool) or size < least:
            raise InterfaceError(f"{name}: must be a whole number, {least} or more")
    if isinstance(min_size, int) and isinstance(max_size, int) and min_size > max_size:
        raise InterfaceError(f"min_size: {min_size} is more than max_size, {max_size}")


def _check_number(name: str, value: object) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise InterfaceError(f"{name}: must be a number, 0 or more")
