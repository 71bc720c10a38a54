from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable
from typing import Any

import pytest

import aioifx
from aioifx.testing.messages import EOT, EXIT, accepted, column, described, done, ints
from aioifx.testing.script import (
    END_SESSION,
    NO_REPLY,
    PREPARE,
    Delayed,
    Disconnect,
    Exchange,
    Peer,
    ScriptBroken,
    byte_by_byte,
    closing,
    in_words,
    listening,
    login,
    opening,
    select_ints,
    whole,
)
from aioifx.wire import requests

CLOSE = bytes.fromhex("00040000000a000c")  # SQ_ID 0, SQ_CLOSE, SQ_EOT


def turns(*script: Exchange) -> list[Exchange]:
    return list(script)


async def say(port: int, *groups: bytes) -> bytes:
    """What a client receives that sends these bytes, and waits for the end of the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for group in groups:
        writer.write(group)
    try:
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def broken_by(script: Iterable[Exchange], *groups: bytes, **options: Any) -> list[str]:
    """The lines of the message after these requests."""
    peer = Peer(script, **options)
    with pytest.raises(ScriptBroken) as raised:
        async with listening(peer) as server:
            await say(server.port, *groups)
    assert str(raised.value) == peer.failure
    return str(raised.value).splitlines()


async def connected(port: int) -> aioifx.Connection:
    return await aioifx.connect(host="127.0.0.1", port=port, server="any", user="anna", database="demo")


@pytest.mark.parametrize("chunks", [whole, byte_by_byte])
async def test_a_client_that_follows_the_script_receives_its_replies(chunks: Any) -> None:
    peer = Peer(
        [login(), select_ints(0, 7, 8, kept=True, until_empty=True), END_SESSION],
        with_login=True,
        chunks=chunks,
    )
    async with listening(peer) as server:
        conn = await connected(server.port)
        assert await conn.fetch("SELECT n FROM t") == [(7,), (8,)]
        await conn.close()
    peer.check()
    assert peer.statements == [b"SELECT n FROM t"]
    assert peer.said[-1] == "Exit"
    assert b"".join(peer.groups) == peer.received


async def test_words_that_differ_are_shown_with_the_number_of_the_exchange() -> None:
    script = turns(("Id(0) Close", EOT), ("Id(0) Release", EOT))
    assert await broken_by(script, CLOSE, CLOSE) == [
        "exchange 2: the client sent",
        "  Id(0) Close",
        "instead of",
        "  Id(0) Release",
    ]


async def test_bytes_that_differ_are_shown_with_a_mark() -> None:
    other = bytes.fromhex("000400010 00a000c".replace(" ", ""))
    assert await broken_by(turns((other, EOT)), CLOSE) == [
        "exchange 1: the client sent other bytes from offset 3 (Id(0) Close)",
        "  00040000000a000c",
        "        ^^",
        "instead of",
        "  00040001000a000c",
    ]


async def test_a_request_after_the_end_of_the_script_is_shown() -> None:
    assert await broken_by(turns((None, EOT)), CLOSE, CLOSE) == [
        "exchange 2: the script has ended, the client sent Id(0) Close",
        "  00040000000a000c",
    ]


async def test_what_is_not_sqli_is_shown() -> None:
    (line,) = await broken_by(turns((None, EOT)), b"GET / HTTP/1.1\r\n\r\n")
    assert line.startswith("the client sent no SQLI: ")
    assert line.endswith("474554202f20485454502f312e310d0a0d0a")


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"", r"^the client did not send: 'Id\(0\) Close', any request, 000c$"),
        (CLOSE, r"^the client did not send: any request, 000c$"),
        (CLOSE * 2 + EOT + CLOSE[:5], r"^the client sent part of a request: 0004000000$"),
    ],
)
async def test_a_script_that_was_not_played_to_its_end_is_broken(sent: bytes, message: str) -> None:
    peer = Peer([("Id(0) Close", EOT), (None, EOT), (EOT, Disconnect(EOT))])
    async with listening(peer) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            await asyncio.wait_for(peer.gone.wait(), 10)
    with pytest.raises(ScriptBroken, match=message):
        peer.check()


async def test_a_delayed_reply_is_sent_on_release() -> None:
    delayed = Delayed(b"first-rest", first=6)
    async with listening(Peer([(None, delayed), (None, Disconnect())])) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(CLOSE)
        assert await reader.readexactly(6) == b"first-"
        assert delayed.reached.is_set()
        delayed.release()
        assert await reader.readexactly(4) == b"rest"
        writer.write(CLOSE)
        assert await reader.read() == b""
        writer.close()


async def test_connections_are_answered_in_order() -> None:
    async with listening(*(Peer([(None, Disconnect(EOT * n))]) for n in (1, 2))) as server:
        assert [await say(server.port, CLOSE) for _ in range(2)] == [EOT, EOT * 2]


async def test_no_reply_is_sent_to_an_exchange_without_one() -> None:
    async with listening(Peer([(None, NO_REPLY), (EXIT, Disconnect(EXIT))])) as server:
        assert await say(server.port, CLOSE + EXIT) == EXIT


async def test_a_server_that_does_not_speak_sqli_greets_first() -> None:
    peer = Peer([(None, Disconnect(b"220 bye"))], framed=False, greeting=b"220 hello\r\n")
    async with listening(peer) as server:
        assert await say(server.port, b"QUIT\r\n") == b"220 hello\r\n220 bye"


@pytest.mark.parametrize("is_debug", [False, True])
async def test_a_connection_without_a_peer_is_aborted_and_reported(is_debug: bool) -> None:
    asyncio.get_running_loop().set_debug(is_debug)
    replies = []
    with pytest.raises(
        ScriptBroken, match=r"^the client opened another connection, expected one for each peer$"
    ):
        async with listening(Peer([(None, Disconnect(b"bye"))], framed=False)) as server:
            replies = [await say(server.port, b"QUIT") for _ in range(2)]
    assert replies == [b"bye", b""]


async def test_a_login_is_framed_by_its_size() -> None:
    peer = Peer([(None, Disconnect(accepted()))], with_login=True)
    async with listening(peer) as server:
        assert await say(server.port, b"\0\x06", b"logi") == accepted()
    assert peer.groups == [b"\0\x06logi"]


def test_requests_in_words_have_numbers_where_they_matter() -> None:
    group: list[requests.Request] = [
        requests.Id(2),
        requests.CurName(b"c"),
        requests.Open(),
        requests.Id(2),
        requests.Fetch(4096),
    ]
    assert in_words(group) == "Id(2) CurName Open Id(2) Fetch(4096)" == opening(2, 4096)


def test_scripts_of_queries_are_built_from_exchanges() -> None:
    n = column("c1", aioifx.TypeCode.INTEGER, 4)
    assert select_ints(3, 1) == [
        (PREPARE, described(3, n)),
        (opening(3), ints(1) + done(1) + EOT),
        *closing(3),
    ]
