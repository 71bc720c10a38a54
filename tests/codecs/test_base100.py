from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aioifx.codecs.base100 import Number, pack, pack_field, pairs_of, unpack
from aioifx.errors import DataError

PAIRS = st.lists(st.integers(0, 99), min_size=1, max_size=17).map(bytes)


@given(st.booleans(), st.integers(-64, 63), PAIRS)
def test_unpack_reverses_pack(negative: bool, exponent: int, pairs: bytes) -> None:
    # Law: round trip, every pair kept.
    number = Number(negative and bool(pairs.strip(b"\0")), exponent, pairs)
    data = pack(number)
    if data.strip(b"\0"):  # otherwise it is the NULL pattern
        assert unpack(data) == number


@given(st.lists(st.tuples(st.booleans(), st.integers(-63, 63), PAIRS), min_size=2, max_size=2))
def test_the_encoding_sorts_as_the_numbers_do(numbers: list[tuple[bool, int, bytes]]) -> None:
    def value(negative: bool, exponent: int, pairs: bytes) -> Fraction:
        digits = sum(pair * 100**place for place, pair in enumerate(reversed(pairs.ljust(17, b"\0"))))
        return Fraction(-digits if negative else digits) * Fraction(100) ** exponent

    (one, two) = numbers
    order = value(*one) < value(*two)
    fields = []
    for negative, exponent, pairs in numbers:
        short = pairs.lstrip(b"\0")
        if not short:
            fields.append(b"\x80".ljust(18, b"\0"))
        elif exponent - len(pairs) + len(short) < -64:
            return
        else:
            fields.append(pack_field(Number(negative, exponent, pairs), 18))
    assert (fields[0] < fields[1]) == order


@pytest.mark.parametrize("size", [1, 2, 18])
def test_all_zero_bytes_are_null(size: int) -> None:
    assert unpack(bytes(size)) is None


def test_a_large_negative_number_that_begins_with_zero_is_not_null() -> None:
    assert unpack(bytes.fromhex("005a" + "00" * 16)) == Number(True, 63, bytes([10]) + bytes(16))


def test_a_byte_above_99_is_refused() -> None:
    with pytest.raises(DataError, match="above 99"):
        unpack(bytes.fromhex("c164"))


def test_a_negative_number_without_digits_is_refused() -> None:
    with pytest.raises(DataError, match="without digits"):
        unpack(bytes.fromhex("3e0000"))


@pytest.mark.parametrize("exponent", [-65, 64])
def test_an_exponent_out_of_range_is_refused(exponent: int) -> None:
    with pytest.raises(DataError, match="exponent"):
        pack(Number(False, exponent, b"\1"))


def test_a_field_drops_leading_zero_pairs() -> None:
    assert pack_field(Number(False, 3, bytes([0, 7, 8])), 4) == bytes.fromhex("c2070800")


def test_a_field_of_zero_is_80_and_zeros() -> None:
    assert pack_field(Number(False, 3, bytes(3)), 4) == bytes.fromhex("80000000")


def test_a_number_that_does_not_fit_its_field_is_refused() -> None:
    with pytest.raises(DataError, match="too many digits"):
        pack_field(Number(False, 2, bytes([1, 2])), 2)


def test_pairs_of_takes_decimal_digits() -> None:
    assert pairs_of("009912") == bytes([0, 99, 12])
