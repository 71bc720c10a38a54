"""Base-100 numbers, the form of DECIMAL, MONEY, DATETIME and INTERVAL. Never: what such a number stands for.

Layout (observed: native_values_14_10.json; documented: the vendor's decimal.h): one head byte, then pairs of decimal
digits, one pair a byte, most significant first. The head has bit 7 set for numbers that are not negative; its other
bits are 64 + *exponent*, the count of pairs before the point. A negative number is the complement: head
inverted, pairs taken from 99, the last one that is not zero from 100. Every byte zero is NULL; zero itself is 80 00 ...
"""

from __future__ import annotations

from typing import Final, NamedTuple

from aioifx.errors import DataError

_BCD: Final = bytes(int(str(pair), 16) for pair in range(100)) + b"\xff" * 156
"""Pair -> its two digits as a hex byte. Any other byte -> ff, which a number never has."""

_FROM_BCD: Final = bytes(int(f"{byte:02x}") if f"{byte:02x}".isdecimal() else 255 for byte in range(256))
_NINES: Final = bytes(99 - pair if pair < 100 else 255 for pair in range(256))
_PAIRS: Final = bytes(range(100))

NINES_BCD: Final = _NINES.translate(_BCD)
"""Pair -> the digits of 99 - pair, for the front pairs of a negative number."""

LAST_BCD: Final = tuple(f"{100 - pair:02d}" if 0 < pair < 100 else "ff" for pair in range(256))
"""Pair -> the digits of 100 - pair, for the last pair of a negative number."""

BCD: Final = _BCD

MIN_EXPONENT: Final = -64
MAX_EXPONENT: Final = 63

MAX_PAIRS: Final = 16
"""The pairs of the vendor's dec_t; servers answer more with -1226 (observed)."""


class Number(NamedTuple):
    """0.pairs times 100 to the *exponent*."""

    is_negative: bool
    exponent: int
    pairs: bytes

    @property
    def digits(self) -> str:
        """The pairs as decimal digits, two each."""
        return self.pairs.translate(_BCD).hex()


def unpack(data: bytes) -> Number | None:
    """Bytes -> number, with the leading and trailing zero pairs that were sent; None for NULL."""
    if not data.strip(b"\0"):
        return None
    head, pairs = data[0], data[1:]
    if pairs.translate(None, _PAIRS):
        raise DataError("a byte above 99 is not a pair of digits")
    if head & 0x80:
        return Number(False, head - 0xC0, pairs)
    front = pairs.rstrip(b"\0")
    if not front:
        raise DataError("a negative number without digits")
    complement = front[:-1].translate(_NINES) + bytes((100 - front[-1],))
    return Number(True, (head ^ 0x7F) - 64, complement.ljust(len(pairs), b"\0"))


def pack(number: Number) -> bytes:
    """Number -> bytes with every pair, as parameters are sent."""
    negative, exponent, pairs = number
    if not MIN_EXPONENT <= exponent <= MAX_EXPONENT:
        raise DataError("exponent is out of range")
    head = exponent + 64
    if not negative:
        return bytes((head | 0x80,)) + pairs
    front = pairs.rstrip(b"\0")
    if not front:
        raise DataError("a negative number without digits")
    complement = front[:-1].translate(_NINES) + bytes((100 - front[-1],))
    return bytes((head ^ 0x7F,)) + complement.ljust(len(pairs), b"\0")


def pack_field(number: Number, width: int) -> bytes:
    """Number -> *width* bytes without leading zero pairs, as a server puts them into a row (observed)."""
    negative, exponent, pairs = number
    short = pairs.lstrip(b"\0")
    if not short:
        return b"\x80".ljust(width, b"\0")
    exponent -= len(pairs) - len(short)
    if negative or not MIN_EXPONENT <= exponent <= MAX_EXPONENT:
        data = pack(Number(negative, exponent, short.rstrip(b"\0")))
    else:
        data = (b"%c" % (exponent + 0xC0)) + short.rstrip(b"\0")
    if len(data) > width:
        raise DataError("too many digits")
    return data.ljust(width, b"\0")


def pairs_of(digits: str) -> bytes:
    """An even number of decimal digits -> pairs."""
    return bytes.fromhex(digits).translate(_FROM_BCD)
