"""Lifecycle of one pooled session: opened, checked, checked out, reset. Never: which one, when.

Invariants:
1. A hook's effect is unknown until it returns: a session whose hook fails or times out is closed.
2. Hooks get the same kind of connection as users of the pool, and may use it only while they run.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from aioifx.client.api.connection import Connection, ConnectionLease, statements_of
from aioifx.client.config.options import ConnectOptions
from aioifx.client.connect.connect import open_connection
from aioifx.client.execution.statement_cache import StatementCache
from aioifx.client.observation.observation import Observation, note_session, queueing
from aioifx.client.pool.decisions import PooledConnection
from aioifx.client.session.session import Session
from aioifx.errors import ConnectError, ConnectionLost, DatabaseError

A = TypeVar("A", bound="Connection[Any] | PooledConnection[PooledSession]")

logger: Final = logging.getLogger("aioifx.pool")

Hook: TypeAlias = Callable[[Connection[Any]], Awaitable[object]]

_CHECK_TIME: Final = 5.0
"""Time limit in seconds for the check of an idle connection."""

_RESET_TIME: Final = 5.0
"""Time limit in seconds for a reset, in addition to cancel_timeout for a call that was cancelled."""


class PooledSession:
    """A session that outlives its users: each of them gets a `Connection` that is valid until its release.

    Args:
        connection: the connection that opened the session. It is never handed out, and closes the session.
    """

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection
        self.statements = statements_of(connection)
        """The session's own, for calls without a `Connection`."""
        self.session = self.statements.session

    def __repr__(self) -> str:
        return repr(self._connection)

    # -- users --------------------------------------------------------------------------------------------------------

    def statements_for_user(self) -> StatementCache:
        """The session's statements for the next user, who has them until `reset`."""
        return self.statements.for_user()

    def connection_for_user(
        self, statements: StatementCache | None = None, lease: ConnectionLease | None = None
    ) -> Connection[Any]:
        """A connection for the next user.

        Args:
            statements: from `statements_for_user`; None: of this call.
            lease: for a user outside the pool.
        """
        statements = self.statements.for_user() if statements is None else statements
        return self._connection._for_user(statements, lease)  # pyright: ignore[reportPrivateUsage] - the pool's side

    def reset_after(self, conn: Connection[Any]) -> None:
        """Invalidate a user's connection, and `reset`."""
        conn._invalidate()  # pyright: ignore[reportPrivateUsage] - likewise
        self.reset(statements_of(conn))

    def reset(self, statements: StatementCache) -> None:
        """Reset the session after a user: `Pool.release` lists what that does. Waits for nothing.

        Args:
            statements: those of the user, who can use neither them nor what was made from them any longer.
        """
        if statements.is_closed:
            return
        session = self.session
        if session.conversions is not session.base_conversions:
            statements.clear()
        if statements is self.statements:
            statements.release_used()
        else:
            statements.close()
        session.reset()
        if session.dispatcher.is_acquired:  # still in use by a task that holds a stale connection
            session.channel.abort(
                ConnectionLost("the connection was released to its pool while another task used it")
            )

    async def wait_idle(self) -> None:
        """Wait until all cleanup after `reset` is done.

        Raises:
            ConnectionLost, QueryTimeout: the cleanup failed.
        """
        while not self.is_idle:
            async with self.session.turn(apply_settings=False, idle=True):
                self.session.reset()

    def save_baseline(self) -> None:
        """Make the current settings the baseline that each user starts with."""
        self.session.save_baseline()
        self.statements.clear()

    # -- state --------------------------------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether no request is in flight and no transaction is open."""
        session = self.session
        return session.dispatcher.is_idle and not session.transactions.is_open

    @property
    def reset_failure(self) -> str:
        """Why no reset makes the session as good as new, so that the pool closes it; empty if it can be used again.

        Settings that cannot be restored, temporary tables, a change of database, or an uncertain interrupt. Also if the
        options ask for a primary server and the server no longer is one.
        """
        session = self.session
        if not session.dispatcher.is_open:
            return "it was closed"
        if not session.is_resettable:
            return "its settings, temporary tables or database cannot be restored"
        if session.behavior.keeps_closed_values is False and session.options.sends_optofc:
            return "its server drops BYTE and TEXT values with OPTOFC=1"
        if session.has_lost_primary:
            return "its server is no longer the primary"
        interrupter = session.dispatcher.interrupter
        if interrupter.has_unasked:
            return "a statement was interrupted without a cancel"
        return "an interrupt was not confirmed" if interrupter.is_unconfirmed else ""

    async def is_alive(self) -> bool:
        """Whether the server answers."""
        try:
            async with asyncio.timeout(_CHECK_TIME):
                await self._connection.ping()
        except (DatabaseError, TimeoutError):
            return False
        return True

    # -- closing ------------------------------------------------------------------------------------------------------

    def on_close(self, callback: Callable[[PooledSession], None]) -> None:
        """Register a bound method, called with this session when it has ended for any reason. Neither is kept alive."""
        method, this = weakref.WeakMethod(callback), weakref.ref(self)

        def notify() -> None:
            call, session = method(), this()
            if call is not None and session is not None:
                call(session)

        self.session.dispatcher.on_close = notify

    async def close(self) -> None:
        """Close the session; a failure to do so is only logged."""
        try:
            await self._connection.close()
        except DatabaseError as error:
            logger.debug("closing a connection failed: %s", error)

    def terminate(self) -> None:
        """Drop the connection immediately, without telling the server."""
        self._connection.terminate()


