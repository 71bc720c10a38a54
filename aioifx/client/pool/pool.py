"""Pool: acquire, release, size, health. Never: anything below Connection.

Invariants:
1. A connection is released when its block or its last rows end, for any reason. The release awaits nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, Unpack, overload

from aioifx._speedups.round_trip import InFlight
from aioifx.client.api.connection import Connection, no_attribute, statements_of
from aioifx.client.api.queries import Queries
from aioifx.client.config.checks import check_flag, check_seconds, check_wait, check_whole
from aioifx.client.config.options import OptionFields
from aioifx.client.config.resolve import POOL_OPTIONS, resolve
from aioifx.client.execution.actions import Action
from aioifx.client.execution.block_reader import BlockReader, release_cursor
from aioifx.client.execution.execute import call
from aioifx.client.execution.row_plan import RowPlan, RowPlans
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import StatementCache, StatementSource
from aioifx.client.observation.observation import Watch
from aioifx.client.observation.operation import OperationName
from aioifx.client.pool.decisions import Limits
from aioifx.client.pool.leases import Holder
from aioifx.client.pool.lifecycle import ConnectionLifecycle, Hook, within_operation
from aioifx.client.pool.manager import PoolManager
from aioifx.client.pool.stats import PoolStats
from aioifx.client.session.loop_binding import NotCopied
from aioifx.errors import InterfaceError
from aioifx.rows import Item, Record, RowFactory
from aioifx.sqltypes import Row, Value


class AcquireContext(Generic[Item]):
    """Result of `Pool.acquire`: await it, or use it with ``async with``."""

    __slots__ = ("_conn", "_entered", "_manager", "_timeout")

    def __init__(self, manager: PoolManager, timeout: float) -> None:
        self._manager = manager
        self._timeout = timeout
        self._conn: Connection[Item] | None = None
        self._entered = False

    if not TYPE_CHECKING:  # hidden from type checkers, which reject unknown attributes

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name)

    def __await__(self) -> Generator[Any, None, Connection[Item]]:
        return self._manager.acquire(self._timeout).__await__()

    async def __aenter__(self) -> Connection[Item]:
        if self._entered:
            raise InterfaceError("an acquire can be entered only once; call acquire() again")
        self._entered = True
        self._conn = await self._manager.acquire(self._timeout)
        return self._conn

    async def __aexit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Release the connection of the block, unless it is already released."""
        conn, self._conn = self._conn, None
        if conn is not None:
            self._manager.release_if_held(conn)  # not if it was released inside the block


class PoolBlockReader(BlockReader):
    """Reads blocks on a connection that is acquired for the first one, and released after the last one or `close`.

    If the reader is not closed, garbage collection releases the connection.
    """

    def __init__(
        self,
        acquire: Callable[[], AcquireContext[Any]],
        sql: str,
        params: Sequence[Value],
        plan: Callable[[RowPlans], RowPlan],
        *,
        prefetch: bool,
        timeout: float | None,
    ) -> None:
        super().__init__(None, sql, params, plan, prefetch=prefetch, timeout=timeout)
        self._acquire = acquire
        self._acquired: AcquireContext[Any] | None = None

    async def _start(self) -> list[Row]:
        acquired = self._acquire()
        acquiring = acquired.__aenter__()
        conn = await (acquiring if self.watch is None else within_operation(acquiring))
        self._source = statements_of(conn)
        self._acquired = acquired
        return await super()._start()

    def _check_binding(self) -> None:
        if self._acquired is not None:
            super()._check_binding()

    def _on_closed(self) -> None:
        acquired, self._acquired = self._acquired, None
        if acquired is not None:
            acquired.release()

    def __del__(self) -> None:
        acquired = getattr(self, "_acquired", None)
        if acquired is not None and not self._source.is_closed:
            # Finalizers run in any thread. The callback keeps the connection alive until it has run.
            self._session.dispatcher.call_threadsafe(
                _release_leaked, self._source, self.statement, self._prefetched, acquired
            )


