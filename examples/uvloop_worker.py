"""A queue worker: jobs from a table, several at a time, and none lost when the worker is stopped.

    python examples/uvloop_worker.py [--tasks 4] [--grace 10] [--drain]

It runs on an embedded server of its own with some jobs; with AIOIFX_DSN set, on that Informix instead, where the
tables of SCHEMA must exist. On uvloop, if that is installed.

A job is claimed by an UPDATE that finds it only while it is unclaimed: Informix has no SKIP LOCKED, and a lock held
for as long as a job takes would be in everybody's way. What the job does and the note that it is done are one
transaction, so it takes effect once or not at all. A claim whose worker has died is free again after LEASE seconds.

At SIGTERM or SIGINT no further job is claimed. Those that run may finish within `--grace` seconds; after that, or at
the second signal, they are cancelled: rolled back, and put back into the queue.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import random
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass

import aioifx
import aioifx.server
from aioifx.rows import class_row

new_event_loop: Callable[[], asyncio.AbstractEventLoop]
try:
    from uvloop import new_event_loop
except ImportError:  # as on Windows
    from asyncio import new_event_loop

SCHEMA = """
CREATE TABLE job (
    id SERIAL NOT NULL PRIMARY KEY, payload LVARCHAR(2000) NOT NULL, state CHAR(1) DEFAULT 'R' NOT NULL,
    tries SMALLINT DEFAULT 0 NOT NULL, worker VARCHAR(80), since DATETIME YEAR TO SECOND, error LVARCHAR(500));
CREATE INDEX i_job_state ON job (state, id);
CREATE TABLE stock (sku CHAR(6) NOT NULL PRIMARY KEY, pieces INTEGER NOT NULL CHECK (pieces >= 0));
INSERT INTO stock VALUES ('PEN-01', 100);
INSERT INTO stock VALUES ('LAMP-1', 2)
"""
READY, TAKEN, DONE, FAILED = "R", "T", "D", "F"

LEASE = 300
"""Seconds after which a claimed job counts as lost; longer than any job takes."""
TRIES = 3
"""How often a job is started before it counts as failed."""
PAUSE = 1.0
"""Seconds between two queries of an empty queue."""

_FREE = f"(state = '{READY}' OR state = '{TAKEN}' AND since < CURRENT YEAR TO SECOND - {LEASE} UNITS SECOND)"
CANDIDATES = f"SELECT FIRST 20 id, payload, tries FROM job WHERE {_FREE} ORDER BY id"
CLAIM = f"""
    UPDATE job SET state = '{TAKEN}', worker = ?, since = CURRENT YEAR TO SECOND, tries = tries + 1
     WHERE id = ? AND tries = ? AND {_FREE}
