"""A connection or pool in another event loop, thread or process is rejected, without an effect on its owner."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import pickle
import threading
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

import aioifx
from aioifx.client.api.connection import Connection
from aioifx.client.pool.pool import Pool
from aioifx.client.session.loop_binding import NotCopied
from aioifx.errors import ConnectionLost, InterfaceError
from aioifx.server import running
from tests.loops import LOOPS

QUERY = "select count(*) from t"

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")


@pytest.fixture
async def dsn() -> AsyncIterator[str]:
    async with running("d") as dsn:
        yield dsn


@pytest.fixture
async def conn(dsn: str) -> AsyncIterator[Connection]:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("create temp table t (n integer)")
        await conn.executemany("insert into t values (?)", [(1,), (2,), (3,)])
        yield conn


async def in_another_loop(use: Callable[[], Any]) -> BaseException | None:
    """What *use*, and awaiting what it gives, raises in a thread with an event loop of its own."""
    raised: list[BaseException | None] = []

    async def body() -> None:
        try:
            awaitable = use()
            if hasattr(awaitable, "__await__"):
                await asyncio.wait_for(awaitable, 20)
        except Exception as error:
            raised.append(error)
        else:
            raised.append(None)

    await asyncio.to_thread(lambda: asyncio.run(body()))
    return raised[0]


CALLS: dict[str, Callable[[Connection], Any]] = {
    "fetch": lambda conn: conn.fetch(QUERY),
    "fetchval": lambda conn: conn.fetchval(QUERY),
    "execute": lambda conn: conn.execute("delete from t where n = 1"),
    "executemany": lambda conn: conn.executemany("insert into t values (?)", [(4,)]),
    "load": lambda conn: conn.load("t", [(4,)]),
    "prepare": lambda conn: conn.prepare(QUERY),
    "cursor": lambda conn: conn.cursor().execute(QUERY),
    "stream": lambda conn: anext(conn.stream(QUERY)),
    "transaction": lambda conn: conn.transaction().start(),
    "commit": lambda conn: conn.commit(),
    "rollback": lambda conn: conn.rollback(),
    "ping": lambda conn: conn.ping(),
    "close": lambda conn: conn.close(),
    "terminate": lambda conn: conn.terminate(),
    "cancel": lambda conn: conn.cancel(),
    "autocommit": lambda conn: setattr(conn, "autocommit", False),
    "set_type_codec": lambda conn: conn.set_type_codec("integer", decoder=str),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
async def test_another_event_loop_is_refused(conn: Connection, call: Callable[[Connection], Any]) -> None:
    await conn.fetchval(QUERY)
    error = await in_another_loop(lambda: call(conn))
    assert isinstance(error, InterfaceError)
    assert str(error) == "the connection belongs to another event loop"
    assert await conn.fetchval(QUERY) == 3


async def test_another_event_loop_does_not_wait_for_a_call_of_the_owner(conn: Connection) -> None:
    async with conn.transaction():
        busy = asyncio.ensure_future(
            conn.executemany("insert into t values (?)", slowly(released := asyncio.Event()))
        )
        await asyncio.sleep(0)
        error = await in_another_loop(lambda: conn.fetchval(QUERY))
        assert isinstance(error, InterfaceError)
        released.set()
        await busy
    assert await conn.fetchval(QUERY) == 4


async def slowly(released: asyncio.Event) -> AsyncIterator[tuple[int]]:
    await released.wait()
    yield (4,)


@pytest.mark.parametrize("name", ["stream", "cursor", "prepared"])
async def test_what_came_from_a_connection_stays_with_its_event_loop(conn: Connection, name: str) -> None:
    source: Any
    if name == "stream":
        source = conn.stream(QUERY)
        uses: list[Callable[[], Any]] = [source.__anext__, source.aclose]
    elif name == "cursor":
        source = await conn.cursor().execute("select n from t order by n")
        uses = [lambda: source.execute(QUERY), lambda: source.executemany(QUERY, []), source.close]
    else:
        source = await conn.prepare(QUERY)
        uses = [source.fetchval, source.close]
    for use in uses:
        error = await in_another_loop(use)
        assert isinstance(error, InterfaceError)
        assert str(error) == "the connection belongs to another event loop"
    match name:
        case "stream":
            assert [row async for row in source] == [(3,)]
        case "cursor":
            assert await source.fetchall() == [(1,), (2,), (3,)]
        case _:
            assert await source.fetchval() == 3
    await (source.aclose() if name == "stream" else source.close())


def test_a_connection_that_outlives_its_event_loop_is_refused_and_can_be_dropped() -> None:
    async def opened() -> Connection:
        async with running("d") as dsn:
            conn = await aioifx.connect(dsn)
            await conn.close()
            return conn

    conn = asyncio.run(opened())
    with pytest.raises(InterfaceError, match="the connection belongs to another event loop, which is closed"):
        asyncio.run(conn.fetch(QUERY))
    asyncio.run(conn.close())
    conn.terminate()


async def test_a_connection_that_is_collected_in_another_thread_is_closed_in_its_own(dsn: str) -> None:
    held = [await aioifx.connect(dsn)]
    channel = held[0]._session.channel
    messages: list[Any] = []

    def drop() -> None:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            held.clear()
            gc.collect()
            messages.extend(str(warning.message) for warning in seen)

    await asyncio.to_thread(drop)
    await channel.wait_closed()
    assert [text for text in messages if "was not closed" in text]
    assert isinstance(channel.failure, ConnectionLost)


async def test_a_pool_in_another_event_loop_is_refused(dsn: str) -> None:
    async with aioifx.create_pool(dsn, name="p") as pool:
        conn = await pool.acquire()
        calls: list[Callable[[], Any]] = [
            lambda: pool.fetchval("select count(*) from systables"),
            lambda: pool.acquire(),
            lambda: pool.release(conn),
            lambda: conn.fetchval("select count(*) from systables"),
            lambda: pool.close(),
            lambda: pool.terminate(),
            lambda: pool.expire(),
        ]
        for call in calls:
            error = await in_another_loop(call)
            assert isinstance(error, InterfaceError)
            assert str(error).endswith("belongs to another event loop")
        await conn.fetchval("select count(*) from systables")
        await pool.release(conn)


async def test_a_pool_and_a_connection_in_a_thread_without_an_event_loop_are_refused(dsn: str) -> None:
    async with aioifx.create_pool(dsn, name="p") as pool:
        conn = await pool.acquire()
        calls: list[Callable[[], Any]] = [
            lambda: pool.release(conn),
            lambda: pool.resize(0, 1),
            pool.expire,
            pool.terminate,
            lambda: conn.ping().send(None),
            lambda: conn.fetchval(QUERY).send(None),
            lambda: conn.close().send(None),
            conn.cancel,
        ]
        for call in calls:
            with pytest.raises(InterfaceError, match="belongs to another event loop"):
                await asyncio.to_thread(call)
        assert await conn.fetchval("select count(*) from systables where tabid = 1") == 1
        await pool.release(conn)


# -- copies ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, pickle.dumps])
async def test_nothing_that_belongs_to_a_session_is_copied(
    conn: Connection, dsn: str, make: Callable[[object], object]
) -> None:
    async with aioifx.create_pool(dsn) as pool, await conn.prepare(QUERY) as prepared:
        for one in (conn, pool, prepared, conn.cursor(), conn.stream(QUERY), conn.transaction()):
            assert isinstance(one, NotCopied)
            with pytest.raises(InterfaceError, match=f"a {type(one).__name__} cannot be copied or pickled"):
                make(one)
    gc.collect()
    assert await conn.fetchval(QUERY) == 3


# -- forks -------------------------------------------------------------------------------------------------------------


def child(use: Callable[[], object]) -> str:
    """What *use* says in a forked process: what it raises or returns, as text."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CPython 3.12: the embedded server has threads
        pid = os.fork()
        if pid == 0:
            try:
                os.write(writing, str(use()).encode())
            except BaseException as error:
                os.write(writing, f"{type(error).__name__}: {error}".encode())
            finally:
                os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(pid, 0)
    return text


