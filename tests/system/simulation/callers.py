"""Callers: run operations, end some of them from outside, and note what became of each. Never: an operation."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import aioifx
from tests.injection import Injection, Manner
from tests.system.simulation.operations import KINDS
from tests.system.simulation.scenario import Caller, Ending, Operation
from tests.system.simulation.world import Entry, World


class _Noted(Injection):
    """An injection that notes when it strikes."""

    def __init__(self, manner: Manner, point: int, note: Callable[[], None]) -> None:
        self._reached = False
        self._note = note
        super().__init__(manner, point)

    @property
    def reached(self) -> bool:
        return self._reached

    @reached.setter
    def reached(self, value: bool) -> None:
        if value and not self._reached:
            self._note()
        self._reached = value


_MANNERS: Final = {
    "waiting": Manner.WAITING,
    "woken": Manner.WOKEN,
    "scope": Manner.SCOPE,
    "suspension timeout": Manner.TIMEOUT,
}


async def _cancelled_twice(call: Any, seconds: float, note: Callable[[], None]) -> None:
    """Cancel *call* after a time, and again while it ends."""
    task = asyncio.ensure_future(call)
    try:
        await asyncio.wait([task], timeout=seconds)
        if task.cancel():
            note()
            for _ in range(2):
                await asyncio.sleep(0)
                task.cancel()
    finally:
        task.cancel()
        await asyncio.wait([task])
    await task


async def _ended(world: World, entry: Entry, ending: Ending, call: Any) -> None:
    """Run an operation that its ending may end."""

    def note() -> None:
        entry.cancelled_at = world.loop.time()
        world.trace(f"operation {entry.operation.number} is ended: {ending.how}, {ending.at:g}")

    if ending.how == "twice":
        return await _cancelled_twice(call, ending.at, note)
    if ending.how == "timeout":
        limit = asyncio.timeout(ending.at)
        try:
            async with limit:
                await call
        finally:
            if limit.expired():
                note()
                entry.cancelled_at = limit.when()
        return None
    await _Noted(_MANNERS[ending.how], int(ending.at), note).into(call)
    return None


async def run_operation(world: World, operation: Operation, pool: int) -> None:
    """Run one operation, and note what became of it."""
    entry = Entry(operation, pool, world.loop.time())
    world.entries.append(entry)
    world.trace(f"operation {operation.number}: {operation.kind} begins")
    call: Any = KINDS[operation.kind].run(world, entry)
    try:
        if operation.ending is None:
            await call
        else:
            await _ended(world, entry, operation.ending, call)
        entry.outcome = "done"
    except asyncio.CancelledError as error:
        entry.outcome, entry.error = "cancelled", error
        if entry.cancelled_at is None:
            world.wrong.append(f"operation {operation.number} was cancelled without a reason")
    except TimeoutError as error:
        if isinstance(error, aioifx.Error):
            entry.outcome, entry.error = type(error).__name__, error
        elif entry.cancelled_at is not None:
            entry.outcome, entry.error = "timed out", error
        else:
            entry.outcome, entry.error = "TimeoutError", error
    except Exception as error:
        entry.outcome, entry.error = type(error).__name__, error
    entry.ended = world.loop.time()
    world.trace(f"operation {operation.number}: {entry.outcome} {entry.error or ''}")


async def run_caller(world: World, caller: Caller) -> None:
    """Run the operations of a caller, one after the other."""
    await asyncio.sleep(caller.start)
    for operation in caller.operations:
        await run_operation(world, operation, caller.pool)
