"""Messages of the login, each encoded or parsed once for the same content. Never: when they are sent, a password.

A server answers all logins of one kind with the same few bytes; the process id in its login reply is that of the
server (assumed). Not parsing them again saves a tenth of a connect's instructions (measured).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeVar

from aioifx.codecs.text import CodeSet
from aioifx.errors import DatabaseError
from aioifx.wire import requests, session_requests
from aioifx.wire.capabilities import OFFERED, Capabilities
from aioifx.wire.handshake import LoginFrame, LoginRequest, login_frame
from aioifx.wire.inbox import Inbox, Parser
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


T = TypeVar("T")

_MAX_KNOWN: Final = 1024
"""Bytes of the longest reply that is remembered."""


async def read_known(read: Callable[[Inbox], Parser[T]], inbox: Inbox) -> T:
    """``await read(inbox)``. The result is shared by equal replies, so it must not be modified."""
    await inbox.arrival()
    count = inbox.unread
    if count <= _MAX_KNOWN:
        data = inbox.peek(count)
        reply: Any = _whole(read, data)
        if reply is not None:
            inbox.skip(count)
            return reply  # type: ignore[no-any-return]
    return await read(inbox)


def known_replies() -> int:
    """The number of replies that were parsed, rather than remembered."""
    return _whole.cache_info().misses


@lru_cache(maxsize=64)
def _whole(read: Callable[[Inbox], Parser[Any]], data: bytes) -> Any:
    """The reply that is exactly *data*; None if *data* is incomplete, malformed or longer."""
    inbox = Inbox()
    inbox.feed(data)
    parser = read(inbox)
    try:
        parser.send(None)
    except StopIteration as end:
        return None if inbox.unread else end.value
    except DatabaseError:
        return None
    parser.close()
    return None
