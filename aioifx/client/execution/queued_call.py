"""A call that waits for the lock: its first request is sent as soon as the lock is free. Never: what the reply means.

The task that releases the lock sends the request, so the waiting task is woken once, with the reply. Whatever must be
awaited, or fails, is left to the waiting task, which is then woken with the lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any, TypeAlias

from aioifx._speedups.round_trip import InFlight, Waiter
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import StatementSource
from aioifx.sqltypes import Value
from aioifx.wire.replies import Reply

Sender: TypeAlias = Callable[[Statement, Sequence[Value], Any, "asyncio.Future[Reply]"], "InFlight | None"]
"""Sends the first request of a call; None, and nothing is sent, if something must be awaited first."""


def queued_call(
    source: StatementSource, sql: str, params: Sequence[Value] | None, send: Sender | None, argument: object
) -> Waiter:
    """The wait of a call for the lock.

    Args:
        send: None: only the task itself can start the call.
        argument: passed on to *send*.

    Returns:
        `started` is the statement, and whether no transaction was open as its request was sent.
    """
    if send is None or params is None:
        return Waiter()
    start = partial(_start, source, sql, params, send, argument)
    if params or source.base_session.channel.current_operation is not None:
        # Codecs of the user and the current operation depend on the context.
        start = partial(copy_context().run, start)
    return Waiter(start)


def _start(
    source: StatementSource,
    sql: str,
    params: Sequence[Value],
    send: Sender,
    argument: object,
    waiter: Waiter,
) -> InFlight | None:
    session = source.base_session
    if session.settings.pending:
        return None
    statement: Statement | None = None
    in_flight: InFlight | None = None
    try:
        statement = source.lookup(sql, params)
        if statement is not None:
            waiter.started = statement, not session.transactions.is_open
            in_flight = send(statement, params, argument, waiter.future)
    except (KeyboardInterrupt, SystemExit):
        raise  # of a signal: the task would not meet it again
    except BaseException:
        pass  # the task meets it again, and raises it
    finally:
        if in_flight is None and statement is not None:
            source.release(statement)
    return in_flight


def reply_of(waiter: Waiter) -> Awaitable[Reply]:
    """The reply to the request that was sent for *waiter*, or what has ended the wait for it."""
    return waiter.future if waiter.failure is None else _fail(waiter)


async def _fail(waiter: Waiter) -> Reply:
    assert waiter.failure is not None
    raise waiter.failure
