"""Retry: what is repeated, how long it waits, what its last error says. No test sleeps."""

from __future__ import annotations

import asyncio
import inspect
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aioifx
import aioifx.server
from aioifx.client.api.retry import Retry
from aioifx.errors import (
    ConnectionLost,
    DatabaseError,
    Deadlock,
    InterfaceError,
    QueryTimeout,
    UniqueViolation,
    from_server,
)

DEADLOCK = (-244, -143)


class Slept:
    """Time that passes at once."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


class Failing:
    """A coroutine function that raises these one after the other, and then returns its arguments."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return args, kwargs


def deadlock() -> DatabaseError:
    return from_server(*DEADLOCK)


def retry(attempts: int = 5, **options: Any) -> tuple[Retry, list[float]]:
    slept = Slept()
    return Retry(attempts, sleep=slept, **{"jitter": False, **options}), slept.seconds


async def test_what_a_lock_stopped_is_run_again_with_the_same_arguments() -> None:
    again, slept = retry()
    failing = Failing(deadlock(), from_server(-244, -107))
    assert await again(failing, 1, b=2) == ((1,), {"b": 2})
    assert failing.calls == 3
    assert slept == [0.05, 0.1]


async def test_a_function_without_arguments_is_awaited_just_the_same() -> None:
    again, _ = retry()
    failing = Failing(deadlock())
    assert await again(failing) == ((), {})
    assert failing.calls == 2


async def test_a_decorated_function_is_run_again_each_time_that_it_is_called() -> None:
    again, slept = retry()
    failing = Failing(deadlock(), deadlock())

    @again
    async def work(a: int, *, b: int = 0) -> Any:
        """Do it."""
        return await failing(a, b=b)

    assert await work(1, b=2) == ((1,), {"b": 2})
    assert await work(3) == ((3,), {"b": 0})
    assert failing.calls == 4
    assert slept == [0.05, 0.1]
    assert (getattr(work, "__name__", ""), work.__doc__) == ("work", "Do it.")
    assert inspect.iscoroutinefunction(work) is (sys.version_info >= (3, 12))


async def test_a_decorated_method_gets_its_object() -> None:
    again, _ = retry()

    class Shop:
        def __init__(self) -> None:
            self.failing = Failing(deadlock())

        @again
        async def sell(self, item: str) -> Any:
            return await self.failing(item)

    assert await Shop().sell("pen") == (("pen",), {})


async def test_the_last_error_is_raised_and_says_how_many_attempts_there_were() -> None:
    again, slept = retry(3)
    errors = [deadlock() for _ in range(3)]
    with pytest.raises(Deadlock) as caught:
        await again(Failing(*errors))
    assert caught.value is errors[2]
    assert caught.value.__notes__ == ["attempt 3 of 3"]
    assert len(slept) == 2


async def test_an_error_that_is_not_retryable_is_raised_at_once() -> None:
    again, slept = retry()
    for error in (from_server(-268, -100), ValueError(), InterfaceError(), asyncio.CancelledError()):
        failing = Failing(error)
        with pytest.raises(type(error)) as caught:
            await again(failing)
        assert failing.calls == 1
        assert not hasattr(caught.value, "__notes__")
    assert slept == []


async def test_another_error_after_a_lock_says_which_attempt_it_was() -> None:
    again, _ = retry()
    with pytest.raises(UniqueViolation) as caught:
        await again(Failing(deadlock(), from_server(-268, -100)))
    assert caught.value.__notes__ == ["attempt 2 of 5"]


@pytest.mark.parametrize("kind", [ConnectionLost, QueryTimeout])
async def test_an_error_whose_outcome_is_not_known_is_never_followed_by_another_try(
    kind: type[DatabaseError],
) -> None:
    again, _ = retry(on=lambda _: True)
    error = kind("gone")
    error.outcome_unknown = True
    failing = Failing(error)
    with pytest.raises(kind):
        await again(failing)
    assert failing.calls == 1