def _release_leaked(
    source: StatementSource,
    statement: Statement | None,
    prefetched: InFlight | None,
    acquired: AcquireContext[Any],
) -> None:
    """Clean up a reader that was garbage-collected without being closed."""
    if statement is not None:
        release_cursor(source, statement, prefetched)
    acquired.release()


A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")


class Pool(Queries[Item], NotCopied):
    """A pool of open connections; `create_pool` makes it.

    Bound to the event loop and the process that started it; elsewhere its methods raise `InterfaceError`. In a
    forked process `close` and `terminate` close that process's descriptors alone.
    """

    def __init__(
        self, manager: PoolManager, acquire_timeout: float, row_factory: RowFactory[Item] | None = None
    ) -> None:
        super().__init__(row_factory)
        self._manager = manager
        self._observation = manager.observation
        self._acquire_timeout = acquire_timeout

    def __repr__(self) -> str:
        return repr(self._manager)

    # -- starting -----------------------------------------------------------------------------------------------------

    def __await__(self) -> Generator[Any, None, Self]:
        return self._start().__await__()

    async def __aenter__(self) -> Self:
        return await self._start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._manager.close(None if error is None else 0)

    async def _start(self) -> Self:
        await self._manager.start()
        return self

    async def wait_ready(self, timeout: float | None = None) -> None:
        """Wait until min_size connections are open, with as many attempts as it takes.

        Args:
            timeout: seconds; None: no limit.

        Raises:
            PoolTimeout: not in time.
            PoolClosed: the pool was closed meanwhile.
        """
        check_wait(timeout)
        await self._manager.wait_ready(timeout)

    # -- acquiring ----------------------------------------------------------------------------------------------------

    def acquire(self, *, timeout: float | None = None) -> AcquireContext[Item]:
        """Acquire a connection: ``async with pool.acquire() as conn:``, or await it and call `release`.

        Tasks get connections in the order in which they asked. The connection released last is used first.

        Args:
            timeout: seconds to wait for it; None: acquire_timeout.

        Raises:
            PoolTimeout: when awaited; none was free in time, too many tasks already wait, or the server cannot be
                reached.
            PoolClosed: the pool is closed or closing. Any exception of *setup*.
        """
        check_wait(timeout)
        return AcquireContext(self._manager, self._acquire_timeout if timeout is None else timeout)

    def release(self, conn: Connection[Any]) -> Awaitable[None]:
        """Release a connection, which is reset for the next task. Waits for nothing.

        The connection is released when the call returns. Awaiting the result is allowed but not needed.

        The reset closes cursors, streams and Lobs, and rolls back an open transaction. It restores autocommit,
        isolation, lock mode and codecs to what the options and *init* have set. Prepared statements stay cached. What
        must be sent for it, and the *reset* hook, run before the next task has the connection.

        A connection whose state cannot be restored is closed instead. Its user has run SET ENVIRONMENT, made a
        temporary table or changed the database, for example, or the reset has failed.

        Raises:
            InterfaceError: the connection is not from this pool, or is already released.
        """
        if not isinstance(conn, Connection):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InterfaceError(f"conn: expected a connection of this pool, got {type(conn).__name__}")
        self._manager.release(conn)
        return _DONE

    def _call(
        self,
        name: OperationName,
        sql: str,
        params: Sequence[Value],
        action: Action[A, T],
        argument: A,
        timeout: float | None,
    ) -> Awaitable[T]:
        work = self._call_taken(sql, params, action, argument, timeout)
        if self._observation is None:
            return work
        return self._observation.run(name, work, sql=sql, parameters=len(params))

    async def _call_taken(
        self, sql: str, params: Sequence[Value], action: Action[A, T], argument: A, timeout: float | None
    ) -> T:
        """`execute.call` on a connection of the pool that gets no `Connection`."""
        manager, observation = self._manager, self._observation
        pooled = manager.try_take() if observation is None else manager.try_take_within(observation)
        if pooled is None:
            if manager.has_setup:  # which needs one
                return await self._run_acquired(
                    lambda each: call(each, sql, params, action, argument, timeout)
                )
            pooled = await manager.take(self._acquire_timeout)
        statements = pooled.session.statements
        try:
            return await call(statements, sql, params, action, argument, timeout)
        finally:
            manager.end(pooled, statements)

    def _run(
        self,
        name: OperationName,
        sql: str,
        parameters: int,
        function: Callable[[StatementCache], Awaitable[T]],
        batch_size: int | None = None,
    ) -> Awaitable[T]:
        work = self._run_acquired(function)
        if self._observation is None:
            return work
        return self._observation.run(name, work, sql=sql, parameters=parameters, batch_size=batch_size)

    async def _run_acquired(self, function: Callable[[StatementCache], Awaitable[T]]) -> T:
        """Call *function* with the statement cache of a connection."""
        acquired = self.acquire()
        acquiring = acquired.__aenter__()
        # Without an observer, the current operation is not the pool's.
        conn = await (acquiring if self._observation is None else within_operation(acquiring))
        try:
            return await function(statements_of(conn))
        finally:
            acquired.release()

    def _block_reader(
        self,
        sql: str,
        params: Sequence[Value],
        plan: Callable[[RowPlans], RowPlan],
        prefetch: bool,
        timeout: float | None,
    ) -> BlockReader:
        reader = PoolBlockReader(self.acquire, sql, params, plan, prefetch=prefetch, timeout=timeout)
        if self._observation is not None:
            reader.watch = Watch(self._observation, "stream", sql, len(params))
        return reader

    # -- size and health ----------------------------------------------------------------------------------------------

    @property
    def stats(self) -> PoolStats:
        """Sizes, counters and times at this moment. Valid in any thread."""
        state, counters = self._manager.state, self._manager.state.counters
        wait_time = counters.wait_time.snapshot()
        return PoolStats(
            name=self._manager.name,
            min_size=state.limits.min_size,
            max_size=state.limits.max_size,
            size=state.size,
            idle=len(state.idle),
            in_use=len(state.in_use),
            opening=state.opening,
            waiting=len(state.waiting),
            acquired=wait_time.count,
            opened=counters.opened,
            closed=counters.closed,
            failed=counters.failed,
            rejected=counters.rejected,
            timed_out=counters.timed_out,
            most_waiting=counters.most_waiting,
            wait_time=wait_time,
            use_time=counters.use_time.snapshot(),
            create_time=counters.create_time.snapshot(),
        )

    def pop_stats(self) -> PoolStats:
        """As `stats`; afterwards the counters and times start again at 0, most_waiting at *waiting*.

        For one reader that reports at intervals. Several readers use `stats` and subtract.
        """
        stats = self.stats
        self._manager.state.counters.reset(stats.waiting)
        return stats

    def holders(self) -> list[Holder]:
        """The connections that are acquired, longest held first.

        With ``debug=True``, each with the task that acquired it, and where.
        """
        return self._manager.holders()

    def resize(self, min_size: int, max_size: int) -> None:
        """Change the limits; surplus connections are closed now if idle, else when they are released.

        Args:
            min_size: connections that are kept open.
            max_size: connections that may be open.

        Raises:
            InterfaceError: min_size is greater than max_size, or one of them is invalid.
        """
        check_sizes(min_size, max_size)
        self._manager.resize(min_size, max_size)

    def expire(self) -> None:
        """Replace every connection that is open now, for example after a failover or a schema change."""
        self._manager.expire()

    # -- closing ------------------------------------------------------------------------------------------------------

    async def close(self, *, timeout: float | None = None) -> None:
        """Stop acquires, wait until all connections are released, and close them. Idempotent.

        Each connection has five seconds to close. When this call is cancelled, all of them are dropped.

        Args:
            timeout: seconds until connections still in use are dropped; None: no limit.
        """
        check_wait(timeout)
        await self._manager.close(timeout)

    def terminate(self) -> None:
        """Drop every connection immediately, including those in use. Valid in any state; waits for nothing.

        In a forked process only that process's descriptors are closed; the parent's pool is unaffected.
        """
        self._manager.terminate()


