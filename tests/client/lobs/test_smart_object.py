"""BLOB and CLOB at the server: the requests are JDBC's, byte for byte."""

from __future__ import annotations

import pytest

from aioifx.client.lobs.smart_object import DEFAULT_STORAGE, SmartObject, column_storage
from aioifx.client.session.session import Session
from aioifx.errors import DatabaseError, LockError, OperationalError, ProtocolError, UndefinedRoutine
from aioifx.sqltypes import TypeCode
from aioifx.testing.messages import EOT, error
from aioifx.testing.script import Exchange
from aioifx.wire import objects
from aioifx.wire.fields import BindEntry
from aioifx.wire.objects import ObjectData
from aioifx.wire.outbox import Outbox
from tests.client.lobs.conftest import LobPeer, integer, with_lobs
from tests.scripted import at_rest, played, talking

CREATION = played("lob", "blob_create_conn")
CREATE, WRITE = CREATION[:2], CREATION[4:5]
READ = played("lob", "blob_read")
COLUMN = played("lob", "blob_create")
LOCATOR = bytes(range(72))


def answered(*values: BindEntry) -> bytes:
    outbox = Outbox()
    objects.put_returned(outbox, values)
    return outbox.detach() + EOT


def value_of(session: Session, peer: LobPeer) -> SmartObject:
    return SmartObject(session, peer.add(b"abc").data)


def of(script: list[Exchange], name: bytes) -> list[Exchange]:
    """JDBC's lookup of a routine and its first call."""
    at = next(at for at, (request, _) in enumerate(script) if isinstance(request, bytes) and name in request)
    return script[at : at + 2]


async def test_a_value_is_created_and_written_as_by_jdbc() -> None:
    close = of(COLUMN, b"ifx_lo_close")
    async with talking(CREATE, WRITE, *close) as (conn, _):
        async with conn._session as session:
            made = await SmartObject.create(session)
            assert made.locator == LOCATOR
            assert made.is_open
            assert await made.write(0, b"\1\2\3") == 3
            await made.close()
            assert not made.is_open


async def test_a_column_says_where_its_values_are_stored_as_for_jdbc() -> None:
    async with talking(of(COLUMN, b"ifx_lo_col_sbinfo")) as (conn, _):
        async with conn._session as session:
            assert await column_storage(session, "bt_blob.c1") == bytes(200)


async def test_position_and_size_are_asked_for_as_by_jdbc() -> None:
    find, (opening, opened) = of(READ, b"ifx_lo_open")
    assert isinstance(opening, bytes)
    opening = opening[:-6] + b"\0\0\0\4" + EOT  # a deliberate difference: JDBC opens for writing, too
    read = next(turn for turn in READ if turn[0] == bytes.fromhex("0061000000070000000a7d00000c"))
    script = [find, (opening, opened), *of(READ, b"ifx_lo_stat"), read, *of(READ, b"ifx_lo_seek"), read]
    async with talking(script) as (conn, _):
        async with conn._session as session:
            value = SmartObject(session, LOCATOR)
            assert await value.size() == 10
            assert await value.read(0, 10) == b"0123456789"
            assert await value.read(0, 10) == b"0123456789"
            value.forget()


async def test_a_created_value_that_is_not_used_is_released() -> None:
    async with with_lobs() as (conn, peer):
        async with conn._session as session:
            made = await SmartObject.create(session)
            assert peer.storage == [DEFAULT_STORAGE]
            made.release_later()
        await at_rest(session)
        assert peer.calls == ["find create", "create", "find close", "close", "find release", "release"]
        assert (peer.values, peer.opened) == ({}, {})


async def test_many_values_that_are_closed_at_once_look_the_routines_up_once() -> None:
    async with with_lobs() as (conn, peer):
        async with conn._session as session:
            made = [await SmartObject.create(session) for _ in range(34)]
            for each in made:
                each.release_later()
        await at_rest(session)
        assert peer.calls[35:] == ["find close", *["close"] * 34, "find release", *["release"] * 34]
        assert (peer.values, peer.opened) == ({}, {})


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("create", answered(integer(1))),
        ("open", answered()),
        ("open", answered(integer(1)._replace(indicator=-1, data=b""))),
        ("stat", answered(integer(1))),
    ],
)
async def test_a_routine_that_returns_something_else_is_a_protocol_error(name: str, answer: bytes) -> None:
    async with with_lobs() as (conn, peer):
        peer.before = lambda called: answer if called == name else None
        async with conn._session as session:
            with pytest.raises(ProtocolError, match="did not return the"):
                await (SmartObject.create(session) if name == "create" else value_of(session, peer).size())
        assert not session.is_open


