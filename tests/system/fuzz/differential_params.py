"""Encoders of parameters against each other: ``python -m tests.system.fuzz.differential_params --seconds 60``.

The reference is the oracle: a run, native or pure, has its bytes for every row, and hands back only what it refuses.
Inputs are bytes, so atheris can guide what it calls `parameters`.
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from struct import unpack
from typing import Any, Final

from aioifx.codecs.bind_values import binder_for
from aioifx.codecs.native import native_encoder, pure_encoder
from aioifx.codecs.params import EncodeParamRows, ParamEncoder
from aioifx.codecs.text import code_set_of
from aioifx.errors import Error
from aioifx.sqltypes import Qualifier, SqlType, TypeCode, Unit, datetime_qualifier

NULL_FLOAT: Final[float] = unpack(">d", b"\xff" * 8)[0]
"""The NaN that stands for NULL in FLOAT."""

HEAD, TAIL = b"\0\4\0\1\0\5\0\1", b"\0\7\0\x0c"

CODE_SETS: Final = (
    code_set_of("en_US.8859-1"),
    code_set_of("en_US.utf8"),
    code_set_of("en_US.utf8", "surrogateescape"),
    code_set_of("en_US.CP1252"),
    code_set_of("ja_jp.sjis"),
)


def _types() -> Iterator[SqlType | None]:
    yield None
    for code in TypeCode:
        if code not in (TypeCode.DECIMAL, TypeCode.MONEY, TypeCode.DATETIME, TypeCode.INTERVAL):
            yield SqlType(code, 8)
    yield SqlType(TypeCode.UDTVAR, 40, extended_id=1, extended_name="lvarchar")
    yield SqlType(TypeCode.UDTFIXED, 1, extended_id=5, extended_name="boolean")
    for precision, scale in ((1, 0), (4, 4), (10, 2), (32, 10), (16, 255), (32, 255)):
        yield SqlType(TypeCode.DECIMAL, precision << 8 | scale)
        yield SqlType(TypeCode.MONEY, precision << 8 | scale)
    for first, last, scale in (
        (Unit.YEAR, Unit.FRACTION, 5),
        (Unit.YEAR, Unit.FRACTION, 2),
        (Unit.YEAR, Unit.SECOND, 0),
        (Unit.YEAR, Unit.DAY, 0),
        (Unit.HOUR, Unit.SECOND, 0),
        (Unit.HOUR, Unit.FRACTION, 3),
        (Unit.MONTH, Unit.MINUTE, 0),
    ):
        yield SqlType(TypeCode.DATETIME, datetime_qualifier(first, last, scale).encoded)
    yield SqlType(TypeCode.INTERVAL, Qualifier(Unit.DAY, Unit.FRACTION, 9, 5).encoded)
    yield SqlType(TypeCode.INTERVAL, Qualifier(Unit.YEAR, Unit.MONTH, 9).encoded)


TYPES: Final = tuple(_types())


class Source:
    """Bytes as choices."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._pos = 0

    @property
    def is_empty(self) -> bool:
        return self._pos >= len(self._data)

    def take(self, count: int) -> bytes:
        self._pos += count
        return self._data[self._pos - count : self._pos].ljust(count, b"\0")

    def below(self, limit: int) -> int:
        return self.take(1)[0] % limit


def _integer(source: Source) -> int:
    size = source.below(11)
    return int.from_bytes(source.take(size), "big", signed=True)


def _edge(source: Source) -> int:
    return (1 if source.below(2) else -1) * (1 << source.below(66)) + source.below(3) - 1


def _float(source: Source) -> float:
    value: float = unpack(">d", source.take(8))[0]
    return value


def _decimal(source: Source) -> Decimal:
    digits = tuple(byte % 10 for byte in source.take(source.below(40)))
    if not source.below(8):
        return Decimal(("NaN", "-sNaN12", "Infinity", "-0.00")[source.below(4)])
    return Decimal((source.below(2), digits, source.below(256) - 128))


def _price(source: Source) -> Decimal:
    return Decimal(_integer(source)).scaleb(-source.below(7))


def _text(source: Source) -> str:
    characters = "\0aZ 9.-\x7f\x80\xe4\xff\u20ac\uff71\udc80\U0001f600"
    return "".join(characters[byte % len(characters)] for byte in source.take(source.below(60)))


