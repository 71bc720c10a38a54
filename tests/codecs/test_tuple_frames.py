from __future__ import annotations

import pytest

from aioifx.codecs.tuple_frames import TUPLE_FRAME, framed, framed_size, whole_payload, whole_size
from aioifx.errors import ProtocolError

EVEN = bytearray.fromhex("000e 0000 00000002 6162")
ODD = bytearray.fromhex("000e 0000 00000003 616263 00")
DONE = bytearray.fromhex("000f 0000 00000002 6162")
NEGATIVE = bytearray.fromhex("000e 0000 fffffffe 6162")


@pytest.mark.parametrize(("message", "payload"), [(EVEN, b"ab"), (ODD, b"abc")])
@pytest.mark.parametrize("pos", [0, 3])
def test_a_whole_message_has_a_payload(message: bytearray, payload: bytes, pos: int) -> None:
    data = bytearray(pos) + message + DONE
    assert whole_payload(data, pos, len(data)) == payload
    assert whole_size(data, pos, len(data)) == framed_size(payload) == len(message)
    assert framed(payload) == message


@pytest.mark.parametrize("message", [EVEN, ODD])
def test_an_incomplete_message_has_none(message: bytearray) -> None:
    for end in range(len(message)):
        assert whole_payload(message, 0, end) is None
        assert whole_size(message, 0, end) == 0


def test_other_messages_have_none() -> None:
    assert whole_payload(DONE, 0, len(DONE)) is None
    assert whole_size(DONE, 0, len(DONE)) == 0


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ProtocolError, match="SQ_TUPLE of -2 bytes"):
        whole_payload(NEGATIVE, 0, len(NEGATIVE))
    assert whole_size(NEGATIVE, 0, len(NEGATIVE)) < len(EVEN)


def test_a_frame_begins_with_the_tag_and_no_warnings() -> None:
    assert TUPLE_FRAME.prefix + (2).to_bytes(4, "big") + TUPLE_FRAME.suffix == EVEN[:8]
