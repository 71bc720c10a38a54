"""PAM messages: those of JDBC's recordings, put back byte for byte; anything else ends in an error of ours."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.errors import ConnectionLost, ProtocolError
from aioifx.wire import challenges, session_requests
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.challenges import Challenge, PamReply, read_pam_reply
from aioifx.wire.completion import ServerError, put_error
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.outbox import Outbox
from aioifx.wire.requests import put_eot, read_request
from aioifx.wire.session_requests import Ack, Info, PamResponse, Protocols
from tests.feeding import cuts, feed, feed_all
from tests.wire.frames import frames
from tests.wire.putting import put_group

DIALECT = Capabilities()


def reading(inbox: Inbox) -> Parser[PamReply]:
    return read_pam_reply(inbox, DIALECT)


def bytes_of(reply: PamReply) -> bytes:
    outbox = Outbox()
    for challenge in reply.challenges:
        challenges.put_challenge(outbox, challenge)
    if reply.error is not None:
        put_error(outbox, DIALECT, reply.error)
    if reply.is_accepted:
        challenges.put_accept(outbox)
    if reply.is_refused:
        session_requests.put_exit(outbox)
    else:
        put_eot(outbox)
    return outbox.detach()


def replies_in(data: bytes) -> list[PamReply]:
    """The groups in *data*, each with the same result however it is cut."""
    found: list[PamReply] = []
    while data:
        reply, _, unread = feed_all(reading, [data])
        group, data = data[: len(data) - unread], data[len(data) - unread :]
        assert all(feed(reading, chunks)[0] == reply for chunks in cuts(group))
        assert bytes_of(reply) == group
        found.append(reply)
    return found


# Law (transcripts).


def test_what_jdbc_accepts_is_read_and_put_back_byte_for_byte() -> None:
    found = [
        replies_in(frame.data)
        for frame in frames("pam15")
        if frame.side == "S" and frame.data[:2] == b"\0\x81"
    ]
    accepted = PamReply(is_accepted=True)
    assert found == [
        [PamReply((Challenge(4, b"info"),)), accepted],
        [PamReply((Challenge(1, b"p: "),))],
        [PamReply((Challenge(4, b"expires soon"),)), accepted],
    ]


def test_what_jdbc_sends_is_read_and_put_back_byte_for_byte() -> None:
    names: list[type] = []
    for frame in frames("pam15"):
        if frame.side == "C":
            found = [
                feed(lambda inbox: read_request(inbox, DIALECT), chunks)[0] for chunks in cuts(frame.data)
            ]
            assert all(messages == found[0] for messages in found)
            outbox = Outbox()
            put_group(outbox, DIALECT, found[0])
            assert outbox.detach() == frame.data
            names += [type(message) for message in found[0]]
    assert (names.count(Protocols), names.count(Ack), names.count(PamResponse), names.count(Info)) == (
        3,
        2,
        1,
        3,
    )


def test_the_representation_of_an_answer_does_not_show_it() -> None:
    assert "secret" not in repr(PamResponse(b"secret")) + str([PamResponse(b"secret")])


# Law (round trip).


@given(
    st.lists(st.builds(Challenge, st.integers(-(2**15), 2**15 - 1), st.binary(max_size=70)), max_size=4),
    st.booleans(),
    st.booleans(),
    st.none() | st.just(ServerError(-952, 0, 0, "usr", "", "")),
)
def test_any_group_is_read_as_it_was_put(
    found: list[Challenge], is_accepted: bool, is_refused: bool, error: ServerError | None
) -> None:
    reply = PamReply(tuple(found), is_accepted, is_refused, error)
    assert replies_in(bytes_of(reply)) == [reply]


# Law (errors).


@pytest.mark.parametrize("data", ["000f", "00810001ffff00", "0081", "0082", "ffff", "000e0000"])
def test_anything_else_is_an_error_of_ours(data: str) -> None:
    with pytest.raises((ProtocolError, ConnectionLost)):
        feed(reading, [bytes.fromhex(data)], eof=True)


@given(st.binary(max_size=60))
def test_any_bytes_end_in_a_reply_or_an_error_of_ours(data: bytes) -> None:
    try:
        reply, _, _ = feed_all(reading, [data], eof=True)
    except (ProtocolError, ConnectionLost):
        return
    assert isinstance(reply, PamReply)


@pytest.mark.parametrize("size", [1, 70_000])
def test_a_group_without_end_is_cut(size: int) -> None:
    one = bytes_of(PamReply((Challenge(4, b"x" * 30_000),)))[:-2]
    data = one * 10
    with pytest.raises(ProtocolError):
        feed(reading, [data[at : at + size] for at in range(0, len(data), size)])
