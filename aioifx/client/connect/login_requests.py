"""Requests of the login, each encoded once for the same options. Never: when they are sent, replies, a password."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from aioifx.codecs.text import CodeSet
from aioifx.wire import requests, session_requests
from aioifx.wire.capabilities import OFFERED, Capabilities
from aioifx.wire.handshake import LoginFrame, LoginRequest, login_frame
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import MAX_REPLY, ReplyReader


def _protocols_request() -> bytes:
    outbox = Outbox()
    session_requests.put_protocols(outbox, OFFERED)
    requests.put_eot(outbox)
    return outbox.detach()


PROTOCOLS: Final = _protocols_request()
"""Offer our capabilities."""


@lru_cache(maxsize=64)
def info_request(environment: tuple[tuple[bytes, bytes], ...]) -> bytes:
    """Set the session's environment."""
    outbox = Outbox()
    session_requests.put_info(outbox, environment)
    requests.put_eot(outbox)
    return outbox.detach()


@lru_cache(maxsize=64)
def login_frame_of(
    code_set: CodeSet,
    user: str,
    server: str,
    environment: tuple[tuple[bytes, bytes], ...],
    process_id: int,
    host: str,
    application: str,
) -> LoginFrame:
    """The login request without its password."""
    encode = code_set.encode
    return login_frame(
        LoginRequest(
            user=encode(user),
            password=b"",  # not part of the frame
            server=encode(server),
            environment=environment,
            process_id=process_id,
            thread_id=0,
            host=host.encode("ascii", "replace"),
            directory=b"/",
            application=encode(application),
        )
    )


@lru_cache(maxsize=64)
def offered(codec: str) -> ReplyReader:
    """Reader of replies until SQ_PROTOCOLS is answered."""
    return ReplyReader(Capabilities(encoding=codec), None, MAX_REPLY)


@lru_cache(maxsize=64)
def negotiated(mask: bytes, codec: str) -> ReplyReader:
    """Reader of replies with the capabilities of both ends."""
    return ReplyReader(Capabilities.negotiated(OFFERED, mask, codec), None, MAX_REPLY)


@lru_cache(maxsize=64)
def dbopen_request(name: str, code_set: CodeSet) -> bytes:
    """Open a database."""
    outbox = Outbox()
    session_requests.put_dbopen(outbox, code_set.encode(name))
    requests.put_eot(outbox)
    return outbox.detach()
