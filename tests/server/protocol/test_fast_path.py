from __future__ import annotations

import json
from pathlib import Path
from struct import pack

import pytest

from aioifx.codecs.numbers import decode_int8, encode_int8
from aioifx.sqltypes import TypeCode
from aioifx.wire import requests, session_requests
from aioifx.wire.fields import BindEntry
from aioifx.wire.objects import CallRoutine, FindRoutine, ObjectData, ReadObject, WriteObject
from aioifx.wire.requests import Bind, read_request
from tests.feeding import feed
from tests.server.talking import Talk, error_of


def integer(value: int) -> BindEntry:
    return BindEntry(TypeCode.INTEGER, b"", b"", 0, 0x0A00, pack(">i", value))


def int8(value: int) -> BindEntry:
    return BindEntry(TypeCode.INT8, b"", b"", 0, 0x1300, encode_int8(value))


def opaque(name: bytes, data: bytes) -> BindEntry:
    return BindEntry(TypeCode.OPAQUE, b"", name, 0, 0, data)


def number_of(talk: Talk, signature: str) -> int:
    reply = talk.say(FindRoutine(signature.encode()))
    assert reply.error is None, reply.error
    assert reply.routine is not None
    assert reply.routine.database == b"demo"
    return reply.routine.routine


def call(talk: Talk, signature: str, *arguments: BindEntry) -> tuple[BindEntry, ...]:
    routine = number_of(talk, f"function informix.{signature}")
    reply = talk.say(CallRoutine(b"demo", routine, len(arguments)), Bind(arguments))
    assert reply.error is None, reply.error
    assert reply.returned is not None
    return reply.returned


def created(talk: Talk) -> tuple[bytes, BindEntry]:
    """The locator of a new object, and its descriptor."""
    locator, descriptor = call(
        talk, "ifx_lo_create( ifx_lo_spec,integer,blob)", opaque(b"ifx_lo_spec", bytes(596)), integer(8),
        opaque(b"blob", bytes(72)),
    )  # fmt: skip
    assert (locator.code, locator.name, len(locator.data)) == (TypeCode.OPAQUE, b"blob", 72)
    return locator.data, descriptor


def value_of(entry: BindEntry) -> int:
    return int.from_bytes(entry.data, "big", signed=True)


def test_an_object_is_created_written_measured_and_read(talk: Talk) -> None:
    locator, descriptor = created(talk)
    handle = value_of(descriptor)
    assert talk.say(WriteObject(handle, b"0123456789" * 7000)).object_data == ObjectData(2, 70_000)
    [status] = call(talk, "ifx_lo_stat(int, ifx_lo_stat)", descriptor, opaque(b"ifx_lo_stat", bytes(644)))
    assert len(status.data) == 644
    assert decode_int8(status.data[12:14] + status.data[4:12]) == 70_000
    [position] = call(
        talk, "ifx_lo_seek(integer,int8,integer,int8)", descriptor, int8(-5), integer(2), int8(0)
    )
    assert (position.code, decode_int8(position.data)) == (TypeCode.INT8, 69_995)
    [position] = call(talk, "ifx_lo_tell(integer,int8)", descriptor, int8(0))
    assert decode_int8(position.data) == 69_995
    assert talk.say(ReadObject(handle, 99)).object_data == ObjectData(0, 5, b"56789")
    assert talk.say(ReadObject(handle, 99)).object_data == ObjectData(0, 0)
    assert talk.say(ReadObject(handle, 3, 69_990, 0)).object_data == ObjectData(1, 3, b"012")
    call(talk, "ifx_lo_truncate(integer,int8)", descriptor, int8(2))
    call(talk, "ifx_lo_close(integer)", descriptor)
    [again] = call(talk, "ifx_lo_open(blob ,integer)", opaque(b"blob", locator), integer(4))
    assert talk.say(ReadObject(value_of(again), 99)).object_data == ObjectData(0, 2, b"01")


def test_a_created_object_is_stored_by_its_locator(talk: Talk) -> None:
    talk.command("CREATE TABLE t (k INT, b BLOB)")
    locator, descriptor = created(talk)
    talk.say(WriteObject(value_of(descriptor), b"abc"))
    statement = talk.prepare("INSERT INTO t VALUES (1, ?)")
    value = BindEntry(TypeCode.OPAQUE, b"informix", b"blob", 0, 72, locator)
    assert talk.say(requests.Id(statement), Bind((value,)), requests.Execute()).error is None
    [(stored,)] = talk.select("SELECT b FROM t")
    assert stored.data == locator
    call(talk, "ifx_lo_release(blob)", opaque(b"blob", locator))
    call(talk, "ifx_lo_open(blob,integer)", opaque(b"blob", stored.data), integer(4))


