"""aioifx.Lob: reading, writing, positions, closing; and which requests that takes."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

import aioifx.server
from aioifx import Lob, TypeCodec
from aioifx.client.lobs.lob import encoded_data
from aioifx.client.lobs.smart_object import CHUNK, WHOLE_CHUNK
from aioifx.codecs.large_objects import Locator
from aioifx.errors import (
    ConnectionLost,
    DataError,
    InterfaceError,
    OperationalError,
    ProgrammingError,
    ProtocolError,
    QueryTimeout,
)
from aioifx.server import ServerOptions, serve
from aioifx.sqltypes import Column, TypeCode
from aioifx.testing.messages import ANSI, EOT, UNLOGGED, described, done, raw_row
from aioifx.testing.script import BEGIN, COMMIT, PREPARE, Exchange, close, release
from aioifx.wire import objects, requests
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply
from tests.client.lobs.conftest import LobPeer, blob, clob, locator_of, with_a_held_write, with_lobs
from tests.client.lobs.test_storing import BLOB, CLOB
from tests.scripted import C1, at_rest, time_out_at

UTF8 = "en_US.utf8"


# --- reading --------------------------------------------------------------------------------------------------------


async def test_a_value_is_read_whole_by_its_size() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"0123456789")
        assert await lob.read() == b"0123456789"
        assert peer.calls == ["find open", "open", "find stat", "stat", "read 10"]
        assert await lob.read() == b""
        await lob.close()
        await at_rest(conn._session)
        assert peer.calls[5:] == ["stat", "find close", "close"]
        assert not peer.opened


async def test_a_routine_is_looked_up_once_per_session() -> None:
    async with with_lobs() as (conn, peer):
        for data in (b"a", b"bc"):
            async with blob(conn, peer, data) as lob:
                assert await lob.read() == data
        await at_rest(conn._session)
        assert [call for call in peer.calls if call.startswith("find")] == [
            "find open",
            "find stat",
            "find close",
        ]


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 5 * CHUNK])
async def test_a_value_of_any_size_is_read_in_chunks(size: int) -> None:
    data = bytes(range(251)) * (size // 251 + 1)
    data = data[:size]
    async with with_lobs() as (conn, peer):
        assert await blob(conn, peer, data).read() == data
        assert [chunk async for chunk in blob(conn, peer, data)] == [
            data[at : at + CHUNK] for at in range(0, size, CHUNK)
        ]
        assert await blob(conn, peer, data).read(size + 10) == data
        assert (
            max(int(call[5:]) for call in ["read 0", *peer.calls] if call.startswith("read")) <= WHOLE_CHUNK
        )


async def test_a_read_returns_at_most_as_much_as_asked_for() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"0123456789")
        assert [await lob.read(4), await lob.read(0), await lob.read(4), await lob.read(4), await lob.read(4)] == [
            b"0123", b"", b"4567", b"89", b"",
        ]  # fmt: skip
        assert [call for call in peer.calls if call.startswith("read")] == ["read 4"] * 4


@pytest.mark.parametrize("size", [1, 2, 3, 100])
async def test_text_is_cut_between_characters(size: int) -> None:
    text = "aß€😀z"
    async with with_lobs(locale=UTF8) as (conn, peer):
        lob = clob(conn, peer, text.encode())
        parts: list[str] = []
        while part := await lob.read(size):
            parts.append(part)
            before = "".join(parts).encode()
            assert await lob.tell() == len(before)
        assert "".join(parts) == text
        assert await clob(conn, peer, text.encode()).read() == text


@pytest.mark.parametrize("character", ["é", "€", "😀"])
async def test_a_character_at_the_end_of_a_chunk_is_not_cut(character: str) -> None:
    width = len(character.encode())
    async with with_lobs(locale=UTF8) as (conn, peer):
        for before in range(width + 1):
            text = "a" * (CHUNK - before) + character * (CHUNK // width) + "z"
            lob = clob(conn, peer, text.encode())
            chunks = [chunk async for chunk in lob]
            assert "".join(chunks) == text
            assert len(chunks) >= 2
            await lob.seek(0)
            first = await lob.read(CHUNK)
            assert first == chunks[0]
            assert await lob.tell() == len(first.encode())
            assert first + await lob.read(width) + await lob.read() == text
            await lob.seek(0)
            assert await lob.read() == text
            await lob.close()


@pytest.mark.parametrize("size", [-1, 10])
async def test_text_that_is_not_in_the_code_set_is_a_data_error(size: int) -> None:
    async with with_lobs(locale=UTF8) as (conn, peer):
        with pytest.raises(DataError, match=r"^byte 0xff is not valid utf8$"):
            await clob(conn, peer, b"a\xff").read(size)
        lob = clob(conn, peer, b"ab\xc3")
        with pytest.raises(DataError, match=r"^byte 0xc3 is not valid utf8$"):
            while await lob.read(size):
                pass
        assert await lob.seek(0) == 0
        assert await lob.read(2) == "ab"
        assert await clob(conn, peer, b"ok").read() == "ok"


async def test_a_value_that_shrinks_meanwhile_ends_early() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, bytes(CHUNK + 5))

        def shrink(name: str) -> None:
            if name == "read":
                del peer.values[1][CHUNK:]

        peer.before = shrink
        assert await lob.read() == bytes(CHUNK)


# --- positions ------------------------------------------------------------------------------------------------------


async def test_seeking_is_sent_with_the_next_use() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"0123456789")
        assert await lob.seek(4) == 4
        assert await lob.read(2) == b"45"
        assert await lob.tell() == 6
        assert await lob.seek(-1, 1) == 5
        assert await lob.seek(1, 1) == 6
        assert await lob.read(1) == b"6"
        assert [call for call in peer.calls if "find" not in call] == ["open", "seek", "read 2", "read 1"]
        assert await lob.seek(-2, 2) == 8
        assert await lob.read() == b"89"
        assert await lob.seek(100) == 100
        assert await lob.read() == b""
        assert await lob.size() == 10


async def test_a_position_before_the_start_is_refused() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"0123456789")
        for call in (lob.seek(-1), lob.seek(0, 3), lob.read(-2), lob.truncate(-1)):
            with pytest.raises(InterfaceError, match=r"^(offset|whence|size): expected a whole number"):
                await call
        assert peer.calls == []


@pytest.mark.parametrize("large", [2**63, 10**30])
async def test_a_position_beyond_the_wire_is_refused(large: int) -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"0123456789")
        for call in (lob.seek(large), lob.seek(large, 1), lob.read(large), lob.truncate(large)):
            with pytest.raises(
                InterfaceError,
                match=r"^(offset|size): expected a whole number from -?\d+ to 9223372036854775807",
            ):
                await call
        assert peer.calls == []
        assert await lob.seek(2**63 - 1) == 2**63 - 1
        with pytest.raises(InterfaceError, match=r"^offset: expected a whole number from -\d+ to 0, got 1$"):
            await lob.seek(1, 1)
        assert await lob.read(2**63 - 1) == b""
        with pytest.raises(InterfaceError, match=r"^offset: expected a whole number from -10 to "):
            await lob.seek(large, 2)
        assert await lob.seek(0) == 0
        assert await lob.read() == b"0123456789"


# --- writing --------------------------------------------------------------------------------------------------------


async def test_a_value_is_written_in_chunks() -> None:
    data = bytes(range(256)) * (2 * CHUNK // 256) + b"end"
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"x")
        assert await lob.write(data) == len(data)
        assert await lob.tell() == len(data)
        assert peer.values[1] == data
        assert [call for call in peer.calls if "find" not in call] == [
            "open", f"write {CHUNK}", f"write {CHUNK}", f"write {len(data) - 2 * CHUNK}",
        ]  # fmt: skip
        assert await lob.write(b"") == 0


async def test_text_is_written_in_the_code_set() -> None:
    async with with_lobs(locale=UTF8) as (conn, peer):
        lob = clob(conn, peer, "aß€z".encode())
        assert await lob.read(2) == "a"  # and the first byte of ß
        assert await lob.write("öÄ") == 4
        assert bytes(peer.values[1][:5]).decode() == "aöÄ"
        with pytest.raises(DataError, match=r"^CLOB: expected str, got bytes$"):
            await lob.write(b"x")  # type: ignore[arg-type]


async def test_a_value_that_was_read_is_opened_again_for_writing() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"0123456789")
        assert await lob.read(3) == b"012"
        assert await lob.write(b"abc") == 3
        assert await lob.truncate() == 6
        assert await lob.truncate(5) == 5
        await lob.seek(0)
        assert await lob.read() == b"012ab"
        await at_rest(conn._session)
        assert len(peer.opened) == 1
        assert peer.opened[2].mode == 8


async def test_another_type_of_data_is_refused() -> None:
    async with with_lobs() as (conn, peer):
        with pytest.raises(DataError, match=r"^BLOB: expected bytes, got str$"):
            await blob(conn, peer, b"").write("text")  # type: ignore[arg-type]
        with pytest.raises(DataError, match=r"^the character '€' \(U\+20AC\) at offset 0 is not in 8859-1"):
            await clob(conn, peer, b"").write("€")
        assert peer.calls == []
        for data in (bytearray(b"ab"), memoryview(b"ab")):
            assert encoded_data(conn._session, data, is_text=False) == b"ab"


async def test_a_partial_write_is_continued() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"")

        def partly(name: str) -> bytes | None:
            if name == "write" and len(peer.values[1]) == 0:
                peer.values[1] += b"012"
                peer.opened[1].position = 3
                outbox = Outbox()
                objects.put_object_data(outbox, objects.ObjectData(2, 3))
                return outbox.detach() + EOT
            return None

        peer.before = partly
        assert await lob.write(b"0123456789") == 10
        assert peer.values[1] == b"0123456789"


async def test_a_read_only_connection_refuses_a_write() -> None:
    async with with_lobs(read_only=True) as (conn, peer):
        lob = blob(conn, peer, b"abc")
        assert await lob.read() == b"abc"
        with pytest.raises(ProgrammingError, match=r"^the connection is read-only"):
            await lob.write(b"x")
        assert peer.values[1] == b"abc"


async def test_without_autocommit_a_write_begins_a_transaction() -> None:
    async with with_lobs(BEGIN, COMMIT, autocommit=False) as (conn, peer):
        lob = blob(conn, peer, b"abc")
        assert await lob.read() == b"abc"
        assert not conn._session.transactions.is_open
        assert await lob.write(b"x") == 1
        assert conn._session.transactions.is_open
        await conn.commit()


async def test_in_an_ansi_database_each_use_is_committed() -> None:
    async with with_lobs(COMMIT, COMMIT, warnings=ANSI) as (conn, peer):
        lob = blob(conn, peer, b"abc")
        assert await lob.read() == b"abc"
        await at_rest(conn._session)
        assert await lob.write(b"x") == 1
        assert peer.said[-1] == "Commit"


# --- descriptors ----------------------------------------------------------------------------------------------------


async def test_a_value_whose_descriptor_was_closed_is_opened_again_where_it_was() -> None:
    async with with_lobs(warnings=UNLOGGED) as (conn, peer):
        lob = blob(conn, peer, b"0123456789")
        assert await lob.read(4) == b"0123"
        peer.close_all()
        assert await lob.read(4) == b"4567"
        peer.close_all()
        assert await lob.write(b"xy") == 2
        peer.close_all()
        assert await lob.size() == 10
        assert peer.values[1] == b"01234567xy"


async def test_a_descriptor_that_the_server_gives_again_is_not_mixed_up() -> None:
    async with with_lobs() as (conn, peer):
        first, second = blob(conn, peer, b"first"), blob(conn, peer, b"second")
        assert await first.read(1) == b"f"
        peer.close_all()
        assert await second.read(1) == b"s"  # with the first one's descriptor
        assert await first.read() == b"irst"
        await first.close()
        await at_rest(conn._session)
        assert await second.read() == b"econd"


async def test_a_deleted_value_is_an_error_and_the_connection_stays_usable() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"abc")
        peer.values.clear()
        for _ in range(2):
            with pytest.raises(OperationalError, match="smart large object") as caught:
                await lob.read()
            assert caught.value.sqlcode == -9810
        assert await blob(conn, peer, b"ok").read() == b"ok"


async def test_a_negative_size_is_an_error() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"abc")
        outbox = Outbox()
        objects.put_object_data(outbox, objects.ObjectData(0, -12051))
        peer.before = lambda name: bytes(outbox.data) + EOT if name == "read" else None
        with pytest.raises(OperationalError, match="not open for reading"):
            await lob.read(3)
        peer.before = lambda name: None
        assert await lob.read(3) == b"abc"


@pytest.mark.parametrize("name", ["open", "stat", "read"])
async def test_a_reply_without_the_result_ends_the_connection(name: str) -> None:
    async with with_lobs() as (conn, peer):
        peer.before = lambda called: EOT if called == name else None
        with pytest.raises(ProtocolError, match=r"^the server did not answer SQ_"):
            await blob(conn, peer, b"abc").read()
        with pytest.raises(ConnectionLost):
            await conn.fetch("select 1")


# --- closing --------------------------------------------------------------------------------------------------------


async def test_a_closed_lob_refuses_everything() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"abc")
        assert repr(lob) == "<Lob BLOB open>"
        async with lob as same:
            assert same is lob
        await lob.close()
        assert repr(lob) == "<Lob BLOB closed>"
        for call in (lob.read(), lob.tell(), lob.size(), lob.seek(0), lob.write(b""), lob.truncate(0)):
            with pytest.raises(InterfaceError, match=r"^the Lob is closed$"):
                await call
        with pytest.raises(InterfaceError, match=r"^the Lob is closed$"):
            async with lob:
                pass
        assert peer.calls == []


async def test_a_lob_ends_with_the_use_of_a_pooled_connection() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"abc")
        assert await lob.read(1) == b"a"
        conn._session.reset()
        await at_rest(conn._session)
        assert not peer.opened
        with pytest.raises(InterfaceError, match=r"^the connection of the Lob was released to its pool$"):
            await lob.read()


async def test_a_lob_is_closed_when_it_is_garbage_collected() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"abc")
        assert await lob.read(1) == b"a"
        del lob
        gc.collect()
        await asyncio.sleep(0)
        await at_rest(conn._session)
        assert peer.calls[-1] == "close"
        assert not peer.opened


async def test_another_event_loop_is_refused() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"abc")
        with pytest.raises(InterfaceError, match="belongs to another event loop"):
            await asyncio.to_thread(lambda: asyncio.run(lob.read()))
        with pytest.raises(InterfaceError, match="cannot be copied or pickled"):
            lob.__reduce_ex__(2)


async def test_opening_another_database_forgets_descriptors_and_routines() -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"abc")
        assert await lob.read(1) == b"a"
        session = conn._session
        session.on_database_opened("other", Reply())
        peer.close_all()
        assert await lob.read() == b"bc"
        assert peer.calls.count("find open") == 2


# --- cancellation ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", range(12))
async def test_a_read_cancelled_anywhere_can_be_repeated(steps: int) -> None:
    async with with_lobs() as (conn, peer):
        lob = blob(conn, peer, b"0123456789")
        task = asyncio.ensure_future(lob.read())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await lob.seek(0)
        assert await lob.read() == b"0123456789"
        await lob.close()
        await at_rest(conn._session)
        assert not peer.opened


async def test_a_write_that_times_out_in_its_middle_can_be_repeated() -> None:
    data = bytes(range(250)) * (3 * CHUNK // 250)
    async with with_lobs(command_timeout=60.0) as (conn, peer):
        lob = blob(conn, peer, b"")
        held = with_a_held_write(peer, 1)
        with pytest.raises(QueryTimeout):
            await time_out_at(held, conn, lob.write(data))
        held.release()
        assert await lob.tell() == 0
        assert await lob.size() == 2 * CHUNK
        assert await lob.write(data) == len(data)
        assert peer.values[1] == data
        await lob.close()
        await at_rest(conn._session)
        assert not peer.opened


# --- the embedded server --------------------------------------------------------------------------------------------

TABLE = "create table album (id int, photo blob, body clob, image byte in table, note text in table)"


@pytest.mark.parametrize("log_mode", ["logged", "unlogged", "ansi"])
async def test_values_in_databases_of_every_log_mode(log_mode: str) -> None:
    photo, text = bytes(range(250)) * 2000, "a" + "é€😀" * 60_000
    async with aioifx.server.running(log_mode=log_mode, db_locale=UTF8) as dsn:
        async with aioifx.connect(dsn, db_locale=UTF8) as conn:
            assert conn.is_ansi == (log_mode == "ansi")
            await conn.execute(TABLE)
            await conn.execute("insert into album values(1, ?, ?, ?, ?)", photo, text, photo, text)
            row = await conn.fetchrow("select photo, body, image, note from album", lobs="handles")
            assert row is not None
            found, body, image, note = row
            assert (await found.read(), await body.read(), image, note) == (photo, text, photo, text)
            await body.seek(0)
            assert "".join([chunk async for chunk in body]) == text
            assert await found.seek(0) == 0
            assert await found.write(b"new") == 3
            assert await found.truncate() == 3
            if log_mode == "logged":
                with pytest.raises(ZeroDivisionError):
                    async with conn.transaction():
                        await found.write(b"undone")
                        raise ZeroDivisionError
        async with aioifx.connect(dsn, db_locale=UTF8) as other:  # committed
            kept = await other.fetchrow("select photo, body, image, note from album", lobs="inline")
            assert kept == (b"new", text, photo, text)


async def test_lobs_that_are_dropped_leave_nothing_open(is_exhaustive: bool) -> None:
    runs = 1000 if is_exhaustive else 50
    async with serve(ServerOptions()) as server, aioifx.connect(server.dsn, lobs="handles") as conn:
        await conn.execute("create table album (id int, photo blob, body clob)")
        await conn.execute("insert into album values(1, ?, ?)", b"photo", "body")
        (session,) = server._sessions.values()
        assert session._engine is not None
        objects = session._engine.objects
        most = 0
        for run in range(runs):
            row = await conn.fetchrow("select photo, body from album")
            assert row is not None
            photo, body = row
            if run % 2:
                assert await photo.read() == b"photo"
            if run % 3:
                assert await body.read(2) == "bo"
                most = max(most, len(objects._open))
            del row, photo, body
        gc.collect()
        await asyncio.sleep(0)  # finalizers close through the event loop
        await at_rest(conn._session)
        await conn.execute("update album set id = 2")  # the server has answered everything before
        assert 0 < most <= 4
        assert not conn._session.open_objects
        assert not objects._open


# --- rows -----------------------------------------------------------------------------------------------------------

COLUMNS = (C1, BLOB, CLOB)
OPENING = "Id(2) CurName Open Id(2) RetType(3) Fetch({})"


def row(number: int, *values: Locator | None) -> bytes:
    payload = number.to_bytes(4, "big")
    for value in values:
        payload += b"\1\0\0\0\0" if value is None else b"\0\0\0\0\x48" + value.data
    return raw_row(payload)


def query(*rows: bytes, size: int = 32767, columns: tuple[Column, ...] = COLUMNS) -> list[Exchange]:
    return [
        (PREPARE, described(2, *columns)),
        (OPENING.format(size), b"".join(rows) + done(len(rows)) + EOT),
        close(2),
        release(2),
    ]


ONE = query(row(7, locator_of(1), locator_of(2)), row(8, None, None))


def with_values(peer: LobPeer) -> None:
    peer.add(b"photo")
    peer.add("Grüße".encode("latin-1"))


async def test_values_are_handles_by_default() -> None:
    async with with_lobs(ONE) as (conn, peer):
        with_values(peer)
        rows: list[Any] = await conn.fetch("select * from album")
        assert [value[1:] for value in rows[1:]] == [(None, None)]
        number, photo, body = rows[0]
        assert number == 7
        assert isinstance(photo, Lob)
        assert (photo.is_text, body.is_text) == (False, True)
        assert photo.locator == locator_of(1).data
        assert peer.calls == []
        assert await photo.read() == b"photo"
        assert [chunk async for chunk in body] == ["Grüße"]
        await photo.close()
        await body.close()


async def test_the_form_of_jdbc_is_asked_for() -> None:
    async with with_lobs(ONE) as (conn, peer):
        await conn.fetch("select * from album")
        (asked,) = [
            request for group in peer.requests for request in group if isinstance(request, requests.RetType)
        ]
        assert [(kind.code, kind.length, kind.owner, kind.extended_name) for kind in asked.types] == [
            (TypeCode.INTEGER, 4, "", ""),
            (TypeCode.OPAQUE, 72, "informix", "blob"),
            (TypeCode.OPAQUE, 72, "informix", "clob"),
        ]


async def test_whole_values_inline() -> None:
    async with with_lobs(ONE) as (conn, peer):
        with_values(peer)
        rows = await conn.fetch("select * from album", lobs="inline")
        assert [tuple(row) for row in rows] == [(7, b"photo", "Grüße"), (8, None, None)]
        await at_rest(conn._session)
        assert not peer.opened


async def test_inline_by_an_option_for_one_value() -> None:
    script = query(row(7, locator_of(1)), size=4096, columns=(C1, BLOB))
    script[1] = (OPENING.format(4096).replace("RetType(3)", "RetType(2)"), script[1][1])
    async with with_lobs(script, lobs="inline") as (conn, peer):
        with_values(peer)
        assert await conn.fetchval("select id, photo from album", column="photo") == b"photo"


async def test_a_value_above_the_limit_is_not_read() -> None:
    async with with_lobs(ONE, max_lob_size=4) as (conn, peer):
        with_values(peer)
        with pytest.raises(
            DataError, match=r"^column 'photo': BLOB value of 5 bytes exceeds max_lob_size=4$"
        ) as caught:
            await conn.fetch("select * from album", lobs="inline")
        assert caught.value.column == "photo"
        await at_rest(conn._session)
        assert not any(call.startswith("read") for call in peer.calls)
        assert not peer.opened


async def test_a_deleted_value_is_an_error_of_its_statement() -> None:
    async with with_lobs(ONE) as (conn, _):
        with pytest.raises(OperationalError) as caught:
            await conn.fetch("select * from album", lobs="inline")
        assert (caught.value.sqlcode, caught.value.sql) == (-9810, "select * from album")


async def test_text_that_is_not_in_the_code_set_names_its_column() -> None:
    script = query(row(7, None, locator_of(1)))
    async with with_lobs(script, locale="en_US.utf8") as (conn, peer):
        peer.add(b"\xff")
        with pytest.raises(DataError, match=r"^column 'body': byte 0xff at offset 0 is not valid utf8$"):
            await conn.fetch("select * from album", lobs="inline")


async def test_a_type_codec_gets_whole_values_only() -> None:
    codecs = {"blob": TypeCodec(decoder=len)}
    async with with_lobs([*ONE, *ONE], type_codecs=codecs) as (conn, peer):
        with_values(peer)
        rows: list[Any] = await conn.fetch("select * from album", lobs="inline")
        assert rows[0][1] == 5
        rows = await conn.fetch("select * from album")
        assert await rows[0][1].read() == b"photo"
        await rows[0][1].close()


async def test_a_stream_returns_chunks() -> None:
    script = [ONE[0], (OPENING.format(32767).replace("CurName", "CurName Hold"), ONE[1][1]), *ONE[2:]]
    async with with_lobs(script) as (conn, peer):
        with_values(peer)
        found: list[Any] = []
        async with conn.stream("select * from album", lobs="stream") as stream:
            async for number, photo, body in stream:
                for value in (photo, body):
                    found.append(None if value is None else [chunk async for chunk in value])
                assert number in (7, 8)
                del photo, body, value
        assert found == [[b"photo"], ["Grüße"], None, None]
