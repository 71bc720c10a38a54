"""Random faults of the embedded server, armed in another thread while clients work: nothing hangs, nothing is left."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, AsyncExitStack, suppress

import pytest

import aioifx
from aioifx.server import Faults, ServerOptions, serve

SEED = "CREATE TABLE t (a INTEGER PRIMARY KEY, n INTEGER); INSERT INTO t VALUES (1, 0); CREATE TABLE u (a INTEGER);"


def arm(faults: Faults, choose: random.Random) -> Callable[[], AbstractContextManager[object]]:
    return choose.choice(
        [
            lambda: faults.fail_next(-244, -107),
            lambda: faults.kill_during(effect=choose.choice(("before", "after"))),
            faults.drop_connections,
            lambda: faults.drop_connections("UPDATE"),
            lambda: faults.refuse(choose.choice((0, -951, -27002))),
            faults.pause,
            lambda: faults.delay(0.01, 0.02),
            lambda: faults.become_secondary(drop=choose.choice((True, False))),
            faults.full_disk,
            lambda: faults.lock(choose.choice(("t", "u"))),
        ]
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(2))
async def test_a_server_survives_random_faults(seed: int) -> None:
    choose, done = random.Random(seed), threading.Event()

    async def work(pool: aioifx.Pool, number: int) -> None:
        match number % 3:
            case 0:
                await pool.fetch("SELECT * FROM t")
            case 1:
                async with pool.acquire() as conn, conn.transaction(lock_wait=1):
                    await conn.execute("UPDATE t SET n = n + 1 WHERE a = 1")
            case _:
                await pool.executemany("INSERT INTO u VALUES (?)", [(n,) for n in range(20)])

    async def client(pool: aioifx.Pool) -> int:
        count = 0
        while not done.is_set():
            with suppress(aioifx.Error):
                await work(pool, count)
            count += 1
            await asyncio.sleep(0)
        return count

    async with serve(ServerOptions(("shop",), seed=SEED)) as server:

        def cause_faults() -> None:
            pause = threading.Event()
            for _ in range(60):
                with suppress(aioifx.DatabaseError), arm(server.faults, choose)():  # a lock may be refused
                    pause.wait(0.02)
            done.set()

        async with AsyncExitStack() as stack:
            clients: list[asyncio.Future[int]] = []
            for _ in range(4):
                pool = aioifx.create_pool(server.dsn, acquire_timeout=3, connect_timeout=3, command_timeout=3)
                clients.append(asyncio.ensure_future(client(await stack.enter_async_context(pool))))
            await asyncio.to_thread(cause_faults)
            assert min(await asyncio.wait_for(asyncio.gather(*clients), 30)) > 1
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute("UPDATE t SET n = n + 1")
            await conn.execute("DELETE FROM u")
    assert not [
        each for each in threading.enumerate() if each.name.startswith(("aioifx-fault", "aioifx-session"))
    ]