class _Done:
    """A completed awaitable."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        yield from ()


_DONE: Final = _Done()


class PoolFields(OptionFields, total=False):
    """Keywords of create_pool() except row_factory, which determines the type of its connections."""

    min_size: int
    max_size: int
    acquire_timeout: float
    max_waiting: int
    max_lifetime: float
    max_idle: float
    check_after_idle: float
    init: Hook | None
    setup: Hook | None
    reset: Hook | None
    name: str | None
    debug: bool
    slow_release: float | None


@overload
def create_pool(
    dsn: str | None = None, *, row_factory: None = None, **options: Unpack[PoolFields]
) -> Pool[Record]: ...
@overload
def create_pool(
    dsn: str | None = None, *, row_factory: RowFactory[R], **options: Unpack[PoolFields]
) -> Pool[R]: ...
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
    row_factory: RowFactory[Any] | None = None,
    **options: Unpack[OptionFields],
) -> Pool[Any]:
    """Create a pool: ``async with create_pool(...) as pool:``, or ``pool = await create_pool(...)``.

    Either starts the pool. The end of the block closes it; when an exception leaves the block, it does not wait for
    connections in use.

    Args:
        dsn: as for `connect`.
        min_size: connections kept open.
        max_size: maximum number of open connections.
        acquire_timeout: seconds that `Pool.acquire` waits.
        max_waiting: tasks that may wait while no further connection can be opened; 0: any number.
        max_lifetime: seconds after which a connection is replaced, less up to a tenth; 0: never.
        max_idle: seconds after which an idle connection is closed, down to *min_size*; 0: never.
        check_after_idle: seconds; a connection idle for longer is checked before use, in one round trip.
        init: coroutine function called with each new connection, within connect_timeout. Its settings stay.
        setup: likewise, before each use, within the timeout of `Pool.acquire`.
        reset: likewise, after each release, within cancel_timeout plus five seconds.
        name: name of the pool in messages.
        debug: record which task acquires each connection, and where. `Pool.holders`, the pool's repr, the notes of
            `PoolTimeout`, and messages about connections that leak or are held long show it.
        slow_release: seconds after which a release is logged as late; None: never.
        row_factory: as for `connect`.
        options: as for `connect`. A callable password is called for each connection.

    Raises:
        InterfaceError: an option is invalid; raised at the call, before a socket is opened.
        ConnectError: on start; the first connection cannot be opened. Any exception of *init*.
    """
    check_sizes(min_size, max_size)
    for what, number in {
        "acquire_timeout": acquire_timeout,
        "max_lifetime": max_lifetime,
        "max_idle": max_idle,
        "check_after_idle": check_after_idle,
        "slow_release": 0 if slow_release is None else slow_release,
    }.items():
        check_seconds(what, number, zero=True)
    check_whole("max_waiting", max_waiting, 0)
    if not (name is None or isinstance(name, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InterfaceError(f"name: expected a str, got {type(name).__name__}")
    check_flag("debug", debug)
    for what, hook in (("init", init), ("setup", setup), ("reset", reset)):
        if hook is not None and not callable(hook):
            raise InterfaceError(
                f"{what}: expected a coroutine function that takes a connection, got {type(hook).__name__}"
            )
    limits = Limits(min_size, max_size, max_waiting, max_lifetime, max_idle, check_after_idle)
    resolved = resolve(dsn, {**options, "row_factory": row_factory}, also=POOL_OPTIONS)
    name = name or f"{resolved.database or 'no database'} at {resolved.destination}"
    lifecycle = ConnectionLifecycle(resolved, init, setup, reset, resolved.observation(name))
    manager = PoolManager(lifecycle, limits, name=name, debug=debug, slow_release=slow_release)
    return Pool(manager, acquire_timeout, row_factory)


def check_sizes(min_size: int, max_size: int) -> None:
    """Raise InterfaceError unless these are valid sizes of a pool."""
    check_whole("min_size", min_size, 0)
    check_whole("max_size", max_size, 1)
    if min_size > max_size:
        raise InterfaceError(f"min_size: expected at most max_size ({max_size}), got {min_size}")
