"""Run a transaction again after a lock conflict. Never: a connection; what is run.

Invariants:
1. The whole function is repeated, so it must begin and end its transaction.
2. An error with an unknown outcome (`outcome_unknown`) is never retried.
"""

from __future__ import annotations

import asyncio
import inspect
import random
import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import update_wrapper
from types import MethodType
from typing import Any, Final, Generic, ParamSpec, TypeAlias, TypeGuard, TypeVar, cast, overload

from aioifx.client.config.checks import check_flag, check_seconds, check_whole
from aioifx.errors import DatabaseError, InterfaceError

P = ParamSpec("P")
R = TypeVar("R")

On: TypeAlias = type[BaseException] | tuple[type[BaseException], ...] | Callable[[Exception], bool]


def is_retryable(error: Exception) -> bool:
    """The default of `Retry`'s *on*: whether the error has *retryable* set."""
    return isinstance(error, DatabaseError) and error.retryable


class Retry:
    """Run a coroutine function again after an error that a retry may resolve.

    ``await Retry()(function, *args)``, or ``@Retry()`` as a decorator. The last error is raised, with a note of the
    number of attempts. `ConnectionLost` and `QueryTimeout` are raised immediately, regardless of *on*.

    The function must contain the whole transaction. Inside an open one it would retry while still holding the outer
    transaction's locks, so a deadlock would recur.

    In each attempt every statement may wait for a lock, up to the option *lock_wait*. So with one such wait in each,
    all attempts may take ``attempts * lock_wait`` seconds and the delays. *deadline* limits that.

    Args:
        attempts: maximum number of attempts.
        deadline: seconds from the first attempt on, after which no other begins. One that runs is not ended. None: no
            limit.
        delay: seconds to wait after the first failure, doubled after each further one.
        max_delay: upper limit of each delay, in seconds.
        jitter: wait a random fraction of the delay, so that two conflicting tasks do not collide again.
        on: errors to retry: a class, a tuple of them, or a function of the error; by default a `DatabaseError` with
            *retryable*. An error that leaves the outcome unknown is never retried.
        sleep: replacements for `asyncio.sleep` and `random.uniform`, for tests.
        uniform: replacements for `asyncio.sleep` and `random.uniform`, for tests.
    """

    def __init__(
        self,
        attempts: int = 5,
        *,
        deadline: float | None = None,
        delay: float = 0.05,
        max_delay: float = 2.0,
        jitter: bool = True,
        on: On = is_retryable,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        check_whole("attempts", attempts, 1)
        if deadline is not None:
            check_seconds("deadline", deadline)
        check_seconds("delay", delay, zero=True)
        check_seconds("max_delay", max_delay, zero=True)
        check_flag("jitter", jitter)
        self.attempts = attempts
        self.deadline = deadline
        self.delay = delay
        self.max_delay = max_delay
        self.jitter = jitter
        self._on = _predicate(on)
        self._sleep = sleep
        self._uniform = uniform

    def __repr__(self) -> str:
        deadline = "" if self.deadline is None else f", deadline={self.deadline:g}"
        return (
            f"Retry(attempts={self.attempts}{deadline}, delay={self.delay:g}, max_delay={self.max_delay:g})"
        )

    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> RetryingFunction[P, R]: ...
    @overload
    def __call__(
        self, function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]: ...
    def __call__(self, function: Callable[..., Awaitable[Any]], /, *args: Any, **kwargs: Any) -> Any:
        """Run a coroutine function until it succeeds. Without further arguments, also usable as a decorator."""
        if not callable(function):
            raise InterfaceError(f"Retry: expected a coroutine function, got {type(function).__name__}")
        if args or kwargs:
            return self.run(lambda: function(*args, **kwargs))
        return RetryingFunction(self, function)

    async def run(self, call: Callable[[], Awaitable[R]]) -> R:
        """Awaited by ``self(function)``: await *call*() for each attempt.

        Raises:
            Exception: the one of the last attempt, with a note of the number of attempts.
        """
        loop = asyncio.get_running_loop()
        began = loop.time()
        for attempt in range(1, self.attempts + 1):
            try:
                return await call()
            except Exception as error:
                if attempt == self.attempts or _leaves_doubt(error) or not self._on(error):
                    if attempt > 1:
                        error.add_note(f"attempt {attempt} of {self.attempts}")
                    raise
                pause = self.pause(attempt)
                if self.deadline is not None and loop.time() + pause >= began + self.deadline:
                    error.add_note(
                        f"attempt {attempt} of {self.attempts}; the deadline of {self.deadline:g} s ended it"
                    )
                    raise
            await self._sleep(pause)
        raise AssertionError("unreachable")  # pragma: no cover

    def pause(self, attempt: int) -> float:
        """Seconds to wait after the given failed attempt; the first is 1."""
        longest = min(self.max_delay, self.delay * 2.0 ** min(attempt - 1, 1000))
        return self._uniform(0, longest) if self.jitter else longest


# The public path, which pickles and messages name, also if the class was not imported by `aioifx` itself.
Retry.__module__ = "aioifx"


class RetryingFunction(Generic[P, R]):
    """A coroutine function run by `Retry`. Also awaitable itself, if it takes no arguments."""

    def __init__(self, retry: Retry, function: Callable[P, Awaitable[R]]) -> None:
        self._retry = retry
        self._function = function
        update_wrapper(self, function)
        if sys.version_info >= (3, 12):
            inspect.markcoroutinefunction(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        return self._retry.run(lambda: self._function(*args, **kwargs))

    def __await__(self) -> Generator[Any, Any, R]:
        return self().__await__()  # type: ignore[call-arg]  # a function with arguments raises TypeError itself

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Coroutine[Any, Any, R]]:
        return self if instance is None else MethodType(self, instance)


def _predicate(on: On) -> Callable[[Exception], bool]:
    if isinstance(on, (type, tuple)):
        classes = cast("tuple[object, ...]", (on,) if isinstance(on, type) else on)
        exceptions = tuple(filter(_is_exception_class, classes))
        if len(exceptions) < len(classes):
            other = next(one for one in classes if not _is_exception_class(one))
            raise InterfaceError(f"{_EXPECTED_ON}, got {other!r:.40}")
        return lambda error: isinstance(error, exceptions)
    if not callable(on):
        raise InterfaceError(f"{_EXPECTED_ON}, got {type(on).__name__}")
    return on


_EXPECTED_ON: Final = "on: expected an exception class, a tuple of them, or a function"


def _is_exception_class(one: object) -> TypeGuard[type[BaseException]]:
    return isinstance(one, type) and issubclass(one, BaseException)


def _leaves_doubt(error: Exception) -> bool:
    return isinstance(error, DatabaseError) and error.outcome_unknown