def _moment(source: Source) -> dt.datetime:
    seconds = int.from_bytes(source.take(5), "big") % 315_537_897_599
    zone = dt.UTC if not source.below(20) else None
    moment = dt.datetime(1, 1, 1, tzinfo=zone) + dt.timedelta(seconds=seconds)
    return moment.replace(
        microsecond=int.from_bytes(source.take(3), "big") % 1_000_000 if source.below(2) else 0
    )


MAKERS: Final[tuple[Callable[[Source], Any], ...]] = (
    lambda source: None,
    lambda source: bool(source.below(2)),
    _integer,
    _edge,
    _float,
    lambda source: unpack(">f", source.take(4))[0],
    lambda source: round(_integer(source) / 100, 2),
    lambda source: (NULL_FLOAT, float("inf"), -0.0, 5e-324, 1e39, 2.0**53)[source.below(6)],
    _decimal,
    _price,
    _text,
    lambda source: str(_price(source)),
    _moment,
    lambda source: _moment(source).date(),
    lambda source: _moment(source).timetz(),
    lambda source: dt.timedelta(microseconds=_integer(source) % 10**15),
    lambda source: source.take(3),
    lambda source: object(),
)


def value_for(source: Source, encode: Callable[[Any], bytes]) -> Any:
    """A value that *encode* takes, more often than not."""
    value = None
    for _ in range(source.below(32) if source.below(8) else 1):
        value = MAKERS[source.below(len(MAKERS))](source)
        try:
            encode(value)
        except Error:
            continue
        break
    return value


def parameters(data: bytes) -> int:
    """Types and rows made of these bytes, encoded in runs by every encoder that there is; the bytes must agree.

    Returns:
        How many of the rows can be encoded at all.
    """
    source = Source(data)
    code_set = CODE_SETS[source.below(len(CODE_SETS))]
    types = tuple(TYPES[source.below(len(TYPES))] for _ in range(1 + source.below(6)))
    binders = [binder_for(sql_type, code_set) for sql_type in types]
    rows: list[Any] = []
    while not source.is_empty and len(rows) < 30:
        row = [value_for(source, bind) for bind in binders[source.below(40) == 1 :]]
        rows.append(tuple(row) if source.below(4) else row)
    reference = ParamEncoder(types, code_set)
    expected = [_expected(reference, row) for row in rows]
    for make in encoders():
        _compare(make(types, code_set, HEAD, TAIL), rows, expected)
    return len(expected) - expected.count(None)


def encoders() -> tuple[Callable[..., EncodeParamRows], ...]:
    """Those that are built."""
    try:
        import aioifx._speedups.param_encoder  # noqa: F401
    except ImportError:
        return (pure_encoder,)
    return pure_encoder, native_encoder


def _expected(reference: ParamEncoder, row: Any) -> bytes | None:
    try:
        return HEAD + reference.encode(row)[2:] + TAIL
    except Error:
        return None


def _compare(run: EncodeParamRows, rows: list[Any], expected: list[bytes | None]) -> None:
    source, done = iter(rows), 0
    while True:
        out = bytearray()
        taken, left = run(source, out, 1 << 40)
        pieces = expected[done : done + taken]
        assert bytes(out) == b"".join(piece or b"" for piece in pieces) and None not in pieces
        done += taken
        if left is None:
            break
        assert left[0] is rows[done]
        assert expected[done] is None
        done += 1
    assert done == len(rows)


def go_on(
    law: Callable[[bytes], object], description: str | None, makers: Iterable[Callable[..., Any]]
) -> int:
    """The command line of such a module: *law* with one input of random bytes after another, for as long as it says."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    seed = random.randrange(1 << 32) if given.seed is None else given.seed
    choose, end, count = random.Random(seed), time.monotonic() + given.seconds, 0
    print(f"seed {seed}, {', '.join(make.__name__ for make in makers)}")
    while time.monotonic() < end:
        data = choose.randbytes(choose.choice((20, 100, 400, 2000)))
        try:
            law(data)
        except BaseException:
            print(f"input {data.hex()}")
            raise
        count += 1
    print(f"{count} inputs, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(go_on(parameters, __doc__, encoders()))
