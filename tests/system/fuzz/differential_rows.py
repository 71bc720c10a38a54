"""Rows with anything wrong in them, decoded natively, by generated Python and by the reference: all three are alike.

``python -m tests.system.fuzz.differential_rows --seconds 60`` needs nothing but the kernel, and says how to see a
finding again. A case depends on its number alone: columns, rows that could be meant, and accidents in their bytes.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import pack
from typing import Any, Final

from aioifx.codecs.base import ENVELOPE_HEAD, VARCHAR_HEAD, Codec, Kind
from aioifx.codecs.conversions import PLAIN, Conversions, TypeCodec
from aioifx.codecs.native import native_decoder, pure_decoder
from aioifx.codecs.row_codegen import DecodeRun
from aioifx.codecs.rows import RowDecoder
from aioifx.codecs.temporal import highest_pair
from aioifx.codecs.text import CodeSet, code_set_of
from aioifx.errors import DataError, ProtocolError
from aioifx.rows import record_maker
from aioifx.sqltypes import FLOATING_SCALE, Column, Qualifier, Row, SqlType, TypeCode, Unit
from tests.codecs.samples import BSON, DATETIME_QUALIFIERS, INTERVAL_QUALIFIERS, JSON, decimal_type

Maker = Callable[..., DecodeRun]

CODE_SETS: Final = (
    code_set_of("en_US.8859-1"),
    code_set_of("en_US.utf8"),
    code_set_of("en_US.utf8", "replace"),
    code_set_of("en_US.utf8", "surrogateescape"),
    code_set_of("en_US.CP1252"),
    code_set_of("en_US.364"),
    code_set_of("ja_JP.sjis"),
    code_set_of("zh_CN.gb18030-2000"),
)
SIMPLE: Final = (
    SqlType(TypeCode.SMALLINT, 2),
    SqlType(TypeCode.INTEGER, 4),
    SqlType(TypeCode.BIGINT, 8),
    SqlType(TypeCode.INT8, 10),
    SqlType(TypeCode.SMALLFLOAT, 4),
    SqlType(TypeCode.FLOAT, 8),
    SqlType(TypeCode.DATE, 4),
    SqlType(TypeCode.BOOLEAN, 1),
    SqlType(TypeCode.LVARCHAR, 2048),
    SqlType(TypeCode.UDTFIXED, 1, extended_id=77),
    JSON,
    BSON,
)
USUAL_QUALIFIERS: Final = [
    qualifier
    for qualifier in DATETIME_QUALIFIERS
    if (qualifier.first, qualifier.last) == (Unit.YEAR, Unit.DAY)
    or (qualifier.first in (Unit.YEAR, Unit.HOUR) and qualifier.last >= Unit.SECOND)
]
"""Those of which Python has a class."""

NOTABLE: Final = (0, 1, 2, 5, 0x20, 0x3F, 0x40, 0x63, 0x64, 0x74, 0x7F, 0x80, 0xC0, 0xC1, 0xC7, 0xE2, 0xFF)


CONVERSIONS: Final = (
    PLAIN,
    Conversions(integral_decimals=True),
    Conversions({name: TypeCodec(decoder=lambda value: [value]) for name in ("char", "varchar", "decimal")}),
)


def reference_only(codecs: Sequence[Codec], code_set: CodeSet, row_type: type[Row] = tuple) -> DecodeRun:
    """A decoder that rejects every row."""
    del codecs, code_set, row_type
    return lambda data, pos, end, rows: pos


MAKERS: Final[dict[str, Maker]] = {
    "reference": reference_only,
    "pure": pure_decoder,
    "native": native_decoder,
}


@dataclass
class Case:
    """What one number stands for."""

    columns: tuple[Column, ...]
    code_set: CodeSet
    strip_char: bool
    padded_varchar: bool
    as_records: bool
    conversions: Conversions
    data: bytearray
    pos: int
    end: int

    def outcome(self, make: Maker) -> tuple[Any, ...]:
        """Everything that can be seen of a decoder's work: rows, their classes, where it ends or what it raises."""
        row_type: type[Row] = tuple
        if self.as_records:
            row_type = record_maker(self.columns)  # type: ignore[assignment]  # a class, seen as a function
        decoder = RowDecoder(
            self.columns,
            self.code_set,
            strip_char=self.strip_char,
            padded_varchar=self.padded_varchar,
            row_type=row_type,
            conversions=self.conversions,
        )
        decoder._run = make(tuple(field.codec for field in decoder.fields), self.code_set, row_type)
        rows: list[Row] = []
        ending: object
        try:
            ending = decoder(self.data, self.pos, self.end, rows)
        except (ProtocolError, DataError) as error:
            ending = (type(error), str(error))
        return ending, [(type(row), [described(value) for value in row]) for row in rows]


