"""The inbox: one place to wait, and nothing of what was read is kept."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx._speedups.inbox import PARK
from aioifx.errors import ConnectionLost, ProtocolError
from aioifx.wire.inbox import Inbox, padded
from tests.feeding import StillParked, cuts, feed, outcome


async def three_bytes(inbox: Inbox) -> bytes:
    await inbox.need(3)
    return inbox.take(3)


def test_need_parks_until_enough_is_here() -> None:
    inbox = Inbox()
    parser = three_bytes(inbox)
    assert parser.send(None) is PARK
    inbox.feed(b"ab")
    assert parser.send(None) is PARK
    inbox.feed(b"cd")
    with pytest.raises(StopIteration) as stop:
        parser.send(None)
    assert stop.value.value == b"abc"
    assert inbox.unread == 1


def test_need_does_not_park_for_what_is_here() -> None:
    inbox = Inbox()
    inbox.feed(b"abc")
    with pytest.raises(StopIteration):
        three_bytes(inbox).send(None)


def test_need_of_nothing_never_parks() -> None:
    async def nothing(inbox: Inbox) -> str:
        await inbox.need(0)
        return "done"

    assert feed(nothing, []) == ("done", 0)


async def test_awaited_by_a_task_a_parser_fails_at_once_instead_of_spinning() -> None:
    with pytest.raises(RuntimeError, match="bad yield"):
        await three_bytes(Inbox())


def test_end_of_stream_in_the_middle_is_connection_lost() -> None:
    assert outcome(three_bytes, [b"ab"], eof=True).error is ConnectionLost
    assert outcome(three_bytes, [b"abc"], eof=True).value == b"abc"


def test_waiting_beyond_the_limit_is_a_protocol_error() -> None:
    async def limited(inbox: Inbox) -> bytes:
        inbox.limit = 2
        await inbox.need(2)
        inbox.take(2)
        await inbox.need(1)
        return inbox.take(1)

    assert outcome(limited, [b"ab"]).error is ProtocolError


def test_what_came_in_one_piece_is_not_measured_by_need() -> None:
    async def limited(inbox: Inbox) -> bytes:
        await inbox.need(1)
        inbox.limit = 2
        return await three_bytes(inbox)

    assert feed(limited, [b"abc"])[0] == b"abc"


def test_numbers_are_big_endian_and_signed_where_they_say_so() -> None:
    inbox = Inbox()
    inbox.feed(bytes.fromhex("ffff ffff fffffffe fffffffe fffffffffffffffd fe"))
    numbers = [inbox.i16(), inbox.u16(), inbox.i32(), inbox.u32(), inbox.i64(), inbox.u8()]
    assert numbers == [-1, 65535, -2, 2**32 - 2, -3, 254]
    assert inbox.unread == 0


def test_peeking_consumes_nothing() -> None:
    inbox = Inbox()
    inbox.feed(bytes.fromhex("000e 0000 fffffff6"))
    assert (inbox.peek_i32(4), inbox.consumed) == (-10, 0)


def test_what_was_consumed_is_dropped_by_the_next_feed_and_still_counted() -> None:
    inbox = Inbox()
    inbox.feed(b"abcdef")
    inbox.skip(4)
    assert (len(inbox.data), inbox.consumed, inbox.unread) == (6, 4, 2)
    inbox.feed(b"g")
    assert (bytes(inbox.data), inbox.pos, inbox.consumed, inbox.unread) == (b"efg", 0, 4, 3)


def test_a_large_piece_that_was_consumed_can_be_given_back_without_more_coming() -> None:
    inbox = Inbox()
    inbox.feed(bytes(8 * 1024 * 1024) + b"ab")
    inbox.skip(8 * 1024 * 1024)
    inbox.feed(b"")
    assert (bytes(inbox.data), inbox.pos, inbox.consumed) == (b"ab", 0, 8 * 1024 * 1024)
    assert sys.getsizeof(inbox.data) < 200, "the allocation, not only the length"


def test_feeding_gives_back_the_memory_of_what_was_consumed() -> None:
    inbox = Inbox()
    inbox.feed(bytes(8 * 1024 * 1024))
    inbox.skip(8 * 1024 * 1024)
    inbox.feed(b"ab")
    assert sys.getsizeof(inbox.data) < 200


def test_taken_bytes_do_not_change_when_more_comes() -> None:
    inbox = Inbox()
    inbox.feed(bytearray(b"abc"))
    taken = inbox.take(2)
    inbox.feed(memoryview(b"xyz"))
    assert (taken, inbox.take(4)) == (b"ab", b"cxyz")


@given(st.lists(st.integers(0, 9), max_size=8))
def test_any_cut_gives_the_same_pieces_and_parks_at_most_once_for_a_chunk(sizes: list[int]) -> None:
    data = bytes(range(sum(sizes)))

    async def pieces(inbox: Inbox) -> list[bytes]:
        found = []
        for size in sizes:
            await inbox.need(size)
            found.append(inbox.take(size))
        return found

    whole = feed(pieces, [data])[0]
    assert b"".join(whole) == data
    for chunks in cuts(data):
        found, parks = feed(pieces, chunks)
        assert found == whole
        assert parks <= len(chunks)


def test_a_test_that_feeds_too_little_fails() -> None:
    with pytest.raises(StillParked, match="waits behind 0 bytes, 2 unread"):
        feed(three_bytes, [b"ab"])
    with pytest.raises(AssertionError, match="1 bytes are left"):
        feed(three_bytes, [b"ab", b"cd"])
    with pytest.raises(AssertionError, match="1 bytes are left"):
        feed(three_bytes, [b"abc", b"d"])


@pytest.mark.parametrize(("size", "even"), [(0, 0), (1, 2), (2, 2), (7, 8), (65535, 65536)])
def test_padded_is_the_next_even_number(size: int, even: int) -> None:
    assert padded(size) == even
