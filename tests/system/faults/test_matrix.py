"""Every operation under every fault, over TCP and TLS: the right result or the right error, and nothing is left.

The law: what went through untouched gives the right result; what did not gives ConnectionLost, QueryTimeout or, while
connecting, ConnectError, within the bound. Then the connection says that it is closed, or answers correctly. Bytes that
were changed on their way without TLS may also be another value, or any error of ours, but never anything else.
What was to be written is there once or not at all; where it is there in spite of an error, the error says that its
outcome is not known.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trustme

import aioifx
from aioifx import Connection
from aioifx.server import Server, ServerOptions, serve
from tests.certificates import certified, trusting
from tests.injection import eventually
from tests.system.faults.operations import (
    DATABASES,
    MANY,
    OPERATIONS,
    ROWS,
    Operation,
    prepared_databases,
    register_routines,
)
from tests.system.faults.proxy import Fault, Kind, Link, Proxy, Way, proxied
from tests.system.templates import copied

pytestmark = pytest.mark.sampled

BOUND = 20.0
"""Seconds that nothing here takes, on a machine however busy."""

SHORT = 0.08
"""Seconds of command_timeout, and then of cancel_timeout, where something may be waited for in vain."""

WORKERS = 4
"""Cases that are tried at a time, each worker's in a database of its own: most of the time they wait."""

FEW = 2
"""Workers where the cases are few."""

EACH = 9
"""The default suite tries one fault of so many: an odd number, so that the kinds and ways differ."""

ON_TCP = 2
"""One fault of so many is tried over TCP on asyncio's loop: the others with the next operation."""

OF_OTHERS = 6
"""One fault of so many is tried with TLS or on uvloop, whose transports alone differ."""

WAITS = (Kind.STALL, Kind.CORRUPT)
"""Faults after which only a time limit helps."""


class Place(NamedTuple):
    """A server, and how to reach it."""

    server: Server
    options: dict[str, Any]
    workers: int

    @property
    def is_tls(self) -> bool:
        return "ssl" in self.options

    def dsn(self, port: int, worker: int, user: str) -> str:
        return f"informix://{user}@127.0.0.1:{port}/shop{worker}?server=ol_aioifx"


@pytest.fixture(params=["tcp", "tls"])
async def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, is_exhaustive: bool
) -> AsyncIterator[Place]:
    count = WORKERS if is_exhaustive and request.param == "tcp" and is_on_asyncio() else FEW
    options: dict[str, Any] = {"fetch_size": 4096}
    context = None
    if request.param == "tls":
        authority = trustme.CA()
        context, options["ssl"] = certified(authority, "127.0.0.1"), trusting(authority)
    with copied(await prepared_databases(tmp_path_factory.getbasetemp())) as directory:
        async with serve(ServerOptions(databases=DATABASES, directory=directory, ssl=context)) as server:
            register_routines(server)
            yield Place(server, options, count)


