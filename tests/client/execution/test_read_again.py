"""Servers that drop BYTE and TEXT values with the cursor that they close: no row is lost, no call fails for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

import aioifx
from aioifx.client.api.connection import statements_of
from aioifx.client.session.session import Session
from aioifx.codecs.large_objects import row_descriptor
from aioifx.errors import DatabaseError
from aioifx.rows import dict_row
from aioifx.server import Server, ServerOptions, serve
from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import CLOSED, EOT, column, described, done, error, raw_row
from aioifx.testing.script import PREPARE, opening, release
from tests.scripted import talking

QUERY = "SELECT id, b, t FROM doc ORDER BY id"
DOCS = [(n, bytes([n]) * n, "ä" * n) for n in range(1, 6)] + [(6, None, None)]

DROPS = frozenset({"dropped-values"})
MASKS = pytest.mark.parametrize("quirks", [DROPS, DROPS | {"no-bit-70"}], ids=["bit 70", "no bit 70"])


async def seeded(server: Server) -> None:
    async with aioifx.connect(server.dsn) as conn:
        await conn.execute("CREATE TABLE doc (id INTEGER, b BYTE, t TEXT)")
        await conn.executemany("INSERT INTO doc VALUES (?, ?, ?)", DOCS)


async def by_cursor(conn: aioifx.Connection) -> list[Any]:
    async with conn.cursor() as cursor:
        await cursor.execute(QUERY)
        return await cursor.fetchall()


async def by_prepared(conn: aioifx.Connection) -> list[Any]:
    async with await conn.prepare(f"{QUERY[:-12]} WHERE id > ? ORDER BY id") as statement:
        first = await statement.fetch(0)
        assert await statement.fetch(0) == first
        return first


async def by_stream(conn: aioifx.Connection) -> list[Any]:
    return [row async for row in conn.stream(QUERY)]


WAYS: list[Callable[[aioifx.Connection], Awaitable[list[Any]]]] = [
    lambda conn: conn.fetch(QUERY),
    by_cursor,
    by_prepared,
    by_stream,
]


@MASKS
@pytest.mark.parametrize("way", WAYS, ids=["fetch", "cursor", "prepared", "stream"])
async def test_the_rows_are_read_again_and_later_connections_send_optofc_0(
    quirks: frozenset[str], way: Callable[[aioifx.Connection], Awaitable[list[Any]]]
) -> None:
    async with serve(ServerOptions(quirks=quirks)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn) as conn:
            assert await way(conn) == DOCS
            assert conn.server_behavior.keeps_closed_values is False
            assert await conn.fetchrow(QUERY) == DOCS[0]
            assert await conn.fetchval("SELECT 1 FROM doc WHERE id = 1") == 1  # the connection is usable
        async with aioifx.connect(server.dsn) as conn:
            before = server.stats.logins
            assert await way(conn) == DOCS
            assert server.stats.logins == before


async def test_a_row_that_is_gone_when_it_is_read_again_gives_none_too() -> None:
    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn) as conn:
            assert await conn.fetchrow("SELECT b FROM doc WHERE id = 4") == (b"\4\4\4\4",)
            assert await conn.fetchrow("SELECT b FROM doc WHERE id = 99") is None


async def test_a_query_of_many_blocks_is_read_again_as_a_whole() -> None:
    many = [(n, b"x" * n, "y") for n in range(10, 200)]
    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn, fetch_size=4096, row_factory=dict_row) as conn:
            await conn.executemany("INSERT INTO doc VALUES (?, ?, ?)", many)
            expected = [dict(zip(("id", "b", "t"), row, strict=True)) for row in DOCS + many]
            assert await conn.fetch(QUERY) == expected
            assert conn.server_behavior.keeps_closed_values is False


async def test_reading_again_has_the_time_limit_of_the_call() -> None:
    @asynccontextmanager
    async def silent() -> AsyncGenerator[Session, None]:
        await asyncio.Event().wait()
        yield statements_of(conn).session

    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn) as conn:
            statements_of(conn).session.reconnect = silent
            with pytest.raises(DatabaseError, match="optofc=False") as caught:
                await conn.fetch(QUERY, timeout=0.3)
            assert "time limit of the call" in caught.value.__notes__[0]
            assert await conn.fetchval("SELECT 1 FROM doc WHERE id = 1") == 1


async def test_arrow_reads_it_again_too() -> None:
    pytest.importorskip("pyarrow")
    from aioifx.arrow import fetch_arrow

    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn) as conn:
            table: Any = await fetch_arrow(conn, QUERY)
            assert [tuple(row.values()) for row in table.to_pylist()] == DOCS


async def test_a_pool_replaces_connections_that_were_opened_before_it_was_known() -> None:
    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.create_pool(server.dsn, min_size=1, max_size=1) as pool:
            assert await pool.fetch(QUERY) == DOCS
            async with pool.acquire() as conn:
                before = server.stats.logins
                assert await conn.fetch(QUERY) == DOCS
                assert server.stats.logins == before


async def test_what_may_have_side_effects_is_not_run_again() -> None:
    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute("CREATE FUNCTION f(n INTEGER) RETURNING INTEGER; RETURN n; END FUNCTION")
            before = server.stats.logins
            with pytest.raises(DatabaseError, match="optofc=False") as caught:
                await conn.fetch("SELECT f(id), b FROM doc WHERE id < 4")
            assert caught.value.sqlcode == -602 and caught.value.connection_usable
            assert server.stats.logins == before
            assert await conn.fetch("SELECT f(id) FROM doc WHERE id < 3") == [(1,), (2,)]


async def test_what_only_this_session_knows_is_not_asked_of_another() -> None:
    async with serve(ServerOptions(quirks=DROPS)) as server:
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute("CREATE TABLE doc (id SERIAL, b BYTE)")
            await conn.execute("INSERT INTO doc VALUES (?, ?)", 0, b"mine")
            with pytest.raises(DatabaseError, match="optofc=False"):  # another session would find no row
                await conn.fetchrow("SELECT id, b FROM doc WHERE id = DBINFO('sqlca.sqlerrd1')")


async def test_in_a_transaction_the_error_names_the_option_and_nothing_else_changes() -> None:
    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn) as conn, conn.transaction():
            await conn.execute("INSERT INTO doc (id) VALUES (7)")
            with pytest.raises(DatabaseError, match="optofc=False"):
                await conn.fetch(QUERY)
            assert await conn.fetchval("SELECT COUNT(*) FROM doc") == 7
            assert conn.server_behavior.keeps_closed_values is False


@pytest.mark.parametrize("change", ["CREATE TEMP TABLE x (a INTEGER)", "SET ENVIRONMENT OPTCOMPIND '0'"])
async def test_a_session_that_another_one_does_not_equal_reads_nothing_again(change: str) -> None:
    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn) as conn:
            await conn.execute(change)
            with pytest.raises(DatabaseError, match="optofc=False"):
                await conn.fetch(QUERY)


async def test_what_a_pools_init_hook_has_changed_is_not_read_again_elsewhere() -> None:
    async def init(conn: aioifx.Connection) -> None:
        await conn.execute("CREATE TEMP TABLE mine (b BYTE)")
        await conn.execute("INSERT INTO mine VALUES (?)", b"x")

    async with serve(ServerOptions(quirks=DROPS)) as server:
        async with aioifx.create_pool(server.dsn, min_size=1, init=init) as pool:
            with pytest.raises(DatabaseError, match="optofc=False"):
                await pool.fetch("SELECT b FROM mine")
            assert await pool.fetch("SELECT b FROM mine") == [(b"x",)]  # on a connection with OPTOFC=0


async def test_a_stream_that_has_returned_rows_cannot_go_back() -> None:
    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn, fetch_size=4096) as conn:
            many = [(n, b"x", "y") for n in range(10, 200)]
            await conn.executemany("INSERT INTO doc VALUES (?, ?, ?)", many)
            got = []
            with pytest.raises(DatabaseError, match="optofc=False"):
                async for row in conn.stream(QUERY):
                    got.append(row)
            assert got == (DOCS + many)[: len(got)] and got
        async with aioifx.connect(server.dsn) as conn:
            assert [row async for row in conn.stream(QUERY)] == DOCS + many


async def test_a_value_of_a_stream_of_chunks_names_the_option() -> None:
    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn) as conn:
            with pytest.raises(DatabaseError, match="optofc=False"):
                async for _, value, _ in conn.stream(QUERY, lobs="stream"):
                    async for _ in value:
                        pass
            assert conn.server_behavior.keeps_closed_values is False
        async with aioifx.connect(server.dsn, lobs="stream") as conn:
            found = [
                b"".join([chunk async for chunk in value])
                async for _, value, _ in conn.stream(QUERY)
                if value is not None
            ]
            assert found == [blob for _, blob, _ in DOCS if blob is not None]


async def test_without_optofc_nothing_is_read_again() -> None:
    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn, optofc=False) as conn:
            assert await conn.fetch(QUERY) == DOCS
            assert conn.server_behavior.keeps_closed_values is None


async def test_a_server_that_cannot_be_reached_again_leaves_the_first_error() -> None:
    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn) as conn:
            server.faults.refuse()
            with pytest.raises(DatabaseError, match="optofc=False") as caught:
                await conn.fetch(QUERY)
            assert caught.value.sqlcode == -602
            assert "another connection failed" in caught.value.__notes__[0]
            assert await conn.fetchval("SELECT COUNT(*) FROM doc") == len(DOCS)


async def test_a_password_that_cannot_be_had_again_leaves_the_first_error() -> None:
    calls = 0

    def once() -> str:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise ValueError("no more")
        return "secret"

    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn, password=once) as conn:
            with pytest.raises(DatabaseError, match="optofc=False") as caught:
                await conn.fetch(QUERY)
            assert "ValueError: no more" in caught.value.__notes__[0]
            assert conn.server_behavior.keeps_closed_values is False
            assert await conn.fetchval("SELECT COUNT(*) FROM doc") == len(DOCS)


# -- message for message -----------------------------------------------------------------------------------------------

TEXT_COLUMN = column("t", TypeCode.TEXT, 56)
ROW = raw_row(row_descriptor(3, 56).data)
FETCHED = "Id(1) FetchBlob"
CLOSING_QUERY = [(PREPARE, described(1, TEXT_COLUMN)), (opening(1, 4096), ROW + CLOSED + done(1) + EOT)]


async def test_a_value_that_comes_although_its_cursor_is_closed_proves_that_it_is_kept() -> None:
    value = b"\0\x27\0\3abc\0\0\x27\0\0"
    async with talking(*CLOSING_QUERY, (FETCHED, value + done() + EOT), release(1)) as (conn, _):
        assert await conn.fetchval("select t from doc") == "abc"
        assert conn.server_behavior.keeps_closed_values is True


@pytest.mark.parametrize(
    "answer", [error(-602) + EOT, b"\0\x27\0\0" + done() + EOT], ids=["an error", "no bytes"]
)
async def test_a_value_that_is_gone_is_an_error_that_names_the_option(answer: bytes) -> None:
    async with talking(*CLOSING_QUERY, (FETCHED, answer), release(1)) as (conn, _):
        with pytest.raises(DatabaseError, match="optofc=False") as caught:
            await conn.fetchval("select t from doc")
        assert caught.value.connection_usable and caught.value.sql == "select t from doc"
        assert conn.server_behavior.keeps_closed_values is False


@pytest.mark.parametrize(("sqlcode", "isamcode"), [(-213, 0), (-244, -107)])
async def test_an_interrupt_or_a_lock_says_nothing_about_the_server(sqlcode: int, isamcode: int) -> None:
    async with talking(*CLOSING_QUERY, (FETCHED, error(sqlcode, isamcode) + EOT), release(1)) as (conn, _):
        with pytest.raises(DatabaseError) as caught:
            await conn.fetchval("select t from doc")
        assert caught.value.sqlcode == sqlcode and "optofc" not in str(caught.value)
        assert conn.server_behavior.keeps_closed_values is None


# -- the connection that the query is read again on --------------------------------------------------------------------

NOTHING = b"\0\x27\0\0" + done() + EOT


@asynccontextmanager
async def _session_of(conn: aioifx.Connection) -> AsyncGenerator[Session, None]:
    yield statements_of(conn).session


@pytest.mark.parametrize("answer", [error(-602) + EOT, NOTHING], ids=["an error", "no bytes"])
async def test_a_value_that_is_dropped_there_too_is_an_error_and_never_empty(answer: bytes) -> None:
    """It has OPTOFC set for every client."""
    again = [CLOSING_QUERY[0], (opening(1), CLOSING_QUERY[1][1]), (FETCHED, answer)]
    async with (
        talking(*CLOSING_QUERY, (FETCHED, answer), release(1)) as (conn, _),
        talking(*again, optofc=False) as (other, _),
    ):
        statements_of(conn).session.reconnect = partial(_session_of, other)
        with pytest.raises(DatabaseError, match="the server may have dropped the value") as caught:
            await conn.fetchval("select t from doc")
        assert "optofc=False" not in str(caught.value)
        assert caught.value.connection_usable


async def test_without_optofc_no_error_names_it() -> None:
    async with talking(*CLOSING_QUERY, (FETCHED, NOTHING), release(1), optofc=False) as (conn, _):
        with pytest.raises(DatabaseError, match="the server may have dropped the value") as caught:
            await conn.fetchval("select t from doc")
        assert "optofc=False" not in str(caught.value)


async def test_it_is_read_with_the_isolation_and_the_codecs_of_the_session() -> None:
    async with serve(ServerOptions(quirks=DROPS)) as server:
        await seeded(server)
        async with aioifx.connect(server.dsn) as conn, aioifx.connect(server.dsn) as writer:
            conn.set_type_codec("integer", encoder=lambda text: int(text.strip("<>")), decoder="<{}>".format)
            await conn.execute("SET ISOLATION TO DIRTY READ")
            async with writer.transaction():
                await writer.execute("UPDATE doc SET t = NULL WHERE id = 2")
                found = await conn.fetch("SELECT id, b FROM doc WHERE id = ?::INTEGER", "<2>")
            assert found == [("<2>", b"\2\2")]
