"""The login's requests are encoded once, and the password is in none of the cached ones."""

from __future__ import annotations

import pytest

from aioifx.client.connect.login_messages import (
    PROTOCOLS,
    dbopen_request,
    info_request,
    login_frame_of,
    negotiated,
    offered,
    read_known,
)
from aioifx.codecs.text import code_set_of
from aioifx.errors import ConnectionLost, ProtocolError
from aioifx.wire.capabilities import OFFERED, SERVER_MASK, Capabilities
from aioifx.wire.handshake import put_login
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply

ENVIRONMENT = ((b"DB_LOCALE", b"en_US.819"),)


def login(user: str, password: bytes) -> bytes:
    frame = login_frame_of(code_set_of("en_US.819"), user, "ol_shop", ENVIRONMENT, 7, "host", "app")
    outbox = Outbox()
    put_login(outbox, frame, password)
    return outbox.detach()


def test_a_login_is_encoded_once_for_the_same_user_without_its_password() -> None:
    hits = login_frame_of.cache_info().hits
    first, second, other = login("app", b"secret"), login("app", b"other"), login("ops", b"secret")
    assert login_frame_of.cache_info().hits == hits + 1
    assert b"secret" in first and b"secret" not in second and b"other" in second
    assert b"ops" in other and b"app" in first


def test_the_environment_is_encoded_once() -> None:
    assert info_request(ENVIRONMENT) is info_request(ENVIRONMENT)
    assert b"DB_LOCALE" in info_request(ENVIRONMENT) and b"en_US.819" in info_request(ENVIRONMENT)


def test_each_request_ends_with_eot() -> None:
    for request in (PROTOCOLS, info_request(ENVIRONMENT), dbopen_request("shop", code_set_of("en_US.819"))):
        assert request.endswith(b"\x00\x0c")


def test_capabilities_are_those_of_both_ends() -> None:
    found = negotiated(SERVER_MASK, "cp1252")
    assert found is negotiated(SERVER_MASK, "cp1252")
    assert found.capabilities == Capabilities.negotiated(OFFERED, SERVER_MASK, "cp1252")
    assert found.capabilities.encoding == offered("cp1252").capabilities.encoding == "cp1252"


EOT = b"\x00\x0c"
READ = offered("utf-8").parser


def step(parser: Parser[Reply]) -> Reply | None:
    """The reply, or None while the parser is parked."""
    try:
        parser.send(None)
    except StopIteration as end:
        reply: Reply = end.value
        return reply
    return None


def test_equal_replies_are_parsed_once() -> None:
    inbox = Inbox()
    found: list[Reply | None] = []
    for _ in range(2):
        parser = read_known(READ, inbox)
        assert step(parser) is None
        inbox.feed(EOT)
        found.append(step(parser))
        assert not inbox.unread
    assert isinstance(found[0], Reply) and found[0] is found[1]


def test_a_reply_in_pieces_is_read_as_they_arrive() -> None:
    inbox = Inbox()
    parser = read_known(READ, inbox)
    for byte in EOT[:-1]:
        inbox.feed(bytes([byte]))
        assert step(parser) is None
    inbox.feed(EOT[-1:])
    assert step(parser) == Reply()


@pytest.mark.parametrize("after", [EOT, bytes(2000)], ids=["a reply", "more than is remembered"])
def test_bytes_after_a_reply_stay_unread(after: bytes) -> None:
    inbox = Inbox()
    inbox.feed(EOT + after)
    assert step(read_known(READ, inbox)) == Reply()
    assert inbox.unread == len(after)


def test_a_malformed_reply_is_an_error_each_time() -> None:
    for _ in range(2):
        inbox = Inbox()
        inbox.feed(b"\x7f\xff" + EOT)
        with pytest.raises(ProtocolError, match="unknown message"):
            step(read_known(READ, inbox))


def test_the_end_of_the_stream_is_that_of_the_reply() -> None:
    inbox = Inbox()
    inbox.eof = True
    with pytest.raises(ConnectionLost, match="in the middle of a reply"):
        step(read_known(READ, inbox))
