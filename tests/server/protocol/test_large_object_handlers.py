from __future__ import annotations

import json
from pathlib import Path

import pytest

from aioifx.codecs.large_objects import Descriptor, parameter_descriptor
from aioifx.server.sqlite.databases import LogMode
from aioifx.sqltypes import TypeCode
from aioifx.wire import requests, session_requests
from aioifx.wire.fields import BindEntry
from aioifx.wire.inbox import Inbox
from aioifx.wire.objects import Blob, BlobCount, FetchBlob
from aioifx.wire.opcodes import Op
from aioifx.wire.requests import Request, read_request
from tests.feeding import feed, feed_all
from tests.server.protocol.test_incoming_values import payloads
from tests.server.talking import LATIN_1, ServerCore, Talk, error_of, server_core

SHORT_MASK = bytes.fromhex("bdbe9ffe7fb7ffef")
"""The server's reply without bits 64 and above: descriptors are 56 bytes."""


def large(value: bytes | None, code: int = TypeCode.BYTE) -> BindEntry:
    if value is None:
        return BindEntry(code, b"", b"", -1, 0, b"")
    return BindEntry(code, b"", b"", 0, 56, parameter_descriptor(len(value), 68).data)


def integer(value: int) -> BindEntry:
    return BindEntry(TypeCode.INTEGER, b"", b"", 0, 0x0A00, value.to_bytes(4, "big", signed=True))


def sent(*values: bytes) -> list[Request]:
    """SQ_BBIND and the values in pieces of 1,024 bytes."""
    messages: list[Request] = [BlobCount(len(values))]
    for value in values:
        messages += [Blob(value[start : start + 1024]) for start in range(0, len(value), 1024)]
        messages.append(Blob(b""))
    return messages


def value_in(reply: bytes) -> tuple[bytes, int]:
    """The pieces of a reply to SQ_FETCHBLOB together, and the tag after them."""

    async def read(inbox: Inbox) -> tuple[bytes, int]:
        value = b""
        await inbox.need(2)
        while (tag := inbox.u16()) == Op.BLOB:
            await inbox.need(2)
            size = inbox.u16()
            await inbox.need(size + (size & 1))
            value += inbox.take(size)
            inbox.skip(size & 1)
            await inbox.need(2)
        return value, tag

    result, _, _ = feed_all(read, [reply])
    return result


def fetched(talk: Talk, descriptor: Descriptor) -> bytes:
    value, tag = value_in(talk.conversation.answer([[requests.Id(0), FetchBlob(descriptor.data)]]))
    assert tag == Op.DONE
    return value


@pytest.fixture
def table(talk: Talk) -> Talk:
    talk.command("CREATE TABLE t (k INT, b BYTE, x TEXT)")
    return talk


def opened(talk: Talk, sql: str) -> tuple[int, list[tuple[object, ...]]]:
    """An open cursor and its first rows."""
    statement = talk.prepare(sql)
    reply = talk.say(requests.Id(statement), requests.Open(), requests.Id(statement), requests.Fetch(100_000))
    assert reply.error is None
    return statement, list(reply.rows)


VALUES = [b"", b"a", bytes(range(256)) * 4 + b"!", bytes(range(251)) * 300]


def test_values_follow_their_descriptors_both_ways(table: Talk) -> None:
    statement = table.prepare("INSERT INTO t VALUES (?, ?, ?)")
    for key, value in enumerate(VALUES):
        bind = requests.Bind((integer(key), large(value), large(value, TypeCode.TEXT)))
        reply = table.say(requests.Id(statement), bind, *sent(value, value), requests.Execute())
        assert reply.error is None
    cursor, rows = opened(table, "SELECT b, x, k FROM t ORDER BY k")
    for row, value in reversed(list(zip(rows, VALUES, strict=True))):
        for descriptor in row[:2]:
            assert isinstance(descriptor, Descriptor)
            assert (len(descriptor.data), descriptor.size) == (68, len(value))
            assert fetched(table, descriptor) == value
    table.say(requests.Id(cursor), requests.Close())
    lost = rows[0][0]
    assert isinstance(lost, Descriptor)
    assert error_of(table.say(requests.Id(cursor), FetchBlob(lost.data)))[0] == -602


def test_null_has_no_value_and_no_size(table: Talk) -> None:
    statement = table.prepare("INSERT INTO t VALUES (1, ?, ?)")
    bind = requests.Bind((large(None), large(b"x", TypeCode.TEXT)))
    assert table.say(requests.Id(statement), bind, *sent(b"x"), requests.Execute()).error is None
    _, [(byte, text)] = opened(table, "SELECT b, x FROM t")
    assert byte is None
    assert isinstance(text, Descriptor)


def test_a_batch_of_values_is_one_group(table: Talk) -> None:
    statement = table.prepare("INSERT INTO t (k, b) VALUES (?, ?)")
    messages: list[Request] = []
    for key, value in enumerate(VALUES):
        messages += [requests.Id(statement), requests.Bind((integer(key), large(value)))]
        messages += [*sent(value), requests.Execute()]
    reply = table.say(*messages)
    assert [done.rows for done in reply.dones] == [1] * len(VALUES)
    assert table.select("SELECT LENGTH(b) FROM t ORDER BY k") == [(len(value),) for value in VALUES]


