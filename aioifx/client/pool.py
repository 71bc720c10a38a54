"""Pool: acquire, release, size, health. Never: anything below Connection."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, overload

from aioifx.client.connection import Connection
from aioifx.client.keeper import Keeper
from aioifx.client.lending import Limits
from aioifx.client.named import NamedValues
from aioifx.client.options import OptionFields, resolve
from aioifx.client.owner import NotCopied
from aioifx.client.pipeline import ParamRows
from aioifx.client.result import ExecuteResult
from aioifx.client.upkeep import Hook, Upkeep
from aioifx.errors import InterfaceError
from aioifx.rows import Record, RowFactory
from aioifx.sqltypes import Value

R = TypeVar("R")


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


class Pool(NotCopied):
    """Connections that are kept open and lent; `create_pool` makes it. It belongs to one event loop."""

    def __init__(self, keeper: Keeper, acquire_timeout: float) -> None:
        self._keeper = keeper
        self._acquire_timeout = acquire_timeout

    def __repr__(self) -> str:
        return repr(self._keeper)

    # -- beginning ----------------------------------------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, Self]:
        return self._start().__await__()

    async def __aenter__(self) -> Self:
        return await self._start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._keeper.close(None if error is None else 0)

    async def _start(self) -> Self:
        await self._keeper.start()
        return self

    async def wait_ready(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as in `acquire`
        """Wait until min_size connections are open, however often the server has to be tried.

        Raises:   PoolTimeout: not in time. PoolClosed: the pool was closed meanwhile.
        """
        await self._keeper.wait_ready(timeout)

    # -- borrowing ----------------------------------------------------------------------------------------------------

    def acquire(self, *, timeout: float | None = None) -> Acquiring:
        """A connection: ``async with pool.acquire() as conn:``, or ``conn = await pool.acquire()`` and `release`.

        Args:     timeout: seconds to wait for it; acquire_timeout by default.
        Raises:   PoolTimeout, on awaiting: it was not there in time, too many wait already, or the server is down.
                  PoolClosed: the pool is closed, or closing.
        """
        return Acquiring(self._keeper, self._acquire_timeout if timeout is None else timeout)

    async def release(self, conn: Connection) -> None:
        """Give a connection back; what is still open on it is closed or rolled back. Nothing is waited for.

        Raises:   InterfaceError: this pool has not lent it, or has it back already.
        """
        self._keeper.take_back(conn)

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
        lending, tally = self._keeper.lending, self._keeper.lending.tally
        return PoolStats(
            name=self._keeper.name,
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
            timed_out=self._keeper.timed_out,
            most_waiting=tally.most_waiting,
        )

    def resize(self, min_size: int, max_size: int) -> None:
        """Other limits, from now on; surplus connections are closed now if idle, else when they come back.

        Raises:   InterfaceError: they contradict each other.
        """
        check_sizes(min_size, max_size)
        self._keeper.resize(min_size, max_size)

    def expire(self) -> None:
        """Lend no connection again that is open now: after a failover, or a change of the schema."""
        self._keeper.expire()

    # -- the end ------------------------------------------------------------------------------------------------------

    async def close(self, *, timeout: float | None = None) -> None:  # noqa: ASYNC109 - it ends in any case
        """Lend nothing any more, wait until all connections have come back, and close them. Closing twice is fine.

        Args:     timeout: seconds after which those that are still lent are dropped; None waits for them.
        """
        await self._keeper.close(timeout)

    def terminate(self) -> None:
        """Drop every connection at once, lent ones too. May be called in any state; waits for nothing.

        In a forked process it closes that process's descriptors alone, and the pool of the parent stays as it is.
        """
        self._keeper.terminate()


class Acquiring:
    """A connection that is on its way from a pool; await it, or enter it."""

    __slots__ = ("_conn", "_entered", "_keeper", "_timeout")

    def __init__(self, keeper: Keeper, timeout: float) -> None:
        self._keeper = keeper
        self._timeout = timeout
        self._conn: Connection | None = None
        self._entered = False

    def __await__(self) -> Generator[Any, None, Connection]:
        return self._keeper.borrow(self._timeout).__await__()

    async def __aenter__(self) -> Connection:
        if self._entered:
            raise InterfaceError("one acquire is for one block; call it again")
        self._entered = True
        self._conn = await self._keeper.borrow(self._timeout)
        return self._conn

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        conn, self._conn = self._conn, None
        if conn is not None and self._keeper.has_lent(conn):  # it may have been released within the block
            self._keeper.take_back(conn)


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
              and after it came back. They have connect_timeout, acquire_timeout, and cancel_timeout and 5 seconds.
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
    upkeep = Upkeep(resolve(dsn, options), init, setup, reset)
    name = name or f"{upkeep.options.database or 'no database'} at {upkeep.options.destination}"
    keeper = Keeper(upkeep, limits, name=name, debug=debug, slow_release=slow_release)
    return Pool(keeper, acquire_timeout)


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
