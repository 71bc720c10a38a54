"""QueryLog: the observer that logs operations, and warns of slow ones with their caller. Never: a parameter's value."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from contextvars import ContextVar
from types import FrameType
from typing import Final

from aioifx.client.observation.operation import Operation
from aioifx.errors import DatabaseError, visible

logger: Final = logging.getLogger("aioifx.query")

_MAX_SQL: Final = 1000
"""Characters of a statement in a message."""

_NOT_QUERIES: Final = frozenset({"connect", "acquire", "cancel"})

_PACKAGE: Final = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
_ASYNCIO: Final = os.path.dirname(asyncio.__file__) + os.sep
NOT_CALLERS: Final = (_PACKAGE, _ASYNCIO, contextlib.__file__)
"""Files of frames that are not the caller's: ours, and those between a coroutine and what it awaits."""


calling_thread: Final[ContextVar[int]] = ContextVar("aioifx_calling_thread")
"""In the task of a blocking call: number of the thread that waits for it."""


class QueryLog:
    """Logs each operation at DEBUG, or at WARNING if its caller waited too long.

    Args:
        slow: seconds from which on a query is slow; None: none is.
    """

    def __init__(self, slow: float | None) -> None:
        self._slow = slow

    def on_start(self, operation: Operation) -> None:
        pass

    def on_end(self, operation: Operation) -> None:
        slow = self._slow
        if slow is not None and operation.wait_time >= slow and operation.name not in _NOT_QUERIES:
            logger.warning("slow %s", _slow_text(operation))
        elif logger.isEnabledFor(logging.DEBUG):
            logger.debug("%s", _text(operation))


def _text(operation: Operation) -> str:
    return f"{_outcome(operation)}: {operation.wait_time:.4f} s, {_amounts(operation)}{_subject(operation)}"


def _slow_text(operation: Operation) -> str:
    known = operation.queue_time + operation.server_time + operation.decode_time
    parts = (
        f"queue {operation.queue_time:.3f}, server {operation.server_time:.3f}, decoding {operation.decode_time:.3f},"
        f" other {max(operation.wait_time - known, 0):.3f}"
    )
    return (
        f"{_outcome(operation)}: {operation.wait_time:.3f} s ({parts}), {_amounts(operation)}{called_at()}"
        f"{_subject(operation)}"
    )


def _outcome(operation: Operation) -> str:
    """Name of the operation, its pool, and its error."""
    name = f"{operation.name} of {operation.pool!r}" if operation.pool else operation.name
    error = operation.error
    if error is None:
        return name
    code = f" {error.sqlcode}" if isinstance(error, DatabaseError) and error.sqlcode else ""
    return f"{name} failed with {type(error).__name__}{code}"


def _amounts(operation: Operation) -> str:
    return f"{_many(operation.rows, 'row')}, {_many(operation.round_trips, 'round trip')}"


def _many(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _subject(operation: Operation) -> str:
    """The statement in one line, or the server."""
    if not operation.sql:
        return f": {operation.host}:{operation.port}" if operation.host else ""
    text = visible(" ".join(operation.sql.split()))
    return f": {text[:_MAX_SQL]} ..." if len(text) > _MAX_SQL else f": {text}"


def called_at() -> str:
    """Where the current task awaits aioifx, or its name if no other code does; empty outside a task."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # a finalizer in another thread
        return ""
    if task is None:
        return ""
    outermost = getattr(task.get_coro(), "cr_frame", None)
    # Both are documented, and their names are for CPython alone.
    place = _place(sys._getframe(1), outermost)  # pyright: ignore[reportPrivateUsage]
    if not place and (thread := calling_thread.get(None)) is not None:
        place = _place(sys._current_frames().get(thread), None)  # pyright: ignore[reportPrivateUsage]
    return place or f", called by the task {task.get_name()!r}"


def _place(frame: FrameType | None, last: FrameType | None) -> str:
    """The innermost frame of other code; empty if there is none up to *last*."""
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(NOT_CALLERS):
            return f", called at {code.co_filename}:{frame.f_lineno} in {code.co_qualname}"
        if frame is last:
            break
        frame = frame.f_back
    return ""