def test_values_are_those_of_the_open_although_the_row_has_changed(table: Talk) -> None:
    statement = table.prepare("INSERT INTO t (k, b) VALUES (?, ?)")
    for key in (1, 2):
        bind = requests.Bind((integer(key), large(b"old")))
        table.say(requests.Id(statement), bind, *sent(b"old"), requests.Execute())
    cursor = table.prepare("SELECT b FROM t")
    reply = table.say(requests.Id(cursor), requests.Open(), requests.Id(cursor), requests.Fetch(10))
    (first,) = reply.rows[0]
    columns = table.columns
    table.command("DELETE FROM t")
    table.columns = columns
    reply = table.say(requests.Id(cursor), requests.Fetch(10))
    (second,) = reply.rows[0]
    assert [fetched(table, descriptor) for descriptor in (second, first)] == [b"old", b"old"]


@pytest.mark.parametrize("count", [0, 2])
def test_a_wrong_number_of_values_is_refused(table: Talk, count: int) -> None:
    statement = table.prepare("INSERT INTO t (b) VALUES (?)")
    reply = table.say(
        requests.Id(statement), requests.Bind((large(b"a"),)), BlobCount(count), Blob(b"a"), Blob(b"")
    )
    assert error_of(reply)[0] == -619


def test_a_missing_or_unexpected_value_is_refused(table: Talk) -> None:
    statement = table.prepare("INSERT INTO t (b) VALUES (?)")
    bind = requests.Bind((large(b"a"),))
    assert error_of(table.say(requests.Id(statement), bind, requests.Execute()))[0] == -608
    assert error_of(table.say(requests.Id(statement), requests.Bind((integer(1),)), Blob(b"a")))[0] == -619
    reply = table.say(requests.Id(statement), bind, BlobCount(1), Blob(b"a"), requests.Execute())
    assert error_of(reply)[0] == -608
    assert table.select("SELECT COUNT(*) FROM t") == [(0,)]


def test_an_interrupt_ends_a_value(table: Talk) -> None:
    statement = table.prepare("INSERT INTO t (b) VALUES (?)")
    table.say(requests.Id(statement), requests.Bind((large(b"abc"),)), *sent(b"abc"), requests.Execute())
    cursor, [(descriptor,)] = opened(table, "SELECT b FROM t")
    assert isinstance(descriptor, Descriptor)
    table.conversation._context.engine.interrupt()
    reply = table.say(requests.Id(cursor), FetchBlob(descriptor.data))
    assert error_of(reply)[:2] == (-213, -157)
    assert fetched(table, descriptor) == b"abc"


def test_an_insert_cursor_takes_values_after_its_rows(table: Talk) -> None:
    statement = table.prepare("INSERT INTO t (k, b) VALUES (?, ?)")
    columns = table.columns
    rows = [(1, parameter_descriptor(3, 68)), (2, None), (3, parameter_descriptor(2, 68))]
    first, second, third = payloads(columns, rows)
    table.say(session_requests.Begin())
    reply = table.say(
        requests.Id(statement),
        requests.CurName(b"c"),
        requests.Open(),
        requests.Put(len(first), (first,)),
        Blob(b"abc"),
        Blob(b""),
        requests.Put(len(second), (second, third)),
        Blob(b"de"),
        Blob(b""),
    )
    assert reply.error is None
    assert [done.rows for done in reply.dones] == [3]
    table.say(session_requests.Commit())
    assert table.select("SELECT k, LENGTH(b) FROM t ORDER BY k") == [(1, 3), (2, None), (3, 2)]


def test_without_bit_70_descriptors_have_56_bytes(core: ServerCore) -> None:
    talk = Talk(core.engine(""))
    talk.protocols(SHORT_MASK)
    talk.open_database()
    talk.command("CREATE TABLE t (b BYTE)")
    statement = talk.prepare("INSERT INTO t VALUES (?)")
    entry = BindEntry(TypeCode.BYTE, b"", b"", 0, 56, parameter_descriptor(2, 56).data)
    talk.say(requests.Id(statement), requests.Bind((entry,)), *sent(b"ab"), requests.Execute())
    _, [(descriptor,)] = opened(talk, "SELECT b FROM t")
    assert isinstance(descriptor, Descriptor)
    assert len(descriptor.data) == 56
    assert fetched(talk, descriptor) == b"ab"


def test_jdbcs_batch_of_bytes_is_understood() -> None:
    """lob.json, put_byte: the group that IFX_USEPUT sends."""
    vectors = json.loads(Path(__file__).parents[2].joinpath("vectors", "lob.json").read_text())
    [case] = [case for case in vectors["cases"] if case["name"] == "put_byte"]
    [group] = [frame["hex"] for frame in case["frames"] if "SQ_PUT" in frame["means"]]
    with server_core(LogMode.UNLOGGED) as core:
        talk = Talk(core.engine(""), LATIN_1)
        talk.protocols(SHORT_MASK)
        talk.open_database()
        talk.command("CREATE TABLE bt_byte (c1 BYTE)")
        for _ in range(3):  # JDBC's statement had id 2
            talk.prepare("INSERT INTO bt_byte VALUES (?)")
        messages, _ = feed(
            lambda inbox: read_request(inbox, talk.conversation.capabilities), [bytes.fromhex(group)]
        )
        assert [done.rows for done in talk.say(*messages).dones] == [2]
        assert talk.select("SELECT LENGTH(c1) FROM bt_byte") == [(3,), (3,)]
