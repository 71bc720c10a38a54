"""Dialects: which layouts follow from an offer and a reply."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.wire.capabilities import OFFERED, SERVER_MASK, Capabilities, has_bit
from tests.wire.frames import load

MASKS = [bytes.fromhex(entry["hex"]) for entry in load("protocols_masks")["frames"]]
OLD_OFFER, JDBC_4_OFFER, JDBC_15_OFFER, IDS_15, IDS_14, IDS_12 = MASKS

FLAGS = {field.name for field in fields(Capabilities)} - {"encoding"}


def flags(capabilities: Capabilities) -> set[str]:
    return {name for name in FLAGS if getattr(capabilities, name)}


def test_bits_are_counted_from_the_most_significant_one() -> None:
    assert [bit for bit in range(24) if has_bit(bytes([0x80, 0x01, 0x10]), bit)] == [0, 15, 19]


def test_bits_after_the_end_of_a_mask_are_not_set() -> None:
    assert not has_bit(b"", 0)
    assert not has_bit(b"\xff", 8)


def test_our_offer_and_our_server_are_jdbc_15_and_ids_15() -> None:
    assert OFFERED == JDBC_15_OFFER
    assert SERVER_MASK == IDS_15


def test_the_default_dialect_is_what_eight_bytes_agree_on_with_every_release() -> None:
    # Proved on 12.10, 14.10 and 15 by another client.
    for reply in (IDS_12, IDS_14, IDS_15):
        assert Capabilities.negotiated(JDBC_4_OFFER, reply) == Capabilities()


def test_nine_bytes_widen_rows_and_row_ids_on_15_only() -> None:
    wide = flags(Capabilities()) | {"long_tuple", "long_rowid"}
    assert flags(Capabilities.negotiated(JDBC_15_OFFER, IDS_15)) == wide
    assert Capabilities.negotiated(JDBC_15_OFFER, IDS_14) == Capabilities()
    assert Capabilities.negotiated(JDBC_15_OFFER, IDS_12) == Capabilities()


def test_seven_bytes_keep_every_server_on_the_short_layouts() -> None:
    for reply in (IDS_12, IDS_14, IDS_15):
        short = flags(Capabilities.negotiated(OLD_OFFER, reply))
        assert flags(Capabilities()) - short == {"savepoints", "long_text"}
        assert short < flags(Capabilities())


def test_no_public_server_asks_for_pam_and_one_that_did_would_be_heard() -> None:
    assert not any(Capabilities.negotiated(OFFERED, reply).pam for reply in (IDS_12, IDS_14, IDS_15))
    asking = bytearray(IDS_15)
    asking[5] |= 0x08
    assert Capabilities.negotiated(OFFERED, bytes(asking)).pam


@given(st.binary(max_size=12), st.binary(max_size=12))
def test_an_agreement_is_symmetric_and_never_more_than_either_side_offers(left: bytes, right: bytes) -> None:
    negotiated = Capabilities.negotiated(left, right)
    assert negotiated == Capabilities.negotiated(right, left)
    assert flags(negotiated) <= flags(Capabilities.negotiated(left, b"\xff" * 12))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_the_code_set_is_handed_through(encoding: str) -> None:
    assert Capabilities.negotiated(OFFERED, SERVER_MASK, encoding).encoding == encoding
