"""Fields: CHAR, INT8 and typed values, both directions."""

from __future__ import annotations

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.errors import ProgrammingError, ProtocolError
from aioifx.wire.capabilities import Capabilities
from aioifx.wire.fields import (
    BindEntry,
    is_named,
    put_entry,
    put_int8,
    put_long_char,
    read_block,
    read_entry,
    read_long_char,
    take_int8,
)
from aioifx.wire.inbox import Inbox
from aioifx.wire.outbox import Outbox
from tests.feeding import cuts, feed, outcome
from tests.wire.strategies import entries

SHORT, LONG = Capabilities(long_text=False), Capabilities(long_text=True)


@given(st.binary(max_size=60), st.sampled_from([SHORT, LONG]))
def test_long_text_is_read_again_in_both_layouts(text: bytes, capabilities: Capabilities) -> None:
    outbox = Outbox()
    put_long_char(outbox, capabilities, text)
    for chunks in cuts(outbox.detach()):
        assert feed(lambda inbox: read_long_char(inbox, capabilities), chunks)[0] == text


def test_text_whose_size_does_not_fit_is_refused() -> None:
    class Large(bytes):
        def __len__(self) -> int:
            return 2**31

    outbox = Outbox()
    put_long_char(outbox, SHORT, bytes(0xFFFF))
    outbox.detach()
    for capabilities, text in ((SHORT, bytes(0x10000)), (LONG, Large())):
        with pytest.raises(ProgrammingError, match=r"^text of \d+ bytes: expected at most \d+$"):
            put_long_char(outbox, capabilities, text)
    assert not outbox.data


@pytest.mark.parametrize("size", [-1, -(2**31), 2**31 - 1])
def test_a_block_of_impossible_size_is_a_protocol_error(size: int) -> None:
    assert outcome(lambda inbox: read_block(inbox, size), [b"abc"]).error is ProtocolError


# Examples of the INT8 form, from a server.
@pytest.mark.parametrize(
    ("value", "data"),
    [
        (2001, "0001 000007d1 00000000"),
        (10, "0001 0000000a 00000000"),
        (-42, "ffff 0000002a 00000000"),
        (0, "0001 00000000 00000000"),
        (2**40, "0001 00000000 00000100"),
        (-(2**63), "ffff 00000000 80000000"),
    ],
)
def test_an_int8_is_sign_low_and_high(value: int, data: str) -> None:
    outbox = Outbox()
    put_int8(outbox, value)
    inbox = Inbox()
    inbox.feed(outbox.detach())
    assert bytes(inbox.data) == bytes.fromhex(data)
    assert take_int8(inbox) == value


def test_owner_and_name_travel_beside_extended_types_only() -> None:
    named = {code for code in range(64) if is_named(code)}
    assert named == set(range(19, 64)) - {52, 53}
    assert not is_named(-1)


# Complete entries, as JDBC and other clients bound them.
@pytest.mark.parametrize(
    ("data", "entry"),
    [
        ("0000 ffff 0000", BindEntry(0, b"", b"", -1, 0, b"")),
        ("0000 0000 0000 0003 616263 00", BindEntry(0, b"", b"", 0, 0, b"abc")),
        ("0000 0000 0000 0000", BindEntry(0, b"", b"", 0, 0, b"")),
        ("0002 0000 0a00 00000007", BindEntry(2, b"", b"", 0, 0x0A00, pack(">i", 7))),
        ("0034 0000 1300 0000010000000000", BindEntry(52, b"", b"", 0, 0x1300, pack(">q", 2**40))),
        ("0005 0000 0602 0004 c201172d", BindEntry(5, b"", b"", 0, 0x0602, bytes.fromhex("c201172d"))),
        (
            "002d 0000 0007 626f6f6c65616e 00 0000 0100 00000001 01 00",
            BindEntry(45, b"", b"boolean", 0, 0x0100, b"\1"),
        ),
        ("002b 0000 0000 0000 0000 00000001 61 00", BindEntry(43, b"", b"", 0, 0, b"a")),
        ("002b 0000 0008 6c76617263686172 ffff 0000", BindEntry(43, b"", b"lvarchar", -1, 0, b"")),
        ("000c ffff 0000", BindEntry(12, b"", b"", -1, 0, b"")),
    ],
)
def test_a_bound_value_is_as_it_was_seen(data: str, entry: BindEntry) -> None:
    for chunks in cuts(bytes.fromhex(data)):
        assert feed(lambda inbox: read_entry(inbox, Capabilities()), chunks)[0] == entry
    outbox = Outbox()
    put_entry(outbox, entry)
    assert outbox.detach() == bytes.fromhex(data)


@given(st.data(), st.booleans())
def test_a_bound_value_is_read_again(data: st.DataObject, long_rowid: bool) -> None:
    capabilities = Capabilities(long_rowid=long_rowid)
    entry = data.draw(entries(capabilities))
    outbox = Outbox()
    put_entry(outbox, entry)
    for chunks in cuts(outbox.detach()):
        found, parks = feed(lambda inbox: read_entry(inbox, capabilities), chunks)
        assert found == entry
        assert parks <= len(chunks)
