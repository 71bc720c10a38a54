"""What listens on a port: what it says first, and how it answers other protocols than expected. Never: a password.

Nothing is sent to a port that speaks first. Probes are sent only after a failure: a TLS handshake, a login, and an HTTP
request. The login has no password, and a user that does not exist on any server.

Source: documented: the banners of SSH (RFC 4253, 4.2), HTTP (RFC 9112, 4), SMTP (RFC 5321, 4.2), FTP (RFC 959, 5.4),
POP3 (RFC 1939, 3), IMAP (RFC 9051, 7.1), VNC (RFC 6143, 7.1.1), TLS (RFC 8446, 5.1) and MySQL (Protocol::HandshakeV10);
the header of DRDA's messages (DDM Reference, DSS). observed: the first bytes of a login reply of SQLI.
"""

from __future__ import annotations

import asyncio
from typing import Final

from aioifx.channel import Channel
from aioifx.client.config.addresses import Address
from aioifx.client.connect.transport import open_channel
from aioifx.diagnosis.certificates import speaks_tls
from aioifx.diagnosis.report import DiagnosisChange
from aioifx.errors import ConnectError
from aioifx.wire.handshake import LoginRequest, login_frame, put_login
from aioifx.wire.opcodes import LoginType
from aioifx.wire.outbox import Outbox

SQLI: Final = "SQLI"
DRDA: Final = "DRDA"
TLS: Final = "TLS"
HTTP: Final = "HTTP"

_BANNERS: Final = (
    (b"SSH-", "SSH"),
    (b"HTTP/", HTTP),
    (b"<!DOCTYPE", HTTP),
    (b"<html", HTTP),
    (b"220", "SMTP or FTP"),
    (b"+OK", "POP3"),
    (b"* OK", "IMAP"),
    (b"RFB ", "VNC"),
    (b"\x15\x03", TLS),
)
_LOGIN_REPLIES: Final = frozenset({LoginType.ACCEPT, LoginType.REJECT, LoginType.REDIRECT})
_FAMILIES: Final = (0x3C, 0x3D)
_DRDA_MAGIC: Final = 0xD0
"""The third byte of each message of DRDA."""

SQLI_PORT: Final = (
    "the port of the server's onsoctcp line (or onsocssl, with ssl=True) in its sqlhosts file; usually 9088"
)


def protocol_of(first: bytes) -> str:
    """The name of the protocol that starts with *first*; empty if it is unknown."""
    for banner, name in _BANNERS:
        if first.startswith(banner):
            return name
    if len(first) > 3 and first[2] in _LOGIN_REPLIES and first[3] in _FAMILIES:
        return SQLI
    if first[2:3] == bytes([_DRDA_MAGIC]):
        return DRDA
    if first[3:5] == b"\0\x0a":
        return "MySQL"
    return ""


def changes_for(protocol: str) -> tuple[DiagnosisChange, ...]:
    """The changes if *protocol* listens instead of SQLI."""
    if protocol == TLS:
        return (DiagnosisChange("ssl", "True: the port requires TLS"),)
    if protocol == DRDA:
        return (DiagnosisChange("port", f"{SQLI_PORT}; this one is of a drsoctcp line"),)
    return (DiagnosisChange("port", SQLI_PORT),)


def shown(first: bytes) -> str:
    """The beginning of what a peer sent, for people."""
    return repr(bytes(first[:24]))[1:]


BANNER_WAIT: Final = 0.25
"""Seconds within which a server that speaks first does so; SQLI's waits for the client."""

_MAX_FIRST: Final = 64
_STRANGER: Final = b"aioifx_doctor"
"""The user of a login that only tells whether SQLI is spoken."""


class ListeningChannel(Channel):
    """Keeps the first bytes that arrive."""

    def __init__(self) -> None:
        super().__init__()
        self.first = b""
        self.heard = asyncio.Event()
        """Set once bytes have arrived, or the peer has closed the connection."""
        self.lost_by: Exception | None = None
        """Why the connection was lost, if it was not closed in order."""

    def data_received(self, data: bytes) -> None:
        self.first = (self.first + data)[:_MAX_FIRST]
        self.heard.set()
        super().data_received(data)

    def eof_received(self) -> bool:
        self.heard.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost_by = exc
        self.heard.set()
        super().connection_lost(exc)

    async def listen(self, seconds: float) -> bytes:
        """The first bytes; empty if none have arrived within *seconds*, or before the peer closed the connection."""
        try:
            async with asyncio.timeout(seconds):
                await self.heard.wait()
        except TimeoutError:
            pass
        return self.first


async def open_listening(address: Address, ips: list[str]) -> ListeningChannel:
    """A channel over plain TCP.

    Raises:
        ConnectError: nothing accepts the connection.
    """
    channel = await open_channel(address, ips=ips, factory=ListeningChannel)
    assert isinstance(channel, ListeningChannel)
    return channel


async def identify(address: Address, ips: list[str], *, tried_tls: bool, seconds: float) -> str:
    """The protocol of a port that did not answer as expected; empty if it stays unknown.

    Args:
        tried_tls: whether TLS was tried, rather than a login.
        seconds: for each question.
    """
    http = _protocol(address, ips, b"GET / HTTP/1.0\r\n\r\n", seconds)
    if tried_tls:
        answers = await asyncio.gather(_protocol(address, ips, _stranger(address), seconds), http)
        return next(filter(None, answers), "")
    has_tls, spoken = await asyncio.gather(speaks_tls(address, ips, seconds), http)
    return TLS if has_tls else spoken


async def _protocol(address: Address, ips: list[str], question: bytes, seconds: float) -> str:
    """The protocol of the answer to *question*, which is sent over plain TCP."""
    try:
        async with asyncio.timeout(seconds):
            channel = await open_listening(address, ips)
    except (ConnectError, TimeoutError):
        return ""
    try:
        channel.send(question)
        return protocol_of(await channel.listen(seconds))
    finally:
        channel.abort()


def _stranger(address: Address) -> bytes:
    outbox = Outbox()
    put_login(outbox, login_frame(LoginRequest(_STRANGER, b"", address.server.encode("utf-8"))), b"")
    return outbox.detach()
