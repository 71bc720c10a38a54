"""Observers that listen to whole pools."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from aioifx import Operation, PoolTimeout
from aioifx.client.pool.decisions import PoolState
from aioifx.server import Server
from tests.client.pooling import pooled


class Listener:
    """Observes one pool."""

    def __init__(self, fails: bool = False) -> None:
        self.events: list[str] = []
        self.times: list[float] = []
        self.pools: list[tuple[str, PoolState[Any, Any]]] = []
        self.fails = fails

    def on_start(self, operation: Operation) -> None: ...

    def on_end(self, operation: Operation) -> None: ...

    def watch_pool(self, name: str, state: PoolState[Any, Any]) -> Listener:
        self.pools.append((name, state))
        return self

    def add(self, event: str, seconds: float) -> None:
        self.events.append(event)
        self.times.append(seconds)
        if self.fails:
            raise ZeroDivisionError

    def on_acquired(self, seconds: float) -> None:
        self.add("acquired", seconds)

    def on_released(self, seconds: float) -> None:
        self.add("released", seconds)

    def on_opened(self, seconds: float) -> None:
        self.add("opened", seconds)

    def on_timed_out(self) -> None:
        self.add("timed out", 0)


async def use(server: Server, **options: Any) -> None:
    async with pooled(server, name="web", **options) as pool:
        async with pool.acquire():
            with pytest.raises(PoolTimeout):
                await pool.acquire(timeout=0)
        stats = pool.stats
    assert (stats.wait_time.count, stats.use_time.count, stats.create_time.count, stats.timed_out) == (
        1,
        1,
        1,
        1,
    )


class Stop(BaseException):
    """An exception of the user that is not an Exception."""


@pytest.mark.parametrize("kind", [asyncio.CancelledError, GeneratorExit, Stop])
async def test_whatever_a_listener_raises_the_pool_goes_on(
    server: Server, kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Listener):
        def add(self, event: str, seconds: float) -> None:
            raise kind

    await use(server, observer=Failing())
    assert {record.getMessage() for record in caplog.records if record.name == "aioifx.observer"} == {
        "a listener of a pool failed"
    }


async def test_a_listener_hears_of_each_time(server: Server) -> None:
    listener = Listener()
    await use(server, observer=listener)
    assert listener.events == ["opened", "acquired", "timed out", "released"]
    assert all(seconds >= 0 for seconds in listener.times) and listener.times[0] > 0
    ((name, state),) = listener.pools
    assert (name, state.is_closing) == ("web", True)


async def test_a_listener_that_fails_changes_nothing(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    failing, listener = Listener(fails=True), Listener()
    await use(server, observer=[failing, listener])
    assert failing.events == listener.events == ["opened", "acquired", "timed out", "released"]
    assert [record.getMessage() for record in caplog.records] == ["a listener of a pool failed"] * 4


class Unable(Listener):
    def watch_pool(self, name: str, state: PoolState[Any, Any]) -> Listener:
        raise ZeroDivisionError


async def test_an_observer_that_cannot_watch_pools_changes_nothing(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    listener = Listener()
    await use(server, observer=[Unable(), listener])
    assert listener.events == ["opened", "acquired", "timed out", "released"]
    assert [record.getMessage() for record in caplog.records] == ["an observer failed to watch a pool"]
