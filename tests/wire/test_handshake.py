"""The handshake: JDBC's logins byte for byte, every server's reply, and peers that are not servers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.errors import ConnectError, ConnectionLost, ProtocolError
from aioifx.wire.handshake import (
    LoginReply,
    LoginRequest,
    login_frame,
    put_login,
    put_login_reply,
    read_login,
    read_login_reply,
)
from aioifx.wire.inbox import Inbox, Parser
from aioifx.wire.opcodes import LoginType
from aioifx.wire.outbox import Outbox
from tests.feeding import cuts, feed, outcome
from tests.wire.frames import frames, load
from tests.wire.strategies import damaged

LOGINS = [frame for file in ("login", "session") for frame in frames(file) if frame.is_login]
REQUESTS = [frame for frame in LOGINS if frame.side == "C"]
REPLIES = [frame for frame in LOGINS if frame.side == "S"]


def request_bytes(login: LoginRequest) -> bytes:
    outbox = Outbox()
    put_login(outbox, login_frame(login), login.password)
    return outbox.detach()


def reply_bytes(reply: LoginReply) -> bytes:
    outbox = Outbox()
    put_login_reply(outbox, reply)
    return outbox.detach()


# Law (transcripts).


def test_every_login_of_jdbc_is_read_and_put_back_byte_for_byte() -> None:
    for frame in REQUESTS:
        for chunks in cuts(frame.data):
            login, parks = feed(read_login, chunks)
            assert request_bytes(login).hex() == frame.data.hex(), frame
            assert parks <= len(chunks)
    assert len(REQUESTS) == 87


def test_a_login_of_jdbc_says_who_it_is() -> None:
    login, _ = feed(read_login, [REQUESTS[0].data])
    assert (login.user, login.password, login.server, login.database) == (b"usr", b"pwd", b"rigsrv", b"")
    assert dict(login.environment) == {
        b"DBPATH": b".",
        b"CLIENT_LOCALE": b"en_US.8859-1",
        b"CLNT_PAM_CAPABLE": b"1",
        b"DBDATE": b"Y4MD-",
        b"IFX_UPDDESC": b"1",
        b"NODEFDAC": b"no",
    }
    assert (login.host, login.thread_id) == (b"vm", 12)


def test_every_answer_that_jdbc_accepts_is_read() -> None:
    for frame in REPLIES:
        found = [feed(read_login_reply, chunks) for chunks in cuts(frame.data)]
        assert all(reply == found[0][0] for reply, _ in found)
        assert all(parks <= len(chunks) for (_, parks), chunks in zip(found, cuts(frame.data), strict=True))
        reply = found[0][0]
        assert (reply.server, reply.warnings, reply.oserror) == (b"rigsrv", 0x14, 0), frame
        assert b"15.0.1.0.3" in reply.version
        rejected = frame.case == "reject_951"
        assert (reply.type, reply.sqlcode) == (
            (LoginType.REJECT, -951) if rejected else (LoginType.ACCEPT, 0)
        )
    assert len(REPLIES) == 87


def test_the_login_of_gbase_is_read() -> None:
    request, reply = [bytes.fromhex(entry["hex"]) for entry in load("gbase8s_login")["frames"]]
    for chunks in cuts(request):
        login, _ = feed(read_login, chunks)
        assert (login.user, login.server) == (b"gbasedbt", b"gbaseserver")
        assert [name for name, _ in login.environment] == [
            b"DBPATH", b"CLNT_PAM_CAPABLE", b"DBDATE", b"IFX_UPDDESC", b"SQLMODE", b"NODEFDAC",
        ]  # fmt: skip
    assert request_bytes(feed(read_login, [request])[0]) == request
    for chunks in cuts(reply):
        answer, _ = feed(read_login_reply, chunks)
        assert answer == LoginReply(
            LoginType.ACCEPT,
            b"GBase Server Version 9.56.FC4G1TL",
            b"Software Serial Number AAA#B000000",
            b"gbaseserver",
            warnings=0x14,
        )


def test_our_reject_and_accept_are_shaped_like_those_of_gbase() -> None:
    # Byte for byte up to the process block, whose content is the server's own.
    recorded = bytes.fromhex(load("gbase8s_login")["frames"][1]["hex"])
    ours = reply_bytes(feed(read_login_reply, [recorded])[0])
    assert ours[2 : recorded.index(b"\0\x6b")] == recorded[2 : recorded.index(b"\0\x6b")]


def test_the_fragments_that_a_scanner_replays_make_a_login() -> None:
    first, second, third, last = [
        bytes.fromhex(entry["hex"]) for entry in load("nmap_informix_1150_constants")["frames"]
    ]
    outbox = Outbox()
    outbox.raw(b"\0\0" + first)
    outbox.login_text(b"usr")
    outbox.login_text(b"pwd")
    outbox.raw(second)
    outbox.login_text(b"srv")
    outbox.raw(third)
    outbox.u16(1)
    outbox.login_text(b"DBPATH")
    outbox.login_text(b".")
    outbox.raw(last)
    outbox.patch_u16(0, len(outbox))
    for chunks in cuts(outbox.detach()):
        login, _ = feed(read_login, chunks)
        assert login == LoginRequest(b"usr", b"pwd", b"srv", ((b"DBPATH", b"."),))


def test_the_beginning_of_a_real_exchange_is_waited_on_and_not_refused() -> None:
    # Only 80 bytes of each message are public.
    request, reply = [bytes.fromhex(entry["hex"]) for entry in load("jdbc_ids15_login_prefix")["frames"]]
    for chunks in cuts(request):
        assert outcome(read_login, chunks).parked
    for chunks in cuts(reply):
        assert outcome(read_login_reply, chunks).parked
        assert outcome(read_login_reply, chunks, eof=True).error is ConnectionLost


def test_the_text_login_of_other_clients_is_refused() -> None:
    # Of the recorder's two decodings the first looks like the head of a binary login; it never travels in that form.
    sent, _, block = [bytes.fromhex(entry["hex"]) for entry in load("csdk_text_login")["frames"]]
    for data in (sent, block):
        for chunks in cuts(data):
            assert outcome(read_login, chunks).error is ProtocolError


# Law (round trip).

word = st.binary(max_size=20).filter(lambda value: not value.endswith(b"\0"))
i16 = st.integers(-(2**15), 2**15 - 1)
i32 = st.integers(-(2**31), 2**31 - 1)
logins = st.builds(
    LoginRequest, word, word, word, st.lists(st.tuples(word, word), max_size=5).map(tuple), i32, i32,
    word, word, word, word,
)  # fmt: skip
results = st.builds(
    LoginReply,
    st.sampled_from([2, 3]),
    word,
    word,
    word,
    i16,
    i16,
    i16.filter(bool),
    st.none(),
    st.integers(0, 2**31 - 1),
)
redirects = st.builds(
    LoginReply,
    st.just(13),
    word,
    word,
    word,
    st.just(0),
    st.just(0),
    st.just(0),
    redirect=word,
    level=st.just(316),
)


@given(logins)
def test_a_login_is_read_again(login: LoginRequest) -> None:
    for chunks in cuts(request_bytes(login)):
        assert feed(read_login, chunks)[0] == login


@given(st.one_of(results, redirects))
def test_an_answer_is_read_again(reply: LoginReply) -> None:
    for chunks in cuts(reply_bytes(reply)):
        assert feed(read_login_reply, chunks)[0] == reply


def test_what_follows_a_login_is_left_alone() -> None:
    inbox = Inbox()
    inbox.feed(REQUESTS[0].data + b"\0\x7e")
    feed(lambda _: read_login(inbox), [])
    assert inbox.take(inbox.unread) == b"\0\x7e"


# Law (garbage).


@given(st.one_of(st.binary(max_size=200), damaged(st.sampled_from(LOGINS).map(lambda frame: frame.data))))
def test_any_bytes_give_a_login_a_park_or_a_protocol_error(data: bytes) -> None:
    for parser_of in (read_login, read_login_reply):
        found = {repr(outcome(parser_of, chunks)) for chunks in cuts(data)}
        assert len(found) == 1
        assert outcome(parser_of, [data]).error in (None, ProtocolError)


@pytest.mark.parametrize("size", range(0, 24))
def test_a_login_shorter_than_its_head_is_refused_at_once(size: int) -> None:
    assert outcome(read_login, [bytes([0, size, 1, 0x3C])]).error is ProtocolError


def test_a_login_whose_fields_go_past_its_size_is_refused() -> None:
    whole = REQUESTS[0].data
    for size in range(24, len(whole)):
        cut = size.to_bytes(2, "big") + whole[2:size]
        assert outcome(read_login, [cut]).error is ProtocolError


# Peers that are not servers.


@pytest.mark.parametrize(
    "banner",
    [
        b"HTTP/1.1 400 Bad Request\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x03\0\2\2\x50",  # an alert of TLS
        b"J\0\0\0\n8.0.36\0",
        b"\0\0\0\0",
        b"\xff\xff\xff\xff",
    ],
)
def test_four_bytes_are_enough_to_recognise_another_protocol(banner: bytes) -> None:
    for chunks in cuts(banner):
        found = outcome(read_login_reply, chunks)
        assert found.error is ProtocolError


def test_an_answer_too_short_to_be_one_is_shown() -> None:
    with pytest.raises(ProtocolError, match="does not speak SQLI: it answered b'no'"):
        feed(read_login_reply, [b"no"], eof=True)


def test_no_answer_at_all_is_a_connect_error() -> None:
    with pytest.raises(ConnectError, match="without an answer"):
        feed(read_login_reply, [], eof=True)


def test_an_answer_that_breaks_off_is_connection_lost() -> None:
    assert outcome(read_login_reply, [REPLIES[0].data[:100]], eof=True).error is ConnectionLost


def test_a_password_is_in_no_repr() -> None:
    login = LoginRequest(b"usr", b"s3cret", b"srv")
    assert "s3cret" not in repr(login)
    assert b"s3cret" in request_bytes(login)


@pytest.mark.parametrize(
    ("parser_of", "data"),
    [(read_login, REQUESTS[0].data), (read_login_reply, REPLIES[0].data)],
    ids=["request", "reply"],
)
def test_an_unknown_block_is_a_protocol_error(
    parser_of: Callable[[Inbox], Parser[object]], data: bytes
) -> None:
    block = b"\0\x6a\0\6" if parser_of is read_login else b"\0\x66" + bytes(6)  # environment, result
    assert data.count(block) == 1
    assert outcome(parser_of, [data.replace(block, b"\0\x63" + block[2:])]).error is ProtocolError