def test_storage_is_returned_as_it_was_given(talk: Talk) -> None:
    specification = opaque(b"ifx_lo_spec", bytes(range(149)) * 4)
    column = BindEntry(TypeCode.LVARCHAR, b"", b"lvarchar", 0, 0, b"t.b")
    assert call(talk, "ifx_lo_col_sbinfo(lvarchar,ifx_lo_spec)", column, specification) == (specification,)


@pytest.mark.parametrize(
    ("signature", "token"),
    [("function informix.nothing(int)", "nothing"), ("", ""), ("(", ""), ("function ifx_lo_x(blob)", "ifx_lo_x")],
)  # fmt: skip
def test_an_unknown_routine_is_refused_by_name(talk: Talk, signature: str, token: str) -> None:
    assert error_of(talk.say(FindRoutine(signature.encode()))) == (-674, 0, token)


def test_bad_calls_are_errors_and_the_session_goes_on(talk: Talk) -> None:
    close = number_of(talk, "function informix.ifx_lo_close(integer)")
    opening = number_of(talk, "function informix.ifx_lo_open(blob,integer)")
    for arguments, sqlcode in (
        ((integer(-1),), -9810),
        ((opaque(b"blob", bytes(72)),), -9810),
        ((BindEntry(TypeCode.INTEGER, b"", b"", -1, 0, b""),), -9810),
        ((), -674),
    ):
        reply = talk.say(CallRoutine(b"demo", close, len(arguments)), Bind(arguments))
        assert error_of(reply)[0] == sqlcode
    reply = talk.say(CallRoutine(b"", opening, 2), Bind((opaque(b"blob", b"short"), integer(4))))
    assert error_of(reply)[0] == -9810
    assert error_of(talk.say(CallRoutine(b"demo", 99, 0), Bind(())))[0] == -674
    for message in (ReadObject(5, 10), WriteObject(5, b"x")):
        assert error_of(talk.say(message))[0] == -9810
    assert talk.select("SELECT COUNT(*) FROM systables WHERE tabid = 1") == [(1,)]


def test_arguments_belong_to_the_call_before_them_only(talk: Talk) -> None:
    statement = talk.prepare("SELECT COUNT(*) FROM systables WHERE tabid = ?")
    close = number_of(talk, "function informix.ifx_lo_close(integer)")
    talk.say(CallRoutine(b"demo", close, 1))
    reply = talk.say(requests.Id(statement), Bind((integer(1),)), requests.Open(), requests.Fetch(100))
    assert list(reply.rows) == [(1,)]


def test_an_interrupt_ends_a_call(talk: Talk) -> None:
    _, descriptor = created(talk)
    talk.conversation._context.engine.interrupt()
    assert error_of(talk.say(WriteObject(value_of(descriptor), b"x")))[:2] == (-213, -157)
    assert talk.say(WriteObject(value_of(descriptor), b"x")).object_data == ObjectData(2, 1)


def test_a_write_waits_for_no_other_session(talk: Talk) -> None:
    _, descriptor = created(talk)
    talk.command("CREATE TABLE t (k INT)")
    talk.say(session_requests.Begin())
    talk.command("INSERT INTO t VALUES (1)")
    assert talk.say(WriteObject(value_of(descriptor), b"x")).object_data == ObjectData(2, 1)


@pytest.mark.parametrize("name", ["blob_create", "blob_create_conn", "blob_read"])
def test_jdbcs_calls_are_understood(talk: Talk, name: str) -> None:
    """lob.json: each signature is found, and each call has the number of arguments of its routine."""
    vectors = json.loads(Path(__file__).parents[2].joinpath("vectors", "lob.json").read_text())
    [case] = [case for case in vectors["cases"] if case["name"] == name]
    talk.protocols(bytes.fromhex("bdbe9ffe7fb7ffef"))
    seen = 0
    for frame in case["frames"]:
        if frame["means"].startswith("SQ_GETROUTINE"):
            group, _ = feed(
                lambda inbox: read_request(inbox, talk.conversation.capabilities),
                [bytes.fromhex(frame["hex"])],
            )
            assert talk.say(*group).routine is not None
            seen += 1
    assert seen >= 3
