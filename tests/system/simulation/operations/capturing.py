"""The operation that captures the changes of the others. Never: what the log has, the law on it."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import aioifx
from tests.system.simulation.model.changes import Changed
from tests.system.simulation.operations.kinds import OPTIONS_OF_POOLS, kind
from tests.system.simulation.world import CLOSE_TIMEOUT, Captured, Entry, World, Wrong

CAPTURE: Final = "capture changes"
_ATTEMPTS: Final = 30
"""Failures in a row after which the operation fails: their pauses are longer than most faults."""
_ALIVE: Final = 300.0
"""Seconds in which what was committed comes, also if TCP has to give up a connection or two."""


def _drawn(world: World, entry: Entry, start: aioifx.Position | None) -> Any:
    """The capture, with options by the operation's number; some are continued by themselves."""
    number, size = entry.operation.number, entry.operation.size
    assert entry.captured is not None
    given = world.options[entry.pool].items()
    options = {name: value for name, value in given if name not in OPTIONS_OF_POOLS}
    if number % 2:
        options["observer"] = world.reported
    return aioifx.changes(
        world.dsn,
        [f"informix.{table}" for table in entry.captured.tables],
        start=start,
        incomplete="error" if start is None else "skip",  # it was open as the first capture began
        restart=size % 2 == 0,
        max_records=(1, 2, 64)[number % 3],
        max_transaction_changes=size % 3,
        stall_timeout=3.0,
        close_timeout=CLOSE_TIMEOUT,
        **options,
    )


@kind(CAPTURE, 0)
async def _capture(world: World, entry: Entry) -> None:
    """All changes from now on, until they have come; after an error, a new capture continues at a saved position."""
    captured = entry.captured = Captured(("account", "note") if entry.operation.number % 4 else ("note",))
    entry.closing, entry.may_take_effect = CLOSE_TIMEOUT, True
    while True:
        start = captured.saved
        if start is None:
            captured.before = world.log.end
        captured.last = 0 if start is None else start.commit
        capture = _drawn(world, entry, start)
        try:
            async with capture:
                if start is None:
                    captured.after = world.log.end
                await _follow(world, entry, capture)
                return
        except aioifx.CdcError as error:
            raise Wrong(f"the capture has ended: {error}") from error
        except aioifx.OperationalError:
            captured.saved = captured.saved or capture.position
            await _pause(captured)


async def _pause(captured: Captured) -> None:
    """Wait before the next attempt; raises the exception that is handled after too many."""
    captured.failures += 1
    if captured.failures > _ATTEMPTS:
        raise
    await asyncio.sleep(min(0.1 * captured.failures, 2.0))


async def _follow(world: World, entry: Entry, capture: Any) -> None:
    """Take what comes; waits are cut short, so that most reads are cancelled. Each wait in vain is longer."""
    captured, alive = entry.captured, world.loop.time()
    assert captured is not None
    ends, first = alive + 0.1 * entry.operation.size, (0.02, 0.15, 1.5)[entry.operation.number % 3]
    seconds = first
    while world.loop.time() < ends or captured.misses(world.log) or _others_run(world):
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                transaction = await anext(capture)
        except TimeoutError as error:
            if isinstance(error, aioifx.Error) or not limit.expired():
                raise
            if world.loop.time() > max(alive, ends) + _ALIVE:
                raise Wrong("a capture goes on, and what was committed has not come") from error
            seconds *= 1.5
        except (aioifx.ConnectError, aioifx.ConnectionLost):
            if entry.operation.size % 2:
                raise
            await _pause(captured)
            alive = world.loop.time()
        else:
            alive, captured.failures, seconds = world.loop.time(), 0, first
            changes = [
                Changed(_table(each.table), _row(each.before), _row(each.after)) for each in transaction
            ]
            captured.take(transaction.position, changes)


def _others_run(world: World) -> bool:
    return any(not each.ended and each.captured is None for each in world.entries)


def _table(name: str) -> str:
    return name.rpartition(".")[2]


def _row(record: Any) -> tuple[Any, ...] | None:
    return None if record is None else tuple(record)
