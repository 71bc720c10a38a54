"""The reply to SQ_FETCHBLOB: the pieces in order, however the bytes are cut, and no reply that has no end."""

from __future__ import annotations

from functools import partial
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.errors import ConnectionLost, ProtocolError
from aioifx.wire import blob_replies, completion
from aioifx.wire.blob_replies import BlobReader, read_blob_reply
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.completion import Cost, Done, ServerError
from aioifx.wire.inbox import AT_ONCE, Inbox, Parser
from aioifx.wire.opcodes import Op
from aioifx.wire.outbox import Outbox
from aioifx.wire.replies import Reply
from tests.feeding import Outcome, cuts, feed, feed_all, outcome
from tests.wire.frames import frames
from tests.wire.strategies import damaged

DIALECT = Capabilities()
EOT = b"\0\x0c"


def piece(data: bytes) -> bytes:
    return pack(">HH", 39, len(data)) + data + b"\0" * (len(data) & 1)


def failed(sqlcode: int) -> bytes:
    outbox = Outbox()
    completion.put_error(outbox, DIALECT, ServerError(sqlcode, 0, 0, ""))
    return outbox.detach()


def ended() -> bytes:
    outbox = Outbox()
    completion.put_done(outbox, DIALECT, Done())
    completion.put_cost(outbox, Cost(1, 1))
    return outbox.detach()


def parser_into(taken: list[bytes], inbox: Inbox) -> Parser[Reply]:
    return BlobReader(DIALECT, taken.append).parser(inbox)


def read(data: bytes) -> tuple[list[bytes], Reply]:
    taken: list[bytes] = []
    return taken, feed(partial(parser_into, taken), [data])[0]


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.booleans())
def test_the_pieces_arrive_in_order_however_they_are_cut(value: list[bytes], has_end: bool) -> None:
    answer = b"".join(map(piece, [*value, b""])) + (ended() if has_end else b"") + EOT
    for chunks in cuts(answer):
        taken: list[bytes] = []
        reply, _ = feed(partial(parser_into, taken), chunks)
        assert taken == value
        assert (reply.done is not None) is has_end


@pytest.mark.parametrize(
    "frame",
    [
        frame
        for frame in (*frames("lob"), *frames("objects15"))
        if frame.side == "S" and frame.data.startswith(b"\0\x27")
    ],
    ids=repr,
)
def test_a_value_that_jdbc_accepts_is_read(frame: Any) -> None:
    taken: list[bytes] = []
    reader = BlobReader(frame.capabilities, taken.append)
    assert feed(reader.parser, [frame.data])[0].error is None
    assert len(b"".join(taken)) in (0, 5, 6, 10, 40, 3000)


@pytest.mark.parametrize("before", [b"", piece(b"ab")], ids=["at once", "between pieces"])
def test_an_error_ends_a_value(before: bytes) -> None:
    taken, reply = read(before + failed(-606) + EOT)
    assert taken == ([b"ab"] if before else [])
    assert reply.error is not None
    assert reply.error.sqlcode == -606


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (EOT, "without its end"),
        (piece(b"ab") + EOT, "without its end"),
        (piece(b"") + piece(b"") + EOT, "not requested"),
        (piece(b"") + b"\0\x0e" + bytes(8) + EOT, "an unsolicited row arrived"),
        (piece(b"a") + b"\x7f\xff", "unknown message 32767"),
    ],
)
def test_an_impossible_reply_is_a_protocol_error(answer: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        read(answer)


def test_a_value_without_end_stops_at_the_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blob_replies, "MAX_VALUE", 5)
    assert read(piece(b"ab") + piece(b"cde") + piece(b"") + EOT)[0] == [b"ab", b"cde"]
    with pytest.raises(ProtocolError, match="more than 5 bytes"):
        read(piece(b"ab") + piece(b"cdef"))