@pytest.mark.parametrize(
    ("written", "kind", "message"),
    [
        (4, ProtocolError, "^4 bytes of a large object instead of 3$"),
        (0, OperationalError, "^the server wrote nothing to a large object$"),
    ],
)
async def test_an_impossible_number_of_written_bytes_is_an_error(
    written: int, kind: type[Exception], message: str
) -> None:
    async with with_lobs() as (conn, peer):
        outbox = Outbox()
        objects.put_object_data(outbox, objects.ObjectData(2, written))
        peer.before = lambda called: bytes(outbox.data) + EOT if called == "write" else None
        async with conn._session as session:
            made = await SmartObject.create(session)
            with pytest.raises(kind, match=message):
                await made.write_all(0, b"abc")
        assert session.is_open == (written == 0)


@pytest.mark.parametrize(
    ("name", "answer", "message"),
    [
        (
            "open",
            answered(integer(40_000)),
            "^the descriptor 40000 of a large object does not fit SQ_LODATA$",
        ),
        ("open", answered(integer(-(2**31))), "does not fit SQ_LODATA$"),
        (
            "stat",
            answered(
                BindEntry(TypeCode.OPAQUE, b"", b"ifx_lo_stat", 0, 0, b"\0\0\0\0\0\0\0\5\0\0\0\0\xff\xff")
            ),
            "^a large object of -5 bytes$",
        ),
        ("read", ObjectData(2, 3), "^the server did not answer SQ_LODATA$"),
        ("write", ObjectData(0, 1, b"x"), "^the server did not answer SQ_LODATA$"),
    ],
)
async def test_an_impossible_reply_is_a_protocol_error(
    name: str, answer: bytes | ObjectData, message: str
) -> None:
    outbox = Outbox()
    if isinstance(answer, ObjectData):
        objects.put_object_data(outbox, answer)
        answer = bytes(outbox.data) + EOT
    async with with_lobs() as (conn, peer):
        peer.before = lambda called: answer if called.startswith(name) else None
        async with conn._session as session:
            value = value_of(session, peer)
            with pytest.raises(ProtocolError, match=message):
                if name == "write":
                    await value.write(0, b"abc")
                elif name == "stat":
                    await value.size()
                else:
                    await value.read(0, 3)
        assert not session.is_open


async def test_a_reply_that_claims_two_gigabytes_is_refused_before_they_arrive() -> None:
    async with with_lobs() as (conn, peer):
        # It never ends: without the check, the client waits for the rest.
        peer.before = lambda called: bytes.fromhex("00610000 7fffffff") if called.startswith("read") else None
        async with conn._session as session:
            with pytest.raises(ProtocolError, match=r"^SQ_LODATA of 2147483647 bytes"):
                await value_of(session, peer).read(0, 3)
        assert not session.is_open


async def test_a_routine_that_does_not_exist_is_an_error_of_the_server() -> None:
    async with talking((None, error(-674, token="ifx_lo_open") + EOT)) as (conn, _):
        async with conn._session as session:
            with pytest.raises(UndefinedRoutine):
                await SmartObject(session, LOCATOR).size()


async def test_other_errors_are_not_repeated() -> None:
    async with with_lobs() as (conn, peer):
        async with conn._session as session:
            value = SmartObject(session, peer.add(b"abc").data)
            assert await value.read(0, 3) == b"abc"
            peer.before = lambda called: error(-244, -154) + EOT if called == "seek" else None
            with pytest.raises(LockError):
                await value.read(0, 3)
            assert peer.calls.count("seek") == 1
            peer.before = lambda called: None
            assert await value.read(0, 3) == b"abc"


async def test_a_short_read_ends_where_its_data_ends() -> None:
    async with with_lobs() as (conn, peer):
        async with conn._session as session:
            value = await SmartObject.create(session)
            await value.write(0, b"abc")
            assert await value.read(0, 10) == b"abc"
            peer.calls.clear()
            assert await value.read(3, 1) == b""
            assert peer.calls == ["read 1"]
            assert await value.read(10, 1) == b""
            assert peer.calls == ["read 1", "seek", "read 1"]
            value.forget()


async def test_after_a_transfer_that_failed_the_position_is_set_again() -> None:
    async with with_lobs() as (conn, peer):
        async with conn._session as session:
            value = value_of(session, peer)
            assert await value.read(0, 1) == b"a"
            peer.before = lambda called: error(-999) + EOT if called == "read" else None
            with pytest.raises(DatabaseError):
                await value.read(1, 1)
            peer.before = lambda called: None
            peer.calls.clear()
            assert await value.read(1, 1) == b"b"
            assert peer.calls == ["find seek", "seek", "read 1"]
            value.forget()


async def test_a_whole_value_is_read_in_chunks() -> None:
    async with with_lobs() as (conn, peer):
        async with conn._session as session:
            data = bytes(range(200)) * 2000
            value = SmartObject(session, peer.add(data).data)
            assert await value.read_all(await value.size()) == data
            assert await value.read_all(10**9) == data
            assert await value.read_all(0) == b""
            value.close_later()
