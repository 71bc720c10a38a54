"""BLOB and CLOB parameters: created, written, closed, bound; and deleted if the statement was not executed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest

from aioifx import TypeCodec
from aioifx.client.lobs.lob import Lob
from aioifx.client.lobs.smart_object import CHUNK, DEFAULT_STORAGE
from aioifx.codecs.large_objects import Locator
from aioifx.errors import (
    DataError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
    QueryTimeout,
)
from aioifx.sqltypes import Column, TypeCode
from aioifx.testing.messages import EOT, column, described, done, error, takes
from aioifx.testing.script import BEGIN, COMMIT, PREPARE, ROLLBACK, Delayed, Exchange, release
from aioifx.wire import requests
from aioifx.wire.opcodes import StatementType
from tests.client.lobs.conftest import LobPeer, blob, clob, locator_of, with_a_held_write, with_lobs
from tests.scripted import C1, at_rest, cancel_at, time_out_at

BLOB = column("photo", TypeCode.UDTFIXED, 72, extended_id=10, owner="informix", extended_name="blob")
CLOB = column("body", TypeCode.UDTFIXED, 72, extended_id=11, owner="informix", extended_name="clob")
INSERT = "insert into album(id, photo, body) values(?, ?, ?)"
EXECUTE = "Id(2) Bind(3) Execute"
DONE: Exchange = (EXECUTE, done(1) + EOT)
TWICE = -268


def prepared(*columns: Column) -> list[Exchange]:
    return [
        (PREPARE, described(2, *columns, kind=StatementType.INSERT)),
        ("Id(2) DescribeInput", takes(*(column.type for column in columns))),
    ]


ALBUM = prepared(C1, BLOB, CLOB)


def bound(peer: LobPeer) -> list[tuple[bytes, bytes, bytes]]:
    """Owner, name and data of the large parameters of each execution."""
    return [
        (entry.owner, entry.name, entry.data)
        for group in peer.requests
        if any(isinstance(request, requests.Execute) for request in group)
        for request in group
        if isinstance(request, requests.Bind)
        for entry in request.entries
        if entry.code == TypeCode.OPAQUE and not entry.indicator
    ]


def stored(peer: LobPeer) -> list[bytes]:
    """The values that the executions have bound."""
    return [bytes(peer.values[int.from_bytes(data, "big")]) for _, _, data in bound(peer)]


async def chunks(*parts: Any) -> AsyncIterator[Any]:
    for part in parts:
        if isinstance(part, BaseException):
            raise part
        yield part


async def test_values_are_created_written_closed_and_bound() -> None:
    async with with_lobs(ALBUM, DONE, release(2)) as (conn, peer):
        result = await conn.execute(INSERT, 1, b"photo", "text")
        assert result.rowcount == 1
        assert stored(peer) == [b"photo", b"text"]
        assert [(owner, name) for owner, name, _ in bound(peer)] == [(b"informix", b"blob"), (b"", b"clob")]
        assert peer.calls == [
            "find col_sbinfo", "col_sbinfo", "find create", "create", "write 5", "find close", "close",
            "col_sbinfo", "create", "write 4", "close",
        ]  # fmt: skip
        assert peer.storage == [
            b"album.photo", b"storage of album.photo", b"album.body", b"storage of album.body",
        ]  # fmt: skip
        assert not peer.opened


async def test_null_and_empty_values() -> None:
    async with with_lobs(ALBUM, DONE, release(2)) as (conn, peer):
        await conn.execute(INSERT, 1, None, "")
        assert peer.values == {1: b""}
        assert not any(call.startswith("write") for call in peer.calls)


async def test_the_storage_of_a_column_is_asked_for_once_per_statement() -> None:
    async with with_lobs(ALBUM, DONE, DONE, release(2), statement_cache_size=0) as (conn, peer):
        async with await conn.prepare(INSERT) as statement:
            await statement.execute(1, b"a", None)
            await statement.execute(2, b"b", None)
        assert peer.calls.count("col_sbinfo") == 1
        assert stored(peer) == [b"a", b"b"]


async def test_without_an_answer_about_its_column_a_value_has_the_default_storage() -> None:
    async with with_lobs(ALBUM, DONE, release(2)) as (conn, peer):
        peer.before = lambda name: error(-206) + EOT if name == "col_sbinfo" else None
        await conn.execute(INSERT, 1, b"a", None)
        assert peer.storage == [DEFAULT_STORAGE]


@pytest.mark.parametrize(
    ("sql", "column_name"),
    [
        ("update shop.album set id = 1, photo = ? where id = 2", b"shop.album.photo"),
        ("update album set (photo) = ((?))", None),
        ("execute procedure keep(?)", None),
    ],
)
async def test_the_column_of_a_parameter(sql: str, column_name: bytes | None) -> None:
    script: list[Exchange] = [
        (PREPARE, described(2, kind=StatementType.UPDATE)),
        ("Id(2) DescribeInput", takes(BLOB.type)),
        ("Id(2) Bind(1) Execute", done(1) + EOT),
        release(2),
    ]
    async with with_lobs(script) as (conn, peer):
        await conn.execute(sql, b"a")
        assert peer.storage[0] == (column_name or DEFAULT_STORAGE)


async def test_an_iterator_is_written_chunk_by_chunk() -> None:
    data = bytes(range(256)) * 3000
    async with with_lobs(ALBUM, DONE, release(2)) as (conn, peer):
        parts = [data[at : at + 1000] for at in range(0, len(data), 1000)]
        await conn.execute(INSERT, 1, chunks(*parts), iter(["a", "b"]))
        assert stored(peer) == [data, b"ab"]
        assert [call for call in peer.calls if call.startswith("write")] == [f"write {CHUNK}"] * 3 + [
            "write 2"
        ]


async def test_a_lob_of_the_same_connection_binds_its_locator_and_one_of_another_is_copied() -> None:
    async with (
        with_lobs(ALBUM, DONE, release(2)) as (conn, peer),
        with_lobs(locale="en_US.utf8") as (other, source),
    ):
        own, foreign = blob(conn, peer, b"own"), clob(other, source, "fremd ß".encode())
        await conn.execute(INSERT, 1, own, foreign)
        assert stored(peer) == [b"own", "fremd ß".encode("latin-1")]
        assert bound(peer)[0][2] == own.locator
        assert len(peer.values) == 2


async def test_encoders_and_adapters_apply_to_values() -> None:
    class Photo(NamedTuple):
        data: bytes

    options: dict[str, Any] = {
        "adapters": {Photo: lambda photo: photo.data},
        "type_codecs": {"clob": TypeCodec(encoder=str.upper)},
    }
    async with with_lobs(ALBUM, DONE, release(2), **options) as (conn, peer):
        await conn.execute(INSERT, 1, Photo(b"photo"), "text")
        assert stored(peer) == [b"photo", b"TEXT"]


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((object(), b"data", None), r"^parameter 1: "),
        ((1, "text", None), r"^parameter 2: BLOB: expected bytes, got str$"),
        ((1, None, b"data"), r"^parameter 3: CLOB: expected str, got bytes$"),
        ((1, None, "€"), r"^parameter 3: the character '€' \(U\+20AC\) at offset 0 is not in 8859-1"),
        ((1.5, b"data", None), r"^parameter 1: "),
    ],
)
async def test_a_bad_parameter_is_refused_before_anything_is_sent(args: Any, message: str) -> None:
    async with with_lobs(ALBUM, release(2)) as (conn, peer):
        with pytest.raises(DataError, match=message) as caught:
            await conn.execute(INSERT, *args)
        assert caught.value.sql == INSERT
        assert peer.calls == []


async def test_a_named_parameter_is_named_in_its_error() -> None:
    async with with_lobs(ALBUM, release(2)) as (conn, peer):
        with pytest.raises(DataError, match=r"^parameter :photo: BLOB: expected bytes, got str$") as caught:
            await conn.execute(
                "insert into album(id, photo, body) values(:id, :photo, :body)",
                named={"id": 1, "photo": chunks("text"), "body": None},
            )
        assert caught.value.column == "photo"
        await at_rest(conn._session)
        assert (peer.values, peer.opened) == ({}, {})


@pytest.mark.parametrize("failure", [ValueError("of the user"), DataError("of the user")])
async def test_an_iterator_that_fails_leaves_nothing_behind(failure: Exception) -> None:
    async with with_lobs(ALBUM, release(2)) as (conn, peer):
        with pytest.raises(type(failure), match="of the user"):
            await conn.execute(INSERT, 1, chunks(bytes(CHUNK), b"abc", failure), None)
        await at_rest(conn._session)
        assert (peer.values, peer.opened) == ({}, {})
        assert peer.calls[-1] == "release"


@pytest.mark.parametrize("name", ["create", "write", "close"])
async def test_an_error_while_storing_is_raised_and_what_was_created_is_deleted(name: str) -> None:
    async with with_lobs(ALBUM, release(2)) as (conn, peer):
        calls = 0

        def fail(called: str) -> bytes | None:
            nonlocal calls
            calls += called == name
            return error(-9810, -12037) + EOT if called == name and calls < 3 else None

        peer.before = fail
        with pytest.raises(OperationalError) as caught:
            await conn.execute(INSERT, 1, b"data", None)
        assert caught.value.sqlcode == -9810
        assert caught.value.sql == INSERT
        await at_rest(conn._session)
        assert peer.values == {}


async def test_a_failed_statement_deletes_what_was_created_for_it() -> None:
    async with with_lobs(ALBUM, (EXECUTE, error(TWICE) + EOT), release(2)) as (conn, peer):
        own = blob(conn, peer, b"own")
        with pytest.raises(IntegrityError):
            await conn.execute(INSERT, 1, own, "text")
        await at_rest(conn._session)
        assert peer.values == {1: b"own"}


async def test_a_source_must_not_use_the_connection() -> None:
    async with with_lobs(ALBUM, release(2)) as (conn, peer):

        async def reentrant() -> AsyncIterator[bytes]:
            await conn.fetch("select 1")
            yield b""

        with pytest.raises(InterfaceError, match="this task already uses the connection"):
            await conn.execute(INSERT, 1, reentrant(), None)
        await at_rest(conn._session)
        assert peer.values == {}


async def test_without_autocommit_the_transaction_begins_before_the_first_value() -> None:
    async with with_lobs(ALBUM, BEGIN, DONE, release(2), COMMIT, autocommit=False) as (conn, peer):
        await conn.execute(INSERT, 1, b"a", None)
        kinds = [type(group[0]).__name__ for group in peer.requests]
        assert kinds.index("Begin") < kinds.index("FindRoutine")
        await conn.commit()


async def test_a_read_only_connection_stores_nothing() -> None:
    async with with_lobs(read_only=True) as (conn, peer):
        with pytest.raises(ProgrammingError, match="read-only"):
            await conn.execute(INSERT, 1, b"a", None)
        assert peer.calls == []


# --- a stale statement ----------------------------------------------------------------------------------------------

CHANGED: Exchange = (EXECUTE, error(-710) + EOT)


async def test_a_stale_statement_is_repeated_with_values_that_can_be_read_again() -> None:
    script = [*ALBUM, DONE, CHANGED, *ALBUM, DONE, release(2)]
    async with with_lobs(script, statement_cache_size=5) as (conn, peer):
        await conn.execute(INSERT, 1, b"a", None)
        await conn.execute(INSERT, 2, b"b", None)
        await at_rest(conn._session)
        assert [bytes(value) for value in peer.values.values()] == [b"a", b"b"]


async def test_a_stale_statement_is_not_repeated_if_a_byte_was_read_from_an_iterator() -> None:
    album = prepared(C1, column("scan", TypeCode.BYTE, 56), BLOB)
    execute = "Id(2) Bind(3) BlobCount(1) Blob Blob Execute"
    script = [*album, (execute, done(1) + EOT), (execute, error(-710) + EOT), release(2)]
    async with with_lobs(script, statement_cache_size=5) as (conn, _):
        await conn.execute(INSERT, 1, b"a", b"b")
        with pytest.raises(Exception, match="changed") as caught:
            await conn.execute(INSERT, 2, iter([b"a"]), b"b")
        assert getattr(caught.value, "sqlcode", 0) == -710


async def test_a_stale_statement_is_repeated_with_null_after_an_iterator() -> None:
    script = [*ALBUM, DONE, CHANGED, *ALBUM, DONE, release(2)]
    async with with_lobs(script, statement_cache_size=5) as (conn, _):
        await conn.execute(INSERT, 1, iter([b"a"]), None)
        assert (await conn.execute(INSERT, 2, None, None)).rowcount == 1


async def test_a_stale_statement_is_not_repeated_with_an_iterator() -> None:
    async with with_lobs(ALBUM, DONE, CHANGED, release(2), statement_cache_size=5) as (conn, peer):
        await conn.execute(INSERT, 1, b"a", None)
        with pytest.raises(Exception, match="changed") as caught:
            await conn.execute(INSERT, 2, iter([b"b"]), None)
        assert getattr(caught.value, "sqlcode", 0) == -710
        await at_rest(conn._session)
        assert [bytes(value) for value in peer.values.values()] == [b"a"]


# --- executemany ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
async def test_executemany_stores_and_executes_row_by_row(is_async: bool) -> None:
    rows = [(1, b"a", "x"), (2, None, None), (3, iter([b"b", b"c"]), "y")]
    async with with_lobs(ALBUM, BEGIN, DONE, DONE, DONE, COMMIT, release(2)) as (conn, peer):
        result = await conn.executemany(INSERT, chunks(*rows) if is_async else rows)
        assert result.rowcount == 3
        assert [bytes(value) for value in peer.values.values()] == [b"a", b"x", b"bc", b"y"]


async def test_executemany_deletes_the_values_of_rows_that_fail() -> None:
    failed: Exchange = (EXECUTE, error(TWICE) + EOT)
    async with with_lobs(ALBUM, BEGIN, DONE, failed, DONE, COMMIT, release(2)) as (conn, peer):
        rows = [(1, b"a", None), (2, "text", None), (3, b"b", None), (4, b"c", None)]
        result = await conn.executemany(INSERT, rows, on_error="collect")
        assert [(error.row_index, type(error).__name__) for error in result.errors] == [
            (1, "DataError"), (2, "UniqueViolation"),
        ]  # fmt: skip
        await at_rest(conn._session)
        assert [bytes(value) for value in peer.values.values()] == [b"a", b"c"]


@pytest.mark.parametrize("bad", ["text", iter(["text"])])
async def test_executemany_names_the_row_of_a_bad_value(bad: Any) -> None:
    async with with_lobs(ALBUM, BEGIN, DONE, ROLLBACK, release(2)) as (conn, peer):
        message = r"^row 1, parameter 2: BLOB: expected bytes, got str$"
        with pytest.raises(DataError, match=message) as caught:
            await conn.executemany(INSERT, [(1, b"a", None), (2, bad, None)])
        assert caught.value.row_index == 1
        await at_rest(conn._session)
        assert [bytes(value) for value in peer.values.values()] == [b"a"]


async def test_executemany_with_a_row_of_another_length() -> None:
    async with with_lobs(ALBUM, BEGIN, ROLLBACK, release(2)) as (conn, _):
        with pytest.raises(InterfaceError, match=r"^row 0: expected 3 parameters, got 1$"):
            await conn.executemany(INSERT, [(1,)])


# --- load -----------------------------------------------------------------------------------------------------------


async def test_a_load_executes_the_insert_for_each_row() -> None:
    columns = ("id", "photo", "body")
    async with with_lobs(ALBUM, BEGIN, DONE, DONE, COMMIT, release(2)) as (conn, peer):
        rows = [(1, b"a", "x"), (2, iter([b"b", b"c"]), None)]
        assert (await conn.load("album", rows, columns=columns)).rowcount == 2
        assert stored(peer) == [b"a", b"x", b"bc"]


async def test_a_load_names_the_row_of_a_bad_value_and_undoes_the_others() -> None:
    async with with_lobs(ALBUM, BEGIN, DONE, ROLLBACK, release(2)) as (conn, _):
        message = r"^row 1: parameter 2: BLOB: expected bytes, got str$"
        with pytest.raises(DataError, match=message) as caught:
            await conn.load("album", [(1, b"a", None), (2, "text", None)])
        assert caught.value.row_index == 1


# --- queries --------------------------------------------------------------------------------------------------------


async def test_a_parameter_of_a_query_is_stored_too() -> None:
    script: list[Exchange] = [
        (PREPARE, described(2, C1)),
        ("Id(2) DescribeInput", takes(CLOB.type)),
        ("Id(2) CurName Bind(1) Open Id(2) Fetch(32767)", done() + EOT),
        ("Id(2) Close", EOT),
        release(2),
    ]
    async with with_lobs(script) as (conn, peer):
        assert await conn.fetch("select words(?) from t", "text") == []
        assert bytes(peer.values[1]) == b"text"


# --- cancellation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["col_sbinfo", "create", "write", "close"])
async def test_a_cancelled_call_deletes_what_it_created(name: str) -> None:
    async with with_lobs(ALBUM, release(2)) as (conn, peer):
        held = Delayed(b"")

        def hold(called: str) -> Delayed | None:
            if called == name:
                peer.before = lambda called: None
                group = peer.requests[-1]
                peer.calls.pop()
                answer = peer.own_reply(group)
                assert isinstance(answer, bytes)
                held.answer = answer
                return held
            return None

        peer.before = hold
        await cancel_at(held, conn.execute(INSERT, 1, b"data", None))
        held.release()
        await at_rest(conn._session)
        assert (peer.values, peer.opened) == ({}, {})
        assert conn._session.is_open


async def test_a_call_that_times_out_in_the_middle_of_a_value_deletes_it() -> None:
    async with with_lobs(ALBUM, release(2), ALBUM, DONE, release(2), command_timeout=60.0) as (conn, peer):
        held = with_a_held_write(peer, 1)
        with pytest.raises(QueryTimeout):
            await time_out_at(held, conn, conn.execute(INSERT, 1, bytes(3 * CHUNK), None))
        held.release()
        await at_rest(conn._session)
        assert (peer.values, peer.opened) == ({}, {})
        assert (await conn.execute(INSERT, 1, bytes(3 * CHUNK), None)).rowcount == 1
        assert stored(peer) == [bytes(3 * CHUNK)]


@pytest.mark.parametrize("steps", range(0, 40, 3))
async def test_a_call_cancelled_anywhere_leaves_no_value_without_its_row(steps: int) -> None:
    async with with_lobs(ALBUM, release(2)) as (conn, peer):
        statement = await conn.prepare(INSERT)
        task = asyncio.ensure_future(statement.execute(1, chunks(b"a", asyncio.CancelledError()), None))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await statement.close()
        await at_rest(conn._session)
        assert (peer.values, peer.opened) == ({}, {})


def test_lobs_are_named_by_their_locators() -> None:
    assert locator_of(1) == Locator(bytes(71) + b"\1")
    assert Lob.__module__ == "aioifx"
