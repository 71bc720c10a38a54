from __future__ import annotations

import asyncio
from collections.abc import Coroutine

import pytest

from aioifx.server.protocol.failed_logins import _MAX_ADDRESSES, BURST, FailedLogins
from tests.system.simulation.loop import SimulatedLoop


def simulated(coroutine: Coroutine[object, object, None]) -> None:
    """Run in virtual time."""
    loop = SimulatedLoop()
    try:
        loop.run_until_complete(coroutine)
    finally:
        loop.close()


async def tries(failures: FailedLogins, address: str, count: int, limit: float = 100.0) -> list[float]:
    """When each of *count* logins, which all fail, is checked, in seconds from now."""
    loop = asyncio.get_running_loop()
    start, moments = loop.time(), list[float]()

    async def login() -> None:
        if await failures.wait(address, limit):
            failures.add(address)
            moments.append(round(loop.time() - start, 6))

    await asyncio.gather(*(login() for _ in range(count)))
    return moments


def test_more_than_ten_failures_a_second_wait() -> None:
    async def attack() -> None:
        failures = FailedLogins()
        moments = await tries(failures, "a", 30)
        assert moments[:BURST] == [0.0] * BURST
        assert moments[BURST:] == pytest.approx([n / 10 for n in range(1, 21)])
        assert await tries(failures, "b", 1) == [0.0]
        await asyncio.sleep(1.1)
        assert await tries(failures, "a", BURST) == [0.0] * BURST

    simulated(attack())


def test_a_login_that_would_wait_longer_than_its_limit_is_not_checked() -> None:
    async def attack() -> None:
        moments = await tries(FailedLogins(), "a", 30, limit=0.55)
        assert moments == pytest.approx([0.0] * BURST + [0.1, 0.2, 0.3, 0.4, 0.5])

    simulated(attack())


def test_addresses_without_a_recent_failure_are_forgotten() -> None:
    async def attack() -> None:
        failures = FailedLogins()
        for number in range(_MAX_ADDRESSES):
            failures.add(str(number))
        await asyncio.sleep(0.2)
        failures.add("last")
        assert list(failures._ends) == ["last"]

    simulated(attack())
