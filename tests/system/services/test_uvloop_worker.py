"""The queue worker: every job is done once, and none is lost when the worker is stopped."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

import aioifx
from aioifx.server import Server, ServerOptions, serve
from examples.uvloop_worker import LEASE, SCHEMA, TRIES, Job, Worker, book
from tests.injection import eventually
from tests.system.services.programs import program

Perform = Callable[[aioifx.Connection, Job], Awaitable[object]]


@pytest.fixture
async def shop() -> AsyncIterator[Server]:
    async with serve(ServerOptions(databases=("shop",), seed=SCHEMA)) as server:
        yield server


@pytest.fixture
async def conn(shop: Server) -> AsyncIterator[aioifx.Connection]:
    """A connection beside the worker's."""
    async with aioifx.connect(shop.dsn, lock_wait=10) as conn:
        yield conn


@pytest.fixture
async def pool(shop: Server) -> AsyncIterator[aioifx.Pool]:
    async with aioifx.create_pool(shop.dsn, lock_wait=10) as pool:
        yield pool


async def add_orders(conn: aioifx.Connection, count: int, sku: str = "PEN-01", pieces: int = 1) -> None:
    payload = json.dumps({"sku": sku, "pieces": pieces})
    await conn.executemany("INSERT INTO job (payload) VALUES (?)", [(payload,)] * count)


async def states(conn: aioifx.Connection) -> str:
    return "".join(row["state"] for row in await conn.fetch("SELECT state FROM job ORDER BY id"))


async def pieces(conn: aioifx.Connection, sku: str = "PEN-01") -> object:
    return await conn.fetchval("SELECT pieces FROM stock WHERE sku = ?", sku)


@asynccontextmanager
async def working(
    pool: aioifx.Pool, perform: Perform, **options: Any
) -> AsyncIterator[tuple[Worker, asyncio.Task[None]]]:
    worker = Worker(pool, perform, **options)
    task = asyncio.create_task(worker.run())
    try:
        yield worker, task
        async with asyncio.timeout(20):
            await task
    finally:
        task.cancel()
        await asyncio.wait([task])


