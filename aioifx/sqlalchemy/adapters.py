"""The asyncio client as the blocking PEP 249 module that SQLAlchemy expects. Never: SQL, the dialect.

SQLAlchemy calls a driver without `await`, inside a greenlet, and waits through `await_`.

Invariants:
1. Every call runs the client's own method. Rows are plain tuples, and large values are complete.
2. A connection of a `Pool` is returned to it, never closed, unless SQLAlchemy drops it.
"""

# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false
# pyright: reportPrivateUsage=false
# SQLAlchemy's base classes are annotated in part, and their extension points have private names.

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from sqlalchemy.connectors.asyncio import (
    AsyncAdapt_dbapi_connection,
    AsyncAdapt_dbapi_cursor,
    AsyncAdapt_dbapi_module,
    AsyncAdapt_dbapi_ss_cursor,
    AsyncAdapt_terminate,
)

from aioifx import errors
from aioifx.client.api.connection import Connection, statements_of
from aioifx.client.api.cursor import Cursor
from aioifx.client.config.resolve import resolve
from aioifx.client.pool.pool import Pool
from aioifx.client.session.loop_binding import LoopBinding
from aioifx.dbapi.connect import open_transactional
from aioifx.rows import tuple_row

T = TypeVar("T")

if TYPE_CHECKING:

    def await_(awaitable: Awaitable[T]) -> T:
        """Wait for *awaitable* in the event loop, from code that SQLAlchemy runs in a greenlet."""
        ...

else:
    try:
        from sqlalchemy.util.concurrency import await_
    except ImportError:  # the name before 2.1
        from sqlalchemy.util.concurrency import await_only as await_

_EXCEPTIONS: Final = (
    "Warning", "Error", "InterfaceError", "DatabaseError", "DataError", "OperationalError", "IntegrityError",
    "InternalError", "ProgrammingError", "NotSupportedError",
)  # fmt: skip


class AdaptedCursor(AsyncAdapt_dbapi_cursor):
    """A cursor that fetches all rows when it is executed, and keeps what it knows of the statement."""

    __slots__ = ("_description", "_lastrowid", "_rowcount", "serials")

    # The client's cursor is closed when its rows are here.
    _awaitable_cursor_close = False

    def __init__(self, adapt_connection: AsyncAdapt_dbapi_connection) -> None:
        super().__init__(adapt_connection)
        self._keep(None, -1, None)

    @property
    def connection(self) -> Any:
        return self._adapt_connection

    def _make_new_cursor(self, connection: Any) -> Any:
        return connection.cursor(row_factory=tuple_row, lobs="inline")

    def _aenter_cursor(self, cursor: Any) -> Any:
        return cursor  # entering does nothing

    def _keep(
        self, description: Any, rowcount: int, lastrowid: int | None, serials: tuple[int | None, ...] = ()
    ) -> None:
        self._description, self._rowcount, self._lastrowid = description, rowcount, lastrowid
        self.serials = serials

    @property
    def description(self) -> Any:
        return self._description

    @property
    def rowcount(self) -> int:
        return self._rowcount

    @property
    def lastrowid(self) -> Any:
        return self._lastrowid

    def close(self) -> None:
        self._rows.clear()

    async def _execute_async(self, operation: Any, parameters: Any) -> None:
        # Without the lock of the base class: calls of a connection wait for their turn in the client.
        cursor = cast(Cursor[Any], self._cursor)
        await cursor.execute(operation, () if parameters is None else parameters)
        description = cursor.description
        if description is not None:
            self._rows = deque(await cursor.fetchall())
        self._keep(description, cursor.rowcount, cursor.lastrowid)

    async def _executemany_async(self, operation: Any, seq_of_parameters: Any) -> None:
        cursor = cast(Cursor[Any], self._cursor)
        await cursor.executemany(operation, seq_of_parameters)
        self._keep(None, cursor.rowcount, cursor.lastrowid, cursor.serials)