def described(value: object) -> tuple[type[object], str, bytes]:
    """A value that distinguishes what compares equal: 1 and True, 1.0 and 1.00, NaN and another NaN."""
    bits = pack(">d", value) if isinstance(value, float) else b""
    return type(value), repr(value), bits


# --- cases ----------------------------------------------------------------------------------------------------------


def case(number: int) -> Case:
    """The case with that number."""
    chance = random.Random(number)
    code_set = chance.choice(CODE_SETS)
    types = [some_type(chance) for _ in range(chance.choice((0, 1, 1, 2, 3, 3, 5, 8, 24)))]
    columns = tuple(Column(f"c{index}", sql_type) for index, sql_type in enumerate(types))
    padded = chance.random() < 0.1
    codecs = [field.codec for field in RowDecoder(columns, code_set, padded_varchar=padded).fields]
    data = bytearray()
    for _ in range(chance.randrange(1, 5)):
        payload = b"".join(some_field(codec, code_set, chance) for codec in codecs)
        if chance.random() < 0.1:
            payload = payload[: -chance.randrange(1, 4)] if chance.random() < 0.5 else payload + bytes(1)
        data += (
            pack(">hhi", 14, chance.choice((0, 0, 7)), len(payload)) + payload + b"\0" * (len(payload) & 1)
        )
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2))):
        at = chance.randrange(len(data))
        data[at] = chance.choice(NOTABLE) if chance.random() < 0.5 else chance.randrange(256)
    front = chance.randrange(3)
    end = len(data) - (chance.randrange(len(data)) if chance.random() < 0.2 else 0)
    return Case(
        columns,
        code_set,
        chance.random() < 0.5,
        padded,
        chance.random() < 0.3,
        CONVERSIONS[number % len(CONVERSIONS)],
        bytearray(front) + data,
        front,
        front + end,
    )


def some_type(chance: random.Random) -> SqlType:
    """Each family as often as the others."""
    match chance.randrange(7):
        case 0 | 1 | 2:
            return chance.choice(SIMPLE)
        case 3:
            precision = chance.randrange(1, 33)
            scale = chance.choice((FLOATING_SCALE, 0, 2, chance.randrange(precision + 1)))
            return decimal_type(precision, scale)
        case 4:
            return SqlType(
                TypeCode.DATETIME, chance.choice((*DATETIME_QUALIFIERS, *USUAL_QUALIFIERS * 6)).encoded
            )
        case 5:
            return SqlType(TypeCode.INTERVAL, chance.choice(INTERVAL_QUALIFIERS).encoded)
        case _:
            return SqlType(chance.choice((TypeCode.CHAR, TypeCode.VARCHAR)), chance.randrange(1, 40))


def some_field(codec: Codec, code_set: CodeSet, chance: random.Random) -> bytes:
    """Bytes that could be meant, mostly."""
    if chance.random() < 0.08:
        return codec.encode(None)
    if codec.head == VARCHAR_HEAD:
        text = some_text(chance.randrange(30), code_set, chance)
        return bytes([len(text)]) + text
    if codec.head == ENVELOPE_HEAD:
        text = some_text(chance.choice((0, 1, 12, 300)), code_set, chance)
        if codec.kind == Kind.BOOLEAN:
            text = chance.choice((b"t", b"f", b"T", b"F", b"\0", b"\1"))
            if chance.random() < 0.03:
                text = chance.choice((b"x", b"", b"tt"))
        return b"\0" + len(text).to_bytes(4, "big") + text
    if codec.kind in (Kind.CHAR, Kind.OTHER):
        return some_text(chance.randrange(codec.width + 1), code_set, chance).ljust(codec.width, b" ")
    if codec.kind in (Kind.DECIMAL, Kind.DATETIME, Kind.INTERVAL):
        return some_number(codec, chance)
    if codec.kind == Kind.INT8:
        sign = chance.choice((1, -1)) if chance.random() < 0.97 else chance.choice((0, 2, -2))
        return pack(">h", sign) + chance.choice((bytes(4), chance.randbytes(4))) + chance.randbytes(4)
    if codec.kind == Kind.DATE:
        wild = chance.random() < 0.1
        return pack(">i", chance.randrange(-700_000, 3_000_000) if wild else chance.randrange(50_000))
    return chance.choice(
        (chance.randbytes(codec.width), b"\xff" * codec.width, b"\x80".ljust(codec.width, b"\0"))
    )


