"""A known reply of the login is not parsed again; any other is read as its bytes arrive."""

from __future__ import annotations

import pytest

from aioifx.client.connect.login_replies import read_known
from aioifx.client.connect.login_requests import offered
from aioifx.errors import ConnectionLost, ProtocolError
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.replies import Reply

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
