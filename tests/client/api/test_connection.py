"""Connections on real sockets: the same rows whatever the reader, the end in all its forms, the embedded server."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import warnings
from collections.abc import AsyncIterator
from typing import Any

import pytest

import aioifx
from aioifx import rows
from aioifx.errors import ConnectionLost, InterfaceError, ProtocolError, UndefinedTable, UniqueViolation
from aioifx.server import running
from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import EOT, EXIT, column, described, done, error, executed, ints, raw_row, takes
from aioifx.testing.script import (
    BEGIN,
    COMMAND,
    COMMIT,
    END_SESSION,
    NO_REPLY,
    PREPARE,
    Delayed,
    Disconnect,
    Exchange,
    Peer,
    close,
    closing,
    fetching,
    listening,
    login,
    opening,
    release,
    select_ints,
)
from aioifx.wire.opcodes import StatementType
from tests.scripted import C1, FLAG, INTEGER, TEXT, cancel_at

QUERY = "select c1 from t"
DELETE = "delete from t where a = 1"
deleted: Exchange = (COMMAND, executed(9, StatementType.DELETE, 1))


@contextlib.asynccontextmanager
async def connected(
    *script: Exchange | list[Exchange], **options: Any
) -> AsyncIterator[tuple[aioifx.Connection, Peer]]:
    """A connection over a socket; its script must have been played when the block ends.

    Statements are not kept unless *options* say so: those that return rows go with their cursors.
    """
    options = {"statement_cache_size": 0, **options}
    peer = Peer([login(), *script], with_login=True)
    async with listening(peer) as listener:
        conn = await aioifx.connect(
            host="127.0.0.1",
            port=listener.port,
            user="usr",
            password="pwd",
            server="ol_x",
            database="stores",
            **options,
        )
        try:
            yield conn, peer
            while not (conn.is_closed() or conn._session.dispatcher.is_idle):
                await conn._session.dispatcher.acquire()  # when all cleanup is done
                conn._session.dispatcher.release()
        finally:
            conn.terminate()
            await conn.close()
    peer.check()


# -- rows -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("buffered", ["0", "1"])
async def test_many_blocks_of_every_kind_of_field_come_whole(
    buffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIOIFX_BUFFERED_READER", buffered)
    columns = (C1, column("name", TypeCode.VARCHAR, 40), column("code", TypeCode.CHAR, 3), TEXT, FLAG)
    picks = random.Random(7)
    expected: list[tuple[Any, ...]] = []
    blocks: list[bytes] = []
    for _ in range(5):
        block = b""
        for _ in range(300):
            name = "x" * picks.randrange(1, 41)
            text = "y" * picks.randrange(0, 300)
            row = (len(expected), name, "abc", text, bool(len(text) % 2))
            expected.append(row)
            block += raw_row(
                len(expected[:-1]).to_bytes(4, "big")
                + bytes([len(name)])
                + name.encode()
                + b"abc"
                + b"\0"
                + len(text).to_bytes(4, "big")
                + text.encode()
                + b"\0\0\0\0\1"
                + bytes([len(text) % 2])
            )
        blocks.append(block)

    def script(options: str) -> list[Exchange]:
        return [
            (PREPARE, described(3, *columns, row_size=2100)),
            (f"Id(3) CurName {options}Open Id(3) RetType(5) Fetch", blocks[0] + EOT),
            *[(fetching(3), block + EOT) for block in blocks[1:4]],
            (fetching(3), blocks[4] + done(1500) + EOT),
            close(3),
        ]

    # AUTOFREE is not sent until the server has taken RET_TYPE with OPEN.
    async with connected(script(""), release(3), script("Hold AutoFree ")) as (conn, _):
        assert await conn.fetch("select * from t", row_factory=rows.tuple_row) == expected
        stream = conn.stream("select * from t", row_factory=rows.tuple_row)
        assert [row async for row in stream] == expected


async def test_a_large_insert_passes_a_slow_reader() -> None:
    text = "z" * 30_000
    insertions: list[Exchange] = [("Id(2) Bind(2) Execute", done(1) + EOT)] * 100
    async with connected(
        (PREPARE, described(2, C1, TEXT, kind=StatementType.INSERT)),
        ("Id(2) DescribeInput", takes(INTEGER, TEXT.type)),
        BEGIN,
        insertions,
        COMMIT,
        release(2),
    ) as (conn, peer):
        result = await conn.executemany(
            "insert into t values(?, ?)", ((n, text[: 2048 - n]) for n in range(100))
        )
        assert result.rowcount == 100
        assert len(peer.received) > 200_000


# -- several at once --------------------------------------------------------------------------------------------------


async def test_a_hundred_tasks_share_one_connection() -> None:
    async with connected([deleted] * 100) as (conn, _):
        results = await asyncio.gather(*(conn.execute(DELETE) for _ in range(100)))
        assert [result.rowcount for result in results] == [1] * 100


async def test_an_interrupt_that_came_too_late_is_caught_by_a_probe_before_the_next_call() -> None:
    held = Delayed(ints(1, 2, 3) + EOT, first=13)
    async with connected(
        (PREPARE, described(2, C1)),
        (opening(2, freed=True), held),
        (PREPARE, described(3, C1)),
        ("Id(3) CurName Open", error(-213) + EOT),
        closing(3),
        closing(2),
        select_ints(2, 7, freed=True, until_empty=True),
    ) as (conn, peer):
        await cancel_at(held, conn.fetch(QUERY))
        held.release()
        assert await conn.fetch(QUERY) == [(7,)]
        assert peer.statements[1].startswith(b"select first 1 ")
        assert not conn._session.dispatcher.interrupter.is_unconfirmed


# -- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reset", [True, False])
async def test_a_server_that_dies_in_a_fetch_is_reported_to_all_waiting_tasks(reset: bool) -> None:
    async with connected(
        (PREPARE, described(2, C1)), (opening(2, freed=True), Disconnect(ints(1, 2)[:17], reset=reset))
    ) as (conn, _):
        errors = await asyncio.wait_for(
            asyncio.gather(*(conn.fetch(QUERY) for _ in range(5)), return_exceptions=True), 10
        )
        assert [type(error) for error in errors] == [ConnectionLost] * 5
        assert conn.is_closed() and "closed" in repr(conn)


async def test_garbage_closes_the_socket() -> None:
    async with connected((PREPARE, b"\x66\x66")) as (conn, peer):
        with pytest.raises(ProtocolError):
            await conn.fetch(QUERY)
        await asyncio.wait_for(peer.gone.wait(), 10)
        assert conn.is_closed()


async def test_terminate_sends_nothing_and_does_not_wait() -> None:
    async with connected() as (conn, peer):
        said = bytes(peer.received)
        conn.terminate()
        conn.terminate()
        assert conn.is_closed()
        await asyncio.wait_for(peer.gone.wait(), 10)
        assert bytes(peer.received) == said


async def test_terminate_raises_in_waiting_tasks() -> None:
    held = Delayed(described(2, C1))
    async with connected((PREPARE, held)) as (conn, _):
        waiting = asyncio.ensure_future(conn.fetch(QUERY))
        await held.reached.wait()
        conn.terminate()
        with pytest.raises(ConnectionLost, match="closed"):
            await waiting


async def test_closing_sends_exit_and_waits_for_the_reply() -> None:
    async with connected(END_SESSION) as (conn, peer):
        await conn.close()
        assert conn.is_closed()
        assert peer.received.endswith(EXIT)
        await asyncio.wait_for(peer.gone.wait(), 10)


async def test_two_tasks_may_close_it() -> None:
    async with connected(END_SESSION) as (conn, _):
        await asyncio.gather(conn.close(), conn.close())
        assert conn.is_closed()


async def test_closing_does_not_wait_for_ever() -> None:
    async with connected((EXIT, NO_REPLY)) as (conn, peer):
        await asyncio.wait_for(conn.close(timeout=0.05), 10)
        assert conn.is_closed()
        await asyncio.wait_for(peer.gone.wait(), 10)


async def test_closing_a_connection_whose_server_is_gone_raises_nothing() -> None:
    async with connected((COMMAND, Disconnect())) as (conn, _):
        with pytest.raises(ConnectionLost):
            await conn.execute(DELETE)
        await conn.close()


async def test_one_that_is_leaked_is_dropped_with_a_warning() -> None:
    async with connected() as (conn, peer):
        copies = [conn._session]
        forgotten = aioifx.Connection(copies[0], address="127.0.0.1:1", server_version="")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            del forgotten
            gc.collect()
        messages = [str(warning.message) for warning in caught if warning.category is ResourceWarning]
        assert messages == ["<Connection open stores at 127.0.0.1:1> was not closed"]
        await asyncio.wait_for(peer.gone.wait(), 10)
        assert conn.is_closed()


# -- options that reach the rows --------------------------------------------------------------------------------------


async def test_the_connections_options_reach_its_statements() -> None:
    code = column("code", TypeCode.CHAR, 5)
    async with connected(
        (PREPARE, described(2, code)), (opening(2, 4096), raw_row(b"ab   ") + done(1) + EOT),
        (fetching(2, 4096), done() + EOT), close(2), statement_cache_size=1,
        strip_char=True, fetch_size=4096, row_factory=rows.dict_row,
    ) as (conn, _):  # fmt: skip
        fetched: list[Any] = await conn.fetch("select code from t")
        assert fetched == [{"code": "ab"}]


async def test_names_and_values_are_in_the_locales_code_set() -> None:
    größe = column("größe", TypeCode.VARCHAR, 20)
    async with connected(
        (PREPARE, described(2, größe)),
        (opening(2, freed=True), raw_row(b"\3gr\xfc") + done(1) + EOT),
        (fetching(2), done() + EOT),
        close(2),
    ) as (conn, peer):
        row = (await conn.fetch("select größe from t"))[0]
        assert row["größe"] == "grü"
        assert peer.statements == ["select größe from t".encode("latin-1")]


# -- the embedded server: the conversation itself ---------------------------------------------------------------------


async def test_the_whole_way_with_the_embedded_server(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("create table item (id serial, name varchar(20) not null, price decimal(8,2))")
        done_ = await conn.execute("insert into item (name, price) values (?, ?)", "pen", "1.50")
        assert (done_.rowcount, done_.serial) == (1, 1)
        assert (
            await conn.executemany("insert into item (name) values (?)", [(f"n{n}",) for n in range(500)])
        ).rowcount == 500
        assert await conn.fetchval("select count(*) from item") == 501
        assert await conn.fetchrow("select id, name from item where id = ?", 1) == (1, "pen")
        names = [row["name"] async for row in conn.stream("select name from item order by id")]
        assert names == ["pen", *(f"n{n}" for n in range(500))]


async def test_errors_and_transactions_with_the_embedded_server(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("create table item (id integer primary key, name varchar(20))")
        with pytest.raises(UndefinedTable):
            await conn.fetch("select * from nowhere")
        with pytest.raises(UniqueViolation) as caught:
            await conn.executemany("insert into item values (?, ?)", [(1, "a"), (2, "b"), (1, "c")])
        assert caught.value.row_index == 2
        assert await conn.fetchval("select count(*) from item") == 0
        with pytest.raises(ZeroDivisionError):
            async with conn.transaction():
                await conn.execute("insert into item values (1, 'x')")
                raise ZeroDivisionError
        async with conn.transaction():
            await conn.execute("insert into item values (2, 'y')")
        assert await conn.fetch("select id from item") == [(2,)]


async def test_statements_interleave_with_the_embedded_server(dsn: str) -> None:
    async with aioifx.connect(dsn, fetch_size=4096) as conn:
        await conn.execute("create table item (id integer, n integer)")
        await conn.executemany("insert into item values (?, ?)", [(n, 0) for n in range(2000)])
        async with await conn.prepare("update item set n = ? where id = ?") as update:
            async for row in conn.stream("select id from item where id < 50"):
                await update.execute(row["id"] * 2, row["id"])
        assert await conn.fetchval("select sum(n) from item") == sum(range(50)) * 2
        cursors = [await conn.cursor().execute("select id from item") for _ in range(3)]
        assert [await cursor.fetchmany(3) for cursor in cursors] == [[(0,), (1,), (2,)]] * 3
        for cursor in cursors:
            assert len(await cursor.fetchall()) == 1997


async def test_a_wrong_argument_is_an_interface_error_with_the_embedded_server_too(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        with pytest.raises(InterfaceError):
            await conn.fetch("select 1 from systables where tabid = ?")


async def test_the_statement_database_is_followed(dsn: str) -> None:
    # Whether there is a log decides whether executemany can be all or nothing.
    async with aioifx.connect(dsn) as conn:
        assert conn.database == "demo"
        result = await conn.execute("CREATE DATABASE plain")
        assert (conn.database, result.warnings) == ("plain", ())
        with pytest.raises(aioifx.NotSupportedError):
            async with conn.transaction():
                pass
        assert (await conn.execute("DATABASE demo")).warnings == ()
        assert conn.database == "demo"
        await conn.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)")
        with pytest.raises(aioifx.UniqueViolation) as caught:
            await conn.executemany("INSERT INTO t VALUES (?)", [(1,), (2,), (1,)])
        assert caught.value.row_index == 2
        assert await conn.fetch("SELECT k FROM t") == []
        await conn.execute("CLOSE DATABASE")
        assert conn.database == ""
        with pytest.raises(aioifx.ProgrammingError) as none_open:
            await conn.fetch("SELECT k FROM t")
        assert none_open.value.sqlcode == -349


async def test_the_isolation_level_of_the_next_statement(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        assert conn.isolation == "committed_read"
        async with conn.transaction(isolation="repeatable_read"):
            assert conn.isolation == "repeatable_read"
        await conn.execute("SET ISOLATION TO COMMITTED READ LAST COMMITTED")
        assert conn.isolation == "committed_read_last_committed"
    async with aioifx.connect(dsn, isolation="dirty_read") as conn:
        assert conn.isolation == "dirty_read"


async def test_commands_that_are_not_described_are_followed_by_their_text() -> None:
    async with running(quirks=["undescribed-commands"]) as dsn, aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE t (k SERIAL8, v INTEGER)")
        assert (await conn.execute("INSERT INTO t (v) VALUES (7)")).serial == 1
        assert (await conn.execute("UPDATE t SET v = 8 WHERE k = 1")).rowcount == 1
        await conn.execute("CREATE DATABASE plain")
        assert (conn.database, conn.log_mode) == ("plain", "unlogged")


async def test_a_compared_parameter_may_exceed_the_column_and_a_stored_one_may_not(dsn: str) -> None:
    async with aioifx.connect(dsn) as conn:
        await conn.execute("CREATE TABLE t (k SMALLINT, v CHAR(3), n INTEGER)")
        await conn.execute("INSERT INTO t VALUES (?, ?, ?)", 1, "abc", 5)
        assert len(await conn.fetch("SELECT k FROM t WHERE k < ? AND v <> ?", 100_000, "abcdef")) == 1
        done = await conn.execute("UPDATE t SET n = 1, v = ? WHERE k < ?", "xyz", 100_000)
        assert done.rowcount == 1
        for wrong in (40_000, "long", 1.5):
            column = "v" if isinstance(wrong, str) else "k"
            with pytest.raises(aioifx.DataError, match="parameter 1"):
                await conn.execute(f"UPDATE t SET {column} = ? WHERE n = ?", wrong, 1)
        assert [tuple(row) for row in await conn.fetch("SELECT * FROM t")] == [(1, "xyz", 1)]


@pytest.mark.parametrize("log_mode", ["logged", "unlogged", "ansi"])
async def test_an_executemany_in_the_loop_does_not_end_the_stream(log_mode: str) -> None:
    async with running(log_mode=log_mode) as dsn, aioifx.connect(dsn, fetch_size=4096) as conn:
        await conn.execute("CREATE TABLE t(id INT, text CHAR(100))")
        await conn.executemany("INSERT INTO t VALUES (?, 'x')", ((n,) for n in range(500)))
        count = 0
        async for block in conn.stream("SELECT id FROM t WHERE id < 500").blocks():
            await conn.executemany("INSERT INTO t VALUES (?, 'y')", ((row["id"] + 500,) for row in block))
            count += len(block)
        assert count == 500
        assert await conn.fetchval("SELECT COUNT(*) FROM t") == 1000