def asked(awaitable: Callable[[], Awaitable[object]]) -> object:
    """The result of *awaitable*, in a thread with an event loop: this one's is the parent's."""
    results: list[object] = []

    async def body() -> object:
        return await asyncio.wait_for(awaitable(), 20)

    def run() -> None:
        try:
            results.append(asyncio.run(body()))
        except BaseException as error:
            results.append(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0]


REFUSED = f"belongs to the process {os.getpid()}, which has forked; open a new one in this process"


@forks
async def test_a_fork_may_not_use_a_connection(conn: Connection) -> None:
    for use in (lambda: conn.fetchval(QUERY), lambda: conn.execute("delete from t"), lambda: conn.ping()):
        outcome = await asyncio.to_thread(child, lambda use=use: asked(use))  # type: ignore[misc]
        assert outcome == f"InterfaceError: the connection {REFUSED}"
    assert await conn.fetchval(QUERY) == 3


@forks
async def test_a_fork_of_a_running_event_loop_may_not_use_a_connection_or_pool(dsn: str) -> None:
    async with aioifx.create_pool(dsn, name="p") as pool, pool.acquire() as conn:
        calls: dict[str, Callable[[], Any]] = {
            "the connection": lambda: conn.fetchval(QUERY).send(None),
            f"{pool!r}": lambda: pool.fetchval(QUERY).send(None),
        }
        changes: list[Callable[[], Any]] = [
            pool.expire,
            lambda: pool.resize(0, 1),
            lambda: pool.release(conn),
        ]
        for what, call in calls.items():
            assert child(call) == f"InterfaceError: {what} {REFUSED}"
        for call in changes:
            assert child(call) == f"InterfaceError: {pool!r} {REFUSED}"
        assert await conn.fetchval("select count(*) from systables where tabid = 1") == 1


