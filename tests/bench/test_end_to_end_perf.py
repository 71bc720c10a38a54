"""Whole calls against the replay server, in this process: what users wait for, less what a database needs.

They are the workloads of `tests.bench.compare`, of ours alone. AIOIFX_SPEEDUPS=0 measures the pure client.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.bench.compare import orders
from tests.bench.conftest import FEW
from tests.bench.informix_peers import Aioifx
from tests.bench.peers import CALLS, CROWD, TASKS, WORKERS, Order

LARGEST = 100_000

ORDERS = orders(LARGEST)


@pytest.mark.parametrize("order", ORDERS, ids=[order.name for order in ORDERS])
def test_call(
    benchmark: BenchmarkFixture,
    loop: asyncio.AbstractEventLoop,
    replay: str,
    measuring: bool,
    order: Order,
) -> None:
    if order.workload == "columns":
        pytest.importorskip("pyarrow")
    if not measuring:
        order = replace(order, rows=min(order.rows, FEW), repeat=1)
    benchmark.group = order.workload
    benchmark.extra_info.update(rows=order.rows, repeat=order.repeat)
    peer = Aioifx(replay)

    async def repeated() -> int:
        done = 0
        for _ in range(order.repeat):
            done += await work()
        return done

    loop.run_until_complete(peer.open())
    try:
        work = loop.run_until_complete(peer.work(order))
        done = benchmark(lambda: loop.run_until_complete(repeated()))
    finally:
        loop.run_until_complete(peer.opened.aclose())
        loop.run_until_complete(peer.close())
    at_once = {"pool": CALLS * WORKERS, "concurrent": CALLS * WORKERS, "gather": TASKS, "crowd": CROWD}
    assert done == order.repeat * at_once.get(order.workload, order.rows)