class AdaptedStreamCursor(AsyncAdapt_dbapi_ss_cursor):
    """A cursor that fetches rows block by block."""

    __slots__ = ()

    async def _execute_async(self, operation: Any, parameters: Any) -> None:
        await self._cursor.execute(operation, () if parameters is None else parameters)

    @property
    def connection(self) -> Any:
        return self._adapt_connection

    def _make_new_cursor(self, connection: Any) -> Any:
        return connection.cursor(row_factory=tuple_row, lobs="inline")

    def _aenter_cursor(self, cursor: Any) -> Any:
        return cursor


class AdaptedConnection(AsyncAdapt_terminate, AsyncAdapt_dbapi_connection):
    """A connection of the asyncio client.

    Args:
        release: returns the connection to its pool; None: the connection is closed instead.
    """

    _cursor_cls = AdaptedCursor
    _ss_cursor_cls = AdaptedStreamCursor

    def __init__(
        self, dbapi: Any, connection: Connection[Any], release: Callable[[Connection[Any]], object] | None
    ) -> None:
        super().__init__(dbapi, cast(Any, connection))
        self._release = release

    @property
    def client(self) -> Connection[Any]:
        """The connection of the asyncio client."""
        return cast(Connection[Any], self._connection)

    @property
    def autocommit(self) -> bool:
        return self.client.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        self.client.autocommit = value

    def run(self, function: Callable[[Connection[Any]], Awaitable[T]]) -> T:
        """Await ``function(client)``, as `aioifx.dbapi.Connection.run` does."""
        return await_(function(self.client))

    def ping(self) -> None:
        """Check that the server answers, in one round trip."""
        self.run(Connection.ping)

    @property
    def binding(self) -> LoopBinding:
        """Event loop and process that the connection is bound to."""
        return statements_of(self.client).base_session.dispatcher.binding

    def close(self) -> None:
        if self.binding.is_gone:
            self._terminate_force_close()
        else:
            await_(self._terminate_graceful_close())

    def _terminate_handled_exceptions(self) -> tuple[type[BaseException], ...]:
        return (*super()._terminate_handled_exceptions(), errors.Error)

    async def _terminate_graceful_close(self) -> None:
        if not self._return_to_pool():
            await self.client.close()

    def _terminate_force_close(self) -> None:
        self.client.terminate()
        self._return_to_pool()

    def _return_to_pool(self) -> bool:
        """Release the connection, open or not, if it is of a pool; False otherwise."""
        release, self._release = self._release, None
        if release is None:
            return False
        release(self.client)
        return True


class AdaptedModule(AsyncAdapt_dbapi_module):
    """The module that PEP 249 describes, for `create_async_engine`."""

    apilevel = "2.0"
    threadsafety = 2
    paramstyle = "qmark"

    Binary = bytes
    Date = datetime.date
    Time = datetime.time
    Timestamp = datetime.datetime

    def __init__(self) -> None:
        # Not the base class's __init__: in 2.0 it takes no argument, in 2.1 the driver's module.
        self.driver = self.dbapi_module = errors
        for name in _EXCEPTIONS:
            setattr(self, name, getattr(errors, name))

    def connect(
        self,
        *args: Any,
        async_creator_fn: Callable[..., Awaitable[Connection[Any]]] | None = None,
        **options: Any,
    ) -> AdaptedConnection:
        """Connect, or get a connection from *async_creator_fn*, which may be `Pool.acquire`.

        Autocommit is off, except in a database without a log, or if the options turn it on.

        Args:
            args: for *async_creator_fn*, by default as for `aioifx.connect`.
            options: for *async_creator_fn*, by default as for `aioifx.connect`.
        """
        if async_creator_fn is None:
            return AdaptedConnection(self, await_(_open(*args, **options)), None)
        pool = getattr(async_creator_fn, "__self__", None)
        connection = await_(_awaited(async_creator_fn(*args, **options)))
        if connection.log_mode != "unlogged":
            connection.autocommit = False
        return AdaptedConnection(self, connection, pool.release if isinstance(pool, Pool) else None)


async def _open(dsn: str | None = None, **options: Any) -> Connection[Any]:
    return await open_transactional(resolve(dsn, cast(Any, options), defaults={"autocommit": False}))


async def _awaited(connection: Awaitable[Connection[Any]]) -> Connection[Any]:
    return await connection
