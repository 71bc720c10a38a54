"""CPU time of a client for captured changes: records and rows, beside struct alone. Never: a server, its time.

    python -m tests.bench.changes [--changes 50000] [--rounds 7] [--flat 1000000]

The bytes are those of transactions of 16 changes, in reads of 64 KB, encoded before the clock starts. In each round all
ways take one sample each. *struct* does what no decoder can do without: it finds each record, its fields, and those
columns of fixed width that struct knows; it checks nothing, and makes no text, date or decimal.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, repeat
from operator import truediv
from struct import Struct
from typing import Final, NamedTuple

from aioifx.codecs.cdc_records import (
    Begin,
    Commit,
    RecordKind,
    RecordReader,
    RowImage,
    encode_record,
    sequence_of,
)
from aioifx.codecs.cdc_rows import RowLayout, cdc_codec
from aioifx.codecs.text import code_set_of
from aioifx.sqltypes import Row, TypeCode
from tests.bench.fetch_size import _memory
from tests.bench.shapes import SHAPES, Shape

READ: Final = 65_536
CHANGES: Final = 16
"""Of a transaction."""
UTF8: Final = code_set_of("en_US.utf8")

_HEADER: Final = Struct(">4I")
_ROW: Final = Struct(">QIII")
_FORMS: Final[dict[int, str]] = {
    TypeCode.SMALLINT: "h", TypeCode.INTEGER: "i", TypeCode.BIGINT: "q", TypeCode.DATE: "i",
    TypeCode.SMALLFLOAT: "f", TypeCode.FLOAT: "d",
}  # fmt: skip
"""The types that struct has."""


class Cost(NamedTuple):
    """What one way took."""

    name: str
    seconds: float
    """CPU time of a change: the median of all rounds."""
    ratios: tuple[float, ...]
    """The CPU time of each round, as a multiple of struct's in the same round."""


def layout_of(shape: Shape) -> RowLayout:
    return RowLayout(shape.columns, UTF8)


def stream(shape: Shape, changes: int) -> list[bytes]:
    """What reads return for transactions of so many changes in all."""
    layout, data = layout_of(shape), bytearray()
    for number, row in enumerate(shape.rows(changes)):
        sequence = sequence_of(1, number * 64)
        if not number % CHANGES:
            data += encode_record(Begin(sequence, 7, 1_700_000_000, 501))
        sizes, payload = layout.encode(row)
        data += encode_record(RowImage(RecordKind.INSERT, sequence, 7, 1, 0, sizes, payload))
        if number % CHANGES == CHANGES - 1:
            data += encode_record(Commit(sequence, 7, 1_700_000_000))
    return [bytes(data[at : at + READ]) for at in range(0, len(data), READ)]


# -- ways to decode ---------------------------------------------------------------------------------------------------


def decode_all(shape: Shape, reads: Iterable[bytes]) -> Iterator[Row]:
    """Records and rows, as the client decodes them."""
    reader, layout = RecordReader(), layout_of(shape)
    for data in reads:
        for record in reader.feed(data):
            if isinstance(record, RowImage):
                yield layout.decode(record)


def decode_records(shape: Shape, reads: Iterable[bytes]) -> Iterator[RowImage]:
    """Records alone; the rows in them remain bytes."""
    reader = RecordReader()
    for data in reads:
        for record in reader.feed(data):
            if isinstance(record, RowImage):
                yield record


def unpack_all(shape: Shape, reads: Iterable[bytes]) -> Iterator[tuple[object, ...]]:
    """The same fields by struct alone."""
    layout, rest = layout_of(shape), b""
    codecs = [(column, cdc_codec(column.type, UTF8)) for column in layout.ordered]
    fixed = Struct(
        ">" + "".join(_FORMS.get(c.type.kind, f"{codec.width}s") for c, codec in codecs if codec.width)
    )
    sizes = Struct(f">{layout.variable_columns}I")
    for data in reads:
        buffer, pos = rest + data, 0
        while len(buffer) - pos >= _HEADER.size:
            header, payload, _, kind = _HEADER.unpack_from(buffer, pos)
            if pos + header + payload > len(buffer):
                break
            if kind >= RecordKind.INSERT:
                sequence, transaction, _, _ = _ROW.unpack_from(buffer, pos + _HEADER.size)
                at = pos + header
                values: list[object] = [*fixed.unpack_from(buffer, at)]
                at += fixed.size
                for size in sizes.unpack_from(buffer, pos + _HEADER.size + _ROW.size):
                    values.append(buffer[at : at + size])
                    at += size
                yield sequence, transaction, values
            pos += header + payload
        rest = buffer[pos:]


WAYS: Final[dict[str, Callable[[Shape, Iterable[bytes]], Iterator[object]]]] = {
    "struct": unpack_all,
    "records": decode_records,
    "records and rows": decode_all,
}


# -- measuring --------------------------------------------------------------------------------------------------------


def measured(shape: Shape, changes: int, rounds: int) -> list[Cost]:
    """What each way takes."""
    reads = stream(shape, changes)
    samples = {name: [0.0] * rounds for name in WAYS}
    for at in range(rounds):
        for name, way in WAYS.items():
            began = time.process_time()
            found = sum(1 for _ in way(shape, reads))
            samples[name][at] = (time.process_time() - began) / changes
            assert found == changes
    anchor = samples["struct"]
    return [
        Cost(name, statistics.median(taken), tuple(map(truediv, taken, anchor)))
        for name, taken in samples.items()
    ]


def table(shape: Shape, costs: Iterable[Cost]) -> Iterator[str]:
    """A table in Markdown."""
    yield f"| {shape.name} rows | changes per CPU second | µs | CPU time, in multiples of struct's |"
    yield "|---|---:|---:|---:|"
    for name, seconds, ratios in costs:
        middle = statistics.median(ratios)
        yield (
            f"| {name} | {1 / seconds:,.0f} | {seconds * 1e6:.2f}"
            f" | {middle:.1f} [{min(ratios):.1f}-{max(ratios):.1f}] |"
        )


def growth(shape: Shape, changes: int, chunk: int = 10_000) -> int:
    """By how many resident bytes decoding so many changes grows, after the first *chunk* of them."""
    reads = stream(shape, chunk)
    rows = decode_all(shape, chain.from_iterable(repeat(reads, changes // chunk)))
    deque(islice(rows, chunk), maxlen=0)
    before = _memory("VmRSS")
    deque(rows, maxlen=0)
    return _memory("VmRSS") - before


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--changes", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--flat", type=int, default=0, help="also: the growth of memory over so many changes")
    arguments = parser.parse_args()
    for shape in SHAPES.values():
        print(*table(shape, measured(shape, arguments.changes, arguments.rounds)), "", sep="\n")
        if arguments.flat:
            print(f"{arguments.flat:,} changes: {growth(shape, arguments.flat):+,} bytes of memory\n")


if __name__ == "__main__":
    main()
