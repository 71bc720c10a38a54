"""Connection: statements, cursors, transactions, closing. Never: opcodes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar, overload

from aioifx.client.api.cursor import Cursor
from aioifx.client.api.prepared import PreparedStatement
from aioifx.client.api.queries import Queries
from aioifx.client.api.transaction import Transaction, commit_work, rollback_work
from aioifx.client.config.checks import Lobs, check_flag, check_lobs, check_row_factory, check_wait
from aioifx.client.config.isolation import Isolation
from aioifx.client.execution.actions import Action, fetch_first_row
from aioifx.client.execution.block_reader import BlockReader
from aioifx.client.execution.execute import call
from aioifx.client.execution.row_plan import RowPlan, RowPlans
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import StatementCache
from aioifx.client.observation.observation import Watch
from aioifx.client.observation.operation import OperationName, Stats
from aioifx.client.session.database import LogMode
from aioifx.client.session.loop_binding import NotCopied
from aioifx.client.session.server_behavior import ServerBehavior
from aioifx.client.session.session import Session
from aioifx.client.sql.placeholders import named_statement
from aioifx.client.sql.templates import Sql, bind_template
from aioifx.codecs.conversions import Convert, checked_codec, type_name
from aioifx.errors import InterfaceError
from aioifx.rows import Item, RowFactory, tuple_row
from aioifx.sqltypes import Value

A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")

ParamStyle: TypeAlias = Literal["qmark", "named"]
"""How a statement writes its parameters, in the words of PEP 249."""

_SESSION_ID = "select dbinfo('sessionid') from informix.systables where tabid = 1"


class ConnectionLease(Protocol):
    """The use of a pooled connection by one task."""

    def on_leaked(self) -> None:
        """Called in any thread if the connection is garbage-collected without being released."""
        ...


class Connection(Queries[Item], NotCopied):
    """A session with an Informix server; `aioifx.connect` makes it.

    Calls from several tasks run one at a time, in the order in which they were made.

    A connection belongs to the event loop and the process in which it was created. Elsewhere its methods raise
    `InterfaceError`. In a forked process `close` and `terminate` close that process's descriptor alone, and the
    parent's connection stays open. Connections, pools, cursors and streams cannot be copied or pickled.

    A connection that is garbage-collected before it is closed causes a ResourceWarning.

    Args:
        statements: for pooled connections: the shared cache.
        lease: for pooled connections that a task has acquired.
    """

    def __init__(
        self,
        session: Session,
        *,
        statement_cache_size: int = 100,
        address: str,
        server_version: str,
        row_factory: RowFactory[Item] | None = None,
        statements: StatementCache | None = None,
        lease: ConnectionLease | None = None,
    ) -> None:
        self._session = session
        self._statements = StatementCache(session, statement_cache_size) if statements is None else statements
        super().__init__(row_factory)
        self._stack: list[Transaction] = []
        self._lease = lease
        self._is_pooled = statements is not None
        self._address = address
        self.server_version = server_version
        """The server's version text, as sent at login."""

    def __repr__(self) -> str:
        state = "open" if self._session.is_open else "closed"
        return f"<Connection {state} {self.database or 'no database'} at {self._address}>"

    @property
    def database(self) -> str:
        """Name of the open database; empty if none is open. ``DATABASE other`` changes it."""
        return self._session.database.name

    @property
    def user(self) -> str:
        """User name of the login."""
        return self._session.user

    @property
    def server_name(self) -> str:
        """The DBSERVERNAME or alias that the connection was opened with."""
        return self._session.server_name

    @property
    def log_mode(self) -> LogMode | None:
        """Logging mode of the open database: "logged", "ansi" or "unlogged"; None if none is open."""
        return self._session.database.log_mode

    @property
    def is_ansi(self) -> bool:
        """Whether the open database is an ANSI database, where a transaction is always open."""
        return self._session.database.is_ansi

    @property
    def isolation(self) -> str:
        """Isolation level of the next statement, such as "committed_read"; names as in `transaction`.

        Derived from the options, open blocks, SET ISOLATION and the log mode. A change by a routine of the server, such
        as sysdbopen, is not seen.
        """
        return self._session.settings.isolation.replace(" ", "_")

    async def session_id(self) -> int:
        """The server's session number, as shown by ``onstat -g ses`` and sysmaster:syssessions.

        Not part of the login: the first call runs a query and needs an open database.
        """
        session = self._statements.session
        if session.session_id is None:
            # Not `fetchval`, which would be an operation of the user.
            number = await call(self._statements, _SESSION_ID, (), fetch_first_row, tuple_row, None)
            session.session_id = int(number[0])
        return session.session_id

    @property
    def server_behavior(self) -> ServerBehavior:
        """What replies have shown of the server, to this process; shared by its connections to the server."""
        return self._session.behavior

    @property
    def stats(self) -> Stats:
        """Counters of this connection: round trips, statements, rows."""
        return self._session.stats

    def _call(
        self,
        name: OperationName,
        sql: str,
        params: Sequence[Value],
        action: Action[A, T],
        argument: A,
        timeout: float | None,
    ) -> Awaitable[T]:
        work = call(self._statements, sql, params, action, argument, timeout)
        session = self._session
        if session.observation is None:
            return work
        return session.observation.run(name, work, sql=sql, parameters=len(params), session=session)

    def _run(
        self,
        name: OperationName,
        sql: str,
        parameters: int,
        function: Callable[[StatementCache], Awaitable[T]],
        batch_size: int | None = None,
    ) -> Awaitable[T]:
        return self._session.observed(name, function(self._statements), sql, parameters, batch_size)

    def _block_reader(
        self,
        sql: str,
        params: Sequence[Value],
        plan: Callable[[RowPlans], RowPlan],
        prefetch: bool,
        timeout: float | None,
    ) -> BlockReader:
        reader = BlockReader(self._statements, sql, params, plan, prefetch=prefetch, timeout=timeout)
        session = self._session
        if session.observation is not None:
            reader.watch = Watch(session.observation, "stream", sql, len(params), session)
        return reader

    # -- statements ---------------------------------------------------------------------------------------------------

    @overload
    async def prepare(
        self, sql: Sql, *, style: ParamStyle = "qmark", row_factory: None = None, timeout: float | None = None
    ) -> PreparedStatement[Item]: ...
    @overload
    async def prepare(
        self,
        sql: Sql,
        *,
        style: ParamStyle = "qmark",
        row_factory: RowFactory[R],
        timeout: float | None = None,
    ) -> PreparedStatement[R]: ...
    async def prepare(
        self,
        sql: Sql,
        *,
        style: ParamStyle = "qmark",
        row_factory: RowFactory[Any] | None = None,
        timeout: float | None = None,
    ) -> PreparedStatement[Any]:
        """Prepare a statement for repeated execution.

        Args:
            sql: one statement; a template string has the values of calls without any.
            style: how text writes parameters: "qmark", as ``?``; "named", as ``:name`` or ``:1``, with the values of
                each call as *named*.
            row_factory: for the rows of its queries; None: the connection's.
            timeout: seconds for the preparation; None: command_timeout.
        """
        if style not in ("qmark", "named"):
            raise InterfaceError(f'style: expected "qmark" or "named", got {style!r:.40}')
        if row_factory is None:
            row_factory = self._factory
        check_row_factory(row_factory)
        names, values = None, None
        if isinstance(sql, str):
            names = named_statement(sql) if style == "named" else None
            text = sql if names is None else names.sql
        elif style == "named":
            raise InterfaceError('style: expected "qmark" for a template, which has its values')
        else:
            text, values = bind_template(sql)
        statement = await self._session.observed("prepare", self._prepare(text, values, timeout), text)
        return PreparedStatement(self._statements, statement, row_factory, names, values or ())

    async def _prepare(self, sql: str, values: Sequence[Value] | None, timeout: float | None) -> Statement:
        async with self._statements.session.turn(timeout):
            statement = await self._statements.acquire(sql, values)
        statement.is_one_shot = False
        return statement

    @overload
    def cursor(
        self,
        *,
        scroll: bool = False,
        hold: bool = False,
        row_factory: None = None,
        lobs: Lobs | None = None,
    ) -> Cursor[Item]: ...
    @overload
    def cursor(
        self,
        *,
        scroll: bool = False,
        hold: bool = False,
        row_factory: RowFactory[R],
        lobs: Lobs | None = None,
    ) -> Cursor[R]: ...
    def cursor(
        self,
        *,
        scroll: bool = False,
        hold: bool = False,
        row_factory: RowFactory[Any] | None = None,
        lobs: Lobs | None = None,
    ) -> Cursor[Any]:
        """A cursor with the method names of PEP 249; nothing is sent until its first `execute`. Not awaited.

        Args:
            scroll: rows can be fetched in any order, with one round trip for each row.
            hold: a cursor opened inside a transaction stays open after it. Cursors opened outside one always do.
            lobs: how large values are returned, "handles" or "inline"; None: as by the connection's option.
        """
        check_flag("scroll", scroll)
        check_flag("hold", hold)
        if row_factory is None:
            row_factory = self._factory
        check_row_factory(row_factory)
        if lobs is not None:
            check_lobs(lobs, streams=False)
        return Cursor(self._statements, row_factory, scroll=scroll, hold=hold, lobs=lobs)

    def transaction(
        self,
        *,
        isolation: Isolation | None = None,
        lock_wait: float | None = None,
        read_only: bool = False,
    ) -> Transaction:
        """A transaction block, ``async with conn.transaction(): ...``; inside another one, a savepoint.

        Args:
            isolation: "dirty_read", "committed_read", "committed_read_last_committed" (or "last_committed"),
                "cursor_stability", "repeatable_read"; for the block. None leaves it unchanged.
            lock_wait: whole seconds to wait for a lock, up to 32767, for the block; 0: do not wait, -1 or math.inf: no
                limit. None leaves it unchanged. A savepoint takes this option only.
            read_only: the server refuses changes (SQLCODE -878).

        Raises:
            InterfaceError: an invalid option; raised by the call itself.
        """
        return Transaction(
            self._statements, self._stack, isolation=isolation, lock_wait=lock_wait, read_only=read_only
        )

    async def commit(self) -> None:
        """COMMIT WORK for a transaction started by ``autocommit=False`` or by your own BEGIN WORK.

        Sends nothing if none is open. If it fails, the transaction is unchanged.

        Raises:
            InterfaceError: a `transaction` block is open.
        """
        session = self._statements.session
        await session.observed("commit", commit_work(session, self._stack), "COMMIT WORK")

    async def rollback(self) -> None:
        """ROLLBACK WORK for a transaction started by ``autocommit=False`` or by your own BEGIN WORK.

        Sends nothing if no transaction is open.

        Raises:
            InterfaceError: a `transaction` block is open.
        """
        session = self._statements.session
        await session.observed("rollback", rollback_work(session, self._stack), "ROLLBACK WORK")

    @property
    def autocommit(self) -> bool:
        """Whether a statement outside a transaction commits by itself. Can be set outside a transaction.

        Raises:
            InterfaceError: on setting, a transaction is open, or a call of another task is in flight.
            NotSupportedError: on setting to False, the database has no log.
        """
        return self._session.transactions.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        self._statements.session.transactions.set_autocommit(value)

    def cancel(self) -> None:
        """Interrupt the statement running on this connection, from any task; nothing if none runs. Not awaited.

        To end a call of your own task, cancel the task or give the call a *timeout*.

        The interrupted call raises `QueryCanceled`, unless the statement had already finished. If the statement is yet
        to be sent, it is interrupted then. If the server does not end it within cancel_timeout seconds, the call raises
        `ConnectionLost` and the connection is closed.
        """
        session = self._statements.session
        if session.observation is None:
            return session.dispatcher.cancel()
        with session.observation.briefly("cancel", session=session):
            return session.dispatcher.cancel()

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open: by `transaction`, a BEGIN WORK statement, or ``autocommit=False``."""
        return self._session.transactions.is_open

    async def ping(self) -> None:
        """Check that the server answers, in one round trip that executes nothing.

        Raises:
            ConnectionLost: it does not.
        """
        async with self._statements.session as session:
            await session.conversation.ping()

    def set_type_codec(
        self,
        type: str,
        *,
        encoder: Convert | None = None,
        decoder: Convert | None = None,
    ) -> None:
        """Set how values of one Informix type are converted; with neither function, restore the default.

        Applies to statements prepared from now on, cached ones included, but not to an existing PreparedStatement,
        stream or cursor. Neither function is called for NULL. Text from `unload`, text for `load` and Arrow columns are
        not affected. Releasing a pooled connection restores the codecs.

        SERIAL, INTEGER and BIGINT are types of their own. A DISTINCT type without functions of its own has the
        functions of its base type. What a function raises is the cause of a `DataError` that names the column or the
        parameter; the connection stays usable.

        Args:
            type: a name without length or qualifier, in any case: of a built-in type ("DECIMAL"), an opaque type
                ("json") or a DISTINCT type.
            encoder: converts a parameter to a value that the type accepts.
            decoder: converts a value of the type, as returned by default, to the value in rows.

        Raises:
            InterfaceError: *type* is not a name, or a function is not callable.
        """
        session = self._statements.session
        session.dispatcher.binding.check()
        codec = checked_codec((encoder, decoder), "set_type_codec")
        session.conversions = session.conversions.with_codec(type_name(type, "type"), codec)
        self._statements.invalidate()

    # -- pooling ------------------------------------------------------------------------------------------------------

    def _for_user(self, statements: StatementCache, lease: ConnectionLease | None) -> Connection[Item]:
        """Another object for this session, for one user of a pool."""
        return Connection(
            self._session,
            address=self._address,
            server_version=self.server_version,
            row_factory=self._factory,
            statements=statements,
            lease=lease,
        )

    def _invalidate(self) -> None:
        """Invalidate what refers to this object, before its pool closes its statements."""
        self._lease = None
        if self._stack:
            self._stack[0]._invalidate()  # pyright: ignore[reportPrivateUsage] - part of this object

    # -- closing ------------------------------------------------------------------------------------------------------

    def is_closed(self) -> bool:
        """Whether the connection was closed, by either side, or released to its pool."""
        return self._statements.is_closed or not self._session.is_open

    async def close(self, *, timeout: float | None = 5.0) -> None:
        """Send SQ_EXIT and close the connection; the server rolls back an open transaction. Idempotent.

        Replies in flight are still read. Calls that other tasks make from now on raise `ConnectionLost`.

        Args:
            timeout: seconds until the connection is dropped instead; None: no limit.
        """
        check_wait(timeout)
        if self._statements.is_closed:
            return None
        binding, channel = self._session.dispatcher.binding, self._session.channel
        if binding.is_inherited:
            return channel.abort()
        if channel.failure is not None and not binding.is_here:
            return None
        binding.check()
        if self._session.is_open:
            limit = None
            if timeout is not None and timeout != math.inf:
                limit = channel.loop.call_later(timeout, channel.abort)
            try:
                await self._session.conversation.exit()
            except BaseException:
                channel.abort()
                raise
            finally:
                if limit is not None:
                    limit.cancel()
        return await self._session.channel.wait_closed()

    def terminate(self) -> None:
        """Drop the connection immediately, without a message to the server. Not awaited.

        Calls that wait for a reply raise `ConnectionLost`.

        In a forked process only that process's descriptor is closed; the parent's connection is unaffected.
        """
        session = self._session
        if not self._statements.is_closed:
            session.dispatcher.binding.check_end()
            session.channel.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __del__(self) -> None:
        statements = getattr(self, "_statements", None)
        if statements is None or statements.is_closed:
            return
        session = self._session
        if self._lease is not None:
            self._lease.on_leaked()
        elif self._is_pooled or session.channel.failure is not None:
            return
        elif session.channel.is_inherited:
            session.channel.abort()
        elif session.is_open:
            message = f"{self!r} was not closed"
            # Finalizers run in any thread.
            if session.dispatcher.binding.is_here:
                session.channel.abort()
            else:
                session.dispatcher.call_threadsafe(session.channel.abort)
            warnings.warn(message, ResourceWarning, stacklevel=1, source=self)


def statements_of(conn: Connection[Any]) -> StatementCache:
    """The statements of a connection and, through them, its session; for modules of this package."""
    return conn._statements  # pyright: ignore[reportPrivateUsage] - of this module


def lease_of(conn: Connection[Any]) -> ConnectionLease | None:
    """The lease of a pooled connection until its release; for its pool."""
    return conn._lease  # pyright: ignore[reportPrivateUsage] - of this module


def no_attribute(pending: object, name: str) -> AttributeError:
    """The AttributeError for *pending*, the awaitable of a connection, with a hint to await it."""
    hint = "; await it, or use async with" if hasattr(Connection, name) else ""
    return AttributeError(f"{type(pending).__name__!r} object has no attribute {name!r}{hint}")
