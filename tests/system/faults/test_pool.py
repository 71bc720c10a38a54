"""A pool under faults: never too many connections, no waiter left waiting, and it works again after them."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

import aioifx
from aioifx.client.pool.pool import Pool
from aioifx.server import Server, ServerOptions, serve
from tests.injection import eventually
from tests.system.faults.operations import NAMES, ROWS, prepare_tables
from tests.system.faults.proxy import Fault, Kind, Proxy, Way, proxied

BOUND = 20.0
SHORT = 0.2
MOST = 3
"""Connections that the pool may have."""

TASKS = 8

PLACES = {Way.TO_SERVER: (0, 900), Way.TO_CLIENT: (150, 700, 2_500)}
"""In the login, around its end, and in the first rows; counted from the beginning of each connection."""

FAULTS = [
    Fault(kind, way, after, 0x41)
    for kind in Kind
    if kind not in (Kind.SPLIT, Kind.DELAY)
    for way, places in PLACES.items()
    for after in places
] + [Fault(kind, way) for kind in (Kind.SPLIT, Kind.DELAY) for way in Way]


class ProxiedServer:
    """A server, a proxy for it, and a pool that connects through it."""

    def __init__(self, server: Server, proxy: Proxy) -> None:
        self.server = server
        self.proxy = proxy

    def pool(self, **options: Any) -> Pool:
        """A pool without connections at first: on a busy machine, opening one within SHORT may fail."""
        limits: dict[str, Any] = {
            "connect_timeout": SHORT,
            "command_timeout": SHORT,
            "cancel_timeout": SHORT,
            **options,
        }
        dsn = f"informix://pool@127.0.0.1:{self.proxy.port}/shop?server=ol_aioifx"
        return aioifx.create_pool(dsn, min_size=0, max_size=MOST, acquire_timeout=BOUND, **limits)


@pytest.fixture
async def proxied_server() -> AsyncIterator[ProxiedServer]:
    """After its use no task and no session is left, and nothing was logged as forgotten."""
    loop = asyncio.get_running_loop()
    complaints: list[Mapping[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    before = asyncio.all_tasks()
    async with serve(ServerOptions(databases=("shop",))) as server:
        async with aioifx.connect(server.dsn) as conn:
            await prepare_tables(conn)
        async with proxied(server.port) as proxy:
            yield ProxiedServer(server, proxy)
        await eventually(lambda: not server.stats.sessions)
    own = asyncio.current_task()  # not the one that has begun
    await eventually(lambda: not asyncio.all_tasks() - before - {own})
    gc.collect()
    assert complaints == []


def check_invariants(pool: Pool) -> None:
    stats, state = pool.stats, pool._manager.state
    assert stats.size + stats.opening <= MOST
    assert stats.size == stats.idle + stats.in_use
    assert not set(state.idle) & state.in_use
    connections = [id(pooled.session) for pooled in (*state.idle, *state.in_use)]
    assert len(set(connections)) == len(connections)


async def use(pool: Pool, outcomes: Counter[str], calls: int, limit: float) -> None:
    """A few calls, each of which ends in time with the right rows or an error of ours."""
    for _ in range(calls):
        check_invariants(pool)
        try:
            async with asyncio.timeout(2 * BOUND), pool.acquire(timeout=limit) as conn:
                check_invariants(pool)
                rows = await conn.fetch("select id, name from thing order by id")
                assert len(rows) == ROWS
                outcomes["right result"] += 1
        except aioifx.Error as error:
            outcomes[type(error).__name__] += 1
        check_invariants(pool)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.value)
async def test_a_pool_keeps_its_invariants_under_every_fault_and_works_after_it(
    proxied_server: ProxiedServer, kind: Kind, record_property: Any, is_exhaustive: bool
) -> None:
    totals: Counter[str] = Counter()
    faults = [fault for fault in FAULTS if fault.kind is kind]
    calls = 2 if is_exhaustive else 1
    if not is_exhaustive:
        faults = [faults[[*Kind].index(kind) % len(faults)]]
    for fault in faults:
        try:
            outcomes = await attempt(proxied_server, fault, calls)
        except BaseException as error:
            error.add_note(f"the fault: {fault}")
            raise
        assert outcomes.total() == calls * TASKS, "a task was forgotten"
        totals.update({f"{kind.value}: {what}": count for what, count in outcomes.items()})
    record_property("fault cases of pools", dict(totals))


async def attempt(proxied_server: ProxiedServer, fault: Fault, calls: int) -> Counter[str]:
    """Tasks at work on a healthy pool, then on one whose connections have the fault, then on a healed one."""
    outcomes: Counter[str] = Counter()
    proxied_server.proxy.fault = None
    patient = fault.kind in (Kind.SPLIT, Kind.DELAY)
    options = {"connect_timeout": BOUND, "command_timeout": BOUND} if patient else {}
    async with proxied_server.pool(**options) as pool:
        await healed(pool)
        pool.resize(1, MOST)
        proxied_server.proxy.fault = fault
        pool.expire()
        async with asyncio.timeout(3 * BOUND), asyncio.TaskGroup() as group:
            for _ in range(TASKS):
                group.create_task(use(pool, outcomes, calls, BOUND if patient else 5 * SHORT))
        if patient:
            assert set(outcomes) == {"right result"}
        proxied_server.proxy.fault = None
        proxied_server.proxy.drop_links()  # whatever is stalled, or will be, ends now
        await healed(pool)
        check_invariants(pool)
        assert pool.stats.waiting == 0
    assert pool.stats.size == pool.stats.opening == 0
    proxied_server.proxy.drop_links()
    await eventually(lambda: not proxied_server.server.stats.sessions)
    return outcomes


async def healed(pool: Pool) -> None:
    """Every connection that the pool may have answers again, at the same time."""
    async with asyncio.timeout(BOUND):
        while True:
            with contextlib.suppress(aioifx.Error):
                async with contextlib.AsyncExitStack() as stack:
                    acquired = [await stack.enter_async_context(pool.acquire()) for _ in range(MOST)]
                    for number, conn in enumerate(acquired):
                        name = await conn.fetchval("select name from thing where id = ?", number + 1)
                        assert name == NAMES[number][1]
                    return
            await asyncio.sleep(0)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", [Kind.CUT, Kind.RESET, Kind.HALF], ids=lambda kind: kind.value)
async def test_idle_connections_that_are_lost_are_replaced_before_they_are_acquired(
    proxied_server: ProxiedServer, kind: Kind
) -> None:
    async with proxied_server.pool(check_after_idle=60, connect_timeout=BOUND, command_timeout=BOUND) as pool:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(MOST):
                await stack.enter_async_context(pool.acquire())
        links = list(proxied_server.proxy.links)
        for link in links:
            link.arm(Fault(kind, Way.TO_CLIENT, 0))  # comes about with the first answer
        for pooled in pool._manager.state.idle:
            pooled.idle_since -= 100
        for _ in range(2 * MOST):
            assert await pool.fetchval("select name from thing where id = ?", 2) == NAMES[1][1]
            check_invariants(pool)
        proxied_server.proxy.drop_links()


async def test_a_dirty_connection_is_never_reused(proxied_server: ProxiedServer) -> None:
    async with proxied_server.pool(
        connect_timeout=BOUND, command_timeout=BOUND, isolation="last_committed"
    ) as pool:
        for after in (5, 40, 90):
            async with pool.acquire() as conn:
                await conn.execute("begin work")
                await conn.execute("insert into log (place, note) values (1, 'x')")
                proxied_server.proxy.links[-1].arm(Fault(Kind.CUT, Way.TO_SERVER, after))
            for _ in range(2):
                async with pool.acquire() as conn:
                    assert not conn.is_in_transaction()
                    with contextlib.suppress(aioifx.ConnectionLost):
                        assert int(str(await conn.fetchval("select count(*) from log"))) == 0


async def test_waiters_raise_when_the_server_stays_down(proxied_server: ProxiedServer) -> None:
    async with proxied_server.pool() as pool:
        await healed(pool)
        proxied_server.proxy.fault = Fault(Kind.RESET, Way.TO_SERVER, 0)
        pool.expire()

        async def wait() -> str:
            try:
                async with pool.acquire(timeout=5 * SHORT):
                    return "lent"
            except aioifx.PoolTimeout:
                return "refused"

        async with asyncio.timeout(BOUND):
            assert set(await asyncio.gather(*(wait() for _ in range(TASKS)))) == {"refused"}
        assert pool.stats.waiting == 0
        proxied_server.proxy.fault = None
        await healed(pool)
