"""Virtual time: what runs when, and how a scenario that cannot go on is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.system.simulation.loop import Frozen, OutOfTime, SimulatedLoop, Stuck


def run(loop: SimulatedLoop, main: Coroutine[Any, Any, Any]) -> Any:
    try:
        return loop.run_until_complete(main)
    finally:
        loop.close()


def test_sleeping_takes_no_real_time() -> None:
    loop = SimulatedLoop(time_limit=10_000)

    async def main() -> float:
        began = loop.time()
        await asyncio.gather(*(asyncio.sleep(number) for number in range(0, 1000, 7)))
        return loop.time() - began

    assert run(loop, main()) == pytest.approx(994)


def test_callbacks_keep_their_order() -> None:
    loop, seen = SimulatedLoop(), list[int]()

    async def main() -> None:
        for number in range(5):
            loop.call_soon(seen.append, number)
        await asyncio.sleep(1)

    run(loop, main())
    assert seen == [0, 1, 2, 3, 4]


def test_after_a_jump_what_came_is_delivered_before_timers() -> None:
    loop, seen = SimulatedLoop(), list[str]()

    async def main() -> None:
        loop.call_later(1, seen.append, "timer")
        loop.after(2, seen.append, "data")
        begin = loop.time()
        loop.jump(5)
        await asyncio.sleep(0.1)
        assert loop.jumped_since(begin, loop.time()) == 5

    run(loop, main())
    assert seen == ["data", "timer"]


def test_with_a_tick_things_happen_at_once() -> None:
    loop = SimulatedLoop()
    loop.tick = 0.01
    seen: list[float] = []

    async def main() -> None:
        for delay in (0.001, 0.004, 0.008):
            loop.after(delay, lambda: seen.append(loop.time()))
        await asyncio.sleep(0.05)

    run(loop, main())
    assert len(seen) == 3 and len(set(seen)) == 1


def test_a_wait_without_end_is_found() -> None:
    loop = SimulatedLoop()

    async def main() -> None:
        await loop.create_future()

    with pytest.raises(Stuck):
        run(loop, main())


def test_a_busy_loop_is_found() -> None:
    loop = SimulatedLoop()

    async def main() -> None:
        while True:  # noqa: ASYNC110
            await asyncio.sleep(0)

    with pytest.raises(Frozen):
        run(loop, main())


def test_virtual_time_has_a_limit() -> None:
    loop = SimulatedLoop(time_limit=60)
    with pytest.raises(OutOfTime):
        run(loop, asyncio.sleep(61))


def test_a_function_in_an_executor_ends_later() -> None:
    loop = SimulatedLoop(thread_time=lambda: 3.0)

    async def main() -> tuple[int, float]:
        began = loop.time()
        return await asyncio.to_thread(len, "four"), loop.time() - began

    assert run(loop, main()) == (4, pytest.approx(3))


def test_what_is_reported_to_the_loop_is_kept() -> None:
    loop = SimulatedLoop()

    async def main() -> None:
        loop.call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    run(loop, main())
    assert "ZeroDivisionError" in loop.errors[0]
