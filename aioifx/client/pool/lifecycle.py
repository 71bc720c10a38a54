"""Lifecycle of one pooled connection: opened, checked, checked out, reset. Never: which one, when.

Invariants:
1. A hook's effect is unknown until it returns: a connection whose hook fails or times out is closed.
2. Hooks get the same kind of connection as users of the pool, and may use it only while they run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from aioifx.client.api.connection import Connection
from aioifx.client.config.options import ConnectOptions
from aioifx.client.connect.connect import open_connection
from aioifx.errors import ConnectError, DatabaseError

logger: Final = logging.getLogger("aioifx.pool")

Hook: TypeAlias = Callable[[Connection[Any]], Awaitable[object]]

_CHECK_TIME: Final = 5.0
"""Time limit in seconds for the check of an idle connection."""

_RESET_TIME: Final = 5.0
"""Time limit in seconds for a reset, in addition to cancel_timeout for a call that was cancelled."""


@dataclass(frozen=True, slots=True)
class ConnectionLifecycle:
    """How the connections of one pool are opened, and what runs before and after each is used."""

    options: ConnectOptions
    init: Hook | None = None
    setup: Hook | None = None
    reset: Hook | None = None

    async def open(self) -> Connection[Any]:
        """Open a connection and run the init hook, which is limited by connect_timeout.

        Raises:   ConnectError: the server cannot be reached or rejects the login, or the hook timed out.
        """
        base = await open_connection(self.options)
        if self.init is not None:
            seconds = self.options.connect_timeout
            limit = asyncio.timeout(seconds)
            try:
                async with limit:
                    await self._prepare(base, self.init)
            except TimeoutError as error:
                if not limit.expired():
                    raise
                raise ConnectError(
                    f"init: the hook did not finish within connect_timeout, {seconds:g} s"
                ) from error
        return base

    async def _prepare(self, base: Connection[Any], hook: Hook) -> None:
        conn = base.lend()
        try:
            await hook(conn)
            base.save_baseline()
            conn.recall()
            await base.rest()
        except BaseException:
            conn.recall()
            base.terminate()
            raise

    async def is_alive(self, base: Connection[Any]) -> bool:
        """Whether the server answers on a connection that has been idle."""
        try:
            async with asyncio.timeout(_CHECK_TIME):
                await base.ping()
        except (DatabaseError, TimeoutError):
            return False
        return True

    async def check_out(self, base: Connection[Any], dropped: Callable[[], None]) -> Connection[Any]:
        """The connection as the user of the pool gets it, after the setup hook.

        Args:     dropped: called if the connection is garbage-collected without being released.
        """
        conn = base.lend(dropped)
        if self.setup is not None:
            try:
                await self.setup(conn)
            except BaseException:
                conn.recall()
                raise
        return conn

    def needs_reset(self, base: Connection[Any]) -> bool:
        """Whether the connection must be reset before its next use."""
        return self.reset is not None or not base.is_at_rest

    async def clear_up(self, base: Connection[Any], pool: object) -> None:
        """Reset the connection after its use; close it if that fails.

        Args:     pool: named in log messages.
        """
        try:
            async with asyncio.timeout(self.options.cancel_timeout + _RESET_TIME):
                await base.rest()
                if self.reset is not None:
                    conn = base.lend()
                    try:
                        await self.reset(conn)
                    finally:
                        conn.recall()
                    await base.rest()
        except (DatabaseError, TimeoutError) as error:
            logger.info("%r: closed a connection that could not be reset: %s", pool, error)
        except Exception:
            logger.exception("%r: closed a connection because the reset hook failed", pool)
        else:
            return
        base.terminate()


async def close_quietly(base: Connection[Any]) -> None:
    """Close a connection, and only log a failure to do so."""
    try:
        await base.close()
    except DatabaseError as error:
        logger.debug("closing a connection failed: %s", error)