@forks
@pytest.mark.parametrize("new_loop", LOOPS.values(), ids=LOOPS)
def test_a_fork_may_not_use_a_connection_or_pool_in_the_event_loop_that_it_inherited(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """As the workers of a server that connects before it forks."""
    loop = new_loop()
    ready, done = loop.create_future(), loop.create_future()

    async def hold() -> None:
        async with (
            running("d") as dsn,
            aioifx.connect(dsn) as conn,
            aioifx.create_pool(dsn, name="p") as pool,
        ):
            ready.set_result((conn, pool))
            await done

    holding = loop.create_task(hold())
    conn, pool = loop.run_until_complete(ready)

    async def use(either: Connection | Pool) -> object:
        return await asyncio.wait_for(
            either.fetchval("select count(*) from systables where tabid = 1"), timeout=5
        )

    assert child(lambda: loop.run_until_complete(use(conn))) == f"InterfaceError: the connection {REFUSED}"
    assert child(lambda: loop.run_until_complete(use(pool))) == f"InterfaceError: {pool!r} {REFUSED}"
    assert [loop.run_until_complete(use(either)) for either in (conn, pool)] == [1, 1]
    done.set_result(None)
    loop.run_until_complete(holding)
    loop.close()


@forks
async def test_a_fork_sends_no_interrupt(conn: Connection) -> None:
    assert child(lambda: conn._session.channel.send_urgent(b"\x42")) == "False"
    assert await conn.fetchval(QUERY) == 3


@forks
@pytest.mark.parametrize("how", ["drop", "close", "terminate", "exit"])
async def test_a_fork_that_lets_go_of_a_connection_leaves_it_to_its_parent(dsn: str, how: str) -> None:
    held = [await aioifx.connect(dsn)]
    descriptor = held[0]._session.channel.transport.get_extra_info("socket").fileno()
    socket = os.fstat(descriptor)

    def let_go() -> object:
        if how == "drop":
            held.clear()
            gc.collect()
        elif how == "close":
            asked(held[0].close)
        elif how == "terminate":
            held[0].terminate()
        return how == "exit" or not os.path.samestat(os.fstat(descriptor), socket)

    assert child(let_go) == "True"
    assert await held[0].fetchval("select count(*) from systables where tabid = 1") == 1
    await held[0].close()


@forks
@pytest.mark.parametrize("how", ["drop", "close", "terminate", "acquire"])
async def test_a_fork_that_lets_go_of_a_pool_leaves_it_to_its_parent(dsn: str, how: str) -> None:
    async with aioifx.create_pool(dsn, min_size=2, name="p") as pool:
        await pool.wait_ready()
        pools: list[Pool] = [pool]
        conn = await pool.acquire()
        acquired = [conn]

        def let_go() -> object:
            nonlocal pool, conn
            match how:
                case "drop":
                    del pool, conn
                    pools.clear()
                    acquired.clear()
                    gc.collect()
                case "close":
                    return asked(pool.close)
                case "terminate":
                    pool.terminate()
                case _:
                    return asked(lambda: pool.fetchval("select count(*) from systables"))
            return None

        outcome = child(let_go)
        assert outcome == ("None" if how != "acquire" else f"InterfaceError: {pool!r} {REFUSED}")
        query = "select count(*) from systables where tabid = 1"
        assert await conn.fetchval(query) == 1
        assert await pool.fetchval(query) == 1
        await pool.release(conn)