"""
FINISH = f"UPDATE job SET state = '{DONE}', error = NULL WHERE id = ? AND worker = ? AND state = '{TAKEN}'"
FAIL = f"UPDATE job SET state = ?, error = ? WHERE id = ? AND worker = ? AND state = '{TAKEN}'"
PUT_BACK = f"UPDATE job SET state = '{READY}', tries = tries - 1 WHERE worker = ? AND state = '{TAKEN}'"

log = logging.getLogger("worker")


@dataclass(frozen=True)
class Job:
    id: int
    payload: str
    tries: int
    """How often it was started before."""


class ClaimLost(Exception):
    """Another worker has claimed the job as abandoned; the work done here must not count."""


class Worker:
    """Takes jobs off the queue, several at a time, until `stop` is called.

    Args:
        perform: does a job; what it does with the connection is one transaction with the note that it is done.
        tasks: how many jobs run at a time.
        grace: seconds that they have after `stop`.
        drain: stop as well when the queue is empty.
    """

    def __init__(
        self,
        pool: aioifx.Pool,
        perform: Callable[[aioifx.Connection, Job], Awaitable[object]],
        *,
        tasks: int = 4,
        grace: float = 10.0,
        drain: bool = False,
    ) -> None:
        self.pool = pool
        self.perform = perform
        self.tasks = tasks
        self.grace = grace
        self.drain = drain
        self._stopping = asyncio.Event()
        self._hurrying = asyncio.Event()

    def stop(self) -> None:
        """Claim no further jobs. A second call cancels those that run."""
        if self._stopping.is_set():
            self._hurrying.set()
        self._stopping.set()
        log.info("stopping")

    async def run(self) -> None:
        """Work until `stop` is called and the running jobs have ended."""
        me = f"{socket.gethostname()}/{os.getpid()}"
        async with asyncio.TaskGroup() as group:
            takers = [group.create_task(self._take_jobs(f"{me}/{number}")) for number in range(self.tasks)]
            ending = group.create_task(self._end(takers))
            await asyncio.wait(takers)
            ending.cancel()

    async def _end(self, takers: list[asyncio.Task[None]]) -> None:
        await self._stopping.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.grace):
                await self._hurrying.wait()
        for taker in takers:
            taker.cancel()

    async def _take_jobs(self, name: str) -> None:
        while not self._stopping.is_set():
            try:
                if await self._take_job(name):
                    continue
                if self.drain:
                    return
            except (
                aioifx.LockError,
                aioifx.ConnectError,
                aioifx.ConnectionLost,
                aioifx.PoolTimeout,
            ) as error:
                log.warning("%s: %s", name, error)
            await self._pause()

    async def _take_job(self, name: str) -> bool:
        """Claim a job and do it; False if there is none."""
        async with self.pool.acquire() as conn:
            try:
                job = await self._claim(conn, name)
                if job is not None:
                    await self._do(conn, name, job)
                return job is not None
            except asyncio.CancelledError:
                # On the same connection, hence after the rollback, or a COMMIT that was in flight.
                await conn.execute(PUT_BACK, name)
                raise

    async def _claim(self, conn: aioifx.Connection, name: str) -> Job | None:
        candidates = await conn.fetch(CANDIDATES, row_factory=class_row(Job))
        random.shuffle(candidates)  # so that workers do not all try the same one first
        for job in candidates:
            if (await conn.execute(CLAIM, name, job.id, job.tries)).rowcount:
                return job
        return None

    async def _do(self, conn: aioifx.Connection, name: str, job: Job) -> None:
        try:
            async with conn.transaction():
                await self.perform(conn, job)
                if not (await conn.execute(FINISH, job.id, name)).rowcount:
                    raise ClaimLost(f"not finished within {LEASE} s")
        except aioifx.ConnectionLost:
            raise  # it may have been the COMMIT's; if it was not, the job is free again after LEASE
        except Exception as error:
            state = FAILED if job.tries + 1 >= TRIES else READY
            reason = f"{type(error).__name__}: {error}"
            log.warning("job %d: %s%s", job.id, reason, "; given up" if state == FAILED else "")
            await conn.execute(FAIL, state, reason[:500], job.id, name)
        else:
            log.info("job %d: done", job.id)

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(PAUSE * random.uniform(0.5, 1)):
                await self._stopping.wait()


# -- the jobs of this example -----------------------------------------------------------------------------------------


async def book(conn: aioifx.Connection, job: Job) -> None:
    """An order, such as {"sku": "PEN-01", "pieces": 3}: its pieces leave the stock."""
    order = json.loads(job.payload)
    take = "UPDATE stock SET pieces = pieces - ? WHERE sku = ?"
    if not (await conn.execute(take, order["pieces"], order["sku"])).rowcount:
        raise LookupError(f"no such article: {order['sku']}")


ORDERS = [("PEN-01", 3)] * 20 + [("LAMP-1", 5)]


async def main(options: argparse.Namespace) -> None:
    async with AsyncExitStack() as stack:
        dsn = os.environ.get("AIOIFX_DSN")
        own = dsn or await stack.enter_async_context(aioifx.server.running("shop", seed=SCHEMA))
        pool = await stack.enter_async_context(aioifx.create_pool(own, max_size=options.tasks, lock_wait=10))
        if not dsn:
            payloads = ((json.dumps({"sku": sku, "pieces": pieces}),) for sku, pieces in ORDERS)
            await pool.executemany("INSERT INTO job (payload) VALUES (?)", payloads)
        worker = Worker(pool, book, tasks=options.tasks, grace=options.grace, drain=options.drain)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(worker.stop))
        log.info("%d jobs at a time, on %s", options.tasks, type(loop).__module__)
        await worker.run()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Work off the table job.")
    arguments.add_argument("--tasks", type=int, default=4, help="jobs that run at a time")
    arguments.add_argument("--grace", type=float, default=10, help="seconds that they have to finish")
    arguments.add_argument("--drain", action="store_true", help="end when the queue is empty")
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main(arguments.parse_args()))
