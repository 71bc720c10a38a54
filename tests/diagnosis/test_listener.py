"""What a port says first, and how it answers questions."""

from __future__ import annotations

import asyncio

import pytest
import trustme

from aioifx.client.config.addresses import Address
from aioifx.diagnosis.listener import changes_for, identify, open_listening, protocol_of, shown
from aioifx.testing.messages import accepted
from aioifx.wire.opcodes import LoginType
from tests.certificates import certified
from tests.diagnosis.ports import Answer, closed, closing, drda, http, listening, patient_http, silent
from tests.wire.frames import load

IPS = ["127.0.0.1"]


async def test_the_first_bytes_are_heard() -> None:
    async with listening(silent, greeting=b"SSH-2.0-x\r\n") as (port, received):
        channel = await open_listening(Address("127.0.0.1", port), IPS)
        assert await channel.listen(10) == b"SSH-2.0-x\r\n"
        assert received == b""
        channel.abort()


async def test_a_server_that_waits_for_the_client_says_nothing() -> None:
    async with listening(silent) as (port, _):
        channel = await open_listening(Address("127.0.0.1", port), IPS)
        assert await channel.listen(0.01) == b""
        assert not channel.heard.is_set()
        channel.abort()


async def test_the_end_of_a_connection_is_heard() -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server:
        channel = await open_listening(Address("127.0.0.1", server.sockets[0].getsockname()[1]), IPS)
        assert await channel.listen(10) == b""
        assert channel.heard.is_set()
        channel.abort()


async def test_only_the_first_bytes_are_kept() -> None:
    async with listening(silent, greeting=b"x" * 10_000) as (port, _):
        channel = await open_listening(Address("127.0.0.1", port), IPS)
        assert await channel.listen(10) == b"x" * 64
        channel.abort()


def sqli(request: bytes) -> bytes:
    return accepted(type=3, sqlcode=-951) if b"aioifx_doctor" in request else b""


@pytest.mark.parametrize(
    ("answer", "tried_tls", "spoken"),
    [
        (sqli, True, "SQLI"),
        (http, True, "HTTP"),
        (patient_http, True, "HTTP"),
        (patient_http, False, "HTTP"),
        (drda, True, "DRDA"),
        (closing, True, ""),
        (closing, False, ""),
    ],
)
async def test_questions(answer: Answer, tried_tls: bool, spoken: str) -> None:
    async with listening(answer) as (port, received):
        address = Address("127.0.0.1", port, "ol_shop")
        assert await identify(address, IPS, tried_tls=tried_tls, seconds=0.5) == spoken
    assert (b"aioifx_doctor" in received) is tried_tls


async def test_a_tls_port_is_found() -> None:
    async with listening(closing, ssl=certified(trustme.CA(), "x.example")) as (port, _):
        assert await identify(Address("127.0.0.1", port), IPS, tried_tls=False, seconds=10) == "TLS"


async def test_a_closed_port_answers_nothing() -> None:
    with closed() as port:
        assert await identify(Address("127.0.0.1", port), IPS, tried_tls=True, seconds=10) == ""


@pytest.mark.parametrize(
    ("first", "protocol"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH"),
        (http(b""), "HTTP"),
        (b"<html><body>", "HTTP"),
        (drda(b""), "DRDA"),
        (b"\x15\x03\x03\0\x02\x02\x28", "TLS"),
        (b"220 ftp.example", "SMTP or FTP"),
        (b"\x4a\0\0\0\x0a8.0.36\0", "MySQL"),
        (accepted(), "SQLI"),
        (accepted(type=LoginType.REJECT, sqlcode=-951), "SQLI"),
        (b"", ""),
        (b"\0", ""),
        (b"hello", ""),
    ],
)
def test_protocols(first: bytes, protocol: str) -> None:
    assert protocol_of(first) == protocol


def test_the_reply_of_a_real_server_is_sqli() -> None:
    _, reply = [bytes.fromhex(entry["hex"]) for entry in load("gbase8s_login")["frames"]]
    assert protocol_of(reply) == "SQLI"


def test_each_protocol_has_a_change() -> None:
    assert [change.setting for change in changes_for("TLS")] == ["ssl"]
    assert "drsoctcp" in changes_for("DRDA")[0].to
    assert [change.setting for change in changes_for("")] == ["port"]


def test_bytes_are_shown_shortened() -> None:
    assert shown(b"SSH-2.0\r\n") == r"'SSH-2.0\r\n'"
    assert len(shown(b"x" * 100)) == 26
