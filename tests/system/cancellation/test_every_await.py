"""A cancellation at every await point of every call: right exception, nothing lost, nothing left, nothing logged.

The points are found by counting suspensions, see `tests.injection`. Each is tried as a call wakes and by a scope, over
TCP. Otherwise every third is tried: over other transports, and as a call waits, which the simulation does at any point.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest
import trustme

import aioifx
from aioifx import Connection
from aioifx.server import Server, ServerOptions, serve
from tests.certificates import certified, trusting
from tests.injection import Injection, Manner, is_cancelled
from tests.system.templates import copied, made

pytestmark = pytest.mark.sampled

ROWS = 900
"""In the table that is read: several blocks of 4096 bytes."""

MANY = 12
"""Rows that a call inserts: four blocks of a load, and statements enough for the last to be like the one before it."""

LARGE: list[tuple[bytes | None, str | None]] = [(b"x" * 3000, None), (b"", "note"), (b"y" * 20_000, "z")]
"""BYTE and TEXT values of the rows in another table."""

EACH = 3
"""The default suite, TLS and uvloop, whose transports alone differ, try one suspension of so many."""

AT_EACH = (Manner.WOKEN, Manner.SCOPE)
"""What is tried at each suspension; the others, which differ less, at one of EACH."""

MOST = 200
"""No call here has as many suspensions; a test that would go on for ever ends there."""


class Place(NamedTuple):
    """Where a call is tried."""

    server: Server
    dsn: str
    options: dict[str, Any]


# -- calls ------------------------------------------------------------------------------------------------------------


async def fetch(conn: Connection) -> None:
    rows = await conn.fetch("select id, name from thing order by id")
    assert [row[0] for row in rows] == list(range(1, ROWS + 1))


async def fetch_with_parameters(conn: Connection) -> None:
    row = await conn.fetchrow("select name from thing where id = ?", 7)
    assert row is not None and row[0] == "thing 7"


async def stream_rows(conn: Connection) -> None:
    count = 0
    async for _ in conn.stream("select id, name from thing"):
        count += 1
    assert count == ROWS


async def stream_blocks_and_other_statements(conn: Connection) -> None:
    async with conn.stream("select id, name from thing") as stream:
        async for block in stream.blocks():
            assert await conn.fetchval("select count(*) from thing where id <= ?", len(block)) == len(block)


async def stream_left_early(conn: Connection) -> None:
    async with conn.stream("select id, name from thing") as stream:
        async for _ in stream:
            break


async def fetch_large_values(conn: Connection) -> None:
    rows = await conn.fetch("select data, note from picture order by id")
    assert [tuple(row) for row in rows] == LARGE


async def stream_chunks(conn: Connection) -> None:
    found: list[bytes | None] = []
    async with conn.stream("select data from picture order by id", lobs="stream") as stream:
        async for (data,) in stream:
            found.append(data and b"".join([chunk async for chunk in data]))
    assert found == [data for data, _ in LARGE]


async def stream_chunks_left_early(conn: Connection) -> None:
    async with conn.stream("select data from picture where id = 2", lobs="stream") as stream:
        async for (data,) in stream:
            async for chunk in data:
                assert chunk
                break
            break


async def fetch_smart_values(conn: Connection) -> None:
    rows = await conn.fetch("select photo, body from album order by id", lobs="inline")
    assert [tuple(row) for row in rows] == LARGE


async def read_handles(conn: Connection) -> None:
    rows = await conn.fetch("select photo from album order by id")
    for (photo,), (data, _) in zip(rows, LARGE, strict=True):
        async with photo:
            assert await photo.read(100) == (data or b"")[:100]
            assert b"".join([chunk async for chunk in photo]) == (data or b"")[100:]


async def write_handle(conn: Connection) -> None:
    photo = await conn.fetchval("select photo from scratch where id = 0")
    async with photo:
        await photo.write(b"changed")
        await photo.truncate(3)


async def insert_smart_values_of_chunks(conn: Connection) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(3):
            await asyncio.sleep(0)
            yield b"x" * 100_000

    await conn.execute("insert into scratch (id, photo) values (1, ?)", chunks())


async def insert_many_smart_values(conn: Connection) -> None:
    await conn.executemany("insert into smart (photo) values (?)", [(b"x" * 1500,)] * MANY)


async def insert_large_values(conn: Connection) -> None:
    await conn.executemany("insert into batch (data) values (?)", [(b"x" * 1500,)] * MANY)


async def insert_large_values_of_chunks(conn: Connection) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(3):
            await asyncio.sleep(0)
            yield b"x" * 1000

    await conn.execute("insert into log (data) values (?)", chunks())


async def load_large_values(conn: Connection) -> None:
    await conn.load("batch", [(b"x" * 1500,)] * MANY, columns=["data"], block=MANY // 4)


async def fetch_a_named_row(conn: Connection) -> None:
    conn._session.known_types.clear()  # so that each statement that is prepared queries the catalog
    assert await conn.fetchval("select home from person") == ("Main St", "Oslo")


async def load_collections(conn: Connection) -> None:
    await conn.load("tagged", [({1, 2},)] * MANY, block=MANY // 4)


async def insert(conn: Connection) -> None:
    await conn.execute("insert into log (note) values (?)", "x")


async def insert_literal(conn: Connection) -> None:
    await conn.execute("insert into log (note) values ('x')")


async def fail(conn: Connection) -> None:
    with pytest.raises(aioifx.UndefinedTable):
        await conn.fetch("select * from nowhere")


async def insert_many(conn: Connection) -> None:
    await conn.executemany("insert into batch (note) values (?)", [("x",)] * MANY)


async def insert_many_that_fail(conn: Connection) -> None:
    with pytest.raises(aioifx.UniqueViolation):
        await conn.executemany(
            "insert into thing (id, name) values (?, ?)", [(ROWS + 5, "a"), (1, "twice"), (ROWS + 6, "c")]
        )


async def transaction(conn: Connection) -> None:
    async with conn.transaction():
        for _ in range(MANY):
            await conn.execute("insert into batch (note) values (?)", "x")


async def transaction_rolled_back(conn: Connection) -> None:
    with pytest.raises(ZeroDivisionError):
        async with conn.transaction():
            await conn.execute("insert into batch (note) values (?)", "x")
            raise ZeroDivisionError


async def prepared_statement(conn: Connection) -> None:
    async with await conn.prepare("select name from thing where id = ?") as statement:
        for number in (3, 5):
            assert await statement.fetchval(number) == f"thing {number}"


async def cursor(conn: Connection) -> None:
    async with conn.cursor() as cur:
        await cur.execute("select id, name from thing")
        assert len(await cur.fetchmany(10)) == 10
        assert len(await cur.fetchall()) == ROWS - 10


async def scroll_cursor(conn: Connection) -> None:
    async with conn.cursor(scroll=True) as cur:
        await cur.execute("select id, name from thing order by id")
        last, first = await cur.fetch_absolute(-1), await cur.fetch_absolute(1)
        assert last is not None and first is not None
        assert (last[0], first[0]) == (ROWS, 1)


async def nested_transactions(conn: Connection) -> None:
    async with conn.transaction():
        for _ in range(MANY):
            await conn.execute("insert into batch (note) values (?)", "x")
        with pytest.raises(ZeroDivisionError):
            async with conn.transaction():
                await conn.execute("insert into batch (note) values (?)", "y")
                raise ZeroDivisionError


async def transaction_with_settings(conn: Connection) -> None:
    async with conn.transaction(isolation="repeatable_read", lock_wait=3):
        for _ in range(MANY):
            await conn.execute("insert into batch (note) values (?)", "x")


async def load(conn: Connection) -> None:
    await conn.load("batch", [("x",)] * MANY, columns=["note"], block=MANY // 4)


async def load_that_fails(conn: Connection) -> None:
    rows = [(ROWS + n, f"new {n}") for n in range(1, 20)] + [(1, "twice")]
    with pytest.raises(aioifx.UniqueViolation):
        await conn.load("thing", rows, block=8)


async def unload(conn: Connection) -> None:
    chunks: list[bytes] = []
    assert await conn.unload("select id, name from thing", chunks.append) == ROWS


async def call_of_many_statements(conn: Connection) -> None:
    first, second = conn.stream("select id from thing"), conn.stream("select name from thing")
    async with first, second:
        async for _ in first:
            async for _ in second:
                break
            await conn.execute("insert into log (note) values (?)", "x")
            break


CALLS: list[Callable[[Connection], Awaitable[None]]] = [
    fetch, fetch_with_parameters, stream_rows, stream_blocks_and_other_statements, stream_left_early,
    fetch_large_values, stream_chunks, stream_chunks_left_early, fetch_smart_values, read_handles, write_handle,
    insert_smart_values_of_chunks, insert_many_smart_values, insert_large_values, insert_large_values_of_chunks,
    load_large_values, fetch_a_named_row, load_collections, insert, insert_literal, fail, insert_many,
    insert_many_that_fail, transaction, transaction_rolled_back, prepared_statement, cursor, scroll_cursor,
    nested_transactions, transaction_with_settings, load, load_that_fails, unload, call_of_many_statements,
]  # fmt: skip


# -- where ------------------------------------------------------------------------------------------------------------


SEED = (
    "create table thing (id int primary key, name varchar(40));"
    "create table log (id serial, note varchar(20), data byte in table);"
    "create table batch (id serial, note varchar(20), data byte in table);"
    "create row type home_t (street varchar(20), city varchar(20)); create table person (home home_t);"
    "create table tagged (tags set(integer not null));"
    "create table picture (id int, data byte in table, note text in table);"
    "create table album (id int, photo blob, body clob);"
    "create table scratch (id int, photo blob); create table smart (photo blob);"
)


async def fill_tables(server: Server) -> None:
    async with aioifx.connect(server.dsn, fetch_size=4096) as conn:
        await conn.load("thing", [(n, f"thing {n}") for n in range(1, ROWS + 1)])
        await conn.execute("insert into person values (?)", ("Main St", "Oslo"))
        for table in ("picture", "album"):
            await conn.load(table, [(n, *values) for n, values in enumerate(LARGE)])
        await conn.execute("insert into scratch values (0, ?)", b"as it was")


@pytest.fixture(params=["tcp", "tls"])
async def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Place]:
    """An embedded server with a table to read and tables to write."""
    options: dict[str, Any] = {"fetch_size": 4096}
    context = None
    if request.param == "tls":
        authority = trustme.CA()
        context, options["ssl"] = certified(authority, "127.0.0.1"), trusting(authority)
    shop = ServerOptions(databases=("shop",), seed=SEED)
    template = await made(tmp_path_factory.getbasetemp() / "cancellation", shop, fill_tables)
    with copied(template) as directory:
        async with serve(ServerOptions(databases=("shop",), directory=directory, ssl=context)) as server:
            yield Place(server, server.dsn, options)


# -- the law ----------------------------------------------------------------------------------------------------------


async def check_sound(conn: Connection, server: Server) -> None:
    """The connection answers the right question with the right answer, and has nothing left from before."""
    assert not conn.is_closed()
    assert await conn.fetchval("select name from thing where id = ?", 42) == "thing 42"
    assert not conn.is_in_transaction()  # after everything that was in flight
    assert await conn.fetchval("select count(*) from thing") == ROWS
    for table in ("batch", "smart", "tagged"):
        assert await conn.fetchval(f"select count(*) from {table}") % MANY == 0
    session = conn._session
    async with session:
        assert session.channel.inbox.unread == 0
        assert session.channel.pending == 0
    assert not session.dispatcher.interrupter.is_unconfirmed
    (seen,) = server.stats.sessions
    assert seen.statements == len(conn._statements)
    assert seen.cursors == 0
    assert not seen.in_transaction


@pytest.mark.parametrize("manner", Manner, ids=lambda manner: manner.name.lower())
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
async def test_a_call_cancelled_at_any_await_leaves_its_connection_usable(
    place: Place, call: Callable[[Connection], Any], manner: Manner, is_exhaustive: bool
) -> None:
    loop = asyncio.get_running_loop()
    is_plain = "ssl" not in place.options and isinstance(loop, asyncio.SelectorEventLoop)
    each = 1 if is_exhaustive and is_plain and manner in AT_EACH else EACH
    points = range(1 + (CALLS.index(call) + [*Manner].index(manner)) % each, MOST, each)
    complaints: list[Mapping[str, Any]] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    async with aioifx.connect(place.dsn, **place.options) as conn:
        before = asyncio.all_tasks()
        for kept in (True, False):
            for point in points:
                if not kept:
                    async with conn._session:
                        conn._statements.clear()
                if not await is_cancelled(lambda: call(conn), manner, point):
                    break
                async with asyncio.timeout(20):
                    await check_sound(conn, place.server)
            else:
                pytest.fail(f"{call.__name__} has {MOST} suspensions or more")
        await no_other_tasks(before)
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []


@pytest.mark.parametrize("manner", Manner, ids=lambda manner: manner.name.lower())
async def test_a_connect_cancelled_at_any_await_leaves_no_socket(place: Place, manner: Manner) -> None:
    expected = TimeoutError if manner is Manner.TIMEOUT else asyncio.CancelledError

    async def open_connection() -> Connection:
        return await aioifx.connect(place.dsn, **place.options)

    async with undisturbed():
        for point in range(1, MOST):
            injection = Injection(manner, point)
            try:
                conn = await injection.into(open_connection())
            except expected:
                assert injection.reached
                gc.collect()  # an unclosed transport would warn, and warnings are errors
            else:
                assert not injection.reached
                await conn.close()
                break


@pytest.mark.parametrize("manner", Manner, ids=lambda manner: manner.name.lower())
async def test_a_close_cancelled_at_any_await_closes_all_the_same(place: Place, manner: Manner) -> None:
    expected = TimeoutError if manner is Manner.TIMEOUT else asyncio.CancelledError
    async with undisturbed():
        for point in range(1, MOST):
            conn = await aioifx.connect(place.dsn, **place.options)
            injection = Injection(manner, point)
            try:
                await injection.into(conn.close())
            except expected:
                assert injection.reached
            else:
                assert not injection.reached
                break
            finally:
                assert conn.is_closed()
            with pytest.raises(aioifx.ConnectionLost):
                await conn.fetch("select 1 from thing")
            await conn.close()  # again, to its end: nothing of it is left


@asynccontextmanager
async def undisturbed() -> AsyncIterator[None]:
    """At the end of the block no task of it is left, and the loop has complained of nothing."""
    complaints: list[Mapping[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    before = asyncio.all_tasks()
    yield
    await no_other_tasks(before)
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []


async def no_other_tasks(before: set[asyncio.Task[Any]]) -> None:
    """Return when only these are left; the server's end of a connection ends a little later than ours."""
    async with asyncio.timeout(20):
        while asyncio.all_tasks() - before:
            await asyncio.wait(asyncio.all_tasks() - before)
