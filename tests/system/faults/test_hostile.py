"""Every operation, with each of its replies replaced by each reply that no server should send.

The law: it ends within the bound with a result or one of our errors. Then the connection says that it is closed, or
answers or fails within the bound, too. Where the reply was whole, no later answer is taken for another.
"""

from __future__ import annotations

import asyncio
import gc
import resource
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import aioifx
from aioifx import Connection
from aioifx.server import Server, ServerOptions, serve
from tests.injection import eventually
from tests.system.faults.hostile import SPOILS, WHOLE, Plan, hostile_servers
from tests.system.faults.operations import (
    DATABASES,
    OPERATIONS,
    Operation,
    prepared_databases,
    register_routines,
)
from tests.system.templates import copied

BOUND = 20.0
"""Seconds that nothing here takes, on a machine however busy."""

SHORT = 0.08
"""Seconds of command_timeout, and then of cancel_timeout."""

WORKERS, FEW = 6, 2
"""Each has a database of its own; few suffice where the cases are few."""

SAMPLE = 53
"""One case of so many is in the default suite."""

EACH = 8
"""One case of so many is in the exhaustive suite: each eighth place, in the next operations the others.

On uvloop, where the meaning of a reply is the same, it tries as many as the default suite.
"""

FIRST, LAST = 12, 3
"""The replies of an operation that are replaced; between them a long one repeats the same."""

ROOM = 300_000
"""Kilobytes that no reply makes the process grow by."""

LOGIN = 3
"""Replies after the login's own, before a connection is open: capabilities, environment, database."""

Case = tuple[int, str]
"""Which reply is replaced, and by what."""


@pytest.fixture
def plans() -> Iterator[dict[str, Plan]]:
    with hostile_servers() as found:
        yield found


@pytest.fixture
async def server(plans: dict[str, Plan], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    with copied(await prepared_databases(tmp_path_factory.getbasetemp())) as directory:
        async with serve(ServerOptions(databases=DATABASES, directory=directory)) as server:
            register_routines(server)
            yield server


def workers_for(is_exhaustive: bool) -> int:
    return WORKERS if is_exhaustive and not is_on_uvloop() else FEW


def is_on_uvloop() -> bool:
    return type(asyncio.get_running_loop()).__module__.startswith("uvloop")


class Worker:
    """Tries one case after the other, as a user of its own in a database of its own."""

    def __init__(self, number: int, server: Server, plans: dict[str, Plan]) -> None:
        self.user = f"worker{number}"
        self.server = server
        self.plans = plans
        self.options: dict[str, Any] = {"database": f"shop{number}", "user": self.user, "fetch_size": 4096}

    async def count(self, operation: Operation) -> int:
        """How many replies the operation has when nothing goes wrong."""
        async with aioifx.connect(self.server.dsn, **self.options) as conn:
            state = await operation.setup(conn) if operation.setup else None
            plan = self.plans[self.user] = Plan()
            assert await operation.run(conn, state) == operation.expected
            seen = plan.seen
        await self._clear()
        return seen

    async def attempt(self, operation: Operation, case: Case) -> str:
        position, name = case
        self.plans[self.user] = Plan()
        conn = await aioifx.connect(self.server.dsn, **self.options)
        state = await operation.setup(conn) if operation.setup else None
        dispatcher = conn._session.dispatcher
        dispatcher.command_timeout = dispatcher._timeout = dispatcher.interrupter.cancel_timeout = SHORT
        plan = self.plans[self.user] = Plan(position, SPOILS[name])
        try:
            async with asyncio.timeout(BOUND):
                await operation.run(conn, state)
            outcome = "a result"
        except aioifx.Error as error:
            outcome = type(error).__name__
        plan.spoil = None  # a reply that comes only now is not the operation's
        await check_after(conn, is_in_step=name in WHOLE)
        async with asyncio.timeout(BOUND):
            await conn.close(timeout=SHORT)
        assert conn.is_closed()
        await self._clear()
        return outcome

    async def _clear(self) -> None:
        self.plans[self.user] = Plan()
        await eventually(lambda: all(session.user != self.user for session in self.server.stats.sessions))


async def check_after(conn: Connection, *, is_in_step: bool) -> None:
    async with asyncio.timeout(BOUND):
        while not conn.is_closed():
            try:
                name = await conn.fetchval("select name[1,8] from thing where id = ?", 42)
            except aioifx.QueryTimeout:
                continue  # the machine is slow; or the server does not answer, and then the connection is dropped
            except aioifx.Error:
                return
            assert name == "thing 42" or not is_in_step
            return


async def shared_out(workers: list[Worker], cases: list[Case], operation: Operation) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    left = iter(cases)

    async def work(worker: Worker) -> None:
        for case in left:
            try:
                outcomes[await worker.attempt(operation, case)] += 1
            except BaseException as error:
                error.add_note(f"reply {case[0]} of {operation.name!r} was: {case[1]}")
                raise

    async with asyncio.TaskGroup() as group:
        for worker in workers:
            group.create_task(work(worker))
    return outcomes


def cases_of(positions: int, operation: int, is_exhaustive: bool) -> list[Case]:
    """Some of each position, others for each operation."""
    each = EACH if is_exhaustive and not is_on_uvloop() else SAMPLE
    return [
        (position, name)
        for position in range(positions)
        if position < FIRST or position >= positions - LAST
        for number, name in enumerate(SPOILS)
        if (position + number + operation) % each == 0
    ]


@pytest.mark.sampled
@pytest.mark.timeout(600)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_an_operation_bears_every_reply_in_every_place(
    server: Server, plans: dict[str, Plan], operation: Operation, is_exhaustive: bool, record_property: Any
) -> None:
    loop = asyncio.get_running_loop()
    complaints: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    before, size = asyncio.all_tasks(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    workers = [Worker(number, server, plans) for number in range(workers_for(is_exhaustive))]
    positions = await workers[0].count(operation)
    cases = cases_of(positions, OPERATIONS.index(operation), is_exhaustive)
    outcomes = await shared_out(workers, cases, operation)
    record_property("fault cases of replies", dict(outcomes))
    assert outcomes.total() == len(cases)
    await eventually(lambda: not server.stats.sessions)
    await eventually(lambda: not asyncio.all_tasks() - before)
    gc.collect()
    assert complaints == []
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - size < ROOM


@pytest.mark.timeout(600)
async def test_connecting_bears_every_reply_in_every_place(
    server: Server, plans: dict[str, Plan], is_exhaustive: bool, record_property: Any
) -> None:
    outcomes: Counter[str] = Counter()
    limits: dict[str, Any] = {"connect_timeout": 3 * SHORT, "command_timeout": SHORT, "cancel_timeout": SHORT}

    async def attempt(worker: Worker, case: Case) -> str:
        plan = plans[worker.user] = Plan(case[0], SPOILS[case[1]])
        try:
            async with asyncio.timeout(BOUND):
                conn = await aioifx.connect(server.dsn, **worker.options, **limits)
        except aioifx.Error as error:
            return type(error).__name__
        plan.spoil = None  # a reply that comes only now is not the operation's
        await check_after(conn, is_in_step=False)
        async with asyncio.timeout(BOUND):
            await conn.close(timeout=SHORT)
        return "a result"

    worker = Worker(0, server, plans)
    for case in cases_of(LOGIN, 0, is_exhaustive):
        try:
            outcomes[await attempt(worker, case)] += 1
        except BaseException as error:
            error.add_note(f"reply {case[0]} of connecting was: {case[1]}")
            raise
    record_property("fault cases of replies", dict(outcomes))
    await eventually(lambda: not server.stats.sessions)
