"""The urgent byte, on a server that handles it: what is interrupted, what it costs, and what a late byte hits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
import trustme

import aioifx
from aioifx import Connection
from aioifx._speedups.round_trip import InFlight
from aioifx.client.session.interrupts import URGENT_BYTE
from aioifx.server import Server, ServerOptions, serve
from tests.certificates import certified, trusting
from tests.injection import eventually
from tests.scripted import time_is_up
from tests.system.faults.proxy import Proxy, Urgent, Way, proxied

pytestmark = pytest.mark.sampled

SLOW = "select count(*) from number a, number b, number c, number d where a.n + b.n + c.n + d.n < 0"
"""The server would count for minutes."""

SEED = (
    "create table number (n int); create table spot (id int primary key, note varchar(20));"
    + "".join(f"insert into number values ({n});" for n in range(25))
    + "".join(f"insert into number select n + {count} from number;" for count in (25, 50, 100))
)


class Place:
    """A server, and how to reach it."""

    def __init__(self, server: Server, proxy: Proxy | None, options: dict[str, Any]) -> None:
        self.server = server
        self.proxy = proxy
        self.options = options

    def connect(self, **options: Any) -> Any:
        port = self.server.port if self.proxy is None else self.proxy.port
        dsn = self.server.dsn.replace(f":{self.server.port}/", f":{port}/")
        return aioifx.connect(dsn, **self.options, **options)

    async def runs(self, count: int = 1) -> None:
        """Wait until so many statements are running."""
        await eventually(lambda: sum(session.running for session in self.server.stats.sessions) >= count)

    async def waits(self) -> None:
        """Wait until a statement waits for a lock."""
        await eventually(lambda: any(session.waiting for session in self.server.stats.sessions))


@pytest.fixture(params=["tcp", "tls", "tcp through the proxy", "tls through the proxy"])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    context, options = None, {}
    if request.param.startswith("tls"):
        authority = trustme.CA()
        context, options["ssl"] = certified(authority, "127.0.0.1"), trusting(authority)
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(
            serve(ServerOptions(databases=("shop",), seed=SEED, ssl=context))
        )
        through = "proxy" in request.param
        proxy = await stack.enter_async_context(proxied(server.port)) if through else None
        yield Place(server, proxy, options)


async def cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancelled_query_ends_at_the_server_and_its_connection_stays_usable(place: Place) -> None:
    async with place.connect() as conn:
        task = asyncio.ensure_future(conn.fetchval(SLOW))
        await place.runs()
        await cancel(task)
        async with asyncio.timeout(20):
            assert await conn.fetchval("select count(*) from number") == 200
        assert place.server.stats.interrupts == 1
        assert not conn._session.dispatcher.interrupter.is_unconfirmed


async def test_a_cancelled_wait_for_a_lock_leaves_the_transaction_open_and_nothing_of_its_statement(
    place: Place,
) -> None:
    async with place.connect() as holder, place.connect() as conn:
        await holder.execute("insert into spot values (1, 'held')")
        await conn.execute("set lock mode to wait")
        async with holder.transaction():
            await holder.execute("update spot set note = 'theirs' where id = 1")
            transaction = conn.transaction()
            await transaction.start()
            task = asyncio.ensure_future(conn.execute("update spot set note = ? where id = 1", "ours"))
            await place.waits()
            await cancel(task)
            async with asyncio.timeout(20):
                assert conn.is_in_transaction()
                assert await conn.fetchval("select count(*) from number") == 200
        await conn.execute("insert into spot values (2, 'ours')")
        await transaction.commit()
        assert await conn.fetch("select id, note from spot order by id") == [(1, "theirs"), (2, "ours")]


async def test_an_executemany_that_waits_for_a_lock_is_interrupted_and_rolled_back(place: Place) -> None:
    async with place.connect() as holder, place.connect() as conn:
        await conn.execute("set lock mode to wait")
        async with holder.transaction():
            await holder.execute("insert into spot values (1, 'held')")
            await holder.execute("lock table spot in exclusive mode")
            task = asyncio.ensure_future(
                conn.executemany("insert into spot values (?, ?)", ((n, "x") for n in range(2, 500)))
            )
            await place.waits()
            await cancel(task)
            async with asyncio.timeout(20):
                assert await conn.fetchval("select count(*) from number") == 200
            assert not conn.is_in_transaction()
        assert await conn.fetchval("select count(*) from spot") == 1


async def test_a_query_that_takes_too_long_is_interrupted(place: Place) -> None:
    async with place.connect(command_timeout=60.0) as conn:
        task = asyncio.ensure_future(conn.fetchval(SLOW))
        await place.runs()
        time_is_up(conn._session)
        with pytest.raises(aioifx.QueryTimeout) as caught:
            await task
        assert isinstance(caught.value, TimeoutError)
        assert await conn.fetchval("select count(*) from number", timeout=20) == 200
        assert place.server.stats.interrupts == 1


async def test_a_timeout_of_the_caller_is_not_replaced(place: Place) -> None:
    async with place.connect() as conn:
        with pytest.raises(TimeoutError) as caught:
            async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as tasks:
                call = tasks.create_task(conn.fetchval(SLOW))
                await place.runs()
                limit.reschedule(0.0)
                await call
        assert not isinstance(caught.value, aioifx.Error)
        async with asyncio.timeout(20):
            assert await conn.fetchval("select count(*) from number") == 200


async def test_a_call_after_a_cancelled_query_gets_its_own_reply(place: Place) -> None:
    async with place.connect() as conn:
        task = asyncio.ensure_future(conn.fetchval(SLOW))
        await place.runs()
        behind = [
            asyncio.ensure_future(conn.fetchval(f"select {n} from number where n = 0")) for n in range(5)
        ]
        await cancel(task)
        async with asyncio.timeout(20):
            assert await asyncio.gather(*behind) == list(range(5))


def late(conn: Connection, server: Server) -> None:
    """Make the next cancellation's byte arrive after its statement's reply, before the next request."""
    channel, dispatcher = conn._session.channel, conn._session.dispatcher
    send_urgent, ask, probe = channel.send_urgent, channel.request, dispatcher._probe

    def believed(byte: bytes) -> bool:
        return byte == URGENT_BYTE

    def sent() -> Any:
        # Beside a request's own bytes the urgent one might get lost: Linux drops it once they have been read.
        assert send_urgent(URGENT_BYTE)
        channel.request = held_back  # type: ignore[method-assign]
        tasks.append(asyncio.ensure_future(release()))
        return probe()

    async def release() -> None:
        await eventually(lambda: server.stats.interrupts)
        channel.request = ask  # type: ignore[method-assign]
        for data in held:
            channel.send(data)

    def held_back(in_flight: InFlight, data: bytes | bytearray) -> None:
        held.append(data)
        ask(in_flight, b"")

    held: list[bytes | bytearray] = []
    tasks: list[asyncio.Task[None]] = []
    channel.send_urgent = believed  # type: ignore[method-assign]
    dispatcher._probe = sent


async def test_a_byte_that_comes_too_late_hits_the_probe_and_no_statement_of_the_users(place: Place) -> None:
    async with place.connect() as holder, place.connect() as conn:
        await conn.execute("set lock mode to wait")
        late(conn, place.server)
        async with holder.transaction():
            await holder.execute("insert into spot values (1, 'held')")
            await holder.execute("lock table spot in exclusive mode")
            task = asyncio.ensure_future(conn.execute("insert into spot values (2, 'late')"))
            await place.waits()
            await cancel(task)
        async with asyncio.timeout(20):
            assert await conn.fetchval("select count(*) from number") == 200
        assert await conn.fetch("select id from spot order by id") == [(1,), (2,)]  # it had run to its end
        assert place.server.stats.interrupts == 1
        assert not conn._session.dispatcher.interrupter.is_unconfirmed  # the probe was hit


async def test_a_server_that_does_not_answer_in_time_loses_the_connection(place: Place) -> None:
    async with place.connect() as holder, place.connect(cancel_timeout=0.1) as conn:
        await conn.execute("set lock mode to wait")
        conn._session.channel.send_urgent = lambda byte: False
        async with holder.transaction():
            await holder.execute("insert into spot values (1, 'held')")
            await holder.execute("lock table spot in exclusive mode")
            task = asyncio.ensure_future(conn.execute("insert into spot values (2, 'never')"))
            await place.waits()
            await cancel(task)
            with pytest.raises(aioifx.ConnectionLost, match=r"no reply to a cancelled call within 0\.1 s"):
                async with asyncio.timeout(20):
                    await conn.fetchval("select count(*) from number")
            assert conn.is_closed()


async def test_without_a_cancel_timeout_a_cancelled_call_costs_the_connection(place: Place) -> None:
    async with place.connect(cancel_timeout=0) as conn:
        task = asyncio.ensure_future(conn.fetchval(SLOW))
        await place.runs()
        await cancel(task)
        with pytest.raises(aioifx.ConnectionLost):
            async with asyncio.timeout(20):
                await conn.fetchval("select count(*) from number")
        assert place.server.stats.interrupts == 0


async def test_a_commit_is_not_interrupted(place: Place) -> None:
    async with place.connect() as conn:
        for point in range(3):
            transaction = conn.transaction()
            await transaction.start()
            await conn.execute("insert into spot values (?, 'x')", point)
            task = asyncio.ensure_future(transaction.commit())
            await asyncio.sleep(0)  # it has sent its request
            await cancel(task)
            assert (
                not conn.is_in_transaction() or await conn.fetchval("select count(*) from spot") == point + 1
            )
        assert await conn.fetchval("select count(*) from spot") == 3
        assert place.server.stats.interrupts == 0


# -- urgent bytes in their place, and lost ------------------------------------------------------------------------


@pytest.fixture
async def proxy(place: Place) -> Proxy:
    if place.proxy is None:
        pytest.skip("needs the proxy")
    return place.proxy


async def test_the_byte_goes_through_the_proxy_as_urgent_data(place: Place, proxy: Proxy) -> None:
    async with place.connect() as conn:
        for count in range(1, 4):
            task = asyncio.ensure_future(conn.fetchval(SLOW))
            await place.runs()
            await cancel(task)
            async with asyncio.timeout(20):
                assert await conn.fetchval("select count(*) from number") == 200
            assert place.server.stats.interrupts == count
            assert proxy.links[0].urgent_bytes(Way.TO_SERVER) == count


async def test_a_lost_urgent_byte_costs_only_the_connection(place: Place, proxy: Proxy) -> None:
    proxy.urgent = Urgent.LOST
    async with place.connect(cancel_timeout=0.1) as conn:
        task = asyncio.ensure_future(conn.fetchval(SLOW))
        await place.runs()
        await cancel(task)
        with pytest.raises(aioifx.ConnectionLost, match=r"no reply to a cancelled call within 0\.1 s"):
            async with asyncio.timeout(20):
                await conn.fetchval("select count(*) from number")
        assert conn.is_closed()
    assert place.server.stats.interrupts == 0
    await eventually(lambda: not place.server.stats.sessions)