def some_text(size: int, code_set: CodeSet, chance: random.Random) -> bytes:
    """At most *size* bytes: ASCII, of the code set, or anything."""
    match chance.randrange(20):
        case 0:
            return chance.randbytes(size)
        case kind if kind % 2:
            return bytes(chance.randrange(32, 127) for _ in range(size))
        case _:
            letters = chance.choices("aZ \u00e4\u20ac\u4e2d\u3042\U0001f600", k=size)
            data = "".join(letters).encode(code_set.codec, "ignore")[:size]
            return (
                data
                if chance.random() < 0.1
                else data.decode(code_set.codec, "ignore").encode(code_set.codec)
            )


def some_number(codec: Codec, chance: random.Random) -> bytes:
    """Base 100: a nearly usual first byte, pairs of digits, zeros after them, of either sign."""
    count = codec.width - 1
    pairs = bytes(chance.randrange(100) for _ in range(chance.randrange(count + 1)))
    usual = chance.randrange(-2, 3)
    if codec.kind != Kind.DECIMAL:
        usual = highest_pair(Qualifier.from_encoded(codec.detail))
        if chance.random() < 0.9:  # fields that a clock or a calendar has
            year = bytes((chance.randrange(17, 23), chance.randrange(100))) if usual == 7 else b""
            rest = (
                chance.randrange(1, 13),
                chance.randrange(1, 29),
                *(chance.randrange(24) for _ in range(8)),
            )
            pairs = (year + bytes(rest))[:count]
    if chance.random() < 0.3:
        short = pairs.lstrip(b"\0")
        usual -= len(pairs) - len(short)
        pairs = short
    away = chance.choice((-1, 1, chance.randrange(-64, 64))) if chance.random() < 0.1 else 0
    exponent = max(-64, min(63, usual + away))
    if chance.random() < 0.05:
        return b"\x80".ljust(codec.width, b"\0")
    head = 0xC0 + exponent
    negative = chance.random() < (0.05 if codec.kind == Kind.DATETIME else 0.4)
    if negative and pairs.strip(b"\0"):
        pairs = pairs.rstrip(b"\0")
        pairs = bytes(99 - pair for pair in pairs[:-1]) + bytes([100 - pairs[-1]])
        head ^= 0xFF
    return bytes([head]) + pairs.ljust(count, b"\0")


# --- running --------------------------------------------------------------------------------------------------------


def difference(number: int, makers: Sequence[str] = tuple(MAKERS)) -> str | None:
    """What two decoders see in one case if it is not the same."""
    found = case(number)
    first, *others = makers
    expected = found.outcome(MAKERS[first])
    for other in others:
        outcome = found.outcome(MAKERS[other])
        if outcome != expected:
            return f"case {number}: {first} {expected}, {other} {outcome}; {found}"
    return None


def main(arguments: list[str] | None = None) -> int:
    """Fuzz for so many seconds, or look at the cases with these numbers; 1 for a finding."""
    parser = argparse.ArgumentParser(description="Fuzz the row decoders, each against the others.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--start", type=int, default=0, help="number of the first case")
    parser.add_argument("numbers", nargs="*", type=int, help="cases of a former finding")
    options = parser.parse_args(arguments)
    number, stop = options.start, time.monotonic() + options.seconds
    for number in options.numbers:
        print(difference(number) or f"case {number}: alike")
    while not options.numbers and time.monotonic() < stop:
        if finding := difference(number):
            print(finding)
            return 1
        number += 1
    print(f"{number - options.start} cases alike, decoded by each of {', '.join(MAKERS)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
