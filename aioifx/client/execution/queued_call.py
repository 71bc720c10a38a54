"""A call that waits for the lock: its first request is sent as soon as the lock is free. Never: what the reply means.

The task that releases the lock sends the request, so the waiting task is woken once, with the reply. Whatever must be
awaited, or fails, is left to the waiting task, which is then woken with the lock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextvars import copy_context
from typing import Any, TypeAlias

from aioifx._speedups.round_trip import InFlight, Waiter
from aioifx.client.execution.statement import Statement
from aioifx.client.execution.statement_cache import StatementSource
from aioifx.sqltypes import Value
from aioifx.wire.replies import Reply

Sender: TypeAlias = Callable[[Statement, Sequence[Value], Any, "asyncio.Future[Reply]"], "InFlight | None"]
"""Sends the first request of a call; None, and nothing is sent, if something must be awaited first."""


class QueuedCall(Waiter):
    """A call on a statement, until it has the lock. Once its request is sent, it can be awaited for the reply.

    Args:
        send: None: the call cannot be started for its task.
        argument: passed on to *send*.
    """

    __slots__ = ("_argument", "_context", "_params", "_send", "_source", "_sql", "may_repeat", "statement")

    def __init__(
        self,
        source: StatementSource,
        sql: str,
        params: Sequence[Value] | None,
        send: Sender | None,
        argument: object,
    ) -> None:
        super().__init__()
        self._source, self._sql, self._params = source, sql, params
        self._send, self._argument = send, argument
        self._context = copy_context()  # codecs of the user and the current operation depend on it
        self.statement: Statement
        """The statement whose request was sent."""
        self.may_repeat: bool
        """Whether no transaction was open at that time."""

    def start(self) -> InFlight | None:
        source, params = self._source, self._params
        session = source.base_session
        if self._send is None or params is None or session.settings.pending:
            return None
        statement: Statement | None = None
        in_flight: InFlight | None = None
        try:
            statement = source.lookup(self._sql, params)
            if statement is not None:
                self.statement, self.may_repeat = statement, not session.transactions.is_open
                in_flight = self._context.run(self._send, statement, params, self._argument, self.future)
        except (Exception, asyncio.CancelledError):
            pass  # the task meets it again, and raises it
        finally:
            if in_flight is None and statement is not None:
                source.release(statement)
        return in_flight

    def __await__(self) -> Generator[Any, None, Reply]:
        failure, self.failure = self.failure, None
        if failure is None:
            reply: Reply = yield from self.future
            return reply
        try:
            raise failure
        finally:
            del failure  # its traceback refers to this frame
