"""A pool's care for one connection: opened, looked at, handed out, cleared up. Never: which one, when.

House rules:
1. What a hook does is not known until it has returned: a connection whose hook failed or took too long is closed.
2. Hooks get the connection as a borrower does, and have it only while they run.
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
"""Seconds that an idle connection has for a sign of life."""

_RESET_TIME: Final = 5.0
"""Seconds that a connection has for being cleared up, beside what a cancelled call of its last borrower may take."""


@dataclass(frozen=True, slots=True)
class ConnectionLifecycle:
    """How the connections of one pool are opened, and what is done with each before and after it is lent."""

    options: ConnectOptions
    init: Hook | None = None
    setup: Hook | None = None
    reset: Hook | None = None

    async def open(self) -> Connection[Any]:
        """A new connection; the init hook has as long for it as the server had for the login.

        Raises:   ConnectError: the server cannot be reached, refuses the login, or the hook is not done in time.
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
                    f"the init hook was not done within connect_timeout, {seconds:g} s"
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
        """Whether a connection that was idle for long answers."""
        try:
            async with asyncio.timeout(_CHECK_TIME):
                await base.ping()
        except (DatabaseError, TimeoutError):
            return False
        return True

    async def check_out(self, base: Connection[Any], dropped: Callable[[], None]) -> Connection[Any]:
        """The connection as its borrower gets it.

        Args:     dropped: called if it is garbage before it was given back.
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
        """Whether something has to be done before anybody else gets the connection."""
        return self.reset is not None or not base.is_at_rest

    async def clear_up(self, base: Connection[Any], pool: object) -> None:
        """Let what the borrower left be cleared up; a connection that resists is closed.

        Args:     pool: whose it is, for the log.
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
            logger.info("%r: a connection could not be cleared up, and is closed: %s", pool, error)
        except Exception:
            logger.exception("%r: the reset hook failed; its connection is closed", pool)
        else:
            return
        base.terminate()


async def close_quietly(base: Connection[Any]) -> None:
    """Close a connection in order; nobody is left whom a failure would concern."""
    try:
        await base.close()
    except DatabaseError as error:
        logger.debug("a connection was not closed in order: %s", error)
