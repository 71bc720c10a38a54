"""The outbox: every form of a field, written out by hand."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.wire.fields import read_char
from aioifx.wire.inbox import Inbox
from aioifx.wire.outbox import Outbox
from tests.feeding import feed


def test_integers_are_big_endian() -> None:
    outbox = Outbox()
    outbox.u8(254)
    outbox.i16(-1)
    outbox.u16(65535)
    outbox.i32(-2)
    outbox.u32(2**32 - 2)
    outbox.i64(-3)
    assert outbox.detach() == bytes.fromhex("fe ffff ffff fffffffe fffffffe fffffffffffffffd")


def test_a_number_that_does_not_fit_is_refused_and_not_cut() -> None:
    outbox = Outbox()
    for put, value in ((outbox.i16, 2**15), (outbox.u16, -1), (outbox.i32, 2**31), (outbox.i64, 2**63)):
        with pytest.raises(struct.error):
            put(value)
    with pytest.raises(ValueError, match="byte must be"):
        outbox.u8(256)
    assert len(outbox) == 0


def test_detach_empties_the_outbox() -> None:
    outbox = Outbox()
    outbox.raw(b"abc")
    assert (len(outbox), outbox.detach(), outbox.detach(), len(outbox)) == (3, b"abc", b"", 0)


def test_detached_bytes_do_not_change() -> None:
    outbox = Outbox()
    outbox.raw(bytearray(b"abc"))
    taken = outbox.detach()
    outbox.raw(b"xyz")
    assert taken == b"abc"


def test_char_pads_odd_text_and_does_not_count_the_pad() -> None:
    outbox = Outbox()
    outbox.char(b"abc")
    outbox.char(b"ab")
    outbox.char(b"")
    assert outbox.detach() == bytes.fromhex("0003 61626300  0002 6162  0000")


def test_long_char_counts_with_an_int() -> None:
    outbox = Outbox()
    outbox.long_char(b"abc")
    assert outbox.detach() == bytes.fromhex("00000003 61626300")


def test_char_holds_64_kilobytes() -> None:
    outbox = Outbox()
    outbox.char(b"x" * 65535)
    assert len(outbox) == 2 + 65536
    with pytest.raises(struct.error):
        outbox.char(b"x" * 65536)


def test_a_block_is_padded_and_not_counted() -> None:
    outbox = Outbox()
    outbox.block(b"abc")
    outbox.block(b"de")
    assert outbox.detach() == b"abc\0de"


def test_a_login_text_counts_its_nul_and_is_not_padded() -> None:
    outbox = Outbox()
    outbox.login_text(b"sqli")
    outbox.login_text(b"")
    assert outbox.detach() == bytes.fromhex("0005 73716c6900  0001 00")


def test_a_fixed_field_is_filled_with_nuls() -> None:
    outbox = Outbox()
    outbox.fixed(b"ol", 8)
    assert outbox.detach() == b"ol\0\0\0\0\0\0"


def test_a_length_is_patched_where_it_stands() -> None:
    outbox = Outbox()
    outbox.raw(b"..")
    outbox.u16(0)
    outbox.raw(b"abc")
    outbox.patch_u16(2, 7)
    assert outbox.detach() == b"..\0\7abc"


@given(st.binary(max_size=50), st.binary(max_size=5))
def test_a_char_is_read_again_whatever_follows(text: bytes, rest: bytes) -> None:
    outbox = Outbox()
    outbox.char(text)
    inbox = Inbox()
    inbox.feed(outbox.detach() + rest)
    assert feed(lambda _: read_char(inbox), [])[0] == text
    assert inbox.take(inbox.unread) == rest