def session_of(acquired: Connection[Any] | PooledConnection[PooledSession]) -> Session:
    """The session of a connection of a pool."""
    if isinstance(acquired, PooledConnection):
        return acquired.session.session
    return statements_of(acquired).base_session


async def within_operation(acquiring: Awaitable[A]) -> A:
    """Await a connection for the current operation, which waits for it and then has its server."""
    with queueing():
        acquired = await acquiring
    note_session(session_of(acquired))
    return acquired


@dataclass(frozen=True, slots=True)
class ConnectionLifecycle:
    """How the sessions of one pool are opened, and what runs before and after each is used."""

    options: ConnectOptions
    init: Hook | None = None
    setup: Hook | None = None
    reset: Hook | None = None
    observation: Observation | None = None

    async def open(self) -> PooledSession:
        """Open a session and run the init hook, which is limited by connect_timeout.

        Raises:
            ConnectError: the server cannot be reached or rejects the login, or the hook timed out.
        """
        session = PooledSession(await open_connection(self.options, self.observation))
        if self.init is not None:
            seconds = self.options.connect_timeout
            limit = asyncio.timeout(seconds)
            try:
                async with limit:
                    await self._run_init(session, self.init)
            except TimeoutError as error:
                if not limit.expired():
                    raise
                raise ConnectError(
                    f"init: the hook did not finish within connect_timeout, {seconds:g} s"
                ) from error
        return session

    async def _run_init(self, session: PooledSession, init: Hook) -> None:
        conn = session.connection_for_user()
        try:
            await init(conn)
            session.save_baseline()
            session.reset_after(conn)
            await session.wait_idle()
        except BaseException:
            session.reset_after(conn)
            session.terminate()
            raise

    async def run_setup(self, session: PooledSession, conn: Connection[Any]) -> None:
        """Run the setup hook with the connection of the next user."""
        if self.setup is not None:
            try:
                await self.setup(conn)
            except BaseException:
                session.reset_after(conn)
                raise

    def is_reset(self, session: PooledSession) -> bool:
        """Whether the reset has ended with `PooledSession.reset`: nothing is to be awaited, and there is no hook."""
        return self.reset is None and session.is_idle

    async def finish_reset(self, session: PooledSession, pool: object) -> None:
        """Wait for the cleanup after `PooledSession.reset` and run the reset hook; close the session if one fails.

        Args:
            pool: named in log messages.
        """
        try:
            async with asyncio.timeout(self.options.cancel_timeout + _RESET_TIME):
                await session.wait_idle()
                if self.reset is not None:
                    conn = session.connection_for_user()
                    try:
                        await self.reset(conn)
                    finally:
                        session.reset_after(conn)
                    await session.wait_idle()
        except (DatabaseError, TimeoutError) as error:
            logger.info("%r: closed a connection that could not be reset: %s", pool, error)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            session.terminate()
            raise
        except BaseException:
            logger.exception("%r: closed a connection because the reset hook failed", pool)
        else:
            return
        session.terminate()