@pytest.mark.parametrize("kind", [ConnectionLost, QueryTimeout])
async def test_an_error_that_has_undone_everything_is_repeated_if_wanted(kind: type[DatabaseError]) -> None:
    again, _ = retry(on=kind)
    failing = Failing(kind("gone"))
    await again(failing)
    assert failing.calls == 2
    again, _ = retry()
    with pytest.raises(kind):
        await again(Failing(kind("gone")))


@pytest.mark.parametrize(
    "on",
    [UniqueViolation, (KeyError, UniqueViolation), lambda error: error.sqlcode == -268],
    ids=["class", "classes", "function"],
)
async def test_other_errors_may_be_retried_with_on(on: Any) -> None:
    again, _ = retry(on=on)
    failing = Failing(from_server(-268, -100))
    await again(failing)
    assert failing.calls == 2
    failing = Failing(deadlock())
    with pytest.raises(Deadlock):
        await again(failing)


@given(st.integers(1, 2000), st.floats(0, 10), st.floats(0, 100), st.floats(0, 1))
def test_a_pause_grows_up_to_its_limit_and_jitter_takes_any_part_of_it(
    attempt: int, delay: float, max_delay: float, part: float
) -> None:
    plain = Retry(delay=delay, max_delay=max_delay, jitter=False)
    assert 0 <= plain.pause(attempt) <= plain.pause(attempt + 1) <= max_delay
    assert plain.pause(1) == min(delay, max_delay)
    drawn = Retry(delay=delay, max_delay=max_delay, uniform=lambda low, high: low + (high - low) * part)
    assert drawn.pause(attempt) == plain.pause(attempt) * part


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"attempts": 0}, "attempts: "),
        ({"attempts": 1.0}, "attempts: "),
        ({"attempts": True}, "attempts: "),
        ({"delay": -1}, "delay: "),
        ({"delay": "1"}, "delay: "),
        ({"max_delay": float("inf")}, "max_delay: "),
        ({"on": "lock"}, "on: "),
        ({"on": (Deadlock, 1)}, "on: "),
    ],
)
def test_a_wrong_option_is_refused_by_name(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InterfaceError) as caught:
        Retry(**wrong)
    assert str(caught.value).startswith(message)


async def test_anything_but_a_coroutine_function_is_rejected() -> None:
    with pytest.raises(InterfaceError, match="coroutine function, got coroutine"):
        coroutine = Failing()()
        try:
            Retry()(coroutine)  # type: ignore[call-overload] # the error is what is tested
        finally:
            coroutine.close()
    assert repr(Retry()) == "Retry(attempts=5, delay=0.05, max_delay=2)"


async def test_a_transaction_that_met_a_lock_succeeds_when_the_lock_is_gone() -> None:
    async with aioifx.server.running() as dsn, aioifx.connect(dsn) as holder, aioifx.connect(dsn) as conn:
        await holder.execute("create table t (a int)")
        await holder.execute("insert into t values (1)")
        held = holder.transaction()
        await held.start()
        await holder.execute("update t set a = 2")

        async def pass_time(seconds: float) -> None:
            await held.commit()

        @aioifx.Retry(attempts=2, sleep=pass_time)
        async def add(amount: int) -> None:
            async with conn.transaction():
                await conn.execute("update t set a = a + ?", amount)

        await add(5)
        assert await conn.fetchval("select a from t") == 7


async def test_no_attempt_begins_after_the_deadline() -> None:
    again, slept = retry(delay=10, max_delay=100, deadline=30)
    failing = Failing(*[deadlock() for _ in range(5)])
    with pytest.raises(Deadlock) as caught:
        await again(failing)
    assert slept == [10, 20]
    assert caught.value.__notes__ == ["attempt 3 of 5; the deadline of 30 s ended it"]
    assert repr(again) == "Retry(attempts=5, deadline=30, delay=10, max_delay=100)"


def test_a_deadline_is_a_number_of_seconds() -> None:
    for wrong in (0, "1"):
        with pytest.raises(InterfaceError, match=r"^deadline: expected a number of seconds above 0"):
            Retry(deadline=wrong)  # type: ignore[arg-type]  # what is tested


def test_jitter_is_a_flag() -> None:
    with pytest.raises(InterfaceError, match=r"^jitter: expected True or False"):
        Retry(jitter="no")  # type: ignore[arg-type]  # what is tested
