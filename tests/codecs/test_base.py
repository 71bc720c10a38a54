from __future__ import annotations

import pytest

from aioifx.codecs import base
from aioifx.codecs.base import ENVELOPE_HEAD, MAX_SIZE, VARCHAR_HEAD, Codec, Kind, sized
from aioifx.errors import DataError


def codec(head: int, width: int = 0) -> Codec:
    return Codec(Kind.OTHER, head, width, lambda field: field, lambda value: value)


def test_a_varchar_head_is_one_unsigned_byte() -> None:
    assert codec(VARCHAR_HEAD).rest(b"\xff") == 255


def test_an_envelope_head_is_an_indicator_and_four_bytes() -> None:
    assert codec(ENVELOPE_HEAD).rest(bytes.fromhex("01 00000203")) == 0x203


def test_an_envelope_size_is_never_negative() -> None:
    assert codec(ENVELOPE_HEAD).rest(bytes.fromhex("00 ffffffff")) == 0xFFFFFFFF


def test_data_is_refused_from_the_size_that_would_be_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_SIZE.to_bytes(4, "big", signed=True) == bytes.fromhex("7fffffff")
    monkeypatch.setattr(base, "MAX_SIZE", 3)
    assert sized(b"abc") == b"\0\0\0\3abc"
    with pytest.raises(DataError, match=r"^value of 4 bytes: expected at most 3$"):
        sized(b"abcd")


@pytest.mark.parametrize("width", [1, 56])
def test_a_field_without_head_has_its_width(width: int) -> None:
    assert codec(0, width).rest(b"") == width


def test_codecs_are_distinguished_by_identity() -> None:
    # The caches of generated code are keyed by codecs: equal fields with other functions are another codec.
    assert codec(0, 4) != codec(0, 4)
