"""What listens on a port: what it says first, and how it answers other protocols than expected. Never: a password.

Nothing is sent to a port that speaks first. Probes are sent only after a failure: a TLS handshake, a login, and an HTTP
request. The login has no password, and a user that does not exist on any server.
"""

from __future__ import annotations

import asyncio
from typing import Final

from aioifx.channel import Channel
from aioifx.client.config.addresses import Address
from aioifx.client.connect.transport import open_channel
from aioifx.diagnosis.certificates import speaks_tls
from aioifx.diagnosis.protocols import TLS, protocol_of
from aioifx.errors import ConnectError
from aioifx.wire.handshake import LoginRequest, login_frame, put_login
from aioifx.wire.outbox import Outbox

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
