"""The hooks of pools: good ones, and some that never end, fail, or leave something. Never: when they are called."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final

import aioifx
from aioifx.client.api.connection import statements_of

STUCK: Final = 1500.0
"""Seconds that a hook takes which never ends."""

RESETS: Final = ("table", "database", "transaction", "settings", "database error", "error", "base error")
"""What a reset hook may leave, or fail with."""


class HookError(BaseException):
    """An error of a hook that no handler for ordinary ones catches."""


async def set_up(conn: aioifx.Connection) -> None:
    """An init hook whose setting is that of each user."""
    await conn.execute("SET LOCK MODE TO WAIT 3")


async def set_up_unless_stuck(calls: Iterator[int], stuck: int, conn: aioifx.Connection) -> None:
    """The call with the number *stuck* waits for something else than the server, and never ends."""
    if next(calls) == stuck:
        await asyncio.sleep(STUCK)
    await set_up(conn)


async def probe(conn: aioifx.Connection) -> None:
    """A hook that changes nothing."""
    await conn.fetchval("SELECT FIRST 1 tabid FROM informix.systables")
    if not conn.autocommit:
        await conn.rollback()


async def reset_hook(calls: Iterator[int], kind: str, conn: aioifx.Connection) -> None:
    """Every other call leaves something that the pool has to undo, or a session that it has to close.

    Args:
        kind: one of `RESETS`.
    """
    if next(calls) % 2:
        return await probe(conn)
    transport: Any = statements_of(conn).base_session.channel.transport
    match kind:
        case "table":
            await conn.execute("CREATE TEMP TABLE mine (a INTEGER)")
        case "database":
            await conn.execute("DATABASE shop")
        case "transaction":
            await conn.execute("BEGIN WORK")
            await conn.execute("INSERT INTO note (tag, text) VALUES (?, ?)", 0, "of a hook")
        case "settings":
            await conn.execute("SET ISOLATION TO DIRTY READ")
            await conn.execute("SET LOCK MODE TO WAIT 2")
        case "database error":
            transport.peer.protocol.must_end = "its reset hook has failed"
            await conn.fetch("SELECT a FROM mine")
        case "error":
            transport.peer.protocol.must_end = "its reset hook has failed"
            raise ZeroDivisionError
        case _:
            transport.peer.protocol.must_end = "its reset hook has failed"
            raise HookError
    return None
