"""Cancellation at every await point of a call, found by counting its suspensions, not by waiting."""

from __future__ import annotations

import asyncio
import inspect
import types
from collections.abc import Callable, Coroutine, Generator
from enum import Enum
from typing import Any, TypeVar

import anyio

T = TypeVar("T")


class Manner(Enum):
    """How the cancellation comes."""

    WAITING = "while it waits"
    """The task is cancelled at once at its nth suspension: whatever it waits for has not come."""
    WOKEN = "as it wakes"
    """What it waits for has come, and the cancellation comes in the same moment."""
    SCOPE = "by a scope"
    """An anyio scope is cancelled at the nth suspension: every further await is cancelled as well."""
    TIMEOUT = "by a timeout"
    """asyncio.timeout expires at the nth suspension; the caller sees a TimeoutError."""


class Injection:
    """One call, cancelled at its nth suspension; `reached` is True if it had that many."""

    def __init__(self, manner: Manner, point: int) -> None:
        self.manner = manner
        self.point = point
        self.suspensions = 0
        self.reached = False

    async def into(self, call: Coroutine[Any, Any, T]) -> T:
        """Run *call* with the cancellation."""
        match self.manner:
            case Manner.WAITING:
                task = asyncio.current_task()
                assert task is not None
                return await self._driven(call, task.cancel)
            case Manner.WOKEN:
                return await self._driven(call, None)
            case Manner.SCOPE:
                with anyio.CancelScope() as scope:
                    return await self._driven(call, scope.cancel)
                raise asyncio.CancelledError  # swallowed by its scope, as it should be
            case Manner.TIMEOUT:
                async with asyncio.timeout(None) as limit:
                    now = asyncio.get_running_loop().time()
                    return await self._driven(call, lambda: limit.reschedule(now - 1))

    @types.coroutine
    def _driven(
        self, call: Coroutine[Any, Any, T], cancel: Callable[[], object] | None
    ) -> Generator[Any, None, T]:
        """Step *call* as its task would, and count."""
        error: BaseException | None = None
        while True:
            try:
                waiting = call.send(None) if error is None else call.throw(error)
            except StopIteration as stop:
                result: T = stop.value
                return result
            self.suspensions += 1
            now = self.suspensions == self.point
            self.reached = self.reached or now
            if now and cancel is not None:
                cancel()
            error = None
            try:
                yield waiting
            except BaseException as thrown:
                error = thrown
            if now and cancel is None and error is None:
                error = asyncio.CancelledError()


async def is_cancelled(call: Callable[[], Coroutine[Any, Any, object]], manner: Manner, point: int) -> bool:
    """Cancel the call at that suspension; False if it has not so many.

    anyio does not cancel a task whose wait has just ended, as that for a thread may have. The call may then end before
    the cancellation arrives, and is tried again.
    """
    expected = TimeoutError if manner is Manner.TIMEOUT else asyncio.CancelledError
    for _ in range(10 if manner is Manner.SCOPE else 1):
        injection = Injection(manner, point)
        try:
            await injection.into(call())
        except expected:
            assert injection.reached, "the call was cancelled by itself"
            return True
        if not injection.reached:
            return False
    raise AssertionError(f"the cancellation at await {point} was swallowed")


async def eventually(condition: Callable[[], object]) -> None:
    """Return once *condition*, or what it gives to await, holds: for what another process or thread does; bounded."""
    for _ in range(20_000):
        holds = condition()
        if inspect.isawaitable(holds):
            holds = await holds
        if holds:
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it does not come about")
