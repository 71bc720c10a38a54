"""Files and functions of the user in a thread: whatever they raise, the wait ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from aioifx.client.session.threads import in_thread
from aioifx.errors import DataError


class Stop(BaseException):
    """An exception of the user that is not an Exception."""


async def test_a_function_runs_in_another_thread() -> None:
    async def called(*args: int) -> tuple[int, ...]:
        return await in_thread(lambda *given: (threading.get_ident(), *given), *args)

    ident, *args = await called(1, 2)
    assert ident != threading.get_ident()
    assert args == [1, 2]


def generated() -> Iterator[int]:
    yield next(iter(()))


@pytest.mark.parametrize("function", [lambda: next(iter(())), lambda: next(generated())])
async def test_stop_iteration_is_a_data_error(function: object) -> None:
    with pytest.raises(
        DataError, match=r"^a file or function that was given to the call raised StopIteration$"
    ):
        await in_thread(function)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "kind", [RuntimeError, OSError, asyncio.CancelledError, GeneratorExit, KeyboardInterrupt, Stop]
)
async def test_anything_else_is_raised_as_it_is(kind: type[BaseException]) -> None:
    def fails() -> None:
        raise kind("boom")

    with pytest.raises(kind, match=r"^boom$"):
        await in_thread(fails)
