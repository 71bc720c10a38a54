"""Files and functions of the user in a thread. Never: what they do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from aioifx.errors import DataError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


async def in_thread(function: Callable[[*Ts], T], *args: *Ts) -> T:
    """Call a function in a thread, where a file or function of the user may block.

    Raises:
        DataError: it has raised StopIteration. No future takes that, and the wait for it would never end.
    """

    def call() -> T:
        try:
            return function(*args)
        except (StopIteration, RuntimeError) as error:
            # A generator has made it a RuntimeError.
            if isinstance(error, RuntimeError) and not isinstance(error.__cause__, StopIteration):
                raise
            raise DataError("a file or function that was given to the call raised StopIteration") from error

    return await asyncio.to_thread(call)