def test_a_lost_connection_ends_the_wait() -> None:
    inbox = Inbox()
    parser = read_blob_reply(inbox, DIALECT, list[bytes]().append)
    inbox.feed(piece(b"ab"))
    parser.send(None)
    inbox.eof = True
    with pytest.raises(ConnectionLost):
        parser.send(None)


def test_the_session_may_end_instead() -> None:
    taken, reply = read(b"\0\x38")
    assert reply.is_session_ended
    assert taken == []


@given(damaged(st.just(piece(b"abc") + piece(b"d") + piece(b"") + ended() + EOT)) | st.binary(max_size=60))
def test_any_bytes_have_one_meaning_however_they_are_cut(data: bytes) -> None:
    seen: list[tuple[Outcome, list[bytes]]] = []
    for chunks in cuts(data):
        taken: list[bytes] = []
        seen.append((outcome(partial(parser_into, taken), chunks, eof=True), taken))
    assert all(one == seen[0] for one in seen)
    inbox, taken = Inbox(), []
    inbox.feed(data)
    reply = BlobReader(DIALECT, taken.append).try_read(inbox)
    if reply is None:
        assert (inbox.pos, taken) == (0, [])
    else:
        again: list[bytes] = []
        parser = partial(parser_into, again)
        assert (reply, inbox.unread) == feed_all(parser, [data])[::2]
        assert taken == again


@pytest.mark.parametrize("value", [[], [b"a"], [b"ab", b"c"]], ids=["empty", "one piece", "two pieces"])
@pytest.mark.parametrize("after", [b"", b"\0\x27"], ids=["alone", "before more"])
def test_a_whole_reply_is_read_at_once(value: list[bytes], after: bytes) -> None:
    answer = b"".join(map(piece, [*value, b""])) + ended() + EOT
    taken: list[bytes] = []
    reader = BlobReader(DIALECT, taken.append)
    inbox = Inbox()
    for end in range(len(answer)):
        inbox.data[:] = answer[:end]
        assert reader.try_read(inbox) is None
        assert (inbox.pos, taken) == (0, [])
    inbox.data[:] = answer + after
    reply = reader.try_read(inbox)
    assert reply is not None
    assert (reply.done, reply.cost, inbox.pos, taken) == (Done(), Cost(1, 1), len(answer), value)


@pytest.mark.parametrize(
    "answer",
    [
        piece(b"ab") + failed(-606) + EOT,
        piece(b"ab") + piece(b"") + piece(b"") + ended() + EOT,
        piece(b"abcdef") + piece(b"") + ended() + EOT,
        piece(b"ab") + piece(b"") + EOT,
    ],
    ids=["an error", "two values", "too large", "no end of a statement"],
)
def test_a_reply_of_another_form_is_left_to_the_parser(
    answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blob_replies, "MAX_VALUE", 5)
    taken: list[bytes] = []
    inbox = Inbox()
    inbox.feed(answer)
    assert BlobReader(DIALECT, taken.append).try_read(inbox) is None
    assert (inbox.pos, taken) == (0, [])


def test_a_reply_of_many_small_pieces_is_left_to_the_parser() -> None:
    few, many = (piece(b"ab") * count + piece(b"") + ended() + EOT for count in (AT_ONCE, 100 * AT_ONCE))
    for data, at_once in [(few, True), (many, False)]:
        inbox, taken = Inbox(), list[bytes]()
        inbox.feed(data)
        assert (BlobReader(DIALECT, taken.append).try_read(inbox) is not None) is at_once
        assert bool(taken) is at_once


def test_a_file_in_the_middle_of_a_value_is_a_protocol_error() -> None:
    asks = pack(">hhHH", Op.FILE, 3, Op.FILE_WRITE, 2) + b"xy" + EOT
    for answer in (piece(b"ab") + asks, piece(b"ab") + piece(b"") + asks):
        with pytest.raises(ProtocolError, match="client's file"):
            read(answer)