@pytest.fixture
def silence(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing is logged that hints at a defect; a server may say that it did not understand a client."""
    yield
    said = [
        record.getMessage()
        for record in caplog.get_records("call")
        if record.levelno >= (logging.ERROR if record.name.startswith("aioifx.server") else logging.WARNING)
    ]
    assert said == []


# -- which faults -----------------------------------------------------------------------------------------------------


def faults_for(sent: Mapping[Way, bytes], *, is_tls: bool) -> Iterator[Fault]:
    """Every fault at the places of this conversation where something begins, ends, or is in the middle."""
    for way in Way:
        data = sent[way]
        size = len(data)
        inner = places_within(data) if way is Way.TO_CLIENT and not is_tls else []
        middle = inner or [3, size // 2]
        for after in sorted({0, 1, *middle, size - 1, size}):
            yield Fault(Kind.CUT, way, after)
        for after in sorted({0, middle[-1], size - 1, size}):
            yield Fault(Kind.RESET, way, after)
        for after in sorted({0, middle[-1], size}):
            yield Fault(Kind.HALF, way, after)
        for after in sorted({0, middle[0], size - 1, size}):
            yield Fault(Kind.STALL, way, after)
        spoilt = {0, 3, size // 2, size - 1} if is_tls else {0, 1, 3, 5, 7, *middle, size // 2, size - 1}
        for after in sorted(place for place in spoilt if 0 <= place < size):
            yield Fault(Kind.CORRUPT, way, after, 0xFF if after % 2 else 0x41)
        yield Fault(Kind.SPLIT, way)
        yield Fault(Kind.DELAY, way)


def some_of(place: Place, faults: list[Fault], operation: int, is_exhaustive: bool) -> list[Fault]:
    """Half of them, over TCP on asyncio's loop, or fewer; others for each operation.

    What they do to an operation at any time is the simulation's matter. Here it is what sockets and TLS make of them.
    """
    is_plain = not place.is_tls and is_on_asyncio()
    each = EACH if not is_exhaustive else ON_TCP if is_plain else OF_OTHERS
    return faults[operation % each :: each]


def is_on_asyncio() -> bool:
    return isinstance(asyncio.get_running_loop(), asyncio.SelectorEventLoop)


def places_within(data: bytes) -> list[int]:
    """In the middle of the first row's head, and of that row."""
    at = data.find(b"\0\x0e\0\0")
    if at < 0:
        return []
    return [at + 5, at + 8 + int.from_bytes(data[at + 4 : at + 8], "big") // 2]


# -- one case ---------------------------------------------------------------------------------------------------------


class Worker:
    """Tries cases one after the other, in its own database and through its own proxy."""

    def __init__(self, number: int, place: Place, proxy: Proxy, direct: Connection) -> None:
        self.place = place
        self.proxy = proxy
        self.direct = direct
        self.user = f"worker{number}"
        self.dsn = place.dsn(proxy.port, number, self.user)

    def connecting(self, **options: Any) -> Any:
        return aioifx.connect(self.dsn, **self.place.options, **options)

    async def connected(self) -> tuple[Connection, Link]:
        """A connection through the proxy, which does nothing yet."""
        self.proxy.fault = None
        conn = await self.connecting(command_timeout=BOUND)
        return conn, self.proxy.links[-1]

    async def record(self, operation: Operation) -> dict[Way, bytes]:
        """What is said in each direction when nothing goes wrong."""
        conn, link = await self.connected()
        state = await operation.setup(conn) if operation.setup else None
        link.arm(None)
        assert await operation.run(conn, state) == operation.expected
        sent = {way: link.recorded(way) for way in Way}
        await conn.close()
        assert await self.written() == operation.writes
        return sent

    async def attempt(self, operation: Operation, fault: Fault) -> str:
        """Try one fault; what came of it."""
        conn, link = await self.connected()
        state = await operation.setup(conn) if operation.setup else None
        if fault.kind in WAITS:
            dispatcher = conn._session.dispatcher
            dispatcher.command_timeout = dispatcher._timeout = dispatcher.interrupter.cancel_timeout = SHORT
        link.arm(fault)
        trusted = fault.kind is not Kind.CORRUPT or self.place.is_tls
        error: Exception | None = None
        result: object = None
        try:
            async with asyncio.timeout(BOUND):
                result = await operation.run(conn, state)
        except (aioifx.ConnectionLost, aioifx.QueryTimeout) as expected:
            error = expected
        except aioifx.Error as other:
            assert not trusted, "it came through, or it did not"
            error = other
        if error is None and result != operation.expected:
            assert not trusted, f"the result is {result!r:.200}"
        if fault.kind in (Kind.SPLIT, Kind.DELAY):
            assert error is None
        await self.check_after(conn, fault, trusted=trusted)
        async with asyncio.timeout(BOUND):
            await conn.close(timeout=SHORT)
        assert conn.is_closed()
        self.proxy.drop_links()
        self._check_written(operation, error, await self.written(), trusted=trusted)
        return outcome(error, result == operation.expected)

    async def check_after(self, conn: Connection, fault: Fault, *, trusted: bool) -> None:
        """It says that it is closed, or it answers correctly.

        Where deferred cleanup has no reply, such as the closing of a cursor, the connection is not idle.
        """
        async with asyncio.timeout(BOUND):
            while not conn.is_closed():
                try:
                    name = await conn.fetchval("select name[1,8] from thing where id = ?", 42)
                    if trusted:
                        assert name == "thing 42"
                        assert not conn.is_in_transaction()
                        assert await conn.fetchval("select count(*) from thing") == ROWS
                    return
                except aioifx.QueryTimeout:
                    continue  # a machine with much to do is late, too: then it answers in the end, else it is dropped
                except aioifx.ConnectionLost:
                    await eventually(conn.is_closed)
                except aioifx.Error:
                    assert not trusted
                    return

    async def written(self) -> int:
        """How many rows the case has left, when the server has done with it; they are removed."""
        await eventually(
            lambda: all(session.user != self.user for session in self.place.server.stats.sessions)
        )
        count = int(str(await self.direct.fetchval("select count(*) from log")))
        if count:
            await self.direct.execute("delete from log where id > 0")
        return count

    def _check_written(
        self, operation: Operation, error: Exception | None, count: int, *, trusted: bool
    ) -> None:
        assert count <= operation.writes, f"{count} rows were written"
        if not trusted:
            return
        if error is None:
            assert count == operation.writes, f"{count} rows were written"
        elif operation.commits:
            assert count in (0, operation.writes), f"{count} rows were written"
            if count:
                assert getattr(error, "outcome_unknown", False), "it was committed"


def outcome(error: Exception | None, right: bool) -> str:
    if error is None:
        return "right result" if right else "another value"
    return type(error).__name__


@contextlib.asynccontextmanager
async def workers(place: Place) -> AsyncIterator[list[Worker]]:
    """So many of them; after their work no task, no socket and no session is left."""
    loop = asyncio.get_running_loop()
    complaints: list[Mapping[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    gc.collect()
    before, sockets = asyncio.all_tasks(), open_files()
    async with contextlib.AsyncExitStack() as stack:
        found: list[Worker] = []
        for number in range(place.workers):
            dsn = place.dsn(place.server.port, number, "direct")
            direct = await stack.enter_async_context(aioifx.connect(dsn, **place.options))
            proxy = await stack.enter_async_context(proxied(place.server.port))
            found.append(Worker(number, place, proxy, direct))
        yield found
    await eventually(lambda: not place.server.stats.sessions)
    await eventually(lambda: not asyncio.all_tasks() - before)
    gc.collect()
    await eventually(lambda: open_files() <= sockets)
    assert complaints == []


def open_files() -> int:
    """How many descriptors this process has; where that cannot be seen, 0."""
    with contextlib.suppress(OSError):
        return sum(
            os.readlink(link).startswith("socket:")
            for link in Path("/proc/self/fd").iterdir()
            if link.is_symlink()
        )
    return 0


async def shared_out(found: Sequence[Worker], cases: Sequence[Fault], attempt: Any) -> Counter[str]:
    """Every case tried by the first worker that is free; how many ended how."""
    coming = iter(cases)
    outcomes: Counter[str] = Counter()

    async def work(worker: Worker) -> None:
        for fault in coming:
            try:
                outcomes[f"{fault.kind.value}: {await attempt(worker, fault)}"] += 1
            except BaseException as error:
                error.add_note(f"the fault: {fault}")
                raise

    async with asyncio.TaskGroup() as group:
        for worker in found:
            group.create_task(work(worker))
    return outcomes


# -- the matrix -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("silence")
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_an_operation_survives_every_fault(
    place: Place, operation: Operation, record_property: Any, is_exhaustive: bool
) -> None:
    async with workers(place) as found:
        sent = await found[0].record(operation)
        cases = some_of(
            place, [*faults_for(sent, is_tls=place.is_tls)], OPERATIONS.index(operation), is_exhaustive
        )
        outcomes = await shared_out(found, cases, lambda worker, fault: worker.attempt(operation, fault))
    record_property("fault cases", dict(outcomes))
    assert outcomes.total() == len(cases)


@pytest.mark.usefixtures("silence")
async def test_a_connect_survives_every_fault(
    place: Place, record_property: Any, is_exhaustive: bool
) -> None:
    async def attempt(worker: Worker, fault: Fault) -> str:
        worker.proxy.fault = fault
        limit = SHORT if fault.kind in WAITS else BOUND
        trusted = fault.kind is not Kind.CORRUPT or place.is_tls
        errors = (aioifx.ConnectError, aioifx.ConnectionLost) if trusted else (aioifx.Error,)
        try:
            async with asyncio.timeout(BOUND):
                conn = await worker.connecting(
                    connect_timeout=limit, command_timeout=limit, cancel_timeout=SHORT
                )
        except errors as error:
            assert fault.kind not in (Kind.SPLIT, Kind.DELAY)
            assert not trusted or isinstance(error, aioifx.ConnectError)
            outcome = type(error).__name__
        else:
            await worker.check_after(conn, fault, trusted=trusted)
            async with asyncio.timeout(BOUND):
                await conn.close(timeout=SHORT)
            outcome = "right result"
        worker.proxy.drop_links()
        await worker.written()
        return outcome

    async with workers(place) as found:
        conn, link = await found[0].connected()
        sent = {way: link.recorded(way) for way in Way}
        await conn.close()
        cases = some_of(place, [*faults_for(sent, is_tls=place.is_tls)], 0, is_exhaustive)
        outcomes = await shared_out(found, cases, attempt)
    record_property("fault cases", dict(outcomes))
    assert outcomes.total() == len(cases)


def test_the_matrix_has_every_operation_once() -> None:
    names = [operation.name for operation in OPERATIONS]
    assert len(set(names)) == len(names)
    assert {operation.writes for operation in OPERATIONS} >= {0, 1, MANY}