class Gate:
    """A job's performance that waits until the test lets it go on."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ended: list[int] = []
        self.open = asyncio.Event()

    async def __call__(self, conn: aioifx.Connection, job: Job) -> None:
        self.begun.append(job.id)
        await self.open.wait()
        await book(conn, job)
        self.ended.append(job.id)


async def test_every_job_is_done_once(pool: aioifx.Pool, conn: aioifx.Connection) -> None:
    await add_orders(conn, 40)
    done: list[int] = []

    async def perform(conn: aioifx.Connection, job: Job) -> None:
        await book(conn, job)
        done.append(job.id)

    await asyncio.gather(*(Worker(pool, perform, tasks=4, drain=True).run() for _ in range(2)))
    assert await states(conn) == "D" * 40
    assert sorted(done) == list(range(1, 41))
    assert await pieces(conn) == 60
    assert (pool.stats.in_use, pool.stats.waiting) == (0, 0)


async def test_as_many_jobs_run_at_a_time_as_configured(pool: aioifx.Pool, conn: aioifx.Connection) -> None:
    await add_orders(conn, 5)
    gate = Gate()
    async with working(pool, gate, tasks=3, drain=True):
        await eventually(lambda: len(gate.begun) == 3)
        assert sorted(await states(conn)) == list("RRTTT")
        gate.open.set()
    assert await states(conn) == "DDDDD"


async def test_a_job_that_fails_is_tried_again_and_then_given_up(
    pool: aioifx.Pool, conn: aioifx.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    await add_orders(conn, 1, "LAMP-1", 5)  # there are 2
    await add_orders(conn, 1)
    await Worker(pool, book, tasks=2, drain=True).run()
    assert await states(conn) == "FD"
    job = await conn.fetchrow("SELECT tries, error FROM job WHERE id = 1")
    assert job is not None and job["tries"] == TRIES
    assert job["error"].startswith("CheckViolation: ")
    assert await pieces(conn, "LAMP-1") == 2
    assert caplog.text.count("job 1: CheckViolation") == TRIES
    assert caplog.text.count("given up") == 1


async def test_what_a_failed_job_has_done_is_rolled_back(pool: aioifx.Pool, conn: aioifx.Connection) -> None:
    await add_orders(conn, 1)

    async def perform(conn: aioifx.Connection, job: Job) -> None:
        await book(conn, job)
        raise ValueError("behind the booking")

    await Worker(pool, perform, drain=True).run()
    assert await states(conn) == "F"
    assert await pieces(conn) == 100


async def test_at_a_stop_signal_it_finishes_running_jobs_and_begins_none(
    pool: aioifx.Pool, conn: aioifx.Connection
) -> None:
    await add_orders(conn, 6)
    gate = Gate()
    async with working(pool, gate, tasks=2) as (worker, _):
        await eventually(lambda: len(gate.begun) == 2)
        worker.stop()
        gate.open.set()
    assert sorted(await states(conn)) == list("DDRRRR")
    assert sorted(gate.begun) == sorted(gate.ended)
    assert await pieces(conn) == 98


@pytest.mark.parametrize("way", ["told again", "no grace"])
async def test_a_second_signal_puts_running_jobs_back(
    pool: aioifx.Pool, conn: aioifx.Connection, way: str
) -> None:
    await add_orders(conn, 3)
    held = asyncio.Event()

    async def perform(conn: aioifx.Connection, job: Job) -> None:
        await book(conn, job)
        held.set()
        await asyncio.get_running_loop().create_future()

    grace = 0 if way == "no grace" else 60
    async with working(pool, perform, tasks=1, grace=grace) as (worker, _):
        await held.wait()
        worker.stop()
        if grace:
            worker.stop()
    assert await states(conn) == "RRR"
    assert await conn.fetchval("SELECT SUM(tries) FROM job") == 0
    assert await pieces(conn) == 100
    assert pool.stats.in_use == 0


async def test_a_cancelled_worker_puts_back_what_runs(pool: aioifx.Pool, conn: aioifx.Connection) -> None:
    await add_orders(conn, 4)
    gate = Gate()
    task = asyncio.create_task(Worker(pool, gate, tasks=4).run())
    await eventually(lambda: len(gate.begun) == 4)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await states(conn) == "RRRR"


async def test_an_empty_queue_is_looked_at_again(
    pool: aioifx.Pool, conn: aioifx.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("examples.uvloop_worker.PAUSE", 0.01)
    gate = Gate()
    gate.open.set()
    async with working(pool, gate, tasks=2) as (worker, _):
        await eventually(lambda: pool.stats.acquired >= 6)
        await add_orders(conn, 3)
        await eventually(lambda: len(gate.ended) == 3)
        worker.stop()
    assert await states(conn) == "DDD"


async def test_a_job_of_a_killed_worker_is_free_again_after_its_lease(
    pool: aioifx.Pool, conn: aioifx.Connection
) -> None:
    await add_orders(conn, 2)
    taken = "UPDATE job SET state = 'T', worker = 'dead', tries = 1, since = CURRENT YEAR TO SECOND - {} UNITS SECOND"
    await conn.execute(taken.format(LEASE + 60) + " WHERE id = 1")
    await conn.execute(taken.format(LEASE - 60) + " WHERE id = 2")
    await Worker(pool, book, drain=True).run()
    assert await states(conn) == "DT"


async def test_a_job_that_was_taken_away_does_not_count(pool: aioifx.Pool, conn: aioifx.Connection) -> None:
    await add_orders(conn, 1)
    gate = Gate()
    async with working(pool, gate, tasks=1) as (worker, _):
        await eventually(lambda: gate.begun)
        await conn.execute("UPDATE job SET worker = 'somebody else'")
        worker.stop()
        gate.open.set()
    assert await pieces(conn) == 100
    assert (await conn.fetchrow("SELECT state, worker FROM job")) == ("T", "somebody else")


async def test_a_queue_that_does_not_exist_ends_the_worker(dsn: str) -> None:
    async with aioifx.create_pool(dsn) as pool:
        with pytest.raises(ExceptionGroup) as raised:
            await Worker(pool, book).run()
        assert raised.value.subgroup(aioifx.UndefinedTable) is not None


# -- as a program -----------------------------------------------------------------------------------------------------


@pytest.mark.exhaustive
async def test_it_works_off_its_own_queue_as_a_program() -> None:
    async with program("uvloop_worker.py", "--drain") as worker:
        assert await worker.exit_code() == 0, worker.output
    assert worker.output.count(": done") == 20
    assert worker.output.count("given up") == 1
    assert not re.search("Traceback|Warning", worker.output)
    if importlib.util.find_spec("uvloop"):
        assert "on uvloop" in worker.output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_at_a_signal_it_finishes_what_it_has_begun(
    shop: Server, conn: aioifx.Connection, number: signal.Signals
) -> None:
    await add_orders(conn, 3, pieces=10)
    async with program("uvloop_worker.py", "--tasks", "1", AIOIFX_DSN=shop.dsn) as worker:
        async with conn.transaction():
            await conn.execute("UPDATE stock SET pieces = pieces")
            await eventually(lambda: any(session.waiting for session in shop.stats.sessions))
            worker.signal(number)
            await worker.prints("stopping")
        assert await worker.exit_code() == 0, worker.output
    assert sorted(await states(conn)) == list("DRR")
    assert await pieces(conn) == 90
    await eventually(lambda: len(shop.stats.sessions) == 1)  # the test's own


@pytest.mark.exhaustive
async def test_at_the_second_signal_it_interrupts_what_it_has_begun(
    shop: Server, conn: aioifx.Connection
) -> None:
    await add_orders(conn, 3, pieces=10)
    async with program("uvloop_worker.py", "--tasks", "1", AIOIFX_DSN=shop.dsn) as worker:
        async with conn.transaction():
            await conn.execute("UPDATE stock SET pieces = pieces")
            await eventually(lambda: any(session.waiting for session in shop.stats.sessions))
            worker.signal()
            await worker.prints("stopping")
            worker.signal()
            await eventually(lambda: shop.stats.interrupts == 1)
        assert await worker.exit_code() == 0, worker.output
    assert await states(conn) == "RRR"
    assert await pieces(conn) == 100
    await eventually(lambda: len(shop.stats.sessions) == 1)  # the test's own
